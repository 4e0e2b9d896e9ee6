"""Tables of odd types: each fits, or is refused before anything is reserved."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from privclust import DPLloyd, Ledger
from privclust.errors import ColumnError, ColumnTypeError

N = 12
X = np.linspace(0.0, 10.0, N)
NAMED = {"a": (0, 10), "b": (0, 10)}
ARRAYS = ([0, 0], [10, 10])
TWO = np.column_stack([X, X])
SURROGATE = "\ud800"


class Subclass(np.ndarray):
    """An array by another name."""


def pandas(b: Any) -> Any:
    return pd.DataFrame({"a": X, "b": b})


def pandas_arrow(values: Any, kind: Any) -> Any:
    return pandas(pd.array(values, dtype=pd.ArrowDtype(kind)))


def renamed(*names: Any) -> Any:
    return pandas(X).set_axis(pd.Index(names, dtype=object), axis=1)


def arrow(b: Any) -> Any:
    return pa.table({"a": pa.array(X), "b": b})


def polars(b: Any) -> Any:
    return pl.DataFrame({"a": X}).with_columns(b.alias("b"))


def duck(b: str) -> Any:
    return duckdb.sql(f"SELECT i::DOUBLE AS a, {b} AS b FROM range({N}) AS t(i)")


def run_ends(value: Any) -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array([N], pa.int32()), pa.array([value]))


def structured() -> Any:
    return np.zeros((N, 2), [("a", "f8"), ("b", "f8")])


ACCEPTED: dict[str, Callable[[], Any]] = {
    "longdouble array": lambda: TWO.astype(np.longdouble),
    "float16 array": lambda: TWO.astype(np.float16),
    "big-endian array": lambda: TWO.astype(">f8"),
    "matrix": lambda: np.matrix(TWO),
    "array subclass": lambda: TWO.view(Subclass),
    "masked array": lambda: np.ma.masked_greater(TWO, 5),
    "boolean array": lambda: np.ones((N, 2), bool),
    "uint64 array": lambda: np.full((N, 2), 2**64 - 1, np.uint64),
    "pandas float16": lambda: pandas(X.astype(np.float16)),
    "pandas Int64": lambda: pandas(pd.array([None] * N, dtype="Int64")),
    "pandas boolean": lambda: pandas(pd.array([True] * N, dtype="boolean")),
    "pandas category of integers": lambda: pandas(pd.Categorical([1] * N)),
    "pandas Arrow double": lambda: pandas_arrow(X, pa.float64()),
    "pandas Arrow half": lambda: pandas_arrow(X.astype(np.float16), pa.float16()),
    "integer names": lambda: renamed(0, 1),
    "mixed names": lambda: renamed("a", 1),
    "MultiIndex of columns": lambda: pandas(X).set_axis(
        pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), axis=1
    ),
    "MultiIndex of rows": lambda: pandas(X).set_index(
        pd.MultiIndex.from_product([range(N), ["q"]])
    ),
    "empty name": lambda: renamed("a", ""),
    "name with NUL": lambda: renamed("a", "\0"),
    "no rows": lambda: pandas(X).iloc[:0],
    "Arrow half": lambda: arrow(pa.array(X.astype(np.float16))),
    "Arrow decimal": lambda: arrow(pa.array([Decimal("1.5")] * N, pa.decimal256(50, 2))),
    "Arrow dictionary of integers": lambda: arrow(pa.array([1] * N).dictionary_encode()),
    "Arrow null": lambda: arrow(pa.nulls(N)),
    "Arrow batch": lambda: arrow(pa.array(X)).to_batches()[0],
    "Polars decimal": lambda: polars(pl.Series([Decimal("1.5")] * N)),
    "Polars null": lambda: polars(pl.Series([None] * N)),
    "Polars lazy decimal": lambda: polars(pl.Series([Decimal("1.5")] * N)).lazy(),
    "DuckDB HUGEINT": lambda: duck("i::HUGEINT"),
    "DuckDB DECIMAL": lambda: duck("i::DECIMAL(5, 2)"),
    "dataset of half floats": lambda: ds.dataset(arrow(pa.array(X.astype(np.float16)))),
    "stream of decimals": lambda: lambda: arrow(pa.array([Decimal("1.5")] * N)),
}

REFUSED: dict[str, Callable[[], Any]] = {
    "complex array": lambda: TWO.astype(complex),
    "object array": lambda: TWO.astype(object),
    "text array": lambda: TWO.astype(str),
    "datetime array": lambda: np.zeros((N, 2), "M8[s]"),
    "structured array": structured,
    "record array": lambda: np.rec.array(np.zeros(N, [("a", "f8"), ("b", "f8")])),
    "void array": lambda: np.zeros((N, 2), "V8"),
    "three dimensions": lambda: np.zeros((N, 2, 2)),
    "flat list": lambda: X.tolist(),
    "mapping": lambda: {"a": X, "b": X},
    "pandas Series": lambda: pd.Series(X),
    "pandas Sparse": lambda: pandas(pd.arrays.SparseArray(X)),
    "pandas Sparse of integers": lambda: pandas(pd.arrays.SparseArray(np.zeros(N, int))),
    "pandas longdouble": lambda: pandas(X.astype(np.longdouble)),
    "pandas big-endian": lambda: pandas(X.astype(">f8")),
    "pandas complex": lambda: pandas(X.astype(complex)),
    "pandas objects": lambda: pandas(pd.Series([1.0, "b", None, [1]] * (N // 4), dtype=object)),
    "pandas category of floats": lambda: pandas(pd.Categorical([1.5] * N)),
    "pandas category of intervals": lambda: pandas(pd.cut(X, 3)),
    "pandas category of surrogates": lambda: pandas(pd.Categorical([SURROGATE] * N)),
    "pandas dates in a zone": lambda: pandas(pd.date_range("2020", periods=N, tz="UTC")),
    "pandas timedelta": lambda: pandas(pd.to_timedelta(X, "s")),
    "pandas period": lambda: pandas(pd.period_range("2020", periods=N)),
    "pandas Arrow decimal": lambda: pandas_arrow([Decimal(1)] * N, pa.decimal128(5, 2)),
    "pandas Arrow list": lambda: pandas_arrow([[1.0]] * N, pa.list_(pa.float64())),
    "surrogate name": lambda: renamed("a", SURROGATE),
    "two equal names": lambda: renamed("a", "a"),
    "two names that look equal": lambda: renamed(1, "1"),
    "no columns": lambda: pandas(X)[[]],
    "Arrow dictionary of floats": lambda: arrow(pa.array(X).dictionary_encode()),
    "Arrow run ends": lambda: arrow(run_ends(1.0)),
    "Arrow large_list": lambda: arrow(pa.array([[1.0]] * N, pa.large_list(pa.float64()))),
    "Arrow list_view": lambda: arrow(pa.array([[1.0]] * N, pa.list_view(pa.float64()))),
    "Arrow struct": lambda: arrow(pa.array([{"q": 1.0}] * N)),
    "Arrow union": lambda: arrow(
        pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array(X)])
    ),
    "Arrow string_view": lambda: arrow(pa.array(["1"] * N, pa.string_view())),
    "Arrow uuid": lambda: arrow(pa.array([b"0" * 16] * N, pa.binary(16)).cast(pa.uuid())),
    "Arrow opaque": lambda: arrow(
        pa.ExtensionArray.from_storage(pa.opaque(pa.float64(), "t", "v"), pa.array(X))
    ),
    "stream of run ends": lambda: lambda: arrow(run_ends(1.0)),
    "Polars Int128": lambda: polars(pl.Series([1] * N, dtype=pl.Int128)),
    "Polars Object": lambda: polars(pl.Series([object()] * N, dtype=pl.Object)),
    "Polars Struct": lambda: polars(pl.Series([{"q": 1}] * N)),
    "Polars Enum": lambda: polars(pl.Series(["u"] * N, dtype=pl.Enum(["u"]))),
    "Polars lazy Object": lambda: polars(pl.Series([object()] * N, dtype=pl.Object)).lazy(),
    "DuckDB UUID": lambda: duck("uuid()"),
    "DuckDB BIT": lambda: duck("'101'::BIT"),
    "DuckDB INTERVAL": lambda: duck("INTERVAL 1 DAY"),
}

UNITS: dict[str, tuple[bool, Callable[[], Any]]] = {
    "objects": (True, lambda: pandas(X).assign(who=["a", 1, None] * (N // 3))),
    "surrogates": (True, lambda: pandas(X).assign(who=[SURROGATE] * N)),
    "intervals": (True, lambda: pandas(X).assign(who=pd.cut(X, 3))),
    "Sparse texts": (True, lambda: pandas(X).assign(who=sparse(["a"] * N))),
    "Sparse": (False, lambda: pandas(X).assign(who=pd.arrays.SparseArray(np.arange(N)))),
    "big-endian": (False, lambda: pandas(X).assign(who=np.arange(N).astype(">i8"))),
    "category of floats": (False, lambda: pandas(X).assign(who=pd.Categorical([1.5] * N))),
    "run ends": (False, lambda: arrow(pa.array(X)).append_column("who", run_ends("a"))),
    "stream of run ends": (
        False,
        lambda: lambda: arrow(pa.array(X)).append_column("who", run_ends("a")),
    ),
    "Polars Categorical": (
        True,
        lambda: polars(pl.Series(X)).with_columns(who=pl.lit("u").cast(pl.Categorical)),
    ),
    "Polars Int128": (
        False,
        lambda: polars(pl.Series(X)).with_columns(who=pl.lit(1).cast(pl.Int128)).lazy(),
    ),
}


def sparse(values: list[str]) -> Any:
    return pd.arrays.SparseArray(np.array(values, object))


def ledger_at(folder: Path, unit: str = "row") -> str:
    place = str(folder / "budget.db")
    Ledger.create(place, "t", epsilon=4.0, delta=1e-5, unit=unit)
    return place


def model(ledger: str, bounds: Any = ARRAYS, **more: Any) -> DPLloyd:
    given = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0, **more}
    return DPLloyd(1, bounds=bounds, ledger=ledger, dataset="t", **given)


def assert_untouched(ledger: str) -> None:
    assert not list(Ledger.open(ledger).runs("t"))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_type_that_is_accepted_fits(name: str, tmp_path: Path) -> None:
    fitted = model(ledger_at(tmp_path)).fit(ACCEPTED[name]())
    assert fitted.cluster_centers_.shape == (1, 2)


@pytest.mark.parametrize("name", REFUSED)
def test_odd_type_is_refused_before_anything_is_reserved(name: str, tmp_path: Path) -> None:
    place = ledger_at(tmp_path)
    with pytest.raises((TypeError, ValueError)):  # never an EngineError, which names no cause
        model(place).fit(REFUSED[name]())
    assert_untouched(place)


@pytest.mark.parametrize("name", UNITS)
def test_odd_ids_fit_or_are_refused_before_anything_is_reserved(name: str, tmp_path: Path) -> None:
    fits, make = UNITS[name]
    place = ledger_at(tmp_path, unit="who")
    by_ids = model(place, NAMED, unit="who")
    if fits:
        by_ids.fit(make())
        return
    with pytest.raises((ColumnError, ColumnTypeError)):
        by_ids.fit(make())
    assert_untouched(place)


@pytest.mark.attack
@pytest.mark.parametrize("name", ["pandas Sparse", "pandas longdouble", "pandas big-endian"])
def test_refusal_names_column_type_and_a_remedy_that_works(name: str, tmp_path: Path) -> None:
    table, place = REFUSED[name](), ledger_at(tmp_path)
    with pytest.raises(ColumnTypeError, match=r"'b' \((SparseDtype|float128|>f8)\).*astype\(\{'b'"):
        model(place, NAMED).fit(table)
    model(place, NAMED).fit(table.astype({"b": "float64"}))


def test_refusal_of_a_sparse_matrix_names_a_remedy_that_works(tmp_path: Path) -> None:
    matrix, place = scipy.sparse.csr_matrix(TWO), ledger_at(tmp_path)
    with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
        model(place).fit(matrix)
    assert_untouched(place)
    model(place).fit(matrix.toarray())


def test_refusal_of_a_surrogate_says_which_name(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match=r"'\\ud800'.*Rename"):
        model(ledger_at(tmp_path)).fit(renamed("a", SURROGATE))


BOUNDS_FILE = """bounds_origin = "domain knowledge"
[columns.a]
type = "number"
lower = 0
upper = 10
[columns.b]
type = "{}"
{}
"""
DECLARED = {"category": 'levels = ["1", "2"]', "date": "lower = 2020-01-01\nupper = 2029-12-31"}
MIXED: dict[str, tuple[str, Callable[[], Any]]] = {
    "Sparse": ("category", lambda: pandas(pd.arrays.SparseArray(np.ones(N, int)))),
    "big-endian": ("category", lambda: pandas(np.ones(N, ">i8"))),
    "longdouble": ("category", lambda: pandas(np.ones(N, np.longdouble))),
    "timedelta": ("date", lambda: pandas(pd.to_timedelta(X, "s"))),
    "Polars Time": ("date", lambda: polars(pl.Series([datetime.time()] * N))),
}


@pytest.mark.parametrize("name", MIXED)
def test_declared_column_of_odd_type_is_refused_before_anything_is_reserved(
    name: str, tmp_path: Path
) -> None:
    use, make = MIXED[name]
    bounds, place = tmp_path / "bounds.toml", ledger_at(tmp_path)
    bounds.write_text(BOUNDS_FILE.format(use, DECLARED[use]))
    with pytest.raises(ColumnTypeError):
        model(place, bounds).fit(make())
    assert_untouched(place)


def test_profile_of_an_odd_type_is_refused_before_anything_is_reserved(tmp_path: Path) -> None:
    place = ledger_at(tmp_path)
    fitted = model(place, {"a": (0, 10)}).fit(pandas(X)[["a"]])
    table = pandas(pd.arrays.SparseArray(X))
    with pytest.raises(ColumnTypeError, match="'b'"):
        fitted.profile(table, ["b"], bounds={"b": (0, 10)}, epsilon=0.5)
    assert len(list(Ledger.open(place).runs("t"))) == 1


def test_labels_of_an_odd_type_are_refused_by_its_name() -> None:
    fitted = DPLloyd(1, delta=1e-6, bounds=NAMED).fit(pandas(X))
    with pytest.raises(ColumnTypeError, match="'b'"):
        fitted.predict(pandas(pd.arrays.SparseArray(X)))


def test_every_file_is_checked_by_its_own_types(tmp_path: Path) -> None:
    for place, kind in enumerate((pa.float64(), pa.float16(), pa.decimal128(5, 2))):
        pq.write_table(arrow(pa.nulls(N, kind)), tmp_path / f"{place}.parquet")
    (tmp_path / "3.csv").write_text("a,b\n1,2\n")
    paths = sorted(map(str, tmp_path.iterdir()))
    assert model(ledger_at(tmp_path), NAMED).fit(paths).n_features_in_ == 2
