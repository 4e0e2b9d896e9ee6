"""The jobs of a node, in a table beside the ledger's entries: who submitted what, who works on it.

Every method is one transaction. A worker has a job by a lease: a secret that holds until a time.
A worker with another secret, or one that is too late, stores nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from privclust.node.jobs import _schema as sql
from privclust.node.jobs import schedule
from privclust.node.jobs.job import Job, NewJob, PublicState
from privclust.privacy.ledger._database import Database
from privclust.privacy.ledger._sql_session import Session

MAX_ATTEMPTS = 20
"""How often a job may be lost before it is failed, by a worker that was restarted, too: what was
measured is kept, so that each attempt goes on where the last one ended."""
DAY = 86_400


class ConflictError(ValueError):
    """A run's name stands for another request already."""

    def __init__(self) -> None:
        super().__init__(
            "this Idempotency-Key was used for another request. Choose a new key, or send the "
            "request that it was first used for."
        )


class QuotaError(RuntimeError):
    """An analyst has as many jobs, or as much work a day, as the policy allows."""


@dataclass(frozen=True)
class Quota:
    """What the policy allows an analyst.

    Attributes
    ----------
    max_queued : int
        Jobs that are queued or running at the same time.
    work_per_day : float
        Sum of the prices of all jobs submitted within 24 hours.
    """

    max_queued: int
    work_per_day: float


