"""Tables at a node from a prompt: the same commands, an address in place of files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.command_line import error_message, privclust
from helpers.remote_stand_in import TOKEN, Node, running
from typer.testing import Result

from privclust import load, load_profile
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
    assert f"Run {run.name} of data set 'credit', which has epsilon 3." in text
    words = ("model.json", node.url, "--columns", "ward", "--epsilon", 0.3, "-o", "wards.json")
    profiled = privclust("profile", *words)
    assert profiled.exit_code == 0, profiled.output
    assert load_profile("wards.json").columns[0].column.name == "ward"
    listed = json.loads(privclust("describe", node.url, "--fits", "--json").stdout)
    assert run.name in [one["id"] for one in listed["fits"]]
    for shown in (described, planned, done, profiled):
        assert TOKEN not in shown.output
    assert TOKEN not in Path("model.json").read_text()


def test_columns_are_chosen_and_a_fit_is_waited_for_again(node: Node) -> None:
    done = fitted(node, "--columns", "age", "--out", "age.json")
    assert done.exit_code == 0, done.output
    model, fits = load("age.json"), node.fits
    assert list(model.feature_names_in_) == ["age"]
    name = model.privacy_statement_.run.name
    again = fitted(node, "--columns", "age", "--resume", name, "--json")
    assert again.exit_code == 0, again.output
    assert node.fits == fits


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
    error_message(fitted(node, "--epsilon", 50), 8, "Ask for at most --epsilon 3.")
    unknown = node.url.replace("credit", "other")
    error_message(privclust("describe", unknown), 15, "nothing of that name")
    monkeypatch.delenv("PRIVCLUST_TOKEN")
    error_message(privclust("describe", node.url), 15, "there is no token")
    error_message(privclust("describe", "http://host/tables/a"), 3, "in the clear")
    error_message(privclust("describe", "credit.csv"), 3, "https://host/tables/credit")


def test_plan_without_numbers_or_an_address_says_what_to_type() -> None:
    done = privclust("plan", "--rows", 1000)
    assert done.exit_code == 2
    assert "--columns" in done.stderr


def test_profile_of_files_needs_bounds(node: Node) -> None:
    done = fitted(node, "--out", "model.json")
    assert done.exit_code == 0, done.output
    words = ("model.json", "rows.csv", "--columns", "a", "--epsilon", 1)
    error_message(privclust("profile", *words), 4, "--bounds is missing")
