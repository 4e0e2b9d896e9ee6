"""Figures are marked as current only where they were, and only after equal bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import pieces, restamp
from benchmarks.pieces import Outcome, Piece, load, save

ONE, OTHER, OLDER = (Piece(name, "iris", 1.0, 0) for name in ("one", "other", "older"))


@pytest.fixture(autouse=True)
def _results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pieces, restamp):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    codes = {ONE: "a", OTHER: "b", OLDER: "long ago"}
    save("utility", {piece: Outcome(1.5, 2.5, code) for piece, code in codes.items()})


def test_only_what_was_current_is_marked() -> None:
    before = {"utility/one": "a", "utility/other": "b", "utility/older": "c"}
    now = {**before, "utility/one": "A", "utility/older": "C"}
    assert restamp.mark("utility", before, now) == 1
    assert load("utility") == {
        ONE: Outcome(1.5, 2.5, "A"),
        OTHER: Outcome(1.5, 2.5, "b"),
        OLDER: Outcome(1.5, 2.5, "long ago"),
    }


def test_other_bits_mark_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter(
        [
            {"bits": {"fit": "1"}, "codes": {"utility/one": "a"}},
            {"bits": {"fit": "2"}, "codes": {"utility/one": "A"}},
        ]
    )
    monkeypatch.setattr(restamp, "_probed", lambda checkout: next(found))
    with pytest.raises(SystemExit, match="other bits in fit"):
        restamp.main("HEAD")
    assert load("utility")[ONE].code == "a"
