"""Figures are marked as current only where they were, and only after equal bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import baseline, pieces, restamp
from benchmarks.pieces import Outcome, Piece, load, save

NAMES = ("one", "other", "older", "new")
ONE, OTHER, OLDER, NEW = PIECES = [Piece(name, "iris", 1.0, 0) for name in NAMES]
KEPT: dict[str, Any] = {
    "revision": "0" * 40,
    "bits": {"fit": "1"},
    "codes": {"utility/one": "a", "utility/other": "b", "utility/older": "c"},
    "marked": {},
}
NOW = {"utility/one": "A", "utility/other": "b", "utility/older": "C", "utility/new": "N"}


@pytest.fixture(autouse=True)
def _results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (baseline, pieces, restamp):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(restamp, "bits", lambda: {"fit": "1"})
    monkeypatch.setattr(baseline, "codes", lambda: NOW)
    baseline.write(KEPT)
    codes = ("a", "b", "long ago", "N")
    save("utility", {one: Outcome(1.5, 2.5, code) for one, code in zip(PIECES, codes, strict=True)})


def codes() -> list[str]:
    kept = load("utility")
    return [kept[piece].code for piece in PIECES]


def test_only_current_figures_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    restamp.main()
    assert codes() == ["A", "b", "long ago", "N"]
    assert all((one.loss, one.cpu_seconds) == (1.5, 2.5) for one in load("utility").values())
    assert capsys.readouterr().out.splitlines() == [
        "1 probes, 0 that differ from 000000000000",
        "utility: 1 marked as of today's code, 2 of today's code before, 1 older",
    ]


def test_marked_figures_are_marked_again_after_the_next_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restamp.main()
    monkeypatch.setattr(baseline, "codes", lambda: {**NOW, "utility/one": "AA"})
    restamp.main()
    assert codes() == ["AA", "b", "long ago", "N"]
    kept = baseline.read()
    assert (kept["bits"], kept["codes"]) == (KEPT["bits"], KEPT["codes"])


@pytest.mark.parametrize("found", [{"fit": "2"}, {}, {"fit": "1", "more": "1"}])
def test_one_differing_or_missing_probe_marks_nothing(
    found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restamp, "bits", lambda: found)
    with pytest.raises(SystemExit, match=r"nothing was marked: other bits in (fit|more)"):
        restamp.main()
    assert codes() == ["a", "b", "long ago", "N"]
    assert baseline.read() == KEPT
