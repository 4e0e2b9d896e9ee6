"""What is kept of an audit is read back, judged and drawn; stale fits are left out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import audit, audit_histories, audit_mutations, pieces
from benchmarks.audit import Seen
from benchmarks.audit_mutations import Caught
from benchmarks.pieces import Piece
from privclust import estimators


@pytest.fixture(autouse=True)
def own_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "RESULTS", tmp_path)
    monkeypatch.setattr(audit, "draw", partial(audit.draw, tmp_path))
    monkeypatch.setattr(audit, "BATCH", 4)


@pytest.fixture
def measured() -> dict[Piece, Seen]:
    wanted = [Piece("DPLloyd", side, 1.0, batch) for batch in (0, 1) for side in audit.SIDES]
    return {piece: audit.measure(piece) for piece in wanted}


def test_pieces_cover_every_algorithm_and_epsilon_on_both_sides() -> None:
    found = {(piece.method, piece.epsilon, piece.dataset) for piece in audit.pieces()}
    algorithms = {
        (name, epsilon, side)
        for name in estimators.__all__
        for epsilon in audit.EPSILONS
        for side in audit.SIDES
    }
    counts = {(name, 1.0, side) for name in audit.COUNTS for side in audit.SIDES}
    assert found == algorithms | counts


def test_batches_of_one_guarantee_are_judged_together(measured: dict[Piece, Seen]) -> None:
    pieces.save("audit", measured)
    cells = audit.refutations()
    assert [(cell.method, cell.attacker, cell.fits) for cell in cells] == [
        ("DPLloyd", "model", 8),
        ("DPLloyd", "releases", 8),
    ]
    assert all(0 <= cell.measured <= 1 for cell in cells)


def test_stale_fits_and_one_side_alone_are_left_out(measured: dict[Piece, Seen]) -> None:
    pieces.save("audit", {piece: replace(seen, code="old") for piece, seen in measured.items()})
    assert audit.refutations() == []
    one_side = {piece: seen for piece, seen in measured.items() if piece.dataset == "absent"}
    pieces.save("audit", one_side)
    assert audit.refutations() == []


def test_a_report_of_some_says_what_is_missing(
    measured: dict[Piece, Seen], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, second, third = audit_mutations.pieces()[:3]
    pieces.save("audit", measured)
    code = audit_mutations.code_of
    caught = {
        first: Caught("t.py::test_a", 1.0, code(first.method)),
        second: Caught(None, 1.0, code(second.method)),
        third: Caught("t.py::test_b", 1.0, "old"),
    }
    pieces.save("mutations", caught)
    assert audit.report() is False
    printed = capsys.readouterr().out
    assert "| DPLloyd | releases | 8 |" in printed
    assert f"| {first.method} | {first.dataset} | t.py::test_a |" in printed
    assert f"| {second.method} | {second.dataset} | not caught |" in printed
    assert f"| {third.method} | {third.dataset} | not tried with this code |" in printed
    assert f"2 of {len(audit_mutations.pieces())} mutations have a current result" in printed
    assert f"audit fits 4 {len(audit.pieces())} NOT MET" in printed
    guarantees = len(audit.ATTACKERS) * len(estimators.__all__) * len(audit.EPSILONS)
    assert f"audit guarantees 2 {guarantees + len(audit.COUNTS)} NOT MET" in printed
    assert f"audit mutations 1 {len(audit_mutations.pieces())} NOT MET" in printed
    assert f"audit histories 0 {len(audit_histories.pieces())} NOT MET" in printed
    assert {file.name for file in tmp_path.glob("*.svg")} == {"audit.svg", "audit-dark.svg"}


def test_every_algorithm_has_a_digest_of_its_own_code() -> None:
    digests = {piece.method: audit.code_of(piece.method) for piece in audit.pieces()}
    assert len(set(digests.values())) == len(digests) - 1  # both counts are one query
