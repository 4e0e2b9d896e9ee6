"""An approval comes back as it was written, and is refused where it does not add up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from privclust import Ledger
from privclust.errors import ModelFileError, ParameterError
from privclust.models._json_file import schema_of
from privclust.models.approval.approval_file import TEXT_MAX, Approval, read_approval
from privclust.privacy.accounting import Budget, gaussian_spend

GIVEN: dict[str, Any] = {
    "dataset": "visits",
    "purpose": "staffing of wards",
    "requested_by": "A. Ito",
    "approved_by": "B. Sow",
    "date": "2026-11-17",
    "model": "0" * 64,
}
ONE = gaussian_spend(Budget(1.0, 1e-6).capacity.quanta, l0=1)
"""What a fit of epsilon 1 costs."""


def recorded(**given: Any) -> Ledger:
    ledger = Ledger.in_memory()
    ledger.add("visits", epsilon=4.0, delta=1e-6, **given)
    return ledger


def test_an_approval_comes_back_as_it_was(tmp_path: Path) -> None:
    ledger = recorded()
    ledger.reserve("visits", ONE, {})
    approval = Approval(**GIVEN, profiles=("1" * 64,), ledger=ledger.total("visits"))
    file = tmp_path / "approval.json"
    file.write_text(approval.to_json())
    assert read_approval(file) == approval
    jsonschema.validate(json.loads(file.read_text()), schema_of("approval"))


def test_other_data_sets_come_back_and_are_of_the_same_entry(tmp_path: Path) -> None:
    ledger = recorded()
    ledger.add("visits 2025", epsilon=2.0, delta=1e-7)
    total, other = ledger.totals()
    assert (total, other) == (ledger.total("visits"), ledger.total("visits 2025"))
    approval = Approval(**GIVEN, ledger=total, other_datasets=(other,))
    file = tmp_path / "approval.json"
    file.write_text(approval.to_json())
    assert read_approval(file) == approval
    jsonschema.validate(json.loads(file.read_text()), schema_of("approval"))
    for given in ({"ledger": None}, {"ledger": replace(total, head="0" * 64)}):
        file.write_text(replace(approval, **given).to_json())
        with pytest.raises(ModelFileError):
            read_approval(file)


@pytest.mark.parametrize("name", ["dataset", "purpose", "requested_by", "approved_by"])
@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "x" * (TEXT_MAX + 1)])
def test_words_are_there_and_fit_on_a_page(name: str, text: str) -> None:
    with pytest.raises(ParameterError, match=name.replace("_", "-")):
        Approval(**{**GIVEN, name: text})


@pytest.mark.parametrize(
    "change",
    [
        {"date": "yesterday"},
        {"purpose": "two\nlines"},
        {"ledger.epsilon": 0.5},
        {"ledger.cost.quanta": 5},
        {"profiles": [7]},
        {"version": "0.1\n0"},
        {"model": "\udc80"},
        {"more": 1},
        {"format": "privclust approval 2"},
    ],
)
def test_what_does_not_add_up_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    ledger = recorded()
    ledger.reserve("visits", ONE, {})
    content = json.loads(Approval(**GIVEN, ledger=ledger.total("visits")).to_json())
    for path, value in change.items():
        *above, last = path.split(".")
        place = content
        for name in above:
            place = place[name]
        place[last] = value
    (tmp_path / "approval.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError):
        read_approval(tmp_path / "approval.json")


def test_the_total_counts_every_run_and_names_the_head() -> None:
    ledger = recorded()
    first = ledger.reserve("visits", ONE, {})
    ledger.reserve("visits", ONE, {})
    total = ledger.total("visits")
    assert (total.runs, total.open_runs, total.head) == (2, 2, ledger.head())
    assert 1.44 < total.epsilon < 1.46
    text = " ".join(total.sentences)
    assert total.head in text
    assert "2 of which not ended" in text
    assert "no run beyond epsilon = 4" in text
    assert "no test for one row" in text
    ledger.close(first)  # nothing of it was measured
    assert round(ledger.total("visits").epsilon, 6) == 1.0


def test_a_typed_number_of_rows_is_for_replacing() -> None:
    ledger = recorded(unit="who")
    ledger.reserve("visits", ONE, {"n_rows": "1000"})
    total = ledger.total("visits")
    assert total.replacing_epsilon is not None
    assert total.replacing_epsilon > 2 * total.epsilon
    text = " ".join(total.sentences)
    assert "replacing one 'who' instead" in text
    ledger = recorded()
    ledger.reserve("visits", ONE, {"n_rows": "None"})
    assert ledger.total("visits").replacing_epsilon is None


def test_a_pure_budget_has_a_pure_total() -> None:
    ledger = Ledger.in_memory()
    ledger.add("visits", epsilon=2.0, delta=0.0)
    ledger.reserve("visits", Budget(0.5, 0.0).capacity, {})
    assert ledger.total("visits").epsilon == pytest.approx(0.5, abs=1e-9)
