"""What a fit costs on Spark, from numbers the user types; docs/scale.md derives it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privclust.algorithms._cost import NUMBER_SECONDS, PRODUCT_SECONDS, ROW_SECONDS
from privclust.engines.spark.engine import MERGERS
from privclust.models.formatting import spoken_memory, two_digits
from privclust.planning.forecast import Forecast, planned_fit
from privclust.privacy.accounting import Budget
from privclust.queries.clusters import ClusterMoments

Kind = Literal["files", "frame"]
"""Parquet files that workers read themselves, or a DataFrame."""

READ_SECONDS: dict[Kind, float] = {"files": 25e-9, "frame": 140e-9}
"""To bring one number from a Parquet file to the grid, in one pass. All are CPU seconds."""
DRAWING: dict[Kind, float] = {"files": 0.5, "frame": 1.0}
"""Of reading in a pass, to draw a sample: few rows go to the grid, but all of a frame to Python."""
START_SECONDS = 11.0
"""What a fit costs Spark however small the table is: jobs, tasks, imports."""
COPIES = 2
"""The driver's Python holds a sample as it arrives and put together; its JVM passes it on."""


@dataclass(frozen=True)
class SparkCost:
    """What to expect of PrivateKMeans on Spark.

    Attributes
    ----------
    kind : str
        "files" or "frame".
    passes : int
        How often all rows are read.
    core_hours : float
        CPU time of all workers and the driver, on cores like those of docs/benchmarks.md.
    broadcast_bytes : int
        What every worker is sent in a pass.
    driver_bytes : int
        Memory that the driver needs beside what Spark itself takes.
    """

    kind: Kind
    passes: int
    core_hours: float
    broadcast_bytes: int
    driver_bytes: int

    def __str__(self) -> str:
        return (
            f"on Spark ({self.kind}): {self.passes} passes, about {two_digits(self.core_hours)} "
            f"core-hours, {spoken_memory(self.broadcast_bytes)} to each worker in a pass, "
            f"{spoken_memory(self.driver_bytes)} in the driver"
        )


def spark_cost(forecast: Forecast, kind: Kind) -> SparkCost:
    """Return what the fit of a forecast costs on Spark.

    Examples
    --------
    >>> from privclust.planning.forecast import forecast
    >>> spark_cost(forecast(10**10, 16, 8, delta=1e-12), "files").passes
    6
    """
    n_rows, n_columns, n_clusters = forecast.n_rows, forecast.n_columns, forecast.n_clusters
    budget = Budget(forecast.epsilon, forecast.delta)
    planned = planned_fit(
        n_columns, n_clusters, budget, forecast.max_rows_per_unit, forecast.noise_ratio
    )
    sampling_exponent = planned.sampling_exponent(n_rows)
    drawing, sample = (1, n_rows / 2**sampling_exponent) if sampling_exponent else (0, 0.0)
    reading = n_columns * READ_SECONDS[kind]
    summing = ROW_SECONDS + n_columns * (NUMBER_SECONDS + n_clusters * PRODUCT_SECONDS)
    reads, sums = forecast.passes + DRAWING[kind] * drawing, forecast.passes
    seconds = START_SECONDS + n_rows * (reads * reading + sums * summing)
    return SparkCost(
        kind,
        forecast.passes + drawing,
        seconds / 3600,
        _broadcast_bytes(n_columns, n_clusters),
        int(COPIES * 4 * n_columns * sample + MERGERS * 16 * n_clusters * (n_columns + 2)),
    )


def _broadcast_bytes(n_columns: int, n_clusters: int) -> int:
    """Return the size of a query of all rows; its centres and radii are never made."""
    one = ClusterMoments(np.zeros((1, 1)), np.full(1, 0.5), 1.0, 1.0)
    return len(pickle.dumps(one)) + 8 * (n_clusters * (n_columns + 1) - 2)
