"""The command line says and does what the ledger does, and fails in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.command_line import error_message
from typer.testing import CliRunner, Result

from privclust import Ledger, PEMeans, PrivateClusterer, PrivateKMeans, __version__, save
from privclust.algorithms import pe_means
from privclust.cli import app
from privclust.estimators._fit_task import Algorithm
from privclust.privacy.accounting import Spend
from privclust.testing import SeededNoise, noise_from


def privclust(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "budget.db"
    done = privclust("ledger", "create", place, "wards", "--epsilon", 2, "--delta", 1e-6)
    assert done.exit_code == 0, done.output
    return place


@pytest.fixture
def model(place: Path) -> PrivateKMeans:
    rows = np.random.default_rng(0).normal(0.0, 0.2, (2000, 2))
    with noise_from(SeededNoise(0)):
        return PrivateKMeans(2, delta=1e-6, radius=1.0, ledger=str(place), dataset="wards").fit(
            rows
        )


def test_a_data_set_is_created_once(place: Path) -> None:
    again = privclust("ledger", "create", place, "wards", "--epsilon", 9, "--delta", 1e-6)
    assert again.exit_code == 3
    assert again.stderr == (
        "privclust: the ledger has a data set 'wards' already; a budget never grows. Choose "
        "another label for another table; 'privclust ledger remaining' shows this one.\n"
    )


@pytest.mark.parametrize(("label", "unit", "empty"), [("", "row", "label"), ("t", " ", "unit")])
def test_empty_name_is_refused_and_makes_no_ledger(
    tmp_path: Path, label: str, unit: str, empty: str
) -> None:
    place = tmp_path / "new.db"
    budget = ("--epsilon", 1, "--delta", 1e-6)
    refused = privclust("ledger", "create", place, label, *budget, "--unit", unit)
    assert refused.exit_code == 3
    assert f"{empty} must not be empty" in refused.stderr
    assert not place.exists()


def test_grant_names_a_role_and_is_all_or_nothing() -> None:
    refused = privclust("ledger", "grant", "")
    assert refused.exit_code == 3
    assert "role must not be empty" in refused.stderr
    lines = privclust("ledger", "grant", "analyst").stdout.splitlines()
    assert (lines[0], lines[-1]) == ("BEGIN;", "COMMIT;")


def test_remaining_breaks_no_word_of_a_source(tmp_path: Path) -> None:
    """At 80 columns it printed "informati" and "on" below each other."""
    place = str(tmp_path / "l.db")
    source = "hospital information system, stays of 2024"
    Ledger.create(place, "patients", epsilon=3.0, delta=1e-6, source=source)
    shown = CliRunner().invoke(app, ["ledger", "remaining", place], env={"COLUMNS": "80"}).stdout
    assert source in shown
    assert "for one more fit" in shown


def test_remaining_shows_every_data_set_and_what_it_is_worth(place: Path) -> None:
    source = ("--source", "public register")
    privclust("ledger", "create", place, "towns", "--epsilon", 1, "--delta", 0, *source)
    shown = privclust("ledger", "remaining", place).stdout
    assert "wards" in shown
    assert "100.0%" in shown
    assert "epsilon 2" in shown
    assert "public register" in shown
    flat = " ".join(shown.split())
    assert "Left is the part of the data set's whole budget in mu², in which fits add up" in flat
    assert "Where delta is 0, it is of epsilon." in flat
    wards = privclust("ledger", "remaining", place, "wards").stdout
    assert "towns" not in wards
    assert "delta is 0" not in wards
    towns = privclust("ledger", "remaining", place, "towns").stdout
    assert "Left is the part of the data set's epsilon, in which fits add up" in " ".join(
        towns.split()
    )


def test_runs_lists_fits_and_close_ends_one(place: Path, model: PrivateKMeans) -> None:
    run = model.privacy_statement_.run.name
    shown = privclust("ledger", "runs", place, "wards").stdout
    assert run in shown
    assert "PrivateKMeans, 2 clusters, epsilon 1 " in shown
    assert "Together: epsilon 1, delta 1e-06" in shown
    assert "Spent and set aside are parts of the data set's whole budget in mu²" in shown
    assert "│ 1     │" in privclust("ledger", "remaining", place, "wards").stdout
    assert "finished" in shown
    ledger = Ledger.open(str(place))
    other = ledger.reserve("wards", ledger.run(run).reserved, {})
    assert privclust("ledger", "close", place, other).exit_code == 0
    assert ledger.run(other).state == "given up"


def test_no_word_is_cut_beside_the_long_name_of_a_node(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ledger = Ledger.open(str(place))
    facts = {"estimator": "PrivateKMeans", "n_clusters": "2", "epsilon": "1"}
    run = ledger.reserve("wards", Spend(), facts, run="0123456789abcdef" * 2)
    ledger.close(run, finished=True)
    shown = privclust("ledger", "runs", place, "wards").stdout
    for word in (run, "PrivateKMeans, 2 clusters, epsilon 1", "finished", "results", "set aside"):
        assert word in shown


def test_no_word_of_runs_is_cut_at_80_columns(place: Path, model: PrivateKMeans) -> None:
    words = ["ledger", "runs", str(place), "wards"]
    shown = CliRunner().invoke(app, words, env={"COLUMNS": "80"}).stdout
    cells = ("PrivateKMeans, 2 clusters, epsilon 1", "finished", "results", "spent", "set aside")
    for word in (model.privacy_statement_.run.name, *cells):
        assert word in shown
    lines = [line for line in shown.splitlines() if line[:1] in "┏┃┡│└"]  # a terminal wraps others
    assert 0 < max(map(len, lines)) <= 80


def test_equal_runs_are_numbered_and_others_show_in_what_they_differ(place: Path) -> None:
    ledger = Ledger.open(str(place))
    facts = {"estimator": "PrivateKMeans", "n_clusters": "2", "epsilon": "1", "seed": "7"}
    others: tuple[dict[str, str], ...] = (
        {},
        {"seed": "8"},
        {"scale": "'private'"},
        {"columns": "age"},
        {"follows_from": "0123"},
    )
    names = [ledger.reserve("wards", Spend(), {**facts, **other}) for other in others]
    shown = privclust("ledger", "runs", place, "wards").stdout
    cells = [[cell.strip() for cell in line.split("│")[1:4]] for line in shown.splitlines()]
    alike = "PrivateKMeans, 2 clusters, epsilon 1"
    ends = ("", "", ", scale 'private'", ", of age", ", after run 0123")
    assert [line for line in cells if len(line) == 3 and line[1] in names] == [
        [str(number), name, alike + end]
        for number, (name, end) in enumerate(zip(names, ends, strict=True), 1)
    ]


def test_brackets_in_names_are_shown_as_they_are(place: Path) -> None:
    source = ("--source", "wards [/2025]")
    privclust("ledger", "create", place, "[b]", "--epsilon", 1, "--delta", 1e-6, *source)
    assert "wards [/2025]" in privclust("ledger", "remaining", place).stdout


def test_verify_finds_the_fit_of_a_model_and_misses_that_of_another(
    place: Path, model: PrivateKMeans, tmp_path: Path
) -> None:
    statement = tmp_path / "model.json"
    statement.write_text(model.privacy_statement_.to_json())
    shown = privclust("ledger", "verify", place, "--model", statement).stdout
    assert shown.startswith("the ledger is intact.\n")
    assert "worked out anew" not in shown  # a statement alone has no numbers
    content = json.loads(statement.read_text())
    content["run"]["record"]["head"] = "0" * 64
    statement.write_text(json.dumps(content))
    missing = privclust("ledger", "verify", place, "--model", statement)
    assert missing.exit_code == 1
    assert "not in this ledger" in missing.stderr
    content["run"]["record"] = None
    statement.write_text(json.dumps(content))
    unrecorded = privclust("ledger", "verify", place, "--model", statement)
    assert unrecorded.exit_code == 1
    assert "model.json says that no ledger recorded its fit" in unrecorded.stderr
    statement.write_text("{}")
    no_model = privclust("ledger", "verify", place, "--model", statement)
    assert no_model.exit_code == 12
    assert "neither a model file, nor a profile, nor a statement" in no_model.stderr


SOURCE = {"kind": "Delta", "name": "visits", "snapshot": "one version", "salted_hash": "12-34"}


def run_of(content: Any) -> Any:
    return content["statement"]["run"]


def test_verify_detects_a_changed_model(place: Path, model: PrivateKMeans, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    save(model, file)
    assert privclust("ledger", "verify", place, "--model", file).exit_code == 0
    honest = file.read_text()
    changes: list[tuple[Callable[[Any], object], str]] = [
        (lambda content: content["statement"].update(epsilon=0.01), "its statement does not add"),
        (lambda content: content["statement"]["run"].update(delta=1e-9), "its statement does not"),
        (lambda content: run_of(content)["reserved"].update(quanta=1), "its guarantee"),
        (lambda content: run_of(content)["record"].update(epsilon=0.1), "its budget"),
        (lambda content: run_of(content).update(name="feed"), "its run"),
        (lambda content: run_of(content).update(n_rows=99), "its number of rows"),
        (lambda content: run_of(content)["unit"].update(column="who"), "whom it protects"),
        (lambda content: run_of(content)["unit"].update(rows=9), "its statement does not add up"),
        (
            lambda content: content["statement"].update(bounds_origin="public data"),
            "the origin of its bounds",
        ),
        (
            lambda content: content["statement"].update(source=SOURCE),
            "the table that it says was read",
        ),
        (lambda content: content["releases"].pop(), "its results"),
        (lambda content: content["releases"][0]["result"].reverse(), "its results"),
        (lambda content: content["releases"][-1].update(noise="none"), "its results"),
    ]
    for change, what in changes:
        content = json.loads(honest)
        change(content)
        file.write_text(json.dumps(content))
        changed = privclust("ledger", "verify", place, "--model", file)
        assert changed.exit_code == 1
        assert "was changed after its fit: " in changed.stderr
        assert what in changed.stderr


@pytest.mark.attack
def test_verify_detects_a_hidden_start(place: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {"radius": 1.0, "delta": 1e-6, "ledger": str(place), "dataset": "wards"}
    rows = np.random.default_rng(0).normal(0.0, 0.2, (2000, 2))
    first = PrivateKMeans(2, **given).fit(rows)
    file = tmp_path / "started.json"
    save(PrivateKMeans(2, epsilon=0.25, init=first, **given).fit(rows), file)
    assert privclust("ledger", "verify", place, "--model", file).exit_code == 0
    honest = file.read_text()

    def hidden(content: Any) -> None:
        content["statement"].update(dependencies=[], epsilon=0.25)

    def weakened(content: Any) -> None:
        content["statement"]["dependencies"][0]["run"].update(epsilon=0.5)

    def unrecorded(content: Any) -> None:
        content["statement"]["dependencies"][0]["run"].update(record=None)

    for change, what in (
        (hidden, "what it follows from"),
        (weakened, "its statement does not add up"),
        (unrecorded, "its budget (run"),
    ):
        content = json.loads(honest)
        change(content)
        file.write_text(json.dumps(content))
        changed = privclust("ledger", "verify", place, "--model", file)
        assert changed.exit_code == 1, what
        assert what in changed.stderr


class Started(PrivateClusterer):
    """Two models, of which one started from another, as own parameters."""

    algorithm: ClassVar[Algorithm] = pe_means
    start: Any = None


@pytest.mark.parametrize("recorded", [True, False])
def test_verify_knows_several_models_that_a_fit_follows_from(
    place: Path, tmp_path: Path, recorded: bool
) -> None:
    given: dict[str, Any] = {"epsilon": 0.25, "radius": 1.0, "delta": 1e-7}
    paid = {**given, "ledger": str(place), "dataset": "wards"}
    rows = np.random.default_rng(0).normal(0.0, 0.2, (2000, 2))
    first = PrivateKMeans(2, **(paid if recorded else given)).fit(rows)
    second, third = PrivateKMeans(2, init=first, **paid).fit(rows), PEMeans(2, **paid).fit(rows)
    file = tmp_path / "started.json"
    save(Started(2, start=[second, third], **paid).fit(rows), file)
    verified = privclust("ledger", "verify", place, "--model", file)
    assert verified.exit_code == 0, verified.output
    content = json.loads(file.read_text())
    listed = content["statement"]["dependencies"]
    assert len(listed) == 3
    content["statement"]["dependencies"] = listed[::-1]
    file.write_text(json.dumps(content))
    changed = privclust("ledger", "verify", place, "--model", file)
    assert changed.exit_code == 1
    assert "what it follows from" in changed.stderr


def test_export_is_the_ledger_line_by_line(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "entries.jsonl"
    printed = privclust("ledger", "export", place).stdout
    privclust("ledger", "export", place, "--output", file)
    assert file.read_text() == printed
    entries = [json.loads(line) for line in printed.splitlines()]
    assert entries == Ledger.open(str(place)).export()
    assert [entry["kind"] for entry in entries] == ["ledger", "dataset"]
    file.write_text("kept")
    again = ("ledger", "export", place, "--output", file)
    error_message(privclust(*again), 10, "entries.jsonl exists already", "--force")
    assert file.read_text() == "kept"
    assert privclust(*again, "--force").exit_code == 0
    assert file.read_text() == printed


def test_draw_writes_a_picture(place: Path, model: PrivateKMeans, tmp_path: Path) -> None:
    picture = tmp_path / "budget.png"
    picture.write_text("kept")
    draw = ("ledger", "draw", place, "wards", picture)
    error_message(privclust(*draw), 10, "budget.png exists already", "--force")
    assert picture.read_text() == "kept"
    assert privclust(*draw, "--force").exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        (("remaining", "nowhere.db"), 9, "nowhere.db. Its owner makes one"),
        (("runs", "{place}", "streets"), 9, "knows no data set 'streets'"),
        (("close", "{place}", "0123"), 9, "knows no run '0123'"),
        (("create", "{place}", "x", "--epsilon", "0", "--delta", "1e-6"), 3, "epsilon must lie"),
        (("verify", "{place}", "--model", "nowhere.json"), 12, "nowhere.json"),
        (
            ("verify", "{place}", "--model", "{place}"),
            12,
            "is neither a model file, nor a profile",
        ),
        (("export", "{place}", "--output", "nowhere/x.jsonl"), 10, "x.jsonl could not be written"),
        (("draw", "{place}", "wards", "nowhere/x.png"), 10, "x.png could not be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_failure_is_one_message(place: Path, words: tuple[str, ...], code: int, cause: str) -> None:
    failed = privclust("ledger", *(word.format(place=place) for word in words))
    assert failed.exit_code == code
    assert failed.stderr.startswith("privclust: ")
    assert cause in failed.stderr
    assert "Traceback" not in failed.output


def test_it_is_a_module_too_and_says_which_extra_it_needs() -> None:
    start = [sys.executable, "-m", "privclust"]
    helped = subprocess.run([*start, "ledger", "--help"], capture_output=True, text=True)
    assert "remaining" in helped.stdout
    code = "import sys; sys.modules['typer'] = None; from privclust.__main__ import main; main()"
    refused = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install ".[cli]"' in refused.stderr
    assert refused.returncode == 13


def test_version_is_printed() -> None:
    printed = CliRunner().invoke(app, ["--version"])
    assert (printed.exit_code, printed.output) == (0, f"{__version__}\n")
