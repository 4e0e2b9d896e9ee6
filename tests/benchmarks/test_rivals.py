"""The comparison counts as it says: means over seeds, and rivals that are better for certain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import rivals, thesis
from benchmarks.auc import AREA, losses_of, seed_areas
from benchmarks.data import dataset, within
from benchmarks.figures import rivals as figures
from benchmarks.methods import METHODS
from benchmarks.pieces import Outcome, Piece, Results
from benchmarks.rivals import FLAGSHIP, REFERENCE, RIVALS, TABLES, method_on


def results(noise: float = 0.0, better: dict[tuple[str, str], float] | None = None) -> Results:
    """Return fits that all have a loss of 2, k-means 1, but for some that are better, or vary."""
    rng = np.random.default_rng(0)
    made = {}
    for piece in rivals.pieces():
        loss = 1.0 if piece.method == REFERENCE else 2.0
        if (piece.method, piece.dataset) in (better or {}):
            loss += noise * rng.normal() - (better or {})[piece.method, piece.dataset]
        made[piece] = Outcome(loss, 0.0, "")
    return made


def test_areas_are_those_of_seeds_in_their_order() -> None:
    losses = losses_of(
        {
            Piece("PEMeans", "iris", epsilon, seed): Outcome(1.0 + seed, 0.0, "")
            for seed in (2, 0, 1)
            for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0)
        }
    )
    assert seed_areas(losses, "PEMeans", "iris").tolist() == [AREA, 2 * AREA, 3 * AREA]


def test_the_papers_own_methods_share_one_column() -> None:
    assert method_on("PEMeans", "iris") == "PEMeans"
    assert method_on("PEMeans", "scale_4_64") == method_on("PEMeans", "mnist") == "HDPEMeans"
    assert method_on(FLAGSHIP, "mnist") == FLAGSHIP


def test_every_method_meets_every_table_with_seeds_enough() -> None:
    pieces = rivals.pieces()
    assert {piece.method for piece in pieces} <= set(METHODS)
    for name in TABLES:
        for method in (FLAGSHIP, *RIVALS):
            played = method_on(method, name)
            seeds = {p.seed for p in pieces if (p.method, p.dataset) == (played, name)}
            assert len(seeds) == (3 if (played, name) in rivals.SLOW else 10)


@pytest.mark.parametrize(
    ("gain", "noise", "lost"),
    [(0.0, 0.0, 0), (0.03, 0.0, 0), (0.05, 0.0, 1), (0.05, 1.0, 0), (-0.5, 0.0, 0)],
)
def test_a_rival_is_better_by_more_than_two_percent_and_for_certain(
    gain: float, noise: float, lost: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a loss of 2, so 0.03 is 1.5 percent."""
    losses = losses_of(results(noise, {("LSHCoreset", "gas"): gain}))
    assert rivals.report(losses) == (lost == 0)
    printed = capsys.readouterr().out
    assert f"tables on which a rival is better {lost} 0" in printed
    assert ("LSHCoreset on gas" in printed) == (lost == 1)


def test_a_line_for_each_method(capsys: pytest.CaptureFixture[str]) -> None:
    rivals.report(losses_of(results(0.0, {(FLAGSHIP, name): 1.0 for name in TABLES})))
    lines = capsys.readouterr().out.splitlines()
    assert f"| {FLAGSHIP} | 1.000 | 1.000 | 1.000 | {len(TABLES)} | 1.00 |" in lines
    assert "| DPLloyd | 2.000 | 2.000 | 2.000 | 0 | 2.00 |" in lines


def test_all_pictures_can_be_drawn(tmp_path: Path) -> None:
    figures.draw(losses_of(results()), tmp_path)
    made = {piece: Outcome(1.0 + piece.seed, 0.0, "") for piece in thesis.pieces()}
    thesis.draw(losses_of(made), tmp_path)
    names = ("headline", "rivals_real", "rivals_k", "rivals_all", "thesis")
    files = {f"{name}{ground}.svg" for name in names for ground in ("", "-dark")}
    assert {file.name for file in tmp_path.iterdir()} == files


def test_bounds_become_a_box_in_the_unit_ball() -> None:
    rows = np.array([[0.0, 10.0], [4.0, 30.0], [9.0, 20.0]])
    scaled = within(rows, np.array([0.0, 10.0]), np.array([4.0, 30.0]))
    root = np.sqrt(0.5)
    assert scaled == pytest.approx(np.array([[-root, -root], [root, root], [root, 0.0]]))


def test_the_thesis_tables_have_the_clusters_that_are_sought() -> None:
    data = dataset("thesis_8_5_3")
    assert data.rows.shape == (100_000, 5)
    assert data.n_clusters == 3
    assert np.abs(data.rows).max() <= data.half_width
