"""What to expect before anything is spent: more rows and more epsilon never look worse."""

from __future__ import annotations

import time
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from privclust import PrivateKMeans, forecast, simulate
from privclust.errors import CostError, ParameterError
from privclust.models._canvas import new_axes, save_png
from privclust.models.formatting import spoken_memory
from privclust.planning.forecast import Forecast, forecast_grid
from privclust.planning.spark_cost import spark_cost

EPSILONS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 32.0)
SHAPES = list(product((1, 10, 100), (1, 8, 50), (1e-4, 1e-6, 1e-10)))
"""Columns, clusters and delta."""
any_delta = pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-10])
any_shape = pytest.mark.parametrize(("columns", "clusters"), [(1, 1), (2, 50), (10, 8), (100, 2)])


# Monotony ----------------------------------------------------------------------------------------


@any_shape
@any_delta
def test_more_rows_never_look_worse(columns: int, clusters: int, delta: float) -> None:
    rows = (1, 10, 100, 1000, 10_000, 10**6, 10**9)
    forecasts = [forecast(n, columns, clusters, delta=delta) for n in rows]
    for fewer, more in pairwise(forecasts):
        assert more.ratio <= fewer.ratio
        assert more.found >= fewer.found
        assert (more.rows_needed, more.smallest) == (fewer.rows_needed, fewer.smallest)
        assert more.seconds >= fewer.seconds or more.passes < fewer.passes
        if fewer.epsilon_needed is not None:
            assert more.epsilon_needed is not None
            assert more.epsilon_needed <= fewer.epsilon_needed
    assert forecasts[-1].found
    assert not forecasts[0].found


@any_shape
@any_delta
def test_more_epsilon_never_looks_worse(columns: int, clusters: int, delta: float) -> None:
    forecasts = [forecast(1000, columns, clusters, epsilon=e, delta=delta) for e in EPSILONS]
    for stronger, weaker in pairwise(forecasts):
        assert weaker.ratio <= stronger.ratio
        assert weaker.found >= stronger.found
        assert weaker.size_stderr < stronger.size_stderr
        assert weaker.smallest <= stronger.smallest
        assert weaker.rows_needed <= stronger.rows_needed


def test_less_delta_never_looks_better() -> None:
    forecasts = [forecast(1000, 4, 8, delta=delta) for delta in (1e-4, 1e-6, 1e-8, 1e-12)]
    assert [f.ratio for f in forecasts] == sorted(f.ratio for f in forecasts)


# What it takes -----------------------------------------------------------------------------------


def test_so_many_rows_as_it_takes_are_enough_and_far_fewer_are_not() -> None:
    wrong = []
    for (columns, clusters, delta), epsilon in product(SHAPES, EPSILONS):
        needed = forecast(1000, columns, clusters, epsilon=epsilon, delta=delta).rows_needed
        enough = forecast(needed, columns, clusters, epsilon=epsilon, delta=delta)
        few = forecast(max(1, int(0.49 * needed)), columns, clusters, epsilon=epsilon, delta=delta)
        if not enough.found or enough.ratio > 1.1 or (few.found and needed > 4):
            wrong.append((columns, clusters, delta, epsilon, needed, enough.ratio, few.ratio))
    assert wrong == []


def test_the_epsilon_that_it_takes_is_enough_and_far_less_is_not() -> None:
    wrong = []
    for columns, clusters, delta in SHAPES:
        needed = forecast(2000, columns, clusters, delta=delta).epsilon_needed
        assert needed is not None
        enough = forecast(2000, columns, clusters, epsilon=needed, delta=delta)
        little = forecast(2000, columns, clusters, epsilon=0.4 * needed, delta=delta)
        if not enough.found or enough.ratio > 1.1 or little.found:
            wrong.append((columns, clusters, delta, needed, enough.ratio, little.ratio))
    assert wrong == []


@any_shape
@any_delta
def test_what_it_takes_does_not_depend_on_what_was_typed(
    columns: int, clusters: int, delta: float
) -> None:
    given = (1000, columns, clusters)
    needed = [forecast(*given, epsilon=e, delta=delta).epsilon_needed for e in EPSILONS]
    assert needed == pytest.approx([needed[0]] * len(needed), rel=1e-3)


def test_an_epsilon_beyond_reason_is_not_named() -> None:
    hopeless = forecast(10, 100, 8, delta=1e-6)
    assert hopeless.epsilon_needed is None
    assert "epsilon" not in str(hopeless).splitlines()[-1]


