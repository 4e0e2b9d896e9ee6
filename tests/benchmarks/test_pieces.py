"""Long measurements resume where they stopped, and stale figures are made anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import pieces
from benchmarks.auc import auc, losses_of
from benchmarks.digest import PACKAGE, code_digest
from benchmarks.methods import EPSILONS
from benchmarks.pieces import Outcome, Piece

PIECES = [Piece("PEMeans", "iris", epsilon, seed) for seed in (0, 1) for epsilon in EPSILONS]


def measure(piece: Piece) -> Outcome:
    return Outcome(loss=piece.epsilon + piece.seed, cpu_seconds=0.0, code="new")


def refuse(piece: Piece) -> Outcome:
    raise AssertionError("measured again")


def code_of(method: str) -> str:
    return "new"


@pytest.fixture(autouse=True)
def own_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "RESULTS", tmp_path)


def test_pieces_are_kept_and_not_measured_again() -> None:
    first = pieces.run("try", PIECES, measure, code_of)
    assert pieces.load("try") == first
    assert pieces.run("try", PIECES, refuse, code_of) == first


def test_stale_and_missing_pieces_are_measured() -> None:
    old = {PIECES[0]: Outcome(9.0, 0.0, "old"), PIECES[1]: Outcome(8.0, 0.0, "new")}
    pieces.save("try", old)
    found = pieces.run("try", PIECES, measure, code_of)
    assert found[PIECES[0]].loss == 0.25
    assert found[PIECES[1]].loss == 8.0
    assert len(found) == len(PIECES)


def test_the_area_is_a_trapezoid_with_its_standard_error() -> None:
    results = {piece: Outcome(2.0 + 2 * piece.seed, 0.0, "new") for piece in PIECES}
    area, error = auc(losses_of(results), "PEMeans", "iris")
    assert area == pytest.approx(3.75 * 3.0)
    # Each mean of 2 and 4 has a standard error of 1; weights .125 .375 .75 1.5 1.
    assert error == pytest.approx((0.125**2 + 0.375**2 + 0.75**2 + 1.5**2 + 1.0**2) ** 0.5)


def digest_with(place: Path, algorithm: str, file: str, before: str, after: str) -> str:
    """Return an algorithm's digest in a copy of the package with one text replaced."""
    package = place / "privclust"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = package / file
    text = source.read_text()
    assert before in text
    source.write_text(text.replace(before, after, 1))
    return code_digest(algorithm, package=package)


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("algorithms/pe_means.py", "from __future__", "# why\nfrom __future__"),
        ("algorithms/_packing.py", "Draw points of the unit ball", "Draw other words"),
        ("algorithms/_distances.py", "quantile(0.4)", "quantile(0.5)"),
        ("algorithms/_locate.py", "LOCATE_STEPS = 8", "LOCATE_STEPS = 9"),
        ("queries/clusters.py", "class DistanceHistogram:", "class Renamed:"),
        ("queries/base.py", "def one_hot(", "def new() -> int:\n    return 7\n\n\ndef one_hot("),
    ],
)
def test_texts_and_what_an_algorithm_does_not_use_make_no_figure_stale(
    tmp_path: Path, file: str, before: str, after: str
) -> None:
    assert digest_with(tmp_path, "pe_means", file, before, after) == code_digest("pe_means")


@pytest.mark.parametrize(
    ("algorithm", "file", "before", "after"),
    [
        ("pe_means", "algorithms/_packing.py", "_PATIENCE = 100", "_PATIENCE = 101"),
        ("pe_means", "algorithms/_packing.py", "proximity = 0.5", "proximity = 0.25"),
        ("pe_means", "kernels/grid.py", "GRID = 2**25", "GRID = 2**24"),
        ("pe_means", "kernels/nearest.py", "np.ones(len(rows))", "np.zeros(len(rows))"),
        ("pe_means", "privacy/plan.py", "middle - 1", "middle - 2"),
        ("hdpe_means", "algorithms/pe_means.py", " + ", " - "),
        ("fast_lloyd", "queries/nearby.py", "radius * GRID", "radius * 2 * GRID"),
        ("fast_lloyd", "algorithms/_box_packing.py", "proximity /= 2", "proximity /= 3"),
        ("lsh_coreset", "queries/cells.py", "NOWHERE = -1", "NOWHERE = -2"),
        ("private_kmeans", "algorithms/_locate.py", "LOCATE_STEPS = 8", "LOCATE_STEPS = 9"),
        ("private_kmeans", "algorithms/_split.py", "STEP = 0.5", "STEP = 0.6"),
        ("private_kmeans", "algorithms/_refine.py", "SQUARE_WEIGHT = 0.15", "SQUARE_WEIGHT = 0.25"),
        ("private_kmeans", "algorithms/_distances.py", "_CLEAR = ", "_CLEAR = 1 + "),
        ("private_kmeans", "algorithms/_background_points.py", "FAR = 4.0", "FAR = 5.0"),
        ("private_kmeans", "queries/clusters.py", "**2, 1.0)", "**2, 2.0)"),
    ],
)
def test_a_changed_helper_makes_the_figures_that_use_it_stale(
    tmp_path: Path, algorithm: str, file: str, before: str, after: str
) -> None:
    assert digest_with(tmp_path, algorithm, file, before, after) != code_digest(algorithm)


def test_algorithms_have_digests_of_their_own() -> None:
    names = ("dp_lloyd", "fast_lloyd", "hdpe_means", "lsh_coreset", "pe_means", "private_kmeans")
    assert len({code_digest(name) for name in names}) == len(names)


def fail_on_the_last(piece: Piece) -> Outcome:
    if piece == PIECES[-1]:
        raise RuntimeError("this piece fails")
    return measure(piece)


def test_what_was_measured_before_a_failure_is_kept() -> None:
    with pytest.raises(RuntimeError, match="this piece fails"):
        pieces.run("try", PIECES, fail_on_the_last, code_of, workers=1)
    assert len(pieces.load("try")) == len(PIECES) - 1


def test_definition_to_begin_with_that_moved_away_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="to_grid"):
        digest_with(tmp_path, "pe_means", "domains/base.py", "def to_grid(", "def other(")
