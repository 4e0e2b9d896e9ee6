"""What an analyst may request: an estimator by name, plain parameters, columns of the policy.

Whatever is not listed here is refused. Nothing in a request names a file, and reading one opens
none: a text that the library would take as the path of bounds would tell which files there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from privclust.errors import did_you_mean, safe_repr
from privclust.node.policy.policy import AnalystPolicy, Policy, TablePolicy
from privclust.node.requests._strict_json import read_object
from privclust.node.requests.problems import NOT_FOUND, RequestError, refused
from privclust.privacy.ledger.records import PERIOD
from privclust.remote.request import ESTIMATORS as REMOTE_ESTIMATORS
from privclust.remote.request import OWNERS

if TYPE_CHECKING:
    from privclust.estimators.base import PrivateClusterer

Plain: TypeAlias = str | float | int
N_CLUSTERS = 8
"""The estimators' default."""
ROWS_MAX, SEED_MAX, PERIOD_MAX = 2**53, 2**32 - 1, 64
_COMMON = ("n_clusters", "epsilon", "delta", "scale", "n_rows", "period", "random_state")
_FURTHER = {"PrivateKMeans": ("metric", "max_clusters"), "BalcanKMeans": ("constants",)}
ESTIMATORS: Mapping[str, tuple[str, ...]] = {
    name: (*_COMMON, *_FURTHER.get(name, ())) for name in REMOTE_ESTIMATORS
}
"""Estimators that need no rows of a server, and those of their parameters that are plain."""


@dataclass(frozen=True)
class FitRequest:
    """A fit that an analyst requests; `columns` are in the order of the table."""

    table: str
    estimator: str
    parameters: Mapping[str, Plain]
    columns: tuple[str, ...]

    @property
    def n_clusters(self) -> int:
        """How many clusters it has."""
        return int(self.parameters.get("n_clusters") or N_CLUSTERS)

    @property
    def period(self) -> str | None:
        """The period that it belongs to, if the data set has any."""
        found = self.parameters.get("period")
        return None if found is None else str(found)

    def canonical(self) -> bytes:
        """Return it as JSON that is the same for the same request, and can be read again."""
        return _canonical(asdict(self))


@dataclass(frozen=True)
class ProfileRequest:
    """A profile of the clusters of a finished fit.

    `fit` is the id of that fit; `table`, `n_clusters` and `period` are those that it had.
    """

    fit: str
    columns: tuple[str, ...]
    epsilon: float
    delta: float
    table: str = field(compare=False)
    n_clusters: int = field(compare=False)
    period: str | None = field(default=None, compare=False)

    def canonical(self) -> bytes:
        """Return what the analyst sent as JSON that is the same for the same request."""
        sent = {"fit": self.fit, "columns": self.columns}
        return _canonical({**sent, "epsilon": self.epsilon, "delta": self.delta})


def read_fit_request(body: bytes, policy: Policy, analyst: AnalystPolicy) -> FitRequest:
    """Return the fit that the body of a request describes, within the limits of an analyst.

    Parameters
    ----------
    body : bytes
        JSON with table, estimator, parameters and columns; without the latter, all columns.
    policy : Policy
        What there is.
    analyst : AnalystPolicy
        Who sends it.

    Raises
    ------
    RequestError
        With the problem to be sent back. Tables that do not exist for the analyst are all alike.
    """
    content = read_object(body)
    table = policy.table_for(analyst, content.get("table"))
    if table is None:
        raise RequestError(NOT_FOUND)
    _check_members(content, ("table", "estimator", "parameters", "columns"))
    return _fit_request(table, content, analyst)


def read_forecast_request(body: bytes, table: TablePolicy, analyst: AnalystPolicy) -> FitRequest:
    """Return the fit that is to be forecast; the address names its table."""
    content = read_object(body)
    _check_members(content, ("estimator", "parameters", "columns"))
    return _fit_request(table, content, analyst)


def read_profile_request(
    body: bytes,
    policy: Policy,
    analyst: AnalystPolicy,
    find: Callable[[str], FitRequest | None],
) -> ProfileRequest:
    """Return the profile that the body of a request describes.

    `find` returns the request of a fit by its id, if the analyst has a finished one of that id.
    """
    content = read_object(body)
    fit = content.get("fit")
    found = find(fit) if isinstance(fit, str) else None
    table = None if found is None else policy.table_for(analyst, found.table)
    if found is None or table is None or not isinstance(fit, str):
        raise RequestError(NOT_FOUND)
    _check_members(content, ("fit", "columns", "epsilon", "delta"))
    if table.profile_columns is None:
        raise refused("not-allowed", "The owner lets no columns of this table be profiled.")
    return ProfileRequest(
        fit,
        _columns(content.get("columns"), table.profile_columns),
        _number("epsilon", content.get("epsilon")),
        _number("delta", content.get("delta")),
        found.table,
        found.n_clusters,
        found.period,
    )


