"""Lévy flights: mostly short steps, now and then a very long one, never out of the ball."""

from __future__ import annotations

import numpy as np

from privclust.algorithms._levy import levy_steps, mutate


def test_steps_have_heavier_tails_than_a_normal() -> None:
    steps = np.abs(levy_steps((200_000,), np.random.default_rng(1)))
    middle, far = np.quantile(steps, [0.5, 0.9999])
    # 3.89 / 0.674 for a normal.
    assert far / middle > 4 * 5.8


def test_the_tail_falls_with_the_stable_index() -> None:
    steps = np.abs(levy_steps((2_000_000,), np.random.default_rng(2)))
    ratio = np.mean(steps > 20) / np.mean(steps > 40)
    assert 1.6 < np.log2(ratio) < 1.9


def test_steps_are_symmetric() -> None:
    steps = levy_steps((200_000,), np.random.default_rng(3))
    # Signs are even: 5.5 sigma of the mean is a false alarm of 4e-8.
    assert abs(np.mean(steps > 0) - 0.5) < 5.5 * 0.5 / np.sqrt(200_000)


def test_mutants_stay_in_the_ball_even_after_huge_steps() -> None:
    for step in (0.01, 1.0, 1e6):
        mutants = mutate(np.full((5, 3), 0.5), 40, step, np.random.default_rng(4))
        assert np.linalg.norm(mutants, axis=1).max() <= 1 + 1e-15


def test_mutants_of_a_centre_follow_it_in_order() -> None:
    centers = np.array([[0.1, 0.2], [-0.3, 0.0]])
    unmoved = mutate(centers, 3, 0.0, np.random.default_rng(5))
    assert np.array_equal(unmoved, np.repeat(centers, 3, axis=0))


def test_the_same_seed_gives_the_same_mutants() -> None:
    first, again = (mutate(np.zeros((2, 2)), 4, 0.1, np.random.default_rng(6)) for _ in range(2))
    assert np.array_equal(first, again)
