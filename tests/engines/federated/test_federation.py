"""A federation: the pooled rows' integers, no impossible response, and when to stop."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.conformance import (
    CANARY,
    COLUMNS,
    DOMAIN,
    KEY,
    MOMENTS,
    QUERIES,
    UNITS,
    clients,
    fails_in_silence,
    in_memory,
    people,
    results,
    write_parquet,
)
from helpers.requests import request_for

from privclust.engines.exact_sums import LARGEST
from privclust.engines.federated import client
from privclust.engines.federated._request import NONCE_BYTES
from privclust.engines.federated.client import FAILED, Client, response_size
from privclust.engines.federated.engine import FederatedEngine
from privclust.engines.federated.federation import Federation
from privclust.engines.federated.wire import encode
from privclust.errors import (
    ColumnError,
    FailedClientError,
    ParameterError,
    TooFewClientsError,
    UnreadableFileError,
)
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count, Query
from privclust.queries.participation import QueryParticipation
from privclust.queries.unit import ROW, Unit

CLIENT = Unit("client", 3, clients=1, whole=True)


def recorded_keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list that will hold all keys that clients draw."""
    keys: list[bytes] = []

    def token_bytes(length: int) -> bytes:
        keys.append(secrets.token_bytes(length))
        return keys[-1]

    monkeypatch.setattr(client, "secrets", SimpleNamespace(token_bytes=token_bytes))
    return keys


Responses = Iterable[tuple[str, bytes]]


def federation(n_clients: int = 3, unit: Unit = ROW, **settings: Any) -> Federation:
    parts = clients(people(300), unit, n_clients)
    tables = {f"client {number}": part for number, part in enumerate(parts)}
    return Federation.in_process(tables, COLUMNS, **settings)


def opened(federation: Federation, unit: Unit = ROW) -> FederatedEngine:
    return federation.open_engine(None, DOMAIN, unit)


def through(
    change: Callable[[list[tuple[str, bytes]]], Responses], minimum: int = 1
) -> FederatedEngine:
    """Return a federation's engine whose responses `change` may tamper with."""
    honest = federation()

    def exchange(requests: Mapping[str, bytes]) -> Responses:
        return change(list(honest.exchange(requests)))

    return opened(Federation(exchange, honest.clients, COLUMNS, minimum=minimum))


# The same integers -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clients", [2, 7, 100])
@pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])
def test_any_number_of_clients_gives_the_integers_of_the_pooled_rows(
    n_clients: int, unit: str
) -> None:
    engine = opened(federation(n_clients, UNITS[unit]), UNITS[unit])
    assert results(engine) == results(in_memory(people(300), unit=UNITS[unit]))
    assert engine.participation == [QueryParticipation(n_clients, n_clients)] * len(QUERIES)


def test_a_whole_client_counts_as_one_unit_of_the_pooled_rows() -> None:
    parts = clients(people(300), ROW, 4)
    names = [f"c{number}" for number, part in enumerate(parts) for _ in range(part.num_rows)]
    pooled = pa.concat_tables(parts)
    pooled = pooled.append_column("client", pa.array(names))
    engine = opened(federation(4), Unit("client", 3))
    assert engine.unit == CLIENT
    for query in QUERIES:
        found = engine.aggregate(query)
        alone = [client_sum(query, part) for part in parts]
        assert found == [sum(values) for values in zip(*alone, strict=True)]
        for values in alone:
            assert sum(value**2 for value in values) <= CLIENT.sensitivity(query).l2_squared
    counted = in_memory(pooled, unit=Unit("client", 3)).aggregate(Count())
    assert engine.aggregate(Count()) == counted


def client_sum(query: Query, part: Any) -> list[int]:
    return list(opened(Federation.in_process({"one": part}, COLUMNS), CLIENT).aggregate(query))


