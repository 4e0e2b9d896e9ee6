"""Fits with seeded noise whose bits tell whether a change altered results.

`benchmarks/baseline.py` keeps their bits and `benchmarks/restamp.py` compares them. A probe's name
says what it covers and never changes; names of the library stand in `ESTIMATORS` and in the
functions of the first two sections below, where a rename is followed. Samples that clients of a
federation draw follow from no seed, so no federation here is large enough for them.
"""

from __future__ import annotations

import dataclasses
import tomllib
import warnings
from collections.abc import Iterator
from datetime import date
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import privclust
from benchmarks.lake import spark_session
from privclust.testing import SeededNoise, noise_from

ESTIMATORS = {
    name: getattr(privclust, name)
    for name in (
        *("PrivateKMeans", "PEMeans", "HDPEMeans", "DPLloyd"),
        *("FastLloyd", "LSHCoreset", "BalcanKMeans", "FedDPKMeans"),
    )
}
SHAPES = ((1500, 2, 4), (1200, 16, 6), (800, 70, 4))
"""Rows, columns and clusters of the tables."""
SAMPLED_ROWS = 2**18
"""A typed number of rows that lets a fit measure a sample, however few rows there are."""
SIDE = 1.5
MIXED = """
bounds_origin = "domain knowledge"
[columns]
age = {type = "number", lower = 0, upper = 120}
income = {type = "number", lower = 100, upper = 10_000_000, transform = "log"}
ward = {type = "category", levels = ["A", "B", "other"]}
visit = {type = "date", lower = 2020-01-01, upper = 2025-12-31}
"""
PURE = ("DPLloyd", "BalcanKMeans")
"""Estimators that can have delta = 0."""
Probe = tuple[str, str]
"""A name, and the hash of what was found."""


def bits() -> dict[str, str]:
    """Return the hash of each probe by its name."""
    with TemporaryDirectory() as folder, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # that clusters will hardly be found
        found = list(_probes(Path(folder)))
    names = [name for name, _ in found]
    assert len(set(names)) == len(names), "two probes have one name"
    return dict(found)


# Parameters ---------------------------------------------------------------------------------------

_BALL: dict[str, Any] = {"radius": 2.0}
_UNIT: dict[str, Any] = {"unit": "who"}
_TWO_ROWS: dict[str, Any] = {"unit": "who", "max_rows_per_unit": 2}
_CLIENT: dict[str, Any] = {"unit": "client"}


def _model(estimator: str, n_clusters: int, given: dict[str, Any]) -> Any:
    return ESTIMATORS[estimator](n_clusters, **{"delta": 1e-6, "random_state": 0, **given})


def _box(n_columns: int) -> dict[str, Any]:
    sides = np.linspace(SIDE, 2 * SIDE, n_columns)
    return {"bounds": (-sides, sides)}


def _named_box(n_columns: int) -> dict[str, Any]:
    lower, upper = _box(n_columns)["bounds"]
    return {"bounds": {f"c{i}": (lower[i], upper[i]) for i in range(n_columns)}}


def _federation(table: pa.Table, columns: list[str], clients_per_unit: int = 1) -> Any:
    places = np.arange(table.num_rows) // 50 % 3
    tables = {name: table.filter(pa.array(places == i)) for i, name in enumerate("xyz")}
    return privclust.Federation.in_process(tables, columns, clients_per_unit=clients_per_unit)


# Results ------------------------------------------------------------------------------------------


def _fitted(
    estimator: str, n_clusters: int, table: Any, given: dict[str, Any], seed: int = 0
) -> Any:
    with noise_from(SeededNoise(seed)):
        return _model(estimator, n_clusters, given).fit(table)


def _fit_bits(*arguments: Any) -> str:
    return _model_bits(_fitted(*arguments))


def _model_bits(model: Any) -> str:
    parts = [model.cluster_centers_, model.cluster_sizes_, np.array(model.n_rows_)]
    if hasattr(model, "center_stderr_"):
        parts += [model.center_stderr_, model.size_stderr_, model.cluster_radii_]
    if hasattr(model, "coreset_"):
        coreset, precision = model.coreset_, model.coreset_.precision
        parts += [coreset.points, coreset.weights]
        parts += [precision.center_stderr, precision.size_stderr, precision.radii]
    if getattr(model, "quality_", None) is not None:
        parts.append(np.array(dataclasses.astuple(model.quality_), dtype=float))
    return _hash(parts + _results(model.releases_))


def _refit_bits(model: Any) -> str:
    """Leave errors out, on which no kept figure depends."""
    return _hash([model.cluster_centers_, model.cluster_sizes_, model.cluster_radii_])


