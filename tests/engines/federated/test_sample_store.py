"""A client's samples: drawn once for a fit, whatever happens between two requests of a fit."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.conformance import MOMENTS, UNITS, people, write_parquet
from helpers.requests import request_for

from privclust.domains._number_column import NumberColumn
from privclust.domains.box import Box
from privclust.domains.profiled import ProfileDomain
from privclust.engines.federated import client
from privclust.engines.federated._request import NONCE_BYTES
from privclust.engines.federated._sample_store import UNUSED_SECONDS
from privclust.engines.federated.client import FAILED, Client
from privclust.engines.federated.wire import encode
from privclust.engines.memory import NumpyEngine
from privclust.errors import ParameterError
from privclust.queries.base import Count
from privclust.queries.clusters import NearestVotes
from privclust.queries.unit import Unit

FIT, OTHER_FIT = bytes(16), bytes([1] * 16)
REQUEST = request_for(MOMENTS[0], fit=FIT, sampling_exponent=1)
OTHER = encode(replace(REQUEST, fit=OTHER_FIT))
MESSAGE = encode(REQUEST)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_parquet(people(200), tmp_path / "rows.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def recorded_keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list that will hold all keys that clients draw."""
    keys: list[bytes] = []

    def token_bytes(length: int) -> bytes:
        keys.append(secrets.token_bytes(length))
        return keys[-1]

    monkeypatch.setattr(client, "secrets", SimpleNamespace(token_bytes=token_bytes))
    return keys