@pytest.mark.attack
def test_one_client_more_moves_no_result_by_more_than_its_bounds() -> None:
    parts = clients(people(300), ROW, 4)
    tables = {str(number): part for number, part in enumerate(parts)}
    emptied = {**tables, "1": tables["1"].slice(0, 0)}
    with_it, without = (
        opened(Federation.in_process(given, COLUMNS), Unit("client", 2))
        for given in (tables, emptied)
    )
    loud = 0.0
    for query in QUERIES:
        bounds = with_it.unit.sensitivity(query)
        pairs = zip(with_it.aggregate(query), without.aggregate(query), strict=True)
        moved = [abs(one - other) for one, other in pairs]
        assert sum(moved) <= bounds.l1
        assert sum(one * one for one in moved) <= bounds.l2_squared
        assert max(moved) <= bounds.linf
        loud = max(loud, sum(one * one for one in moved) / bounds.l2_squared)
    assert loud > 0.999


@pytest.mark.attack
def test_unit_at_several_clients_moves_a_result_within_its_bounds() -> None:
    unit = Unit("name", 2)
    base = clients(people(300), unit, 4)
    patient = people(300).slice(0, 12)
    patient = patient.set_column(3, "name", pa.array(["somebody new"] * 12))
    visited = [pa.concat_tables([part, patient]) if n < 3 else part for n, part in enumerate(base)]
    engines = [
        opened(
            Federation.in_process(
                dict(zip("0123", parts, strict=True)), COLUMNS, clients_per_unit=3
            ),
            unit,
        )
        for parts in (base, visited)
    ]
    for query in QUERIES:
        bounds = engines[0].unit.sensitivity(query)
        pairs = zip(engines[0].aggregate(query), engines[1].aggregate(query), strict=True)
        moved = [abs(one - other) for one, other in pairs]
        assert sum(one * one for one in moved) <= bounds.l2_squared
        assert sum(moved) <= bounds.l1
    assert engines[0].unit.sensitivity(Count()).l1 == 6 * UNIT
    rows = Federation.in_process({"a": base[0], "b": base[1]}, COLUMNS, clients_per_unit=2)
    assert opened(rows).unit.sensitivity(Count()).l2_squared == 4 * UNIT**2


