"""Long measurements resume where they stopped, and stale figures are made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import pieces
from benchmarks.auc import auc
from benchmarks.digest import _bare_code
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
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    area, error = auc(results, "PEMeans", "iris")
    assert area == pytest.approx(3.75 * 3.0)
    # Each mean of 2 and 4 has a standard error of 1; weights .125 .375 .75 1.5 1.
    assert error == pytest.approx((0.125**2 + 0.375**2 + 0.75**2 + 1.5**2 + 1.0**2) ** 0.5)


def test_comments_and_docstrings_do_not_make_figures_stale() -> None:
    plain = "def f(x):\n    return x + 1\n"
    told = '"""Module."""\n# why\ndef f(x):\n    """Add one."""\n    return x + 1\n'
    assert _bare_code(plain) == _bare_code(told)
    assert _bare_code(plain) != _bare_code(plain.replace("1", "2"))
