"""The noise of the LSH tree as published, beside the Gaussian form of it and beside ours.

As published, one number drives both noises: a Gaussian of sd alpha on sums of rows of length 1 or
less, and a discrete Laplace of parameter 1/(20·alpha) on the counts of 21 levels. It is the least
alpha at which together they are (epsilon, delta)-private by privacy loss distributions.
"""

from __future__ import annotations

import math

from dp_accounting.pld import privacy_loss_distribution
from scipy.optimize import brentq

from benchmarks.methods import EPSILONS
from privclust.algorithms import lsh_coreset
from privclust.privacy.accounting import Budget, mu_of

COUNT_MULTIPLIER = 20.0
LEVELS = 21


def published_alpha(epsilon: float, delta: float) -> float:
    """Return the published noise on a coordinate of a sum."""
    lowest = 1 / mu_of(epsilon, delta)  # the Gaussian alone uses the whole budget
    alpha: float = brentq(
        lambda alpha: math.log(_delta(alpha, epsilon) / delta), lowest, 2 * lowest, rtol=1e-5
    )
    return alpha


def gaussian_alpha(epsilon: float, delta: float) -> float:
    """Return the noise on a coordinate of a sum if counts have Gaussian noise of the same sd."""
    per_count = 1 / (2 * COUNT_MULTIPLIER**2)
    return math.sqrt(1 + LEVELS * per_count) / mu_of(epsilon, delta)


def our_alpha(epsilon: float, delta: float) -> float:
    """Return the noise on a coordinate of a sum in `LSHCoreset`, the number of rows typed."""
    spending = lsh_coreset.plan(2, 1, Budget(epsilon, delta), n_rows=2).spending
    return math.sqrt(1 + lsh_coreset.WEIGHT**2) / spending.price(spending.slot("leaves")).mu


def main(quick: bool) -> None:
    """Print standard deviations: on a coordinate of a sum, on a count of a level, on a leaf's."""
    columns = "published: sum | count | Gaussian: sum | count | ours: sum | count | leaf's count"
    print(f"| rows | epsilon | {columns} |")
    print("|---" * 9 + "|")
    for n_rows in (20_000, 150):
        for epsilon in EPSILONS[:1] if quick else EPSILONS:
            _line(n_rows, epsilon)


def _line(n_rows: int, epsilon: float) -> None:
    delta = n_rows**-1.1
    published, ours = published_alpha(epsilon, delta), our_alpha(epsilon, delta)
    gaussian = gaussian_alpha(epsilon, delta)
    noises = (
        published,
        published * COUNT_MULTIPLIER * math.sqrt(2),
        gaussian,
        gaussian * COUNT_MULTIPLIER * math.sqrt(2),
        ours,
        ours * lsh_coreset.LEVEL_NOISE,
        ours / lsh_coreset.WEIGHT,
    )
    print(f"| {n_rows} | {epsilon:g} | " + " | ".join(f"{noise:.3f}" for noise in noises) + " |")


def _delta(alpha: float, epsilon: float) -> float:
    sums = privacy_loss_distribution.from_gaussian_mechanism(alpha)
    counts = privacy_loss_distribution.from_discrete_laplace_mechanism(
        1 / (COUNT_MULTIPLIER * alpha)
    )
    return float(sums.compose(counts.self_compose(LEVELS)).get_delta_for_epsilon(epsilon))
