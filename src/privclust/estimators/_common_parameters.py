"""What a user sets on every estimator: all of it public, checked before anything is read."""

from __future__ import annotations

import math
from dataclasses import field

import numpy as np
from sklearn.base import BaseEstimator

from privclust.domains.bounds import Bounds
from privclust.errors import (
    Message,
    Parameter,
    ParameterError,
    ParameterTypeError,
    TooManyClustersError,
    safe_repr,
)
from privclust.estimators._declared_parameters import Declared
from privclust.models.cluster_model import ClusterModel
from privclust.privacy.accounting import Budget
from privclust.privacy.integers import integer, is_integer
from privclust.queries.unit import ROW, ROWS_PER_UNIT_MAX, Unit


class Parameters(Declared, BaseEstimator):  # type: ignore[misc]
    """What a user may set on every estimator; all of it public.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres; 8 as scikit-learn has it.
    epsilon : float, default=1.0
        Strength of the guarantee; smaller is stronger. At 1, one row makes no outcome more than
        e = 2.7 times as likely, but for `delta`. Infinity adds no noise: NOT PRIVATE, for teaching
        on public rows.
    delta : float
        The remainder that the guarantee allows beside epsilon. Required: type a value well below
        one over the number of rows, such as 1e-6.
    bounds : mapping, pair of arrays, or path
        Lower and upper bound of each column: ``{"age": (0, 120)}``, ``([0], [120])``, or the path
        of a bounds file. A mapping may say of a column what the file would (docs/bounds.md):
        ``{"type": "category", "levels": ["A", "B"]}``, ``{"type": "date", "lower": "2020-01-01",
        "upper": "2029-12-31"}``, or of an amount with a long tail ``{"type": "number", "lower": 0,
        "upper": 1e6, "transform": "log1p"}``. Each takes a ``"weight"``, and numbers and dates what
        their missing cells count as, ``"missing": 25``. From knowledge of the field, not from the
        rows; ``"bounds_origin": "domain knowledge"`` says so in the statement.
    radius : float
        Instead of `bounds`: no row lies farther than this from the origin, in your own units.
    scale : {"bounds", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "none"
        (the default with `radius`): columns count in their own units.
    n_rows : int, optional
        A number of rows you type because it is public; without it a noisy count is measured.
        If it is exact, the guarantee is for replacing one row instead, at up to twice mu.
    unit : str, optional
        Column of ids, such as "patient_id": all rows with one id are protected together, rows
        without an id as one. With a federation, "client" protects all rows of a client together.
        By default every row is protected alone.
    max_rows_per_unit : int, default=1
        How many rows of one id count; more are scaled down together. Noise grows with it, which is
        why it is 1. Sizes and `n_rows` are counted so, too.
    ledger : str, optional
        Path or URL of the ledger that pays for the fit (docs/ledger.md); without one the fit is
        unrecorded.
    dataset : str, optional
        The data set's name in the ledger.
    period : str, optional
        Which of its periods the fit belongs to, such as "2026-W07", if the data set has any
        (docs/series.md).
    random_state : int, optional
        Seed of public choices such as first centres; by default a new one each time. Noise never
        depends on it.
    """

    n_clusters: int = field(default=8, kw_only=False)
    epsilon: float = 1.0
    delta: float | None = None
    bounds: Bounds | None = None
    radius: float | None = None
    scale: str | None = None
    n_rows: int | None = None
    unit: str | None = None
    max_rows_per_unit: int = 1
    ledger: str | None = None
    dataset: str | None = None
    period: str | None = None
    random_state: int | None = None


def held_model(value: object) -> ClusterModel | None:
    """Return the model that a parameter's value is or holds, if it is a fitted one of privclust."""
    model = getattr(value, "model_", value)
    return model if isinstance(model, ClusterModel) else None


def budget_of(epsilon: object, delta: object) -> Budget:
    """Return the budget of the guarantee that was typed."""
    epsilon = number("epsilon", epsilon)
    if epsilon == math.inf:
        return Budget(64.0, 1e-6)
    return typed_budget(epsilon, delta)


def typed_budget(epsilon: object, delta: object) -> Budget:
    """Return the budget that was typed, or say what is missing or wrong."""
    epsilon = number("epsilon", epsilon)
    if delta is None:
        raise ParameterError(
            Message(
                Parameter("delta"),
                " is missing. It is the remainder that the guarantee allows beside epsilon, above "
                "0 and below 1: type a value well below one over the number of rows, such as ",
                Parameter("delta", "1e-6"),
                ".",
            )
        )
    delta = number("delta", delta)
    try:
        return Budget(epsilon, delta)
    except ValueError as error:
        cause = error.args[0]
    raise ParameterError(cause)


def sizes_of(given: Parameters) -> tuple[int, int | None]:
    """Return the number of clusters, and of rows if one was typed."""
    n_clusters = integer("n_clusters", given.n_clusters)
    n_rows = None if given.n_rows is None else integer("n_rows", given.n_rows)
    if n_rows is not None and n_clusters > n_rows:
        raise TooManyClustersError(
            Message(
                Parameter("n_clusters", n_clusters),
                " is more than ",
                Parameter("n_rows", n_rows),
                ", the number of rows you typed. Ask for fewer clusters, many fewer if noise "
                "should not hide them, or correct ",
                Parameter("n_rows"),
                ".",
            )
        )
    return n_clusters, n_rows


def unit_of(given: Parameters) -> Unit:
    """Return whose rows count as one."""
    rows = integer("max_rows_per_unit", given.max_rows_per_unit)
    if given.unit is None and rows == 1:
        return ROW
    if not isinstance(given.unit, str) or given.unit == ROW.name or rows > ROWS_PER_UNIT_MAX:
        raise ParameterError(
            Message(
                Parameter("unit"),
                f" must be the name of a column of ids other than {ROW.name!r}, and ",
                Parameter("max_rows_per_unit"),
                f", how many rows of one id count, between 1 and {ROWS_PER_UNIT_MAX}; got unit="
                f"{safe_repr(given.unit)} and ",
                Parameter("max_rows_per_unit", rows),
                ". Leave both out to protect single rows.",
            )
        )
    return Unit(given.unit, rows)


def number(name: str, value: object) -> float:
    """Return a parameter as a float, or say what it should be."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        kind = type(value).__name__
        remedy = "Type it without quotes." if isinstance(value, str) else "Type a number."
        raise ParameterTypeError(
            Message(
                Parameter(name), f" must be a number, got {safe_repr(value)} ({kind}). {remedy}"
            )
        )
    return float(value)


def seed_of(value: object) -> int | None:
    """Return the seed of public choices, or None to draw one."""
    if value is None or (is_integer(value) and value >= 0):
        return None if value is None else int(value)
    raise ParameterError(
        Message(
            Parameter("random_state"),
            f" must be None or an integer from 0 up, got {safe_repr(value)}. It seeds public "
            "choices only; generators are refused because two fits would share their state.",
        )
    )
