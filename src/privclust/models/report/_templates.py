"""Templates of pages, which load nothing from elsewhere and escape every name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from privclust.models.formatting import percent_up, plural, rounded_down, rounded_up
from privclust.models.report._wide_table import pieces_of

LONGEST_WORD = 1000
"""Characters of a word; as many as an approval's texts may have, so that those are never cut."""
_LONG_WORDS = re.compile(rf"(\S{{{LONGEST_WORD}}})\S+")
_SPACES = re.compile(r"[\u00a0\u202f\u2007]")
"""Spaces that keep words on one line."""


@dataclass(frozen=True)
class PageHeading:
    """What a page says of itself, each None if it is not known.

    Attributes
    ----------
    dataset : str, optional
        What the table is called.
    made_on : str, optional
        A date such as 2026-11-17.
    model : str, optional
        SHA-256 of the model file.
    profiles : tuple of str
        SHA-256 of each profile's file.
    """

    dataset: str | None = None
    made_on: str | None = None
    model: str | None = None
    profiles: tuple[str, ...] = ()


class Picture(str):
    """A picture as a ``data:`` address, which is a long word that must not be cut."""

    __slots__ = ()


def render(name: str, **values: Any) -> str:
    """Return a page from the template `name`."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=legible,
        trim_blocks=True,
        loader=FunctionLoader(_text_of),
    )
    environment.filters |= {
        "up": rounded_up,
        "down": rounded_down,
        "percent": percent_up,
        "plural": plural,
        "pieces": lambda name: pieces_of(legible(name)),
    }
    return environment.get_template(name).render(**values)


def legible(value: Any) -> Any:
    r"""Return what a page shows of a value: text that is read as it is written.

    Characters that cannot be seen, or that turn the direction of others, are written as escapes,
    and words that no page has space for are cut. Markup of templates and pictures stay.

    Examples
    --------
    >>> print(legible("ward\u202e"))
    ward\u202e
    >>> len(legible("x" * 10_000))
    1001
    """
    if not isinstance(value, str) or isinstance(value, Picture) or hasattr(value, "__html__"):
        return value
    if not value.isprintable():
        seen = (one if one.isprintable() else repr(one)[1:-1] for one in _SPACES.sub(" ", value))
        value = "".join(seen)
    return _LONG_WORDS.sub(r"\1…", value)


def _text_of(name: str) -> str:
    return files("privclust.models.report").joinpath(name).read_text(encoding="utf-8")
