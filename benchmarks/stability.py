"""Whether the stability that a fit predicts is that of fits: the bar is 0.1 on held-out settings.

For each setting of `stability_tables`, six private fits with noise and public choices of their own.
Measured is the adjusted Rand index between their labels of all rows, on average over 15 pairs, for
the number of clusters that was fitted and for refits with about half and one and a half times as
many. Predicted is what each fit says of itself, without a row. The same fits show whether the
losses of `k_path` are those of the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.data import loss
from benchmarks.digest import code_digest, definitions_of
from benchmarks.methods import METHODS
from benchmarks.pieces import Piece, load, run
from benchmarks.stability_tables import HELD_OUT, TUNING, Setting, table
from privclust import PrivateKMeans
from privclust.models._refit_points import refit_cells

FITS, TARGET = 6, 0.1
METHOD = "PrivateKMeans"
TUNED_ON = "29bbff11b201"
"""The digest of the algorithm whose fits `CELL_SHARE` and `STARTS` were chosen on."""


@dataclass(frozen=True)
class Compared:
    """What the fits of one setting gave, for each number of clusters.

    Attributes
    ----------
    clusters : list of int
        The numbers of clusters.
    measured : list of float
        Mean index between fits.
    predicted : list of list of float
        The index that each fit predicts.
    losses, path_losses, path_errors : list of list of float
        Of each fit: loss of its centres on the rows, the loss that `k_path` has, and twice its
        standard error.
    code : str
        The digest of the code that gave this.
    """

    clusters: list[int]
    measured: list[float]
    predicted: list[list[float]]
    losses: list[list[float]]
    path_losses: list[list[float]]
    path_errors: list[list[float]]
    code: str


def pieces(settings: Iterable[Setting] = (*TUNING, *HELD_OUT)) -> list[Piece]:
    """Return one piece for each setting, which is known by its table."""
    return [Piece(METHOD, one.table, one.epsilon, one.n_clusters) for one in settings]


def code_of(method: str) -> str:
    """Return the digest of the code that fits, refits and predicts."""
    modules = ("_batched_kmeans", "_refit_points", "k_path", "stability")
    more = [item for name in modules for item in definitions_of(f"privclust.models.{name}")]
    return code_digest(*METHODS[method].algorithms, more=tuple(more))


def measure(piece: Piece) -> Compared:
    """Make the fits of one setting, and compare what they predict with what they do."""
    rows, setting = table(piece.dataset), Setting(piece.dataset, piece.seed, piece.epsilon)
    fits = [fit(rows, setting, seed) for seed in range(FITS)]
    most = min(int(np.count_nonzero(refit_cells(fit.model_).weights)) for fit in fits)
    asked = [k for k in setting.asked if k <= most]
    refits = [[fit.refit(k) for fit in fits] for k in asked]
    every = [fit.k_path().choices for fit in fits]
    paths = [[path[k - 1] for path in every] for k in asked]
    return Compared(
        asked,
        [_index([one.predict(rows) for one in some]) for some in refits],
        [[choice.stability for choice in some] for some in paths],
        [[loss(rows, one.cluster_centers_) for one in some] for some in refits],
        [[choice.loss for choice in some] for some in paths],
        [[2 * choice.stderr for choice in some] for some in paths],
        code_of(piece.method),
    )


def main(quick: bool) -> None:
    """Measure the settings that are missing; with `quick` one of them, which is not kept."""
    if quick:
        (piece,) = pieces([Setting("five blobs apart", 5, 1.0)])
        _print_setting(piece, measure(piece))
        return
    run("stability", pieces(), measure, code_of, kind=Compared)
    report()


def report() -> bool:
    """Print what is kept, and return whether the target is met on the held-out settings."""
    results = load("stability", Compared)
    current = sum(results[piece].code == code_of(METHOD) for piece in pieces() if piece in results)
    algorithm = code_digest(*METHODS[METHOD].algorithms)
    same = "the same" if algorithm == TUNED_ON else "another one than"
    print(f"{current} of {len(pieces())} settings by today's code; its algorithm is {same} that")
    print(f"constants were chosen on ({TUNED_ON}).\n")
    print("| setting | epsilon | clusters fitted | clusters | measured | predicted by six fits |")
    print("|---|---|---|---|---|---|")
    for piece in pieces():
        if piece in results:
            _print_setting(piece, results[piece])
    for name, settings in (("tuning", TUNING), ("held out", HELD_OUT)):
        met = _summary(name, [(one, results[one]) for one in pieces(settings) if one in results])
    return met


def fit(rows: Any, setting: Setting, seed: int) -> PrivateKMeans:
    """Fit the rows of a setting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that clusters will hardly be found, on hard settings
        return PrivateKMeans(
            setting.n_clusters,
            epsilon=setting.epsilon,
            delta=1e-6,
            radius=1.0,
            random_state=seed,
        ).fit(rows)


def _index(labels: Sequence[Any]) -> float:
    return float(np.mean([adjusted_rand_score(*pair) for pair in combinations(labels, 2)]))


def _print_setting(piece: Piece, found: Compared) -> None:
    for k, measured, predicted in zip(found.clusters, found.measured, found.predicted, strict=True):
        print(
            f"| {piece.dataset} | {piece.epsilon:g} | {piece.seed} | {k} | {measured:.3f} "
            f"| {np.mean(predicted):.3f} ({min(predicted):.3f} to {max(predicted):.3f}) |"
        )


def _summary(name: str, results: list[tuple[Piece, Compared]]) -> bool:
    """Print how far predictions are off, for the number that was fitted and for others."""
    met = True
    for what, own in (("clusters as fitted", True), ("other numbers", False)):
        cases = [
            (measured, np.array(predicted))
            for piece, found in results
            for k, measured, predicted in zip(
                found.clusters, found.measured, found.predicted, strict=True
            )
            if (k == piece.seed) is own
        ]
        off = np.array([np.abs(predicted - measured).mean() for measured, predicted in cases])
        mean_off = np.array([abs(predicted.mean() - measured) for measured, predicted in cases])
        single = np.mean([np.abs(predicted - measured) <= TARGET for measured, predicted in cases])
        related = np.corrcoef([one for one, _ in cases], [two.mean() for _, two in cases])[0, 1]
        bias = np.mean([predicted.mean() - measured for measured, predicted in cases])
        met &= bool(off.mean() <= TARGET)
        print(
            f"{name}, {what}: off by {off.mean():.3f} {TARGET} "
            f"{'PASS' if off.mean() <= TARGET else 'NOT MET'}; {len(cases)} settings, "
            f"{(mean_off <= TARGET).mean():.0%} of them and {single:.0%} of fits within {TARGET}; "
            f"bias {bias:+.3f}, correlation {related:.2f}"
        )
    found, said, errors = (
        np.concatenate([np.concatenate(getattr(one, part)) for _, one in results])
        for part in ("losses", "path_losses", "path_errors")
    )
    low, middle, high = np.quantile(said / found, [0.05, 0.5, 0.95])
    covered = float(np.mean(np.abs(said - found) <= errors))
    print(
        f"{name}: losses of k_path over those of the rows {middle:.2f} ({low:.2f} to {high:.2f} in "
        f"90 %); {covered:.0%} within two standard errors"
    )
    return met
