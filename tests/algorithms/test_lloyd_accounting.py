"""DP-Lloyd and FastLloyd spend their budget, and not more."""

from __future__ import annotations

import numpy as np
from helpers.lloyd_forms import Form, every_form, fit
from helpers.referee import epsilon_spent
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.audit.replay import Transcript
from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.engines.memory import NumpyEngine
from privclust.testing import SeededNoise, noise_from


@every_form
def test_no_more_is_spent_than_the_budget_says_another_accountant(form: Form) -> None:
    """dp-accounting agrees with us to 1e-6 from delta 1e-9 up; below it wobbles itself."""

    @settings(deadline=None, derandomize=True, database=None, max_examples=40)
    @given(
        epsilon=st.floats(0.05, 16.0),
        log_delta=st.floats(-9.0, -4.0),
        k=st.integers(1, 6),
        d=st.integers(1, 6),
        size=st.integers(0, 20),
        n_rows=st.one_of(st.none(), st.integers(6, 10**6)),
        in_box=st.booleans(),
    )
    def check(
        epsilon: float,
        log_delta: float,
        k: int,
        d: int,
        size: int,
        n_rows: int | None,
        in_box: bool,
    ) -> None:
        delta = 0.0 if form.delta == 0 else 10**log_delta
        domain = Box(-np.ones(d), np.arange(1.0, d + 1)) if in_box else Ball(np.zeros(d), 1.0)
        rows = np.random.default_rng(size).normal(0.0, 0.5, (size, d))
        transcript = Transcript(NumpyEngine(rows, domain), SeededNoise(0))
        with noise_from(transcript):
            _, curator = fit(form, transcript, k, epsilon, n_rows, delta, domain)
        planned, released = curator.plan.slots, curator.releases
        assert [slot.name for slot in planned] == [release.slot for release in released]
        assert [slot.mechanism for slot in planned] == [one.mechanism for one in released]
        assert [curator.plan.price(slot) for slot in planned] == [one.charge for one in released]
        assert len(transcript.measurements) == len(released)
        assert 2 <= len(released) - (n_rows is None) <= 7
        spent = epsilon_spent(transcript.measurements, delta, interval=1e-4 * epsilon)
        assert (1 - 1e-5) * epsilon <= spent <= (1 + 1e-6) * epsilon

    check()
