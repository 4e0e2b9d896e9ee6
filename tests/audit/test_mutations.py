"""Planted bugs, most of them of published implementations: each must turn a test red."""

from __future__ import annotations

from pathlib import Path

import pytest

import privclust
from privclust.audit.mutations import CATALOGUE, Mutation, attack, caught_by, plant

PACKAGE = Path(privclust.__file__).parent
TESTS = Path(__file__).parents[1]
NOTHING = Mutation("nothing", "domain.py", "class Box:", "class Box:")


def attacked(mutation: Mutation, copy: Path) -> tuple[int, str]:
    """Return exit code and output of the attack subset with a bug planted in a copy."""
    plant(mutation, PACKAGE, copy)
    done = attack(mutation, TESTS, copy)
    return done.returncode, done.stdout


def test_the_attack_subset_is_green_without_a_mutation(tmp_path: Path) -> None:
    code, output = attacked(NOTHING, tmp_path)
    assert code == 0, output
    assert caught_by(output) is None


@pytest.mark.parametrize("mutation", CATALOGUE, ids=lambda mutation: mutation.name)
def test_the_attack_subset_catches(mutation: Mutation, tmp_path: Path) -> None:
    code, output = attacked(mutation, tmp_path)
    assert code == 1, f"{mutation.name} was not caught:\n{output}"
    assert caught_by(output), output


def test_a_mutation_that_no_longer_fits_the_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="occurs 0 times"):
        plant(Mutation("stale", "domain.py", "no such text", ""), PACKAGE, tmp_path)


def test_the_first_test_that_failed_is_named() -> None:
    summary = (
        "=== short test summary info ===\n"
        "FAILED tests/a/test_b.py::test_c[two words] - assert 1 - 2 == 0\n"
        "FAILED tests/test_d.py::test_e - RuntimeError\n"
    )
    assert caught_by(summary) == "tests/a/test_b.py::test_c[two words]"
    assert caught_by("ERROR tests/test_f.py\n1 error in 0.1s") == "tests/test_f.py"
    assert caught_by("12 passed, 3 deselected") is None
