"""Queries by name: what may travel to the clients of a federation, and what ledgers call it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

Kind = TypeVar("Kind")

_NAME = re.compile(r"[A-Za-z]\w*(\.\w+)*", re.ASCII)
_QUERY = ("size", "sensitivity", "contribute")
_PARTITION = ("__len__", "cell_of")
_KINDS: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def register(name: str) -> Callable[[type[Kind]], type[Kind]]:
    """Return a decorator that lets a query, or the cells that one counts in, travel by a name.

    Messages and ledgers then call it so, whatever becomes of the class's own name. It must be a
    frozen dataclass of numbers, texts, arrays, tuples of these, projections and other registered
    classes, with types that say so. Its constructor refuses what makes no query: a client calls it
    with what a server sent. It keeps an array as it is, or brings it to the grid by
    `frozen_points`. Every client has to import the module with the query as well.

    Parameters
    ----------
    name : str
        Letters, digits, dots and underscores. That of a query of your own begins with the name of
        your project and a dot.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from privclust.queries import ONE_HOT, one_hot
    >>> @register("example.Sides")
    ... @dataclass(frozen=True, eq=False)
    ... class Sides:
    ...     column: int
    ...     size, sensitivity = 2, ONE_HOT
    ...     def contribute(self, rows):
    ...         return one_hot((rows[:, self.column] < 0).astype(np.int64))
    >>> registered_name(Sides)
    'example.Sides'
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            "a query is registered under letters, digits, dots and underscores, such as "
            f"'project.Query', got {name!r}."
        )

    def add(kind: type[Kind]) -> type[Kind]:
        _check_kind(kind)
        if "." not in name and not kind.__module__.startswith("privclust."):
            raise ValueError(
                f"names without a dot are those of privclust. Register {kind.__name__} as "
                f"'project.{name}', with the name of your project."
            )
        known = _KINDS.get(name, kind)
        if _origin(known) != _origin(kind):
            raise ValueError(
                f"the name {name!r} is that of {'.'.join(_origin(known))}. Register "
                f"{kind.__name__} under another."
            )
        _NAMES.pop(known, None)  # a notebook's cell that is run again defines its query again
        _KINDS[name], _NAMES[kind] = kind, name
        return kind

    return add


def registered_name(kind: type) -> str | None:
    """Return the name of a registered class, or None if it is not registered."""
    return _NAMES.get(kind)


def query_name(kind: type) -> str:
    """Return what statements and ledgers call a query: its registered name, or all of its own.

    Examples
    --------
    >>> from privclust.queries.base import Count
    >>> query_name(Count), query_name(type("Count", (), {"__module__": "mine"}))
    ('Count', 'mine.Count')
    """
    return _NAMES.get(kind) or ".".join(_origin(kind))


def registered_kind(name: str) -> type | None:
    """Return the class of a name, or None if none is registered under it."""
    return _KINDS.get(name)


def registered_queries() -> dict[str, type]:
    """Return the registered queries by name, those of the package and your own.

    Examples
    --------
    >>> registered_queries()["Count"].__name__
    'Count'
    """
    return {name: kind for name, kind in _KINDS.items() if hasattr(kind, "contribute")}


def _check_kind(kind: type) -> None:
    parameters = getattr(kind, "__dataclass_params__", None)
    if "__dataclass_fields__" not in vars(kind) or not getattr(parameters, "frozen", False):
        raise TypeError(
            f"{kind.__name__} is not a frozen dataclass. Put @dataclass(frozen=True, eq=False) "
            "below @register(...)."
        )
    has = {*dir(kind), *kind.__dataclass_fields__}  # type: ignore[attr-defined]
    if not (has.issuperset(_QUERY) or has.issuperset(_PARTITION)):
        raise TypeError(
            f"{kind.__name__} is not a query: it needs {', '.join(_QUERY)}. Cells to count in need "
            f"{' and '.join(_PARTITION)}."
        )


def _origin(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__
