"""Noise during which something happens."""

from __future__ import annotations

from collections.abc import Callable

from privclust.kernels.grid import IntArray
from privclust.testing import RepeatableNoise, SeededNoise


class Interrupted(RepeatableNoise):
    """Repeatable noise; at one draw something happens first, or the user loses patience."""

    def __init__(self, at: int, happens: Callable[[], object] | None = None) -> None:
        super().__init__(0)
        self.draws = 0
        self._at = at
        self._happens = happens

    def _source(self, exact: IntArray, scale: float) -> SeededNoise:
        self.draws += 1
        if self.draws == self._at:
            if self._happens is None:
                raise KeyboardInterrupt
            self._happens()
        return super()._source(exact, scale)
