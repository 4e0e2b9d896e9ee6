"""Templates of pages, which load nothing from elsewhere and escape every name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from privclust.models.formatting import percent_up, rounded_down, rounded_up

PART_COLUMNS = 5
"""Columns of a table beside each other; paper and windows have space for so many with errors."""


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


def render(name: str, **values: Any) -> str:
    """Return a page from the template `name`."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        loader=FunctionLoader(_text_of),
    )
    environment.filters |= {"up": rounded_up, "down": rounded_down, "percent": percent_up}
    environment.globals["part_columns"] = PART_COLUMNS
    return environment.get_template(name).render(**values)


def _text_of(name: str) -> str:
    return files("privclust.models.report").joinpath(name).read_text(encoding="utf-8")
