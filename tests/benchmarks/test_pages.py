"""Numbers on pages are those of the results that are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import pages
from benchmarks.auc import mean_loss
from benchmarks.figures import epsilon
from benchmarks.figures.redraw import cells, utility_losses
from benchmarks.figures.rows_needed import share_near
from benchmarks.pages import ROOT, facts, renewed
from benchmarks.rivals import FLAGSHIP, REFERENCE, ratio

CLAIMS = (
    ("README.md", r"Over (\d+) tables and five values of epsilon", "tables"),
    ("README.md", r"the loss is ([\d.]+) times that of k-means", "area"),
    ("docs/index.md", r"\*\*([\d.]+) times the loss of k-means", "area"),
    ("docs/index.md", r"On average over (\d+) tables", "tables"),
    ("docs/index.md", r"next best private method has (\d+\.\d+)", "best rival's area"),
    ("docs/index.md", r"([\d.]+) times the CPU seconds of scikit-learn", "over one start"),
    ("docs/reference/comparison.md", r"PrivateKMeans ([\d.]+), our corrected", "area"),
    ("docs/benchmarks.md", r"on average over (\d+) tables", "tables"),
    ("docs/benchmarks.md", r"the smallest area on each of the (\d+) tables", "tables won"),
    ("docs/benchmarks/accuracy.md", r"\| the 37 areas \| ([\d.]+)", "area"),
    ("docs/benchmarks/accuracy.md", r"\| losses at epsilon .25 \| ([\d.]+)", "error at .25"),
    ("docs/benchmarks/accuracy.md", r"\| losses at epsilon 1 \| ([\d.]+)", "error at 1"),
    ("docs/benchmarks/accuracy.md", r"iris at .25 went from 2.68 to ([\d.]+)", "iris at .25"),
    ("docs/benchmarks/accuracy.md", r"from 1.197 to ([\d.]+)", "iris"),
    ("docs/benchmarks/robustness.md", r"54 tables with enough rows \| ([\d.]+)", "suite at 1"),
    ("docs/index.md", r"([\d.]+) times those of ten starts", "over ten starts"),
    ("docs/index.md", r"At epsilon 1, ([\d.]+) on 54 generated tables", "suite at 1"),
    ("docs/benchmarks.md", r"([\d,]+) rows with [\d.]+ GB of memory", "most rows"),
    ("docs/benchmarks.md", r"rows with ([\d.]+) GB of memory", "memory of most rows"),
    ("docs/benchmarks.md", r"on (\d+) generated tables", "tables with enough rows"),
    ("docs/benchmarks.md", r"([\d.]+) times the loss of k-means at epsilon 1", "suite at 1"),
    ("docs/stories/uber.md", r"the loss is ([\d.]+) times that of k-means", "uber at 1"),
    *(
        (page, rf"{who} between {before}([\d.]+){after}", f"{whose}error at {epsilon}")
        for page in ("docs/index.md", "docs/benchmarks.md")
        for who, whose in (("PrivateKMeans is", ""), ("next best method", "best rival's "))
        for before, after, epsilon in (("", " and", ".25"), (r"[\d.]+ and ", "", "4"))
    ),
    ("README.md", r"designed on, (\d+) % of the fits above 1.5", "silent held out"),
    ("docs/benchmarks.md", r"above 1.5 to held-out tables (\d+) %", "silent held out"),
    ("docs/benchmarks.md", r"by the formula, (\d+) % of the dots", "share with enough rows"),
)
"""A page, the sentence with its number, and the fact that it gives."""


def known() -> dict[str, float]:
    losses = utility_losses()
    best = mean_loss(losses, REFERENCE, "iris", 0.0)
    return {
        **facts(),
        "iris": ratio(losses, FLAGSHIP, "iris"),
        "iris at .25": mean_loss(losses, FLAGSHIP, "iris", 0.25) / best,
        "share with enough rows": 100 * share_near(list(cells())),
    }


def test_tables_of_pages_are_those_of_the_results() -> None:
    """``python -m benchmarks pages`` writes them anew."""
    found = list(pages.pages())
    assert {page.name for page in found} >= {"accuracy.md", "robustness.md", "speed.md", "uses.md"}
    for page in found:
        assert renewed(page.read_text()) == page.read_text(), page


@pytest.mark.parametrize(("page", "sentence", "fact"), CLAIMS)
def test_sentences_give_the_numbers_of_the_results(page: str, sentence: str, fact: str) -> None:
    """Each is as near as its last digit says."""
    said = re.findall(sentence, " ".join((ROOT / page).read_text().split()))
    assert len(said) == 1
    digits = len(said[0].partition(".")[2])
    assert f"{known()[fact]:,.{digits}f}" == said[0]


def test_the_slider_shows_the_fits_that_are_made_today() -> None:
    """``python -m benchmarks figures`` writes it anew."""
    assert epsilon.PLACE.read_text() == epsilon.slider()


def test_a_table_that_was_changed_by_hand_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "part", lambda name: f"| {name} |\n")
    page = "Before.\n<!-- table: methods -->\n| 1.0 |\n<!-- table end -->\nAfter.\n"
    assert renewed(page) == (
        "Before.\n<!-- table: methods -->\n\n| methods |\n\n<!-- table end -->\nAfter.\n"
    )


def test_every_part_is_on_a_page() -> None:
    text = "".join(Path(page).read_text(encoding="utf-8") for page in pages.pages())
    assert set(re.findall(r"<!-- table: ([\w -]+) -->", text)) == set(pages.PARTS)
