"""The cost of a fit on Spark follows from what is typed, and grows as it should."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.planning.forecast import SMALL_PASSES, forecast
from privclust.planning.spark_cost import START_SECONDS, spark_cost


def test_a_large_table_is_read_six_times_and_a_small_one_is_not_sampled() -> None:
    assert spark_cost(forecast(10**10, 16, 8, delta=1e-12), "files").passes == 6
    assert spark_cost(forecast(20_000, 16, 8, delta=1e-12), "files").passes == SMALL_PASSES


def test_work_is_proportional_to_rows_and_a_frame_costs_more_than_files() -> None:
    one, ten = (spark_cost(forecast(n, 16, 8, delta=1e-12), "files") for n in (10**8, 10**9))
    start = START_SECONDS / 3600
    assert ten.core_hours - start == pytest.approx(10 * (one.core_hours - start))
    frame = spark_cost(forecast(10**9, 16, 8, delta=1e-12), "frame")
    assert frame.core_hours > ten.core_hours


def test_what_is_sent_and_held_does_not_grow_with_rows() -> None:
    costs = [spark_cost(forecast(n, 16, 8, delta=1e-12), "files") for n in (10**7, 10**8, 10**10)]
    assert len({cost.broadcast_bytes for cost in costs}) == 1
    assert costs[0].broadcast_bytes >= np.zeros((8, 16)).nbytes
    assert max(cost.driver_bytes for cost in costs) < 2 * min(cost.driver_bytes for cost in costs)
