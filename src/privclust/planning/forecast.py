"""What a fit can be expected to give, from numbers the user types: nothing is read or spent."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np

from privclust.algorithms import private_kmeans
from privclust.algorithms._cost import NUMBER_SECONDS, PRODUCT_SECONDS, ROW_SECONDS
from privclust.algorithms.private_kmeans import SIZE_SHARE, PrivateKMeansPlan
from privclust.errors import Message, Parameter, ParameterError, safe_repr
from privclust.estimators._common_parameters import INTEGER_MAX
from privclust.estimators._cost_check import beyond_limits
from privclust.kernels.grid import to_grid
from privclust.models.composition import WEAK, best_power, describe_strength
from privclust.models.cost_limits import GIB
from privclust.models.formatting import spoken, spoken_memory
from privclust.privacy.accounting import MU_MAX, Budget, epsilon_of
from privclust.queries.clusters import ClusterMoments

FOUND = 1.5
"""With a loss of at most so many times that of k-means, clusters count as found."""
NOISE, NOISE_PER_COLUMN = 20.0, 4.5
"""What noise on the means adds to the loss, times the square of the signal."""
HIDDEN, HIDDEN_PER_ROOT_COLUMN, LOST = 15.6, 3.6, 2.0
"""Below which signal clusters get lost, and how much that adds. All five were fitted to 124
simulated settings of 2 to 128 columns (docs/benchmarks.md)."""
WIDE, HIDDEN_PER_WIDE_COLUMN = 128, 0.11
"""Beyond so many columns clusters get lost earlier than that: fitted to mixtures on the sphere of
384 columns (`python -m benchmarks embeddings`)."""
FULL_PASSES, SMALL_PASSES = 5, 30
TIMED_CENTERS, TIMED_PRODUCTS = 2**18, 2**26
"""Numbers of centres up to which time is measured and not reckoned, and products to measure."""
NOTABLE_SECONDS = 10.0
SLACK = 1e-4
"""How much less a plan grants than its epsilon alone would allow, at most."""


@dataclass(frozen=True)
class Forecast:
    """What to expect of PrivateKMeans on clusters that are apart and of about equal size.

    Attributes
    ----------
    n_rows, n_columns, n_clusters : int
        What was typed; so are epsilon and delta.
    epsilon, delta : float
        The guarantee.
    ratio : float
        Expected loss over that of k-means without privacy.
    size_stderr : float
        Standard error of the size of a cluster, in rows.
    smallest : int
        About the smallest cluster that will be found, in rows.
    rows_needed : int
        How many rows it takes to find clusters with this epsilon.
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

    @property
    def found(self) -> bool:
        """Whether clusters will be found."""
        return self.ratio <= FOUND

    def __str__(self) -> str:
        lines = [
            f"{self.n_clusters:,} clusters in a table of {self.n_rows:,} rows with "
            f"{self.n_columns:,} columns at epsilon {self.epsilon:g}, delta {self.delta:g}:",
            f"  loss: about {self.ratio:.3f} times that of k-means without privacy"
            if self.found
            else "  loss: clusters will hardly be found, because noise hides them",
            f"  sizes: ± {self.size_stderr:,.0f} rows",
            f"  smallest cluster that will be found: about {self.smallest:,} rows",
            f"  time: {self.passes} passes, {_spoken(self.seconds)}",
        ]
        if self.fixed_seconds > NOTABLE_SECONDS or self.memory > GIB:
            lines.append(
                f"  whatever the number of rows: {spoken(self.fixed_seconds)} of this, and "
                f"{spoken_memory(self.memory)} of memory"
            )
        if self.refused is not None:
            lines.append(f"  such a fit is refused: {self.refused}")
        if not self.found:
            enough = f"{self.rows_needed:,} rows"
            if self.epsilon_needed is not None:
                enough += f", or epsilon {_rounded_up(self.epsilon_needed):g}"
            lines.append(f"  it would take about {enough}")
        if self.epsilon > WEAK:
            power = best_power(Budget(self.epsilon, self.delta).capacity)
            lines.append(f"  guarantee: {describe_strength(self.epsilon, power)}")
        if self.delta * self.n_rows > 1:
            lines.append("  delta is more than one over the rows, which protects nobody; try 1e-6")
        return "\n".join(lines)


