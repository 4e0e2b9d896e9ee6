"""Classes that declare their parameters, and describe only those that their base does not."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any, dataclass_transform

from privclust.estimators._sklearn_names import naming_others

_TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)
_INHERITED = ("Parameters", "Attributes")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Declared:
    """A base whose subclasses are dataclasses with parameters by keyword, as scikit-learn wants.

    A subclass inherits the parameters of its base, and the lines of its docstring about them.

    Examples
    --------
    >>> class Common(Declared):
    ...     '''What all take.
    ...
    ...     Parameters
    ...     ----------
    ...     epsilon : float, default=1.0
    ...         Strength of the guarantee.
    ...     '''
    ...
    ...     epsilon: float = 1.0
    >>> class Lloyd(Common):
    ...     '''What one takes.
    ...
    ...     Parameters
    ...     ----------
    ...     rounds : int, default=3
    ...         Number of steps.
    ...     '''
    ...
    ...     rounds: int = 3
    >>> Lloyd(rounds=5).epsilon
    1.0
    >>> [line for line in Lloyd.__doc__.splitlines() if ":" in line]
    ['epsilon : float, default=1.0', 'rounds : int, default=3']
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own, has_init = cls.__doc__, "__init__" in vars(cls)
        dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)
        if not has_init:
            cls.__init__ = naming_others(cls.__init__)  # type: ignore[method-assign]
        base = next(kind for kind in cls.__mro__[1:] if issubclass(kind, Declared))
        if own and base is not Declared and base.__doc__:
            cls.__doc__ = _with_inherited(own, base.__doc__)


def _with_inherited(own: str, base: str) -> str:
    """Return a docstring with the entries of its base's sections where it has none of its own."""
    (head, sections), (_, inherited) = _sections(own), _sections(base)
    merged = {
        title: _entries(inherited.get(title, "")) | _entries(sections.get(title, ""))
        for title in _INHERITED
    }
    bodies = {title: "".join(entries.values()) for title, entries in merged.items()}
    parts = [
        f"{title}\n{'-' * len(title)}\n{body}"
        for title, body in (bodies | sections | bodies).items()
        if body
    ]
    return "\n".join([head, *parts])


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Split a numpydoc text into what stands before all sections, and the sections by title."""
    head, *rest = _TITLE.split(f"{inspect.cleandoc(text)}\n")
    bodies = (f"{body.rstrip()}\n" for body in rest[1::2])
    return f"{head.rstrip()}\n", dict(zip(rest[::2], bodies, strict=True))


def _entries(body: str) -> dict[str, str]:
    """Return the entries of a section by the name that each begins with."""
    return {entry.partition(" :")[0]: entry for entry in _ENTRY.split(body) if entry}
