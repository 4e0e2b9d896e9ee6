"""Our own algorithms pass what others have to pass; tests/cli/test_audit.py plants the bugs."""

from __future__ import annotations

import pytest

from privclust.audit.canaries import DELTA, PLAIN_COUNT, exported
from privclust.audit.checks import check_plan, check_queries, check_replay, verdicts
from privclust.privacy.accounting import Budget

BUDGET = Budget(1.0, DELTA)


@pytest.mark.parametrize("name", exported())
def test_our_algorithms_keep_their_plans_and_ask_sound_queries(name: str) -> None:
    algorithm = exported()[name]
    assert check_plan(algorithm, BUDGET).findings == ()
    assert check_queries(algorithm, BUDGET).findings == ()


def test_an_adaptive_algorithm_is_replayed_and_releases_are_counted() -> None:
    assert check_replay(exported()["LSHCoreset"], BUDGET).passed
    assert "4 releases" in check_plan(PLAIN_COUNT, BUDGET).did


def test_verdicts_come_one_by_one() -> None:
    found = verdicts(PLAIN_COUNT, BUDGET, fits=10)
    assert next(found).check == "replay"
    assert [verdict.check for verdict in found] == ["queries", "plan", "epsilon"]
