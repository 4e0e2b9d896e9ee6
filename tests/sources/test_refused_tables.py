"""Tables that give other rows each time are refused, and what to give instead works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from datasets import Dataset, DatasetDict, IterableDatasetDict
from helpers.databases import in_sqlite

from privclust import PEMeans, sql
from privclust.sources.streams import source_of

TABLE = pa.table({"a": np.linspace(-0.9, 0.9, 300), "b": np.linspace(0.9, -0.9, 300)})
QUERY = "SELECT a, b FROM visits"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    in_sqlite(TABLE, tmp_path / "clinic.db", "visits")
    return tmp_path / "clinic.db"


def fit(table: Any) -> Any:
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    return PEMeans(2, delta=1e-6, bounds=bounds, random_state=0).fit(table)


def test_a_table_of_ibis_is_refused_and_both_remedies_work(file: Path) -> None:
    connection = ibis.sqlite.connect(file)
    try:
        visits = connection.table("visits")
        some = visits.filter(visits.a > 0)
        for table in (visits, some, ibis.memtable({"a": [1.0]})):
            with pytest.raises(TypeError, match=r"anew for each pass.*ibis\.to_sql.*to_pyarrow"):
                fit(table)
        fit(some.to_pyarrow())
        query = ibis.to_sql(some)
    finally:
        connection.disconnect()
    fit(sql(f"sqlite:///{file}", query))


def test_streams_and_several_tables_of_hugging_face_are_refused() -> None:
    dataset = Dataset(TABLE)
    with pytest.raises(TypeError, match=r"IterableDataset may give other rows.*streaming=True"):
        fit(dataset.to_iterable_dataset())
    with pytest.raises(TypeError, match=r"DatasetDict holds several.*dataset\['train'\]"):
        fit(DatasetDict(train=dataset))
    with pytest.raises(TypeError, match="IterableDatasetDict holds several"):
        fit(IterableDatasetDict(train=dataset.to_iterable_dataset()))
    fit(DatasetDict(train=dataset)["train"])


def test_a_stream_that_can_be_read_once_is_refused_before_anything_is_read() -> None:
    stream = TABLE.to_reader()
    with pytest.raises(TypeError, match=r"can be read once.*read_all.*privclust\.sql"):
        fit(stream)
    assert stream.read_all() == TABLE
    fit(TABLE.to_reader().read_all())
    fit(TABLE.to_reader)


def test_a_class_of_ones_own_that_is_called_alike_is_not_refused() -> None:
    class Table:
        def __call__(self) -> Any:
            return TABLE

    found = source_of(Table())
    assert found is not None
    assert found.schema.names == ("a", "b")