def test_from_half_of_the_rows_needed_clusters_are_found_and_from_two_thirds_nearly_all() -> None:
    for columns, clusters, delta in SHAPES:
        needed = forecast(1000, columns, clusters, delta=delta).rows_needed
        few, half, most = (
            forecast(int(part * needed), columns, clusters, delta=delta)
            for part in (0.4, 0.51, 0.7)
        )
        assert (few.found, half.found) == (False, True)
        assert 1 < most.ratio < 1.1 < half.ratio < 1.5 < few.ratio


MEASURED = {
    (3, 8, 1.0): (1.485, 1.164, 1.145, 1.076, 1.027),
    (6, 8, 2.0): (1.194, 1.134, 1.105, 1.051, 1.023),
    (32, 8, 1.0): (1.178, 1.106, 1.078, 1.037, 1.024),
    (3, 20, 0.5): (1.495, 1.314, 1.180, 1.104, 1.082),
    (64, 4, 1.0): (1.167, 1.101, 1.071, 1.035, 1.027),
}
"""Columns, clusters and epsilon: medians of `simulate` with 12 repeats at these parts."""
PARTS = (0.51, 0.6, 0.7, 0.85, 1.0)


@pytest.mark.parametrize("setting", MEASURED)
def test_loss_between_half_and_all_of_the_rows_needed_is_as_measured(
    setting: tuple[int, int, float],
) -> None:
    """It was 1.09 at half of them, where simulations gave up to 1.5."""
    columns, clusters, epsilon = setting
    needed = forecast(1000, columns, clusters, epsilon=epsilon, delta=1e-6).rows_needed
    for part, measured in zip(PARTS, MEASURED[setting], strict=True):
        rows = int(part * needed)
        expected = forecast(rows, columns, clusters, epsilon=epsilon, delta=1e-6).ratio
        assert 1 / 1.25 < measured / expected < 1.25


def test_what_it_would_take_does_not_contradict_the_loss() -> None:
    """A loss of 1.044 stood beside rows that it would take to be within 10 %."""
    for (columns, clusters, delta), part in product(SHAPES, PARTS[:-1]):
        needed = forecast(1000, columns, clusters, delta=delta).rows_needed
        expected = forecast(int(part * needed), columns, clusters, delta=delta)
        near = expected.ratio <= 1.1
        assert "for most fits to be within 10 % of k-means it would take" in str(expected)
        assert ("; a typical one may be there with less" in str(expected)) is not near
        assert ("  single fits may lose more: for most fits" in str(expected)) is near
        assert f"it would take about {needed:,} rows" in str(expected)


@any_shape
@pytest.mark.parametrize("rows", [2, 50, 1024])
def test_units_of_many_rows_are_like_as_many_times_fewer_rows(
    columns: int, clusters: int, rows: int
) -> None:
    by_row = forecast(1000, columns, clusters, delta=1e-6)
    by_unit = forecast(1000 * rows, columns, clusters, delta=1e-6, max_rows_per_unit=rows)
    assert by_unit.ratio == pytest.approx(by_row.ratio)
    assert by_unit.size_stderr == pytest.approx(rows * by_row.size_stderr)
    assert by_unit.rows_needed == pytest.approx(rows * by_row.rows_needed, rel=0.1)
    assert f"{1000 * rows:,} rows, up to {rows:,} of one unit, with" in str(by_unit)
    for other in forecast_grid(by_unit):
        assert other.max_rows_per_unit == rows


@pytest.mark.parametrize("ratio", [0.5, 0.0, -1.0, float("nan"), float("inf"), "2"])
def test_ratio_of_noise_below_that_of_one_table_is_refused(ratio: float) -> None:
    with pytest.raises(ParameterError, match="noise_ratio must be a number of at least 1"):
        forecast(1000, 2, delta=1e-6, noise_ratio=ratio)


def test_larger_noise_is_like_less_epsilon_with_every_epsilon_beside_it() -> None:
    noisy, plain = (forecast(10_000, 4, delta=1e-6, noise_ratio=ratio) for ratio in (1.5, 1.0))
    assert noisy.ratio > plain.ratio
    assert noisy.smallest == pytest.approx(1.5 * plain.smallest, rel=0.01)
    assert noisy.epsilon_needed is not None
    assert plain.epsilon_needed is not None
    assert noisy.epsilon_needed > plain.epsilon_needed
    assert {one.noise_ratio for one in forecast_grid(noisy)} == {1.5}


def test_grid_has_what_was_typed_and_others_beside_it() -> None:
    typed = forecast(500, 3, 8, epsilon=0.7, delta=1e-6)
    grid = forecast_grid(typed)
    assert [expected.epsilon for expected in grid] == [0.25, 0.5, 0.7, 1, 2, 4, 8]
    assert grid[2].ratio == typed.ratio


