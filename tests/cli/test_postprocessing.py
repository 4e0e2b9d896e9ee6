"""Commands that take model files and read no row: what they say is what Python says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from helpers.command_line import assert_silent_about_cells, error_message, lay_out, privclust

from privclust import Ledger, PEMeans, PrivateKMeans, compare, compose, load, load_profile, save
from privclust.cli.k_path import WIDTH
from privclust.cli.sample import DIGITS
from privclust.models.composition import CHOSEN_LATER
from privclust.models.formatting import rounded_up, with_error
from privclust.models.profile_file import save_profile

NARROW = {"COLUMNS": "80"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of a table, one of another estimator, and a profile."""
    place = lay_out(tmp_path_factory.mktemp("tables"))
    given: dict[str, Any] = {"delta": 1e-6, "bounds": str(place / "visits.toml"), "random_state": 0}
    table = str(place / "visits.parquet")
    for name, k, epsilon in (("model", 6, 8.0), ("other", 2, 4.0)):
        model = PrivateKMeans(k, epsilon=epsilon, max_clusters=8, **given).fit(table)
        save(model, place / f"{name}.json")
    save(PEMeans(2, **given).fit(table), place / "pe.json")
    bounds = {"who": (0, 400)}
    profile = model.profile(table, ["who"], bounds=bounds, epsilon=1.0)
    save_profile(profile, place / "profile.json")
    for hidden in ("visits.parquet", "visits.csv"):
        (place / hidden).unlink()  # none of these commands needs rows
    return place


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def said(*words: object, **given: object) -> str:
    done = privclust(*words, **given)  # type: ignore[arg-type]
    assert done.exit_code == 0, done.output
    assert_silent_about_cells(done.output)
    return done.stdout


# Clusters ----------------------------------------------------------------------------------------


def test_all_clusters_are_shown_however_narrow_the_terminal() -> None:
    model = load("model.json")
    for width in ("40", "80", "200"):
        shown = said("show", "model.json", env={"COLUMNS": width})
        for number, size in enumerate(model.cluster_sizes_):
            assert f"cluster {number}" in shown
            assert f"{size:.1f} ± " in shown
        assert max(map(len, shown.splitlines()[1:9])) <= int(width)
    assert shown.startswith("PrivateKMeans, 6 clusters, 2 columns ('age', 'weight').\n")


def test_clusters_without_known_errors_are_shown() -> None:
    shown = said("show", "pe.json")
    assert "±" not in shown
    assert "cluster 1" in shown


def test_shown_json_is_that_of_the_fit() -> None:
    shown = json.loads(said("show", "model.json", "--json"))
    model = load("model.json")
    assert shown["cluster_centers"] == model.cluster_centers_.tolist()
    assert shown["statement"] == json.loads(model.privacy_statement_.to_json())


@pytest.mark.parametrize("command", ["show", "k-path", "statement"])
def test_what_is_no_model_is_refused(command: str) -> None:
    error_message(privclust(command, "visits.toml"), 12, "'visits.toml' is not a model")
    error_message(privclust(command, "nowhere.json"), 12, "cannot be read")


# Statements --------------------------------------------------------------------------------------


def test_statement_of_a_model_or_a_profile_is_printed() -> None:
    statement = load("model.json").privacy_statement_
    assert said("statement", "model.json") == f"{statement}\n"
    assert json.loads(said("statement", "model.json", "--json")) == json.loads(statement.to_json())
    assert said("statement", "profile.json") == (
        f"{load_profile('profile.json').privacy_statement}\n"
    )


def test_several_files_are_composed() -> None:
    together = compose(load("model.json"), load_profile("profile.json"))
    assert said("statement", "model.json", "profile.json") == f"{together}\n"
    shown = json.loads(said("statement", "model.json", "profile.json", "--json"))
    assert (shown["epsilon"], shown["delta"]) == (together.epsilon, together.delta)
    assert len(shown["statements"]) == 2
    assert len(shown["runs"]) == 3
    each = [item for one in shown["statements"] for item in one["not_covered"]]
    assert set(shown["not_covered"]) == {*each, CHOSEN_LATER}
    for item in shown["not_covered"]:
        assert said("statement", "model.json", "profile.json").count(item) == 1


