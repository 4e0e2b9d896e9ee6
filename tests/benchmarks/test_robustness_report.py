"""Verdicts of the suite, from fits that are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import robustness
from benchmarks.figures.robustness import NAME, draw
from benchmarks.pieces import Outcome, Piece
from benchmarks.rivals import FLAGSHIP, REFERENCE
from benchmarks.robust.fits import EXACT, ONE_START, pieces
from benchmarks.robust.ratios import Fits, few_rows
from benchmarks.robust.report import tell
from benchmarks.robust.tables import DESIGN, HELD_OUT

TARGETS = 11
FEW = {"few_rows_a", "few_rows_1000_b"}
"""At epsilon 1."""


def judged(piece: Piece) -> Outcome:
    """Return a good fit of ours, and 1.2 of k-means for a rival; no two seeds agree."""
    ours = piece.method in (FLAGSHIP, EXACT, REFERENCE, ONE_START)
    seed = 0.0 if piece.method == REFERENCE else 2e-3 * piece.seed
    return Outcome((1.0 if ours else 1.2) + seed, 0.1, "code", warned=False)


def fits(
    change: Callable[[Piece, Outcome], Outcome | None] = lambda _, fit: fit,
) -> Fits:
    """Return all fits, changed; those that are None are missing."""
    changed = {piece: change(piece, judged(piece)) for piece in pieces(held_out=True)}
    found = {piece: fit for piece, fit in changed.items() if fit is not None}
    return Fits(found, [piece for piece in changed if piece not in found])


def verdicts(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if line.endswith(word)]


def test_tables_with_few_rows_are_those_of_the_formula() -> None:
    assert {name for name in (*DESIGN, *HELD_OUT) if few_rows(name, 1.0)} == FEW
    assert not any(few_rows(name, 4.0) for name in FEW)


def test_every_target_passes_on_good_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(fits())
    printed = capsys.readouterr().out
    assert len(verdicts(printed, " PASS")) == TARGETS
    assert "| few_rows_a | 100 | 1.009 | 1.009 ± 0.0019 | (1.009 ± 0.0019) |" in printed


def test_targets_stay_open_without_our_fits_to_the_held_out_half(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def design_only(piece: Piece, fit: Outcome) -> Outcome | None:
        held_out = piece.dataset in HELD_OUT and piece.method in (FLAGSHIP, EXACT)
        return None if held_out else fit

    assert not tell(fits(design_only))
    printed = capsys.readouterr().out
    passed = verdicts(printed, " PASS")
    assert len(passed) == 2
    assert all("design half" in line for line in passed)
    assert len(verdicts(printed, " OPEN")) == TARGETS - 2
    assert "epsilon 1, mean of 0 tables, held-out half: nan 1.15 OPEN" in printed


def test_nothing_measured_is_open(capsys: pytest.CaptureFixture[str]) -> None:
    assert not tell(fits(lambda piece, fit: None))
    assert len(verdicts(capsys.readouterr().out, " OPEN")) == TARGETS


@pytest.mark.parametrize("method", ["LSHCoreset", "PEMeans"])
@pytest.mark.parametrize("table", ["zero_one_b", "few_rows_a"])
def test_better_rival_is_named(method: str, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    def better(piece: Piece, fit: Outcome) -> Outcome:
        won = (piece.method, piece.dataset) == (method, table)
        return Outcome(fit.loss - 0.3, 0.1, "code", warned=False) if won else fit

    assert tell(fits(better)) == (table in FEW)
    printed = capsys.readouterr().out
    assert f"{method} on {table}, by " in printed
    assert f"epsilon 1, rivals that are better: {0 if table in FEW else 1} 0 " in printed
    assert f"fewer than needed: {1 if table in FEW else 0}" in printed


def test_rival_that_may_be_lucky_is_not_better(capsys: pytest.CaptureFixture[str]) -> None:
    def lucky(piece: Piece, fit: Outcome) -> Outcome:
        if (piece.method, piece.dataset) != ("LSHCoreset", "zero_one_b"):
            return fit
        return Outcome(0.4 if piece.seed % 2 else 1.4, 0.1, "code", warned=False)

    assert tell(fits(lucky))


def test_one_bad_table_without_noise_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    def bad(piece: Piece, fit: Outcome) -> Outcome:
        lost = (piece.method, piece.dataset) == (EXACT, "zero_rows_a")
        return Outcome(49.0, 0.1, "code", warned=True) if lost else fit

    assert not tell(fits(bad))
    (line,) = verdicts(capsys.readouterr().out, " NOT MET")
    assert line == "no noise, worst of 56 tables, suite (zero_rows_a): 49 1.15 NOT MET"


@pytest.mark.parametrize(("loss", "warned"), [(1.6, False), (1.05, True)])
def test_silence_and_false_alarms_are_seen(
    loss: float, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def changed(piece: Piece, fit: Outcome) -> Outcome:
        chosen = piece.method == FLAGSHIP and piece.dataset in DESIGN[:3]
        return Outcome(loss, 0.1, "code", warned) if chosen and piece.epsilon == 0.25 else fit

    met = tell(fits(changed))
    missed = verdicts(capsys.readouterr().out, " NOT MET")
    if warned:  # 30 of 1,450
        assert met
        assert not missed
    else:
        assert missed == ["no warning, of 30 fits above 1.5, design half: 1 0.1 NOT MET"]


def test_report_counts_what_is_missing_and_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = fits(lambda piece, fit: None if piece.method == "DPLloyd" else fit).found
    monkeypatch.setattr(robustness, "load", lambda *_: kept)
    monkeypatch.setattr(robustness, "draw", lambda found: draw(found, tmp_path))
    assert not robustness.report()
    printed = capsys.readouterr().out
    assert (
        f"missing of DPLloyd: {50 * len(DESIGN)} design, {50 * len(HELD_OUT)} held-out" in printed
    )
    assert (tmp_path / f"{NAME}.svg").stat().st_size > 10_000
