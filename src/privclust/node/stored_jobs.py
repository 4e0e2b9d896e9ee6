"""The jobs that the endpoints see: those of the node's database, with quotas of the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privclust.node.jobs import ConflictError, JobStore, NewJob, Quota, QuotaError, status_at
from privclust.node.parts import JobKind, PublicStatus, StoredJob
from privclust.node.policy import AnalystPolicy, TablePolicy
from privclust.node.problems import refused


class StoredJobs:
    """Jobs in the ledger's database.

    Parameters
    ----------
    store : JobStore
        The table of jobs.
    """

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def submit(
        self,
        run: str,
        kind: JobKind,
        analyst: AnalystPolicy,
        table: TablePolicy,
        request: str,
        price: float,
        now: float,
    ) -> StoredJob:
        """Store a job, or return the one of this name."""
        new = NewJob(run, kind, analyst.id, table.name, request, price, table.seconds)
        try:
            return self._store.submit(new, Quota(analyst.max_queued, analyst.work_per_day), now)
        except ConflictError as error:
            raise refused("conflict", str(error)) from None
        except QuotaError as error:
            raise refused("quota-exceeded", str(error)) from None

    def refuse(self, run: str) -> None:
        """Note that the ledger refused a job."""
        self._store.refuse(run)

    def cancel(self, run: str, now: float) -> StoredJob | None:
        """End a job unless it ended, and return it."""
        return self._store.cancel(run, now)

    def get(self, run: str) -> StoredJob | None:
        """Return a job."""
        return self._store.get(run)

    def of_analyst(self, analyst: str) -> Sequence[StoredJob]:
        """Return the jobs of an analyst by the id."""
        return self._store.of_analyst(analyst)

    def status_at(self, job: Any, now: float) -> PublicStatus:
        """Return what may be seen of a job."""
        return status_at(job, now)
