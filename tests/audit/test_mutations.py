"""Planted bugs, most of them of published implementations: each turns the test meant for it red."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from mutations import (
    CATALOGUE,
    Mutation,
    attack,
    caught_by,
    plant,
    try_out,
)

import privclust

PACKAGE = Path(privclust.__file__).parent
TESTS = Path(__file__).parents[1]
QUIET = "tests/domains/test_base.py::test_columns_are_clipped_before_the_norm"
NAN = next(mutation for mutation in CATALOGUE if mutation.name == "NaN past the clip")


@pytest.mark.long  # otherwise those alone are planted whose kept result is out of date
@pytest.mark.parametrize("mutation", CATALOGUE, ids=lambda mutation: mutation.name)
def test_the_test_meant_for_a_bug_catches_it(mutation: Mutation) -> None:
    trial = try_out(mutation, PACKAGE, TESTS)
    assert trial.meant, f"{mutation.name} was noticed by {trial.test or 'nobody'}:\n{trial.output}"


@pytest.mark.long
@pytest.mark.parametrize("kernels", ["numpy", "compiled"])
def test_the_tests_meant_are_green_in_a_copy_without_a_bug(tmp_path: Path, kernels: str) -> None:
    """So that it is the bug that turns them red; all other attacks run in this suite already."""
    assert_green_in_a_copy(sorted({mutation.test for mutation in CATALOGUE}), tmp_path, kernels)


@pytest.mark.long
def test_one_test_of_each_file_is_green_in_a_copy_without_a_bug(tmp_path: Path) -> None:
    """All of them take minutes, and are green in this suite before they are in a copy."""
    one_of_each = {mutation.test.partition("::")[0]: mutation.test for mutation in CATALOGUE}
    assert_green_in_a_copy(sorted(one_of_each.values()), tmp_path, "numpy")


def assert_green_in_a_copy(tests: list[str], folder: Path, kernels: str) -> None:
    nothing = Mutation("nothing", NAN.file, NAN.before, NAN.before, NAN.test)
    plant(nothing, PACKAGE, folder)
    done = attack(tests, TESTS, folder, kernels)
    assert done.returncode == 0, done.stdout
    assert caught_by(done.stdout) is None


def test_the_text_replaced_is_there_once() -> None:
    texts = {m.name: (PACKAGE / m.file).read_text().count(m.before) for m in CATALOGUE}
    assert {name: count for name, count in texts.items() if count != 1} == {}


def test_names_are_unique() -> None:
    assert max(Counter(mutation.name for mutation in CATALOGUE).values()) == 1


@pytest.mark.parametrize("test", sorted({mutation.test for mutation in CATALOGUE}))
def test_the_test_meant_is_there_once(test: str) -> None:
    file, _, function = test.partition("::")
    name = function.partition("[")[0]
    text = (TESTS.parent / file).read_text()
    assert len(re.findall(rf"^def {name}\(", text, re.MULTILINE)) == 1


def test_the_tests_meant_are_attacks() -> None:
    """What is not marked is not collected, and pytest then knows no such test."""
    wanted = sorted({mutation.test for mutation in CATALOGUE})
    done = attack([*wanted, "--collect-only"], TESTS, PACKAGE.parent, "numpy")
    assert done.returncode == 0, done.stdout
    found = {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    assert {test.partition("[")[0] for test in wanted} == found


def moved_to(test: str) -> Mutation:
    return Mutation(NAN.name, NAN.file, NAN.before, NAN.after, test)


def test_a_bug_noticed_by_another_test_is_noticed_by_luck() -> None:
    trial = try_out(moved_to(QUIET), PACKAGE, TESTS)
    assert not trial.meant
    assert trial.test is not None
    assert trial.test.startswith("tests/domains/test_base.py::test_missing_becomes_the_centre")


@pytest.mark.parametrize(
    ("after", "test"),
    [
        ("values = undefined", NAN.test),
        ("(", NAN.test),
        ("pass", "tests/domains/test_base.py::test_no"),
    ],
)
def test_a_bug_that_breaks_the_code_or_names_no_test_is_an_error(after: str, test: str) -> None:
    broken = Mutation(NAN.name, NAN.file, NAN.before, after, test)
    with pytest.raises(RuntimeError, match="broke the tests"):
        try_out(broken, PACKAGE, TESTS)


def test_a_mutation_that_no_longer_fits_the_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="occurs 0 times"):
        plant(Mutation("stale", "domains/base.py", "no such text", "", QUIET), PACKAGE, tmp_path)


def test_the_first_test_that_failed_is_named() -> None:
    summary = (
        "=== short test summary info ===\n"
        "FAILED tests/a/test_b.py::test_c[two words] - assert 1 - 2 == 0\n"
        "FAILED tests/test_d.py::test_e - RuntimeError\n"
    )
    assert caught_by(summary) == "tests/a/test_b.py::test_c[two words]"
    assert caught_by("ERROR tests/test_f.py\n1 error in 0.1s") == "tests/test_f.py"
    assert caught_by("12 passed, 3 deselected") is None
