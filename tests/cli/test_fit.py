"""``privclust fit`` clusters files as Python does, and says so where it should."""

from __future__ import annotations

import json
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_line import (
    BOUNDS,
    N_ROWS,
    assert_silent_about_cells,
    error_message,
    lay_out,
    privclust,
)
from helpers.interruptions import Interrupted
from typer.testing import Result

from privclust import Ledger, PrivateKMeans, load
from privclust.estimators._progress import Clock
from privclust.models.model_file import to_json
from privclust.privacy.noise import OpenDPNoise
from privclust.privacy.progress import Step
from privclust.testing import RepeatableNoise, noise_from

FEW = ("-k", 2, "--delta", 1e-6, "--max-clusters", 4)
FAST = (*FEW, "--seed", 0)
TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("tables"))


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def twin(folder: Path) -> PrivateKMeans:
    """The same fit in Python."""
    model = PrivateKMeans(
        2, delta=1e-6, bounds=str(folder / "visits.toml"), max_clusters=4, random_state=0
    )
    with noise_from(RepeatableNoise(0)):
        return model.fit(str(folder / "visits.parquet"))


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "visits", epsilon=4.0, delta=1e-6)
    Ledger.create(place, "people", epsilon=4.0, delta=1e-6, unit="who")
    return place


def fit(*words: object, **given: Any) -> Result:
    result = privclust("fit", "visits.parquet", "--bounds", "visits.toml", *words, **given)
    assert_silent_about_cells(result.output)
    return result


def fitted(*words: object, **given: Any) -> Result:
    result = fit(*words, **given)
    assert result.exit_code == 0, result.output
    return result


# What it gives -----------------------------------------------------------------------------------


def test_next_week_starts_from_this_weeks_model_and_has_its_own_share(tmp_path: Path) -> None:
    place, first = str(tmp_path / "year.db"), str(tmp_path / "first.json")
    Ledger.create(place, "visits", epsilon=4.0, delta=1e-6, periods=4)
    paid = (*FAST, "--epsilon", 1.5, "--ledger", place, "--dataset", "visits")
    fitted(*paid, "--period", "2026-W07", "--out", first)
    second = str(tmp_path / "second.json")
    fitted(*paid, "--period", "2026-W08", "--init", first, "--out", second)
    runs = Ledger.open(place).runs("visits")
    assert [run.facts["period"] for run in runs] == ["2026-W07", "2026-W08"]
    (start,) = load(second).privacy_statement_.dependencies
    assert (start.role, start.run.name) == ("start", runs[0].name)
    third = str(tmp_path / "third.json")
    assert fit(*paid, "--period", "2026-W08", "--out", third).exit_code == 8


@pytest.mark.parametrize(
    "tables",
    [
        ("visits.parquet",),
        ("visits.csv",),
        ("parts/a.parquet", "parts/b.parquet"),
        ("parts",),
        ("parts/*.parquet",),
    ],
    ids=" ".join,
)
def test_the_model_file_is_that_of_python_whatever_files_hold_the_rows(
    tables: tuple[str, ...], twin: PrivateKMeans, tmp_path: Path
) -> None:
    out = tmp_path / "model.json"
    done = privclust("fit", *tables, "--bounds", "visits.toml", *FAST, "--out", out)
    assert done.exit_code == 0, done.output
    assert nameless(json.loads(out.read_text())) == nameless(json.loads(to_json(twin)))
    assert f"Wrote model.json; next:\n    privclust report {out} -o report.html" in done.stdout


def nameless(content: Any) -> Any:
    """Return a model's content without the name of its run, which is random."""
    del content["statement"]["run"]["name"]
    return content


