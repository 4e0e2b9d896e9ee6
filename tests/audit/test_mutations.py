"""Planted bugs, most of them of published implementations: each must turn a test red."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import privclust
from privclust.audit.mutations import CATALOGUE, Mutation, attack, plant

PACKAGE = Path(privclust.__file__).parent
TESTS = Path(__file__).parents[1]
NOTHING = Mutation("nothing", "domain.py", "class Box:", "class Box:")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit code and output of the attack subset for each mutation, one a core at a time."""

    def outcome(mutation: Mutation) -> tuple[int, str]:
        copy = tmp_path_factory.mktemp("mutant")
        plant(mutation, PACKAGE, copy)
        done = attack(TESTS, copy)
        return done.returncode, done.stdout

    mutations = (NOTHING, *CATALOGUE)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(outcome, mutations)
        return {m.name: result for m, result in zip(mutations, results, strict=True)}


def test_the_attack_subset_is_green_without_a_mutation(
    outcomes: dict[str, tuple[int, str]],
) -> None:
    code, output = outcomes[NOTHING.name]
    assert code == 0, output


@pytest.mark.parametrize("name", [mutation.name for mutation in CATALOGUE])
def test_the_attack_subset_catches(name: str, outcomes: dict[str, tuple[int, str]]) -> None:
    code, output = outcomes[name]
    assert code == 1, f"{name} was not caught:\n{output}"


def test_a_mutation_that_no_longer_fits_the_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="occurs 0 times"):
        plant(Mutation("stale", "domain.py", "no such text", ""), PACKAGE, tmp_path)
