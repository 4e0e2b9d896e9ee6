"""Addresses in object stores, typed in place of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_line import error_message, privclust
from helpers.object_store import SECRET, Bucket

from privclust import load

BOUNDS = """\
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
"""
FAST = ("--delta", "1e-6", "-k", "2", "--bounds", "bounds.toml")


@pytest.fixture
def address(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    rng = np.random.default_rng(0)
    for year in (2024, 2025):
        table = pa.table({"age": rng.uniform(0, 120, 300)})
        bucket.put_table(f"visits/{year}.parquet", table)
    (tmp_path / "bounds.toml").write_text(BOUNDS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return f"{bucket.address}/visits"


def test_a_folder_in_a_store_is_fitted_profiled_and_labelled(address: str) -> None:
    done = privclust("fit", address, *FAST, "-o", "model.json")
    assert done.exit_code == 0, done.output
    assert SECRET not in Path("model.json").read_text(encoding="utf-8") + done.output
    done = privclust(
        *("profile", "model.json", address, "--columns", "age", "--bounds", "bounds.toml"),
        *("--epsilon", "1"),
    )
    assert done.exit_code == 0, done.output
    done = privclust("predict", "model.json", address, "--keep", "age", "-o", "labels.parquet")
    assert done.exit_code == 0, done.output
    found = pq.read_table("labels.parquet")
    ages = pa.table({"age": found["age"].cast(pa.float64())})
    assert load("model.json").predict(ages).tolist() == found["cluster"].to_pylist()
    assert found.num_rows == 600


def test_bounds_are_made_and_checked_by_its_columns(address: str) -> None:
    done = privclust("bounds", "init", address, "-o", "new.toml")
    assert done.exit_code == 0, done.output
    assert '[columns."age"]' in Path("new.toml").read_text(encoding="utf-8")
    assert privclust("bounds", "check", "bounds.toml", address).exit_code == 0


@pytest.mark.parametrize("typed", ["s3://key:{}@bucket/x", "s3://bucket/x?secret_key={}"])
def test_a_key_in_an_address_is_not_repeated(typed: str, address: str) -> None:
    for command in ("fit", "bounds init"):
        words = (*FAST, "-o", "model.json") if command == "fit" else ("-o", "new.toml")
        message = error_message(privclust(*command.split(), typed.format(SECRET), *words), 3)
        assert SECRET not in message
        assert "password" in message
