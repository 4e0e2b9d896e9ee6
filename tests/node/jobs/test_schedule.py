"""Public times follow from public times: lanes, starts and releases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from privclust.node.jobs.schedule import Times, progress, times, visible_at

MOMENTS = st.floats(1e9, 2e9)
SECONDS = st.integers(1, 10_000)
TICKS = st.integers(1, 600)


@given(
    requests=st.lists(st.tuples(st.floats(0, 500), SECONDS), min_size=1, max_size=30),
    lanes=st.integers(1, 4),
    tick=TICKS,
)
def test_fits_of_a_lane_never_overlap(
    requests: list[tuple[float, int]], lanes: int, tick: int
) -> None:
    now, ends = 1e9, [0] * lanes
    for pause, seconds in requests:
        now += pause
        granted = times(now, ends, seconds, tick)
        assert granted.starts_at >= ends[granted.lane]
        assert granted.release_at - granted.starts_at == seconds
        ends[granted.lane] = granted.release_at


@given(now=MOMENTS, ends=st.lists(st.integers(0, 2**31), min_size=1, max_size=5), tick=TICKS)
def test_fit_starts_on_the_grid_as_soon_as_a_lane_is_free(
    now: float, ends: list[int], tick: int
) -> None:
    granted = times(now, ends, 60, tick)
    assert granted.starts_at % tick == 0
    assert max(now, min(ends)) <= granted.starts_at < max(now, min(ends)) + tick + 1
    assert ends[granted.lane] == min(ends)


@given(now=MOMENTS, tick=TICKS, ticks=st.integers(1, 50))
def test_durations_of_whole_ticks_are_released_on_the_grid(
    now: float, tick: int, ticks: int
) -> None:
    assert times(now, [0], tick * ticks, tick).release_at % tick == 0


@given(ready=MOMENTS, starts_at=st.integers(10**9, 2 * 10**9), seconds=SECONDS)
def test_a_model_is_visible_at_the_first_release_time_after_it_is_ready(
    ready: float, starts_at: int, seconds: int
) -> None:
    granted = Times(0, starts_at, starts_at + seconds)
    seen = visible_at(ready, granted, seconds)
    assert seen >= max(ready, granted.release_at)
    assert (seen - granted.release_at) % seconds == 0
    assert seen == granted.release_at or seen - seconds < ready


@given(starts_at=st.integers(0, 2 * 10**9), seconds=SECONDS, data=st.data())
def test_all_that_are_ready_in_time_look_alike(
    starts_at: int, seconds: int, data: st.DataObject
) -> None:
    granted = Times(0, starts_at, starts_at + seconds)
    ready = data.draw(st.floats(starts_at, starts_at + seconds))
    assert visible_at(ready, granted, seconds) == granted.release_at


@given(first=MOMENTS, second=MOMENTS, starts_at=st.integers(10**9, 2 * 10**9), seconds=SECONDS)
def test_progress_grows_with_the_clock_in_tenths(
    first: float, second: float, starts_at: int, seconds: int
) -> None:
    granted = Times(0, starts_at, starts_at + seconds)
    early, late = (progress(now, granted) for now in sorted((first, second)))
    assert 0.0 <= early <= late <= 1.0
    assert {early, late} <= {tenths / 10 for tenths in range(11)}
    assert progress(starts_at, granted) == 0.0
    assert progress(granted.release_at, granted) == 1.0


@given(now=MOMENTS, ends=st.lists(st.integers(0, 2**31), min_size=1, max_size=5), seconds=SECONDS)
def test_equal_arguments_give_equal_times(now: float, ends: list[int], seconds: int) -> None:
    assert times(now, ends, seconds, 1) == times(now, tuple(ends), seconds, 1)
