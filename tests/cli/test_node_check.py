"""A model of nodes beside the ledger of one of them: what it says is what was recorded there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cohort_parts import BUDGET, LABEL, NAMES, membership_of
from helpers.command_line import privclust
from helpers.query_examples import COLUMNS

from privclust import Ledger, NodeFederation, PrivateKMeans, save
from privclust.cohorts.member import LocalMember

BOUNDS = dict(zip(COLUMNS, [(0, 1), (0, 2), (0, 3)], strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, the ledger of a node that took part, and one of a node that did not."""
    folder = tmp_path_factory.mktemp("nodes")
    rows = pa.table(dict(zip(COLUMNS, np.random.default_rng(0).random((3, 600)), strict=True)))
    for name in ("north", "other"):
        Ledger.create(str(folder / f"{name}.db"), LABEL, epsilon=1.0, delta=BUDGET.delta)
    opened = Ledger.open(str(folder / "north.db"))
    nodes = tuple(
        LocalMember(membership_of(name, ledger=opened if name == "north" else None), rows)
        for name in NAMES
    )
    federation = NodeFederation(nodes, COLUMNS, "ada")
    model = PrivateKMeans(2, delta=BUDGET.delta, bounds=BOUNDS, random_state=0).fit(federation)
    save(model, folder / "model.json")
    return folder


def verified(folder: Path, content: Any = None, ledger: str = "north.db") -> Any:
    model = folder / "model.json"
    if content is not None:
        model = folder / "changed.json"
        model.write_text(json.dumps(content))
    return privclust("ledger", "verify", folder / ledger, "--model", model)


def test_a_node_confirms_the_fit_it_took_part_in(folder: Path) -> None:
    found = verified(folder)
    assert found.exit_code == 0
    assert "This node took part in that fit" in found.output
    assert "says nothing of the numbers" in found.output
    assert "What the file says" not in found.output


def test_a_node_that_left_charged_what_came_before(folder: Path) -> None:
    """As a node sees it: the model has results that it was not asked for any more."""
    content = json.loads((folder / "model.json").read_text())
    content["statement"]["run"]["cohort"].update(left=["north"], repeated=1)
    content["releases"].append({**content["releases"][-1], "slot": "later"})
    assert verified(folder, content).exit_code == 0


def test_another_ledger_does_not_have_it(folder: Path) -> None:
    found = verified(folder, ledger="other.db")
    assert found.exit_code == 1
    assert "says that nodes made its fit" in found.output


def test_statement_names_the_run_of_the_nodes(folder: Path) -> None:
    (run,) = Ledger.open(str(folder / "north.db")).runs(LABEL)
    shown = privclust("statement", folder / "model.json")
    assert f"run {run.name} there" in shown.output


@pytest.mark.attack
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda run, _: run["cohort"].update(members=["east", "north", "west"]), "members"),
        (lambda run, _: run["cohort"].update(coordinator="eve"), "coordinator"),
        (lambda run, _: run["cohort"].update(colluding=2), "number of nodes that may collude"),
        (lambda run, _: run["reserved"].update(quanta=run["reserved"]["quanta"] - 1), "guarantee"),
        (lambda run, _: run.update(n_rows=1800), "number of rows"),
        (lambda _, results: results[0]["charge"].update(quanta=1), "results and their prices"),
        (lambda _, results: results.pop(), "results and their prices"),
    ],
)
def test_what_was_changed_is_found(
    folder: Path, change: Callable[[Any, Any], None], says: str
) -> None:
    content = json.loads((folder / "model.json").read_text())
    change(content["statement"]["run"], content["releases"])
    found = verified(folder, content)
    assert found.exit_code == 1
    assert f"what this node recorded differs from its {says}" in " ".join(found.output.split())
