"""``privclust audit``: a sound algorithm passes, and each planted bug has a line of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import toy_algorithm
from helpers.command_line import error_message, privclust

TOY = Path(toy_algorithm.__file__).read_text(encoding="utf-8")
FITS = ("--fits", 100)
"""Fewer cannot refute epsilon 1 beyond doubt, however plain the leak."""

READ = "exact results were read from the engine, past the Curator"
BUGS = {
    "branches on an exact result": (
        "    sides = curator",
        "    if curator._engine.aggregate(Count())[0] // UNIT % 2:\n"
        "        return Clustering(np.zeros((1, 1)), np.ones(1), 1)\n"
        "    sides = curator",
        ["FAIL replay", "made 2 queries of one table, 1 of the other", "FAIL plan", READ],
    ),
    "returns an exact result": (
        "    return Clustering(centers, sizes",
        "    sizes = np.array(curator._engine.aggregate(Sides())) / UNIT\n"
        "    return Clustering(np.zeros((2, plan.n_columns)), sizes",
        [
            "FAIL replay",
            "the outcome differs between neighbouring tables",
            READ,
            "FAIL epsilon",
            "by what the model shows, beyond doubt",
        ],
    ),
    "asks outside the plan": (
        'measure("sides"',
        'measure("halves"',
        [
            "FAIL plan",
            "it stopped with KeyError: no slot 'halves' in this plan; it has count, sides",
        ],
    ),
    "looks at other rows": (
        "rows[:, :1] > 0",
        "rows[:, :1] > rows[:, :1].mean()",
        ["FAIL queries", "Sides in slot 'sides': what a row adds depends on the rows beside it"],
    ),
    "adds more than it declares": (
        "1, 1), UNIT)",
        "1, 1), 2 * UNIT)",
        ["FAIL queries", "Sides in slot 'sides': a row adds more than is declared"],
    ),
    "plans for more than it was given": (
        "make_plan(budget,",
        "make_plan(Budget(4 * budget.epsilon, budget.delta),",
        ["FAIL plan", "the plan is for epsilon 4 and delta 0.01, not for the budget it was given"],
    ),
    "adds too little noise": (
        "    count = curator",
        "    honest = curator._noise.gaussian\n"
        "    curator._noise.gaussian = lambda exact, sigma: honest(exact, sigma / 20)\n"
        "    count = curator",
        [
            "FAIL plan",
            "slot 'count' has less noise than it was charged for",
            "FAIL epsilon",
            "by what the releases show, beyond doubt",
        ],
    ),
}


def test_a_sound_algorithm_passes_by_its_path_and_by_its_name() -> None:
    # It fails once in a million: the confidence of the verdict on epsilon.
    for name in (toy_algorithm.__file__, "privclust.algorithms.dp_lloyd"):
        shown = privclust("audit", name, "--fits", 20)
        assert shown.exit_code == 0, shown.output
        verdicts = [line.split(":")[0] for line in shown.stdout.splitlines()]
        assert verdicts[:4] == ["PASS replay", "PASS queries", "PASS plan", "PASS epsilon"]
        assert "20 fits with a canary and 20 without" in shown.stdout
        assert "takes no data" in shown.stdout


ESTIMATOR = """

class Toy:
    def __init__(self, n_clusters, *, epsilon, delta, radius, n_rows):
        self.n_clusters = n_clusters

    def plan(self, task):
        return plan(self.n_clusters, task.n_columns, task.budget, task.n_rows)

    def run(self, curator, planned, rng):
        return run(curator, planned, rng)
"""


def test_estimator_is_audited_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TOY + ESTIMATOR)
    shown = privclust("audit", f"{tmp_path / 'mine.py'}:Toy", "--fits", 20)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.count("PASS") == 4
    before, after, lines = BUGS["looks at other rows"]
    (tmp_path / "mine.py").write_text(TOY.replace(before, after) + ESTIMATOR)
    shown = privclust("audit", f"{tmp_path / 'mine.py'}:Toy", "--fits", 2)
    assert shown.exit_code == 1
    assert all(line in shown.stdout for line in lines)


@pytest.mark.parametrize(
    ("name", "cause"),
    [("Missing", "has no class Missing"), ("Sides", "Sides has no plan and no run")],
)
def test_class_that_is_no_estimator_is_named(name: str, cause: str) -> None:
    error_message(privclust("audit", f"{toy_algorithm.__file__}:{name}"), 3, cause)


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_reported(bug: str, tmp_path: Path) -> None:
    """False alarm: below 1e-15.

    The threshold is the largest of 200 learnt scores. More than 50 of the 200 judged ones are above
    it with that probability; with fewer, the bug is found.
    """
    before, after, lines = BUGS[bug]
    assert TOY.count(before) == 1
    (tmp_path / "mine.py").write_text(TOY.replace(before, after))
    fits = ("--fits", 400) if "noise" in bug else FITS
    shown = privclust("audit", tmp_path / "mine.py", *fits)
    assert shown.exit_code == 1, shown.output
    for line in lines:
        assert line in shown.stdout


def test_pure_guarantee_is_put_to_the_test(tmp_path: Path) -> None:
    pure = TOY.replace(
        '0.5), Slot("sides", 0.5)', '0.5, 1, "laplace"), Slot("sides", 0.5, 1, "laplace")'
    )
    (tmp_path / "mine.py").write_text(pure)
    shown = privclust("audit", tmp_path / "mine.py", "--delta", 0, "--epsilon", 2, "--fits", 20)
    assert shown.exit_code == 0, shown.output
    assert "of 2 (95 % confidence)" in shown.stdout


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("plan = 1", "has no plan and no run. An algorithm is a module"),
        ("1 / 0", "could not be imported (ZeroDivisionError: division by zero)"),
    ],
)
def test_module_without_an_algorithm_is_refused(text: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    error_message(privclust("audit", tmp_path / "mine.py"), 3, cause)


@pytest.mark.parametrize("name", ["nowhere.py", "no.such.module"])
def test_missing_module_is_refused(name: str) -> None:
    error_message(privclust("audit", name), 3, "could not be imported", "the path of a file")


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--fits", 0), "fits must be an integer of at least 1"),
        (("--epsilon", 0), "epsilon must lie between"),
        (("--delta", 1), "delta must be"),
    ],
    ids=["fits", "epsilon", "delta"],
)
def test_numbers_that_cannot_be(words: tuple[object, ...], cause: str) -> None:
    error_message(privclust("audit", "privclust.algorithms.dp_lloyd", *words), 3, cause)


def test_there_is_no_option_for_data_and_help_says_so() -> None:
    shown = privclust("audit", "--help").stdout
    assert "there is no way to give it data" in " ".join(shown.replace("│", " ").split())
    options = {word for word in shown.split() if word.startswith("--")}
    assert options == {"--epsilon", "--delta", "--fits", "--help"}
