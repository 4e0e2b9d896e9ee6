"""The picture of where a data set's budget went, which says nothing of what drew it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from PIL import Image

from privclust import Ledger, PrivateKMeans
from privclust.privacy.accounting import QUANTA, Budget, Spend, gaussian_spend, pure_spend
from privclust.privacy.ledger.plots import draw_budget

BUDGET = Budget(4.0, 1e-6)
HALF = pure_spend(2 * QUANTA)
GAUSSIAN = gaussian_spend(BUDGET.capacity.quanta // 10, l0=1)


@pytest.fixture
def widths(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the widths of all bars that are drawn from now on."""
    found: list[float] = []
    draw = Axes.barh

    def noting(axes: Axes, row: Any, width: Any, *rest: Any, **others: Any) -> Any:
        found.append(width)
        return draw(axes, row, width, *rest, **others)

    monkeypatch.setattr(Axes, "barh", noting)
    return found


def ledger_with(delta: float, *charges: Spend) -> Ledger:
    """Return a ledger of which one run was charged these."""
    ledger = Ledger.in_memory()
    ledger.add("patients", BUDGET.epsilon, delta)
    run = ledger.reserve("patients", sum(charges, Spend()), {})
    for number, charge in enumerate(charges):
        ledger.claim(run, f"query{number}", charge, b"query")
    ledger.close(run, finished=True)
    return ledger


def test_pure_charges_are_drawn_in_the_unit_of_the_account(
    widths: list[float], tmp_path: Path
) -> None:
    """Their epsilon was divided by mu²: a fit of 8 % was drawn as 18 %."""
    pure = pure_spend(2**46)
    ledger = ledger_with(1e-6, GAUSSIAN, pure)
    draw_budget(ledger, "patients", tmp_path / "budget.png")
    whole = BUDGET.capacity.quanta
    assert sum(widths) == pytest.approx((GAUSSIAN.quanta + pure.quanta) / whole)


def test_charges_of_a_pure_account_are_drawn_in_epsilon(
    widths: list[float], tmp_path: Path
) -> None:
    draw_budget(ledger_with(0.0, HALF), "patients", tmp_path / "budget.png")
    assert sum(widths) == pytest.approx(0.5)


def test_pure_fits_beyond_the_accounts_mu2_are_drawn_in_epsilon(
    widths: list[float], tmp_path: Path
) -> None:
    """Together they keep the guarantee by their epsilons alone: mu² would come to over 100 %."""
    ledger = ledger_with(1e-6, HALF)
    assert HALF.quanta > BUDGET.capacity.quanta
    draw_budget(ledger, "patients", tmp_path / "budget.png")
    assert sum(widths) == pytest.approx(0.5)


def test_what_an_open_run_set_aside_is_drawn_in_the_unit_of_the_account(
    widths: list[float], tmp_path: Path
) -> None:
    ledger = Ledger.in_memory()
    ledger.add("patients", BUDGET.epsilon, BUDGET.delta)
    run = ledger.reserve("patients", GAUSSIAN, {})
    charge = pure_spend(2**46)
    ledger.claim(run, "select", charge, b"query")
    draw_budget(ledger, "patients", tmp_path / "budget.png")
    whole = BUDGET.capacity.quanta
    parts = [charge.quanta / whole, (GAUSSIAN.quanta - charge.quanta) / whole]
    assert widths[:2] == pytest.approx(parts)


@pytest.mark.parametrize("fits", [0, 2])
def test_budget_is_drawn_without_what_drew_it(fits: int, tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "$visits$", epsilon=1.0, delta=1e-6)
    for seed in range(fits):
        recorded: dict[str, Any] = {"ledger": place, "dataset": "$visits$", "random_state": seed}
        model = PrivateKMeans(2, epsilon=0.3, delta=1e-7, bounds=(0, 1), **recorded)
        model.fit(np.full((500, 2), 0.5))
    draw_budget(Ledger.open(place), "$visits$", tmp_path / "budget.png")
    with Image.open(tmp_path / "budget.png") as drawn:
        assert drawn.format == "PNG"
        assert set(drawn.info) == {"dpi"}
