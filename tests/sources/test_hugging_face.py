"""Datasets of Hugging Face: the rows that they mean, as they are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from datasets import Array2D, ClassLabel, Dataset, Features, Value, load_from_disk
from helpers.conformance import UNITS, in_memory, people, results, streamed
from helpers.databases import cells, opened

from privclust import PEMeans
from privclust.engines import spilled


@pytest.fixture
def visits() -> Any:
    return Dataset(pa.table({"a": [0.0, 1.0, 2.0, 3.0, 4.0], "w": ["v", "w", "x", "y", "z"]}))


@pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])
@pytest.mark.parametrize("kept", ["in memory", "on disk", "chosen"])
def test_every_query_has_the_same_integers(
    unit: str, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilled, "PARTITIONS", 2)
    table = people(120)
    dataset = Dataset(table)
    if kept == "on disk":
        dataset.save_to_disk(tmp_path / "people")
        dataset = load_from_disk(tmp_path / "people")
    if kept == "chosen":
        more = pa.concat_tables([people(40, seed=1), table, people(40, seed=2)])
        dataset = Dataset(more).select(np.random.default_rng(0).permutation(120) + 40)
        assert len(dataset) == 120
    found = results(streamed(dataset, unit=UNITS[unit]))
    assert found == results(in_memory(table, unit=UNITS[unit]))


def test_rows_that_were_left_out_are_not_read(visits: Any) -> None:
    assert sorted(cells(opened(visits.select([3, 1])), "a")) == [1.0, 3.0]
    assert sorted(cells(opened(visits.filter(lambda row: row["a"] > 2)), "a")) == [3.0, 4.0]
    some = visits.shuffle(seed=0).select(range(2)).select([1])
    assert cells(opened(some), "w") == some["w"][:]
    assert cells(opened(visits.select([])), "a") == []
    assert cells(opened(visits.select([4, 2, 0]).skip(1)), "a") == [2.0, 0.0]


def test_neither_formats_nor_transforms_change_what_is_read(visits: Any) -> None:
    formatted = visits.with_format("numpy", columns=["a"])
    assert cells(opened(formatted), "w") == ["v", "w", "x", "y", "z"]
    changed = visits.with_transform(lambda rows: {"a": [9.0] * len(rows["a"])})
    assert cells(opened(changed), "a") == [0.0, 1.0, 2.0, 3.0, 4.0]
    source = opened(visits)
    visits.set_format("numpy", columns=["w"])
    assert cells(source, "a") == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_rows_that_were_chosen_one_by_one_arrive_together(visits: Any) -> None:
    (batch,) = opened(visits.select([4, 0, 2])).batches(["w", "a"])
    assert batch.to_pydict() == {"w": ["z", "v", "x"], "a": [4.0, 0.0, 2.0]}


def test_kinds_follow_from_the_types_that_are_kept() -> None:
    features = Features(
        {
            "label": ClassLabel(names=["calm", "cross"]),
            "day": Value("date32"),
            "text": Value("string"),
            "plane": Array2D((2, 2), "float32"),
        }
    )
    rows = {"label": [0], "day": [None], "text": ["x"], "plane": [[[1, 2], [3, 4]]]}
    source = opened(Dataset.from_dict(rows, features=features))
    assert source.schema.kinds == ("integer", "date", "text", "other")
    (empty,) = source.empty(["text", "label"])
    assert empty.schema == next(source.batches(["text", "label"])).schema


def test_a_dataset_is_fitted_and_labelled() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.uniform(-1, 1, 400), "b": rng.uniform(-1, 1, 400)})
    dataset = Dataset(pa.concat_tables([table, table])).select(range(400))
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    model = PEMeans(2, delta=1e-6, bounds=bounds, random_state=0).fit(dataset)
    assert len(model.predict(dataset)) == 400
    np.testing.assert_array_equal(model.predict(dataset), model.predict(table))
