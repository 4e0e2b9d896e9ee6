"""What of an estimator is sent to a node: its name, and parameters that are plain and its own."""

from __future__ import annotations

import inspect
import math
from typing import Any, Protocol

from privclust.errors import Message, Parameter, ParameterError, safe_repr
from privclust.remote.error import DESCRIBE, parts_of

ESTIMATORS = (
    "PrivateKMeans",
    "PEMeans",
    "HDPEMeans",
    "DPLloyd",
    "FastLloyd",
    "BalcanKMeans",
    "LSHCoreset",
)
"""What a node runs: estimators of this library that need no public rows beside the table."""
_DECLARED = Message(
    "the owner of the table declared what its columns may hold; ", DESCRIBE, " shows it"
)
OWNERS: dict[str, str] = {
    "bounds": _DECLARED,
    "radius": _DECLARED,
    "ledger": "the node charges the ledger of the table's owner",
    "dataset": "the node charges the ledger of the table's owner",
    "unit": "the owner of the table says whose rows are protected together",
    "max_rows_per_unit": "the owner of the table says whose rows are protected together",
    "init": "models and arrays do not travel to a node",
    "server_data": "tables do not travel to a node",
}
"""Parameters that are never sent, and that no node takes, and why."""


class Estimator(Protocol):
    """An estimator as scikit-learn has them."""

    def get_params(self, deep: bool = ...) -> dict[str, Any]:
        """Return its parameters by name."""


def request_of(estimator: Estimator) -> tuple[str, dict[str, object]]:
    """Return the name of an estimator and what to send of its parameters, or refuse them.

    Examples
    --------
    >>> from privclust import PEMeans
    >>> kind, parameters = request_of(PEMeans(3, delta=1e-6))
    >>> kind, parameters["n_clusters"], "bounds" in parameters
    ('PEMeans', 3, False)
    """
    kind = _kind_of(estimator)
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in OWNERS:
            _check_unset(type(estimator), name, value)
        elif value is not None:
            parameters[name] = _plain(name, value)
    return kind, parameters


def _kind_of(estimator: Estimator) -> str:
    kind = type(estimator)
    if kind.__name__ in ESTIMATORS and kind.__module__.startswith("privclust.estimators."):
        return kind.__name__
    cause = "code does not travel to a node, so it runs no estimators of your own"
    if kind.__module__.startswith("privclust.estimators."):
        cause = "it needs public rows of a server, which do not travel to a node"
    raise ParameterError(
        f"{kind.__name__} cannot be fitted on a remote table: {cause}. Use one of "
        f"{', '.join(ESTIMATORS)}. Nothing was sent."
    )


def _check_unset(kind: type, name: str, value: object) -> None:
    default = inspect.signature(kind).parameters[name].default
    if value is not default and not (isinstance(value, int) and value == default):
        raise not_for_a_node(name, OWNERS[name])


def not_for_a_node(name: str, why: str) -> ParameterError:
    """Return the error of a parameter that cannot be set for a remote table, and why."""
    cause = (" cannot be set for a remote table: ", *parts_of(why))
    return ParameterError(Message(Parameter(name), *cause, ". Leave it out. Nothing was sent."))


def _plain(name: str, value: object) -> object:
    """Return a value as JSON has it."""
    item = getattr(value, "item", None)
    plain = item() if item is not None and getattr(value, "shape", None) == () else value
    if isinstance(plain, str | bool | int):
        return plain
    if isinstance(plain, float) and math.isfinite(plain):
        return plain
    raise ParameterError(
        Message(
            Parameter(name),
            f" must be a finite number, a text, True, False or None for a remote table; got "
            f"{safe_repr(value)}. Nothing was sent.",
        )
    )
