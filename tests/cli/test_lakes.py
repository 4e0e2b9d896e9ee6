"""Folders of Delta and metadata files of Iceberg, typed in place of files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.ages import BOUNDS, FAST, check_bounds_of_ages, label_ages, profile_ages
from helpers.command_line import error_message, privclust
from helpers.lakes import DeltaFolder, IcebergFile

from privclust import load


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
    profile_ages(path)


def test_bounds_are_made_and_checked_by_its_columns(path: str) -> None:
    check_bounds_of_ages(path)


def test_a_table_is_not_written_over(path: str) -> None:
    out = path if path.endswith(".json") else f"{path}/model.json"
    error_message(privclust("fit", path, *FAST, "-o", out, "--force"), 10, "this command reads")
    assert privclust("fit", path, *FAST, "-o", "model.json").exit_code == 0


def test_labels_are_written_beside_the_column_that_is_kept(path: str) -> None:
    assert privclust("fit", path, *FAST, "-o", "model.json").exit_code == 0
    found = label_ages(path)
    assert len(set(found["cluster"].to_pylist())) == 2
    assert max(found["age"].to_pylist()) <= 60  # others were erased
