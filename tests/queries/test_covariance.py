"""Second moments: what they mean, what bounds them, and wide results added up in pieces."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privclust.domains.ball import Ball
from privclust.engines import units
from privclust.engines.memory import NumpyEngine
from privclust.engines.units import Batch, batch_sum
from privclust.kernels.grid import UNIT, to_grid
from privclust.queries.base import Query
from privclust.queries.clusters import NearestVotes
from privclust.queries.covariance import SecondMoment
from privclust.queries.unit import ROW, Unit

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_columns", [1, 2, 7])
def test_the_matrix_is_that_of_the_rows(n_columns: int) -> None:
    rows = RNG.uniform(-0.3, 0.3, (50, n_columns))
    query = SecondMoment(n_columns)
    sums = NumpyEngine(rows, Ball(np.zeros(n_columns), 1.0)).aggregate(query)
    found = query.matrix(np.array(sums) / UNIT)
    np.testing.assert_allclose(found, rows.T @ rows, atol=1e-5)
    assert (found == found.T).all()


def test_declared_bounds_are_the_proved_ones() -> None:
    for n_columns in (1, 3, 100):
        bounds, size = SecondMoment(n_columns).sensitivity, n_columns * (n_columns + 1) // 2
        assert (bounds.l2_squared, bounds.linf, bounds.l0) == (UNIT**2, UNIT, size)
        assert math.sqrt(size) * UNIT <= bounds.l1 <= math.sqrt(size) * UNIT + 1
        assert not bounds.monotone


@pytest.mark.parametrize("query", [SecondMoment(3), NearestVotes(np.eye(3) / 2)])
@pytest.mark.parametrize("cells", [1, 40, 10**6])
def test_wide_queries_are_added_up_in_pieces(
    query: Query, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = to_grid(RNG.uniform(-1, 1, (97, 3)))
    starts = np.array([0, 1, 2, 30, 31, 90])
    for unit, batch in ((ROW, Batch(rows, None)), (Unit("who", 2), Batch(rows, starts))):
        monkeypatch.undo()
        expected = batch_sum(query, unit, batch)
        monkeypatch.setattr(units, "_CELLS_AT_ONCE", cells)
        assert batch_sum(query, unit, batch).tolist() == expected.tolist()
