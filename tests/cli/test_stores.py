"""Addresses in object stores, typed in place of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.ages import BOUNDS, FAST, check_bounds_of_ages, label_ages, profile_ages
from helpers.command_line import error_message, privclust
from helpers.object_store import SECRET, Bucket


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
    profile_ages(address)
    found = label_ages(address)
    assert found.num_rows == 600


def test_bounds_are_made_and_checked_by_its_columns(address: str) -> None:
    check_bounds_of_ages(address)


@pytest.mark.parametrize("typed", ["s3://key:{}@bucket/x", "s3://bucket/x?secret_key={}"])
def test_a_key_in_an_address_is_not_repeated(typed: str, address: str) -> None:
    for command in ("fit", "bounds init"):
        words = (*FAST, "-o", "model.json") if command == "fit" else ("-o", "new.toml")
        message = error_message(privclust(*command.split(), typed.format(SECRET), *words), 3)
        assert SECRET not in message
        assert "password" in message
