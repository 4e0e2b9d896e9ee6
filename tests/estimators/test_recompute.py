"""Models worked out anew from the results in their ledger, without a row."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privclust import (
    BalcanKMeans,
    DPLloyd,
    FastLloyd,
    HDPEMeans,
    Ledger,
    LedgerError,
    LSHCoreset,
    PEMeans,
    PrivateKMeans,
    load,
    save,
)
from privclust.errors import Message, NotRecomputableError
from privclust.estimators._recompute import (
    declares_as_recorded,
    differences_from_results,
)
from privclust.models.clustering import Clustering

EVERY = (PrivateKMeans, PEMeans, HDPEMeans, DPLloyd, FastLloyd, LSHCoreset, BalcanKMeans)
BOUNDS: dict[str, Any] = {
    "age": (0, 120),
    "ward": {"type": "category", "levels": ["north", "south"]},
}


@pytest.fixture
def place(tmp_path: Path) -> str:
    found = str(tmp_path / "budget.db")
    Ledger.create(found, "visits", epsilon=9.0, delta=1e-6)
    Ledger.create(found, "people", epsilon=9.0, delta=1e-6, unit="who")
    return found


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 2000)
    ward = np.where(kind == 0, "north", "south")
    return pd.DataFrame({"age": 30 + 40 * kind, "ward": ward, "who": rng.integers(0, 900, 2000)})


def kept(model: Any, place: str) -> Any:
    """Return the model as its file has it."""
    file = Path(place).with_name("model.json")
    save(model, file, overwrite=True)
    return load(file)


def fitted(place: str, kind: Any = PrivateKMeans, dataset: str = "visits", **more: Any) -> Any:
    given = {"delta": 1e-6, "bounds": BOUNDS, "ledger": place, "dataset": dataset, **more}
    return kind(2, **given).fit(table())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", EVERY)
def test_every_model_follows_from_its_results_at_no_cost(kind: Any, place: str) -> None:
    model = kept(fitted(place, kind), place)
    before = Ledger.open(place).export()
    assert differences_from_results(model, place) == []
    assert Ledger.open(place).export() == before


def test_models_of_people_and_refits_follow_from_their_results(place: str) -> None:
    model = fitted(place, dataset="people", unit="who", max_rows_per_unit=2, random_state=7)
    # The table has two different rows, so that more than two points may hide in noise.
    for one in (model, model.refit(2), model.refit(2).refit(1)):
        assert differences_from_results(kept(one, place), place) == []


def test_warning_of_a_fit_follows_from_its_results(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of tables with categories, the advice on logarithms was missing when worked out anew."""
    run = PrivateKMeans.run

    def far(self: PrivateKMeans, *given: Any) -> Clustering:
        return replace(run(self, *given), warned=Message("Rows are far."), most_is_far=True)

    monkeypatch.setattr(PrivateKMeans, "run", far)
    model = kept(fitted(place), place)
    assert "log1p" in str(model.fit_warning_)
    assert differences_from_results(model, place) == []


@pytest.mark.attack
def test_numbers_that_somebody_wrote_are_found(place: str) -> None:
    kept(fitted(place).refit(2), place)
    file = Path(place).with_name("model.json")
    honest = json.loads(file.read_text())
    other = file.with_name("other.json")
    for key in ("cluster_sizes", "size_stderr", "cluster_radii", "n_rows"):
        changed = json.loads(file.read_text())
        if key == "n_rows":
            changed[key] += 1
        else:
            changed[key][-1] += 1e-9
        other.write_text(json.dumps(changed))
        assert differences_from_results(load(other), place) == [key]
    honest["domain"]["columns"][0]["upper"] = 119.0
    other.write_text(json.dumps(honest))
    with pytest.raises(LedgerError, match="started differently: bounds was"):
        differences_from_results(load(other), place)


@pytest.mark.attack
def test_a_profile_declares_what_was_recorded(place: str) -> None:
    model = fitted(place)
    profile = model.profile(table(), ["ward"], bounds=BOUNDS, epsilon=0.5)
    ledger = Ledger.open(place)
    assert declares_as_recorded(profile, model.model_, ledger)
    (column,) = profile.columns
    object.__setattr__(column.column, "levels", ("north", "hiv"))
    assert not declares_as_recorded(profile, model.model_, ledger)


def test_what_cannot_be_worked_out_is_refused_with_its_cause(place: str) -> None:
    first = fitted(place)
    with pytest.raises(NotRecomputableError, match="starts from another model"):
        differences_from_results(fitted(place, init=first), place)
    scaled = fitted(place, scale="private")
    with pytest.raises(NotRecomputableError, match="scaled by what was measured"):
        differences_from_results(scaled, place)


def test_models_of_other_versions_are_not_judged(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted(place)
    monkeypatch.setattr("privclust.estimators._recompute.versions", lambda: {"privclust": "9.9"})
    with pytest.raises(NotRecomputableError, match="other versions made it: privclust 0"):
        differences_from_results(model, place)
