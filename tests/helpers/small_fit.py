"""The smallest fit that depends on its own results, for processes that load little and may die."""

from __future__ import annotations

import numpy as np

from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.base import Count
from privclust.queries.clusters import NearestVotes

BUDGET = Budget(1.0, 1e-6)
SLOTS = ("count", "votes 1", "votes 2")
PLAN = make_plan(BUDGET, [Slot(name, 1 / 3) for name in SLOTS])
CANDIDATES = np.array([[0.5, 0.0], [-0.5, 0.0]])


def small_fit(place: str | None, resume: str | None = None) -> list[list[int]]:
    """Measure three queries, the second and third of which follow from earlier results."""
    ledger = None if place is None else Ledger.open(place)
    rows = np.random.default_rng(0).normal(0.0, 0.3, (100, 2))
    engine = NumpyEngine(rows, Ball([0.0, 0.0], 1.0), threads=1)
    curator = Curator.open(engine, PLAN, ledger, "table", {"seed": "7"}, resume=resume)
    moved = curator.measure("count", Count()).values[0] / 1000
    for name in SLOTS[1:]:
        votes = curator.measure(name, NearestVotes(CANDIDATES * (1 + moved))).values
        moved = votes[0] / 1000
    curator.close()
    return [release.result.tolist() for release in curator.releases]
