"""The thesis' three experiments: how many clusters are sought, how many columns and clusters exist.

100,000 rows of blobs, bounds -5 to 105 in every column. The thesis compares two implementations of
Balcan et al. with diffprivlib and k-means, at a delta of 0.1; here delta is N^-1.1.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.auc import Losses, losses_of, mean_loss
from benchmarks.figures import thesis as picture
from benchmarks.figures.style import PLACE, save
from benchmarks.methods import code_of, measure
from benchmarks.pieces import Piece, kept, run
from benchmarks.rivals import FLAGSHIP, MARKED, RIVALS
from benchmarks.third_party import prepare

SEEDS = 3
SINGLE = "k-means, one start"
METHODS = (FLAGSHIP, *RIVALS[1:], MARKED)
"""PEMeans would take minutes a fit."""
SOUGHT = {k: f"thesis_64_100_{k}" for k in (8, 16, 32, 64)}
COLUMNS = {d: f"thesis_32_{d}" for d in (5, 50, 500)}
EXISTING = {k: f"thesis_{k}_100" for k in (8, 16, 32, 64)}
EXPERIMENTS = (
    ("clusters sought, of 64", 1.0, SOUGHT),
    ("columns, 32 clusters", 0.5, COLUMNS),
    ("clusters that exist", 1.0, EXISTING),
)
"""What varies, epsilon, and the table of each value."""


def pieces() -> list[Piece]:
    """Return the fits of all experiments."""
    return [
        Piece(method, table, 0.0 if method == SINGLE else epsilon, seed)
        for seed in range(SEEDS)
        for _, epsilon, tables in EXPERIMENTS
        for table in tables.values()
        for method in (SINGLE, *METHODS)
    ]


def main(quick: bool) -> None:
    """Make the fits that are missing; with `quick` one small one, which is not kept."""
    if quick:
        loss = measure(Piece(FLAGSHIP, "thesis_32_5", 0.5, 0)).loss
        print(f"{FLAGSHIP} on 32 clusters in 5 columns: {loss:.5f}")
        return
    prepare()
    run("thesis", pieces(), measure, code_of)
    report()


def report() -> bool:
    """Print and draw what is kept."""
    results = kept("thesis", pieces(), code_of)
    if results is None:
        return False
    losses = losses_of(results)
    print_tables(losses)
    draw(losses)
    return True


def print_tables(losses: Losses) -> None:
    """Print losses over that of k-means with one start, a table for each experiment."""
    for what, epsilon, tables in EXPERIMENTS:
        print(f"| {what}, epsilon {epsilon:g} | {' | '.join(map(str, tables))} |")
        print("|---" * (1 + len(tables)) + "|")
        for method in METHODS:
            ratios = [
                mean_loss(losses, method, table, epsilon) / mean_loss(losses, SINGLE, table, 0.0)
                for table in tables.values()
            ]
            print(f"| {method} | {' | '.join(f'{ratio:.3f}' for ratio in ratios)} |")
        print()


def draw(losses: Losses, place: Path = PLACE) -> None:
    """Draw the three experiments beside each other."""
    save(partial(picture.draw, losses, EXPERIMENTS, METHODS, SINGLE), "thesis", place)
