"""Tables at a node from a prompt: the same commands, an address in place of files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import error_message, privclust
from helpers.remote_stand_in import TOKEN, Node, running
from typer.testing import Result

from privclust import load, load_profile
from privclust.planning.forecast import forecast
from privclust.remote import _connection

FAST = ("-k", 2, "--max-clusters", 2)


@pytest.fixture(scope="module")
def working() -> Iterator[Node]:
    with running() as found:
        yield found


@pytest.fixture
def node(working: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Node:
    monkeypatch.setattr(_connection, "sleep", lambda seconds: None)
    monkeypatch.setenv("PRIVCLUST_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    return working


def fitted(node: Node, *words: object) -> Result:
    return privclust("fit", node.url, *FAST, "--epsilon", 0.5, *words)


def test_table_is_described_forecast_fitted_and_profiled(node: Node) -> None:
    described = privclust("describe", node.url, "--fits")
    assert "age (number, 0 to 120)" in described.stdout
    planned = privclust("plan", node.url, "-k", 2, "--epsilon", 0.5)
    assert "Nothing was spent" in planned.stdout
    assert f"privclust fit {node.url} -k 2 --epsilon 0.5 --out model.json" in planned.stdout
    done = fitted(node, "--out", "model.json")
    assert done.exit_code == 0, done.output
    model = load("model.json")
    run = model.privacy_statement_.run
    assert run.delta == 1e-6
    text = " ".join(done.stdout.split())
    assert f"Run {run.name} of data set 'credit'; you have epsilon 3." in text
    assert "left there for one more run." in text
    words = ("model.json", node.url, "--columns", "ward", "--epsilon", 0.3, "-o", "wards.json")
    profiled = privclust("profile", *words)
    assert profiled.exit_code == 0, profiled.output
    assert load_profile("wards.json").columns[0].column.name == "ward"
    listed = json.loads(privclust("describe", node.url, "--fits", "--json").stdout)
    assert run.name in [one["id"] for one in listed["fits"]]
    for shown in (described, planned, done, profiled):
        assert TOKEN not in shown.output
    assert TOKEN not in Path("model.json").read_text(encoding="utf-8")


def test_columns_are_chosen_and_a_fit_is_waited_for_again(node: Node) -> None:
    done = fitted(node, "--columns", "age", "--out", "age.json")
    assert done.exit_code == 0, done.output
    model, fits = load("age.json"), node.fits
    assert list(model.feature_names_in_) == ["age"]
    name = model.privacy_statement_.run.name
    again = fitted(node, "--columns", "age", "--resume", name, "--json")
    assert again.exit_code == 0, again.output
    assert node.fits == fits


def test_fit_is_not_resumed_with_other_parameters(node: Node) -> None:
    name = json.loads(fitted(node, "--json").stdout)["statement"]["run"]["name"]
    message = error_message(
        privclust("fit", node.url, "-k", 3, "--epsilon", 0.1, "--resume", name),
        3,
        f"run {name} was started with other parameters: --clusters 2, --epsilon 0.5. Resume it",
    )
    assert "owner" not in message


def test_plan_prints_a_forecast_and_a_fit_with_all_that_was_typed(node: Node) -> None:
    words = ("--epsilon", 0.7, "--delta", 1e-7, "--ca-file", "our ca.pem", "--certificate", "me")
    shown = privclust("plan", node.url, "-k", 2, *words)
    assert shown.exit_code == 0, shown.output
    lines = str(forecast(600, 2, 2, epsilon=0.7, delta=1e-7)).splitlines()
    for line in lines:
        if "time: " not in line:
            assert line in shown.stdout
    assert "fixed_seconds" not in shown.stdout
    assert "│ 0.25 " in shown.stdout
    typed = "--ca-file 'our ca.pem' --certificate me -k 2 --epsilon 0.7 --delta 1e-07"
    assert f"    privclust fit {node.url} {typed} --out model.json" in shown.stdout
    too_much = privclust("plan", node.url, "-k", 2, "--epsilon", 9).stdout
    assert "talk to the owner" in too_much
    assert "privclust fit" not in too_much
    sent = json.loads(privclust("plan", node.url, "-k", 2, "--json").stdout)
    assert sent["forecast"]["smallest"] > 0


@pytest.mark.parametrize(
    "changes",
    [
        {"n_rows": 2**60},
        {"n_rows": 0},
        {"n_rows": 1.5},
        {"n_clusters": 3},
        {"n_columns": 2**53},
        {"epsilon": -1.0},
        {"epsilon": 1e300},
        {"delta": 1.0},
        {"ratio": "1"},
        {"ratio": 10**400},
        {"ratio": None},
        {"seconds": True},
        {"epsilon_needed": []},
        {"refused": 7},
        {"memory": -1},
        {"more": 1},
    ],
)
def test_forecast_of_a_node_that_is_none_is_refused(
    node: Node, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    def spoil(method: str, path: str, status: int, headers: Any, body: bytes) -> Any:
        content = json.loads(body)
        if "forecast" in content:
            content["forecast"] |= changes
        return status, headers, json.dumps(content).encode()

    monkeypatch.setattr(node, "spoil", spoil)
    error_message(privclust("plan", node.url, "-k", 2), 15, "the node sent a forecast without")


def test_node_without_a_forecast_still_says_what_a_fit_costs(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(method: str, path: str, status: int, headers: Any, body: bytes) -> Any:
        content = json.loads(body) | ({"forecast": None} if path.endswith("forecast") else {})
        return status, headers, json.dumps(content).encode()

    monkeypatch.setattr(node, "spoil", spoil)
    shown = privclust("plan", node.url, "-k", 2).stdout
    assert "It would spend epsilon 1 at delta 1e-06; you have epsilon" in shown


def test_table_without_fits_of_yours_is_said_to_have_none(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(method: str, path: str, status: int, headers: Any, body: bytes) -> Any:
        kind = path.rsplit("/", 1)[1]
        emptied = json.dumps({kind: []}).encode() if kind in ("fits", "profiles") else body
        return status, headers, emptied

    monkeypatch.setattr(node, "spoil", spoil)
    shown = privclust("describe", node.url, "--fits").stdout
    assert shown.endswith("You have no fits on it, and no profiles.\n")
    assert "state" not in shown


def test_fit_that_is_late_is_said_to_be_and_can_be_cancelled(node: Node) -> None:
    node._note("a" * 16, "fit")
    node.runs["a" * 16] |= {"state": "running", "submitted": 0, "release_at": 1}
    listed = privclust("describe", node.url, "--fits").stdout
    (line,) = [line for line in listed.splitlines() if "a" * 16 in line]
    assert [part.strip() for part in line.split("│")[3:5]] == ["running", "late"]
    done = privclust("describe", node.url, "--cancel", "a" * 16)
    assert done.stdout == f"The fit {'a' * 16} is cancelled. What it reserved stays spent.\n"
    again = privclust("describe", node.url, "--cancel", "a" * 16, "--json")
    assert json.loads(again.stdout)["state"] == "cancelled"
    error_message(privclust("describe", node.url, "--cancel", "../a"), 3, "describe --fits lists")
    error_message(privclust("describe", node.url, "--cancel", "b"), 15, "nothing of that name")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--bounds", "b.toml"), "bounds cannot be set"),
        (("--unit", "who"), "unit cannot be set"),
        (("--max-rows-per-unit", 2), "--max-rows-per-unit cannot be set"),
        (("--ledger", "b.db", "--dataset", "x"), "dataset cannot be set"),
        (("--decimal", ","), "--decimal is for files"),
        (("--sheet", "a"), "--sheet is for files"),
        (("rows.csv",), "fitted alone"),
        (("--epsilon", 0), "epsilon must lie"),
    ],
)
def test_option_that_is_not_for_a_node_is_refused(
    node: Node, words: tuple[object, ...], text: str
) -> None:
    fits = node.fits
    error_message(fitted(node, *words, "--out", "m.json"), 3, text)
    assert (node.fits, Path("m.json").exists()) == (fits, False)


def test_options_of_a_node_are_refused_for_files(tmp_path: Path) -> None:
    words = ("fit", "rows.csv", "--bounds", "b.toml", "--delta", 1e-6)
    error_message(privclust(*words, "--columns", "a"), 3, "--columns is for a table at a node")
    error_message(privclust(*words, "--ca-file", "a"), 3, "--ca-file is for a table at a node")


def test_refusal_of_a_node_is_one_message(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    described = privclust("describe", node.url).stdout
    (left,) = re.findall(r"epsilon ([\d.]+) for one more fit", described)
    offered = f"Ask for at most --epsilon {left},"
    message = error_message(fitted(node, "--epsilon", 50), 8, offered)
    assert "your part of the budget" in message
    unknown = node.url.replace("credit", "other")
    error_message(privclust("describe", unknown), 15, "nothing of that name", "describe --fits")
    error_message(fitted(node, "--columns", "agee"), 5, "Did you mean 'age' instead of 'agee'?")
    error_message(fitted(node, "--columns", "age,age"), 5, "such as age,income.")
    monkeypatch.delenv("PRIVCLUST_TOKEN")
    error_message(privclust("describe", node.url), 15, "there is no token")
    error_message(privclust("describe", "http://host/tables/a"), 3, "in the clear")
    error_message(privclust("describe", "credit.csv"), 3, "https://host/tables/credit")


@pytest.mark.parametrize(
    "words",
    [
        ("--rows", 1000),
        ("--columns", 2),
        ("--max-rows-per-unit", 1),
        ("--picture", "loss.png"),
        ("--engine", "spark"),
        ("--force",),
    ],
)
def test_plan_at_a_node_refuses_what_is_for_numbers_typed_here(
    node: Node, words: tuple[object, ...]
) -> None:
    message = f"{words[0]} is for a plan without a table"
    error_message(privclust("plan", node.url, "-k", 2, *words), 3, message)


def test_plan_of_numbers_refuses_what_is_for_a_node() -> None:
    numbers = ("--rows", 1000, "--columns", 2, "--delta", 1e-6)
    error_message(privclust("plan", *numbers, "--ca-file", "ca.pem"), 3, "--ca-file is for a table")


def test_plan_without_numbers_or_an_address_says_what_to_type() -> None:
    done = privclust("plan", "--rows", 1000)
    assert done.exit_code == 2
    assert "--columns" in done.stderr


def test_profile_of_files_needs_bounds(node: Node) -> None:
    done = fitted(node, "--out", "model.json")
    assert done.exit_code == 0, done.output
    words = ("model.json", "rows.csv", "--columns", "a", "--epsilon", 1)
    error_message(privclust("profile", *words), 4, "--bounds is missing")
