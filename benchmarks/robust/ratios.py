"""Losses over that of k-means, best of 10, from fits of which some may be missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from benchmarks.auc import Losses, losses_of
from benchmarks.pieces import Outcome, Piece
from benchmarks.rivals import REFERENCE, RIVALS
from benchmarks.robust.fits import method_on
from benchmarks.robust.tables import DELTA, dataset
from privclust.algorithms._enough_rows import rows_needed
from privclust.privacy.accounting import mu_of


class Ratio(NamedTuple):
    """A mean over seeds and its standard error, which a single seed does not have."""

    mean: float
    error: float


@dataclass(frozen=True)
class Fits:
    """What was measured, and what was not."""

    found: Mapping[Piece, Outcome]
    missing: Sequence[Piece]

    @cached_property
    def losses(self) -> Losses:
        """Losses by method, table and epsilon."""
        return dict(losses_of(dict(self.found)))

    def ratio(self, method: str, table: str, epsilon: float) -> Ratio | None:
        """Return a method's ratio on a table; None without fits."""
        best = self.losses.get((REFERENCE, table, 0.0))
        losses = self.losses.get((method_on(method, table), table, epsilon))
        if best is None or losses is None:
            return None
        ratios = np.array(losses) / best[0]
        error = np.std(ratios, ddof=1) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.nan
        return Ratio(float(np.mean(ratios)), float(error))

    def means(self, method: str, tables: Iterable[str], epsilon: float) -> dict[str, float]:
        """Return a method's mean ratios on the tables that it was fitted to."""
        ratios = {name: self.ratio(method, name, epsilon) for name in tables}
        return {name: ratio.mean for name, ratio in ratios.items() if ratio is not None}

    def best_rival(self, table: str, epsilon: float) -> tuple[str, Ratio] | None:
        """Return the rival that comes nearest to k-means, and its ratio; None without fits."""
        ratios = {method_on(rival, table): self.ratio(rival, table, epsilon) for rival in RIVALS}
        found = {rival: ratio for rival, ratio in ratios.items() if ratio is not None}
        return min(found.items(), key=lambda item: item[1].mean, default=None)

    def of(self, method: str, tables: Iterable[str]) -> list[tuple[float, Outcome]]:
        """Return the fits of a method to some tables at all epsilons, each with its ratio."""
        names = frozenset(tables)
        return [
            (fit.loss / self.losses[REFERENCE, piece.dataset, 0.0][0], fit)
            for piece, fit in self.found.items()
            if piece.method == method and piece.dataset in names
            if (REFERENCE, piece.dataset, 0.0) in self.losses
        ]

    def whole(self, asked: Callable[[Piece], bool]) -> bool:
        """Tell whether no fit is missing that is asked for."""
        return not any(map(asked, self.missing))


def rows_per_cluster(table: str) -> float:
    """Return how many rows that count a cluster has on average."""
    return dataset(table).n_counted / dataset(table).n_clusters


@cache
def few_rows(table: str, epsilon: float) -> bool:
    """Tell whether a table has fewer rows per cluster than a fit needs at epsilon."""
    data = dataset(table)
    needed = rows_needed(data.rows.shape[1], mu_of(epsilon, DELTA), data.max_rows_per_unit)
    return rows_per_cluster(table) < needed
