"""What a client's own engineer learns about a table before it joins a federation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from helpers.conformance import CANARY, fails_in_silence, people, write_parquet

from privclust.engines.federated.client import Client
from privclust.errors import BoundsError, ColumnError, ColumnTypeError, EngineError, ParameterError

AGREED = """
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
[columns.ward]
type = "category"
levels = ["A", "B"]
"""
PATIENTS = pa.table({"ward": ["A", "B"], "age": [30.0, 40.0], "patient": [1, 2]})


@pytest.fixture
def agreed(tmp_path: Path) -> str:
    file = tmp_path / "bounds.toml"
    file.write_text(AGREED)
    return str(file)


@pytest.mark.parametrize("unit", [None, "patient", "client"])
def test_sound_table_passes_in_silence(
    tmp_path: Path, agreed: str, unit: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    table = write_parquet(PATIENTS, tmp_path / "rows.parquet")
    Client(table, tmp_path / "kept").check(agreed, unit)
    Client(PATIENTS).check(agreed, unit)
    assert capfd.readouterr() == ("", "")
    assert not list((tmp_path / "kept").iterdir())


@pytest.mark.parametrize(
    ("table", "unit", "error", "message"),
    [
        (PATIENTS.drop_columns("age"), None, ColumnError, "does not have these columns: 'age'"),
        (PATIENTS, "person", ColumnError, "person"),
        (
            PATIENTS.set_column(1, "age", pa.array(["30", "40"])),
            None,
            ColumnTypeError,
            "do not hold numbers: age",
        ),
    ],
)
def test_fault_of_a_table_is_named(
    tmp_path: Path, agreed: str, table: Any, unit: str | None, error: type, message: str
) -> None:
    file = write_parquet(table, tmp_path / "rows.parquet")
    for given in (file, table):
        with pytest.raises(error, match=message):
            Client(given).check(agreed, unit)


def test_bounds_must_name_the_columns_that_were_agreed_on(tmp_path: Path, agreed: str) -> None:
    with pytest.raises(ParameterError, match="bounds must name the columns"):
        Client(PATIENTS).check(([0], [120]))
    with pytest.raises(BoundsError, match="cannot be read"):
        Client(PATIENTS).check(tmp_path / "none.toml")


@pytest.mark.attack
def test_rows_are_read_and_a_failure_shows_none_of_them(
    agreed: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    calls: list[int] = []

    def broken() -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(f"{CANARY}")
        return PATIENTS

    client = Client(broken)
    fails_in_silence(lambda: client.check(agreed), caplog, capfd, EngineError)


def test_check_leaves_the_client_as_it_is(agreed: str) -> None:
    table = people(20)
    client = Client(table)
    with pytest.raises(ColumnError):
        client.check(agreed)
    assert client.schema.names == tuple(table.column_names)


@pytest.mark.attack
@pytest.mark.parametrize("unit", [None, "client"])
def test_type_that_cannot_be_read_is_named(unit: str | None) -> None:
    table = pd.DataFrame({"age": pd.arrays.SparseArray([30.0, 40.0])})
    with pytest.raises(ColumnTypeError, match=r"cannot be read: 'age' \(SparseDtype\)"):
        Client(table).check({"age": (0, 120)}, unit)
