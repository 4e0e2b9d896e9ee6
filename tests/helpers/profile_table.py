"""A table of points and of cells of all kinds, for profiles."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
from helpers.query_attacks import STRANGE, mirrored_points

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.box import Box
from privclust.domains.profiled import ProfileDomain
from privclust.kernels.grid import FloatArray

COLUMNS = (
    NumberColumn("age", 0, 120),
    CategoryColumn("ward", ("A", "B", "other")),
    NumberColumn("income", 1, 1e6, transform="log", missing=2e4),
    DateColumn("visit", date(2020, 1, 1), date(2024, 12, 31), missing=date(2024, 2, 29)),
)
DOMAIN = ProfileDomain(Box([-1, -1, -1], [1, 1, 1]), ("x", "y", "z"), COLUMNS)
CENTERS = mirrored_points(3, 3, seed=2)
WARDS = ["A", "B", "other", "C", "", None]
DAYS = [date(2020, 1, 1), date(1850, 5, 5), date(2024, 12, 31), date(2023, 2, 28), None]
NUMBERS = [*STRANGE, 12.0, 11.999999999999998, 120.0, 1e3, 1e6, 37.5]


def table(points: FloatArray, first: int = 0) -> Any:
    """Points to cluster, beside cells of all kinds; missing and strange ones are among them."""
    n = len(points)
    place = np.arange(first, first + n)
    return pa.table(
        {
            **{name: points[:, i] for i, name in enumerate("xyz")},
            "age": np.array(NUMBERS)[place % len(NUMBERS)],
            "ward": pa.array([WARDS[i % len(WARDS)] for i in place], pa.string()),
            "income": np.array(NUMBERS)[(3 * place + 1) % len(NUMBERS)],
            "visit": pa.array([DAYS[i % len(DAYS)] for i in place], pa.date32()),
        }
    )