def test_a_forecast_in_words() -> None:
    lines = str(Forecast(1000, 2, 8, 0.2, 1e-6, 9.0, 134.4, 296, 2400, 0.51, 30, 3.0)).splitlines()
    assert lines == [
        "8 clusters in a table of 1,000 rows with 2 columns at epsilon 0.2, delta 1e-06:",
        "  loss: clusters will hardly be found, because noise hides them",
        "  sizes: ± 134 rows",
        "  rows that each cluster needs: about 296",
        "  time: 30 passes, a few seconds",
        "  for most fits to be within 10 % of k-means it would take about 2,400 rows, or epsilon "
        "0.51; a typical one may be there with less",
        "  assumed: clusters lie apart and have equal sizes; where these differ, each still needs "
        "as many rows",
        "  columns: a number or a date counts as one, a category as one for each of its levels",
        "  protected: one row; if a fit has a unit it is one id, of which one row counts, and the "
        "number of rows to type is that of ids",
    ]
    found = str(forecast(1_000_000, 8, delta=1e-6))
    assert "times that of k-means without privacy (1 is as good, 1.1 a tenth worse)" in found


@pytest.mark.parametrize(
    "given",
    [(0, 2, 8), (1000, 0, 8), (1000, 2, 0), (-5, 2, 8), (1000.5, 2, 8), ("1000", 2, 8)],
    ids=str,
)
def test_numbers_that_cannot_be_are_refused(given: tuple[int, int, int]) -> None:
    with pytest.raises((ParameterError, TypeError), match=r"n_rows|n_columns|n_clusters"):
        forecast(*given, delta=1e-6)


# Nothing is spent --------------------------------------------------------------------------------


def test_no_row_is_read_and_nothing_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a fit was begun")

    monkeypatch.setattr("privclust.privacy.curator.Curator.open", fail)
    monkeypatch.setattr("privclust.sources.files.open_files", fail)
    assert forecast(100_000, 8, 16, delta=1e-6).found


@pytest.mark.parametrize(
    ("n_rows", "epsilon"), [(100_000, 1.0), (50, 1.0), (100_000, 0.01), (100_000, 64.0)]
)
def test_a_forecast_is_drawn_wherever_it_lies(n_rows: int, epsilon: float, tmp_path: Path) -> None:
    expected, picture = forecast(n_rows, 8, 16, epsilon=epsilon, delta=1e-6), tmp_path / "plan.png"
    figure, axes = new_axes(7, 4)
    assert expected.plot(axes) is axes
    assert np.asarray(axes.lines[1].get_xdata()).tolist() == [epsilon]
    save_png(figure, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    with Image.open(picture) as drawn:
        assert set(drawn.info) == {"dpi"}, "a picture says nothing of who made it"


# Cost --------------------------------------------------------------------------------------------


def test_forecast_and_refusal_say_the_same_of_memory() -> None:
    expected = forecast(10, 50_000, 100, delta=1e-6)
    memory = spoken_memory(expected.memory)
    assert f"{memory} of memory" in str(expected)
    with pytest.raises(CostError, match=f"{memory} of memory"):
        PrivateKMeans(100, delta=1e-6, radius=1.0).fit(np.zeros((10, 50_000)))


@pytest.mark.parametrize(
    ("n_columns", "n_clusters"), [(2, 10**5), (50_000, 8), (2, 10**9), (2**53, 2**53)]
)
def test_forecast_of_any_size_takes_less_than_a_second(n_columns: int, n_clusters: int) -> None:
    start = time.process_time()
    try:
        expected = forecast(10, n_columns, n_clusters, delta=1e-6)
        forecast_grid(expected)
        spark_cost(expected, "files")
        words = str(expected)
    except ValueError as error:
        words = f"whatever the number of rows: {error}"  # a budget too small for 2^53 columns
    assert time.process_time() - start < 1.0
    assert "whatever the number of rows: " in words


def test_forecast_says_that_a_fit_is_refused() -> None:
    expected = forecast(10, 2, 10**5, delta=1e-6)
    assert expected.refused is not None
    assert expected.refused.startswith("The limit is 10 minutes. If you mean it, raise it by")
    assert f"  such a fit is refused: {expected.refused}" in str(expected).splitlines()
    assert forecast(10**6, 16, 8, delta=1e-6).refused is None
    assert expected.fixed_seconds <= expected.seconds


@pytest.mark.parametrize("planned", [forecast, simulate])
def test_a_missing_delta_is_explained_as_estimators_do(planned: Any) -> None:
    """It was a bare TypeError of a missing argument."""
    with pytest.raises(ParameterError, match=r"delta is missing\. It is the remainder that"):
        planned(40_000, 11, 8)
    with pytest.raises(ParameterError, match="epsilon must lie between"):
        planned(40_000, 11, 8, epsilon=0, delta=1e-6)
