"""Pictures of budgets say nothing of who made them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from privclust import Ledger, PrivateKMeans
from privclust.privacy.ledger.plots import draw_budget


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
