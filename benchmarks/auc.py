"""Area under the loss over epsilon, with its standard error."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from benchmarks.methods import EPSILONS
from benchmarks.pieces import Results
from privclust.kernels.grid import FloatArray

_STEPS = np.diff(EPSILONS)
WEIGHTS = (np.append(_STEPS, 0.0) + np.append(0.0, _STEPS)) / 2
AREA = EPSILONS[-1] - EPSILONS[0]
"""Under a loss of 1."""

Losses = dict[tuple[str, str, float], list[float]]
"""The losses of a method on a table at one epsilon, by seed; at 0 those of references."""


def losses_of(results: Results) -> Losses:
    """Bring fits together that differ in their seed only."""
    losses: Losses = defaultdict(list)
    for piece in sorted(results, key=lambda piece: piece.seed):
        losses[piece.method, piece.dataset, piece.epsilon].append(results[piece].loss)
    return losses


def auc(losses: Losses, method: str, dataset: str) -> tuple[float, float]:
    """Return the trapezoid over the five epsilons of mean losses, and its standard error."""
    found = [losses[method, dataset, epsilon] for epsilon in EPSILONS]
    errors = np.array(
        [np.std(some, ddof=1) / np.sqrt(len(some)) if len(some) > 1 else 0.0 for some in found]
    )
    area = float(WEIGHTS @ [float(np.mean(some)) for some in found])
    return area, float(np.sqrt(np.sum((WEIGHTS * errors) ** 2)))


def seed_areas(losses: Losses, method: str, dataset: str) -> FloatArray:
    """Return the trapezoid of each seed, in their order."""
    found = np.array([losses[method, dataset, epsilon] for epsilon in EPSILONS])
    areas: FloatArray = WEIGHTS @ found
    return areas


def mean_loss(losses: Losses, method: str, dataset: str, epsilon: float) -> float:
    """Return the mean over seeds of a method's losses at one epsilon; 0 for references."""
    return float(np.mean(losses[method, dataset, epsilon]))
