"""Rates at which errors hold are those of the fits that report a loss."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchmarks import pieces, quality
from benchmarks.pieces import Piece
from benchmarks.quality import METHOD, Figures

GOOD = Figures(0.0, "new", 1.0, 0.1, 1.1, 2.0, 0.5, 1.5, 0.6, 0.1, 0.7)
SILENT = Figures(0.0, "new")


def found(*figures: Figures) -> dict[Piece, Figures]:
    return {Piece(METHOD, "adult", 1.0, seed): one for seed, one in enumerate(figures)}


def test_two_standard_errors_hold_or_do_not() -> None:
    beyond = replace(GOOD, true_capped_loss=1.21)
    assert quality._coverage(found(GOOD, beyond, SILENT), "capped_loss") == 0.5
    assert quality._coverage(found(GOOD, beyond, SILENT), "loss") == 1.0
    assert math.isnan(quality._coverage(found(SILENT), "loss"))


def test_far_share_above_the_truth_is_not_cautious() -> None:
    assert quality._is_cautious(GOOD)
    assert not quality._is_cautious(replace(GOOD, true_far_share=0.39))


def test_a_thousand_fits_of_five_tables_are_wanted() -> None:
    wanted = quality.wanted()
    assert len(set(wanted)) == len(wanted) == 1000
    assert {piece.dataset for piece in wanted} == set(quality.TABLES)


@pytest.mark.parametrize(("true_loss", "met"), [(1.5, True), (9.0, False)])
def test_target_is_met_if_errors_hold_as_often_as_they_should(
    true_loss: float,
    met: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seldom = replace(GOOD, true_capped_loss=9.0, true_loss=9.0)
    usual = replace(GOOD, true_loss=true_loss)
    kept = {
        piece: seldom if number % 20 == 0 else usual
        for number, piece in enumerate(quality.wanted())
    }
    monkeypatch.setattr(pieces, "load", lambda name, kind: kept)
    assert quality.report() is met
    assert "quality capped_loss 0.950 0.93-0.97 PASS" in capsys.readouterr().out


def test_rows_of_the_zero_inflated_table_are_mostly_equal_and_in_the_ball() -> None:
    rows = quality.table(quality.ZERO_INFLATED).rows
    assert 0.94 < (rows == 0.1).all(axis=1).mean() < 0.96
    assert ((rows**2).sum(axis=1) <= 1).all()
