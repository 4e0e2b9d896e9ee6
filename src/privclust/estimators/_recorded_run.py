"""One run on the rows, from its reservation to its statement: the same for fits and profiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from threadpoolctl import threadpool_limits

from privclust.estimators._input import OpenTable
from privclust.estimators._progress import showing_progress
from privclust.estimators._recording import Recording
from privclust.estimators._statement import participation_of, run_of
from privclust.models._release_lines import lines_of
from privclust.models.private_run import PrivateRun
from privclust.models.statement import Dependency, Kind, PublicPoints, Statement
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan
from privclust.privacy.release import Release
from privclust.queries.participation import QueryParticipation

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class FinishedRun(Generic[Result]):
    """A run that has ended, and what it gave.

    Attributes
    ----------
    result : object
        What the algorithm returned.
    releases : tuple of Release
        Everything that was learned from the rows.
    run : PrivateRun
        What it guarantees, and where it is recorded.
    bounds_origin : str
        Where the bounds come from.
    participation : tuple of QueryParticipation or None
        With a federation, how many clients took part in each query.
    """

    result: Result
    releases: tuple[Release, ...]
    run: PrivateRun
    bounds_origin: str
    participation: tuple[QueryParticipation, ...] | None

    def statement(
        self,
        kind: Kind,
        estimator: str,
        n_clusters: int,
        columns: tuple[str, ...] | int,
        dependencies: tuple[Dependency, ...],
        public_points: tuple[PublicPoints, ...],
    ) -> Statement:
        """Return the statement of what the run released."""
        return Statement(
            kind,
            estimator,
            n_clusters,
            columns,
            self.run,
            lines_of(self.releases, noiseless=self.run.epsilon == math.inf),
            self.bounds_origin,
            dependencies,
            public_points,
            participation_of(self.participation, len(self.releases)),
        )


def run_recorded(
    name: str,
    table: OpenTable,
    plan: Plan,
    recorded: Recording,
    work: Callable[[Curator], Result],
    n_rows: int | None = None,
    noiseless: bool = False,
) -> FinishedRun[Result]:
    """Reserve what a plan may spend, do the work, and end the run in its ledger.

    `name` says what runs, and `n_rows` is the number of rows that was typed, if one was.
    """
    curator = Curator.open(
        table.engine,
        plan,
        recorded.ledger,
        recorded.label,
        recorded.facts,
        noiseless,
        recorded.resume,
    )
    # The engine spreads rows over the cores itself; BLAS threads beside it would only spin.
    with threadpool_limits(1, "blas"), recorded.noting_how_to_resume(curator.run):
        try:
            with showing_progress():
                result = work(curator)
        finally:
            table.close()
        record = recorded.record(curator.close())
        recorded.tell_what_is_left()
    run = run_of(curator, name, table.engine.unit, record, n_rows, noiseless)
    return FinishedRun(result, curator.releases, run, table.bounds_origin, table.participation)
