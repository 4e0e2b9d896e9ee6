"""Rows by their direction alone: each by itself, in any form a table may have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privclust import PrivateKMeans, load, save
from privclust.domains.sphere import Sphere, directions
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.errors import BoundsError, ColumnError, ParameterError
from privclust.kernels.grid import GRID, FloatArray
from privclust.models.report import to_html
from privclust.queries.clusters import ClusterSums
from privclust.queries.unit import Unit
from privclust.sources.streams import source_of
from privclust.testing import SeededNoise, noise_from

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
D = 5


def on_sphere(n_rows: int, seed: int = 0) -> FloatArray:
    """Return two groups of opposite directions, of all lengths."""
    rng = np.random.default_rng(seed)
    side = rng.choice([-1.0, 1.0], n_rows)
    rows = side[:, None] * np.eye(D)[0] + rng.normal(0, 0.2, (n_rows, D))
    long: FloatArray = rows * rng.uniform(0.01, 100, n_rows)[:, None]
    return long


def vectors(rows: Any, numbers: Any = pa.float32()) -> Any:  # noqa: B008
    """Return rows as one Arrow column."""
    return pa.array([list(row) for row in rows], pa.list_(numbers, D))


@settings(deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(2, 30), st.just(D)), elements=NUMBERS))
def test_a_row_has_length_one_or_none_and_is_mapped_alone_in_any_layout(rows: FloatArray) -> None:
    grid = Sphere(D).to_grid(directions(rows))
    lengths = np.linalg.norm(grid / GRID, axis=1)
    nothing = (np.nan_to_num(rows) == 0).all(axis=1)
    assert (lengths <= 1).all()
    assert lengths[~nothing] == pytest.approx(1.0, abs=1e-6)
    assert not grid[nothing].any()
    alone = np.vstack([Sphere(D).to_grid(directions(row[None])) for row in rows])
    assert np.array_equal(grid, alone)
    assert np.array_equal(grid, Sphere(D).to_grid(directions(np.asfortranarray(rows))))


@pytest.mark.attack
def test_a_direction_follows_from_its_row_alone() -> None:
    rows = np.vstack([on_sphere(20), 1e9 * np.eye(D)[:1], np.zeros((1, D))])
    alone = np.vstack([directions(row[None]) for row in rows])
    assert np.array_equal(directions(rows), alone)
    assert np.linalg.norm(alone[:-1], axis=1) == pytest.approx(1.0)


def test_the_length_of_a_row_does_not_matter() -> None:
    rows = on_sphere(50)
    assert np.array_equal(directions(rows), directions(rows * 2.0**40))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_any_floats_are_read_as_they_are(dtype: Any) -> None:
    rows = on_sphere(50).astype(dtype)
    assert np.array_equal(directions(rows), directions(rows.astype(np.float64)))


def sums() -> ClusterSums:
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (3, D))
    return ClusterSums(points, points, 2.0, 1.0)


@pytest.mark.parametrize("by_unit", [False, True], ids=["rows", "units"])
def test_columns_of_vectors_give_the_integers_of_an_array(by_unit: bool, tmp_path: Path) -> None:
    rows = on_sphere(40).astype(np.float32)
    cells: list[Any] = [list(row) for row in rows]
    cells[3], cells[4] = None, [None, *cells[4][1:]]
    rows[3], rows[4, 0] = 0.0, np.nan
    column = pa.array(cells, pa.list_(pa.float32(), D))
    who = pa.array([place % 7 for place in range(40)])
    table = pa.table({"words": column, "who": who} if by_unit else {"words": column})
    frame = pa.table({**{f"x{place}": rows[:, place] for place in range(D)}, "who": who})
    pq.write_table(table, tmp_path / "rows.parquet")
    source = source_of(str(tmp_path / "rows.parquet"))
    assert source is not None
    domain, unit = Sphere(D, "words"), Unit("who", 2)
    if by_unit:
        expected = NumpyEngine(frame, Sphere(D), unit=unit).aggregate(sums())
        engines: list[Engine] = [
            NumpyEngine(table, domain, unit=unit),
            NumpyEngine(pl.from_arrow(table), domain, unit=unit),
            SpilledEngine(source, ["words"], domain, unit),
        ]
    else:
        expected = NumpyEngine(rows, Sphere(D)).aggregate(sums())
        engines = [
            NumpyEngine(table, domain),
            NumpyEngine(table.slice(0, 40).combine_chunks(), domain),
            NumpyEngine(pl.from_arrow(table), domain),
            ArrowEngine(source, ["words"], domain),
        ]
    assert [engine.aggregate(sums()) for engine in engines] == [expected] * len(engines)


def fitted(table: Any, **given: Any) -> Any:
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(
            2, metric="cosine", delta=1e-6, max_clusters=4, random_state=0, **given
        )
        return model.fit(table)


def test_centres_are_directions_and_come_back_from_a_file(tmp_path: Path) -> None:
    model = fitted(on_sphere(4000))
    assert np.linalg.norm(model.cluster_centers_, axis=1) == pytest.approx(1.0)
    assert sorted(model.cluster_centers_[:, 0]) == pytest.approx([-1.0, 1.0], abs=0.02)
    assert "rows count by their direction alone" in str(model.privacy_statement_)
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    rows = on_sphere(100, seed=1)
    assert np.array_equal(loaded.predict(rows), model.predict(rows))
    assert np.array_equal(model.predict(rows), model.predict(rows * 7))
    assert np.linalg.norm(model.refit(1).cluster_centers_) == pytest.approx(1.0)
    assert "direction alone" in to_html(loaded)


def test_a_column_of_vectors_with_ids_is_fitted_saved_and_labelled(tmp_path: Path) -> None:
    rows = on_sphere(4000)
    table = pa.table({"words": vectors(rows), "who": np.arange(4000) // 2})
    model = fitted(table, unit="who", max_rows_per_unit=2)
    assert model.privacy_statement_.unit == "who"
    assert model.center_names_.tolist() == [f"words[{place}]" for place in range(D)]
    assert model.n_features_in_ == 1
    save(model, tmp_path / "model.json")
    some = pa.table({"words": vectors(on_sphere(50, seed=1))})
    found = load(tmp_path / "model.json").predict(some)
    assert found.tolist() == model.predict(some).tolist()
    assert set(found) == {0, 1}


def test_what_cannot_be_clustered_by_direction_is_refused() -> None:
    rows = on_sphere(20)
    with pytest.raises(BoundsError, match="Leave bounds, radius and scale out"):
        fitted(rows, radius=1.0)
    with pytest.raises(ParameterError, match="'euclidean' or 'cosine', got 'dot'"):
        PrivateKMeans(2, metric="dot", delta=1e-6).fit(rows)
    both = pa.table({"words": vectors(rows), "age": np.zeros(20)})
    with pytest.raises(ColumnError, match="clustered alone"):
        fitted(both)
    ragged = pa.table({"words": pa.array([[1.0]] * 20)})
    with pytest.raises(TypeError, match="columns that do not hold numbers: words"):
        fitted(ragged)
    model = fitted(pa.table({"words": vectors(on_sphere(2000))}))
    short = pa.table({"words": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))})
    with pytest.raises(ValueError, match="vectors must have 5 numbers"):
        model.predict(short)
