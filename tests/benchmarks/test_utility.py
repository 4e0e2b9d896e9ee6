"""An estimator of one's own is compared by its name."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import utility
from benchmarks.methods import METHODS, method_named
from privclust import DPLloyd


class Mine(DPLloyd):
    """An estimator that somebody wrote."""

    fits = 0

    def fit(self, X: Any, y: None = None, *, resume: str | None = None) -> Any:
        type(self).fits += 1
        return super().fit(X, y, resume=resume)


NAME = f"{Mine.__module__}:Mine"


def test_estimator_of_ones_own_is_compared_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(utility, "QUICK_SETS", ("sklearn_4_4",))
    words = ["benchmarks", "utility", "--quick", "--estimator", NAME]
    monkeypatch.setattr(sys, "argv", words)
    before = Mine.fits
    command.main()
    assert Mine.fits == before + 1
    printed = capsys.readouterr().out
    assert printed.startswith(f"sklearn_4_4 1.0: {NAME} ")
    ours, theirs = (float(part.split()[-1]) for part in printed.split(" of best")[0].split(","))
    assert np.isfinite(ours)
    assert 0.9 < theirs < 2


def test_other_names_are_those_of_the_registered_methods() -> None:
    assert method_named("DPLloyd") is METHODS["DPLloyd"]
    with pytest.raises(KeyError):
        method_named("Mine")


@pytest.mark.parametrize("words", [["speed"], ["utility", "--report"]])
def test_estimator_goes_with_utility_only(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words, "--estimator", NAME])
    with pytest.raises(SystemExit):
        command.main()
    assert "--estimator goes with utility" in capsys.readouterr().err
