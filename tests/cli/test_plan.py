"""``privclust plan`` and ``simulate`` say what Python says, and fail in one message."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_line import error_message, privclust

from privclust.planning.forecast import forecast
from privclust.planning.simulate import Simulation
from privclust.planning.spark_cost import READ_SECONDS, spark_cost

TYPED = ("--rows", 20_000, "--columns", 10, "-k", 6, "--delta", 1e-6)
TWO = ("--rows", 2000, "--columns", 2, "-k", 2, "--delta", 1e-6, "--repeats", 1)
PNG = b"\x89PNG"


def test_plan_prints_the_forecast_and_other_epsilons_beside_it() -> None:
    shown = privclust("plan", *TYPED, "--epsilon", 0.7)
    assert shown.exit_code == 0
    assert shown.stderr == ""
    lines = str(forecast(20_000, 10, 6, epsilon=0.7, delta=1e-6)).splitlines()
    for line in lines:
        if "time: " not in line:  # which is measured
            assert line in shown.stdout
    assert "have equal sizes" in lines[-3]
    assert "a category as one for each of its levels" in lines[-2]
    assert "    privclust simulate --rows 20000 --columns 10 -k 6 --epsilon 0.7" in shown.stdout
    for epsilon in ("0.25", "0.5", "0.7", "1", "2", "4", "8"):
        assert f"│ {epsilon} " in shown.stdout


def test_json_is_the_forecast() -> None:
    shown = json.loads(privclust("plan", *TYPED, "--json").stdout)
    expected = forecast(20_000, 10, 6, delta=1e-6)
    assert shown.pop("found") is expected.found
    assert shown.pop("seconds") > 0
    assert shown == {name: getattr(expected, name) for name in shown}
    assert {"ratio", "size_stderr", "smallest", "rows_needed", "epsilon_needed"} < set(shown)


def test_where_clusters_will_not_be_found_it_says_what_it_would_take() -> None:
    shown = privclust("plan", "--rows", 100, "--columns", 10, "-k", 6, "--delta", 1e-6).stdout
    assert "clusters will hardly be found" in shown
    assert "it would take about" in shown


def test_plan_counts_rows_by_unit() -> None:
    given = ("plan", "--rows", 20_000, "--columns", 4, "--delta", 1e-6, "--json")
    shown = json.loads(privclust(*given, "--max-rows-per-unit", 50).stdout)
    expected = forecast(20_000, 4, delta=1e-6, max_rows_per_unit=50)
    assert (shown["found"], shown["rows_needed"]) == (False, expected.rows_needed)
    assert json.loads(privclust(*given).stdout)["found"]


def test_plan_says_what_counts() -> None:
    given = ("plan", "--rows", 20_000, "--columns", 4, "--delta", 1e-6)
    assert "  protected: one row; if a fit has a unit it is one id" in privclust(*given).stdout
    shown = privclust(*given, "--max-rows-per-unit", 30).stdout
    assert "all rows of one id, of which up to 30 count" in shown
    assert "if all 20,000 rows do, they are those of at least 667 ids" in shown


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "plan.png").write_text("kept")
    drawn = ("plan", *TYPED, "--picture", tmp_path / "plan.png")
    refused = privclust(*drawn)
    error_message(refused, 10, "plan.png exists already", "--force")
    assert refused.stdout == ""
    assert (tmp_path / "plan.png").read_text() == "kept"
    done = privclust(*drawn, "--force")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "plan.png").read_bytes().startswith(PNG)
    assert done.stdout.endswith("wrote plan.png.\n")


@pytest.mark.parametrize("picture", ["full.png", "nowhere/plan.png"])
def test_a_picture_that_cannot_be_written(picture: str, tmp_path: Path) -> None:
    (tmp_path / "full.png").symlink_to("/dev/full")
    error_message(
        privclust("plan", *TYPED, "--picture", tmp_path / picture), 10, "could not be written"
    )


def test_a_picture_needs_an_extra_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "privclust.planning.plots", None)
    needed = 'pip install ".[report]"'
    error_message(privclust("plan", *TYPED, "--picture", "plan.png"), 13, needed)


@pytest.mark.parametrize("command", ["plan", "simulate"])
@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--rows", 0), "at least 1, got 0"),
        (("--columns", 0), "at least 1, got 0"),
        (("-k", 0), "at least 1, got 0"),
        (("--epsilon", 0), "epsilon must lie between"),
        (("--delta", 0), "delta"),
        (("--delta", 1), "delta must be"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_impossible_numbers_are_one_message(
    command: str, words: tuple[object, ...], cause: str
) -> None:
    error_message(privclust(command, *TYPED, *words), 3, cause)


def test_no_noise_is_no_plan() -> None:
    error_message(privclust("plan", *TYPED, "--epsilon", "inf"), 3, "epsilon must lie between")


# Measuring ---------------------------------------------------------------------------------------


def test_simulate_measures_made_up_rows() -> None:
    """Two clusters of a thousand rows; the keys of samples follow from no seed."""
    done = privclust("simulate", *TWO)
    found = re.match(r"loss: ([\d.]+) times that of k-means without privacy \(\1\); ", done.stdout)
    assert found, done.stdout
    assert 1.0 <= float(found[1]) < 1.1


def test_json_is_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Simulation((1.5, 1.0, 3.0), 0.5)
    monkeypatch.setattr("privclust.planning.simulate.simulate", lambda *_, **__: measured)
    shown = json.loads(privclust("simulate", *TYPED, "--json").stdout)
    assert shown == {"ratios": [1.5, 1.0, 3.0], "ratio": 1.5, "seconds": 0.5}


def public_rows(place: Path, gap: bool = False) -> Path:
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(middle, 1.0, (1000, 2)) for middle in (20.0, 60.0)])
    if gap:
        rows[7, 1] = np.nan
    pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), place)
    return place


@pytest.mark.parametrize("gap", [False, True], ids=["whole", "with a gap"])
def test_simulate_measures_public_rows(gap: bool, tmp_path: Path) -> None:
    file = public_rows(tmp_path / "public.parquet", gap)
    done = privclust("simulate", *TWO, "--public", file, "--json")
    assert done.exit_code == 0, done.output
    assert 0.9 < json.loads(done.stdout)["ratio"] < 1.2


@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        (("--public", "nowhere.parquet"), 7, "no Parquet, CSV, Excel or Arrow files"),
        (("--repeats", 0), 3, "repeats"),
        (("--rows", 2, "-k", 5), 11, "5"),
    ],
    ids=["no file", "no repeats", "more clusters than rows"],
)
def test_a_simulation_that_cannot_be(words: tuple[object, ...], code: int, cause: str) -> None:
    error_message(privclust("simulate", *TWO, *words), code, cause)


def test_cost_on_spark_is_printed_on_demand() -> None:
    typed = ("--rows", "1e10", "--columns", 16, "-k", 8, "--delta", 1e-12)
    costs = [spark_cost(forecast(10**10, 16, 8, delta=1e-12), kind) for kind in READ_SECONDS]
    shown = privclust("plan", *typed, "--engine", "spark")
    assert all(str(cost) in shown.stdout.replace("\n", " ") for cost in costs)
    as_json = json.loads(privclust("plan", *typed, "--engine", "spark", "--json").stdout)
    assert as_json["spark"] == [asdict(cost) for cost in costs]
    assert "core-hours" not in privclust("plan", *typed).stdout


@pytest.mark.parametrize("rows", ["1.5", "many", "inf", "nan"])
def test_rows_are_an_integer(rows: str) -> None:
    shown = privclust("plan", "--rows", rows, "--columns", 2, "--delta", 1e-6)
    assert shown.exit_code == 2
    assert "1e10" in shown.stderr
