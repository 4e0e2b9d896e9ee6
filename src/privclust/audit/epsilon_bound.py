"""How much of a guarantee an attack refutes: a lower bound on epsilon, with confidence.

Fits are made of two neighbouring tables, with and without one row, the canary. An attacker gives
each fit a score and takes the canary for present above a threshold. A private fit makes such a
guess err often, so error rates that are too small refute the guarantee.

Whatever an attacker learns or chooses is learnt from every second fit (`LEARNT`) and judged by the
others (`JUDGED`); only so the confidence is what it says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import epsilon_of

LEARNT, JUDGED = slice(0, None, 2), slice(1, None, 2)
THRESHOLDS = 16
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Scores:
    """What an attacker made of each fit; more means that the canary seems to be there.

    Attributes
    ----------
    absent, present : array
        Scores of fits without the canary, and with it.
    """

    absent: FloatArray
    present: FloatArray

    def part(self, fits: slice) -> Scores:
        """Return the scores of some of the fits."""
        return Scores(self.absent[fits], self.present[fits])


@dataclass(frozen=True)
class Refuted:
    """What cannot be true, with the confidence that was chosen.

    Attributes
    ----------
    epsilon : float
        Every guarantee below it, at the same delta, is refuted by the definition.
    mu : float
        Every Gaussian-DP guarantee below it is refuted.
    """

    epsilon: float
    mu: float

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon to hold against a guarantee.

        A guarantee with a delta is charged as mu, which says more than epsilon at a single delta;
        so whoever refutes a mu refutes the epsilon that goes with it. Pure guarantees are judged
        by the definition alone.
        """
        return self.epsilon if delta == 0 else max(self.epsilon, epsilon_of(self.mu, delta))


def refuted(scores: Scores, delta: float, confidence: float = CONFIDENCE) -> Refuted:
    """Choose a threshold on the fits to learn from, and count its errors on those to judge by.

    Both error rates get the upper limit of Clopper and Pearson, each with half of the doubt; all
    that follows from the two limits holds at once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = Scores(rng.laplace(0.0, 1.0, 8000), rng.laplace(1.0, 1.0, 8000))
    >>> round(refuted(scores, delta=0.0).epsilon, 2)  # its true epsilon is 1
    0.92
    """
    learnt, judged = scores.part(LEARNT), scores.part(JUDGED)
    pooled = np.concatenate([learnt.absent, learnt.present])
    tried = np.unique(np.quantile(pooled, np.linspace(0, 1, THRESHOLDS), method="lower"))
    epsilons, mus = _limits(learnt, tried, delta, confidence)
    by_mu = delta > 0 and epsilon_of(max(0.0, float(mus.max())), delta) > epsilons.max()
    best = np.argmax(mus if by_mu else epsilons)
    epsilons, mus = _limits(judged, tried[[best]], delta, confidence)
    return Refuted(max(0.0, float(epsilons[0])), max(0.0, float(mus[0])))


def linear_scores(absent: FloatArray, present: FloatArray) -> Scores:
    """Score fits by what they show, one line of numbers each, by Fisher's linear discriminant.

    Examples
    --------
    >>> seen = np.array([[0.0, 1.0], [0.1, 1.0], [-0.1, 1.0]])
    >>> scores = linear_scores(seen, seen + [[1.0, 0.0]])
    >>> bool(scores.absent.max() < scores.present.min())
    True
    """
    first, second = absent[LEARNT], present[LEARNT]
    scale = np.vstack([first, second]).std(axis=0)
    scale[scale == 0] = 1.0
    around = np.vstack([first - first.mean(axis=0), second - second.mean(axis=0)]) / scale
    covariance = around.T @ around / len(around) + 1e-9 * np.eye(len(scale))
    apart = (second.mean(axis=0) - first.mean(axis=0)) / scale
    weights = np.linalg.solve(covariance, apart) / scale
    return Scores(absent @ weights, present @ weights)


def _limits(
    scores: Scores, thresholds: FloatArray, delta: float, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return which epsilon and which mu each threshold refutes; negative ones say nothing."""
    alarms = _upper_limit(scores.absent[:, None] > thresholds, confidence)
    misses = _upper_limit(scores.present[:, None] <= thresholds, confidence)
    sure = 1 - delta - np.array([misses, alarms])
    epsilons = np.log(np.maximum(sure, 1e-300) / np.array([alarms, misses])).max(axis=0)
    return epsilons, -ndtri(alarms) - ndtri(misses)


def _upper_limit(errors: NDArray[np.bool_], confidence: float) -> FloatArray:
    """Return Clopper and Pearson's upper limit of each column's rate, with half of the doubt."""
    fits, wrong = len(errors), errors.sum(axis=0)
    some_right = np.maximum(fits - wrong, 1)
    limit = betaincinv(wrong + 1, some_right, 1 - (1 - confidence) / 2)
    return np.where(wrong == fits, 1.0, limit)