def estimator_of(request: FitRequest, policy: Policy, seed: int) -> PrivateClusterer:
    """Return the estimator of a request, with all that the policy declares.

    Parameters
    ----------
    request : FitRequest
        Which one.
    policy : Policy
        Has the bounds of its columns, the unit, the ledger and the data set.
    seed : int
        Of public choices, unless the request has one: a fit that is begun again must be the same.
    """
    from privclust import estimators

    table = policy.tables[request.table]
    made: PrivateClusterer = getattr(estimators, request.estimator)(
        **{"random_state": seed, **request.parameters},
        bounds=table.columns.only(request.columns),
        unit=table.unit or None,
        max_rows_per_unit=table.max_rows_per_unit,
        ledger=policy.node.ledger,
        dataset=table.dataset,
    )
    return made


def _fit_request(
    table: TablePolicy, content: Mapping[str, Any], analyst: AnalystPolicy
) -> FitRequest:
    estimator, given = content.get("estimator"), content.get("parameters", {})
    if not isinstance(estimator, str) or estimator not in table.estimators:
        raise refused(
            "invalid-request",
            f"The estimator must be one of {', '.join(table.estimators)}."
            f"{did_you_mean([estimator], table.estimators)}",
        )
    if not isinstance(given, dict):
        raise refused("invalid-request", "The parameters must be an object, from names to values.")
    parameters = _parameters(given, ESTIMATORS[estimator], analyst)
    return FitRequest(
        table.name, estimator, parameters, _columns(content.get("columns"), table.columns)
    )


def _check_members(content: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = [name for name in content if name not in known]
    if unknown:
        raise refused(
            "invalid-request",
            f"The request has {safe_repr(unknown[0])}. It may have {', '.join(known)}."
            f"{did_you_mean(unknown[:1], known)}",
        )


def _parameters(
    given: Mapping[str, Any], known: tuple[str, ...], analyst: AnalystPolicy
) -> dict[str, Plain]:
    for name in given:
        if name in OWNERS:
            raise refused(
                "not-allowed", f"No request may set {name}: {OWNERS[name]}. Leave it out."
            )
        if name not in known:
            raise refused(
                "invalid-request",
                f"The parameter {safe_repr(name)} is not one of this estimator. It has "
                f"{', '.join(known)}.{did_you_mean([name], known)}",
            )
    # None says what leaving it out does.
    read = {n: _READERS[n](n, given[n]) for n in known if given.get(n) is not None}
    for name in ("n_clusters", "max_clusters"):
        most, wanted = analyst.max_clusters, read.get(name)
        if isinstance(wanted, int) and wanted > most:
            raise refused("too-costly", f"{name} may be at most {most} for you.", max_clusters=most)
    return read


def _columns(given: object, declared: Iterable[str]) -> tuple[str, ...]:
    """Return columns in the order in which they are declared; all of them if none are named."""
    known = tuple(declared)
    if given is None:
        return known
    named = given if isinstance(given, list) else []
    texts = [name for name in named if isinstance(name, str)]
    unknown = [name for name in texts if name not in known]
    if unknown or not named or len(set(texts)) < len(named):
        raise refused(
            "invalid-request",
            "The columns must be a list of one or more different names of columns that the owner "
            f"declared; GET /v1/tables lists them.{did_you_mean(unknown[:1], known)}",
        )
    return tuple(name for name in known if name in texts)


def _integer(lowest: int, highest: int) -> Callable[[str, object], int]:
    def read(name: str, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest:
            return value
        raise refused(
            "invalid-request",
            f"{name} must be an integer from {lowest} to {highest}, got {safe_repr(value)}.",
        )

    return read


def _word(*words: str) -> Callable[[str, object], str]:
    def read(name: str, value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise refused(
            "invalid-request",
            f"{name} must be one of {', '.join(map(repr, words))}, got {safe_repr(value)}.",
        )

    return read


def _number(name: str, value: object) -> float:
    # Read as a float: 1 and 1.0 are one request, not two under the same key.
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    raise refused("invalid-request", f"{name} must be a number from 0 up, got {safe_repr(value)}.")


def _period(name: str, value: object) -> str:
    if isinstance(value, str) and len(value) <= PERIOD_MAX and PERIOD.fullmatch(value):
        return value
    raise refused(
        "invalid-request",
        f"{name} must be capital letters, digits and hyphens, such as '2026-W07', got "
        f"{safe_repr(value)}.",
    )


_READERS: Mapping[str, Callable[[str, object], Plain]] = {
    "n_clusters": _integer(1, ROWS_MAX),
    "max_clusters": _integer(1, ROWS_MAX),
    "n_rows": _integer(1, ROWS_MAX),
    "random_state": _integer(0, SEED_MAX),
    "epsilon": _number,
    "delta": _number,
    "scale": _word("bounds", "none", "private"),
    # Directions of rows have no bounds, and what has none could be any column of the table.
    "metric": _word("euclidean"),
    "constants": _word("improved", "original"),
    "period": _period,
}


def _canonical(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()
