"""Area under the loss over epsilon, with its standard error."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from benchmarks.methods import EPSILONS
from benchmarks.pieces import Results


def auc(results: Results, method: str, dataset: str) -> tuple[float, float]:
    """Return the trapezoid over the five epsilons of mean losses, and its standard error."""
    losses: dict[float, list[float]] = defaultdict(list)
    for piece, outcome in results.items():
        if (piece.method, piece.dataset) == (method, dataset):
            losses[piece.epsilon].append(outcome.loss)
    steps = np.diff(EPSILONS)
    weights = (np.append(steps, 0.0) + np.append(0.0, steps)) / 2
    means = np.array([np.mean(losses[epsilon]) for epsilon in EPSILONS])
    errors = np.array(
        [
            np.std(losses[e], ddof=1) / np.sqrt(len(losses[e])) if len(losses[e]) > 1 else 0.0
            for e in EPSILONS
        ]
    )
    return float(weights @ means), float(np.sqrt(np.sum((weights * errors) ** 2)))


def mean_loss(results: Results, method: str, dataset: str, epsilon: float) -> float:
    """Return the mean over seeds of a method's losses at one epsilon; 0 for references."""
    found = [
        outcome.loss
        for piece, outcome in results.items()
        if (piece.method, piece.dataset, piece.epsilon) == (method, dataset, epsilon)
    ]
    return float(np.mean(found))
