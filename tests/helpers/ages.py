"""A table with one column, ages, in places of different kinds: what each command does with it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from helpers.command_line import privclust

from privclust import load

BOUNDS = """\
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
"""
FAST = ("--delta", "1e-6", "-k", "2", "--bounds", "bounds.toml", "--seed", "0")


def profile_ages(place: str) -> None:
    """Profile a model of them by the clustered column itself."""
    done = privclust(
        *("profile", "model.json", place, "--columns", "age", "--bounds", "bounds.toml"),
        *("--epsilon", "1"),
    )
    assert done.exit_code == 0, done.output


def check_bounds_of_ages(place: str) -> None:
    """Make a bounds file from the columns of the place, and check another against them."""
    done = privclust("bounds", "init", place, "-o", "new.toml")
    assert done.exit_code == 0, done.output
    assert '[columns."age"]' in Path("new.toml").read_text(encoding="utf-8")
    assert privclust("bounds", "check", "bounds.toml", place).exit_code == 0


def label_ages(place: str) -> pa.Table:
    """Label them beside what they are, and return both; the model would label them alike."""
    done = privclust("predict", "model.json", place, "--keep", "age", "-o", "labels.parquet")
    assert done.exit_code == 0, done.output
    found = pq.read_table("labels.parquet")
    ages = pa.table({"age": found["age"].cast(pa.float64())})
    assert load("model.json").predict(ages).tolist() == found["cluster"].to_pylist()
    return ages.append_column("cluster", found["cluster"])
