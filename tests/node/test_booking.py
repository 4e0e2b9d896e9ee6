"""Requests are priced without rows, reserved once, and carried out where the rows are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.node_policy import write_node

from privclust import Ledger, load
from privclust.errors import ParameterError, PolicyError
from privclust.node.booking import Booking
from privclust.node.jobs.job import Job, Kind, NewJob
from privclust.node.jobs.store import JobStore, Quota
from privclust.node.policy.policy_file import read_policy
from privclust.node.requests.fit_request import FitRequest, ProfileRequest
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.sources.dialects import Files

QUOTA = Quota(max_queued=100, work_per_day=1e9)
RUN = "ffffffffffffffff"


def write_table(folder: Path, n_rows: int = 3000) -> None:
    """Write the table of the test's policy, with a column that no policy lists."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n_rows)
    days = np.datetime64("2021-01-01") + rng.integers(0, 900, n_rows)
    table = pa.table(
        {
            "age": 30.0 + 40 * kind,
            "amount": 1e5 + 6e5 * kind,
            "day": pa.array(days.astype("datetime64[D]")),
            "region": np.where(kind == 0, "north", "south"),
            "secret": rng.random(n_rows),
        }
    )
    (folder / "credit").mkdir(exist_ok=True)
    pq.write_table(table, folder / "credit" / "part.parquet")


@pytest.fixture
def booking(tmp_path: Path) -> Booking:
    write_table(tmp_path)
    policy = read_policy(write_node(tmp_path))
    ledger = Ledger.create(policy.node.ledger, "credit", epsilon=4.0, delta=1e-6)
    HeadFile(policy.node.head).create(ledger)
    return Booking(policy, JobStore(policy.node.ledger))


def fit_request(**parameters: Any) -> FitRequest:
    return FitRequest("credit", "PrivateKMeans", {"n_clusters": 2, **parameters}, ("age", "amount"))


def submitted(booking: Booking, request: FitRequest | ProfileRequest, run: str, who: str) -> Job:
    kind: Kind = "fit" if isinstance(request, FitRequest) else "profile"
    price = booking.price(request).units
    new = NewJob(run, kind, who, request.table, request.canonical().decode(), price, 1)
    return booking.jobs.submit(new, QUOTA, now=1000.0)


def ledger_of(booking: Booking) -> Ledger:
    return Ledger.open(booking.policy.node.ledger)