def _path_bits(model: Any) -> str:
    return _hash([np.array([dataclasses.astuple(one) for one in model.k_path().choices], float)])


def _profile_bits(model: Any, table: Any) -> str:
    columns = tomllib.loads(MIXED)["columns"]
    with noise_from(SeededNoise(1)):
        profile = model.profile(table, list(columns), bounds=columns, epsilon=1.0)
    intervals = [profile.sizes]
    for column in profile.columns:
        intervals += [column.shares, *([] if column.means is None else [column.means])]
    parts = [part for one in intervals for part in (one.values, one.lower, one.upper)]
    return _hash(parts + _results(profile.releases))


def _results(releases: Any) -> list[Any]:
    return [part for one in releases for part in (np.array(one.scale), one.result)]


def _hash(arrays: list[Any]) -> str:
    found = sha256()
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()[:16]


# Tables -------------------------------------------------------------------------------------------


@cache
def _rows(n_rows: int, n_columns: int, k: int) -> Any:
    rng = np.random.default_rng(n_columns)
    centers = rng.uniform(-0.7, 0.7, (k, n_columns)) / np.sqrt(n_columns)
    return centers[rng.integers(0, k, n_rows)] + rng.normal(0, 0.05, (n_rows, n_columns))


@cache
def _table(n_rows: int, n_columns: int, k: int) -> pa.Table:
    columns = {f"c{i}": column for i, column in enumerate(_rows(n_rows, n_columns, k).T)}
    return pa.table({**columns, "who": np.arange(n_rows) // 3})


@cache
def _mixed(n_rows: int) -> pa.Table:
    rng = np.random.default_rng(3)
    group = rng.integers(0, 3, n_rows)
    age = rng.normal(30.0 + 15 * group, 4.0)
    age[::40] = np.nan
    day = date(2021, 1, 1).toordinal() - date(1970, 1, 1).toordinal()
    days = day + rng.normal(200.0 + 300 * group, 30.0).astype(np.int32)
    return pa.table(
        {
            "age": age,
            "income": 10 ** rng.normal(3.0 + group, 0.2),
            "ward": np.array(["A", "B", "other"])[group],
            "visit": pa.array(days, pa.int32()).cast(pa.date32()),
            "who": np.arange(n_rows) // 3,
        }
    )


def _files(table: pa.Table, folder: Path) -> list[str]:
    for number in range(3):
        part = table.slice(number * table.num_rows // 3, table.num_rows // 3)
        pq.write_table(part, folder / f"part{number}.parquet", row_group_size=100)
    return [str(folder / f"part{number}.parquet") for number in range(3)]


# Probes -------------------------------------------------------------------------------------------


def _probes(folder: Path) -> Iterator[Probe]:
    for estimator in ESTIMATORS:
        yield from _domain_probes(estimator)
        yield from _unit_probes(estimator)
        yield from _file_probes(estimator, folder)
        yield from _mixed_probes(estimator, folder)
        yield from _federation_probes(estimator)
    for probes in (_direction_probes, _scale_probes, _sampled_probes, _source_probes):
        yield from probes(folder)
    for more in (_start_probes, _server_probes, _profile_probes, _spark_probes):
        yield from more(folder)


def _domain_probes(estimator: str) -> Iterator[Probe]:
    for seed, shape in enumerate(SHAPES):
        n_rows, n_columns, k = shape
        box = _box(n_columns)
        for name, given in {
            "ball": _BALL,
            "box": box,
            "box, rows typed": {**box, "n_rows": n_rows},
            "box, no scale": {**box, "scale": "none"},
            "ball, epsilon 5": {**_BALL, "epsilon": 5.0},
            **({"ball, delta 0": {**_BALL, "delta": 0.0}} if estimator in PURE else {}),
        }.items():
            found = _fit_bits(estimator, k, _rows(*shape), given, seed)
            yield f"domain/{estimator}/{n_columns} columns/{name}", found


def _unit_probes(estimator: str) -> Iterator[Probe]:
    shape = SHAPES[1]
    frame, fit = _table(*shape).to_pandas(), partial(_fit_bits, estimator, shape[2])
    yield f"unit/{estimator}/rows of a frame", fit(frame.drop(columns="who"), _named_box(shape[1]))
    yield f"unit/{estimator}/one row of an id", fit(frame, {**_BALL, **_UNIT})
    yield f"unit/{estimator}/two rows of an id", fit(frame, {**_named_box(shape[1]), **_TWO_ROWS})


def _file_probes(estimator: str, folder: Path) -> Iterator[Probe]:
    shape = SHAPES[0]
    table, fit = _table(*shape), partial(_fit_bits, estimator, shape[2])
    files, given = _files(table, folder), _named_box(shape[1])
    pa.csv.write_csv(table, folder / "table.csv")
    yield f"files/{estimator}/Parquet", fit(files, given)
    yield f"files/{estimator}/CSV", fit(str(folder / "table.csv"), given)
    yield f"files/{estimator}/Parquet with ids", fit(files, {**given, **_TWO_ROWS})


def _mixed_probes(estimator: str, folder: Path) -> Iterator[Probe]:
    table, fit = _mixed(1500), partial(_fit_bits, estimator, 3)
    given = {"bounds": _bounds_file(folder)}
    yield f"mixed/{estimator}/Arrow", fit(table.drop_columns("who"), given)
    yield f"mixed/{estimator}/Parquet with ids", fit(_files(table, folder), {**given, **_TWO_ROWS})


def _bounds_file(folder: Path) -> str:
    (folder / "bounds.toml").write_text(MIXED)
    return str(folder / "bounds.toml")


def _federation_probes(estimator: str) -> Iterator[Probe]:
    shape = SHAPES[0]
    table, fit = _table(*shape), partial(_fit_bits, estimator, shape[2])
    box, names = _named_box(shape[1]), [f"c{i}" for i in range(shape[1])]
    yield f"federation/{estimator}/rows", fit(_federation(table, names), box)
    yield f"federation/{estimator}/ids", fit(_federation(table, names, 2), {**box, **_TWO_ROWS})
    yield f"federation/{estimator}/clients", fit(_federation(table, names), {**box, **_CLIENT})


def _direction_probes(folder: Path) -> Iterator[Probe]:
    given = {"metric": "cosine"}
    for n_rows, n_columns, k in SHAPES:
        found = _fit_bits("PrivateKMeans", k, _rows(n_rows, n_columns, k), given)
        yield f"sphere/{n_columns} columns", found
    n_rows, n_columns, k = SHAPES[1]
    fit = partial(_fit_bits, "PrivateKMeans", k)
    cells = pa.array(_rows(*SHAPES[1]).astype(np.float32).ravel())
    vectors = pa.FixedSizeListArray.from_arrays(cells, n_columns)
    table = pa.table({"words": vectors, "who": np.arange(n_rows) // 3})
    yield "sphere/vectors", fit(table.drop_columns("who"), given)
    yield "sphere/vectors with ids", fit(table, {**given, **_TWO_ROWS})
    yield "sphere/vectors in Parquet", fit(_files(table.drop_columns("who"), folder), given)
    yield "sphere/vectors in Parquet with ids", fit(_files(table, folder), {**given, **_UNIT})


def _scale_probes(folder: Path) -> Iterator[Probe]:
    given: dict[str, Any] = {"scale": "private"}
    for shape in SHAPES:
        found = _fit_bits("PrivateKMeans", shape[2], _rows(*shape), {**_box(shape[1]), **given})
        yield f"measured scale/{shape[1]} columns", found
    shape, mixed = SHAPES[1], {**given, "bounds": _bounds_file(folder)}
    fit = partial(_fit_bits, "PrivateKMeans", 4)
    named = {**_named_box(shape[1]), **given}
    yield "measured scale/mixed", fit(_mixed(1500).drop_columns("who"), mixed)
    yield "measured scale/mixed with ids", fit(_mixed(1500), {**mixed, **_TWO_ROWS})
    files = _files(_table(*shape), folder)
    yield "measured scale/Parquet", fit(files, named)
    yield "measured scale/Parquet with ids", fit(files, {**named, **_TWO_ROWS})


def _sampled_probes(folder: Path) -> Iterator[Probe]:
    shape = SHAPES[0]
    fit = partial(_fit_bits, "PrivateKMeans", shape[2])
    table, given = _table(*shape), {**_named_box(shape[1]), "n_rows": SAMPLED_ROWS}
    files, plain = _files(table, folder), table.drop_columns("who")
    yield "sampled/100000 rows", fit(_rows(100_000, *shape[1:]), _BALL)
    yield "sampled/rows", fit(plain, given)
    yield "sampled/ids", fit(table, {**given, **_TWO_ROWS})
    yield "sampled/start", fit(plain, {**given, "init": _rows(*shape)[:6]})
    yield "sampled/Parquet", fit(files, given)
    yield "sampled/Parquet with ids", fit(files, {**given, **_TWO_ROWS})
    yield "sampled/measured scale", fit(plain, {**given, "scale": "private"})


def _source_probes(folder: Path) -> Iterator[Probe]:
    shape = SHAPES[0]
    fit, given = partial(_fit_bits, "PrivateKMeans", shape[2]), _named_box(shape[1])
    table, files = _table(*shape), _files(_table(*shape), folder)
    yield "source/Polars", fit(pl.from_arrow(table), {**given, **_UNIT})
    yield "source/lazy Polars", fit(pl.scan_parquet(files), given)
    yield "source/DuckDB", fit(duckdb.from_parquet(files), given)
    yield "source/Arrow stream", fit(lambda: table.to_reader(100), {**given, **_TWO_ROWS})


def _start_probes(folder: Path) -> Iterator[Probe]:
    for shape in SHAPES:
        n_columns, k, box = shape[1], shape[2], _box(shape[1])
        rows, name = _rows(*shape), f"{n_columns} columns"
        first = _fitted("PrivateKMeans", k, rows[::2], {**box, "max_clusters": 12})
        yield f"few cells/{name}", _model_bits(first)
        yield f"k path/{name}", _path_bits(first)
        yield f"refit/{name}", _refit_bits(first.refit(2))
        for kind, init in {"centres": first.cluster_centers_, "model": first}.items():
            found = _fit_bits("PrivateKMeans", k, rows, {**box, "init": init}, 1)
            yield f"start/{kind}/{name}", found
        yield f"no noise/{name}", _fit_bits("PrivateKMeans", k, rows, {**box, "epsilon": np.inf})
    given = {"bounds": _bounds_file(folder)}
    mixed = _fitted("PrivateKMeans", 3, _mixed(1500).drop_columns("who"), given)
    yield "k path/mixed", _path_bits(mixed)
    yield "refit/mixed", _refit_bits(mixed.refit(2))


def _server_probes(folder: Path) -> Iterator[Probe]:
    for shape in SHAPES:
        public = {"server_data": _rows(*shape)[:40] + 0.01}
        for rounds in (0, 2):
            given = {**public, "rounds": rounds}
            found = _fit_bits("FedDPKMeans", shape[2], _rows(*shape), given)
            yield f"server/{shape[1]} columns/{rounds} rounds", found
    shape = SHAPES[1]
    fit, names = partial(_fit_bits, "FedDPKMeans", shape[2]), [f"c{i}" for i in range(shape[1])]
    public = {"server_data": _rows(*shape)[:40] + 0.01}
    federation = _federation(_table(*shape), names)
    yield "server/federation", fit(federation, public)
    yield "server/federation with ids", fit(federation, {**public, **_TWO_ROWS})
    yield "server/federation in a box", fit(federation, {**public, **_named_box(shape[1])})
    yield "server/Parquet", fit(_files(_table(*shape).drop_columns("who"), folder), public)


def _profile_probes(folder: Path) -> Iterator[Probe]:
    shape, others = SHAPES[0], _mixed(SHAPES[0][0]).drop_columns("who")
    names, box, table = [f"c{i}" for i in range(shape[1])], _named_box(shape[1]), _table(*shape)
    whole = table
    for name in others.column_names:
        whole = whole.append_column(name, others[name])
    files = _files(whole, folder)
    for estimator in ESTIMATORS:
        model = _fitted(estimator, 3, table.select(names), box)
        yield f"profile/{estimator}/Arrow", _profile_bits(model, whole)
    model = _fitted("PrivateKMeans", 3, table.select(names), box)
    yield "profile/pandas", _profile_bits(model, whole.to_pandas())
    yield "profile/Parquet", _profile_bits(model, files)
    yield "profile/federation", _profile_bits(model, _federation(whole, names))
    model = _fitted("PrivateKMeans", 3, table, {**box, **_TWO_ROWS})
    yield "profile/ids", _profile_bits(model, whole)
    yield "profile/Parquet with ids", _profile_bits(model, files)
    model = _fitted("PrivateKMeans", 3, others, {"bounds": _bounds_file(folder)})
    yield "profile/mixed", _profile_bits(model, whole)


def _spark_probes(folder: Path) -> Iterator[Probe]:
    shape, session = SHAPES[0], spark_session()
    session.conf.set("spark.sql.shuffle.partitions", "2")  # each task of each query takes time
    fit, box = partial(_fit_bits, "DPLloyd", shape[2]), _named_box(shape[1])
    files = _files(_table(*shape), folder)
    yield "Spark/frame", fit(session.read.parquet(*files), box)
    yield "Spark/frame with ids", fit(session.read.parquet(*files), {**box, **_TWO_ROWS})
    flagship, few = partial(_fit_bits, "PrivateKMeans", 2), {**box, "max_clusters": 3}
    yield "Spark/files", flagship(privclust.on_spark(session, files), few)
    mixed = privclust.on_spark(session, _files(_mixed(1500), folder))
    bounds = {"bounds": _bounds_file(folder), **_TWO_ROWS}
    yield "Spark/mixed files with ids", fit(mixed, bounds)
    session.stop()
