"""What a fit measures is its plan, and dp-accounting finds no more spent than was granted."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.algorithms import balcan_kmeans
from privclust.audit.replay import Measurement, Transcript
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.testing import SeededNoise, noise_from


def epsilon_spent(measurements: list[Measurement], delta: float) -> float:
    """Let dp-accounting compose what the engine and the noise saw of a fit."""
    gaussians, pures = Counter[float](), Counter[float]()
    for measured in measurements:
        bounds, scale = measured.sensitivity, measured.scale
        if measured.mechanism == "gaussian":
            gaussians[scale / math.sqrt(bounds.l2_squared)] += 1
        elif measured.mechanism == "laplace":
            pures[bounds.l1 / scale] += 1
        else:
            pures[(1 if bounds.monotone else 2) * bounds.linf / scale] += 1
    if delta == 0:
        assert not gaussians
        return sum(epsilon * times for epsilon, times in pures.items())
    fine: Any = {"value_discretization_interval": 1e-4}
    parts = [
        privacy_loss_distribution.from_gaussian_mechanism(sigma, **fine).self_compose(times)
        for sigma, times in gaussians.items()
    ] + [
        privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0.0), **fine
        ).self_compose(times)
        for epsilon, times in pures.items()
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return float(whole.get_epsilon_for_delta(delta))


@settings(deadline=None, derandomize=True, database=None, max_examples=30)
@given(
    k=st.integers(1, 24),
    d=st.integers(1, 9),
    epsilon=st.floats(0.1, 4.0),
    delta=st.sampled_from([0.0, 1e-8, 1e-6, 1e-3]),
    n_rows=st.one_of(st.none(), st.integers(24, 10**6)),
    constants=st.sampled_from(list(balcan_kmeans.CONSTANTS)),
)
def test_what_is_measured_is_the_plan_and_keeps_the_guarantee(
    k: int, d: int, epsilon: float, delta: float, n_rows: int | None, constants: str
) -> None:
    """Accounted to within 1e-4, as fine as dp-accounting discretises (PRIVACY.md 3)."""
    budget = Budget(epsilon, delta)
    rows = np.random.default_rng(d).normal(0.0, 0.3, (40, d))
    transcript = Transcript(NumpyEngine(rows, Ball(np.zeros(d), 1.0)), SeededNoise(k))
    planned = balcan_kmeans.plan(k, d, budget, n_rows, constants)
    plan = planned.spending
    with noise_from(transcript):
        curator = Curator.open(transcript, plan)
        balcan_kmeans.run(curator, planned, np.random.default_rng(0))
    assert [(release.slot, release.mechanism, release.charge) for release in curator.releases] == [
        (slot.name, slot.mechanism, plan.price(slot)) for slot in plan.slots
    ]
    assert len(transcript.measurements) == len(plan.slots)
    assert epsilon_spent(transcript.measurements, delta) <= epsilon + (1e-4 if delta else 1e-12)
