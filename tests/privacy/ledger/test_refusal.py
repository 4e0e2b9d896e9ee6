"""What a fit is told that requests more than is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from privclust import BalcanKMeans, Ledger, PrivateKMeans
from privclust.cli.messages import option_of
from privclust.errors import Message, ParameterError
from privclust.privacy.accounting import EPSILON_MIN, Budget, gaussian_spend, pure_spend
from privclust.privacy.ledger._admission import Cap
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.testing import SeededNoise, noise_from


def refused(ledger: Ledger, epsilon: float, delta: float, **others: Any) -> Message:
    """Return what a fit is told that asks for so much of data set "table"."""
    with pytest.raises(BudgetExceededError) as error:
        ledger.reserve("table", Budget(epsilon, delta).capacity, {}, **others)
    message = error.value.args[0]
    assert isinstance(message, Message)
    return message


def ledger_of(epsilon: float = 1.0, delta: float = 1e-6) -> Ledger:
    ledger = Ledger.in_memory()
    ledger.add("table", epsilon, delta)
    return ledger


def test_pure_account_says_that_it_takes_pure_fits_only() -> None:
    """It said "Requested: epsilon inf … Ask for at most epsilon = 1", and no epsilon helped."""
    text = refused(ledger_of(1.0, 0.0), 0.5, 1e-6)
    assert text == (
        "the data set's budget has delta 0, so that it takes pure fits only; nothing was read.\n"
        "  Requested:  a fit with a delta above 0\n"
        "  Remaining:  epsilon 1\n"
        "Set delta=0 and ask for at most epsilon = 1, with an estimator whose noise can be pure, "
        "such as BalcanKMeans; a budget never grows."
    )
    assert "--delta 0 and ask for at most --epsilon 1," in text.render(option_of)


def test_pure_account_of_which_nothing_is_left_offers_no_delta() -> None:
    ledger = ledger_of(1.0, 0.0)
    ledger.reserve("table", pure_spend(2**50), {})
    text = refused(ledger, 0.5, 1e-6)
    assert "takes pure fits only" in text
    assert "No fit can use less than epsilon = 0.01; a budget never grows." in text
    assert "delta=0" not in text


def test_remedy_of_a_pure_account_is_granted(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=1.0, delta=0.0)
    shared: dict[str, Any] = {"radius": 1.0, "n_rows": 50, "ledger": place, "dataset": "table"}
    rows = [[0.1 * (index % 7)] for index in range(50)]
    with pytest.raises(BudgetExceededError, match="pure fits only"):
        PrivateKMeans(2, delta=1e-6, **shared).fit(rows)
    with pytest.raises((ParameterError, ValueError), match="delta"):
        PrivateKMeans(2, delta=0, **shared).fit(rows)
    with noise_from(SeededNoise(1)):
        BalcanKMeans(2, epsilon=1.0, delta=0, **shared).fit(rows)


@pytest.mark.parametrize("spent", [0.31, 0.5, 0.77, 0.999])
def test_what_remains_is_what_a_new_run_may_spend(spent: float) -> None:
    """It said "Remaining: epsilon 2.68", and then "at most epsilon = 2.679"."""
    ledger = ledger_of()
    ledger.reserve("table", Budget(spent, 1e-6).capacity, {})
    text = refused(ledger, 1.0, 1e-6)
    left = f"{ledger.epsilon_left('table'):g}"
    assert f"  Remaining:  epsilon {left} at delta" in text
    if float(left) >= EPSILON_MIN:
        assert f"at most epsilon = {left} at delta" in text


def test_untouched_account_offers_all_of_its_epsilon() -> None:
    """It offered 0.999 of 1, and granted 1."""
    ledger = ledger_of()
    assert "at most epsilon = 1 at delta 1e-06;" in refused(ledger, 2.0, 1e-6)
    ledger.reserve("table", Budget(1.0, 1e-6).capacity, {})


def test_what_is_offered_is_within_the_analysts_part_too() -> None:
    """The total offered what the analyst's cap then refused."""
    cap = Cap("analyst", "a7", 0.25)
    ledger = ledger_of()
    text = refused(ledger, 2.0, 1e-6, cap=cap)
    assert "the data set's budget" in text
    assert "at most epsilon = 0.25 at" in text
    offered = gaussian_spend(Budget(0.25, 1e-6).capacity.quanta, l0=1)
    ledger.reserve("table", offered, {"analyst": "a7"}, cap=cap)
