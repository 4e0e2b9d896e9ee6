"""Tables of any kind, through the estimators: the same fit, the same labels, clear refusals."""

from __future__ import annotations

import copy
import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from helpers.conformance import CANARY, fails_in_silence, write_csv, write_parquet
from helpers.samples import sample_beyond

from privclust import LSHCoreset, PEMeans, PrivateKMeans
from privclust.engines import factory, spilled
from privclust.engines.spark.engine import SparkTable
from privclust.errors import BoundsError, EngineError
from privclust.models.statement import Statement
from privclust.privacy.ledger.ledger import Ledger
from privclust.testing import SeededNoise, noise_from

BOUNDS = {"age": (0.0, 100.0), "income": (0.0, 1000.0)}
FEATURES = ["age", "income"]
N_ROWS = 2000


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spill into few files, to be quick."""
    monkeypatch.setattr(spilled, "PARTITIONS", 3)


@cache
def visits() -> Any:
    """Two groups of people, up to five visits each, with a column of texts between the numbers."""
    rng = np.random.default_rng(0)
    group = rng.random(N_ROWS) < 0.6
    ages, incomes = np.where(group, 20.0, 70.0), np.where(group, 200.0, 800.0)
    return pa.table(
        {
            "person": rng.integers(0, N_ROWS // 3, N_ROWS),
            "age": ages + rng.normal(0, 3, N_ROWS),
            "ward": pa.array([f"ward {n}" for n in rng.integers(0, 9, N_ROWS)]),
            "income": incomes + rng.normal(0, 30, N_ROWS),
        }
    )


def parquet(folder: Path) -> Path:
    return write_parquet(visits(), folder / "visits.parquet", 300)


def filtered(folder: Path) -> Any:
    table = visits().append_column("kept", pa.repeat(True, N_ROWS))
    others = visits().append_column("kept", pa.repeat(False, N_ROWS))
    file = write_parquet(pa.concat_tables([others, table]), folder / "more.parquet")
    return ds.dataset(file).filter(pc.field("kept"))


def many_files(folder: Path) -> Path:
    for place in range(4):
        part = visits().slice(500 * place, 500)
        write_parquet(part, folder / "visits" / f"{place}.parquet")
    return folder / "visits"


TABLES: dict[str, Callable[[Path], Any]] = {
    "path": parquet,
    "folder": many_files,
    "pattern": lambda folder: f"{many_files(folder)}/*.parquet",
    "CSV file": lambda folder: str(write_csv(visits(), folder / "visits.csv")),
    "filtered dataset": filtered,
    "LazyFrame": lambda folder: pl.scan_parquet(parquet(folder)),
    "DuckDB relation": lambda folder: duckdb.read_parquet(str(parquet(folder))),
    "function": lambda folder: lambda: ds.dataset(parquet(folder)).scanner().to_reader(),
}
every_table = pytest.mark.parametrize("table", TABLES)
some_tables = pytest.mark.parametrize("table", ["folder", "LazyFrame"])


def fitted(kind: Any, X: Any, **parameters: Any) -> Any:
    given = {"n_clusters": 2, "epsilon": 4.0, "delta": 1e-6, "bounds": BOUNDS, "random_state": 0}
    with noise_from(SeededNoise(0)):
        return kind(**given | parameters).fit(X)


def nameless(statement: Statement) -> Statement:
    return replace(statement, run=replace(statement.run, name="any"))


def same_fit(one: Any, other: Any) -> bool:
    released = [release.result.tolist() for release in one.releases_]
    return (
        released == [release.result.tolist() for release in other.releases_]
        and bool((one.cluster_centers_ == other.cluster_centers_).all())
        and one.feature_names_in_.tolist() == other.feature_names_in_.tolist() == FEATURES
        and nameless(one.privacy_statement_) == nameless(other.privacy_statement_)
    )


@cache
def exact(kind: Any, unit: str | None = None, max_rows_per_unit: int = 1) -> Any:
    """Fit the table in memory."""
    columns = FEATURES if unit is None else ["age", unit, "income"]
    return fitted(kind, visits().select(columns), unit=unit, max_rows_per_unit=max_rows_per_unit)


# Fits --------------------------------------------------------------------------------------------


@every_table
def test_remote_table_is_fitted_like_one_in_memory(table: str, tmp_path: Path) -> None:
    model = fitted(PrivateKMeans, TABLES[table](tmp_path))
    assert same_fit(model, exact(PrivateKMeans))
    np.testing.assert_allclose(model.cluster_centers_, [[20, 200], [70, 800]], rtol=0.05)


@pytest.mark.parametrize("kind", [PEMeans, LSHCoreset])
@some_tables
def test_other_algorithms_too(table: str, kind: Any, tmp_path: Path) -> None:
    assert same_fit(fitted(kind, TABLES[table](tmp_path)), exact(kind))


FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: visits().to_pandas(),
    "Polars": lambda: pl.from_arrow(visits()),
    "Arrow": visits,
}
every_frame = pytest.mark.parametrize("frame", FRAMES)


@every_frame
def test_bounds_by_name_leave_other_columns_of_a_frame_out(frame: str) -> None:
    assert same_fit(fitted(PrivateKMeans, FRAMES[frame]()), exact(PrivateKMeans))


@every_frame
def test_labels_find_columns_by_name(frame: str) -> None:
    model, table = exact(PrivateKMeans), FRAMES[frame]()
    turned = table[["income", "ward", "age"]] if frame == "pandas" else None
    turned = table.select(["income", "ward", "age"]) if turned is None else turned
    expected = model.predict(visits().select(FEATURES))
    for one in (table, turned):
        assert np.array_equal(model.predict(one), expected)
    with pytest.raises(ValueError, match="does not have these columns: 'income'"):
        model.predict(visits().select(["age", "ward"]))


def test_labels_find_columns_of_bounds_without_names_too() -> None:
    model = fitted(PrivateKMeans, visits().select(FEATURES), bounds=([0.0, 0.0], [100.0, 1000.0]))
    expected = model.predict(visits().select(FEATURES))
    assert np.array_equal(model.predict(visits().select(["income", "age"])), expected)


@pytest.mark.parametrize(("unit", "max_rows_per_unit"), [("person", 3), ("ward", 100)])
@some_tables
def test_units_too(table: str, unit: str, max_rows_per_unit: int, tmp_path: Path) -> None:
    model = fitted(
        PrivateKMeans, TABLES[table](tmp_path), unit=unit, max_rows_per_unit=max_rows_per_unit
    )
    assert same_fit(model, exact(PrivateKMeans, unit, max_rows_per_unit))
    assert f"all rows of one {unit!r}" in str(model.privacy_statement_)


@pytest.mark.parametrize("unit", [None, "person"])
@some_tables
def test_samples_too(
    table: str, unit: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_beyond(monkeypatch, 200)
    model = fitted(PrivateKMeans, TABLES[table](tmp_path), unit=unit)
    columns = FEATURES if unit is None else ["age", unit, "income"]
    assert same_fit(model, fitted(PrivateKMeans, visits().select(columns), unit=unit))
    assert max(release.sampling_exponent for release in model.releases_) > 0


def test_files_end_with_the_fit(tmp_path: Path) -> None:
    file = parquet(tmp_path)
    gc.collect()  # what earlier tests left open is not this fit's
    before = len(os.listdir("/proc/self/fd"))
    fitted(PrivateKMeans, file, unit="person")
    assert len(os.listdir("/proc/self/fd")) == before


def test_bounds_as_arrays_take_all_columns_but_the_unit(tmp_path: Path) -> None:
    file = write_parquet(visits().drop_columns(["ward"]), tmp_path / "x.parquet")
    bounds = ([0.0, 0.0], [100.0, 1000.0])
    model = fitted(PrivateKMeans, file, bounds=bounds, unit="person")
    assert same_fit(model, exact(PrivateKMeans, "person"))


def test_a_bounds_file_names_the_columns(tmp_path: Path) -> None:
    lines = ["bounds_origin = 'domain knowledge'"]
    for name, (lower, upper) in BOUNDS.items():
        lines.append(f"[columns.{name}]\ntype = 'number'\nlower = {lower}\nupper = {upper}")
    (tmp_path / "bounds.toml").write_text("\n".join(lines))
    model = fitted(PrivateKMeans, parquet(tmp_path), bounds=str(tmp_path / "bounds.toml"))
    assert (model.cluster_centers_ == exact(PrivateKMeans).cluster_centers_).all()


def test_a_ledger_charges_a_unit_only_where_it_protects_that_unit(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    with noise_from(SeededNoise(0)):
        Ledger.create(place, "visits", epsilon=8.0, delta=1e-6, unit="person")
        model = PrivateKMeans(2, delta=1e-6, bounds=BOUNDS, ledger=place, dataset="visits")
        with pytest.raises(ValueError, match=r"per person, this fit per row\. Type unit="):
            model.fit(parquet(tmp_path))
        model.set_params(unit="person").fit(parquet(tmp_path))
    assert model.privacy_statement_.unit == "person"


# Labels ------------------------------------------------------------------------------------------


@every_table
def test_rows_of_files_are_labelled_in_their_order(table: str, tmp_path: Path) -> None:
    model = exact(PrivateKMeans)
    rows = visits().select(FEATURES)
    np.testing.assert_array_equal(model.predict(TABLES[table](tmp_path)), model.predict(rows))
    np.testing.assert_array_equal(model.transform(TABLES[table](tmp_path)), model.transform(rows))


def test_labels_do_not_need_the_unit(tmp_path: Path) -> None:
    model = exact(PrivateKMeans, "person")
    expected = model.predict(visits().select(FEATURES))
    assert model.predict(parquet(tmp_path)).tolist() == expected.tolist()
    without = write_parquet(visits().drop_columns(["person", "ward"]), tmp_path / "x.parquet")
    assert model.predict(without).tolist() == expected.tolist()
    again = copy.deepcopy(model).fit_predict(parquet(tmp_path))
    assert again.shape == expected.shape


@pytest.mark.parametrize("verb", ["fit_predict", "fit_transform"])
def test_rows_in_spark_are_not_labelled_here_and_no_fit_is_paid_for(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factory, "_REMOTE", (lambda X: SparkTable(X, 1, X),))
    model = PrivateKMeans(2, delta=1e-6, radius=1.0)
    with pytest.raises(TypeError, match="rows in Spark are labelled by Spark"):
        getattr(model, verb)(object())
    assert not hasattr(model, "releases_")


def test_no_rows_have_no_labels(tmp_path: Path) -> None:
    empty = write_parquet(visits().slice(0, 0), tmp_path / "x.parquet")
    assert exact(PrivateKMeans).predict(empty).shape == (0,)
    assert exact(PrivateKMeans).transform(empty).shape == (0, 2)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age", "ward"], "does not have these columns: 'income'"),
        (["ward"], "does not have these columns: "),
    ],
)
def test_labels_of_other_columns_are_refused(
    columns: list[str], message: str, tmp_path: Path
) -> None:
    file = write_parquet(visits().select(columns), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=message):
        exact(PrivateKMeans).predict(file)


# Refusals ----------------------------------------------------------------------------------------


def unreadable(folder: Path) -> Path:
    """Write a file of which nothing but names and types can be read."""
    file = parquet(folder)
    content = file.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    file.write_bytes(content[:4] + b"\xff" * (footer - 4) + content[footer:])
    return file


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"bounds": None, "radius": 9.0}, TypeError, "do not hold numbers: ward. Convert them"),
        ({"bounds": BOUNDS | {"ward": (0, 1)}}, TypeError, "do not hold numbers: ward"),
        ({"bounds": None}, BoundsError, "bounds are missing"),
        ({"bounds": BOUNDS | {"ward": ["A", "B"]}}, BoundsError, "'levels': \\['A', 'B'\\]"),
        ({"bounds": BOUNDS | {"weight": (0, 1)}}, ValueError, "not have these columns: 'weight'"),
        ({"bounds": {"weight": (0, 1)}}, ValueError, "not have these columns: 'weight'"),
        ({"unit": "patient"}, ValueError, "unit='patient' is not a column of the table. It has 'p"),
        ({"unit": "income", "bounds": {"age": (0, 1)}}, TypeError, "neither integers nor text"),
        (
            {"unit": "person", "max_rows_per_unit": 0},
            ValueError,
            "max_rows_per_unit must be an integer",
        ),
        ({"unit": "person", "max_rows_per_unit": 1025}, ValueError, "between 1 and 1024; got"),
        (
            {"max_rows_per_unit": 3},
            ValueError,
            "unit must be the name of a column .* Leave both out",
        ),
        ({"unit": "row"}, ValueError, "column of ids other than 'row'"),
        ({"unit": 5}, ValueError, "unit must be the name of a column"),
    ],
)
def test_what_names_and_types_forbid_is_refused_before_anything_is_read(
    parameters: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        fitted(PrivateKMeans, unreadable(tmp_path), **parameters)
    with pytest.raises(EngineError):
        fitted(PrivateKMeans, unreadable(tmp_path))


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ("nowhere/*.parquet", FileNotFoundError, "no Parquet, CSV, Excel or Arrow files"),
        ([], ValueError, "X must be two-dimensional.* Give a list of rows"),
        ([1.0, 2.0], ValueError, "X must be two-dimensional.* Give a list of rows"),
        ({"age": [1.0]}, TypeError, "X must be a NumPy array, .* a DuckDB relation"),
        (pa.table({"age": [1.0]}).to_reader(), TypeError, "function that returns a new stream"),
        (lambda: None, TypeError, "must return an Arrow stream"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fitted(PrivateKMeans, table)


def failing_stream() -> Any:
    def batches() -> Iterator[Any]:
        yield pa.record_batch({"age": [CANARY], "income": [CANARY], "who": [f"{CANARY}"]})
        raise ValueError(f"lost {CANARY}")

    kinds = [("age", pa.float64()), ("income", pa.float64()), ("who", pa.string())]
    return pa.RecordBatchReader.from_batches(pa.schema(kinds), batches())


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("verb", ["fit", "fit_predict", "predict", "transform"])
def test_a_canary_in_a_table_that_fails_appears_nowhere(
    verb: str,
    unit: str | None,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    model = copy.deepcopy(exact(PrivateKMeans)).set_params(unit=unit)
    fails_in_silence(partial(getattr(model, verb), failing_stream), caplog, capfd)


def test_unit_among_the_bounds_is_refused_by_its_name() -> None:
    table = pd.DataFrame({"who": [1, 2], "age": [30.0, 40.0]})
    bounds = {"who": (0, 10), "age": (0, 120)}
    model = PrivateKMeans(1, delta=1e-6, bounds=bounds, unit="who")
    with pytest.raises(BoundsError, match=r"bounds name 'who', which is the unit.*Take it out"):
        model.fit(table)
