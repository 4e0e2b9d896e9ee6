"""Streamed tables: opened by their schema alone, read again and again, silent when they fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from helpers.conformance import CANARY, fails_in_silence, source, streamed, write_parquet

from privclust.domains.box import Box
from privclust.queries.base import Count
from privclust.sources.cells import numbers
from privclust.sources.schema import Schema
from privclust.sources.streams import source_of

ONE = Box([0], [100])
TABLE = pa.table({"a": [1.5, None, 2.5], "who": ["ann", None, "bob"], "n": [7, 8, None]})
SCHEMA = Schema(("a", "who", "n"), ("number", "text", "integer"))
NAMED = pa.schema([("a", pa.float64())])


def as_dataset(file: Path) -> Any:
    return ds.dataset(file)


def as_lazy_frame(file: Path) -> Any:
    return pl.scan_parquet(file)


def as_relation(file: Path) -> Any:
    return duckdb.sql(f"select * from read_parquet('{file}')")


def as_function(file: Path) -> Any:
    return lambda: ds.dataset(file).scanner().to_reader()


OPENERS: dict[str, Callable[[Path], Any]] = {
    "path": lambda file: file,
    "dataset": as_dataset,
    "LazyFrame": as_lazy_frame,
    "relation": as_relation,
    "function": as_function,
}
every_source = pytest.mark.parametrize("kind", OPENERS)


def values(table: Any, column: str = "a") -> list[float]:
    return [
        value
        for batch in source(table).batches([column])
        for value in numbers(batch.column(column)).tolist()
    ]


@every_source
def test_a_source_has_a_schema_and_is_read_as_often_as_wanted(kind: str, tmp_path: Path) -> None:
    opened = source(OPENERS[kind](write_parquet(TABLE, tmp_path / "x.parquet")))
    assert opened.schema == SCHEMA
    for _ in range(3):
        (batch,) = opened.batches(["n", "a"])
        assert batch.schema.names == ["n", "a"]
        assert batch.column("n").to_pylist() == [7, 8, None]
        assert batch.column("a").to_pylist() == [1.5, None, 2.5]


@every_source
def test_columns_are_found_by_exactly_their_names(kind: str, tmp_path: Path) -> None:
    names = ["a.b", 'q"x', "a b", "größe", "^a.*$", "*", "select"]
    table = pa.table({name: [float(place)] for place, name in enumerate(names)})
    opened = OPENERS[kind](write_parquet(table, tmp_path / "x.parquet"))
    assert source(opened).schema.names == tuple(names)
    assert [values(opened, name) for name in names] == [[float(n)] for n in range(len(names))]


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((2, 2)),
        pd.DataFrame({"a": [1.0]}),
        pl.DataFrame({"a": [1.0]}),
        TABLE,
        TABLE.to_batches()[0],
        ds.dataset(TABLE).scanner(),
        None,
        [],
        [[1.0]],
    ],
    ids=lambda table: type(table).__name__,
)
def test_what_is_in_memory_or_can_be_read_only_once_is_no_source(table: Any) -> None:
    assert source_of(table) is None


@pytest.mark.parametrize("returned", [None, [[1.0]], np.zeros((2, 2))])
def test_a_function_must_return_a_stream(returned: Any) -> None:
    with pytest.raises(TypeError, match=r"must return an Arrow stream, .* each time it is called"):
        source_of(lambda: returned)


# Types -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        (pl.UInt64, "integer"),
        (pl.Float32, "number"),
        (pl.Decimal(10, 2), "number"),
        (pl.Boolean, "number"),
        (pl.Null, "number"),
        (pl.String, "text"),
        (pl.Binary, "text"),
        (pl.Categorical, "text"),
        (pl.Enum(["1"]), "text"),
        (pl.Date, "date"),
        (pl.List(pl.Float64), "other"),
    ],
    ids=str,
)
def test_types_of_lazy_frames(declared: Any, kind: str) -> None:
    frame = pl.DataFrame({"a": pl.Series([None, None], dtype=declared)})
    assert source(frame.lazy()).schema.kinds == (kind,)
    assert source(lambda: frame).schema.kinds == (kind,)
    if kind in ("integer", "number"):
        np.testing.assert_array_equal(values(frame.lazy()), [np.nan, np.nan])


@pytest.mark.parametrize("declared", [pl.Int128, pl.UInt128], ids=str)
def test_a_type_that_cannot_be_read_is_refused_when_the_table_is_opened(declared: Any) -> None:
    """And not by a failure after budget was spent."""
    frame = pl.DataFrame({"a": pl.Series([1, 2], dtype=declared)}).lazy()
    try:
        assert values(frame) == [1.0, 2.0]
    except Exception:
        assert source(frame).schema.kinds == ("other",)


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("tinyint", "integer"),
        ("ubigint", "integer"),
        ("float", "number"),
        ("decimal(18, 2)", "number"),
        ("hugeint", "number"),
        ("boolean", "number"),
        ("varchar", "text"),
        ("blob", "text"),
        ("uuid", "text"),
        ("enum('x')", "text"),
        ("date", "date"),
        ("double[]", "other"),
    ],
)
def test_types_of_relations(declared: str, kind: str) -> None:
    relation = duckdb.sql(f"select null::{declared} as a from range(2)")
    assert source(relation).schema.kinds == (kind,)
    if kind in ("integer", "number"):
        np.testing.assert_array_equal(values(relation), [np.nan, np.nan])


@pytest.mark.attack
@pytest.mark.parametrize(
    "open_both", [list, ds.dataset, pl.scan_parquet], ids=["paths", "dataset", "LazyFrame"]
)
def test_whether_files_of_two_types_can_be_read_depends_on_no_value(
    open_both: Callable[[list[Path]], Any], tmp_path: Path
) -> None:
    def outcome(cell: float | None) -> object:
        files = [
            write_parquet(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "1.parquet"),
            write_parquet(pa.table({"a": pa.array([cell], pa.float64())}), tmp_path / "2.parquet"),
        ]
        try:
            return streamed(open_both(files), ["a"], ONE).aggregate(Count())
        except Exception as error:
            return type(error)

    outcomes = [outcome(cell) for cell in (2.0, 2.5, 1e300, float("nan"), None)]
    assert outcomes == outcomes[:1] * 5


# Nothing is read by opening ----------------------------------------------------------------------


def refuse(*_: object) -> NoReturn:
    raise AssertionError("rows were read")


def unread_batches() -> Iterator[Any]:
    yield refuse()


def unread(kind: str, folder: Path) -> Any:
    """Return a table whose rows cannot be read without failing."""
    if kind == "LazyFrame":
        return pl.LazyFrame({"a": [1.0]}).map_batches(refuse, schema={"a": pl.Float64})
    if kind == "relation":
        return duckdb.sql("select error('read')::double as a from range(10)")
    if kind == "function":
        return lambda: pa.RecordBatchReader.from_batches(NAMED, unread_batches())
    table = pa.table({"a": np.arange(5000.0)})
    file = write_parquet(table, folder / "x.parquet")
    content = bytearray(file.read_bytes())
    content[4:2000] = b"\xff" * 1996
    file.write_bytes(content)
    return OPENERS[kind](file)


@pytest.mark.attack
@every_source
def test_opening_a_table_reads_no_row(kind: str, tmp_path: Path) -> None:
    table = unread(kind, tmp_path)
    assert source(table).schema == Schema(("a",), ("number",))
    with pytest.raises(Exception, match=r"[a-zA-Z]"):
        values(table)


# Failures ----------------------------------------------------------------------------------------


def broken_stream() -> Any:
    def batches() -> Iterator[Any]:
        yield pa.record_batch({"a": [CANARY]})
        raise ValueError(f"lost {CANARY}")

    return pa.RecordBatchReader.from_batches(NAMED, batches())


def say_it(part: Any) -> NoReturn:
    raise ValueError(f"lost {CANARY} of {part}")


FAILURES: dict[str, Callable[[], Any]] = {
    "stream": lambda: broken_stream,
    "lazy frame": lambda: pl.LazyFrame({"a": [CANARY]}).map_batches(
        say_it, schema={"a": pl.Float64}
    ),
    "lazy cell": lambda: pl.LazyFrame({"a": [CANARY]}).select(
        pl.col("a").map_elements(say_it, return_dtype=pl.Float64)
    ),
    "lazy cast": lambda: pl.LazyFrame({"a": [f"{CANARY}x"]}).select(pl.col("a").cast(pl.Float64)),
    "relation": lambda: duckdb.sql(f"select '{CANARY}x'::varchar::double as a"),
}


@pytest.mark.attack
@pytest.mark.parametrize("failure", FAILURES)
def test_a_canary_in_a_source_that_fails_appears_nowhere(
    failure: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    engine = streamed(FAILURES[failure](), ["a"], ONE)
    for each in (engine, engine.sample(1, bytes(32))):
        fails_in_silence(partial(each.aggregate, Count()), caplog, capfd)


@pytest.mark.attack
def test_a_canary_in_a_function_that_fails_when_it_is_called_appears_nowhere(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """It may well read rows before it returns its stream, and so fail over one of them."""
    fails_in_silence(partial(source_of, partial(say_it, None)), caplog, capfd, Exception)


def test_a_function_that_returns_the_same_reader_again_is_refused() -> None:
    """It would be empty the second time, and every result zero."""
    reader = pa.table({"a": [1.0]}).to_reader()
    with pytest.raises(TypeError, match="a new Arrow stream each time"):
        source_of(lambda: reader)


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["LazyFrame", "relation", "dataset", "ndjson"])
def test_a_table_whose_types_are_guessed_from_values_is_refused(kind: str, tmp_path: Path) -> None:
    """One row with a text would turn the ids 7 and 07 of all others from one into two."""
    file = tmp_path / ("x.ndjson" if kind == "ndjson" else "x.csv")
    file.write_text('{"a": 1}\n' if kind == "ndjson" else "a,who\n1,07\n2,7\n")
    tables: dict[str, Callable[[], Any]] = {
        "LazyFrame": lambda: pl.scan_csv(file).filter(pl.col("a") > 0),
        "relation": lambda: duckdb.sql(f"select * from '{file}' where a > 0"),
        "dataset": lambda: ds.dataset(file, format="csv"),
        "ndjson": lambda: pl.scan_ndjson(file),
    }
    with pytest.raises(TypeError, match="types are guessed from values"):
        source_of(tables[kind]())


@pytest.mark.attack
def test_the_keys_of_a_datasets_folders_are_no_columns(tmp_path: Path) -> None:
    """Their types are guessed from the names of all folders together."""
    for key in ("7", "07"):
        write_parquet(pa.table({"a": [1.0]}), tmp_path / f"who={key}" / "x.parquet")
    found = source_of(ds.dataset(tmp_path, partitioning="hive"))
    assert found is not None
    assert found.schema.names == ("a",)
