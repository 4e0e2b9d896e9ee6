"""Bugs of noise: shared, cut, left out, or not where it is needed."""

from __future__ import annotations

from mutations.base import Mutation

_GAUSSIAN = """scale=sigma)
        return _on_all_cores(mechanism, exact)"""

NOISE = (
    Mutation(
        "shared noise",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n"
        "        first = mechanism(np.zeros_like(exact))\n"
        '        shared = globals().setdefault(f"_noise{exact.size}", first)\n'
        "        return exact + np.array(shared, dtype=np.int64)",
        "tests/privacy/test_noise.py::test_no_two_coordinates_and_no_two_calls_share_noise",
    ),
    Mutation(
        "the same noise on all cores",
        "privacy/noise.py",
        "return np.concatenate(list(pool.map(draw, np.array_split(exact, n_parts))))",
        "same = draw(np.zeros(len(exact), dtype=np.int64))\n"
        "        parts = np.array_split(exact, n_parts)\n"
        "        return np.concatenate([part + same[: len(part)] for part in parts])",
        "tests/privacy/test_noise.py::test_cores_do_not_share_noise",
    ),
    Mutation(
        "scalar noise",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n        return exact + np.int64(mechanism(np.zeros(1, dtype=np.int64))[0])",
        "tests/privacy/test_noise.py::test_no_two_coordinates_and_no_two_calls_share_noise",
    ),
    Mutation(
        "skipped empty cluster",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n"
        "        return np.where(exact == 0, exact, np.array(mechanism(exact), dtype=np.int64))",
        "tests/privacy/test_noise.py::test_every_coordinate_gets_noise_whatever_its_exact_value",
    ),
    Mutation(
        "exact divisor",
        "privacy/measurement.py",
        "noisy = draw(exact)",
        "noisy = draw(exact)\n"
        '    if hasattr(query, "origins"):\n'
        "        width = query.origins.shape[1] + 1\n"
        "        noisy[width - 1 :: width] = exact[width - 1 :: width]",
        "tests/privacy/test_curator.py::test_no_coordinate_leaves_without_noise",
    ),
    Mutation(
        "truncated noise",
        "privacy/noise.py",
        _GAUSSIAN,
        "scale=sigma)\n"
        "        votes = np.trunc((np.array(mechanism(exact)) - exact) / 2**26)\n"
        "        return exact + (votes * 2**26).astype(np.int64)",
        "tests/privacy/test_noise.py::test_low_bits_of_the_noise_vary",
    ),
    Mutation(
        "a choice without noise",
        "privacy/noise.py",
        "return int(mechanism(scores))",
        "return int(np.argmax(scores))",
        "tests/privacy/test_noise.py::test_selection_is_random",
    ),
    Mutation(
        "half the noise for a choice among sums that fall",
        "privacy/curator.py",
        "moves = 1 if bounds.monotone else 2",
        "moves = 1",
        "tests/privacy/test_curator.py::test_no_row_makes_a_choice_likelier_than_it_was_charged_for",
    ),
)