def test_runs_beyond_the_total_of_their_data_set_are_named(tmp_path: Path) -> None:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "visits", epsilon=1.5, delta=1e-5)
    given: dict[str, Any] = {"delta": 1e-6, "radius": 1.0, "random_state": 0}
    paid = PrivateKMeans(2, ledger=place, dataset="visits", **given).fit(np.zeros((500, 2)))
    other = PrivateKMeans(2, epsilon=1.6, **given).fit(np.zeros((500, 2)))
    for name, model in (("paid", paid), ("other", other)):
        save(model, tmp_path / f"{name}.json")
    files = tmp_path / "paid.json", tmp_path / "other.json"
    done = privclust("statement", *files)
    assert done.exit_code == 0, done.output
    together = compose(paid, other)
    assert together.epsilon_at(1e-5) > 1.5
    assert "more than the ledger of data set 'visits' admits for all runs: epsilon = 1.5" in (
        done.stderr
    )
    assert f"come to epsilon = {rounded_up(together.epsilon_at(1e-5))}." in done.stderr
    assert privclust("statement", files[0]).stderr == ""


# Numbers of clusters -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("each", "shown_k"), [(16, [1, 2, 3, 4, 5, 6, 7, 8]), (2, [1, 2, 4, 8]), (5, [*range(1, 6), 8])]
)
def test_path_shows_small_numbers_and_some_large_ones_and_prefers_none(
    each: int, shown_k: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["privclust.cli.k_path"], "EACH", each)
    path = load("model.json").k_path()
    assert len(path.choices) == 8
    shown = said("k-path", "model.json", env={**NARROW, "FORCE_COLOR": "1"})
    rows = [line.split("│")[1:-1] for line in shown.splitlines() if line.startswith("│")]
    assert [int(row[0]) for row in rows] == shown_k
    assert (f"Above {each}, only some k are shown" in shown) == (len(shown_k) < 8)
    for row, k in zip(rows, shown_k, strict=True):
        choice = path.choices[k - 1]
        assert row[3].strip() == f"{choice.stability:.2f}"
        assert with_error(choice.loss, choice.stderr) in row[1]
    assert max(len(row[2].rstrip()) for row in rows) <= WIDTH + 1
    places = {
        path.choices[k - 1].loss: row[2].index("●") for row, k in zip(rows, shown_k, strict=True)
    }
    assert [places[loss] for loss in sorted(places)] == sorted(places.values())
    assert "\x1b[1m" not in shown.partition("┩")[2].partition("└")[0]  # no number is bold
    assert "Stability estimates how much another fit would find again" in shown


def test_path_as_json_is_that_of_python() -> None:
    path = load("model.json").k_path()
    shown = json.loads(said("k-path", "model.json", "--json"))
    assert shown["choices"] == [asdict(choice) for choice in path.choices]
    assert shown["is_capped"] is path.is_capped


def test_refit_is_that_of_python_and_needs_no_rows(tmp_path: Path) -> None:
    out = tmp_path / "two.json"
    shown = said("refit", "model.json", "-k", 2, "-o", out)
    assert "No row was read and nothing was spent. Wrote two.json." in shown
    expected = load("model.json").refit(2)
    assert load(out).cluster_centers_.tolist() == expected.cluster_centers_.tolist()
    assert str(load(out).privacy_statement_) == str(expected.privacy_statement_)
    error_message(privclust("refit", "model.json", "-k", 3, "-o", out), 10, "--force")
    assert len(load(out).cluster_centers_) == 2
    as_json = json.loads(said("refit", "model.json", "-k", 3, "-o", out, "--force", "--json"))
    assert len(as_json["cluster_sizes"]) == len(load(out).cluster_centers_) == 3


def test_quiet_refit_says_nothing(tmp_path: Path) -> None:
    assert said("refit", "model.json", "-k", 2, "-o", tmp_path / "two.json", "-q") == ""
    assert len(load(tmp_path / "two.json").cluster_centers_) == 2


