"""What a user sets on every estimator: all of it public, checked before anything is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust.domains.bounds import Bounds
from privclust.errors import Message, Parameter, ParameterError, TooManyClustersError, shown
from privclust.privacy.accounting import Budget
from privclust.queries.unit import ROW, UNIT_ROWS_MAX, Unit

WHOLE_MAX = 2**53
"""No table has as many rows, and arithmetic with larger numbers may fail."""


@dataclass(frozen=True)
class Parameters:
    """What a user may set on every estimator; all of it public."""

    n_clusters: int
    epsilon: float
    delta: float | None
    bounds: Bounds | None
    radius: float | None
    scale: str | None
    n_rows: int | None
    unit: str | None
    unit_rows: int
    ledger: str | None
    dataset: str | None
    random_state: int | None


def parameters_of(model: Any) -> Parameters:
    """Return an estimator's parameters as they are now."""
    return Parameters(**{name: getattr(model, name) for name in Parameters.__dataclass_fields__})


def budget_of(given: Parameters) -> Budget:
    """Return the guarantee that was asked for."""
    epsilon = number("epsilon", given.epsilon)
    if epsilon == math.inf:
        return Budget(64.0, 1e-6)
    if given.delta is None:
        raise ParameterError(
            Message(
                Parameter("delta"),
                " is missing. It is the remainder that the guarantee allows beside epsilon: type a "
                "value well below one over the number of rows, such as ",
                Parameter("delta", "1e-6"),
                ".",
            )
        )
    delta = number("delta", given.delta)
    try:
        return Budget(epsilon, delta)
    except ValueError as error:
        cause = error.args[0]
    raise ParameterError(cause)


def sizes_of(given: Parameters) -> tuple[int, int | None]:
    """Return the number of clusters, and of rows if one was typed."""
    n_clusters = whole_number("n_clusters", given.n_clusters)
    n_rows = None if given.n_rows is None else whole_number("n_rows", given.n_rows)
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
    rows = whole_number("unit_rows", given.unit_rows)
    if given.unit is None and rows == 1:
        return ROW
    if not isinstance(given.unit, str) or given.unit == ROW.name or rows > UNIT_ROWS_MAX:
        raise ParameterError(
            Message(
                Parameter("unit"),
                f" must be the name of a column of ids other than {ROW.name!r}, and ",
                Parameter("unit_rows"),
                f", how many rows of one id count, between 1 and {UNIT_ROWS_MAX}; got unit="
                f"{shown(given.unit)} and ",
                Parameter("unit_rows", rows),
                ". Leave both out to protect single rows.",
            )
        )
    return Unit(given.unit, rows)


def number(name: str, value: object) -> float:
    """Return a parameter as a float, or say what it should be."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        kind = type(value).__name__
        remedy = "Type it without quotes." if isinstance(value, str) else "Type a number."
        raise TypeError(
            Message(Parameter(name), f" must be a number, got {shown(value)} ({kind}). {remedy}")
        )
    return float(value)


def whole_number(name: str, value: object) -> int:
    """Return a parameter as an int, or say what it should be."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ParameterError(
            Message(
                Parameter(name),
                f" must be a whole number of at least 1, got {shown(value)}. Type one such as 8.",
            )
        )
    if value > WHOLE_MAX:
        raise ParameterError(
            Message(
                Parameter(name),
                f" must be at most 2^53, got {shown(value)}. Type the number you mean.",
            )
        )
    return int(value)


def seed_of(value: object) -> int | None:
    """Return the seed of public choices, or None to draw one."""
    if value is None or (isinstance(value, int | np.integer) and value >= 0):
        return None if value is None else int(value)
    raise ParameterError(
        Message(
            Parameter("random_state"),
            f" must be None or a whole number from 0 up, got {shown(value)}. It seeds public "
            "choices only; generators are refused because two fits would share their state.",
        )
    )
