"""Whoever waits for a fit is told of questions, in order, and of nothing else."""

from __future__ import annotations

import dataclasses
import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from helpers.kinds import EVERY_KIND

from privclust import PEMeans, PrivateKMeans
from privclust.privacy.progress import Step, tell, watching
from privclust.testing import SeededNoise, noise_from


def watched(kind: Any, **given: Any) -> tuple[Any, list[Step]]:
    """Fit, and return the model and what was told meanwhile."""
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, 2))
    steps: list[Step] = []
    with noise_from(SeededNoise(0)), watching(steps.append):
        model = kind(2, delta=1e-6, radius=1.0, random_state=0, **given).fit(rows)
    return model, steps


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_each_question_is_told_when_asked_and_when_answered(kind: Any) -> None:
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


def test_questions_to_a_sample_are_told_apart() -> None:
    model, steps = watched(PrivateKMeans, n_rows=200_000)
    halved = {release.slot: release.sampling_exponent > 0 for release in model.releases_}
    assert set(halved.values()) == {False, True}
    assert all(step.whole is not halved[step.slot] for step in steps)


def test_a_step_holds_the_list_and_nothing_else() -> None:
    fields = {field.name: field.type for field in dataclasses.fields(Step)}
    assert fields == {
        "slot": "str",
        "answered": "bool",
        "asked": "int",
        "left": "int",
        "whole": "bool",
    }


def test_what_is_told_does_not_depend_on_whether_somebody_watches() -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, 2))
    watched_model, _ = watched(PEMeans)
    with noise_from(SeededNoise(0)):
        alone = PEMeans(2, delta=1e-6, radius=1.0, random_state=0).fit(rows)
    np.testing.assert_array_equal(alone.cluster_centers_, watched_model.cluster_centers_)


STEP = Step("count", finished=False, measured=0, left=0, whole=True)


def test_nobody_is_told_outside_of_the_block() -> None:
    steps: list[Step] = []
    tell(STEP)
    with watching(steps.append):
        tell(STEP)
    tell(STEP)
    assert steps == [STEP]


def test_the_innermost_watcher_is_told_and_the_outer_one_comes_back() -> None:
    outer: list[Step] = []
    inner: list[Step] = []
    with watching(outer.append):
        with suppress(OSError), watching(inner.append):
            tell(STEP)
            raise OSError
        tell(STEP)
    assert (outer, inner) == ([STEP], [STEP])


def test_fits_in_other_threads_are_not_told() -> None:
    steps: list[Step] = []
    with watching(steps.append):
        thread = threading.Thread(target=tell, args=(STEP,))
        thread.start()
        thread.join()
    assert steps == []
