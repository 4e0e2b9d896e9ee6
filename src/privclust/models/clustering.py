"""The outcome of an algorithm, in the unit ball."""

from __future__ import annotations

from dataclasses import dataclass

from privclust.errors import Message, safe_repr
from privclust.kernels.grid import FloatArray
from privclust.models.formatting import counted
from privclust.models.quality import Quality

ADVICE_MAX = 1000
"""Characters of an advice, which is a few sentences."""


@dataclass(frozen=True, eq=False)
class Precision:
    """How far noise may have moved what was released, and how wide clusters are.

    Attributes
    ----------
    center_stderr : array of shape (k,)
        Standard error of each coordinate of a centre.
    size_stderr : array of shape (k,)
        Standard error of a size.
    radii : array of shape (k,)
        Root mean square distances of rows to their centre, noisy; clipped, where clusters were
        found in a projection.
    """

    center_stderr: FloatArray
    size_stderr: FloatArray
    radii: FloatArray


@dataclass(frozen=True, eq=False)
class Coreset:
    """A few weighted points that stand for all rows.

    Attributes
    ----------
    points : array of shape (M, d)
        Where they lie.
    weights : array of shape (M,)
        Noisy numbers of rows each stands for.
    precision : Precision
        Of the weights, in rows, and of the points, in radii of the domain.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> len(model.coreset_.points) == len(model.coreset_.weights)
    True
    >>> model.coreset_  # doctest: +ELLIPSIS
    Coreset of ... points in 2 columns, for about ... rows
    """

    points: FloatArray
    weights: FloatArray
    precision: Precision

    def __repr__(self) -> str:
        points, columns = self.points.shape
        return (
            f"Coreset of {counted(points)} points in {columns:,} columns, for about "
            f"{counted(self.weights.sum())} rows"
        )


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
    precision : Precision, optional
        Where the algorithm knows it.
    coreset : Coreset, optional
        Where the algorithm makes one.
    quality : Quality, optional
        Where the algorithm measures it and noise does not hide it.
    advice : Message, optional
        What is wrong with it and what would help, from Releases and public numbers: `fit` warns.
    warned : Message, optional
        The same, if it was clear from typed numbers and a warning said so before the fit.
    most_is_far : bool, default=False
        Whether rows far from every centre make most of the loss, or may well do so.
    """

    centers: FloatArray
    sizes: FloatArray
    n_rows: int
    precision: Precision | None = None
    coreset: Coreset | None = None
    quality: Quality | None = None
    advice: Message | None = None
    warned: Message | None = None
    most_is_far: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.warned, Message | None):
            raise TypeError(
                "warned must be a Message of privclust.errors or None, got "
                f"{safe_repr(self.warned)}. Give Message(text)."
            )
        for text in (self.advice, self.warned):
            # Of an advice that is no Message, `fit` says what is wrong.
            if isinstance(text, Message) and (len(text) > ADVICE_MAX or not text.isprintable()):
                raise ValueError(
                    f"an advice must be printable, on one line and of at most {ADVICE_MAX:,} "
                    f"characters, got {safe_repr(text)} of {len(text):,}. Give a few sentences."
                )
