"""The strongest witness of a fit: how much likelier its noisy answers are if the canary was there.

The witness knows both tables and hears every question. It answers from one of them with real noise
and adds up the logarithm of the likelihood ratio, which by the lemma of Neyman and Pearson is the
best score that an attacker who sees all releases can have. Questions may follow from earlier
answers: each is put to both tables as it is asked.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from privclust.engines.base import Engine
from privclust.kernels.grid import FloatArray, IntArray
from privclust.privacy.noise import NoiseSource
from privclust.queries.base import Query

NODES_MAX = 200
"""Of the quadrature: exact up to 400 options, and beyond far finer than a probability moves."""


class Witness:
    """An engine over one of two neighbouring tables, and a noise source, in one.

    Parameters
    ----------
    absent, present : Engine
        The table without the canary, and with it.
    answers_from : Engine
        The one of the two that the fit is made of.
    noise : NoiseSource
        Where noise comes from.

    Attributes
    ----------
    log_ratio : float
        Of the likelihood of all answers with the canary over that without.
    """

    def __init__(
        self, absent: Engine, present: Engine, answers_from: Engine, noise: NoiseSource
    ) -> None:
        self.n_columns = absent.n_columns
        self.unit = absent.unit
        self.name = noise.name
        self.log_ratio = 0.0
        self._tables = (absent, present)
        self._present = answers_from is present
        self._noise = noise
        self._asked: tuple[IntArray, IntArray] | None = None

    def aggregate(self, query: Query) -> list[int]:
        """Ask both tables, remember, and answer from one."""
        return self.listen(*self._tables, query)

    def listen(self, absent: Engine, present: Engine, query: Query) -> list[int]:
        """Ask both tables, or samples of them, remember, and answer from one."""
        exact = absent.aggregate(query), present.aggregate(query)
        self._asked = (np.array(exact[0]), np.array(exact[1]))
        return exact[self._present]

    def expect_sample(self, key: bytes) -> None:
        """Tell both tables."""
        for table in self._tables:
            table.expect_sample(key)

    def sample(self, halvings: int, key: bytes) -> Engine:
        """Return a sample by the same coins of both tables: this witness knows the key, too."""
        absent, present = (table.sample(halvings, key) for table in self._tables)
        return self.hears(absent, present)

    def hears(self, absent: Engine, present: Engine) -> Heard:
        """Return an engine over two other tables: samples, or the same rows on another scale."""
        return Heard(self, absent, present)

    def key(self) -> bytes:
        """Return a key as the fit would draw it."""
        return self._noise.key()

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Draw a Gaussian answer and weigh it."""
        answer = self._noise.gaussian(exact, sigma)
        absent, present = ((answer - table) / sigma for table in self._exact())
        self.log_ratio += float(np.sum(absent**2 - present**2)) / 2
        return answer

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Draw a Laplace answer and weigh it."""
        answer = self._noise.laplace(exact, scale)
        absent, present = (np.abs(answer - table) / scale for table in self._exact())
        self.log_ratio += float(np.sum(absent - present))
        return answer

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Draw a choice and weigh it."""
        choice = self._noise.permute_and_flip(scores, scale)
        absent, present = (log_chances(table, scale)[choice] for table in self._exact())
        self.log_ratio += float(present - absent)
        return choice

    def _exact(self) -> tuple[IntArray, IntArray]:
        if self._asked is None:
            raise AssertionError("noise was drawn without a question to the engine")
        asked, self._asked = self._asked, None
        return asked


class Heard:
    """Engines over both tables, whose answers pass through the witness."""

    def __init__(self, witness: Witness, absent: Engine, present: Engine) -> None:
        self.n_columns = absent.n_columns
        self.unit = absent.unit
        self._witness = witness
        self._tables = (absent, present)

    def aggregate(self, query: Query) -> list[int]:
        """Ask both and answer from one."""
        return self._witness.listen(*self._tables, query)

    def expect_sample(self, key: bytes) -> None:
        """Tell both."""
        for table in self._tables:
            table.expect_sample(key)

    def sample(self, halvings: int, key: bytes) -> Engine:
        """Return a sample of both by the same coins."""
        absent, present = (table.sample(halvings, key) for table in self._tables)
        return self._witness.hears(absent, present)

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
