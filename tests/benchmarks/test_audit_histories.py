"""What is kept of histories is judged guarantee by guarantee, and stale batches are left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import audit_histories, pieces
from benchmarks.audit_histories import Watched
from benchmarks.pieces import Piece

PROFILED = "FedDPKMeans and its profile"


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Piece, Watched]:
    monkeypatch.setattr(pieces, "RESULTS", tmp_path)
    monkeypatch.setattr(audit_histories, "BATCH", 4)
    monkeypatch.setattr(audit_histories, "FITS", 8)
    wanted = [piece for piece in audit_histories.pieces() if piece.method == PROFILED]
    return {piece: audit_histories.measure(piece) for piece in wanted if piece.epsilon == 4.0}


def test_batches_are_judged_together_and_stale_ones_left_out(
    measured: dict[Piece, Watched], capsys: pytest.CaptureFixture[str]
) -> None:
    pieces.save("histories", measured)
    cells = audit_histories.refutations()
    assert [(cell.attacker, cell.guarantee, cell.fits) for cell in cells] == [
        (attacker, 4.0, 8) for attacker in audit_histories.ATTACKERS
    ]
    assert audit_histories.kept() == len(measured) == 4
    audit_histories.print_table(cells)
    assert f"| {PROFILED} | profile | 8 |" in capsys.readouterr().out
    pieces.save("histories", {piece: replace(seen, code="old") for piece, seen in measured.items()})
    assert (audit_histories.refutations(), audit_histories.kept()) == ([], 0)


def test_each_history_has_a_digest_of_the_code_that_it_runs() -> None:
    codes = {
        piece.method: audit_histories.code_of(piece.method) for piece in audit_histories.pieces()
    }
    plain = codes["PrivateKMeans"]
    assert codes["PrivateKMeans by person"] == plain  # units are the engine's
    assert codes["PrivateKMeans from a start"] == codes["PrivateKMeans and its start"] != plain
    assert codes["PrivateKMeans, scale measured"] not in (
        plain,
        codes["PrivateKMeans from a start"],
    )
    assert codes[PROFILED] != codes["FedDPKMeans"]
