"""The module that draws, loaded when somebody draws: matplotlib is an extra, and takes a second."""

from __future__ import annotations

from types import ModuleType

from privclust.errors import needs_extra


def plots() -> ModuleType:
    """Return `privclust.models.plots`, or say what to install."""
    try:
        from privclust.models import plots as module
    except ImportError:
        raise ImportError(f"{needs_extra('report')}.") from None
    return module
