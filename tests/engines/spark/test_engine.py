"""Spark in this process: what is refused, what is kept and released, and what nobody may see."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import (
    COLUMNS,
    DOMAIN,
    KEY,
    MOMENTS,
    UNITS,
    fails_in_silence,
    in_memory,
    in_spark,
    people,
    results,
    spark_files,
    spark_frame,
    write_csv,
    write_parquet,
)
from helpers.large_fit import fit, model_of
from helpers.large_fit import table as large_table
from helpers.spark_faults import Hindered, attempts
from helpers.spark_sessions import local
from pyspark.logger import PySparkLogger

from privclust import PrivateKMeans, on_spark
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.mixed import Mixed
from privclust.engines.spark.engine import SparkEngine
from privclust.engines.spark.table import spark_table_of
from privclust.errors import ColumnError, ColumnTypeError, UnreadableFileError
from privclust.queries.base import Count
from privclust.queries.clusters import NearestVotes
from privclust.queries.unit import ROW

VOTES = NearestVotes(np.random.default_rng(1).uniform(-0.5, 0.5, (5, 3)))
N_ROWS = 120


@pytest.fixture
def frame(tmp_path: Path) -> Any:
    return spark_frame(local(), people(N_ROWS), tmp_path)


def kept_frames() -> int:
    return int(local().sparkContext._jsc.getPersistentRDDs().size())


# Fits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [None, pytest.param("who", marks=pytest.mark.long)])
def test_a_fit_in_spark_is_the_one_in_memory(unit: str | None, tmp_path: Path) -> None:
    """Rows of one file have the addresses that they have in memory, so that bits are the same."""
    file = write_parquet(large_table(), tmp_path / "one.parquet", 10_000)
    session = local()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    try:
        model = fit(model_of(None, unit), on_spark(session, file))
    finally:
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    twin = fit(model_of(None, unit), large_table)
    np.testing.assert_array_equal(model.cluster_centers_, twin.cluster_centers_)
    assert max(release.sampling_exponent for release in model.releases_) > 0
    gc.collect()
    assert kept_frames() == 0


def test_rows_in_spark_are_labelled_by_spark(frame: Any) -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds={"x": (-50, 50)}).fit(people(N_ROWS).select(["x"]))
    with pytest.raises(TypeError, match="mapInPandas"):
        model.predict(frame)


# What is refused ---------------------------------------------------------------------------------


def test_a_stream_is_refused() -> None:
    stream = local().readStream.format("rate").load()
    with pytest.raises(TypeError, match="stream"):
        spark_table_of(stream)


def test_types_that_spark_guesses_are_refused(tmp_path: Path) -> None:
    file = write_csv(people(9), tmp_path / "some.csv")
    with pytest.raises(TypeError, match="guessed"):
        spark_table_of(local().read.csv(str(file), header=True, inferSchema=True))


def test_only_parquet_files_are_read_by_workers(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="Parquet files only"):
        spark_table_of(on_spark(local(), write_csv(people(9), tmp_path / "some.csv")))


def test_types_of_columns_are_those_that_spark_declares(frame: Any) -> None:
    schema = spark_schema(frame.selectExpr("x", "number", "name", "current_date() as day"))
    assert schema.kinds == ("number", "integer", "text", "other")
    with pytest.raises(ColumnTypeError):
        PrivateKMeans(2, delta=1e-6, bounds={"number": (0, 1)}, unit="x").fit(frame)
    with pytest.raises(ColumnError):
        PrivateKMeans(2, delta=1e-6, bounds={"w": (0, 1)}).fit(frame)


def spark_schema(frame: Any) -> Any:
    return opened(frame).schema


def test_columns_may_have_any_names(frame: Any) -> None:
    names = ["a.b", "number", "A.b", "`", "a b"]
    engine = in_spark(frame.toDF(*names), ["a b", "a.b", "A.b"], unit=ROW)
    assert results(engine, MOMENTS) == results(in_memory(people(N_ROWS)), MOMENTS)


def test_missing_cells_count_as_declared_in_tasks_of_spark(tmp_path: Path) -> None:
    table = people(N_ROWS)
    days = [None if place % 3 else date(2024, 1, 1 + place % 28) for place in range(N_ROWS)]
    table = table.append_column("day", pa.array(days, pa.date32()))
    x, y = NumberColumn("x", -50, 50), NumberColumn("y", 1, 100, transform="log")
    day = DateColumn("day", date(2024, 1, 1), date(2024, 12, 31))
    domain = Mixed(
        (
            replace(x, missing=12.5),
            replace(day, missing=date(2024, 2, 29)),
            replace(y, missing=80.0),
        )
    )
    names = ["x", "day", "y"]
    expected = in_memory(table, names, domain)
    middle = in_memory(table, names, Mixed((x, day, y)))
    for lay in (spark_frame, spark_files):
        place = tmp_path / lay.__name__
        place.mkdir()
        engine = in_spark(lay(local(), table, place), names, domain)
        assert results(engine, MOMENTS) == results(expected, MOMENTS) != results(middle, MOMENTS)


# One repartition, kept and released --------------------------------------------------------------


def counted(frame: Any, marks: Path) -> Any:
    """Return the same frame, of which every reading leaves marks."""
    folder = str(marks)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import uuid

        open(f"{folder}/{uuid.uuid4()}", "w", encoding="utf-8").close()
        yield from batches

    return frame.mapInArrow(count, frame.schema)


@pytest.mark.long
def test_rows_are_brought_together_once_and_let_go_in_the_end(frame: Any, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    engine = in_spark(counted(frame, marks), unit=UNITS["texts"])
    engine.aggregate(Count())
    read = len(os.listdir(marks))
    assert read > 0
    results(engine, MOMENTS)
    results(engine.sample(1, KEY), MOMENTS)
    assert len(os.listdir(marks)) == read
    assert kept_frames() == 1
    del engine
    gc.collect()
    assert kept_frames() == 0


# Inclusion bits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lay", [spark_frame, spark_files])
def test_sample_is_drawn_once_and_each_reading_draws_other_bits(lay: Any, tmp_path: Path) -> None:
    engine = in_spark(lay(local(), people(N_ROWS), tmp_path))
    first, again = engine.sample(1, KEY), engine.sample(1, KEY)
    drawn = results(first, MOMENTS)
    assert results(first, MOMENTS) == drawn
    assert results(again, MOMENTS) != drawn
    assert (
        results(in_spark(lay(local(), people(N_ROWS), tmp_path)).sample(1, KEY), MOMENTS) == drawn
    )


@pytest.mark.long
def test_repeated_attempt_draws_the_same_bits(frame: Any, tmp_path: Path) -> None:
    marks = str(tmp_path)

    def fail_first(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from batches
        if context.attemptNumber() == 0:
            open(f"{marks}/failed {context.partitionId()}", "w", encoding="utf-8").close()
            raise ValueError

    failing = frame.mapInArrow(fail_first, frame.schema)
    drawn = results(in_spark(failing).sample(1, KEY), MOMENTS)
    assert list(tmp_path.glob("failed *"))
    assert drawn == results(in_spark(frame).sample(1, KEY), MOMENTS)


# Faults ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [pytest.param("row", marks=pytest.mark.long), "texts"])
def test_tasks_that_fail_twice_count_their_rows_once(unit: str, frame: Any, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    query = Hindered(VOTES, str(marks), "twice")
    found = in_spark(frame, unit=UNITS[unit]).aggregate(query)
    assert {0, 1, 2} in attempts(marks).values()
    assert found == in_memory(people(N_ROWS), unit=UNITS[unit]).aggregate(VOTES)


def test_a_failing_task_says_nothing(
    frame: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    query = Hindered(VOTES, str(marks), "always")
    engine = in_spark(frame)
    fails_in_silence(lambda: engine.aggregate(query), caplog, capfd)


@pytest.mark.long
def test_message_of_a_failed_task_has_no_cell(frame: Any, tmp_path: Path) -> None:
    """Below the driver's guard: what Spark itself receives, and so may write into its logs."""
    from functools import partial

    from privclust.engines.spark._tasks import SUMS, FrameReader, Reading, summed

    marks = tmp_path / "marks"
    marks.mkdir()
    query = Hindered(VOTES, str(marks), "always")
    reading = Reading(FrameReader(COLUMNS), COLUMNS, DOMAIN)
    rows = frame.select(*COLUMNS).mapInArrow(partial(summed, reading=reading, query=query), SUMS)
    with pytest.raises(Exception, match="withheld") as failed:
        rows.collect()
    text = str(failed.value)
    assert "1234567" not in text
    assert "ValueError" not in text
    assert "contribute" not in text


