"""Cohorts, the masses of sums of their noise shares, and the slack that the lemma wants."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from hypothesis import strategies as st

from privclust.kernels.grid import FloatArray
from privclust.privacy.noise_shares import MEMBERS_MAX, NoiseShare


@st.composite
def cohorts(draw: st.DrawFn) -> NoiseShare:
    members = draw(st.integers(2, MEMBERS_MAX))
    return NoiseShare(members, draw(st.integers(1, members - 1)))


def lemma_slack(sigma: float, mu: float, changed: int) -> float:
    return 1.01 * changed * (1 + (12 + mu) ** 2) / (24 * sigma**2)


@cache
def sum_of_shares(members: int, sigma: float) -> FloatArray:
    """Return the mass of a sum of shares to 16 sigma; all terms are positive."""
    reach = math.ceil(16 * sigma * math.sqrt(members)) + 8
    x = np.arange(-reach, reach + 1)
    share = np.exp(-(x**2) / (2 * sigma**2))
    share /= share.sum()
    mass = share
    for _ in range(members - 1):
        mass = np.convolve(mass, share, mode="same")
    return mass
