"""Noise that is not private, for tests, experiments and pictures on public data.

Releases drawn under these carry the source's name, so a statement made from them says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from privclust.geometry.grid import IntArray
from privclust.privacy.noise import NoiseSource, NoNoise, substitute

__all__ = ["NoNoise", "SeededNoise", "noise_from"]


class SeededNoise:
    """Rounded pseudo-random noise of the right size; the same seed gives the same noise."""

    name = "testing: seeded"

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Add rounded Gaussian noise."""
        return exact + np.rint(self._rng.normal(0.0, sigma, exact.shape)).astype(np.int64)

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Add rounded Laplace noise."""
        return exact + np.rint(self._rng.laplace(0.0, scale, exact.shape)).astype(np.int64)

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Choose the largest score after exponential noise, which is the same mechanism."""
        return int(np.argmax(scores + self._rng.exponential(scale, scores.shape)))

    def key(self) -> bytes:
        """Return a key that follows from the seed."""
        return self._rng.bytes(32)


@contextmanager
def noise_from(source: NoiseSource) -> Iterator[None]:
    """Draw all noise inside the ``with`` block from `source`.

    Examples
    --------
    >>> from privclust.privacy.noise import noise_source
    >>> with noise_from(SeededNoise(0)):
    ...     noise_source().name
    'testing: seeded'
    """
    token = substitute.set(source)
    try:
        yield
    finally:
        substitute.reset(token)
