"""The strongest attack on a fit: how much likelier its releases are if the canary was there.

The attacker knows both tables and sees every query. Results come from one of them with real noise,
and the logarithm of the likelihood ratio is added up, which by the lemma of Neyman and Pearson is
the best score that an attacker who sees all releases can have. Queries may follow from earlier
results: each is measured on both tables as it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from privclust.engines.base import Engine
from privclust.kernels.grid import FloatArray, IntArray
from privclust.privacy.noise import NoiseSource
from privclust.queries.base import Query

NODES_MAX = 200
"""Of the quadrature: exact up to 400 options, and beyond far finer than a probability moves."""


class LikelihoodRatioAttack:
    """An engine over one of two neighbouring tables, and a noise source, in one.

    Parameters
    ----------
    absent, present : Engine
        The table without the canary, and with it.
    fitted : Engine
        The one of the two that the fit is made of.
    noise : NoiseSource
        Where noise comes from.

    Attributes
    ----------
    log_ratio : float
        Of the likelihood of all results with the canary over that without.
    """

    def __init__(self, absent: Engine, present: Engine, fitted: Engine, noise: NoiseSource) -> None:
        self.n_columns = absent.n_columns
        self.unit = absent.unit
        self.name = noise.name
        self.log_ratio = 0.0
        self._tables = (absent, present)
        self._present = fitted is present
        self._noise = noise
        self._exact_pair: tuple[IntArray, IntArray] | None = None

    def aggregate(self, query: Query) -> Sequence[int]:
        """Measure both tables, and return the sum of one."""
        return self.record(*self._tables, query)

    def record(self, absent: Engine, present: Engine, query: Query) -> Sequence[int]:
        """Measure both tables, or samples of them, and return the sum of one."""
        exact = absent.aggregate(query), present.aggregate(query)
        self._exact_pair = (np.array(exact[0]), np.array(exact[1]))
        return exact[self._present]

    def expect_sample(self, key: bytes) -> None:
        """Prepare both tables."""
        for table in self._tables:
            table.expect_sample(key)

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        """Return a sample of both tables by the same inclusion bits: the attacker has the key."""
        absent, present = (table.sample(sampling_exponent, key) for table in self._tables)
        return self.paired(absent, present)

    def paired(self, absent: Engine, present: Engine) -> PairedEngine:
        """Return an engine over two other tables: samples, or the same rows on another scale."""
        return PairedEngine(self, absent, present)

    def key(self) -> bytes:
        """Return a key as the fit would draw it."""
        return self._noise.key()

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Draw a Gaussian result and weigh it."""
        result = self._noise.gaussian(exact, sigma)
        absent, present = ((result - table) / sigma for table in self._exact())
        self.log_ratio += float(np.sum(absent**2 - present**2)) / 2
        return result

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Draw a Laplace result and weigh it."""
        result = self._noise.laplace(exact, scale)
        absent, present = (np.abs(result - table) / scale for table in self._exact())
        self.log_ratio += float(np.sum(absent - present))
        return result

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Draw a choice and weigh it."""
        choice = self._noise.permute_and_flip(scores, scale)
        absent, present = (log_chances(table, scale)[choice] for table in self._exact())
        self.log_ratio += float(present - absent)
        return choice

    def _exact(self) -> tuple[IntArray, IntArray]:
        if self._exact_pair is None:
            raise AssertionError("noise was drawn without a query to the engine")
        pair, self._exact_pair = self._exact_pair, None
        return pair


class PairedEngine:
    """Engines over both tables, whose sums pass through the attack."""

    def __init__(self, attack: LikelihoodRatioAttack, absent: Engine, present: Engine) -> None:
        self.n_columns = absent.n_columns
        self.unit = absent.unit
        self._attack = attack
        self._tables = (absent, present)

    def aggregate(self, query: Query) -> Sequence[int]:
        """Measure both, and return the sum of one."""
        return self._attack.record(*self._tables, query)

    def expect_sample(self, key: bytes) -> None:
        """Prepare both."""
        for table in self._tables:
            table.expect_sample(key)

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        """Return a sample of both by the same inclusion bits."""
        absent, present = (table.sample(sampling_exponent, key) for table in self._tables)
        return self._attack.paired(absent, present)

    def close(self) -> None:
        """Nothing to end: these tables are made up."""


def log_chances(scores: IntArray, scale: float) -> FloatArray:
    """Return the logarithm of the chance that permute-and-flip chooses each option.

    It chooses as if exponential noise were added to scores and the largest taken. With s the
    distance to the best score in scales, option j has the chance
    exp(s_j) · ∫ Π (1 − t·exp(s_i)) dt over t from 0 to 1, the product over all others: a
    polynomial, which Gauss and Legendre integrate exactly.

    Examples
    --------
    >>> np.exp(log_chances(np.array([0, 0, -5]), 1.0)).round(4).tolist()
    [0.4989, 0.4989, 0.0022]
    """
    distances = (scores - scores.max()) / scale
    times, weights = _quadrature(min(len(scores), NODES_MAX))
    factors = 1 - times[:, None] * np.exp(distances)
    products = np.prod(factors, axis=1)[:, None] / factors
    chances: FloatArray = distances + np.log(weights @ products)
    return chances


@cache
def _quadrature(nodes: int) -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return (points + 1) / 2, weights / 2
