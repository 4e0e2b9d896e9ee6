"""Every method on every table: who is how far from k-means, and who wins where.

Rivals are given the number of rows, PrivateKMeans is not. Everybody else's protocol is that of
`utility`, whose results these share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from benchmarks.auc import AREA, Losses, mean_loss, seed_areas
from benchmarks.data import CLUSTERS_WITHIN_BOUNDS, EVERY_SET
from benchmarks.methods import EPSILONS
from benchmarks.pieces import Piece
from benchmarks.published import METHODS, PUBLISHED

FLAGSHIP = "PrivateKMeans"
REFERENCE = "k-means, best of 10"
PAPERS_OWN = "PEMeans"
"""HDPEMeans stands in for it on tables of many columns, as in the paper."""
RIVALS = (PAPERS_OWN, "DPLloyd", "FastLloyd", "LSHCoreset", "BalcanKMeans")
MARKED = "diffprivlib"
"""It is listed, and wins nothing: it spends more than it is given (docs/benchmarks.md)."""
TABLES = (*EVERY_SET, "birch2", *CLUSTERS_WITHIN_BOUNDS)
HIGH = ("_64", "_128", "mnist")
"""How tables of many columns end."""
SEEDS, SEEDS_OF_SLOW_FITS = 10, 3
SLOW = {("HDPEMeans", "mnist"), ("PEMeans", "uber_pickups")}
"""Where one fit takes more than 20 seconds of CPU."""
BETTER, CERTAIN = 0.02, 3.0
"""A rival is better on a table if by so much, and by so many standard errors."""


def method_on(method: str, table: str) -> str:
    """Return the estimator that stands for a method on a table."""
    many = table.endswith(HIGH) and method == PAPERS_OWN
    return "HDPEMeans" if many else method


def pieces() -> list[Piece]:
    """Return the fits of all methods, all tables before the next seed."""
    references = [Piece(REFERENCE, name, 0.0, 0) for name in TABLES]
    private = [
        Piece(method_on(method, name), name, epsilon, seed)
        for seed in range(SEEDS)
        for method in (FLAGSHIP, *RIVALS, MARKED)
        for name in TABLES
        for epsilon in EPSILONS
        if seed < SEEDS_OF_SLOW_FITS or (method_on(method, name), name) not in SLOW
    ]
    return references + private


def report(losses: Losses) -> bool:
    """Print a line per method and a table of all, and return whether no rival is better."""
    for part in (print_methods, print_tables, print_beside_published):
        part(losses)
        print()
    lost = [
        f"{method} on {name}, by {gain:.1%}"
        for name in TABLES
        for method in RIVALS
        if (gain := _gain(losses, method_on(method, name), name)) > BETTER
    ]
    for line in lost:
        print(line)
    print(f"tables on which a rival is better {len(lost)} 0 {'NOT MET' if lost else 'PASS'}")
    return not lost


def ratio(losses: Losses, method: str, table: str) -> float:
    """Return the area under a method's losses over that of k-means, best of 10."""
    areas = seed_areas(losses, method_on(method, table), table)
    return float(np.mean(areas)) / (mean_loss(losses, REFERENCE, table, 0.0) * AREA)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the mean of ratios."""
    return math.exp(float(np.mean([math.log(value) for value in values])))


def print_methods(losses: Losses) -> None:
    """Print a line for each method: means over all tables, and how many tables it wins."""
    compared = (FLAGSHIP, *RIVALS, MARKED)
    ratios = {method: [ratio(losses, method, name) for name in TABLES] for method in compared}
    best = np.argmin([ratios[method] for method in (FLAGSHIP, *RIVALS)], axis=0)
    print("| method | AUC over k-means | at epsilon .25 | at epsilon 1 | tables won | worst |")
    print("|---|---|---|---|---|---|")
    for place, method in enumerate(compared):
        at = [
            geometric_mean(
                mean_loss(losses, method_on(method, name), name, epsilon)
                / mean_loss(losses, REFERENCE, name, 0.0)
                for name in TABLES
            )
            for epsilon in (0.25, 1.0)
        ]
        won = int((best == place).sum()) if method != MARKED else "-"
        print(
            f"| {method} | {geometric_mean(ratios[method]):.3f} | {at[0]:.3f} | {at[1]:.3f} "
            f"| {won} | {max(ratios[method]):.2f} |"
        )


def print_tables(losses: Losses) -> None:
    """Print the area of every method on every table."""
    compared = (FLAGSHIP, *RIVALS, MARKED)
    _row("table", "k-means", *compared)
    _row(*["---"] * (2 + len(compared)))
    for name in TABLES:
        best = mean_loss(losses, REFERENCE, name, 0.0) * AREA
        _row(name, f"{best:.4g}", *(_cell(losses, method_on(m, name), name) for m in compared))


def print_beside_published(losses: Losses) -> None:
    """Print our areas over the paper's, where rows are the same."""
    _row("ours over Table I", *METHODS)
    _row(*["---"] * (1 + len(METHODS)))
    ratios = {
        name: [
            float(np.mean(seed_areas(losses, method_on(method, name), name))) / published
            for method, published in zip(METHODS, areas, strict=True)
        ]
        for name, areas in PUBLISHED.items()
    }
    for name, beside in ratios.items():
        _row(name, *(f"{value:.2f}" for value in beside))
    _row(
        "geometric mean", *(f"{geometric_mean(v):.2f}" for v in zip(*ratios.values(), strict=True))
    )


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def _cell(losses: Losses, method: str, table: str) -> str:
    areas = seed_areas(losses, method, table)
    return f"{np.mean(areas):.4g} ± {np.std(areas, ddof=1) / math.sqrt(len(areas)):.1g}"


def _gain(losses: Losses, rival: str, table: str) -> float:
    """Return by what part a rival's area is smaller, or 0 if that is not certain."""
    ours, theirs = (seed_areas(losses, method, table) for method in (FLAGSHIP, rival))
    both = min(len(ours), len(theirs))
    apart = ours[:both] - theirs[:both]
    error = np.std(apart, ddof=1) / math.sqrt(both)
    certain = np.mean(apart) > CERTAIN * error
    return float(np.mean(apart) / np.mean(ours[:both])) if certain else 0.0