def test_what_the_plan_of_spark_fails_with_is_withheld(
    frame: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = frame.selectExpr("*", "cast(concat('1234567', name) as int) as w")
    engine = SparkEngine(opened(wrong), [*COLUMNS[:2], "w"], DOMAIN)
    fails_in_silence(lambda: engine.aggregate(Count()), caplog, capfd)


def opened(frame: Any) -> Any:
    found = spark_table_of(frame)
    assert found is not None
    return found


def test_no_log_of_this_process_shows_what_is_sent(
    frame: Any, caplog: pytest.LogCaptureFixture
) -> None:
    engine = in_spark(frame)
    caplog.set_level(logging.DEBUG)
    for name in ("py4j", "py4j.clientserver", "py4j.java_gateway"):
        caplog.set_level(logging.DEBUG, name)
    engine.sample(1, KEY).aggregate(Count())
    assert not caplog.records


def test_the_users_own_queries_still_say_why_they_fail(
    frame: Any, caplog: pytest.LogCaptureFixture
) -> None:
    in_spark(frame).aggregate(Count())
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")  # hands nothing on to others
    logger.addHandler(caplog.handler)
    try:
        with pytest.raises(Exception, match="cannot be cast"):
            frame.selectExpr("cast(concat('a', name) as int) as w").collect()
    finally:
        logger.removeHandler(caplog.handler)
    assert "cannot be cast" in caplog.text


def test_a_key_is_in_no_plan_and_no_setting(frame: Any) -> None:
    from functools import partial

    from privclust.engines.spark._tasks import SAMPLE, FrameReader, Reading, drawn

    reading = Reading(FrameReader(COLUMNS), COLUMNS, DOMAIN)
    task = partial(drawn, reading=reading, sampling_exponent=1, key=b"a key to be found")
    rows = frame.select(*COLUMNS).mapInArrow(task, SAMPLE)
    plan = rows._jdf.queryExecution().toString()
    settings = str(local().sparkContext.getConf().getAll())
    assert "drawn" in plan or "partial" in plan
    for form in ("a key", b"a key".hex(), str(list(b"a key"))[1:-1]):
        assert form not in plan
        assert form not in settings
