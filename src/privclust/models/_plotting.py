"""Modules that draw, loaded when somebody draws: matplotlib is an extra, and takes a second."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from privclust.errors import needs_extra


def plots(package: str = "models") -> ModuleType:
    """Return the module ``plots`` of a package of the library, or say what to install."""
    try:
        return import_module(f"privclust.{package}.plots")
    except ImportError:
        raise ImportError(f"{needs_extra('report')}.") from None