# Samples -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])
def test_a_sample_is_each_clients_own_by_a_key_of_its_own(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = recorded_keys(monkeypatch)
    parts = clients(people(300), UNITS[unit], 3)
    sample = opened(federation(3, UNITS[unit]), UNITS[unit]).sample(1, KEY)
    found = results(sample, MOMENTS)[0]
    alone = [
        results(in_memory(part, unit=UNITS[unit]).sample(1, key), MOMENTS)[0]
        for part, key in zip(parts, keys, strict=True)
    ]
    assert found == [sum(values) for values in zip(*alone, strict=True)]


@pytest.mark.attack
def test_no_key_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    keys = recorded_keys(monkeypatch)
    honest = federation()

    def exchange(requests: Mapping[str, bytes]) -> Responses:
        responses = list(honest.exchange(requests))
        sent.extend([*requests.values(), *(response for _, response in responses)])
        return responses

    engine = opened(Federation(exchange, honest.clients, COLUMNS))
    engine.sample(1, KEY).aggregate(Count())
    assert len(set(keys)) == len(honest.clients)  # one each
    assert not any(key in message for key in (KEY, *keys) for message in sent)


def test_a_whole_client_is_in_a_sample_or_not() -> None:
    part = people(50)
    drawn = []
    for number in range(40):
        alone = Federation.in_process({f"client {number}": part}, COLUMNS)
        engine = opened(alone, Unit("client", 3))
        full, sampled = engine.aggregate(Count()), engine.sample(1, KEY).aggregate(Count())
        assert sampled in ([0], full)
        drawn.append(sampled == full)
    assert 4 < sum(drawn) < 36  # false-alarm rate 2e-7


# Participation -----------------------------------------------------------------------------------


def test_too_few_responses_stop_the_fit() -> None:
    engine = through(lambda given: given[1:], minimum=2)
    parts = clients(people(300), ROW, 3)
    assert engine.aggregate(Count()) == [sum(part.num_rows for part in parts[1:]) * UNIT]
    assert engine.participation == [QueryParticipation(2, 3)]
    with pytest.raises(TooFewClientsError, match=r"1 of 3 clients .* minimum is 2") as failed:
        through(lambda given: given[1:2], minimum=2).aggregate(Count())
    assert failed.value.__cause__ is failed.value.__context__ is None


def test_a_client_that_fails_stops_the_fit_and_says_nothing(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def __array__(self) -> Any:
            raise OSError(f"{CANARY}")

    text = np.full((3, 3), f"{CANARY}")
    for table in (text, Broken(), pa.table({"x": [CANARY]})):
        tables = {"broken": table, "sound": people(20)}
        clients = {name: Client(given) for name, given in tables.items()}

        def exchange(requests: Mapping[str, bytes], clients: Any = clients) -> Responses:
            return [(name, clients[name].respond(request)) for name, request in requests.items()]

        engine = opened(Federation(exchange, clients, COLUMNS, minimum=1))
        fails_in_silence(partial(engine.aggregate, Count()), caplog, capfd, FailedClientError)
        assert engine.participation == []


@pytest.mark.attack
def test_no_cell_decides_whether_a_client_takes_part() -> None:
    for last in (4, "n/a", object(), "4", b"x"):
        odd = people(4).to_pandas()
        odd["x"] = pd.Series([1, 2, 3, last], dtype=object)
        tables = {"odd": odd, "sound": people(20)}
        honest = Federation.in_process(tables, COLUMNS)
        engine = opened(Federation(honest.exchange, honest.clients, COLUMNS, minimum=1))
        with pytest.raises(FailedClientError):
            engine.aggregate(Count())


def test_csv_files_are_refused_because_one_line_can_make_them_unreadable(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    write_parquet(people(20), folder / "a.parquet")
    (folder / "b.CSV.gz").write_bytes(b"")
    with pytest.raises(UnreadableFileError, match=r"'b.CSV.gz' is a CSV or Excel file.*Parquet"):
        Federation.in_process({"sound": people(20), "other": [str(folder)]}, COLUMNS)


@pytest.mark.attack
def test_failure_of_a_client_counts_for_this_request_only() -> None:
    late: list[tuple[str, bytes]] = []

    def change(given: list[tuple[str, bytes]]) -> Responses:
        before = [(name, response[:NONCE_BYTES] + FAILED) for name, response in late]
        late[:] = given
        again = [(name, response[:NONCE_BYTES] + FAILED) for name, response in given]
        foreign = [("nobody", again[0][1]), (given[1][0], again[0][1]), (given[0][0], FAILED)]
        return [*before, *foreign, *given, *again]

    engine = through(change)
    assert [engine.aggregate(Count()) for _ in range(2)] == [[300 * UNIT]] * 2
    stopped = through(lambda given: [*given[1:], (given[0][0], given[0][1][:NONCE_BYTES] + FAILED)])
    with pytest.raises(FailedClientError) as failed:
        stopped.aggregate(Count())
    assert failed.value.__cause__ is failed.value.__context__ is None


def test_client_of_another_version_gives_no_response() -> None:
    request = request_for(Count())
    client = Client(people(20))
    assert len(client.respond(encode(request))) == response_size(Count())
    assert client.respond(encode(replace(request, version="0"))) == b""


def test_failing_on_finish_loses_no_fit() -> None:
    honest = federation()

    def on_finish(fit: bytes) -> None:
        raise OSError

    engine = opened(Federation(honest.exchange, honest.clients, COLUMNS, on_finish=on_finish))
    engine.sample(1, KEY).aggregate(Count())
    engine.close()


@pytest.mark.attack
def test_fits_in_two_threads_get_engines_of_their_own() -> None:
    switching = sys.getswitchinterval()
    both = Federation.in_process({"one": people(50)}, COLUMNS)
    engines = [opened(both, UNITS["texts, 3 rows"]), opened(both)]
    expected = [engine.aggregate(Count()) for engine in engines]
    assert expected[0] != expected[1]
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            found = threads.map(lambda n: (n % 2, engines[n % 2].aggregate(Count())), range(200))
            assert all(result == expected[which] for which, result in found)
    finally:
        sys.setswitchinterval(switching)


# Impossible responses ----------------------------------------------------------------------------


def wrong(values: list[int]) -> bytes:
    return np.array(values, dtype="<i8").tobytes()


ONE_COUNT = wrong([UNIT])


@pytest.mark.attack
@pytest.mark.parametrize(
    "tamper",
    {
        "nothing": lambda response: b"",
        "too short": lambda response: response[:-1],
        "too long": lambda response: response + b"\0",
        "two numbers": lambda response: response + ONE_COUNT,
        "NaN": lambda response: response[:NONCE_BYTES] + np.array([np.nan]).tobytes(),
        "infinity": lambda response: response[:NONCE_BYTES] + np.array([np.inf]).tobytes(),
        "oversized": lambda response: response[:NONCE_BYTES] + wrong([LARGEST + 1]),
        "smallest": lambda response: response[:NONCE_BYTES] + wrong([-(2**63)]),
        "negative votes": lambda response: response[:NONCE_BYTES] + wrong([-1]),
        "another nonce": lambda response: secrets.token_bytes(NONCE_BYTES) + response[NONCE_BYTES:],
    }.values(),
)
def test_impossible_response_is_rejected(tamper: Callable[[bytes], bytes]) -> None:
    engine = through(lambda given: [(given[0][0], tamper(given[0][1])), *given[1:]])
    parts = clients(people(300), ROW, 3)
    assert engine.aggregate(Count()) == [sum(part.num_rows for part in parts[1:]) * UNIT]
    assert engine.participation == [QueryParticipation(2, 3)]


@pytest.mark.attack
def test_repeated_late_and_foreign_responses_are_discarded() -> None:
    late: list[tuple[str, bytes]] = []

    def change(given: list[tuple[str, bytes]]) -> Responses:
        before = list(late)
        late[:] = given
        foreign = [("nobody", response) for _, response in given]
        swapped = [(given[1][0], given[0][1])]
        return [*before, *foreign, *swapped, *given, *given, *before]

    engine = through(change)
    expected = in_memory(people(300)).aggregate(QUERIES[1])
    assert [engine.aggregate(QUERIES[1]) for _ in range(3)] == [expected] * 3
    assert engine.participation == [QueryParticipation(3, 3)] * 3


# Public faults -----------------------------------------------------------------------------------


def test_impossible_federation_is_refused() -> None:
    rows = np.zeros((2, 2))
    with pytest.raises(ParameterError, match="clients with names that differ"):
        Federation.in_process({})
    for minimum in (0, 3, 1.5):
        with pytest.raises(ParameterError, match="minimum between 1 and"):
            Federation.in_process({"a": rows, "b": rows}, minimum=minimum)  # type: ignore[arg-type]
    for clients_per_unit in (0, 3, 1.5, True):
        with pytest.raises(ParameterError, match="clients_per_unit must be an integer"):
            Federation.in_process({"a": rows, "b": rows}, clients_per_unit=clients_per_unit)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"columns must be .*, got 'age'. .* \['age'\]"):
        Federation.in_process({"a": rows, "b": rows}, "age")
    with pytest.raises(ColumnError, match="the same columns in the same order"):
        Federation.in_process({"a": rows, "b": np.zeros((2, 3))})


def test_federation_is_one_line_at_a_prompt() -> None:
    """It printed as a dataclass, with functions of this library and their addresses."""
    named = Federation(lambda requests: [], ("north", "south"), ("age", "cost"), minimum=1)
    counted = Federation(lambda requests: [], ("north",), 3)
    assert repr(named) == (
        "<Federation of 2 clients, columns: 'age', 'cost'; a fit needs responses of 1>"
    )
    assert repr(counted) == "<Federation of 1 client, columns: 3; a fit needs responses of 1>"
