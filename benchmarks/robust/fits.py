"""The fits of the robustness suite: every method, every epsilon, and without noise.

Public bounds map each table into the unit ball, and losses are measured there. Everybody's delta is
1e-6; rivals are given the number of rows, PrivateKMeans is not. Where rows belong to users, these
are protected. PrivateKMeans is fitted to the held-out half only if asked for, once designing is
over; rivals and k-means are fitted to both.
"""

from __future__ import annotations

from benchmarks.methods import EPSILONS, measure_on
from benchmarks.pieces import Outcome, Piece
from benchmarks.rivals import FLAGSHIP, MARKED, PAPERS_OWN, REFERENCE, RIVALS
from benchmarks.robust.tables import DESIGN, HELD_OUT, TABLES, dataset

EXACT = "PrivateKMeans, no noise"
ONE_START = "k-means, one start"
EXACT_EPSILON = 4.0
"""Fits without noise follow the plan of this epsilon, under which they are kept."""
SEEDS, SEEDS_OF_SLOW_FITS = 10, 3
MAIN_EPSILON = 1.0
"""Where slow methods have all seeds."""
MANY_COLUMNS, FOR_MANY_COLUMNS = 17, "HDPEMeans"
"""From so many columns on it stands in for PEMeans."""
SLOW = (PAPERS_OWN, FOR_MANY_COLUMNS, "BalcanKMeans", MARKED)


def method_on(method: str, table: str) -> str:
    """Return the estimator that stands for a method on a table."""
    many = dataset(table).rows.shape[1] >= MANY_COLUMNS
    return FOR_MANY_COLUMNS if many and method == PAPERS_OWN else method


def references() -> list[Piece]:
    """Return the fits of k-means."""
    return [
        Piece(method, name, 0.0, seed)
        for name in TABLES
        for method, seeds in ((REFERENCE, 1), (ONE_START, SEEDS))
        for seed in range(seeds)
    ]


def pieces(held_out: bool) -> list[Piece]:
    """Return the fits of all methods; those of PrivateKMeans to held-out tables only if asked for.

    Slow methods come after all others, and epsilon 1, where targets are set, before the others.
    """
    ours = (*DESIGN, *HELD_OUT) if held_out else DESIGN
    exact = [Piece(EXACT, name, EXACT_EPSILON, seed) for seed in range(SEEDS) for name in ours]
    private = [
        Piece(method_on(method, name), name, epsilon, seed)
        for method in (FLAGSHIP, *RIVALS, MARKED)
        for name in (ours if method == FLAGSHIP else TABLES)
        for epsilon in EPSILONS
        for seed in range(SEEDS)
        if seed < SEEDS_OF_SLOW_FITS or epsilon == MAIN_EPSILON or method not in SLOW
        # It protects rows alone.
        if method != MARKED or dataset(name).users is None
    ]
    private.sort(key=lambda fit: (fit.method in SLOW, fit.epsilon != MAIN_EPSILON, fit.seed))
    return references() + exact + private


def measure(piece: Piece) -> Outcome:
    """Make one fit."""
    return measure_on(dataset(piece.dataset), piece)
