"""Draw all figures of measurements from what is kept: ``python -m benchmarks figures``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from benchmarks import audit, federated, scale, speed, thesis, utility
from benchmarks.auc import Losses, losses_of, mean_loss
from benchmarks.data import dataset
from benchmarks.figures import card, steps
from benchmarks.figures import epsilon as slider
from benchmarks.figures import rivals as rival_figures
from benchmarks.figures import rows_needed as rows_figure
from benchmarks.figures.robustness import draw as draw_robustness
from benchmarks.figures.rows_needed import Cell
from benchmarks.figures.style import PLACE, save
from benchmarks.methods import EPSILONS
from benchmarks.pieces import load
from benchmarks.rivals import FLAGSHIP, REFERENCE, TABLES
from benchmarks.robust.fits import pieces
from benchmarks.robust.ratios import Fits, rows_per_cluster
from benchmarks.robust.tables import DELTA, DESIGN, HELD_OUT
from benchmarks.robust.tables import dataset as robust_table
from privclust.algorithms._enough_rows import rows_needed
from privclust.privacy.accounting import mu_of

LITERATURE, AS_PEOPLE_HAVE = rows_figure.SUITES


def redraw(place: Path = PLACE) -> None:
    """Draw every figure; nothing is measured."""
    rival_figures.draw(utility_losses(), place)
    draw_robustness(robust_fits(), place)
    save(partial(rows_figure.draw, list(cells())), "rows_needed", place)
    thesis.draw(losses_of(load("thesis")), place)
    federated.draw(federated.excess_of(load("federated")), place)
    speed.draw(place)
    scale.draw(place)
    audit.draw(place)
    steps.draw(place)
    card.draw(steps.frames()[-1], card.CARD if place == PLACE else place / card.CARD.name)
    if place == PLACE:
        slider.draw()


@cache
def utility_losses() -> Losses:
    """Return the losses of `utility`."""
    results = load("reproduce") | load("utility")
    return losses_of({piece: results[piece] for piece in utility.pieces()})


@cache
def robust_fits() -> Fits:
    """Return the fits of `robustness`."""
    results = load("robustness")
    found = {piece: results[piece] for piece in pieces(held_out=True) if piece in results}
    return Fits(found, [])


def cells() -> Iterator[Cell]:
    """Give the mean loss of PrivateKMeans on every table at every epsilon, by rows needed."""
    losses, fits = utility_losses(), robust_fits()
    for epsilon in EPSILONS:
        for name in TABLES:
            data = dataset(name)
            mu = mu_of(epsilon, data.delta or len(data.rows) ** -1.1)
            rows = len(data.rows) / data.n_clusters / rows_needed(data.rows.shape[1], mu)
            best = mean_loss(losses, REFERENCE, name, 0.0)
            yield Cell(rows, mean_loss(losses, FLAGSHIP, name, epsilon) / best, LITERATURE)
        for name in (*DESIGN, *HELD_OUT):
            ratio = fits.ratio(FLAGSHIP, name, epsilon)
            table = robust_table(name)
            mu = mu_of(epsilon, DELTA)
            needed = rows_needed(table.rows.shape[1], mu, table.max_rows_per_unit)
            if ratio is not None:
                yield Cell(rows_per_cluster(name) / needed, ratio.mean, AS_PEOPLE_HAVE)
