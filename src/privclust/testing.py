"""Noise that is not private, for tests, experiments and pictures on public data.

Releases drawn under these carry the source's name, so a statement made from them says so.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import numpy as np

from privclust.kernels.grid import IntArray
from privclust.privacy.noise import NoiseSource, NoNoise, substitute

__all__ = ["NoNoise", "RepeatableNoise", "SeededNoise", "noise_from"]


class SeededNoise:
    """Rounded pseudo-random noise of the right size; the same seed gives the same noise.

    Parameters
    ----------
    seed : int
        Whoever knows it can take the noise away again: NOT PRIVATE.

    Examples
    --------
    >>> zeros = np.zeros(3, dtype=np.int64)
    >>> bool((SeededNoise(7).gaussian(zeros, 9.0) == SeededNoise(7).gaussian(zeros, 9.0)).all())
    True
    """

    name = "testing: seeded"

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Add rounded Gaussian noise of standard deviation `sigma` to `exact`."""
        return exact + np.rint(self._rng.normal(0.0, sigma, exact.shape)).astype(np.int64)

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Add rounded Laplace noise of scale `scale` to `exact`."""
        return exact + np.rint(self._rng.laplace(0.0, scale, exact.shape)).astype(np.int64)

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Choose among `scores` after exponential noise of `scale`, which is the same mechanism."""
        return int(np.argmax(scores + self._rng.exponential(scale, scores.shape)))

    def key(self) -> bytes:
        """Return a key that follows from the seed."""
        return self._rng.bytes(32)


class RepeatableNoise:
    """Seeded noise that depends on what it is added to, so that a resumed fit draws it again.

    Parameters
    ----------
    seed : int
        Whoever knows it can take the noise away again: NOT PRIVATE.

    Examples
    --------
    >>> noise, zeros = RepeatableNoise(7), np.zeros(3, dtype=np.int64)
    >>> bool((noise.gaussian(zeros, 9.0) == noise.gaussian(zeros, 9.0)).all())
    True
    """

    name = "testing: repeatable"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Add rounded Gaussian noise of standard deviation `sigma` to `exact`."""
        return self._source(exact, sigma).gaussian(exact, sigma)

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Add rounded Laplace noise of scale `scale` to `exact`."""
        return self._source(exact, scale).laplace(exact, scale)

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Choose among `scores` after exponential noise of `scale`."""
        return self._source(scores, scale).permute_and_flip(scores, scale)

    def key(self) -> bytes:
        """Return the same key each time."""
        return self._seed.to_bytes(32, "little")

    def _source(self, exact: IntArray, scale: float) -> SeededNoise:
        content = sha256(exact.tobytes() + struct.pack("<dq", scale, self._seed)).digest()
        return SeededNoise(int.from_bytes(content[:8], "little"))


@contextmanager
def noise_from(source: NoiseSource) -> Iterator[None]:
    """Draw all noise inside the ``with`` block from `source`.

    Parameters
    ----------
    source : NoiseSource
        `SeededNoise`, `RepeatableNoise` or `NoNoise`, or one of your own with the same methods.

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
