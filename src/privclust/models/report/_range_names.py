"""What levels and ranges of a column are called beside a picture, where names must be short."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from privclust.domains._number_column import NumberColumn
from privclust.domains._number_text import plain
from privclust.domains.columns import Column
from privclust.kernels.grid import FloatArray
from privclust.models._drawing import short

FEWEST_DIGITS, MOST_DIGITS = 3, 6
CLOSE = 0.05
"""The part of a range's width by which its ends may be drawn wrongly; tables say more."""


def drawn_labels(column: Column, labels: Sequence[str]) -> list[str]:
    """Return labels for a picture: ranges of numbers in few digits, long names cut.

    Examples
    --------
    >>> stay = NumberColumn("stay", 0, 365, transform="log1p")
    >>> stay.labels[1], drawn_labels(stay, stay.labels)[1]
    ('0.804464 to 2.25609', '0.804 to 2.26')
    """
    if isinstance(column, NumberColumn):
        texts = _few_digits(column.edges)
        if texts is not None:
            return [*(f"{lower} to {upper}" for lower, upper in pairwise(texts)), *labels[-1:]]
    # Of a range, both ends are needed: only names of levels are cut.
    return [short(label) for label in labels] if column.number is None else list(labels)


def _few_digits(edges: FloatArray) -> list[str] | None:
    """Return ends of ranges in as few digits as tell them apart, if few are enough."""
    gaps = np.diff(edges)
    most = CLOSE * np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    for digits in range(FEWEST_DIGITS, MOST_DIGITS):
        rounded = [float(f"{edge:.{digits}g}") for edge in edges.tolist()]
        if (np.abs(np.array(rounded) - edges) <= most).all():
            return [plain(edge) for edge in rounded]
    return None
