"""Folders of Delta and metadata files of Iceberg, typed in place of files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_line import error_message, privclust
from helpers.lakes import DeltaFolder, IcebergFile

from privclust import load

BOUNDS = """\
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
"""
FAST = ("--delta", "1e-6", "-k", "2", "--bounds", "bounds.toml")


@pytest.fixture(params=[DeltaFolder, IcebergFile])
def path(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    rng = np.random.default_rng(0)
    lake: Any = request.param(tmp_path)
    lake.write(pa.table({"age": rng.uniform(0, 120, 300)}))
    lake.erase("age > 60")
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    monkeypatch.chdir(tmp_path)
    yield str(Path(lake.table()).relative_to(tmp_path))
    lake.end()


def test_a_table_is_fitted_and_profiled(path: str) -> None:
    done = privclust("fit", path, *FAST, "-o", "model.json")
    assert done.exit_code == 0, done.output
    assert load("model.json").model_.feature_names_in == ("age",)
    done = privclust(
        *("profile", "model.json", path, "--columns", "age", "--bounds", "bounds.toml"),
        *("--epsilon", "1"),
    )
    assert done.exit_code == 0, done.output


def test_bounds_are_made_and_checked_by_its_columns(path: str) -> None:
    done = privclust("bounds", "init", path, "-o", "new.toml")
    assert done.exit_code == 0, done.output
    assert '[columns."age"]' in Path("new.toml").read_text(encoding="utf-8")
    assert privclust("bounds", "check", "bounds.toml", path).exit_code == 0


def test_a_table_is_not_written_over(path: str) -> None:
    out = path if path.endswith(".json") else f"{path}/model.json"
    error_message(privclust("fit", path, *FAST, "-o", out, "--force"), 10, "this command reads")
    assert privclust("fit", path, *FAST, "-o", "model.json").exit_code == 0


def test_labels_are_written_beside_the_column_that_is_kept(path: str) -> None:
    assert privclust("fit", path, *FAST, "-o", "model.json").exit_code == 0
    done = privclust("predict", "model.json", path, "--keep", "age", "-o", "labels.parquet")
    assert done.exit_code == 0, done.output
    found = pq.read_table("labels.parquet")
    ages = pa.table({"age": found["age"].cast(pa.float64())})
    assert load("model.json").predict(ages).tolist() == found["cluster"].to_pylist()
    assert len(set(found["cluster"].to_pylist())) == 2
    assert max(ages["age"].to_pylist()) <= 60  # others were erased
