"""The paper's Table I again: PEMeans, 20 seeds, and HDPEMeans, 5, with the paper's settings.

The number of rows is typed and delta is N^-1.1, as in the paper. HDPEMeans stands beside Table I
and an independent re-run of its artefact with the noise corrected; it has no target.
"""

from __future__ import annotations

from benchmarks.auc import AREA, Losses, auc, losses_of, mean_loss
from benchmarks.methods import EPSILONS, code_of, measure
from benchmarks.pieces import Piece, kept, run

PE_TABLE_1 = {
    "iris": 0.2894,
    "adult": 0.0056,
    "letter": 0.2852,
    "gas": 0.1081,
    "sklearn_4_4": 0.0778,
    "sklearn_16_4": 0.0445,
    "sklearn_64_4": 0.0379,
    "sklearn_4_16": 0.0955,
    "sklearn_16_16": 0.0668,
    "sklearn_64_16": 0.1183,
}
HDPE_TABLE_1 = {
    "sklearn_16_64": (0.1189, 0.118),
    "sklearn_64_64": (0.4678, 0.604),
    "sklearn_16_128": (0.1562, 0.160),
    "sklearn_64_128": (0.7190, 1.060),
}
SEEDS = 20
HDPE_SEEDS = 5
WITHIN = 0.10
EXPLAINED: tuple[str, ...] = ()
"""Sets whose difference has a paragraph in docs/benchmarks.md."""


def pieces() -> list[Piece]:
    """Return the references, then the private fits, all sets before the next seed."""
    references = [
        Piece(method, name, 0.0, seed)
        for name in (*PE_TABLE_1, *HDPE_TABLE_1)
        for method, starts in (("k-means, best of 10", 1), ("k-means, one start", SEEDS))
        for seed in range(starts)
    ]
    pe = [("PEMeans", name, seed) for seed in range(SEEDS) for name in PE_TABLE_1]
    hdpe = [("HDPEMeans", name, seed) for seed in range(HDPE_SEEDS) for name in HDPE_TABLE_1]
    by_seed = sorted(pe + hdpe, key=lambda fit: fit[2])
    private = [Piece(m, name, epsilon, seed) for m, name, seed in by_seed for epsilon in EPSILONS]
    return references + private


def main(quick: bool) -> None:
    """Make the fits that are missing; with `quick` only a few small ones, which are not kept."""
    if quick:
        small = [Piece("PEMeans", "sklearn_4_4", epsilon, 0) for epsilon in (0.25, 1.0)]
        small.append(Piece("HDPEMeans", "sklearn_16_64", 0.25, 0))
        for piece in small:
            outcome = measure(piece)
            print(f"{piece.method} {piece.dataset} {piece.epsilon}: {outcome.loss:.4f}")
        return
    run("reproduce", pieces(), measure, code_of)
    report()


def report() -> bool:
    """Print the tables from what is kept, and return whether the target is met or explained."""
    results = kept("reproduce", pieces(), code_of)
    if results is None:
        return False
    losses = losses_of(results)
    met = _pe_table(losses)
    _hdpe_table(losses)
    reached = len(met)
    verdict = "PASS" if reached == len(PE_TABLE_1) else "EXPLAINED"
    if set(PE_TABLE_1) - met - set(EXPLAINED):
        verdict = "NOT MET"
    print(f"\nreproduce {reached} {len(PE_TABLE_1)} {verdict}")
    return verdict != "NOT MET"


def _pe_table(losses: Losses) -> set[str]:
    print("| set | best of 10 | one start | PEMeans | ± | Table I | ours / Table I | |")
    print("|---|---|---|---|---|---|---|---|")
    met = set()
    for name, published in PE_TABLE_1.items():
        ours, error = auc(losses, "PEMeans", name)
        close = abs(ours - published) <= max(WITHIN * published, 2 * error)
        if close:
            met.add(name)
        word = "ok" if close else "explained" if name in EXPLAINED else "NOT MET"
        best, single = _references(losses, name)
        print(
            f"| {name} | {best:.4f} | {single:.4f} | {ours:.4f} | {error:.4f} "
            f"| {published:.4f} | {ours / published:.3f} | {word} |"
        )
    return met


def _hdpe_table(losses: Losses) -> None:
    print("\n| set | best of 10 | HDPEMeans | ± | Table I, one noise a sum | re-run, corrected |")
    print("|---|---|---|---|---|---|")
    for name, (published, corrected) in HDPE_TABLE_1.items():
        ours, error = auc(losses, "HDPEMeans", name)
        best, _ = _references(losses, name)
        print(
            f"| {name} | {best:.4f} | {ours:.4f} | {error:.4f} | {published:.4f} "
            f"| {corrected:.3f} |"
        )


def _references(losses: Losses, name: str) -> tuple[float, float]:
    """Return the AUC of a loss that does not depend on epsilon: best of 10, and mean of one."""
    best, single = (
        mean_loss(losses, method, name, 0.0) * AREA
        for method in ("k-means, best of 10", "k-means, one start")
    )
    return best, single