def test_refit_that_cannot_be(tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    many = privclust("refit", "model.json", "-k", 900, "-o", out)
    error_message(many, 11, "--max-clusters 900")
    error_message(privclust("refit", "model.json", "-k", 0, "-o", out), 3, "at least 1")
    error_message(privclust("refit", "pe.json", "-k", 2, "-o", out), 3, "a model of PEMeans")
    error_message(privclust("refit", "model.json", "-k", 2, "-o", "model.json"), 10)
    assert not out.exists()


# Comparisons -------------------------------------------------------------------------------------


def test_comparison_is_that_of_python() -> None:
    found = compare(load("model.json"), load("other.json"))
    shown = said("compare", "model.json", "other.json")
    for one, other in found.pairs:
        assert f"{one} -> {other}" in shown
    assert f"of the first model cluster {', '.join(map(str, found.gone))}." in shown
    assert "numbers are after less before" in shown
    assert shown.endswith("tell of the same people, what both come to together holds.\n")
    assert all(move in shown for move in found.moves("yes", "no"))
    as_json = json.loads(said("compare", "model.json", "other.json", "--json"))
    assert as_json["moved_columns"] == found.moved_columns.tolist()
    assert as_json["shifts"] == found.shifts.tolist()
    assert as_json["moved"] == found.moved.tolist()
    assert as_json["differences"] == list(found.differences)
    unknown = json.loads(said("compare", "pe.json", "other.json", "--json"))
    assert unknown["shift_stderr"] is None


def test_comparison_of_other_numbers_says_how_to_have_one(tmp_path: Path) -> None:
    shown = said("compare", "model.json", "other.json")
    assert "The first model has 6 cluster(s) and the second 2" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("    privclust refit")]
    assert line.split()[1:5] == ["refit", "model.json", "-k", "2"]
    same = tmp_path / "two.json"
    said(*line.split()[1:-1], same)
    assert "privclust refit" not in said("compare", same, "other.json")
    back = said("compare", "other.json", "model.json")
    assert "privclust refit model.json -k 2" in back


def test_comparison_of_other_columns_is_refused(tmp_path: Path) -> None:
    model = PrivateKMeans(1, delta=1e-6, radius=1.0, max_clusters=2).fit(np.zeros((500, 2)))
    save(model, tmp_path / "unlike.json")
    words = ("compare", "model.json", tmp_path / "unlike.json")
    error_message(privclust(*words), 5, "different columns")


# Made-up rows ------------------------------------------------------------------------------------


def test_sample_is_that_of_python(tmp_path: Path) -> None:
    expected = load("model.json").sample(50, 3)
    for name, read in (("s.csv", pyarrow.csv.read_csv), ("s.parquet", pq.read_table)):
        said("sample", "model.json", "--rows", 50, "--seed", 3, "-o", tmp_path / name)
        drawn = read(tmp_path / name)
        assert drawn.column_names == ["age", "weight"]
        assert np.allclose(np.column_stack([drawn["age"], drawn["weight"]]), expected, rtol=1e-5)
        assert max(len(str(age)) for age in drawn["age"].to_pylist()) <= DIGITS + 1


def test_sample_names_columns_of_small_weight(tmp_path: Path) -> None:
    """Cells are as wide in every column, so that these are wider there than rows are."""
    light = {"type": "number", "lower": 0, "upper": 300, "weight": 0.2}
    rows = pa.table({"age": [30.0, 70.0] * 2000, "weight": [60.0, 80.0] * 2000})
    model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120), "weight": light}).fit(rows)
    save(model, tmp_path / "light.json")
    shown = said("sample", tmp_path / "light.json", "--rows", 5, "-o", tmp_path / "s.csv")
    assert "spread more widely there than in the table: 'weight'." in shown
    shown = said("sample", "model.json", "--rows", 5, "-o", tmp_path / "t.csv")
    assert "spread more widely" not in shown


def test_sample_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("mine")
    words = ("sample", "model.json", "--rows", 5, "-o")
    error_message(privclust(*words, tmp_path / "s.csv"), 10, "--force")
    error_message(privclust(*words, tmp_path / "s.txt"), 3, ".csv")


def test_a_reader_who_has_seen_enough_is_no_error(folder: Path) -> None:
    command = [sys.executable, "-m", "privclust", "k-path", "model.json"]
    shown = subprocess.Popen(command, cwd=folder, stdout=PIPE, stderr=PIPE)
    assert shown.stdout is not None
    shown.stdout.close()
    _, errors = shown.communicate()
    assert errors == b""
