"""What a fit can be expected to give, from numbers the user types: nothing is read or spent."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from privclust.algorithms import private_kmeans
from privclust.algorithms._cost import NUMBER_SECONDS, PRODUCT_SECONDS, ROW_SECONDS
from privclust.algorithms._enough_rows import (
    HIDDEN,
    epsilon_needed,
    rows_needed,
    total_rows_needed,
)
from privclust.algorithms._private_kmeans_plan import SIZE_SHARE, PrivateKMeansPlan
from privclust.errors import Message, Parameter, ParameterError, safe_repr
from privclust.estimators._common_parameters import typed_budget
from privclust.estimators._cost_check import beyond_limits
from privclust.kernels.grid import to_grid
from privclust.models._html import bar, block, details, sentence, table
from privclust.models._plotting import plots
from privclust.models.composition import WEAK, best_power, describe_strength
from privclust.models.cost_limits import GIB
from privclust.models.formatting import rounded_up, spoken, spoken_memory
from privclust.privacy.accounting import Budget
from privclust.privacy.integers import integer
from privclust.queries.clusters import ClusterMoments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOISE, NOISE_PER_COLUMN = 20.0, 4.5
"""What noise on the means adds to the loss, times the square of the signal."""
LOST, LOST_BELOW = 2.0, 0.65
"""How much clusters add that noise hides, and below which part of the rows needed. All four were
fitted to simulated settings of 2 to 128 columns (docs/benchmarks.md)."""
NEAR = 1.1
"""A loss within 10 % of that of k-means."""
FULL_PASSES, SMALL_PASSES = 5, 30
TIMED_CENTERS, TIMED_PRODUCTS = 2**18, 2**26
"""Numbers of centres up to which time is measured and not reckoned, and products to measure."""
NOTABLE_SECONDS = 10.0


@dataclass(frozen=True)
class Forecast:
    """What to expect of PrivateKMeans on clusters that are apart and of equal size.

    Attributes
    ----------
    n_rows, n_columns, n_clusters : int
        What was typed; so are epsilon and delta.
    epsilon, delta : float
        The guarantee.
    ratio : float
        Loss of a typical fit over that of k-means without privacy. Single fits may lose more.
    size_stderr : float
        Standard error of the size of a cluster, in rows.
    smallest : int
        About how many rows each cluster needs, so that the loss of most fits is within 10 % of that
        of k-means.
    rows_needed : int
        How many rows all clusters need for that with this epsilon, in two digits, if their sizes
        are equal.
    epsilon_needed : float or None
        Which epsilon it takes with so many rows; None if no reasonable one does.
    passes : int
        How often all rows are read.
    seconds : float
        About how long a fit takes on this machine, with rows in memory or in Parquet.
    fixed_seconds : float, default=0.0
        How much of that it takes whatever the number of rows.
    memory : int, default=0
        Bytes that it takes beside the rows.
    refused : str or None
        Which limits such a fit exceeds, and how to raise them (docs/limits.md).
    max_rows_per_unit : int, default=1
        What was typed: noise hides all rows of a unit.
    noise_ratio : float, default=1.0
        What was typed: how many times as large as for one table the noise is.

    Examples
    --------
    `forecast` shows one.
    """

    n_rows: int
    n_columns: int
    n_clusters: int
    epsilon: float
    delta: float
    ratio: float
    size_stderr: float
    smallest: int
    rows_needed: int
    epsilon_needed: float | None
    passes: int
    seconds: float
    fixed_seconds: float = 0.0
    memory: int = 0
    refused: str | None = None
    max_rows_per_unit: int = 1
    noise_ratio: float = 1.0

    @property
    def found(self) -> bool:
        """Whether clusters will be found: otherwise a fit warns that noise hides them."""
        return self.n_rows >= HIDDEN * self.rows_needed

    def __str__(self) -> str:
        units = (
            f", up to {self.max_rows_per_unit:,} of one unit," if self.max_rows_per_unit > 1 else ""
        )
        lines = [
            f"{self.n_clusters:,} clusters in a table of {self.n_rows:,} rows{units} with "
            f"{self.n_columns:,} columns at epsilon {self.epsilon:g}, delta {self.delta:g}:",
            f"  loss of a typical fit: about {self.ratio:.3f} times that of k-means without "
            "privacy (1 is as good, 1.1 a tenth worse)"
            if self.found
            else "  loss: clusters will hardly be found, because noise hides them",
            f"  sizes: ± {self.size_stderr:,.0f} rows",
            f"  rows that each cluster needs: about {self.smallest:,}",
            f"  time: {self.passes} passes, {_spoken(self.seconds)}",
        ]
        if self.fixed_seconds > NOTABLE_SECONDS or self.memory > GIB:
            lines.append(
                f"  whatever the number of rows: {spoken(self.fixed_seconds)} of this, and "
                f"{spoken_memory(self.memory)} of memory"
            )
        if self.refused is not None:
            lines.append(f"  such a fit is refused: {self.refused}")
        if self.n_rows < self.rows_needed:
            lines.append(f"  {self._needed}")
        if self.epsilon > WEAK:
            power = best_power(Budget(self.epsilon, self.delta).capacity)
            lines.append(f"  guarantee: {describe_strength(self.epsilon, power)}")
        if self.delta * self.n_rows > 1:
            lines.append("  delta is more than one over the rows, which protects nobody; try 1e-6")
        lines.append(
            "  assumed: clusters lie apart and have equal sizes; where these differ, each still "
            "needs as many rows"
        )
        lines.append(
            "  columns: a number or a date counts as one, a category as one for each of its levels"
        )
        lines.append(f"  protected: {self._protected}")
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the loss to expect against epsilon, with the one that was typed.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new picture.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = plots("planning").plot_forecast(self, ax)
        return drawn

    def _repr_html_(self) -> str:
        title, *lines = str(self).split("\n")
        others = [
            [
                f"{one.epsilon:g}",
                f"{one.ratio:.3f}" if one.found else "hidden by noise",
                bar(1 / one.ratio if one.found else 0.0),
                f"± {one.size_stderr:,.0f}",
                f"{one.smallest:,}",
            ]
            for one in forecast_grid(self)
        ]
        header = ["epsilon", "loss over k-means", "", "sizes", "rows each cluster needs"]
        return block(
            title,
            *(sentence(line.strip()) for line in lines),
            details("With other epsilons", table(header, others)),
        )

    @property
    def _protected(self) -> str:
        """Who is protected, and of how many ids so many rows are, at least."""
        most = self.max_rows_per_unit
        if most == 1:
            return (
                "one row; if a fit has a unit it is one id, of which one row counts, and the "
                "number of rows to type is that of ids"
            )
        return (
            f"all rows of one id, of which up to {most:,} count; if all {self.n_rows:,} rows do, "
            f"they are those of at least {-(-self.n_rows // most):,} ids"
        )

    @property
    def _needed(self) -> str:
        """What it takes for most fits to be near k-means, which a typical one may be with less."""
        enough = f"{self.rows_needed:,} rows"
        if self.epsilon_needed is not None:
            enough += f", or epsilon {rounded_up(self.epsilon_needed, 2)}"
        needed = f"for most fits to be within 10 % of k-means it would take about {enough}"
        if self.found and self.ratio <= NEAR:
            return f"single fits may lose more: {needed}"
        return f"{needed}; a typical one may be there with less"


def forecast(
    n_rows: int,
    n_columns: int,
    n_clusters: int = 8,
    *,
    epsilon: float = 1.0,
    delta: float | None = None,
    max_rows_per_unit: int = 1,
    noise_ratio: float = 1.0,
) -> Forecast:
    """Forecast a fit of PrivateKMeans before anything is spent.

    The numbers are typed by you; no table is looked at.

    Parameters
    ----------
    n_rows : int
        About how many rows there are. The order of magnitude is enough.
    n_columns : int
        How many columns; a category counts as one for each level.
    n_clusters : int, default=8
        How many clusters; 8 as the estimators have it.
    epsilon : float, default=1.0
        Strength of the guarantee, smaller is stronger; 1 as the estimators have it.
    delta : float
        The remainder that the guarantee allows beside epsilon, such as 1e-6. It must be typed.
    max_rows_per_unit : int, default=1
        With a fit that has `unit`: as how many rows one unit counts at most. `n_rows` is then how
        many rows there are if none counts for more.
    noise_ratio : float, default=1.0
        For nodes that cluster together: `NodeFederation.noise_ratio`, by which their noise is
        larger than that of one table with the same guarantee.

    Examples
    --------
    >>> expected = forecast(1_000_000, 8, 16, epsilon=1.0, delta=1e-6)
    >>> expected.found, expected.passes
    (True, 5)
    >>> forecast(20_000, 4, delta=1e-6, max_rows_per_unit=50).found
    False
    """
    n_rows, n_columns, n_clusters, max_rows_per_unit = check_sizes(
        n_rows=n_rows,
        n_columns=n_columns,
        n_clusters=n_clusters,
        max_rows_per_unit=max_rows_per_unit,
    )
    ratio: Any = noise_ratio
    if not (isinstance(ratio, float | int) and 1 <= ratio < math.inf):
        raise ParameterError(
            Message(
                Parameter("noise_ratio"),
                f" must be a number of at least 1, got {safe_repr(noise_ratio)}. Leave it out for "
                "one table.",
            )
        )
    budget = typed_budget(epsilon, delta)
    planned = planned_fit(n_columns, n_clusters, budget, max_rows_per_unit, noise_ratio)
    sampled = planned.sampling_exponent(n_rows) > 0
    passes = FULL_PASSES if sampled else SMALL_PASSES
    cost = planned.cost()
    return Forecast(
        n_rows,
        n_columns,
        n_clusters,
        epsilon,
        budget.delta,
        ratio=expected_ratio(planned, n_rows),
        size_stderr=1 / (planned.mu * math.sqrt(SIZE_SHARE)),
        smallest=math.ceil(rows_needed(n_columns, planned.mu)),
        rows_needed=total_rows_needed(planned),
        epsilon_needed=epsilon_needed(planned, n_rows),
        passes=passes,
        seconds=passes * n_rows * _seconds_per_row(n_columns, n_clusters) + cost.seconds,
        fixed_seconds=cost.seconds,
        memory=int(cost.memory),
        refused=beyond_limits(cost),
        max_rows_per_unit=max_rows_per_unit,
        noise_ratio=noise_ratio,
    )


def check_sizes(**numbers: object) -> list[int]:
    """Return numbers as integers of Python, or refuse what is none of at least 1."""
    return [integer(name, value) for name, value in numbers.items()]


def forecast_grid(expected: Forecast) -> list[Forecast]:
    """Return the same fit with other epsilons beside it."""
    epsilons = sorted({0.25, 0.5, 1.0, 2.0, 4.0, 8.0, expected.epsilon})
    return [with_epsilon(expected, epsilon) for epsilon in epsilons]


def with_epsilon(expected: Forecast, epsilon: float) -> Forecast:
    """Return the forecast of the same fit with another epsilon."""
    return forecast(
        expected.n_rows,
        expected.n_columns,
        expected.n_clusters,
        epsilon=epsilon,
        delta=expected.delta,
        max_rows_per_unit=expected.max_rows_per_unit,
        noise_ratio=expected.noise_ratio,
    )


def expected_ratio(planned: PrivateKMeansPlan, n_rows: int) -> float:
    """Return the loss to expect from so many rows, over that of k-means."""
    signal = planned.signal(n_rows)
    noise = (NOISE + NOISE_PER_COLUMN * planned.n_columns) / signal**2
    enough = LOST_BELOW * rows_needed(planned.n_columns, 1.0)
    lost = LOST * max(0.0, enough / signal - 1) ** 1.5
    return float(1 + noise + lost)


def planned_fit(
    n_columns: int,
    n_clusters: int,
    budget: Budget,
    max_rows_per_unit: int,
    noise_ratio: float = 1.0,
) -> PrivateKMeansPlan:
    """Return the plan of a fit; of rows nothing is typed, so that it gives no warning."""
    return private_kmeans.plan(
        n_clusters,
        n_columns,
        budget,
        rows_per_unit=max_rows_per_unit,
        noise_ratio=noise_ratio,
    )


@cache
def _seconds_per_row(n_columns: int, n_clusters: int) -> float:
    """Time the kernel on made-up rows, or reckon where these would be too many numbers."""
    if n_columns * n_clusters > TIMED_CENTERS:
        return ROW_SECONDS + n_columns * (NUMBER_SECONDS + n_clusters * PRODUCT_SECONDS)
    rng = np.random.default_rng(0)
    n_rows = min(8192, TIMED_PRODUCTS // (n_columns * n_clusters))
    rows = to_grid(rng.normal(0.0, 0.1, (n_rows, n_columns)))
    query = ClusterMoments(
        rng.normal(0.0, 0.1, (n_clusters, n_columns)), np.full(n_clusters, 0.5), 1.0, 1.0
    )
    took = []
    for _ in range(3):
        start = time.perf_counter()
        query.contribute(rows)
        took.append(time.perf_counter() - start)
    return min(took) / len(rows)


def _spoken(seconds: float) -> str:
    return "a few seconds" if seconds < 10 else f"about {spoken(seconds)}"
