"""Jobs and their leases, on both databases: submitted once, held by one, seen on the grid."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any, Literal

import pytest
from helpers.processes import race
from hypothesis import given
from hypothesis import strategies as st

from privclust.node.jobs.job import Job, NewJob, status_at
from privclust.node.jobs.store import MAX_ATTEMPTS, ConflictError, JobStore, Quota, QuotaError
from privclust.privacy.ledger.ledger import Ledger

NOW, SECONDS, DAY = 1_000_000.0, 600, 86_400
LIMITS = Quota(max_queued=100, work_per_day=1e9)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    where = str(tmp_path / "ledger.db")
    if request.param == "postgresql":
        where = request.getfixturevalue("database")
    Ledger.create(where, "table", epsilon=1.0, delta=1e-6)
    return where


@pytest.fixture
def store(place: str) -> JobStore:
    return JobStore(place)


def new(number: int = 0, **others: Any) -> NewJob:
    job = NewJob(f"{number:016x}", "fit", "a1", "credit", "{}", price=10.0, seconds=SECONDS)
    return replace(job, **others)


def leased(store: JobStore, now: float = NOW, duration: float = 30) -> Job:
    job = store.lease(now, duration)
    assert job is not None
    return job


def stored(store: JobStore, run: str) -> Job:
    job = store.get(run)
    assert job is not None
    return job


# Submitting --------------------------------------------------------------------------------------


def test_jobs_lie_beside_a_ledger_that_stays_whole(place: str, store: JobStore) -> None:
    job = store.submit(new(), LIMITS, NOW)
    assert JobStore(place).get(job.run) == job
    assert Ledger.open(place).verify() == []
    assert store.get("ffffffffffffffff") is None


def test_same_request_again_is_the_stored_job_whatever_the_quota(store: JobStore) -> None:
    job = store.submit(new(), LIMITS, NOW)
    again = store.submit(new(price=11.0), Quota(max_queued=0, work_per_day=0), NOW + 50)
    assert again == job


@pytest.mark.parametrize(
    "other", [{"request": '{"k": 2}'}, {"kind": "profile"}, {"analyst": "a2"}, {"table_name": "t"}]
)
def test_another_request_of_the_same_name_is_a_conflict(
    store: JobStore, other: dict[str, Any]
) -> None:
    job = store.submit(new(), LIMITS, NOW)
    with pytest.raises(ConflictError, match="new key"):
        store.submit(new(**other), LIMITS, NOW)
    assert store.of_analyst("a1") == (job,)


def test_lanes_are_filled_in_turn_and_a_refused_job_leaves_its_place(place: str) -> None:
    store = JobStore(place, lanes=2, tick=10)
    jobs = [store.submit(new(number), LIMITS, NOW + number) for number in range(3)]
    assert [(job.lane, job.starts_at) for job in jobs] == [
        (0, 1_000_000),
        (1, 1_000_010),
        (0, 1_000_600),
    ]
    store.refuse(jobs[2].run)
    assert store.submit(new(3), LIMITS, NOW + 3).times == jobs[2].times


@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_cancelled_and_failed_jobs_keep_their_lane_and_their_work(
    store: JobStore, how: str
) -> None:
    job = store.submit(new(), LIMITS, NOW)
    if how == "cancelled":
        store.cancel(job.run, NOW)
    else:
        assert store.fail(job.run, leased(store).lease, NOW + 1)
    with pytest.raises(QuotaError, match="10 are used"):
        store.submit(new(1), Quota(5, work_per_day=19.9), NOW + SECONDS)
    assert store.submit(new(1), LIMITS, NOW + 2).starts_at == job.release_at


def test_work_of_a_day_is_limited_and_comes_back(store: JobStore) -> None:
    limits = Quota(max_queued=100, work_per_day=20.0)
    for number in (0, 1):
        store.submit(new(number), limits, NOW)
    with pytest.raises(QuotaError, match="seconds, and of the 20 allowed"):
        store.submit(new(2, price=0.5), limits, NOW + DAY - 1)
    store.submit(new(3, analyst="a2"), limits, NOW)
    store.submit(new(2), limits, NOW + DAY)


def test_refused_jobs_have_no_lane_and_count_for_the_work_of_a_day(store: JobStore) -> None:
    """They are stored, and free of charge they could be sent for ever."""
    limits = Quota(max_queued=1, work_per_day=20.0)
    for number in range(2):
        store.refuse(store.submit(new(number), limits, NOW).run)
    assert status_at(stored(store, new(1).run), NOW).state == "refused"
    with pytest.raises(QuotaError, match="20 are used"):
        store.submit(new(2), limits, NOW)
    assert store.submit(new(3, analyst="a2"), limits, NOW).starts_at == NOW


@pytest.mark.attack
def test_cancelled_jobs_are_queued_until_their_lane_is_free(store: JobStore) -> None:
    """Who submits and cancels, again and again, would keep all lanes from others."""
    limits = Quota(max_queued=2, work_per_day=1000.0)
    for number in (0, 1):
        store.cancel(store.submit(new(number), limits, NOW).run, NOW)
    with pytest.raises(QuotaError, match="cancelled and keep their time"):
        store.submit(new(2), limits, NOW)
    store.submit(new(2), limits, NOW + SECONDS)


def test_jobs_count_as_queued_until_their_end_can_be_seen(store: JobStore) -> None:
    """Otherwise a quota would tell when a fit was really done."""
    limits = Quota(max_queued=1, work_per_day=1e9)
    job = store.submit(new(), limits, NOW)
    assert store.finish(job.run, leased(store).lease, "model", NOW + 1)
    with pytest.raises(QuotaError, match="1 jobs are queued or running"):
        store.submit(new(1), limits, NOW + SECONDS - 1)
    store.submit(new(1), limits, NOW + SECONDS)


def test_quota_holds_for_many_that_submit_at_once(place: str) -> None:
    limits, workers = Quota(max_queued=3, work_per_day=1e9), 8
    barrier = Barrier(workers)
    stores = [JobStore(place) for _ in range(workers)]

    def submit(number: int) -> int | None:
        barrier.wait()
        try:
            return stores[number].submit(new(number), limits, NOW).starts_at
        except QuotaError:
            return None

    with ThreadPoolExecutor(workers) as pool:
        starts = [start for start in pool.map(submit, range(workers)) if start is not None]
    assert sorted(starts) == [NOW, NOW + SECONDS, NOW + 2 * SECONDS]


# Leases ------------------------------------------------------------------------------------------


def test_jobs_are_leased_when_they_start_the_oldest_first(store: JobStore) -> None:
    runs = [store.submit(new(number), LIMITS, NOW).run for number in (5, 2)]
    assert store.lease(NOW - 1, 30) is None
    assert leased(store).run == runs[0]
    assert store.lease(NOW + 29, 30) is None
    assert leased(store, NOW + SECONDS, 1e6).run == runs[0]
    assert leased(store, NOW + SECONDS).run == runs[1]


def test_lease_has_a_secret_that_no_repr_shows(store: JobStore) -> None:
    store.submit(new(), LIMITS, NOW)
    first = leased(store)
    second = leased(store, NOW + 30)
    assert first.lease != second.lease
    assert len(first.lease) == 32
    assert first.lease not in repr(first)


@pytest.mark.attack
def test_only_the_holder_of_a_lease_stores_anything(store: JobStore) -> None:
    run = store.submit(new(), LIMITS, NOW).run
    job = leased(store)
    before = store.get(run)
    for token in ("", "0" * 32):
        assert not store.renew(run, token, NOW + 1, 30)
        assert not store.finish(run, token, "forged", NOW + 1)
        assert not store.fail(run, token, NOW + 1)
    assert store.get(run) == before
    assert store.finish(run, job.lease, "model", NOW + 1)
    assert not store.finish(run, job.lease, "another", NOW + 2)
    assert stored(store, run).result == "model"


def test_worker_whose_lease_expired_stores_nothing(store: JobStore) -> None:
    run = store.submit(new(), LIMITS, NOW).run
    late = leased(store)
    for _ in range(2):  # whether another has the job by now or not
        assert not store.renew(run, late.lease, NOW + 30, 30)
        assert not store.finish(run, late.lease, "late", NOW + 30)
        assert not store.fail(run, late.lease, NOW + 30)
        other = store.lease(NOW + 30, 30)
    assert other is None
    assert stored(store, run).state == "queued"


def test_lease_that_was_given_back_is_free_at_once(store: JobStore) -> None:
    store.submit(new(), LIMITS, NOW)
    job = leased(store)
    assert not store.give_back(job.run, "another", NOW)
    assert store.lease(NOW, 30) is None
    assert store.give_back(job.run, job.lease, NOW)
    assert not store.finish(job.run, job.lease, "a model", NOW)
    other = leased(store)
    assert not store.give_back(job.run, job.lease, NOW)
    assert (other.run, other.attempts) == (job.run, 2)


def test_jobs_that_workers_have_and_have_not_are_counted(store: JobStore) -> None:
    assert store.held(NOW) == (0, 0)
    for number in range(2):
        store.submit(new(number), LIMITS, NOW)  # the second one starts after the first
    assert store.held(NOW + 59) == (0, 0)
    assert store.held(NOW + 60) == (0, 1)
    leased(store, NOW + 60)
    assert store.held(NOW + 61) == (1, 0)
    assert store.held(NOW + 90) == (0, 1)


def test_renewed_lease_holds(store: JobStore) -> None:
    run = store.submit(new(), LIMITS, NOW).run
    job = leased(store)
    assert store.renew(run, job.lease, NOW + 20, 30)
    assert store.lease(NOW + 49, 30) is None
    assert store.finish(run, job.lease, "model", NOW + 49)


def test_job_that_no_worker_ends_is_failed_and_seen_so_on_the_grid(store: JobStore) -> None:
    run = store.submit(new(), LIMITS, NOW).run
    for attempt in range(MAX_ATTEMPTS):
        assert leased(store, NOW + 30 * attempt).attempts == attempt + 1
    assert store.lease(NOW + 30 * MAX_ATTEMPTS, 30) is None
    job = stored(store, run)
    assert (job.state, job.visible_at) == ("failed", NOW + SECONDS)
    assert status_at(job, NOW + SECONDS - 1).state == "running"
    assert status_at(job, NOW + SECONDS).state == "failed"


def test_one_job_given_up_does_not_keep_the_next_from_being_leased(store: JobStore) -> None:
    for number in (0, 1):
        store.submit(new(number), LIMITS, NOW)
    for attempt in range(MAX_ATTEMPTS):
        leased(store, NOW + attempt, 1)
    assert leased(store, NOW + SECONDS).run == new(1).run


def test_threads_never_share_a_lease(place: str) -> None:
    workers, jobs = 6, 12
    first = JobStore(place, lanes=jobs)
    for number in range(jobs):
        first.submit(new(number), LIMITS, NOW)
    barrier = Barrier(workers)
    stores = [JobStore(place) for _ in range(workers)]

    def work(number: int) -> list[str]:
        barrier.wait()
        found = []
        while (job := stores[number].lease(NOW, 30)) is not None:
            found.append(job.run)
        return found

    with ThreadPoolExecutor(workers) as pool:
        runs = [run for found in pool.map(work, range(workers)) for run in found]
    assert Counter(runs) == Counter(new(number).run for number in range(jobs))


RACE = """
import json, sys
from privclust.node.jobs.store import JobStore
store = JobStore(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
found = []
while (job := store.lease(float(sys.argv[3]), 30)) is not None:
    found.append(job.run)
    assert store.finish(job.run, job.lease, sys.argv[1], float(sys.argv[3]) + 1)
print(json.dumps(found))
"""


def test_processes_never_share_a_lease(place: str) -> None:
    store, jobs = JobStore(place, lanes=20), 20
    for number in range(jobs):
        store.submit(new(number), LIMITS, NOW)
    found = [json.loads(printed) for printed in race(RACE, place, str(NOW))]
    assert sorted(found[0] + found[1]) == [new(number).run for number in range(jobs)]
    for number in (0, 1):
        assert {stored(store, run).result for run in found[number]} <= {str(number)}


# What can be seen --------------------------------------------------------------------------------


def test_result_is_visible_from_the_release_time_after_it_was_ready(store: JobStore) -> None:
    for number, (ready, seen) in enumerate([(1, 1), (SECONDS, 1), (SECONDS + 1, 2)]):
        run = store.submit(new(number), LIMITS, NOW).run
        start = stored(store, run).starts_at
        job = leased(store, start)
        done = start + SECONDS + 1.5  # after its run was ended in the ledger
        assert store.renew(run, job.lease, start, 2 * SECONDS)
        assert store.finish(run, job.lease, "model", done, ready=start + ready)
        assert stored(store, run).visible_at == start + seen * SECONDS


def test_cancelled_at_once_and_the_worker_loses_its_lease(store: JobStore) -> None:
    run = store.submit(new(), LIMITS, NOW).run
    job = leased(store)
    cancelled = store.cancel(run, NOW + 5)
    assert cancelled is not None
    assert status_at(cancelled, NOW + 5).state == "cancelled"
    assert not store.renew(run, job.lease, NOW + 6, 30)
    assert not store.finish(run, job.lease, "model", NOW + 6)
    assert store.lease(NOW + 60, 30) is None
    assert store.cancel("ffffffffffffffff", NOW) is None


def test_cancelling_works_exactly_as_long_as_no_end_can_be_seen(store: JobStore) -> None:
    """Whether it works must not tell that a model is ready."""
    for number in (0, 1):
        run = store.submit(new(number), LIMITS, NOW).run
        job = leased(store, NOW + number * SECONDS)
        assert store.finish(run, job.lease, "model", NOW + number * SECONDS + 1)
    early, late = (store.cancel(new(n).run, NOW + (n + 1) * SECONDS - 1 + n) for n in (0, 1))
    assert early is not None
    assert late is not None
    assert (early.state, early.result, early.visible_at) == ("cancelled", None, None)
    assert (late.state, late.result) == ("finished", "model")


def test_refusing_ends_a_lease_but_no_finished_job(store: JobStore) -> None:
    runs = [store.submit(new(number), LIMITS, NOW).run for number in (0, 1)]
    job = leased(store)
    store.refuse(runs[0])
    assert not store.finish(runs[0], job.lease, "model", NOW + 1)
    assert store.finish(runs[1], leased(store, NOW + SECONDS).lease, "model", NOW + SECONDS)
    store.refuse(runs[1])
    assert [job.state for job in store.of_analyst("a1")] == ["refused", "finished"]


def test_an_analyst_sees_own_jobs_in_order_without_results(store: JobStore) -> None:
    for number in (3, 1, 2):
        store.submit(new(number), LIMITS, NOW + 10 - number)
    store.submit(new(4, analyst="a2"), LIMITS, NOW)
    job = leased(store, NOW + 10)
    assert store.finish(job.run, job.lease, "model", NOW + 11)
    jobs = store.of_analyst("a1")
    assert [one.run for one in jobs] == [new(number).run for number in (3, 2, 1)]
    assert {one.result for one in jobs} == {None}
    assert store.of_analyst("a3") == ()


@pytest.mark.parametrize("after", [-1, 0, 1, SECONDS - 1, SECONDS, SECONDS + 1, 9 * SECONDS])
def test_counts_are_of_what_can_be_seen(place: str, after: int) -> None:
    store = JobStore(place, lanes=9)
    for number in range(5):
        store.submit(new(number), LIMITS, NOW)
    finished, failed = leased(store), leased(store)
    assert store.finish(finished.run, finished.lease, "model", NOW + 1)
    assert store.fail(failed.run, failed.lease, NOW + 1)
    store.cancel(new(2).run, NOW)
    store.refuse(new(3).run)
    states = Counter(status_at(job, NOW + after).state for job in store.of_analyst("a1"))
    assert store.counts(NOW + after) == states


@given(now=st.floats(900, 3000), end=st.sampled_from(["finished", "failed"]))
def test_status_before_the_release_does_not_tell_whether_the_job_ended(
    now: float, end: Literal["finished", "failed"]
) -> None:
    job = Job("0" * 16, "fit", "a1", "t", "{}", 1.0, 600, 990, 0, 1000, 1600)
    ended = replace(job, state=end, visible_at=1600)
    assert (status_at(job, now) == status_at(ended, now)) == (now < 1600)
