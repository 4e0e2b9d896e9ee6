"""What a domain needs to know of a table: the use of a column, and a reader of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from privclust.kernels.grid import FloatArray, IntArray

Use = Literal["number", "category", "date", "vector"]
"""What a column is declared as, or vectors of numbers, which no bounds file declares."""


class CellReader(Protocol):
    """Reads the cells of some rows, each alone, by the public rules of `privclust.sources`."""

    def matrix(self, columns: Sequence[str] | None) -> NDArray[Any]:
        """Return columns as one number each, side by side; None means all but the ids."""

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers, NaN where one is missing."""

    def days(self, name: str, form: str) -> FloatArray:
        """Return a column as days since the first of January 1970, NaN where one is missing.

        `form` is how texts write a day, such as YYYY-MM-DD.
        """

    def levels(self, name: str, levels: Sequence[str]) -> IntArray:
        """Return which of the levels each cell has, -1 where it has none."""

    def vectors(self, name: str, width: int) -> FloatArray:
        """Return a column of vectors as rows, NaN where a number is missing."""
