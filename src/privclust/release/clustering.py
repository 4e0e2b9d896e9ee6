"""The outcome of an algorithm, in the unit ball."""

from __future__ import annotations

from dataclasses import dataclass

from privclust.geometry.grid import FloatArray


@dataclass(frozen=True, eq=False)
class Clustering:
    """Centres and sizes that follow from Releases.

    Attributes
    ----------
    centers : array of shape (k, d)
        Points of the unit ball.
    sizes : array of shape (k,)
        Noisy numbers of rows nearest to each centre.
    n_rows : int
        The typed number of rows, or the noisy count.
    """

    centers: FloatArray
    sizes: FloatArray
    n_rows: int
