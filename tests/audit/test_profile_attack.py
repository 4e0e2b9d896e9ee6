"""What a profile shows of the model that it is grouped by, to somebody who never sees the model.

Half of the rows lie at -.5 and half at -.4, and a server's public points there and at 1. Two
clusters are one for each half, unless a row at 1, the canary, draws one of them away: then all
others are in one cluster. So a model with little noise tells in the sizes of its clusters whether
the canary is there, and so does a profile of those clusters, however much noise of its own it has.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privclust import FedDPKMeans
from privclust.audit.canaries import DELTA
from privclust.audit.epsilon import linear_scores, refuted
from privclust.audit.histories import BOUNDS, History, Shown, profile_numbers, together, watch

PLACES = (-0.5, -0.4, 1.0)
HALF = 100
ROWS = np.repeat(PLACES[:2], HALF)
SURE = 1 - 5e-7


def model_then_profile(
    table: Any, epsilon: float, seed: int, model_epsilon: float, profile_epsilon: float
) -> Shown:
    server = np.array(PLACES)[:, None]
    model = FedDPKMeans(
        2, epsilon=model_epsilon, delta=DELTA, bounds=BOUNDS, server_data=server, random_state=seed
    ).fit(table)
    profile = model.profile(table, ["x"], bounds=BOUNDS, epsilon=profile_epsilon)
    return {"profile": profile_numbers(profile)}


def refuted_epsilon(
    model_epsilon: float, profile_epsilon: float, fits: int, confidence: float
) -> dict[str, float]:
    """Return the epsilon below which no guarantee of a profile is true, by what attackers see.

    One sees the profile only; the other, "releases", every noisy answer of model and profile, and
    weighs them by their likelihood.
    """
    act = partial(model_then_profile, model_epsilon=model_epsilon, profile_epsilon=profile_epsilon)
    absent, present = (pa.table({"x": rows}) for rows in (ROWS, np.append(ROWS, PLACES[2])))
    history = History(absent, present, act)
    seen = [watch(history, 0.0, there, range(fits)) for there in (False, True)]
    return {
        attacker: refuted(
            linear_scores(*(side[attacker].reshape(fits, -1) for side in seen)), DELTA, confidence
        ).epsilon_at(DELTA)
        for attacker in ("profile", "releases")
    }


@pytest.mark.attack
def test_a_profile_alone_refutes_that_its_own_epsilon_is_all() -> None:
    """The sentence that 0.1.0 printed: "all else follows from these alone", at epsilon .25."""
    found = refuted_epsilon(64.0, 0.25, fits=30, confidence=0.95)
    assert found["profile"] > 1
    assert max(found.values()) <= together(64.0, 0.25)


def test_no_attack_refutes_the_guarantee_of_model_and_profile_together() -> None:
    """False alarm: twice 5e-7, the doubt that is left of each attacker."""
    found = refuted_epsilon(0.5, 0.25, fits=60, confidence=SURE)
    assert max(found.values()) <= together(0.5, 0.25)
