"""Do the losses that PrivateKMeans reports hold? Two standard errors should in 95 of 100 fits.

The truth about a loss is the mean squared distance of the rows to the released centres, about a
capped one that with the same cap, and about a far share the part of the loss that rows beyond the
cap have. Five tables, one of which has mostly equal rows; real noise.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks import data, pieces
from benchmarks.data import Dataset
from benchmarks.methods import code_of
from benchmarks.pieces import Piece
from privclust import PrivateKMeans
from privclust.kernels.grid import FloatArray

METHOD = "PrivateKMeans"
ZERO_INFLATED = "zero_inflated"
TABLES = ("adult", "credit", "sklearn_16_16", "uber_pickups", ZERO_INFLATED)
QUICK_TABLES = ("sklearn_16_16", ZERO_INFLATED)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SEEDS = 50
DELTA = 1e-6
LOWEST, HIGHEST = 0.93, 0.97


@dataclass(frozen=True)
class Figures:
    """What a fit said of its loss beside what is true; NaN where it said nothing."""

    cpu_seconds: float
    code: str
    capped_loss: float = math.nan
    capped_loss_stderr: float = math.nan
    true_capped_loss: float = math.nan
    loss: float = math.nan
    loss_stderr: float = math.nan
    true_loss: float = math.nan
    far_share: float = math.nan
    far_share_stderr: float = math.nan
    true_far_share: float = math.nan


def main(quick: bool) -> None:
    """Make the fits that are missing, then print; with `quick` a few, which are not kept."""
    if quick:
        made = [Piece(METHOD, name, 1.0, seed) for name in QUICK_TABLES for seed in range(2)]
        _print_tables({piece: measure(piece) for piece in made})
        return
    pieces.run("quality", wanted(), measure, code_of, kind=Figures)
    report()


def report() -> bool:
    """Print from what is kept, and return whether all targets are met."""
    known = pieces.load("quality", Figures)
    found = {piece: known[piece] for piece in wanted() if piece in known}
    stale = sum(figures.code != code_of(METHOD) for figures in found.values())
    print(f"{len(found)} of {len(wanted())} fits, {stale} of them by older code\n")
    if not found:
        return False
    _print_tables(found)
    met = len(found) == len(wanted())
    for what in ("capped_loss", "loss"):
        rate = _coverage(found, what)
        good = LOWEST <= rate <= HIGHEST
        print(f"quality {what} {rate:.3f} {LOWEST}-{HIGHEST} {'PASS' if good else 'NOT MET'}")
        met &= good
    return met


def wanted() -> list[Piece]:
    """Return 1,000 fits, those of all tables with one seed before those with the next."""
    return [
        Piece(METHOD, name, epsilon, seed)
        for seed in range(SEEDS)
        for epsilon in EPSILONS
        for name in TABLES
    ]


def measure(piece: Piece) -> Figures:
    """Fit once, and compare what the model says of its loss with the rows."""
    given = table(piece.dataset)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that clusters are hard to find is not the matter here
        model = PrivateKMeans(
            given.n_clusters,
            epsilon=piece.epsilon,
            delta=DELTA,
            radius=1.0,
            random_state=piece.seed,
        ).fit(given.rows)
    seconds = time.process_time() - started
    said = model.model_.quality
    if said is None:
        return Figures(seconds, code_of(METHOD))
    squares = _squares(given.rows, model.cluster_centers_)
    far = squares[squares > said.cap**2].sum() / squares.sum()
    share = (math.nan, math.nan)
    if said.far_share is not None and said.far_share_stderr is not None:
        share = (said.far_share, said.far_share_stderr)
    return Figures(
        seconds,
        code_of(METHOD),
        said.capped_loss,
        said.capped_loss_stderr,
        float(np.minimum(squares, said.cap**2).mean()),
        said.loss,
        said.loss_stderr,
        float(squares.mean()),
        *share,
        float(far),
    )


@cache
def table(name: str) -> Dataset:
    """Return a table of the benchmark, or the one of which 95 % of rows are equal."""
    if name != ZERO_INFLATED:
        return data.dataset(name)
    rng = np.random.default_rng(5)
    centers = rng.uniform(-0.5, 0.5, (7, 4))
    rows = centers[rng.integers(0, 7, 20_000)] + rng.normal(0.0, 0.04, (20_000, 4))
    rows[rng.random(len(rows)) < 0.95] = 0.1
    return Dataset(name, rows, 8, 1.0)


def _squares(rows: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the squared distance of each row to its nearest centre, a centre at a time."""
    squares = np.full(len(rows), np.inf)
    for center in centers:
        squares = np.minimum(squares, ((rows - center) ** 2).sum(axis=1))
    return squares


def _coverage(found: dict[Piece, Figures], what: str) -> float:
    """Return in which part of the fits that report a loss two standard errors hold the truth."""
    held = [
        abs(getattr(one, what) - getattr(one, f"true_{what}")) <= 2 * getattr(one, f"{what}_stderr")
        for one in found.values()
        if not math.isnan(one.loss)
    ]
    return float(np.mean(held)) if held else math.nan


def _print_tables(found: dict[Piece, Figures]) -> None:
    print(
        "| table | epsilon | fits | silent | capped: held | error | uncapped: held | error "
        "| far share given | mean | true mean | not above the truth |"
    )
    print("|---" * 12 + "|")
    for name in TABLES:
        for epsilon in EPSILONS:
            some = {
                piece: one
                for piece, one in found.items()
                if (piece.dataset, piece.epsilon) == (name, epsilon)
            }
            if some:
                print(f"| {name} | {epsilon:g} | {_line(some)} |")


def _line(found: dict[Piece, Figures]) -> str:
    said = [one for one in found.values() if not math.isnan(one.loss)]
    shares = [one for one in said if not math.isnan(one.far_share)]
    errors = [
        np.median([getattr(one, f"{what}_stderr") / getattr(one, f"true_{what}") for one in said])
        if said
        else math.nan
        for what in ("capped_loss", "loss")
    ]
    cells = [
        f"{len(found)}",
        f"{len(found) - len(said)}",
        f"{_coverage(found, 'capped_loss'):.3f}",
        f"{errors[0]:.1%}",
        f"{_coverage(found, 'loss'):.3f}",
        f"{errors[1]:.1%}",
        f"{len(shares)}",
        *(
            f"{np.mean([getattr(one, what) for one in shares]):.2f}" if shares else ""
            for what in ("far_share", "true_far_share")
        ),
        f"{np.mean([_is_cautious(one) for one in shares]):.3f}" if shares else "",
    ]
    return " | ".join(cells)


def _is_cautious(one: Figures) -> bool:
    return one.far_share - 2 * one.far_share_stderr <= one.true_far_share
