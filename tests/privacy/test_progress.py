"""Progress reports the queries of a fit, in order, and nothing else."""

from __future__ import annotations

import dataclasses
import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from helpers.kinds import EVERY_KIND

from privclust import PEMeans, PrivateKMeans
from privclust.privacy.progress import Step, report, watching
from privclust.testing import SeededNoise, noise_from


def watched(kind: Any, **given: Any) -> tuple[Any, list[Step]]:
    """Fit, and return the model and the steps that were reported meanwhile."""
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, 2))
    steps: list[Step] = []
    with noise_from(SeededNoise(0)), watching(steps.append):
        model = kind(2, delta=1e-6, radius=1.0, random_state=0, **given).fit(rows)
    return model, steps


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_each_query_is_reported_before_and_after_it_is_measured(kind: Any) -> None:
    model, steps = watched(kind)
    slots = [release.slot for release in model.releases_]
    assert [step.slot for step in steps] == [slot for slot in slots for _ in (1, 2)]
    assert [step.finished for step in steps] == [False, True] * len(slots)
    assert [step.measured for step in steps] == [
        number for number in range(len(slots)) for _ in (1, 2)
    ]
    assert steps[-1].left == 0
    assert min(step.left for step in steps) == 0


def test_a_plan_that_is_fixed_is_counted_down() -> None:
    model, steps = watched(PEMeans)
    total = len(model.releases_)
    assert [step.measured + 1 + step.left for step in steps] == [total] * (2 * total)


def test_queries_of_a_sample_are_marked() -> None:
    model, steps = watched(PrivateKMeans, n_rows=200_000)
    sampled = {release.slot: release.sampling_exponent > 0 for release in model.releases_}
    assert set(sampled.values()) == {False, True}
    assert all(step.whole is not sampled[step.slot] for step in steps)


def test_a_step_holds_the_list_and_nothing_else() -> None:
    fields = {field.name: field.type for field in dataclasses.fields(Step)}
    assert fields == {
        "slot": "str",
        "finished": "bool",
        "measured": "int",
        "left": "int",
        "whole": "bool",
    }


def test_released_centres_do_not_depend_on_whether_somebody_watches() -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, 2))
    watched_model, _ = watched(PEMeans)
    with noise_from(SeededNoise(0)):
        alone = PEMeans(2, delta=1e-6, radius=1.0, random_state=0).fit(rows)
    np.testing.assert_array_equal(alone.cluster_centers_, watched_model.cluster_centers_)


STEP = Step("count", finished=False, measured=0, left=0, whole=True)


def test_nothing_is_reported_outside_of_the_block() -> None:
    steps: list[Step] = []
    report(STEP)
    with watching(steps.append):
        report(STEP)
    report(STEP)
    assert steps == [STEP]


def test_steps_are_reported_to_the_innermost_watcher_and_then_to_the_outer_one() -> None:
    outer: list[Step] = []
    inner: list[Step] = []
    with watching(outer.append):
        with suppress(OSError), watching(inner.append):
            report(STEP)
            raise OSError
        report(STEP)
    assert (outer, inner) == ([STEP], [STEP])


def test_fits_in_other_threads_are_not_reported() -> None:
    steps: list[Step] = []
    with watching(steps.append):
        thread = threading.Thread(target=report, args=(STEP,))
        thread.start()
        thread.join()
    assert steps == []
