"""PrivateKMeans beside k-means, what was published, loose bounds and a typed number of rows.

The paper's protocol, but for the number of rows, which stays private. Defaults were chosen while
looking at the sets of `CHOSEN_ON`; the others were left for the report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from benchmarks.auc import auc, mean_loss
from benchmarks.data import EVERY_SET
from benchmarks.methods import EPSILONS, code_of, measure
from benchmarks.pieces import Piece, Results, kept, load, run
from benchmarks.reproduce import HDPE_TABLE_1, PE_TABLE_1

SEEDS = 10
SMALL_SETS = ("iris", *(name for name in EVERY_SET if name.startswith("g2_")))
SEEDS_OF_SMALL_SETS = 40
"""Below 3,000 rows fits vary most and cost least; iris, with 150, most of all."""
SIDE_SEEDS, OLDER_SEEDS = 2, 1
BAR = 1.05
FLAGSHIP = "PrivateKMeans"
REFERENCE = "k-means, best of 10"
BOUNDS = ("PrivateKMeans, tight box", "PrivateKMeans, 10 times", "PrivateKMeans, 100 times")
TYPED = "PrivateKMeans, N typed"
HIGH = ("_64", "_128", "mnist")
"""How sets of many columns end: HDPEMeans is for these, PEMeans for the rest."""
CHOSEN_ON = (
    "iris",
    "adult",
    "letter",
    "gas",
    "scale_16_4",
    "scale_16_64",
    "scale_64_4",
    "scale_64_16",
    "scale_64_64",
    "sklearn_16_128",
    "sklearn_64_4",
    "sklearn_64_16",
    "sklearn_64_64",
    "sklearn_64_128",
)
PUBLISHED = {
    "iris": 0.2894,
    "adult": 0.0056,
    "letter": 0.2852,
    "gas": 0.1081,
    "sklearn_4_4": 0.0778,
    "sklearn_4_16": 0.0955,
    "sklearn_4_64": 0.0974,
    "sklearn_4_128": 0.1097,
    "sklearn_16_4": 0.0445,
    "sklearn_16_16": 0.0668,
    "sklearn_16_64": 0.1189,
    "sklearn_16_128": 0.1562,
    "sklearn_64_4": 0.0379,
    "sklearn_64_16": 0.1183,
    "sklearn_64_64": 0.3070,
    "sklearn_64_128": 0.5740,
}
"""The best of PE-means, HDPE-means and all baselines in the paper's Table I."""


def pieces() -> list[Piece]:
    """Return the references, the flagship's fits, the variants', then the older algorithms'."""
    references = [Piece(REFERENCE, name, 0.0, 0) for name in EVERY_SET]
    main = [(FLAGSHIP, name, seed) for seed in range(SEEDS) for name in EVERY_SET]
    small = [
        (FLAGSHIP, name, seed) for seed in range(SEEDS, SEEDS_OF_SMALL_SETS) for name in SMALL_SETS
    ]
    sides = [
        (method, name, seed)
        for name in EVERY_SET
        for seed in range(SEEDS_OF_SMALL_SETS if name == "iris" else SIDE_SEEDS)
        for method in (*BOUNDS, TYPED)
    ]
    older = [
        (_older(name), name, seed)
        for seed in range(OLDER_SEEDS)
        for name in EVERY_SET
        if name not in (*PE_TABLE_1, *HDPE_TABLE_1)
    ]
    return references + [
        Piece(method, name, epsilon, seed)
        for method, name, seed in (*main, *small, *sides, *older)
        for epsilon in EPSILONS
    ]


def main(quick: bool) -> None:
    """Make the fits that are missing; with `quick` only a few small ones, which are not kept."""
    if quick:
        for name in ("sklearn_4_4", "sklearn_16_16", "sklearn_16_64"):
            found = measure(Piece(FLAGSHIP, name, 1.0, 0)).loss
            best = measure(Piece(REFERENCE, name, 0.0, 0)).loss
            print(f"{FLAGSHIP} {name} 1.0: {found / best:.4f} of best-of-10 k-means")
        return
    run("utility", pieces(), measure, code_of)
    report()


def report() -> bool:
    """Print the tables from what is kept, and return whether all bars are met."""
    results = kept("utility", pieces(), code_of)
    if results is None:
        return False
    _table(results)
    ratios = {name: _ratio(results, FLAGSHIP, name) for name in EVERY_SET}
    held_out = [ratio for name, ratio in ratios.items() if name not in CHOSEN_ON]
    print(f"\nheld-out sets: geometric mean {_geometric_mean(held_out):.4f} of {len(held_out)}")
    for epsilon in (0.25, 1.0):
        at = [
            mean_loss(results, FLAGSHIP, name, epsilon) / mean_loss(results, REFERENCE, name, 0.0)
            for name in EVERY_SET
        ]
        print(f"loss at epsilon {epsilon}: geometric mean {_geometric_mean(at):.4f}")
    whole = {
        method: _geometric_mean(_ratio(results, method, name) for name in EVERY_SET)
        for method in (*BOUNDS, TYPED)
    }
    overall = _geometric_mean(ratios.values())
    results = load("reproduce") | results
    worse = sum(_ratio(results, _older(name), name) < ratios[name] for name in EVERY_SET)
    met = [
        _judge("sets on which PEMeans or HDPEMeans is better", worse, 0),
        _judge("bounds 10 times too wide, over tight", whole[BOUNDS[1]] / whole[BOUNDS[0]], 1.05),
        _judge("bounds 100 times too wide, over tight", whole[BOUNDS[2]] / whole[BOUNDS[0]], 1.15),
        _judge("number of rows private, over typed", overall / whole[TYPED], 1.01),
        _judge("utility", overall, BAR),
    ]
    return all(met)


def _judge(what: str, value: float, bar: float) -> bool:
    print(f"{what} {value:.4f} {bar} {'PASS' if value <= bar else 'MISS'}")
    return value <= bar


def _table(results: Results) -> None:
    losses = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    older = load("reproduce") | results
    print(f"| set | AUC, best of 10 | {FLAGSHIP} | ± | ratio | older | published | {losses} |")
    print("|---" * (7 + len(EPSILONS)) + "|")
    for name in EVERY_SET:
        ours, error = auc(results, FLAGSHIP, name)
        best = mean_loss(results, REFERENCE, name, 0.0)
        by_epsilon = " | ".join(
            f"{mean_loss(results, FLAGSHIP, name, epsilon) / best:.3f}" for epsilon in EPSILONS
        )
        published = f"{PUBLISHED[name]:.4f}" if name in PUBLISHED else ""
        width = EPSILONS[-1] - EPSILONS[0]
        print(
            f"| {name} | {best * width:.4f} | {ours:.4f} | {error:.4f} "
            f"| {_ratio(results, FLAGSHIP, name):.3f} | {_ratio(older, _older(name), name):.3f} "
            f"| {published} | {by_epsilon} |"
        )


def _older(name: str) -> str:
    """Return the paper's algorithm for a set."""
    return "HDPEMeans" if name.endswith(HIGH) else "PEMeans"


def _ratio(results: Results, method: str, name: str) -> float:
    """Return the area under a method's losses over that of k-means, best of 10."""
    width = EPSILONS[-1] - EPSILONS[0]
    return auc(results, method, name)[0] / (mean_loss(results, REFERENCE, name, 0.0) * width)


def _geometric_mean(ratios: Iterable[float]) -> float:
    return math.exp(float(np.mean([math.log(ratio) for ratio in ratios])))
