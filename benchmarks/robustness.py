"""Tables as people have them (`benchmarks/robust`): every method, every epsilon, without noise.

Half of the tables are held out: PrivateKMeans is fitted to them once, when designing is over.
"""

from __future__ import annotations

from collections import Counter

from benchmarks.figures.robustness import draw
from benchmarks.methods import code_of
from benchmarks.pieces import Piece, load, run
from benchmarks.rivals import FLAGSHIP, REFERENCE
from benchmarks.robust.fits import MAIN_EPSILON, measure, pieces
from benchmarks.robust.ratios import Fits
from benchmarks.robust.report import tell
from benchmarks.robust.tables import HELD_OUT
from benchmarks.third_party import prepare

QUICK_TABLES = ("few_rows_a", "few_rows_1000_a", "zero_rows_a")


def main(quick: bool, held_out: bool = False) -> None:
    """Make the fits that are missing; with `quick` only a few small ones, which are not kept."""
    if quick:
        for name in QUICK_TABLES:
            best = measure(Piece(REFERENCE, name, 0.0, 0)).loss
            found = measure(Piece(FLAGSHIP, name, MAIN_EPSILON, 0))
            warned = "warned" if found.warned else "not warned"
            print(f"{FLAGSHIP} {name} 1.0: {found.loss / best:.4f} of best-of-10 k-means, {warned}")
        return
    prepare()
    run("robustness", pieces(held_out), measure, code_of)
    report()


def report() -> bool:
    """Print tables and verdicts from what is kept, and return whether all targets are met."""
    results, wanted = load("robustness"), pieces(held_out=True)
    found = {piece: results[piece] for piece in wanted if piece in results}
    missing = [piece for piece in wanted if piece not in results]
    stale = sum(fit.code != code_of(piece.method) for piece, fit in found.items())
    print(f"{len(found)} of {len(wanted)} fits, {stale} of them by older code")
    halves = ("design", "held-out")
    lacking = Counter((piece.method, piece.dataset in HELD_OUT) for piece in missing)
    for method in dict.fromkeys(piece.method for piece in missing):
        parts = (f"{lacking[method, half]} {halves[half]}" for half in (False, True))
        print(f"missing of {method}: {', '.join(parts)}")
    fits = Fits(found, missing)
    draw(fits)
    return tell(fits)
