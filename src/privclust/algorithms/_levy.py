"""Lévy flights: heavy-tailed steps that mutate candidate centres."""

from __future__ import annotations

import math

import numpy as np

from privclust.kernels.grid import FloatArray

BETA = 1.75


def levy_steps(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Draw symmetric Lévy-stable steps of index 1.75 by Mantegna's quotient of two normals.

    Examples
    --------
    >>> levy_steps((2, 3), np.random.default_rng(0)).shape
    (2, 3)
    """
    numerator = math.gamma(1 + BETA) * math.sin(math.pi * BETA / 2)
    denominator = math.gamma((1 + BETA) / 2) * BETA * 2 ** ((BETA - 1) / 2)
    deviation = (numerator / denominator) ** (1 / BETA)
    steps: FloatArray = rng.normal(0.0, deviation, shape) / np.abs(rng.normal(size=shape)) ** (
        1 / BETA
    )
    return steps


def mutate(centers: FloatArray, copies: int, step: float, rng: np.random.Generator) -> FloatArray:
    """Return `copies` mutants of each centre, a Lévy flight away and clipped to the unit ball.

    Examples
    --------
    >>> mutate(np.zeros((2, 3)), 5, 0.01, np.random.default_rng(0)).shape
    (10, 3)
    """
    parents = np.repeat(centers, copies, axis=0)
    mutants = parents + step * levy_steps(parents.shape, rng)
    lengths = np.linalg.norm(mutants, axis=1, keepdims=True)
    clipped: FloatArray = mutants / np.maximum(lengths, 1.0)
    return clipped
