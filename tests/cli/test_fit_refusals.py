"""Whatever is wrong is one message, with its own exit code, at no cost and without a cell."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.command_line import BOUNDS, N_ROWS, error_message, lay_out, privclust, visits
from typer.testing import CliRunner

from privclust import Ledger
from privclust.cli import app
from privclust.cli.messages import CANNOT_WRITE, EXIT_CODES
from privclust.privacy.accounting import Spend

FAST = ("-k", 2, "--delta", 1e-6, "--seed", 0, "--max-clusters", 4)
MANUAL = Path(__file__).parents[2] / "docs" / "command-line.md"
NOBODY = 65534


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = lay_out(tmp_path_factory.mktemp("tables"))
    made = Ledger.create(str(place / "budget.db"), "visits", epsilon=0.5, delta=1e-6)
    made.add("people", 0.5, 1e-6, "who")
    return place


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "visits", epsilon=4.0, delta=1e-6)
    return place


def left(ledger: str) -> Spend:
    return Ledger.open(ledger).remaining("visits")


def table_of_codes() -> dict[int, str]:
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", MANUAL.read_text(), re.MULTILINE)
    return {int(code): cause for code, cause in rows}


def test_the_manual_lists_the_codes_that_there_are() -> None:
    assert set(table_of_codes()) == {0, 1, 2, CANNOT_WRITE, *EXIT_CODES.values()}


def test_nothing_is_spent_on_a_model_that_nobody_keeps() -> None:
    before = left("budget.db")
    words = ("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, *LEDGER)
    error_message(CliRunner().invoke(app, [str(word) for word in words]), 3, "--out is missing")
    assert left("budget.db") == before


LEDGER = ("--ledger", "budget.db", "--dataset", "visits")


@pytest.mark.parametrize(
    ("words", "code", "cause", "remedy"),
    [
        (("--epsilon", 0), 3, "epsilon must lie between", "Common choices lie between"),
        (("--epsilon", "nan"), 3, "epsilon must lie between", "Common choices"),
        (("--epsilon", "inf"), 3, "adds no noise", "Type a finite one such as 1"),
        (("--delta", 1), 3, "delta must be", "such as 1e-6"),
        (("--clusters", 0), 3, "at least 1, got 0", "Type one such as 8"),
        (("--max-clusters", -1), 3, "at least 1, got -1", "Type one such as 8"),
        (("--max-rows-per-unit", 5), 3, "--max-rows-per-unit", "Leave both out"),
        (("--seed", -1), 3, "from 0 up, got -1", ""),
        (("--bounds", "nowhere.toml"), 4, "'nowhere.toml' cannot be read", "Check its path"),
        (("--unit", "nobody"), 5, "--unit nobody is not a column", "Name the column that says"),
        (("--unit", "whose"), 5, "It has 'age', 'weight', 'who', 'name'.", "Did you mean 'who'"),
        ((*LEDGER, "--dataset", "people"), 3, "this fit per row. Type --unit who, or", ""),
        (
            (*LEDGER, "--unit", "who"),
            3,
            "To protect each 'who'",
            "A fit without --unit who protects",
        ),
        (("--unit", "age"), 4, "which is the unit", "Take it out of the bounds"),
        (("nowhere.parquet",), 7, "no Parquet, CSV, Excel or Arrow files", "Give a file, a folder"),
        (("empty",), 7, "no Parquet, CSV, Excel or Arrow files", "Give a file, a folder"),
        (("visits.txt",), 7, "'visits.txt' has none of the endings", "Rename it"),
        (("cut.parquet",), 7, "'cut.parquet' cannot be read", "write it anew"),
        (("smashed.parquet",), 7, "the rows could not be read", "Check that the table"),
        (LEDGER, 8, "budget does not cover this run", "Ask for at most --epsilon"),
        (("--ledger", "nowhere.db", "--dataset", "visits"), 9, "no ledger", "ledger create"),
        (("--ledger", "visits.toml", "--dataset", "visits"), 9, "not a database", "Check that"),
        (("--ledger", "budget.db"), 3, "--ledger and --dataset", "Type both or neither"),
        ((*LEDGER, "--dataset", "x"), 9, "no data set 'x'; it has 'visits', 'people'", "creates"),
        ((*LEDGER, "--resume", "feed"), 9, "no run 'feed'", "'privclust ledger runs' lists"),
        (("--rows", 1), 11, "is more than", "Ask for fewer clusters"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_wrong_option_is_one_message_with_its_code(
    words: tuple[object, ...], code: int, cause: str, remedy: str
) -> None:
    # Where an option is typed twice the last one counts.
    result = privclust("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, *words)
    error_message(result, code, cause, remedy)
    assert result.stdout == ""


def test_a_refused_fit_leaves_no_file(tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    failing = ("--epsilon", 0, "--out", out, "--force")
    error_message(privclust("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, *failing), 3)
    assert not out.exists()


def test_bounds_have_to_be_given(folder: Path) -> None:
    words = ("--bounds is missing", "\n    privclust bounds init visits.parquet")
    error_message(privclust("fit", "visits.parquet", *FAST), 4, *words)


HEAD, AGE, WEIGHT = BOUNDS.split("\n\n")


@pytest.mark.parametrize(
    ("content", "code", "cause"),
    [
        (f"{AGE}", 4, "bounds_origin"),
        (f"{HEAD}\n[columns.age", 4, "not valid TOML"),
        (f"{HEAD}\ncolumns = 5", 4, "columns"),
        (f"{HEAD}\n[columns]\nage = 5", 4, "'age'"),
        (f"{HEAD}\n{AGE}".replace("120", "0"), 4, "'age' must be two finite numbers"),
        (f"{HEAD}\n{AGE}".replace("120", "'120'"), 4, "Type one without quotes"),
        (f"{HEAD}\n{AGE}".replace("120", "1e200"), 4, "1e+150"),
        (f"{HEAD}\n{AGE}\nweight = 0", 4, "weight"),
        (f"{HEAD}\n{AGE}".replace('"number"', '"text"'), 4, "has type 'text'"),
        (f"{HEAD}\n{AGE}".replace("age", "salary"), 5, "salary"),
        (f"{HEAD}\n", 5, ""),
        (f"{HEAD}\n{AGE}".replace("age", "name"), 6, "do not hold numbers: name"),
        (f"{HEAD}\n{AGE}\n# ü".encode("latin-1"), 4, "bounds.toml"),
    ],
)
def test_faulty_bounds_file_is_one_message_with_its_code(
    content: str | bytes, code: int, cause: str, tmp_path: Path
) -> None:
    file = tmp_path / "bounds.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    error_message(privclust("fit", "visits.parquet", *FAST, "--bounds", file), code, cause)


def test_a_message_is_all_that_is_on_standard_error() -> None:
    failed = privclust("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, "--epsilon", 0)
    assert failed.stderr.startswith("privclust: ")


# Files -------------------------------------------------------------------------------------------


@contextmanager
def without_rights() -> Iterator[Path]:
    """Make a folder whose table this user may not read, even if this user is root."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory(prefix="privclust-") as place:
        os.chmod(place, 0o755)
        folder = lay_out(Path(place))
        (folder / "visits.parquet").chmod(0)
        (folder / "visits.csv").chmod(0)
        if user == 0:
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("table", ["visits.parquet", "visits.csv"])
def test_a_file_that_this_user_may_not_read(table: str) -> None:
    with without_rights() as folder:
        result = privclust("fit", folder / table, "--bounds", folder / "visits.toml", *FAST)
    error_message(result, 7, table, "Permission denied", "Check the path and your rights")