class JobStore(Database):
    """The table of jobs, which is made where it is missing.

    Parameters
    ----------
    place : str
        The ledger: path of a SQLite file, or a URL that starts with ``postgresql://``.
    lanes : int, default=1
        How many jobs run at the same time. Only `submit` needs it.
    tick : int, default=1
        Jobs start at multiples of so many seconds. Only `submit` needs it.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = JobStore(f"{folder.name}/ledger.db")
    >>> new = NewJob("00112233aabbccdd", "fit", "a1", "credit", "{}", price=12.5, seconds=600)
    >>> store.submit(new, Quota(max_queued=5, work_per_day=100.0), now=1000.0).times
    Times(lane=0, starts_at=1000, release_at=1600)
    >>> job = store.lease(now=1000.0, duration=30)
    >>> store.finish(job.run, job.lease, "a model", now=1020.0)
    True
    >>> store.get(job.run).visible_at
    1600
    >>> folder.cleanup()
    """

    _table = "privclust_jobs"
    _lock = "SET LOCAL lock_timeout = '5s'; LOCK TABLE privclust_jobs IN EXCLUSIVE MODE"

    def __init__(self, place: str, lanes: int = 1, tick: int = 1) -> None:
        super().__init__(place)
        self._lanes = lanes
        self._tick = tick
        if not self.exists():
            self.make()

    def submit(
        self,
        new: NewJob,
        limits: Quota,
        now: float,
        before_insert: Callable[[], object] = lambda: None,
    ) -> Job:
        """Store a `new` job and return it with its times, or the one that is stored already.

        `before_insert` is called once for each job, in the transaction that stores it; if it
        raises, nothing is stored.

        Raises `ConflictError` if its run's name stands for another request, `QuotaError` if
        `limits` do not allow one more job at the time `now`.
        """
        with self._transaction() as session:
            stored = _found(session.execute(sql.GET, {"run": new.run}))
            if stored is not None:
                if _request_of(stored) != _request_of(new):
                    raise ConflictError
                return stored
            _check(session, new, limits, now)
            times = asdict(self._times(session, new, now))
            job = Job(**asdict(new), submitted=int(now), **times)
            before_insert()
            session.execute(sql.INSERT, asdict(job))
            return job

    def submit_again(self, new: NewJob, limits: Quota, now: float) -> Job:
        """Give replies whose time was over another time, which counts as much again."""
        with self._transaction() as session:
            stored = _found(session.execute(sql.GET, {"run": new.run}))
            if stored is None or stored.state != "finished":
                raise ConflictError
            _check(session, new, limits, now)
            times = asdict(self._times(session, new, now))
            more = {"price": new.price, "seconds": new.seconds, "submitted": int(now)}
            session.execute(sql.AGAIN, {"run": new.run, **more, **times})
            (row,) = session.execute(sql.GET, {"run": new.run})
            return Job(*row)

    def close_replies(self, run: str, now: float) -> None:
        """End replies to a federation, whose lane is free from the next tick on."""
        at = schedule.next_tick(now, self._tick)
        with self._transaction() as session:
            session.execute(sql.CLOSE, {"run": run, "at": at})

    def lease(self, now: float, duration: float) -> Job | None:
        """Give the caller the oldest job that is due, for `duration` seconds from `now`.

        Returns it with the secret of the lease, or None if there is none. A job that was leased
        too often is failed.
        """
        with self._transaction() as session:
            while (job := _found(session.execute(sql.DUE, {"now": now}))) is not None:
                if job.attempts >= MAX_ATTEMPTS:
                    visible_at = schedule.visible_at(now, job.times, job.seconds)
                    session.execute(sql.GIVE_UP, {"run": job.run, "visible_at": visible_at})
                    continue
                lease = {"run": job.run, "token": secrets.token_hex(16), "until": now + duration}
                session.execute(sql.LEASE, lease)
                return _found(session.execute(sql.GET, {"run": job.run}))
        return None

    def renew(self, run: str, token: str, now: float, duration: float) -> bool:
        """Prolong a lease, and tell whether the caller still had it."""
        values = {"run": run, "token": token, "now": now, "until": now + duration}
        with self._transaction() as session:
            return bool(session.execute(sql.RENEW, values))

    def give_back(self, run: str, token: str, now: float) -> bool:
        """End a lease early, so that another worker may go on at once."""
        with self._transaction() as session:
            return bool(session.execute(sql.GIVE_BACK, {"run": run, "token": token, "now": now}))

    def finish(
        self, run: str, token: str, result: str, now: float, ready: float | None = None
    ) -> bool:
        """Store a `result`, and tell whether the caller still had the lease.

        It is visible from the first release time after it was `ready`, by default `now`.
        """
        return self._end(run, token, "finished", result, now, now if ready is None else ready)

    def fail(self, run: str, token: str, now: float) -> bool:
        """Give a job up, and tell whether the caller still had the lease.

        It is seen from the next release time on.
        """
        return self._end(run, token, "failed", None, now, now)

    def cancel(self, run: str, now: float) -> Job | None:
        """End a job unless it can be seen to have ended; return it as it is then.

        Its worker loses the lease. None if there is no such job.
        """
        with self._transaction() as session:
            session.execute(sql.CANCEL, {"run": run, "now": now})
            return _found(session.execute(sql.GET, {"run": run}))

    def refuse(self, run: str) -> None:
        """Note that the ledger refused a job: its lane is free again."""
        with self._transaction() as session:
            session.execute(sql.REFUSE, {"run": run})

    def get(self, run: str) -> Job | None:
        """Return the job of a run, or None."""
        with self._connected() as session:
            return _found(session.execute(sql.GET, {"run": run}))

    def of_analyst(self, analyst: str) -> tuple[Job, ...]:
        """Return the jobs of an analyst in the order they were submitted, without results."""
        with self._connected() as session:
            found = session.execute(sql.OF_ANALYST, {"analyst": analyst})
        return tuple(Job(*row) for row in found)

    def counts(self, now: float) -> Mapping[PublicState, int]:
        """Return how many jobs have each state at the time `now`, as analysts see it."""
        with self._connected() as session:
            return dict(session.execute(sql.COUNTS, {"now": now}))

    def held(self, now: float) -> tuple[int, int]:
        """Return how many jobs workers have, and how many are due for a minute and nobody's."""
        with self._connected() as session:
            ((held, due),) = session.execute(sql.HELD, {"now": now, "since": now - 60})
        return int(held), int(due)

    def failed(self, now: float) -> list[tuple[str, str, str]]:
        """Return run, analyst and table of jobs that have failed, the newest first."""
        with self._connected() as session:
            return [tuple(row) for row in session.execute(sql.FAILED, {"now": now})]

    def _end(
        self, run: str, token: str, state: str, result: str | None, now: float, ready: float
    ) -> bool:
        with self._transaction() as session:
            job = _found(session.execute(sql.GET, {"run": run}))
            if job is None:
                return False
            values = {
                "run": run,
                "token": token,
                "state": state,
                "result": result,
                "now": now,
                "visible_at": schedule.visible_at(ready, job.times, job.seconds),
            }
            return bool(session.execute(sql.END, values))

    def _times(self, session: Session, new: NewJob, now: float) -> schedule.Times:
        released = dict(session.execute(sql.ENDS))
        ends = [released.get(lane, 0) for lane in range(self._lanes)]
        return schedule.times(now, ends, new.seconds, self._tick)

    def _schema(self, session: Session) -> tuple[str, ...]:
        return sql.TABLE


def _found(rows: list[Any]) -> Job | None:
    return Job(*rows[0]) if rows else None


def _request_of(job: NewJob) -> tuple[str, ...]:
    return job.kind, job.analyst, job.table_name, job.request


def _check(session: Session, new: NewJob, limits: Quota, now: float) -> None:
    """Raise if limits do not allow one more job."""
    ((unfinished,),) = session.execute(sql.UNFINISHED, {"analyst": new.analyst, "now": now})
    if unfinished >= limits.max_queued:
        raise QuotaError(
            f"{unfinished} jobs are queued or running, or were cancelled and keep their time, and "
            f"{limits.max_queued} are allowed. Wait until one has ended."
        )
    ((work,),) = session.execute(sql.WORK, {"analyst": new.analyst, "since": int(now) - DAY})
    if work + new.price > limits.work_per_day:
        raise QuotaError(
            f"this job takes {new.price:g} seconds, and of the {limits.work_per_day:g} allowed in "
            f"24 hours, {work:g} are used. Wait until some of them have passed."
        )
