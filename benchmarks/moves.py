"""Whether `compare` says that clusters moved where none did, and sees where they did.

For each setting of `stability_tables`, four private fits of the same rows with noise and public
choices of their own, every two of them compared; and each with a fit of rows that all lie half a
standard deviation of their first column farther along it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks.digest import code_digest, definitions_of
from benchmarks.methods import METHODS
from benchmarks.pieces import Piece, load, run
from benchmarks.stability import METHOD, fit, pieces
from benchmarks.stability_tables import HELD_OUT, TUNING, Setting, table
from privclust import compare
from privclust.models._soft_borders import STEADY
from privclust.models.cluster_model import ClusterModel
from privclust.models.compare import CHANCE, moved, shift_statistics
from privclust.models.stability import stability_of

FITS, SHIFT, SHRUNK = 4, 0.5, 0.8


@dataclass(frozen=True)
class Moves:
    """What comparisons within one setting said.

    Attributes
    ----------
    stability : float
        The lowest that a fit of the rows predicts.
    moved, without_borders : list of int
        Of each two fits of the same rows, how many clusters are said to have moved, and how many
        if borders are taken to be fixed.
    found, found_without_borders : list of int
        The same of a fit of the rows and one of the shifted rows: all clusters moved.
    code : str
        The digest of the code that gave this.
    """

    stability: float
    moved: list[int]
    without_borders: list[int]
    found: list[int]
    found_without_borders: list[int]
    code: str


def code_of(method: str) -> str:
    """Return the digest of the code that fits and compares."""
    modules = ("_batched_kmeans", "_refit_points", "_soft_borders", "compare", "stability")
    more = [item for name in modules for item in definitions_of(f"privclust.models.{name}")]
    return code_digest(*METHODS[method].algorithms, more=tuple(more))


def measure(piece: Piece) -> Moves:
    """Make the fits of one setting, and compare them."""
    rows, setting = SHRUNK * table(piece.dataset), Setting(piece.dataset, piece.seed, piece.epsilon)
    shifted = rows.copy()
    shifted[:, 0] += SHIFT * rows[:, 0].std()
    models = [fit(rows, setting, seed).model_ for seed in range(FITS)]
    later = fit(shifted, setting, FITS).model_
    same, other = list(combinations(models, 2)), [(model, later) for model in models]
    return Moves(
        min(stability_of(model, len(model.cluster_centers)) for model in models),
        [_moved(*pair) for pair in same],
        [_moved_without_borders(*pair) for pair in same],
        [_moved(*pair) for pair in other],
        [_moved_without_borders(*pair) for pair in other],
        code_of(piece.method),
    )


def main(quick: bool) -> None:
    """Measure the settings that are missing; with `quick` one of them, which is not kept."""
    if quick:
        print(measure(*pieces([Setting("five blobs apart", 5, 1.0)])))
        return
    run("moves", pieces(), measure, code_of, kind=Moves)
    report()


def report() -> bool:
    """Print what is kept, and return whether no cluster is said to have moved that did not."""
    results = load("moves", Moves)
    stale = sum(found.code != code_of(METHOD) for found in results.values())
    print(f"{len(results)} of {len(pieces())} settings, {stale} of them by older code\n")
    print("| setting | k | stability | moved, of the same rows | if borders were fixed ", end="")
    print("| found, of shifted rows | if borders were fixed |\n" + "|---" * 7 + "|")
    for piece in pieces():
        if piece in results:
            found = results[piece]
            counts = (found.moved, found.without_borders, found.found, found.found_without_borders)
            cells = [f"{np.mean(count) / piece.seed:.0%}" for count in counts]
            named = [piece.dataset, str(piece.seed), f"{found.stability:.2f}", *cells]
            print(f"| {' | '.join(named)} |")
    tuned = _summary("tuning", TUNING, results)
    return _summary("held out", HELD_OUT, results) and tuned


def _summary(name: str, settings: Iterable[Setting], results: dict[Piece, Moves]) -> bool:
    """Print how many comparisons say wrongly that something moved, and what shifts are found."""
    known = [results[piece] for piece in pieces(settings) if piece in results]
    for kind, kept in (("steady", True), ("soft", False)):
        chosen = [found for found in known if (found.stability >= STEADY) is kept]
        false = [count > 0 for found in chosen for count in found.moved]
        fixed = [count > 0 for found in chosen for count in found.without_borders]
        power = [count > 0 for found in chosen for count in found.found]
        print(
            f"{name}, {kind}, {len(chosen)} settings: {sum(false)} of {len(false)} comparisons of "
            f"the same rows say that something moved, {sum(fixed)} if borders were fixed; "
            f"{sum(power)} of {len(power)} see the shift"
        )
    return not any(count for found in known for count in found.moved)


def _moved(before: ClusterModel, after: ClusterModel) -> int:
    return int(compare(before, after).moved.sum())


def _moved_without_borders(before: ClusterModel, after: ClusterModel) -> int:
    one, other = compare(before, after).pairs.T
    statistics = shift_statistics(before, after, one, other, (None, None))
    return int(moved(before, after, one, other, statistics, CHANCE / len(one)).sum())
