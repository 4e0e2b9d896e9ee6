"""One run on the rows, from its reservation to its statement: the same for fits and profiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from threadpoolctl import threadpool_limits

from privclust.domains.origin import Origin
from privclust.estimators._input import OpenTable
from privclust.estimators._progress import showing_progress
from privclust.estimators._recording import Recording
from privclust.estimators._statement import participation_of, run_of
from privclust.models._release_lines import lines_of
from privclust.models.private_run import PrivateRun
from privclust.models.statement import Dependency, Kind, PublicPoints, Statement
from privclust.privacy.curator import Curator, reserve
from privclust.privacy.ledger._admission import Cap
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
    source : Origin or None
        Which state of which table was read, where that is known.
    """

    result: Result
    releases: tuple[Release, ...]
    run: PrivateRun
    bounds_origin: str
    participation: tuple[QueryParticipation, ...] | None
    source: Origin | None

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
            lines_of(self.releases, self.run.reserved, noiseless=self.run.epsilon == math.inf),
            self.bounds_origin,
            dependencies,
            public_points,
            participation_of(self.participation, len(self.releases)),
            self.source,
        )


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """A run that is checked and priced; none of its rows has been read.

    Attributes
    ----------
    name : str
        What runs.
    table : OpenTable
        The table, behind its engine.
    plan : Plan
        What the run may spend on which slot.
    recorded : Recording
        Which ledger pays.
    n_rows : int or None
        The number of rows, if one was typed.
    noiseless : bool
        Whether no noise is added, for teaching.
    """

    name: str
    table: OpenTable
    plan: Plan
    recorded: Recording
    n_rows: int | None = None
    noiseless: bool = False

    def reserve(self, run: str, cap: Cap | None = None) -> None:
        """Set aside what the run may spend, under the name `run`, which is then resumed."""
        ledger, label, facts = self.recorded.ledger, self.recorded.label, self.recorded.facts
        assert ledger is not None
        reserve(self.table.engine, self.plan, ledger, label, facts, run=run, cap=cap)

    def carry_out(
        self, work: Callable[[Curator], Result], before_end: Callable[[], None] | None = None
    ) -> FinishedRun[Result]:
        """Reserve, unless a run is resumed, do the work, and end the run in its ledger.

        `before_end` is called in between, when everything has been measured.
        """
        recorded, table = self.recorded, self.table
        recorded.warn_of_open_runs()
        curator = Curator.open(
            table.engine,
            self.plan,
            recorded.ledger,
            recorded.label,
            recorded.facts,
            self.noiseless,
            recorded.resume,
        )
        # The engine spreads rows over the cores itself; BLAS threads beside it would only spin.
        with threadpool_limits(1, "blas"), recorded.noting_how_to_resume(curator.run):
            ended = recorded.ledger is None  # then nobody can go on with it
            try:
                with showing_progress():
                    result = work(curator)
                ended = True
            finally:
                table.close(ended)
            if before_end is not None:
                before_end()
            record = recorded.record(curator.close())
            recorded.tell_what_is_left()
        run = run_of(
            curator,
            self.name,
            table.engine.unit,
            record,
            table.cohort,
            self.n_rows,
            self.noiseless,
        )
        return FinishedRun(
            result,
            curator.releases,
            run,
            table.bounds_origin,
            table.participation,
            recorded.source,
        )
