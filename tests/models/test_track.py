"""Ids that last: across orders of size, drift, absence and arrival."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.cluster_models import made_up_model
from helpers.fitted_models import vector_model, vectors_model
from helpers.peak_memory import peak_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust import track
from privclust.domains._number_column import NumberColumn
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.errors import ColumnError, ParameterError
from privclust.models.cluster_model import ClusterModel
from privclust.models.plots import LABEL_PART, spaced


def model_of(centers: Any, sizes: Any = None, error: float = 1e-3) -> ClusterModel:
    k, d = np.shape(centers)
    return made_up_model(
        centers,
        sizes,
        center_stderr=np.full((k, d), error),
        size_stderr=np.full(k, 10.0),
        cluster_radii=np.full(k, 0.1),
    )


def model_in(box: Box, centers: Any, spread: float) -> ClusterModel:
    """Return a model of a box whose rows lie `spread` around their centres, all columns together.

    `spread` is in the units of the first column.
    """
    radii = np.full(len(centers), spread / box.scales[0])
    return replace(model_of(centers), domain=box, cluster_radii=radii)


def test_ids_follow_centres_in_whatever_order_they_come() -> None:
    one, other, third = [0.0, 0.0], [0.5, 0.0], [0.0, 0.5]
    series = track([model_of([one, other, third]), model_of([third, one, other])])
    assert [ids.tolist() for ids in series.ids] == [[0, 1, 2], [2, 0, 1]]
    np.testing.assert_array_equal(series.centers[0], series.centers[1])
    assert not series.drifted.any()


def test_models_of_one_column_of_vectors_are_followed_by_coordinate() -> None:
    series = track([vectors_model(0), vectors_model(1)])
    assert series.names == ("words[0]", "words[1]", "words[2]")
    assert series.centers.shape == (2, 2, 3)


def test_drift_is_seen_once_it_is_larger_than_noise() -> None:
    weeks = [model_of([[0.001 * week, 0.0], [0.5, 0.5]]) for week in range(12)]
    series = track(weeks)
    assert series.drifted[:, 0].tolist() == [
        week >= series.drifted[:, 0].argmax() for week in range(12)
    ]
    assert 4 < series.drifted[:, 0].argmax() < 9
    assert not series.drifted[:, 1].any()
    assert "from model" in str(series)


def test_vanished_cluster_and_new_one_far_away_have_two_ids() -> None:
    series = track([model_of([[0.0, 0.0], [0.5, 0.0]]), model_of([[0.0, 0.0], [-0.5, 0.0]])])
    assert [ids.tolist() for ids in series.ids] == [[0, 1], [0, 2]]
    assert np.isnan(series.sizes[1, 1])
    assert np.isnan(series.sizes[0, 2])


@pytest.mark.parametrize("uppers", [(100, 1000), (1000, 100), (100, 100)])
def test_other_bounds_change_no_id(uppers: tuple[float, float]) -> None:
    first, last = (Box([0], [upper]) for upper in uppers)
    series = track([model_in(first, [[20.0], [60.0]], 2.0), model_in(last, [[21.0], [61.0]], 2.0)])
    assert [ids.tolist() for ids in series.ids] == [[0, 1], [0, 1]]


@pytest.mark.parametrize("uppers", [(100, 1000), (1000, 100), (100, 100)])
def test_far_cluster_is_a_new_one_whatever_the_bounds(uppers: tuple[float, float]) -> None:
    first, last = (Box([0], [upper]) for upper in uppers)
    series = track([model_in(first, [[20.0], [60.0]], 2.0), model_in(last, [[20.0], [75.0]], 2.0)])
    assert [ids.tolist() for ids in series.ids] == [[0, 1], [0, 2]]


@pytest.mark.parametrize(("move", "ids"), [([0.0, 50.0], [0, 1]), ([15.0, 0.0], [0, 2])])
def test_columns_count_as_in_the_later_model(move: list[float], ids: list[int]) -> None:
    # In the first model a step of 50 in the second column is as long as one in the first.
    first, last = Box([0, 0], [100, 100]), Box([0, 0], [100, 10_000])
    there = np.array([[20.0, 20.0], [60.0, 20.0]])
    moved = there + np.array([[0.0, 0.0], move])
    series = track([model_in(first, there, 2.0), model_in(last, moved, 2.0)])
    assert series.ids[1].tolist() == ids


def test_column_on_logarithms_counts_by_ratios_in_the_later_model() -> None:
    income = Mixed((NumberColumn("income", 1.0, 1e6, transform="log"),))
    radii = np.full(2, 0.02)
    first = model_in(Box([0], [1e6]), [[100.0], [100_000.0]], 1000.0)
    last = replace(model_of([[10_000.0], [105_000.0]]), domain=income, cluster_radii=radii)
    series = track([replace(model, feature_names_in=("income",)) for model in (first, last)])
    assert series.ids[1].tolist() == [2, 1]


def test_one_that_comes_back_has_its_old_id() -> None:
    both, alone = [[0.0, 0.0], [0.5, 0.0]], [[0.0, 0.0]]
    series = track([model_of(both), model_of(alone), model_of(both)])
    assert [ids.tolist() for ids in series.ids] == [[0, 1], [0], [0, 1]]


def test_memory_does_not_grow_with_clusters_times_clusters_times_columns() -> None:
    model = model_of(np.random.default_rng(0).uniform(-1, 1, (150, 300)))
    assert peak_bytes(lambda: track([model, model])) < 30 * model.cluster_centers.nbytes


def test_small_clusters_do_not_drift() -> None:
    series = track([model_of([[0.0]], [5]), model_of([[0.1]], [5])])
    assert not series.drifted.any()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_series_are_drawn(d: int) -> None:
    rng = np.random.default_rng(0)
    start = rng.uniform(-0.5, 0.5, (4, d))
    weeks = [model_of(start + 0.01 * week * (np.arange(4) < 1)[:, None]) for week in range(5)]
    places, sizes = track(weeks).plot()
    assert len(places.lines) == len(sizes.containers) == 4, "one of each a cluster"
    assert places.figure is sizes.figure


def test_clusters_that_stay_where_they_are_have_colours_of_their_own() -> None:
    """All lines had the same grey, and the labels of clusters of one size lay upon each other."""
    still = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]]
    places, sizes = track([model_of(still, [5000, 5010, 900])] * 3).plot()
    assert "none drifted" in places.get_title(loc="left")
    assert len({str(line.get_color()) for line in places.lines}) == 3
    labels: Any = sizes.texts
    heights = sorted(float(label.xy[1]) for label in labels)
    assert min(np.diff(heights)) >= LABEL_PART * sizes.get_ylim()[1] * 0.999
    assert [text.get_color() for text in places.texts] == [t.get_color() for t in sizes.texts]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=12), st.floats(0, 1e5))
def test_labels_keep_their_order_and_their_distance(values: list[float], gap: float) -> None:
    found = np.array(spaced(values, gap))
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= gap - 1e-6 * (1 + gap)).all()
    assert abs(found.mean() - np.mean(values)) <= 1e-6 * (1 + max(values) + gap)
    if len(values) > 1 and np.diff(np.sort(values)).min() > gap:
        assert np.allclose(found, values)


def test_nothing_and_other_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="no model"):
        track([])
    with pytest.raises(ColumnError, match="different columns"):
        track([model_of([[0.0]]), model_of([[0.0, 0.0]])])


def test_directions_in_one_column_are_followed_in_every_coordinate() -> None:
    series = track([vector_model(0), vector_model(1)])
    assert series.names == tuple(f"words[{place}]" for place in range(4))
    assert series.centers.shape[2] == 4
