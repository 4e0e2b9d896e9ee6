"""The replay attack must see algorithms that cheat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from privclust.audit.replay import replay_on_neighbour
from privclust.domain import Ball
from privclust.engines.base import Engine
from privclust.engines.numpy import NumpyEngine
from privclust.geometry.grid import UNIT, FloatArray
from privclust.privacy.budget import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import Count, NearestVotes, Query
from privclust.testing import SeededNoise

CANDIDATES = np.array([[0.5, 0.0], [-0.5, 0.0]])
PLAN = make_plan(
    Budget(1.0, 1e-6),
    [Slot("count", 0.2), Slot("votes", 0.4), Slot("choice", 0.4, mechanism="select")],
)


def honest(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    count = curator.measure("count", Count()).values[0]
    curator.measure("votes", NearestVotes(CANDIDATES * (1 + count % 1) / 2))
    curator.select("choice", NearestVotes(CANDIDATES))


def peeking(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    exact = engine.aggregate(Count())[0] // UNIT
    curator.measure("count", Count())
    curator.measure("votes", NearestVotes(CANDIDATES / exact))


def stopping_early(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    if engine.aggregate(Count())[0] // UNIT > 5:
        return
    curator.measure("count", Count())


def findings(algorithm: Callable[[Engine], None]) -> list[str]:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (5, 2))
    neighbour = np.vstack([rows, [[0.2, 0.2]]])
    domain = Ball([0.0, 0.0], 1.0)
    return replay_on_neighbour(
        algorithm, NumpyEngine(rows, domain), NumpyEngine(neighbour, domain), SeededNoise(0)
    )


def test_an_honest_algorithm_passes() -> None:
    assert findings(honest) == []


@pytest.mark.parametrize(
    ("algorithm", "finding"),
    [
        (peeking, "question 2 differs between neighbouring tables"),
        (stopping_early, "asked 1 questions of one table, 0 of the other"),
    ],
)
def test_a_cheating_algorithm_is_found(algorithm: Callable[[Engine], None], finding: str) -> None:
    assert finding in findings(algorithm)


class Doubled:
    """An engine that counts every row twice."""

    n_columns = 2

    def __init__(self, rows: FloatArray) -> None:
        self._engine = NumpyEngine(rows, Ball([0.0, 0.0], 1.0))

    def aggregate(self, query: Query) -> list[int]:
        return [2 * value for value in self._engine.aggregate(query)]


def test_an_engine_that_counts_rows_twice_is_found() -> None:
    rows = np.full((4, 2), 0.2)
    found = replay_on_neighbour(honest, Doubled(rows), Doubled(rows[1:]), SeededNoise(0))
    assert found == [f"question {n} moved by more than it declared" for n in (1, 2, 3)]
