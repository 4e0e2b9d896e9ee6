"""How many rows it takes for clusters to show above the noise, and what to say if there are fewer.

README, `forecast` and the warning of a fit all take the number from here. Everything follows from
public numbers and Releases.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privclust.errors import FitWarning, Message, Parameter, warn_user
from privclust.kernels.grid import FloatArray
from privclust.models.formatting import rounded_up
from privclust.privacy.accounting import MU_MAX, epsilon_of

if TYPE_CHECKING:
    from privclust.algorithms._private_kmeans_plan import PrivateKMeansPlan

ROWS_NEEDED = 10.0
"""Of a cluster, times 2 + sqrt(d), in standard deviations of a count that all of the budget goes
to: the loss is then within 10 % of that of k-means. Fitted to 692 fits of 2 to 128 columns, 2 to 64
clusters and epsilon .25 to 4."""
HIDDEN = 0.5
"""With less than this part of the rows needed, noise hides clusters. Chosen on the 37 tables of
`python -m benchmarks utility`: a larger part hardly catches more bad fits and warns of more good
ones."""
DOUBT = 2.0
"""How many standard errors noisy sizes have to lie above that."""
SLACK = 1e-4
"""How much less a plan grants than its epsilon alone would allow, at most."""


def rows_needed(n_columns: int, mu: float, rows_per_unit: int = 1) -> float:
    """Return how many rows each cluster needs for a loss within 10 % of that of k-means.

    Parameters
    ----------
    n_columns : int
        d.
    mu : float
        What a fit may spend. A count that gets all of it has noise of `rows_per_unit` / mu rows.
    rows_per_unit : int
        As how many rows one unit counts at most.

    Examples
    --------
    >>> round(rows_needed(4, 0.2367)), round(rows_needed(4, 0.2367, rows_per_unit=50))
    (169, 8450)
    """
    return ROWS_NEEDED * (2 + math.sqrt(n_columns)) * rows_per_unit / mu


def total_rows_needed(plan: PrivateKMeansPlan) -> int:
    """Return how many rows all clusters of a plan need, in two digits, none of them too small."""
    each = rows_needed(plan.n_columns, plan.mu_of_units, plan.rows_per_unit)
    return math.ceil(float(rounded_up(plan.n_clusters * each, 2)))


def epsilon_needed(plan: PrivateKMeansPlan, n_rows: float) -> float | None:
    """Return the epsilon with which so many rows are enough; None if no reasonable one is."""
    signal = plan.n_clusters * rows_needed(
        plan.n_columns, 1.0 / plan.noise_ratio, plan.rows_per_unit
    )
    if n_rows * MU_MAX <= signal:
        return None
    enough = epsilon_of(signal / n_rows, plan.spending.budget.delta) * (1 + SLACK)
    return enough if enough < MU_MAX else None


def hides_clusters(plan: PrivateKMeansPlan, n_rows: float) -> bool:
    """Tell whether noise hides a plan's clusters in so many rows, if there is any noise."""
    return is_noisy(plan) and n_rows < HIDDEN * total_rows_needed(plan)


def is_noisy(plan: PrivateKMeansPlan) -> bool:
    """Tell whether a fit has noise to speak of."""
    return plan.spending.budget.epsilon < MU_MAX


def was_warned(plan: PrivateKMeansPlan) -> bool:
    """Tell whether the number of rows that was typed is too small, which was said before a fit."""
    return plan.n_rows is not None and hides_clusters(plan, plan.n_rows)


def warn_of_typed_rows(plan: PrivateKMeansPlan) -> None:
    """Warn, before anything is spent, if the number of rows that was typed is too small."""
    advice = advice_on_typed_rows(plan)
    if advice is not None:
        warn_user(advice, FitWarning)


def advice_on_typed_rows(plan: PrivateKMeansPlan) -> Message | None:
    """Return what was said before a fit, if the number of rows that was typed is too small."""
    if plan.n_rows is None or not was_warned(plan):
        return None
    return _advice(plan, plan.n_rows)


def advice_on_sizes(sizes: FloatArray, sigma: float, plan: PrivateKMeansPlan) -> Message | None:
    """Return what to say after a fit, if its noisy sizes show too few rows."""
    n_rows, stderr = float(sizes.sum()), sigma * math.sqrt(len(sizes))
    if not hides_clusters(plan, n_rows - DOUBT * stderr):
        return None
    return _advice(plan, max(n_rows, 0.0))


def _advice(plan: PrivateKMeansPlan, n_rows: float) -> Message:
    """Say that noise hides clusters of so many rows, and what would make them show."""
    needed, epsilon = total_rows_needed(plan), epsilon_needed(plan, n_rows)
    fewer = int(plan.n_clusters * n_rows / needed)
    remedies: list[str | Parameter] = [f"{needed:,} rows"]
    if epsilon is not None:
        remedies += [" or ", Parameter("epsilon", rounded_up(epsilon, 2))]
    if fewer > 0:
        remedies += [" or ", Parameter("n_clusters", fewer)]
    unit = f", up to {plan.rows_per_unit:,} of one unit," if plan.rows_per_unit > 1 else ""
    return Message(
        f"{plan.n_clusters} cluster(s) can hardly be found among about {round(n_rows):,} rows"
        f"{unit} at ",
        Parameter("epsilon", f"{plan.spending.budget.epsilon:g}"),
        ", because noise hides them. For a loss within 10 % of that of k-means it takes about ",
        *remedies,
        ".",
    )
