"""Commands that other commands suggest run as they are printed, in folders with spaces too."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from helpers.command_line import privclust
from typer.testing import Result

from privclust.cli.messages import INDENT
from privclust.testing import SeededNoise

TABLE = "of people/stays in 2025.csv"
BOUNDS = "of people/my bounds.toml"
TYPED = ("--unit", "patient id", "--delimiter", ";", "--decimal", ",")
FIT = ("-k", 2, "--epsilon", 4, "--delta", 1e-6, "--seed", 0)


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("of people").mkdir()
    nights = 5.0 + 20.0 * np.tile([0, 1], 2000) + np.linspace(-1, 1, 4000).round(1)
    lines = [f"P{place};{night:.1f}".replace(".", ",") for place, night in enumerate(nights)]
    Path(TABLE).write_text("\n".join(["patient id;nights", *lines]), encoding="utf-8")


def run(*words: object) -> Result:
    done = privclust(*words, noise=SeededNoise(0))
    assert done.exit_code == 0, done.output
    return done


def suggested(text: str, **placeholders: str) -> list[list[str]]:
    """Return the words of each command that a text suggests."""
    lines = [line for line in text.splitlines() if line.startswith(f"{INDENT}privclust ")]
    found = [shlex.split(line)[1:] for line in lines]
    return [[placeholders.get(word, word) for word in words] for words in found]


def fill_in(bounds: Path) -> None:
    text = bounds.read_text(encoding="utf-8").replace(
        'bounds_origin = ""', 'bounds_origin = "public data"'
    )
    for side, value in (("lower", 0), ("upper", 40)):
        text = text.replace(f"# {side} =   fill in and uncomment", f"{side} = {value}")
    bounds.write_text(text, encoding="utf-8")


def test_from_a_table_to_a_report() -> None:
    refused = privclust("fit", TABLE, *TYPED, *FIT, "--out", "model.json")
    (init,) = suggested(refused.stderr)
    assert init == ["bounds", "init", TABLE, *TYPED]
    assert "type your line again with --bounds bounds.toml" in refused.stderr
    written = run(*init, "-o", BOUNDS).stdout
    check, fit = suggested(written)
    assert "-k" not in fit  # nobody typed one
    assert "Add -k for another number of clusters than 8, and --ledger and --dataset" in written
    assert "patient id" not in Path(BOUNDS).read_text(encoding="utf-8")
    fill_in(Path(BOUNDS))
    (same,) = suggested(run(*check).stdout)
    assert same == fit
    (report,) = suggested(run(*fit).stdout)
    run(*report)
    assert "patient id" in Path("report.html").read_text(encoding="utf-8")


def test_from_many_clusters_to_all_of_them_and_from_a_profile_to_a_report() -> None:
    run("bounds", "init", TABLE, *TYPED, "-o", BOUNDS)
    fill_in(Path(BOUNDS))
    model, profile = "of people/my model.json", "of people/my profile.json"
    words = ("fit", TABLE, "--bounds", BOUNDS, "--delimiter", ";", "--decimal", ",", *FIT)
    show, report = suggested(
        privclust(*words, "-k", 8, "-o", model, noise=SeededNoise(0), env={"COLUMNS": "30"}).stdout
    )
    run(*show)
    run(*report)
    about = ("--columns", "nights", "--bounds", BOUNDS, "--epsilon", 1, "-o", profile)
    (shown,) = suggested(run("profile", model, TABLE, *about).stdout)
    run(*shown, "--force")


def test_from_a_forecast_to_a_simulation() -> None:
    Path("public.csv").write_text(
        "x,y\n" + "\n".join(f"{i % 7},{i % 5}" for i in range(500)), encoding="utf-8"
    )
    planned = run("plan", "--rows", 500, "--columns", 2, "-k", 2, "--delta", 1e-6).stdout
    (simulate,) = suggested(planned, FILE="public.csv")
    run(*simulate, "--repeats", 1)


def test_from_an_approval_to_a_signature_and_a_check() -> None:
    run("bounds", "init", TABLE, *TYPED, "-o", BOUNDS)
    fill_in(Path(BOUNDS))
    paid = ("--ledger", "of people/budget.db", "--dataset", "stays")
    run("ledger", "create", paid[1], "stays", "--epsilon", 8, "--delta", 1e-5, "--unit", TYPED[1])
    run("fit", TABLE, *TYPED, "--bounds", BOUNDS, *FIT, *paid, "-o", "of people/model.json")
    Path("passphrase").write_text("correct horse battery staple", encoding="utf-8")
    Path("passphrase").chmod(0o600)
    typed = ("--passphrase-file", "passphrase")
    run("keygen", "of people/officer.key", *typed)
    names = ("--purpose", "staffing", "--requested-by", "A. Ito", "--approved-by", "B. Sow")
    to = ("--ledger", paid[1], "-o", "of people/approval.json")
    approved = run("approve", "of people/model.json", *names, *to).stdout
    (sign,) = suggested(approved, **{"YOURS.key": "of people/officer.key"})
    (verify,) = suggested(run(*sign, *typed, "-o", "of people/signature.json").stdout)
    run(*verify)


def test_ids_that_are_no_column_are_refused_before_a_file_is_written() -> None:
    given = ("--unit", "patient", *TYPED[2:])
    assert privclust("bounds", "init", TABLE, *given, "-o", BOUNDS).exit_code == 5
    assert not Path(BOUNDS).exists()


def test_recorded_fit_suggests_the_page_to_sign() -> None:
    run("bounds", "init", TABLE, *TYPED, "-o", BOUNDS)
    fill_in(Path(BOUNDS))
    run("ledger", "create", "a budget.db", "stays", *FIT[2:6], "--unit", "patient id")
    account = ("--ledger", "a budget.db", "--dataset", "stays")
    done = run("fit", TABLE, *TYPED, "--bounds", BOUNDS, *FIT, *account, "-o", "a model.json")
    assert "More of them count with --max-rows-per-unit" in done.stdout
    report, approve = suggested(done.stdout, PURPOSE="staffing", NAME="A. Ito")
    assert report[0] == "report"
    assert approve[:4] == ["approve", "a model.json", "--ledger", "a budget.db"]
    assert "--purpose" in approve