def test_a_compressed_file_that_is_not(folder: Path) -> None:
    result = privclust("fit", "plain.csv.gz", "--bounds", "visits.toml", *FAST)
    error_message(result, 7, "'plain.csv.gz'", "Write it anew")


def test_rows_that_break_during_a_paid_fit_are_one_message_that_says_how_to_resume(
    ledger: str,
) -> None:
    paid = ("--ledger", ledger, "--dataset", "visits")
    result = privclust("fit", "smashed.parquet", "--bounds", "visits.toml", *FAST, *paid)
    (run,) = Ledger.open(ledger).runs("visits")
    error_message(result, 7, "the rows could not be read", f"--resume {run.name}")


# What cannot be written --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "cause", "remedy"),
    [
        ("nowhere/model.json", "there is no folder", "Make it"),
        ("empty", "Is a directory", "Choose a place"),
        ("visits.toml/model.json", "there is no folder", "Make it"),
        ("full", "No space left on device", "Free some space"),
    ],
)
def test_nothing_is_spent_on_a_model_that_cannot_be_written(
    out: str, cause: str, remedy: str, ledger: str
) -> None:
    before = left(ledger)
    paid = ("--ledger", ledger, "--dataset", "visits", "--out", out)
    result = privclust("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, *paid)
    error_message(result, 10, f"{Path(out).name} could not be written", cause, remedy)
    assert result.stdout == ""
    assert left(ledger) == before


@pytest.mark.attack
def test_model_that_is_there_is_kept_and_nothing_is_spent_unless_forced(
    ledger: str, tmp_path: Path
) -> None:
    before, out = left(ledger), tmp_path / "paid.json"
    out.write_text("paid for")
    paid = ("--ledger", ledger, "--dataset", "visits", "--out", out)
    words = ("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, *paid)
    error_message(
        privclust(*words), 10, "paid.json exists already and may have cost budget", "--force"
    )
    assert (left(ledger), out.read_text()) == (before, "paid for")
    assert privclust(*words, "--force").exit_code == 0
    assert "privclust model" in out.read_text()


def test_a_refused_fit_leaves_the_model_file_that_was_there(tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    out.write_text("a model")
    failing = ("--epsilon", 0, "--out", out, "--force")
    error_message(privclust("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, *failing), 3)
    assert out.read_text() == "a model"


@pytest.mark.parametrize("out", ["visits.parquet", "visits.toml"])
def test_a_fit_does_not_write_over_what_it_reads(out: str, tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    before = (place / out).read_bytes()
    given = ("--bounds", place / "visits.toml", *FAST, "--out", place / out)
    assert privclust("fit", place / "visits.parquet", *given).exit_code != 0
    assert (place / out).read_bytes() == before


def test_the_model_may_lie_beside_the_tables(tmp_path: Path) -> None:
    place = lay_out(tmp_path) / "parts"
    given = ("--bounds", tmp_path / "visits.toml", *FAST, "--out", place / "model.json")
    for again in ((), ("--force",)):
        done = privclust("fit", place / "*.parquet", *given, *again)
        assert done.exit_code == 0, done.output


def test_warnings_are_messages_and_show_no_code(recwarn: pytest.WarningsRecorder) -> None:
    """The warning of too many clusters goes to standard error, not through Python's warnings."""
    assert visits().num_rows == N_ROWS
    done = privclust("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, "-k", 60)
    assert done.exit_code == 0, repr(done.exception)
    assert len(recwarn) == 0
    assert "can hardly be found" in done.stderr
    assert ".py" not in done.stderr
