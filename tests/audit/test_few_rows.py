"""Made-up tables give the results of the engine of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.audit._few_rows import FewRows
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.queries.base import Count, Query
from privclust.queries.clusters import ClusterSums, NearestVotes

ROWS = np.random.default_rng(0).normal(0.0, 0.6, (50, 2))
POINTS = np.array([[0.3, 0.1], [-0.4, 0.2]])
OTHER = NumpyEngine(ROWS, Ball(np.zeros(2), 1.0))


@pytest.mark.parametrize(
    "query", [Count(), NearestVotes(POINTS), ClusterSums(POINTS, POINTS, 0.5, 1.0)]
)
def test_sums_and_samples_are_those_of_the_engine_of_arrays(query: Query) -> None:
    few = FewRows(ROWS)
    few.expect_sample(bytes(32))
    assert few.aggregate(query) == OTHER.aggregate(query)
    some = few.sample(1, bytes(32))
    assert some.aggregate(query) == OTHER.sample(1, bytes(32)).aggregate(query)