def test_price_opens_no_table_and_charges_nothing(
    booking: Booking, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ledger_of(booking).head()
    monkeypatch.setattr(Files, "__init__", None)
    price = booking.price(fit_request(epsilon=0.5))
    assert (price.budget.epsilon, price.budget.delta) == (0.5, 1e-6)
    assert price.units > 0
    expected = booking.forecast(fit_request(epsilon=0.5))
    assert expected is not None
    assert json.loads(json.dumps(expected, allow_nan=False))["n_columns"] == 2
    assert ledger_of(booking).head() == head


def test_price_is_the_public_time_and_the_estimate_follows_from_public_numbers(
    booking: Booking,
) -> None:
    few, many = (booking.price(fit_request(n_clusters=k)) for k in (2, 60))
    assert few.units == many.units == booking.policy.tables["credit"].seconds
    assert 0 < few.estimate < many.estimate


def test_estimate_counts_queries_that_a_typed_number_of_rows_makes_read_all(
    booking: Booking,
) -> None:
    large = replace(booking.policy.tables["credit"], about_rows=3_000_000)
    tables = {**booking.policy.tables, "credit": large}
    booking = replace(booking, policy=replace(booking.policy, tables=tables))
    as_it_is, typed = (
        booking.price(fit_request(n_clusters=64, epsilon=0.1, **given)).estimate
        for given in ({}, {"n_rows": 65_536})
    )
    # 13 and 18 seconds were measured, of which the first reads one row of eight in most queries.
    assert 8 < as_it_is < 16
    assert typed > 18


def test_job_is_reserved_once_and_its_model_is_released_after_the_wait(booking: Booking) -> None:
    job = submitted(booking, fit_request(epsilon=1.0), RUN, "a1")
    for _ in range(3):
        booking.reserve(job)
    states: list[str] = []
    text = booking.carry_out(job, lambda: states.append(ledger_of(booking).run(RUN).state))
    assert states == ["open"]
    (run,) = ledger_of(booking).runs("credit")
    assert (run.name, run.state, run.facts["analyst"]) == (RUN, "finished", "a1")
    kept = json.loads(booking.policy.node.head.read_text())
    assert kept["hash"] == ledger_of(booking).head()
    model = json.loads(text)
    assert model["statement"]["run"]["name"] == RUN
    assert "secret" not in text


def test_run_of_a_job_that_was_cancelled_while_it_waited_stays_open(booking: Booking) -> None:
    class CancelledError(Exception):
        pass

    def wait() -> None:
        raise CancelledError

    job = submitted(booking, fit_request(epsilon=1.0), RUN, "a1")
    with pytest.raises(CancelledError):
        booking.carry_out(job, wait)
    assert ledger_of(booking).run(RUN).state == "open"


def test_model_of_a_node_follows_from_its_ledger(booking: Booking, tmp_path: Path) -> None:
    from privclust.estimators._recompute import differences_from_results

    file = tmp_path / "model.json"
    job = submitted(booking, fit_request(epsilon=1.0), RUN, "a1")
    file.write_text(booking.carry_out(job, lambda: None))
    assert differences_from_results(load(file), booking.policy.node.ledger) == []


def test_profile_follows_from_a_fit_of_the_same_node(booking: Booking) -> None:
    fit = submitted(booking, fit_request(epsilon=1.0), RUN, "a1")
    text = booking.carry_out(fit, lambda: None)
    leased = booking.jobs.lease(now=1000.0, duration=60.0)
    assert leased is not None
    assert booking.jobs.finish(RUN, leased.lease, text, now=1000.0)
    request = ProfileRequest(RUN, ("region",), 0.5, 1e-6, "credit", 2)
    profile = submitted(booking, request, "00000000000000b2", "a1")
    booking.reserve(profile)
    found = json.loads(booking.carry_out(profile, lambda: None))
    assert found["statement"]["run"]["name"] == "00000000000000b2"
    assert {run.name for run in ledger_of(booking).runs("credit")} == {RUN, "00000000000000b2"}


@pytest.mark.attack
def test_fit_of_a_table_that_was_withdrawn_is_not_carried_out(
    booking: Booking, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submitted(booking, fit_request(epsilon=1.0), RUN, "a1")
    booking.reserve(job)
    head = ledger_of(booking).head()
    ada = replace(booking.policy.analysts["a1"], tables=())
    withdrawn = replace(booking.policy, analysts={"a1": ada})
    monkeypatch.setattr(Files, "__init__", None)
    with pytest.raises(PolicyError, match="no longer"):
        Booking(withdrawn, booking.jobs).carry_out(job, lambda: None)
    assert ledger_of(booking).head() == head


@pytest.mark.attack
def test_two_workers_on_one_job_release_one_result_for_each_slot(booking: Booking) -> None:
    """A lease expired while its worker went on: noise is real, and both have the same model."""
    job = submitted(booking, fit_request(epsilon=1.0), RUN, "a1")
    both = threading.Barrier(2)

    def wait() -> None:
        both.wait()

    with ThreadPoolExecutor(2) as pool:
        work = [pool.submit(booking.carry_out, job, wait) for _ in range(2)]
        first, second = (json.loads(one.result()) for one in work)
    assert first["cluster_centers"] == second["cluster_centers"]
    assert first["releases"] == second["releases"]
    ledger = ledger_of(booking)
    assert ledger.verify() == []
    results = [entry for entry in ledger.export() if entry["kind"] == "result"]
    assert len(results) == len({entry["slot"] for entry in results}) == len(first["releases"])


def test_colluding_analysts_stop_at_the_total(booking: Booking) -> None:
    """Each has a cap of its own; together they have what the data set has."""
    request = fit_request(epsilon=1.9)
    booking.reserve(submitted(booking, request, "00000000000000a1", "a1"))
    with pytest.raises(BudgetExceededError, match="analyst a1's budget"):
        booking.reserve(submitted(booking, request, "00000000000000a2", "a1"))
    request = fit_request(epsilon=0.95)
    booking.reserve(submitted(booking, request, "00000000000000b1", "b2"))
    table = booking.policy.tables["credit"]
    left = [booking.epsilon_left(one, table) for one in booking.policy.analysts.values()]
    assert max(left) < 0.8
    assert len(ledger_of(booking).runs("credit")) == 2


def test_invalid_parameters_are_found_before_a_reservation(booking: Booking) -> None:
    for wrong in ({"epsilon": 1e9}, {"delta": 1.5}, {"n_clusters": 5, "n_rows": 2}):
        with pytest.raises((ParameterError, ValueError)):
            booking.price(fit_request(**wrong))
    assert ledger_of(booking).runs("credit") == ()


@pytest.mark.attack
def test_older_ledger_that_was_put_back_is_not_spent_again(
    booking: Booking, tmp_path: Path
) -> None:
    place = booking.policy.node.ledger
    code = f"import sqlite3; sqlite3.connect({place!r}).execute('VACUUM INTO ?', ['copy.db'])"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    job = submitted(booking, fit_request(epsilon=1.9), RUN, "a1")
    booking.reserve(job)
    booking.jobs._engine.dispose()
    for companion in ("", "-wal", "-shm"):
        Path(f"{place}{companion}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy.db", place)
    restored = Booking(booking.policy, JobStore(place))
    with pytest.raises(LedgerError, match="older copy was put back"):
        restored.reserve(submitted(restored, fit_request(epsilon=1.9), RUN, "a1"))
    assert ledger_of(restored).runs("credit") == ()