def test_real_noise_makes_a_model_that_says_it_is_private(tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    fitted(*FEW, "--out", out, noise=OpenDPNoise())
    assert load(out).privacy_statement_.private
    assert json.loads(out.read_text())["private"] is True


def test_unit_is_that_of_the_guarantee(ledger: str) -> None:
    shown = fitted(
        *FAST,
        "--unit",
        "who",
        "--max-rows-per-unit",
        2,
        "--ledger",
        ledger,
        "--dataset",
        "people",
        "--json",
    )
    statement = json.loads(shown.stdout)["statement"]
    assert statement["unit"] == "who"
    assert "than 2 rows may" in statement["adjacency"]


def test_a_typed_number_of_rows_replaces_the_count() -> None:
    shown = json.loads(fitted(*FAST, "--rows", 600, "--json", noise=OpenDPNoise()).stdout)
    assert shown["n_rows"] == 600
    assert shown["statement"]["replacing_epsilon"] > 1


# What it says ------------------------------------------------------------------------------------


def test_the_outcome_is_a_table_on_standard_output(twin: PrivateKMeans) -> None:
    shown = fitted(*FAST)
    for words in ("rows", "age", "weight", "cluster 0", "cluster 1"):
        assert words in shown.stdout
    assert f"{twin.cluster_sizes_[0]:.0f} ± " in shown.stdout
    for sentence in twin.model_.quality_sentences:
        assert sentence in " ".join(shown.stdout.split())
    assert "No ledger recorded this fit" in shown.stdout
    assert "Wrote kept.json" in shown.stdout
    assert shown.stderr.strip() == ""


def test_clusters_are_shown_below_each_other_and_those_after_three_tables_counted() -> None:
    words = ("-k", 14, "--delta", 1e-6, "--epsilon", 8, "--seed", 0)
    narrow = fitted(*words, env={"COLUMNS": "80"}).stdout
    shown = narrow.count("cluster ")
    assert 3 * 2 <= shown < 14
    assert narrow.count("│ rows") == 3
    assert f"and {14 - shown} smaller. All of them:\n    privclust show " in narrow
    wide = fitted(*words).stdout
    assert "cluster 13" in wide
    assert "smaller" not in wide


def test_protected_unit_is_named_and_how_to_protect_people() -> None:
    assert "The protected unit is one row." in fitted(*FAST).stdout
    assert "--unit COLUMN" in fitted(*FAST).stdout
    by_person = fitted(*FAST, "--unit", "who", "--max-rows-per-unit", 3).stdout
    assert "all rows of one 'who'. Each 'who' counts as 3 rows at most." in by_person
    assert "one row" not in by_person


def test_json_has_what_the_fit_warned_of() -> None:
    shown = fitted("-k", 40, "--delta", 1e-6, "--json")
    warning = json.loads(shown.stdout)["fit_warning"]
    assert "40 cluster(s) can hardly be found" in warning
    assert "40 cluster(s) can hardly be found" in shown.stderr


def test_json_is_the_model_without_its_results(twin: PrivateKMeans) -> None:
    shown = fitted(*FAST, "--json", env=TERMINAL)
    assert shown.stderr == ""
    summary, whole = json.loads(shown.stdout), json.loads(to_json(twin))
    whole["statement"] = json.loads(twin.privacy_statement_.to_json())
    assert nameless(summary) == nameless({name: whole[name] for name in summary})
    assert set(summary) == {
        "columns",
        "cluster_centers",
        "cluster_sizes",
        "size_stderr",
        "quality",
        "fit_warning",
        "n_rows",
        "statement",
    }


def test_quiet_says_nothing(tmp_path: Path) -> None:
    done = fitted(*FAST, "--quiet", "--out", tmp_path / "model.json", env=TERMINAL)
    assert done.output == ""
    assert (tmp_path / "model.json").stat().st_size > 0


def test_brackets_in_the_names_of_columns_are_shown_as_they_are(tmp_path: Path) -> None:
    table = pa.table({"[/red] [b]": [20.0] * 400})
    pq.write_table(table, tmp_path / "odd.parquet")
    head, age, _ = BOUNDS.split("\n\n")
    (tmp_path / "odd.toml").write_text(f"{head}\n{age}\n".replace("age", '"[/red] [b]"'))
    done = privclust(
        "fit", tmp_path / "odd.parquet", "--bounds", tmp_path / "odd.toml", *FAST, "-k", 1
    )
    assert "[/red] [b]" in done.stdout


# How far it is -----------------------------------------------------------------------------------


def test_progress_by_query_is_on_standard_error_alone() -> None:
    shown = fitted(*FAST, env=TERMINAL)
    assert "measuring " in shown.stderr
    assert "query " in shown.stderr
    assert str(N_ROWS) not in shown.stderr
    assert "measuring " not in shown.stdout
    assert "query " not in shown.stdout


def test_a_log_has_no_trace_of_the_bar() -> None:
    assert fitted(*FAST).stderr == ""


def test_clock_knows_nothing_first_and_then_goes_by_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("privclust.estimators._progress.time.monotonic", lambda: now)
    clock = Clock()
    assert clock.left(Step("locate 1", False, 0, 9, whole=True)) is None
    now = 2.0
    assert clock.left(Step("locate 1", True, 0, 9, whole=True)) == pytest.approx(18)
    assert clock.left(Step("split 1", False, 1, 8, whole=False)) == pytest.approx(16)
    now = 3.0
    # Four of the eight that are left ask all rows, as always; the others a sample.
    assert clock.left(Step("split 1", True, 1, 8, whole=False)) == pytest.approx(4 * 2 + 4 * 1)


# Ledgers -----------------------------------------------------------------------------------------


def test_a_fit_is_recorded_and_the_model_is_found_in_its_ledger(
    ledger: str, tmp_path: Path
) -> None:
    out = tmp_path / "model.json"
    done = fitted(*FAST, "--ledger", ledger, "--dataset", "visits", "--out", out)
    (run,) = Ledger.open(ledger).runs("visits")
    left = f"Run {run.name} of data set 'visits', which has epsilon "
    assert left in " ".join(done.stdout.split())
    verified = privclust("ledger", "verify", ledger, "--model", out).stdout
    assert verified.startswith("the ledger is intact.\n")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that was started in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_fit_says_how_to_resume_it_and_ends_as_its_twin(
    ledger: str, twin: PrivateKMeans, tmp_path: Path
) -> None:
    paid = (*FAST, "--ledger", ledger, "--dataset", "visits", "--out", tmp_path / "model.json")
    impatient = Interrupted(4, lambda: signal.raise_signal(signal.SIGINT))
    message = error_message(fit(*paid, noise=impatient), 130, "interrupted")
    (run,) = Ledger.open(ledger).runs("visits")
    assert f"--resume {run.name}" in message
    fitted(*paid, "--resume", run.name)
    resumed = load(tmp_path / "model.json")
    assert resumed.cluster_centers_.tolist() == twin.cluster_centers_.tolist()
    assert len(Ledger.open(ledger).runs("visits")) == 1
    assert Ledger.open(ledger).verify() == []


@pytest.mark.usefixtures("interruptible")
def test_the_same_command_after_a_crash_says_how_to_resume(ledger: str, tmp_path: Path) -> None:
    paid = (*FAST, "--ledger", ledger, "--dataset", "visits", "--out", tmp_path / "model.json")
    fit(*paid, noise=Interrupted(4))
    (run,) = Ledger.open(ledger).runs("visits")
    message = " ".join(fitted(*paid).stderr.split())
    assert f"privclust: data set 'visits' has an open run, {run.name}" in message
    assert f"at no further cost by --resume {run.name}." in message


def test_finished_run_gives_its_model_again_at_no_cost(ledger: str, tmp_path: Path) -> None:
    paid = (*FEW, "--ledger", ledger, "--dataset", "visits", "--json")
    first = json.loads(fitted(*paid).stdout)
    left = Ledger.open(ledger).remaining("visits")
    run = first["statement"]["run"]["name"]
    again = json.loads(fitted(*paid, "--resume", run, noise=RepeatableNoise(1)).stdout)
    assert again["cluster_centers"] == first["cluster_centers"]
    assert Ledger.open(ledger).remaining("visits") == left


# How it is started -------------------------------------------------------------------------------


def test_the_module_and_the_script_are_the_same_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["?", "ledger", "remaining", str(tmp_path / "nowhere.db")])
    monkeypatch.delitem(sys.modules, "privclust.__main__", raising=False)
    (script,) = entry_points(group="console_scripts", name="privclust")
    outcomes = []
    starts = (lambda: runpy.run_module("privclust", run_name="__main__"), lambda: script.load()())
    for start in starts:
        with pytest.raises(SystemExit) as ended:
            start()
        outcomes.append((ended.value.code, *capsys.readouterr()))
    module, installed = outcomes
    assert module == installed
    assert module[0] == 9
    assert module[2].startswith("privclust: there is no ledger at ")


STOPPED_WHILE_LOADING = """
import sys
class Impatient:
    def find_spec(self, name, *rest):
        if name == "privclust.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Impatient())
from privclust.__main__ import main
main()
"""


def test_an_interrupt_while_libraries_load_shows_no_traceback() -> None:
    stopped = subprocess.run(
        [sys.executable, "-c", STOPPED_WHILE_LOADING], capture_output=True, text=True
    )
    assert "Traceback" not in stopped.stderr
    assert stopped.returncode == 130


def test_an_interrupt_before_the_fit_begins_ends_as_one_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("privclust.__getattr__", stop)
    stopped = fit(*FAST)
    assert stopped.exit_code == 130
    assert "Traceback" not in stopped.output
