"""What all pictures have in common."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl

PALETTE = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#996633",
    "#445566",
    "#ee8866",
    "#77aadd",
)


@contextmanager
def plain_texts() -> Iterator[None]:
    """Draw names as they are: ``$`` begins no formula, and a letter without a shape no warning."""
    with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