def samples(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.sample*"))


@pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])
def test_a_sample_outlives_its_process_and_not_its_fit(
    table: Path, folder: Path, unit: str
) -> None:
    request = encode(replace(REQUEST, unit=UNITS[unit]))
    everybody = encode(replace(REQUEST, unit=UNITS[unit], sampling_exponent=0))
    first = Client(table, folder).respond(request)
    (kept,) = samples(folder)
    assert (kept.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    write_parquet(people(200, seed=1), table)  # what was drawn is not drawn again
    assert (
        Client(table, folder).respond(request) == first != Client(table, folder).respond(everybody)
    )
    Client(table, folder).forget(FIT)
    assert samples(folder) == []


@pytest.mark.attack
def test_a_key_is_fresh_and_kept_nowhere(
    table: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = recorded_keys(monkeypatch)
    for fit in (FIT, OTHER_FIT):
        for sampling_exponent in (1, 2):
            Client(table, folder).respond(
                encode(replace(REQUEST, fit=fit, sampling_exponent=sampling_exponent))
            )
    assert len(set(keys)) == len(keys) == 4
    assert {len(key) for key in keys} == {32}
    for file in folder.iterdir():
        assert not any(key.hex() in file.name or key in file.read_bytes() for key in keys)


@pytest.mark.attack
@pytest.mark.parametrize("kept", [True, False])
def test_a_sample_is_drawn_once(table: Path, folder: Path, kept: bool) -> None:
    client = Client(table, folder if kept else None)
    assert client.respond(MESSAGE)
    client.forget(FIT)
    write_parquet(people(201), table)
    assert client.respond(MESSAGE) == b""
    if kept:
        assert Client(table, folder).respond(MESSAGE) == b""
    assert client.respond(OTHER)


@pytest.mark.attack
def test_a_process_that_died_while_it_drew_has_drawn(
    table: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def died(self: NumpyEngine, file: Path) -> None:
        file.with_name(f"{file.name}.part").write_bytes(b"half")
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(NumpyEngine, "write", died)
        assert Client(table, folder).respond(MESSAGE) == bytes(NONCE_BYTES) + FAILED
    assert Client(table, folder).respond(MESSAGE) == b""
    assert len(samples(folder)) == 1
    Client(table, folder).forget(FIT)
    assert samples(folder) == []


def test_that_a_sample_is_drawn_is_written_before_rows_are_read(
    table: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    loaded = NumpyEngine._loaded

    def looking(self: NumpyEngine) -> Any:
        found.append(len(list(folder.glob("*.used"))))
        return loaded(self)

    monkeypatch.setattr(NumpyEngine, "_loaded", looking)
    Client(table, folder).respond(MESSAGE)
    assert found[0] == 1


@pytest.mark.parametrize("kept", [True, False])
def test_fits_at_the_same_time_keep_their_samples(table: Path, folder: Path, kept: bool) -> None:
    client = Client(table, folder if kept else None)
    first, other = client.respond(MESSAGE), client.respond(OTHER)
    assert first != other
    assert [client.respond(MESSAGE), client.respond(OTHER)] == [first, other]
    client.forget(OTHER_FIT)
    assert [client.respond(MESSAGE), client.respond(OTHER)] == [first, b""]


def test_samples_of_a_fit_that_ended_without_a_word_go_after_a_day(
    table: Path, folder: Path
) -> None:
    Client(table, folder).respond(MESSAGE)
    (old,) = samples(folder)
    part = folder / "00-11.sample.part"
    part.write_bytes(b"half")
    for file in (old, part):
        os.utime(file, (time.time(), time.time() - UNUSED_SECONDS - 60))
    Client(table, folder).respond(MESSAGE)  # opening the folder deletes them, and one is gone
    assert samples(folder) == []
    assert Client(table, folder).respond(OTHER)
    assert len(samples(folder)) == 1


@pytest.mark.parametrize("kept", [True, False])
def test_a_client_that_goes_on_deletes_what_was_not_used_for_a_day(
    table: Path, folder: Path, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(table, folder if kept else None)
    assert client.respond(MESSAGE)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + UNUSED_SECONDS / 2)
    assert client.respond(MESSAGE)
    assert client.respond(OTHER)
    monkeypatch.setattr("time.time", lambda: now + 1.4 * UNUSED_SECONDS)
    assert client.respond(MESSAGE)
    monkeypatch.setattr("time.time", lambda: now + 3 * UNUSED_SECONDS)
    assert client.respond(OTHER) == client.respond(MESSAGE) == b""


def test_sample_of_a_new_request_is_not_old(table: Path, folder: Path) -> None:
    first = Client(table, folder).respond(MESSAGE)
    (kept,) = samples(folder)
    os.utime(kept, (time.time(), time.time() - UNUSED_SECONDS + 600))
    assert Client(table, folder).respond(MESSAGE) == first
    assert time.time() - kept.stat().st_mtime < 600


@pytest.fixture
def open_to_others(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    folder.chmod(0o750)
    yield folder
    folder.chmod(0o700)


def test_a_folder_that_others_may_enter_is_refused(table: Path, open_to_others: Path) -> None:
    with pytest.raises(ParameterError, match="nobody else may enter it"):
        Client(table, open_to_others)


@pytest.mark.attack
def test_nothing_is_written_through_a_link(table: Path, folder: Path, tmp_path: Path) -> None:
    Client(table, folder).respond(MESSAGE)
    (kept,) = samples(folder)
    target = tmp_path / "other"
    for file in folder.iterdir():
        file.unlink()
    kept.with_name(f"{kept.name}.part").symlink_to(target)
    assert Client(table, folder).respond(MESSAGE) == bytes(NONCE_BYTES) + FAILED
    assert not target.exists()


def test_the_sample_in_the_folder_is_the_one_that_memory_has(
    table: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "secrets", SimpleNamespace(token_bytes=bytes))
    in_memory, kept = Client(table).respond(MESSAGE), Client(table, folder).respond(MESSAGE)
    assert in_memory == kept
    assert np.frombuffer(in_memory[NONCE_BYTES:], dtype="<i8").any()


WHOLE = encode(replace(REQUEST, unit=Unit("client", 3, whole=True)))


@pytest.mark.attack
@pytest.mark.parametrize("kept", [True, False])
def test_a_whole_client_tosses_once_for_a_fit(table: Path, folder: Path, kept: bool) -> None:
    client = Client(table, folder if kept else None)

    def respond() -> bytes:
        return (Client(table, folder) if kept else client).respond(WHOLE)

    first = respond()
    assert [respond() for _ in range(40)] == [first] * 40  # as likely as not each time, else
    client.forget(FIT)
    assert respond() == b""
    assert samples(folder) == []


@pytest.mark.attack
@pytest.mark.parametrize("kept", [True, False])
def test_a_sample_is_of_one_domain(table: Path, folder: Path, kept: bool) -> None:
    """Rows on the grid of one domain would leave the unit ball of another."""
    client = Client(table, folder if kept else None)
    profiled = ProfileDomain(Box([0], [1]), ("z",), (NumberColumn("x", -50, 50),))
    flat = request_for(Count(), fit=FIT, sampling_exponent=1, columns=("z", "x"), domain=profiled)
    request = request_for(NearestVotes(np.eye(3) / 2), fit=FIT, sampling_exponent=1)
    assert len(client.respond(encode(flat))) == NONCE_BYTES + 8
    assert len(client.respond(encode(request))) == NONCE_BYTES + 24
    if kept:
        assert len(samples(folder)) == 2
