"""Many fits at once, in a search and in two terminals, share one budget and stop at its end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from helpers.processes import race
from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]
from sklearn.model_selection import GridSearchCV

from privclust import PEMeans
from privclust.privacy.accounting import Budget, epsilon_of
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.testing import RepeatableNoise, noise_from

DELTA, EPSILON = 1e-6, 0.5
ROWS = np.random.default_rng(0).normal(0.0, 0.2, (300, 2))


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A ledger whose budget is enough for seven fits and a half."""
    place = str(tmp_path / "ledger.db")
    mu2 = 7.5 * Budget(EPSILON, DELTA).capacity.mu2
    Ledger.create(place, "table", epsilon=epsilon_of(math.sqrt(mu2), DELTA), delta=DELTA)
    return place


@pytest.fixture
def _no_workers_left() -> Iterator[None]:
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.usefixtures("_no_workers_left")
def test_a_search_shares_one_budget_and_stops_at_its_end(place: str) -> None:
    public = np.random.default_rng(1).normal(0.0, 0.2, (100, 2))

    def score(model: Any, X: Any, y: Any = None) -> float:
        return -float(model.transform(public).min(axis=1).mean())

    class Quick(PEMeans):
        """Loads no source of real noise, which takes seconds in each worker."""

        def fit(self, X: Any, y: None = None, *, resume: str | None = None) -> Self:
            with noise_from(RepeatableNoise(0)):
                return super().fit(X, resume=resume)

    model = Quick(
        epsilon=EPSILON, delta=DELTA, radius=1.0, ledger=place, dataset="table", random_state=0
    )
    search = GridSearchCV(
        model, {"n_clusters": [1, 2]}, scoring=score, cv=2, n_jobs=2, error_score="raise"
    )
    ledger = Ledger.open(place)
    search.fit(ROWS)
    assert len(ledger.runs("table")) == 5
    assert search.best_estimator_.privacy_statement_.record.head == ledger.head()
    with pytest.raises(BudgetExceededError, match=r"(?s)Requested: .*Remaining: .*Difference: "):
        search.fit(ROWS)
    assert len(ledger.runs("table")) == 7
    assert ledger.verify() == []


FIT_UNTIL_REFUSED = """
import sys
import numpy as np
from privclust import PEMeans
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.testing import RepeatableNoise, noise_from
rows = np.random.default_rng(0).normal(0.0, 0.2, (300, 2))
model = PEMeans(
    2, epsilon=0.5, delta=1e-6, radius=1.0, ledger=sys.argv[2], dataset="table",
    random_state=int(sys.argv[1]),
)
print("ready", flush=True)
sys.stdin.readline()
with noise_from(RepeatableNoise(0)):
    for _ in range(20):
        try:
            print(model.fit(rows).privacy_statement_.run.name)
        except BudgetExceededError as refused:
            print(str(refused).splitlines()[0])
            break
"""


def test_two_terminals_together_never_spend_more(place: str) -> None:
    printed = [text.splitlines() for text in race(FIT_UNTIL_REFUSED, place)]
    ledger = Ledger.open(place)
    runs = [run.name for run in ledger.runs("table")]
    assert sorted(name for lines in printed for name in lines[:-1]) == sorted(runs)
    assert len(runs) == 7
    assert all("does not cover this run; nothing was read" in lines[-1] for lines in printed)
    assert ledger.verify() == []
