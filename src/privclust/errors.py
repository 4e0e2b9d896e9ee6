"""Errors that a program may want to distinguish, and what messages say of parameters and values."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from privclust._version import __version__

_LONGEST, _LONGEST_BITS = 80, 256
"""Python writes no number of thousands of digits."""


def safe_repr(value: object) -> str:
    """Return a short text for a plain value, and only the type of anything that could hold rows.

    Examples
    --------
    >>> safe_repr("1e-6"), safe_repr(np.zeros((3, 2)))
    ("'1e-6'", 'a value of type ndarray')
    """
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"a number of about {int(value.bit_length() * math.log10(2)) + 1:,} digits"
    if value is None or isinstance(value, str | bool | int | float | np.number | np.bool_):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"a value of type {type(value).__name__}"


def did_you_mean(typed: Iterable[object], known: Iterable[object]) -> str:
    """Return which names a user may have meant, as a sentence to add to another; "" if none.

    `known` names must be public: the schema of a table that says its names, bounds, or options.

    Examples
    --------
    >>> did_you_mean(["Agee", "ward"], ["age", "weight"])
    " Did you mean 'age' instead of 'Agee'?"
    """
    names = {name.lower(): name for name in known if isinstance(name, str)}
    found = [
        f"{safe_repr(names[match])} instead of {safe_repr(name)}"
        for name in typed
        if isinstance(name, str)
        for match in get_close_matches(name.lower(), names, n=1)
    ]
    return f" Did you mean {', '.join(found)}?" if found else ""


class FitWarning(UserWarning):
    """A fit may be much worse than k-means: noise hides clusters, or far rows have no centre.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> with warnings.catch_warnings(action="ignore", category=FitWarning):
    ...     PrivateKMeans(2, delta=1e-6, radius=1.0, n_rows=9).fit(np.zeros((9, 2)))
    PrivateKMeans(delta=1e-06, n_clusters=2, n_rows=9, radius=1.0)
    """


class ColumnWarning(FitWarning):
    """Clusters are as good as others, and a column may be declared otherwise than was meant."""


def warn_user(message: str, kind: type[UserWarning] = UserWarning) -> None:
    """Warn at the line that called this library, however deep inside it the cause is.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as given:
    ...     warn_user("delta is large")
    >>> str(given[0].message)
    'delta is large'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "privclust":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


def needs_extra(extra: str) -> str:
    """Return how to install an extra, as long as the library is on no package index.

    Examples
    --------
    >>> print(needs_extra("cli")[:44])
    this needs an extra: pip install ".[cli]" in
    """
    wheel = f"privclust-{__version__}-py3-none-any.whl"
    return (
        f'this needs an extra: pip install ".[{extra}]" in a clone of privclust, or pip install '
        f'"{wheel}[{extra}]" where its wheel is'
    )


@dataclass(frozen=True)
class Parameter:
    """A parameter that a message names; a command line calls it otherwise.

    Attributes
    ----------
    name : str
        In Python.
    value : object, default=None
        What it is or should be, if the message says so.
    python : str, default=""
        How Python writes both, if not as ``name=value``.

    Examples
    --------
    >>> str(Parameter("n_clusters")), str(Parameter("n_clusters", 8))
    ('n_clusters', 'n_clusters=8')
    """

    name: str
    value: object = None
    python: str = ""

    def __str__(self) -> str:
        return self.python or (self.name if self.value is None else f"{self.name}={self.value}")


class Message(str):
    """A text that knows which of its parts are parameters.

    It is that of an error, warning or note: as Python writes it, by `render` as others do.

    Examples
    --------
    >>> message = Message(Parameter("n_clusters"), " must be at least 1.")
    >>> print(message, message.render(lambda parameter: "--clusters"))
    n_clusters must be at least 1. --clusters must be at least 1.
    """

    parts: tuple[str | Parameter, ...]

    def __new__(cls, *parts: str | Parameter) -> Message:
        """Put the parts together."""
        message = super().__new__(cls, "".join(map(str, parts)))
        message.parts = parts
        return message

    def render(self, spell: Callable[[Parameter], str]) -> str:
        """Return the text with parameters as `spell` writes them."""
        return "".join(spell(part) if isinstance(part, Parameter) else part for part in self.parts)


class NamesParameter:
    """What errors about a parameter have in common."""

    args: tuple[Any, ...]

    @property
    def parameter(self) -> str | None:
        """The name of the first parameter that the message names, in Python; None if none."""
        parts = [part for one in self.args[:1] if isinstance(one, Message) for part in one.parts]
        return next((part.name for part in parts if isinstance(part, Parameter)), None)


class BoundsError(ValueError, NamesParameter):
    """Bounds are missing, or are not what bounds should be.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> try:
    ...     PrivateKMeans(2, delta=1e-6).fit(np.zeros((9, 2)))
    ... except BoundsError:
    ...     print("what values are possible?")
    what values are possible?
    """


class ColumnError(ValueError):
    """A column is named that the table does not have, or has one that is not named.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from privclust import PrivateKMeans
    >>> model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)})
    >>> try:
    ...     model.fit(pa.table({"years": [40.0]}))
    ... except ColumnError:
    ...     print("is the column called so?")
    is the column called so?
    """


class ColumnTypeError(TypeError):
    """A column's declared type is not one that can be used so.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from privclust import PrivateKMeans
    >>> model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)})
    >>> try:
    ...     model.fit(pa.table({"age": ["forty"]}))
    ... except ColumnTypeError:
    ...     print("what type should it have?")
    what type should it have?
    """


