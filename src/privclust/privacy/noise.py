"""Where noise comes from: OpenDP, seeded by the operating system.

Only the Curator imports this module. `privclust.testing` can put another source in place for
experiments; releases then carry its name, so that nobody mistakes them for private ones.
"""

from __future__ import annotations

import math
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from privclust.kernels.cores import available_cores
from privclust.kernels.grid import IntArray

_FEWEST_AT_ONCE = 512
"""Coordinates for which another thread is worth its start."""
_MOST_AT_ONCE = 2**16
"""Coordinates of one call: OpenDP returns a list, which takes five times the memory of an array."""


class NoiseSource(Protocol):
    """Draws all randomness that a guarantee rests on."""

    @property
    def name(self) -> str:
        """What releases say about the origin of their noise."""

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Add independent discrete Gaussian noise of parameter `sigma` to each coordinate."""

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Add independent discrete Laplace noise of parameter `scale` to each coordinate."""

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Choose an index, a higher score being likelier by a factor e per `scale`."""

    def key(self) -> bytes:
        """Return a secret that decides which rows are in a sample."""


class OpenDPNoise:
    """Exact samplers of the OpenDP library, on 64-bit integers.

    Examples
    --------
    >>> noisy = OpenDPNoise().gaussian(np.zeros(3, dtype=np.int64), 2.0**26)
    >>> noisy.dtype, len(noisy)
    (dtype('int64'), 3)
    """

    name = "OpenDP"

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Add independent discrete Gaussian noise of parameter `sigma` to each coordinate."""
        dp = _opendp()
        mechanism = dp.m.make_gaussian(_vectors(dp), dp.l2_distance(T="f64"), scale=sigma)
        return _on_all_cores(mechanism, exact)

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Add independent discrete Laplace noise of parameter `scale` to each coordinate."""
        dp = _opendp()
        mechanism = dp.m.make_laplace(_vectors(dp), dp.l1_distance(T="i64"), scale=scale)
        return _on_all_cores(mechanism, exact)

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Choose an index, a higher score being likelier by a factor e per `scale`."""
        dp = _opendp()
        mechanism = dp.m.make_noisy_max(
            _vectors(dp), dp.linf_distance(T="i64"), dp.max_divergence(), scale=scale
        )
        return int(mechanism(scores))

    def key(self) -> bytes:
        """Return a secret that decides which rows are in a sample."""
        return secrets.token_bytes(32)


class NoNoise:
    """Exact results: for teaching, and for tests. NOT PRIVATE.

    Examples
    --------
    >>> NoNoise().gaussian(np.arange(3), 9.0)
    array([0, 1, 2])
    """

    name = "none"

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Return `exact` itself, whatever `sigma` is."""
        return exact

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Return `exact` itself, whatever `scale` is."""
        return exact

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Return the index of the largest of `scores`, whatever `scale` is."""
        return int(np.argmax(scores))

    def key(self) -> bytes:
        """Return the same key each time."""
        return bytes(32)


substitute: ContextVar[NoiseSource | None] = ContextVar("substitute", default=None)
"""Set by `privclust.testing` only."""


def noise_source() -> NoiseSource:
    """Return OpenDP, unless `privclust.testing` put a substitute in its place."""
    return substitute.get() or OpenDPNoise()


def _opendp() -> Any:
    # Imported on first use: OpenDP takes seconds of CPU to load, `import privclust` should not.
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _on_all_cores(mechanism: Any, exact: IntArray) -> IntArray:
    """Draw for parts of the coordinates at once: noise is independent from one to the next.

    OpenDP draws outside the interpreter lock.
    """

    def draw(part: IntArray) -> IntArray:
        return np.array(mechanism(part), dtype=np.int64)

    threads = min(available_cores(), len(exact) // _FEWEST_AT_ONCE)
    n_parts = max(threads, math.ceil(len(exact) / _MOST_AT_ONCE))
    if n_parts < 2:
        return draw(exact)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(draw, np.array_split(exact, n_parts))))


def _vectors(dp: Any) -> Any:
    return dp.vector_domain(dp.atom_domain(T="i64"))
