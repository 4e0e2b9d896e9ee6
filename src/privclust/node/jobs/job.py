"""A job of a node: a fit, a profile, or replies to a federation, and what is public of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from privclust.node.jobs import schedule
from privclust.node.jobs.schedule import Times

Kind = Literal["fit", "profile", "replies"]
State = Literal["queued", "refused", "finished", "failed", "cancelled"]
PublicState = Literal["queued", "running", "refused", "finished", "failed", "cancelled"]
STATES: tuple[PublicState, ...] = get_args(PublicState)
ENDED: tuple[PublicState, ...] = ("refused", "finished", "failed", "cancelled")


@dataclass(frozen=True)
class NewJob:
    """What an analyst requests.

    Attributes
    ----------
    run : str
        The run's name in the ledger, 32 hexadecimal digits.
    kind : {"fit", "profile", "replies"}
        What is to be done.
    analyst : str
        The analyst's id in the policy.
    table_name : str
        The table's name in the policy.
    request : str
        The rest of the request, as canonical JSON.
    price : float
        What it counts of the work that its analyst has in a day, in seconds.
    seconds : int
        The public duration of fits on the table.

    Examples
    --------
    >>> NewJob("00112233aabbccdd", "fit", "a1", "credit", "{}", price=12.5, seconds=600).kind
    'fit'
    """

    run: str
    kind: Kind
    analyst: str
    table_name: str
    request: str
    price: float
    seconds: int


@dataclass(frozen=True)
class Job(NewJob):
    """A job as it is stored.

    Attributes
    ----------
    submitted : int
        When it was, in POSIX seconds.
    lane, starts_at, release_at : int
        Its public times.
    state : {"queued", "refused", "finished", "failed", "cancelled"}
        What is known inside the node; `status_at` says what an analyst may see of it.
    lease : str
        The secret of the worker that has the job, or empty.
    lease_until : float
        Until when that worker has it, if it does not renew the lease.
    attempts : int
        How many workers began it.
    visible_at : int or None
        From when it may be seen that the job finished or failed.
    result : str or None
        The text of the model or profile file.
    """

    submitted: int
    lane: int
    starts_at: int
    release_at: int
    state: State = "queued"
    lease: str = field(default="", repr=False)
    lease_until: float = 0.0
    attempts: int = 0
    visible_at: int | None = None
    result: str | None = field(default=None, repr=False)

    @property
    def times(self) -> Times:
        """The job's public times."""
        return Times(self.lane, self.starts_at, self.release_at)


COLUMNS = tuple(column.name for column in fields(Job))
"""Of the table of jobs, in the order of `Job`; the result is the last."""


@dataclass(frozen=True)
class Status:
    """What an analyst may see of a job at some time.

    Attributes
    ----------
    state : {"queued", "running", "refused", "finished", "failed", "cancelled"}
        Of a job that ended before its time it still says running.
    progress : float
        The part of the job's time that has passed, in tenths; 0.0 if it has none.
    """

    state: PublicState
    progress: float


def status_at(job: Job, now: float) -> Status:
    """Return what an analyst may see of a job at a time.

    Examples
    --------
    >>> job = Job("00112233aabbccdd", "fit", "a1", "credit", "{}", 12.5, 600, 90, 0, 100, 700)
    >>> status_at(job, 95.0), status_at(job, 400.0)
    (Status(state='queued', progress=0.0), Status(state='running', progress=0.5))
    """
    if job.state in ("refused", "cancelled"):
        return Status(job.state, 0.0)
    share = schedule.progress(now, job.times)
    if now < job.starts_at:
        return Status("queued", share)
    if job.visible_at is None or now < job.visible_at:
        return Status("running", share)
    return Status(job.state, 1.0)
