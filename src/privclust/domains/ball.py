"""The ball: rows lie within a distance of a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privclust.domains._number_text import plain
from privclust.domains.base import LARGEST, SMALLEST, Domain, public_vector
from privclust.kernels.grid import FloatArray

_SHOWN = 6
"""Coordinates of a middle that a report shows."""


@dataclass(frozen=True, eq=False)
class Ball(Domain, kind="ball"):
    """Rows lie within `radius` of `middle`, in the user's own units.

    Examples
    --------
    >>> ball = Ball([10.0, 10.0], 5.0)
    >>> ball.from_ball(np.array([[1.0, 0.0]])).tolist()
    [[15.0, 10.0]]
    """

    middle: FloatArray
    radius: float

    def __init__(self, middle: ArrayLike, radius: float) -> None:
        object.__setattr__(self, "middle", public_vector("the middle of the ball", middle))
        object.__setattr__(self, "radius", float(radius))
        if not SMALLEST <= self.radius <= LARGEST:
            raise ValueError(
                f"radius must lie between {SMALLEST:g} and {LARGEST:g}, got {radius!r}. "
                "Give the largest distance from the middle that any row could have."
            )

    @property
    def center(self) -> FloatArray:
        """The middle of each column."""
        return self.middle

    @property
    def half_widths(self) -> FloatArray:
        """The radius, for each column."""
        return np.full(self.middle.size, self.radius)

    @property
    def scales(self) -> FloatArray:
        """The radius, for each column."""
        return self.half_widths

    def describe(self, columns: Sequence[str] | None) -> list[tuple[str, list[str]]]:
        """Return how far rows may lie from where.

        Examples
        --------
        >>> Ball([3.0, 4.5], 2.0).describe(None)
        [('distance from the point (3, 4.5)', ['0', '2'])]
        """
        place = "the origin"
        if self.middle.any():
            some = [plain(value) for value in self.middle[:_SHOWN]]
            rest = self.middle.size - len(some)
            place = f"the point ({', '.join(some)}{f', and {rest} more' if rest else ''})"
        return [(f"distance from {place}", ["0", plain(self.radius)])]

    def parameters(self, scale: object, columns: Sequence[str] | None) -> dict[str, Any]:
        """Return the radius, which is from the origin; no radius says another middle."""
        return {"radius": None if self.middle.any() else self.radius}

    def content(self) -> dict[str, Any]:
        """Return middle and radius."""
        return {"middle": self.middle.tolist(), "radius": self.radius}

    @classmethod
    def from_content(cls, content: Any) -> Ball:
        """Make a ball again."""
        return cls(**content)
