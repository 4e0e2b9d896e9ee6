"""``privclust profile``: a file of its own, shown by a report; no message shows a cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.command_line import assert_silent_about_cells, error_message, lay_out, privclust
from helpers.interruptions import Interrupted

from privclust import Ledger, load_profile

OTHER = """\
bounds_origin = "domain knowledge"

[columns.name]
type = "category"
levels = ["Ben", "other"]

[columns.who]
type = "number"
lower = 0
upper = 400
"""
FIT = ("fit", "visits.parquet", "--bounds", "visits.toml", "-k", 2, "--delta", 1e-6)
PROFILE = ("profile", "model.json", "visits.parquet", "--bounds", "other.toml", "--epsilon", 1)
ACCOUNT = ("--ledger", "budget.db")


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("other.toml").write_text(OTHER, encoding="utf-8")
    Ledger.create("budget.db", "visits", epsilon=3.0, delta=1e-6)
    done = privclust(*FIT, *ACCOUNT, "--dataset", "visits", "--out", "model.json", "--seed", 0)
    assert done.exit_code == 0, done.output


def test_columns_may_be_typed_one_by_one_too() -> None:
    done = privclust(*PROFILE, *ACCOUNT, "--columns", "name", "--columns", "who")
    assert done.exit_code == 0, done.output
    profile = load_profile("profile.json")
    assert [column.column.name for column in profile.columns] == ["name", "who"]


def test_a_profile_is_written_charged_and_shown() -> None:
    done = privclust(*PROFILE, *ACCOUNT, "--columns", "name,who")
    assert done.exit_code == 0, done.output
    assert_silent_about_cells(done.output)
    assert "privclust report model.json --profile profile.json" in done.output
    profile = load_profile("profile.json")
    assert [column.column.name for column in profile.columns] == ["name", "who"]
    assert len(Ledger.open("budget.db").runs("visits")) == 2
    done = privclust("report", "model.json", "--profile", "profile.json", "-o", "page.html")
    assert done.exit_code == 0, done.output
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<h3>who</h3>" in page
    assert "those of a column need not add up to 100 %" in page
    shown = privclust("show", "profile.json")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith(profile.privacy_statement.subject[:20])
    assert "who" in shown.stdout
    assert "need not add up to 100 %" in " ".join(shown.stdout.split())
    as_json = privclust("show", "profile.json", "--json")
    assert as_json.stdout == Path("profile.json").read_text(encoding="utf-8")


def test_profile_that_is_there_is_kept_and_nothing_is_spent_unless_forced() -> None:
    Path("profile.json").write_text("paid for", encoding="utf-8")
    words = (*PROFILE, *ACCOUNT, "--columns", "who")
    error_message(privclust(*words), 10, "profile.json exists already", "--force")
    assert Path("profile.json").read_text(encoding="utf-8") == "paid for"
    assert len(Ledger.open("budget.db").runs("visits")) == 1
    assert privclust(*words, "--force").exit_code == 0
    assert load_profile("profile.json").columns


def test_interrupted_profile_says_how_to_resume_it() -> None:
    words = (*PROFILE, *ACCOUNT, "--columns", "who")
    stopped = privclust(*words, noise=Interrupted(2))
    run = Ledger.open("budget.db").runs("visits")[-1]
    assert f"--resume {run.name}" in error_message(stopped, 130)
    done = privclust(*words, "--resume", run.name)
    assert done.exit_code == 0, done.output
    assert load_profile("profile.json").privacy_statement.run.name == run.name
    assert len(Ledger.open("budget.db").runs("visits")) == 2


def test_quiet_says_nothing() -> None:
    done = privclust(*PROFILE, *ACCOUNT, "--columns", "who", "--quiet", "-o", "quiet.json")
    assert (done.exit_code, done.output) == (0, "")
    assert load_profile("quiet.json").columns[0].column.name == "who"


def test_impossible_profile_is_refused_and_nothing_is_spent() -> None:
    assert "Declare what is missing" in error_message(
        privclust(*PROFILE, *ACCOUNT, "--columns", "height"), 5
    )
    error_message(privclust(*PROFILE, "--columns", "who"), 3, "recorded in a ledger")
    error_message(
        privclust(*PROFILE, "--columns", "who", "--dataset", "visits"), 3, "belong together"
    )
    error_message(privclust(*PROFILE, *ACCOUNT, "--columns", "who", "-o", "table.csv"), 3, ".json")
    too_much = (*PROFILE[:-1], 2.9, *ACCOUNT, "--columns", "who")
    error_message(privclust(*too_much), 8, "nothing was read")
    error_message(
        privclust("report", "model.json", "--profile", "visits.toml"), 12, "not a profile"
    )
    assert len(Ledger.open("budget.db").runs("visits")) == 1
