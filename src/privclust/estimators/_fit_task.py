"""What one fit has to do, as an algorithm's plan needs it: all of it public."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from privclust.algorithms._cost import AlgorithmPlan
from privclust.domains.base import Domain
from privclust.errors import Message, ParameterError, safe_repr
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering, Precision
from privclust.models.quality import Quality
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.integers import is_integer
from privclust.privacy.plan import Plan
from privclust.queries.unit import Unit


class Algorithm(Protocol):
    """A module with an algorithm, or anything else that has its two functions."""

    @property
    def plan(self) -> Callable[[int, int, Budget, int | None], AlgorithmPlan]:
        """Take numbers of clusters and columns, a budget and the number of rows, if typed."""

    @property
    def run(self) -> Callable[[Curator, Any, np.random.Generator], Clustering]:
        """Take a Curator, the plan and a source of public choices."""


@dataclass(frozen=True, eq=False)
class Task:
    """What one fit has to do.

    Attributes
    ----------
    n_clusters : int
        Number of centres to find.
    n_columns : int
        Number of coordinates of a row in the unit ball.
    budget : Budget
        What the fit may spend.
    n_rows : int or None
        The number of rows, if the user typed one.
    domain : Domain
        Where values lie.
    unit : Unit
        Whose rows are protected together.
    column_names : tuple of str or None
        Those of the table, if it has any.
    noise_ratio : float, default=1.0
        How many times as large as `budget` needs the noise will be, as in a federation of nodes.
    """

    n_clusters: int
    n_columns: int
    budget: Budget
    n_rows: int | None
    domain: Domain
    unit: Unit
    column_names: tuple[str, ...] | None
    noise_ratio: float = 1.0

    @property
    def half_widths(self) -> FloatArray:
        """Half the width of each column's bounds, in the unit ball."""
        return self.domain.half_widths / self.domain.scales

    def check_spending(self, spending: Plan) -> None:
        """Refuse a plan for another guarantee than the typed one, which the statement names."""
        if spending.budget == self.budget and self.budget.admits(spending.reserve):
            return
        typed, planned = self.budget, spending.budget
        raise ParameterError(
            f"the plan would spend epsilon={planned.epsilon:g} and delta={planned.delta:g}, or "
            f"more, where the fit is to keep epsilon={typed.epsilon:g} and delta={typed.delta:g}. "
            "Make it with make_plan(task.budget, slots)."
        )

    def check_outcome(self, found: object, kind: str) -> Clustering:
        """Return what `run` of the estimator `kind` returned, or say which part of it is wrong."""
        if not isinstance(found, Clustering):
            raise TypeError(
                f"{kind}.run must return a Clustering of privclust.models.clustering, got "
                f"{safe_repr(found)}. Return Clustering(centers, sizes, n_rows)."
            )
        each = (self.n_clusters,)
        _check_array(kind, "centers", found.centers, (*each, self.n_columns))
        _check_array(kind, "sizes", found.sizes, each)
        _check_precision(kind, "precision", found.precision, each)
        if found.coreset is not None:
            points = (len(found.coreset.points),)
            _check_array(kind, "coreset.points", found.coreset.points, (*points, self.n_columns))
            _check_array(kind, "coreset.weights", found.coreset.weights, points)
            _check_precision(kind, "coreset.precision", found.coreset.precision, points)
        if not isinstance(found.quality, Quality | None):
            raise TypeError(
                f"{kind}.run returned {safe_repr(found.quality)} as quality, which must be a "
                "Quality of privclust.models.quality, or None."
            )
        if not isinstance(found.advice, Message | None):
            raise TypeError(
                f"{kind}.run returned {safe_repr(found.advice)} as advice, which must be a Message "
                "of privclust.errors or None. Return Message(text)."
            )
        if not is_integer(found.n_rows):
            raise TypeError(
                f"{kind}.run returned {safe_repr(found.n_rows)} as n_rows, which must be an "
                "integer: the typed number of rows, or a noisy count. Round it with int()."
            )
        return found


def _check_precision(kind: str, name: str, found: Precision | None, shape: tuple[int, ...]) -> None:
    if found is not None:
        for part in ("center_stderr", "size_stderr", "radii"):
            _check_array(kind, f"{name}.{part}", getattr(found, part), shape)


def _check_array(kind: str, name: str, found: object, shape: tuple[int, ...]) -> None:
    """Refuse a part of an outcome that is not an array of finite numbers, of this shape."""
    if not isinstance(found, np.ndarray):
        got = safe_repr(found)
    elif found.dtype.kind not in "iuf" or found.shape != shape:
        got = f"an array of {found.dtype.name} of shape {found.shape}"
    elif not np.isfinite(found).all():
        got = "numbers that are missing or infinite"
    else:
        return
    raise ValueError(
        f"{kind}.run returned {got} as {name}, which must be a NumPy array of finite numbers of "
        f"shape {shape}. Correct run, then resume the fit."
    )