class ParameterError(ValueError, NamesParameter):
    """A parameter is not among the values it may have.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> try:
    ...     PrivateKMeans(2, epsilon=-1, delta=1e-6, radius=1.0).fit(np.zeros((9, 2)))
    ... except ParameterError as error:
    ...     print(error.parameter, "is larger than 0")
    epsilon is larger than 0
    """


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of another type than it must be.

    Examples
    --------
    >>> issubclass(ParameterTypeError, TypeError)
    True
    """


class TooManyClustersError(ParameterError):
    """More clusters are requested than there are rows, or points that stand for them.

    Examples
    --------
    >>> from privclust import simulate
    >>> try:
    ...     simulate(3, 2, 5, delta=1e-6)
    ... except TooManyClustersError:
    ...     print("choose fewer")
    choose fewer
    """


class CostError(ParameterError):
    """What is requested would take more computing or memory than the limits allow.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> try:
    ...     PrivateKMeans(10**9, delta=1e-6, radius=1.0).fit(np.zeros((9, 2)))
    ... except CostError:
    ...     print("choose fewer, or raise the limit")
    choose fewer, or raise the limit
    """


class PolicyError(ValueError):
    """A node's policy cannot be read, or says something that it may not.

    Examples
    --------
    >>> from privclust.node.policy.policy_file import read_policy
    >>> try:
    ...     read_policy("missing.toml")
    ... except PolicyError:
    ...     print("docs/node.md shows one")
    docs/node.md shows one
    """


class UnreadableFileError(ValueError):
    """A file is not what the ending of its name says, or has none that is known.

    Examples
    --------
    >>> import tempfile
    >>> from privclust import PrivateKMeans
    >>> try:
    ...     with tempfile.NamedTemporaryFile(suffix=".docx") as file:
    ...         PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)}).fit(file.name)
    ... except UnreadableFileError:
    ...     print("convert it to Parquet")
    convert it to Parquet
    """


class ModelFileError(ValueError):
    """A file is not a model file.

    Examples
    --------
    >>> from privclust import load
    >>> try:
    ...     load("missing.json")
    ... except ModelFileError:
    ...     print("write one with privclust.save")
    write one with privclust.save
    """


class NotRecomputableError(ModelFileError):
    """A model follows from more than its ledger holds."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"its numbers cannot be worked out anew, because {cause}")


class EngineError(RuntimeError):
    """Reading or summing the rows failed; says nothing about them.

    Examples
    --------
    >>> from privclust.sources.guard import guarded
    >>> try:
    ...     guarded(lambda row: 1 / row)(0)
    ... except EngineError as error:
    ...     print(str(error)[:41])
    the rows could not be read or summed. Why
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Some are made of other things than their text.
        return RuntimeError.__new__, (type(self), *self.args), vars(self)


SnapshotCause = Literal["cut", "lost", "changed", "gone"]
_SNAPSHOT = {
    "cut": "the database ended the connection in mid-fit, and with it the state of the table that "
    "the fit was reading. A limit such as idle_in_transaction_session_timeout may be too short for "
    "it. A resumed fit gives stored results again, and reads on only in a snapshot that another "
    "session still holds (snapshot=).",
    "lost": "this run was begun on a state of the table that cannot be had again, so that it gave "
    "stored results only and reads no further. Start a new run; 'privclust ledger close RUN' "
    "returns what this one did not spend.",
    "changed": "a file of the table was written anew or removed in mid-fit. Restore what was there "
    "and resume the fit, or start a new one on a copy that nobody writes to.",
    "gone": "files of the state of the table that the fit reads were removed, as VACUUM or "
    "expiring snapshots do. Restore them and resume the fit, or start a new one; keep files for "
    "longer than a fit takes.",
}


class SnapshotError(EngineError):
    """The state of a table that a fit reads cannot be read any more; says nothing of its rows."""

    def __init__(self, cause: SnapshotCause) -> None:
        super().__init__(_SNAPSHOT[cause])
        self.cause = cause


class TooFewClientsError(EngineError):
    """Too few clients of a federation responded; who takes part is public."""

    def __init__(self, responded: int, invited: int, minimum: int) -> None:
        super().__init__(
            f"{responded} of {invited} clients gave a response that could be used, and the minimum "
            f"is {minimum}. The query is charged. Bring clients back and resume the fit, or start "
            "another with a lower minimum."
        )
        self.numbers = (responded, invited, minimum)


class NodeRefusedError(RuntimeError):
    """A node of a federation does not take part in a fit, by its policy or its ledger."""


class AbsentNodeError(RuntimeError):
    """A node of a federation does not respond; the fit can be gone on with when it does."""


class FailedClientError(EngineError):
    """A client of a federation received a request and failed; says nothing about its rows."""

    def __init__(self) -> None:
        super().__init__(
            "a client of the federation could not read or sum its rows. Which one and why is "
            "withheld, because it may depend on them. The query is charged. Let each client's "
            "engineer call Client(table, folder).check(bounds), which says what is wrong with a "
            "table and sends nothing, and resume the fit."
        )


class FailedNodeError(EngineError):
    """A node of a federation took part in a fit and failed; says nothing about its rows."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} could not read or sum its rows, and this fit has ended there. Why is "
            "withheld, because it may depend on them. What was measured stays charged. Let its "
            "owner look at the worker's log and run 'privclust node check', and start a new fit."
        )
