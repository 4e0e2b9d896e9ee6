"""Planted bugs, most of them of published implementations: each must turn a test red."""

from __future__ import annotations

from pathlib import Path

import pytest

import privclust
from privclust.audit.mutations import CATALOGUE, Mutation, attack, plant

PACKAGE = Path(privclust.__file__).parent
TESTS = Path(__file__).parents[1]
NOTHING = Mutation("nothing", "domain.py", "class Box:", "class Box:")


def attacked(mutation: Mutation, copy: Path) -> tuple[int, str]:
    """Return exit code and output of the attack subset with a bug planted in a copy."""
    plant(mutation, PACKAGE, copy)
    done = attack(TESTS, copy)
    return done.returncode, done.stdout


def test_the_attack_subset_is_green_without_a_mutation(tmp_path: Path) -> None:
    code, output = attacked(NOTHING, tmp_path)
    assert code == 0, output


@pytest.mark.parametrize("mutation", CATALOGUE, ids=lambda mutation: mutation.name)
def test_the_attack_subset_catches(mutation: Mutation, tmp_path: Path) -> None:
    code, output = attacked(mutation, tmp_path)
    assert code == 1, f"{mutation.name} was not caught:\n{output}"


def test_a_mutation_that_no_longer_fits_the_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="occurs 0 times"):
        plant(Mutation("stale", "domain.py", "no such text", ""), PACKAGE, tmp_path)