def forecast(
    n_rows: int, n_columns: int, n_clusters: int = 8, *, epsilon: float = 1.0, delta: float
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
        The remainder that the guarantee allows beside epsilon, such as 1e-6.

    Examples
    --------
    >>> expected = forecast(100_000, 8, 16, epsilon=1.0, delta=1e-6)
    >>> expected.found, expected.passes
    (True, 5)
    """
    check_sizes(n_rows=n_rows, n_columns=n_columns, n_clusters=n_clusters)
    planned = _planned(n_columns, n_clusters, Budget(epsilon, delta))
    mu = planned.spending.reserve.mu
    signal = planned.signal(n_rows)
    needed = signal_for(planned, FOUND)
    enough = epsilon_of(mu * needed / signal, delta) * (1 + SLACK)
    sampled = planned.sampling_exponent(n_rows) > 0
    passes = FULL_PASSES if sampled else SMALL_PASSES
    cost = planned.cost()
    return Forecast(
        n_rows,
        n_columns,
        n_clusters,
        epsilon,
        delta,
        ratio=expected_ratio(planned, signal),
        size_stderr=1 / (mu * math.sqrt(SIZE_SHARE)),
        smallest=math.ceil(signal_for(planned, FOUND) / mu),
        rows_needed=int(_rounded_up(math.ceil(needed * n_clusters / mu))),
        epsilon_needed=enough if enough < MU_MAX else None,
        passes=passes,
        seconds=passes * n_rows * _seconds_per_row(n_columns, n_clusters) + cost.seconds,
        fixed_seconds=cost.seconds,
        memory=int(cost.memory),
        refused=beyond_limits(cost),
    )


def check_sizes(**numbers: Any) -> None:
    """Refuse what is not an integer of at least 1."""
    for name, value in numbers.items():
        if not isinstance(value, Integral) or int(value) < 1:
            raise ParameterError(
                Message(
                    Parameter(name),
                    f" must be an integer of at least 1, got {safe_repr(value)}.",
                )
            )
        if int(value) > INTEGER_MAX:
            raise ParameterError(
                Message(
                    Parameter(name),
                    f" must be at most 2^53, got {safe_repr(int(value))}. Type the number you "
                    "mean.",
                )
            )


def forecast_grid(expected: Forecast) -> list[Forecast]:
    """Return the same fit with other epsilons beside it."""
    epsilons = sorted({0.25, 0.5, 1.0, 2.0, 4.0, 8.0, expected.epsilon})
    given = (expected.n_rows, expected.n_columns, expected.n_clusters)
    return [forecast(*given, epsilon=epsilon, delta=expected.delta) for epsilon in epsilons]


def expected_ratio(planned: PrivateKMeansPlan, signal: float) -> float:
    """Return the loss to expect, over that of k-means, for rows per cluster times mu."""
    noise = (NOISE + NOISE_PER_COLUMN * planned.n_columns) / signal**2
    hidden = HIDDEN + HIDDEN_PER_ROOT_COLUMN * math.sqrt(planned.n_columns)
    hidden += HIDDEN_PER_WIDE_COLUMN * max(0, planned.n_columns - WIDE)
    lost = LOST * max(0.0, hidden / signal - 1) ** 1.5
    return float(1 + noise + lost)


def signal_for(planned: PrivateKMeansPlan, ratio: float) -> float:
    """Return the rows per cluster, times mu, at which this ratio is to be expected."""
    low, high = 1e-3, 1e9
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if expected_ratio(planned, middle) > ratio else (low, middle)
    return high


def _planned(n_columns: int, n_clusters: int, budget: Budget) -> PrivateKMeansPlan:
    return private_kmeans.plan(n_clusters, n_columns, budget)


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


def _rounded_up(value: float) -> float:
    """Return a number of two digits that is at least as large."""
    power = math.floor(math.log10(value)) - 1
    step: float = 10.0**power
    return math.ceil(value / step - 1e-9) * step


def _spoken(seconds: float) -> str:
    return "a few seconds" if seconds < 10 else f"about {spoken(seconds)}"
