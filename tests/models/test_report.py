"""The report is one page that loads nothing, hides nothing and trusts no name."""

from __future__ import annotations

import base64
import math
import re
from contextlib import nullcontext
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.kinds import OTHER_KINDS
from helpers.mixed_rows import FEATURES, mixed_model
from hypothesis import given
from hypothesis import strategies as st

from privclust import FedDPKMeans, Ledger, PEMeans, PrivateKMeans, limits, load, save
from privclust.models import _statement_text
from privclust.models._cluster_table import SHOWN_COLUMNS
from privclust.models.report import to_html
from privclust.models.report._wide_table import (
    GAP,
    LINE,
    NAME,
    name_width,
    parts_of,
    pieces_of,
    table_of_clusters,
)
from privclust.models.verdict import verdict
from privclust.testing import SeededNoise, noise_from

VOID = {"meta", "img", "br", "hr", "wbr"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "div", "p"),
    *("strong", "table", "thead", "tbody", "tr", "th", "td", "img", "code", "dl", "dt", "dd"),
    *("ul", "ol", "li", "wbr"),
}


class Page(HTMLParser):
    """A page taken apart, which fails if its tags are not in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.words: list[str] = []
        self.headings: list[str] = []
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "action", "xlink:href", "background"):
                self.links.append(value or "")
            if name.startswith("on") or name == "style":
                self.handlers.append(name)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            assert not re.search(r"url\(|@import|expression", data)
            return
        self.words.append(data)
        if self._open and self._open[-1] in ("h1", "h2", "h3"):
            self.headings.append(data)
        if {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data


def cluster_table(page: Page) -> list[list[str]]:
    """Return centres and sizes, a line each, whichever way they lie and in how many parts."""
    below = ["cluster", "size"]
    parts: list[list[list[str]]] = []
    inside = False
    for row in page.rows:
        begins = row[:2] == below or (row[0] == "column" and row[1].startswith("cluster "))
        if begins:
            parts.append([])
        inside = begins or (inside and len(row) == len(parts[-1][0]))
        if inside:
            parts[-1].append(row)
    lead = 2 if parts[0][0][:2] == below else 1
    first, *others = parts
    rows = [
        row + [cell for part in others for cell in part[i][lead:]] for i, row in enumerate(first)
    ]
    if lead == 2:
        return [row for row in rows if row is rows[0] or row[0].isdigit()]
    (_, *clusters), *columns = rows
    cells = zip(*(row[1:] for row in columns), strict=True)
    numbers = (cluster.removeprefix("cluster ") for cluster in clusters)
    lines = [[number, *cell] for number, cell in zip(numbers, cells, strict=True)]
    return [["cluster", *(row[0] for row in columns)], *lines]


def fitted(
    names: list[str] | None = None,
    kind: Any = PrivateKMeans,
    k: int = 2,
    private: bool = False,
    **given: Any,
) -> Any:
    names = ["age", "weight"] if names is None else names
    rng = np.random.default_rng(0)
    middles = rng.uniform(-0.5, 0.5, (2, len(names)))
    rows = np.vstack([rng.normal(middle, 0.05, (1000, len(names))) for middle in middles])
    frame = pd.DataFrame(rows, columns=names)
    if "unit" in given:
        frame[given["unit"]] = np.arange(2000)
    parameters: dict[str, Any] = {"max_clusters": 4} if kind is PrivateKMeans else {}
    bounds = dict.fromkeys(names, (-1, 1))
    parameters |= {"delta": 1e-6, "bounds": bounds, "random_state": 0, **given}
    with nullcontext() if private else noise_from(SeededNoise(0)):
        return kind(k, **parameters).fit(frame)


def page_of(model: Any) -> Page:
    """Make the page, and check what holds of every page."""
    text = to_html(model)
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert page.tags <= ALLOWED
    assert page.handlers == []
    assert "://" not in text
    for link in page.links:
        kind, _, content = link.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(content, validate=True).startswith(b"\x89PNG")
    statement = model.privacy_statement_
    below = page.rows[next(i for i, row in enumerate(page.rows) if row[:1] == ["query"]) + 1 :]
    measured = below[: len(statement.releases)]
    assert {len(row) for row in measured} == {8}
    assert [row[0] for row in measured] == [line.slot for line in statement.releases]
    assert [row[1] for row in measured] == [line.query for line in statement.releases]
    rows = _statement_text.n_rows(statement)
    for line in (statement.adjacency, rows, statement.bounds_origin, statement.version):
        assert " ".join(line.split()) in page.text
    for item in statement.not_covered:
        assert item in page.text
    assert ("NOT PRIVATE" in page.text) is not statement.private
    assert ("Privacy guarantee:" in page.text) is statement.private
    return page


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledger = str(tmp_path_factory.mktemp("uncommon") / "uncommon.db")
    Ledger.create(ledger, "wards & <towns>", epsilon=4.0, delta=1e-6)
    return fitted(private=True, ledger=ledger, dataset="wards & <towns>")


@pytest.fixture(scope="module")
def page(model: Any) -> Page:
    return page_of(model)


# Mixed tables ------------------------------------------------------------------------------------


def test_page_says_how_far_rows_lie_from_their_centres() -> None:
    model = fitted()
    page = page_of(model)
    assert "How good the fit is" in page.headings
    for sentence in (verdict(model.model_), *model.model_.quality_sentences):
        assert sentence in page.text
    assert "The fit gave a warning" not in page.text
    assert "not measured for these clusters" in page_of(fitted(kind=PEMeans)).text


def test_page_says_what_the_fit_warned_of() -> None:
    """It was lost with the terminal, and whoever approved the page did not know."""
    model = fitted()
    model.model_ = replace(model.model_, fit_warning="8 <clusters> can hardly be found.")
    assert "The fit gave a warning: 8 <clusters> can hardly be found." in page_of(model).text


def test_page_says_as_how_many_rows_a_unit_counts() -> None:
    page = page_of(fitted(unit="who", max_rows_per_unit=3))
    assert "Each 'who' counts as 3 rows at most." in page.text


def test_shares_are_percents_days_are_days_and_logarithms_are_units() -> None:
    page = page_of(mixed_model())
    header, *rows = cluster_table(page)
    logs = {"income": "income (mean of logarithms)"}
    assert header[2:] == [logs.get(name, name) for name in FEATURES]
    clusters = [row[2:] for row in rows]
    youngest = min(clusters, key=lambda row: float(row[0].split(" ")[0]))
    age, income, *shares, visit = youngest
    assert float(age.split(" ± ")[0]) == pytest.approx(30, abs=3)
    assert float(income.split(" ± ")[0].replace(",", "")) == pytest.approx(1000, rel=0.3)
    assert all(re.fullmatch(r"[\d.]+ ± [\d.]+ %", share) for share in shares)
    assert float(shares[0].split(" ± ")[0]) == pytest.approx(100, abs=5)
    assert re.fullmatch(r"2021-0[78]-\d\d ± [\d.]+ days", visit)
    assert "levels of a category as the share of rows" in page.text


def test_what_was_declared_of_columns_is_on_the_page() -> None:
    rows = page_of(mixed_model()).rows
    assert ["income (log scale)", "100", "10000000"] in rows
    assert ["ward", "levels: A & <B>, it's, other"] in rows
    assert ["visit", "2020-01-01", "2025-12-31"] in rows


# What it says ------------------------------------------------------------------------------------


def test_guarantee_ledger_and_what_to_check_are_on_the_page(model: Any, page: Page) -> None:
    record = model.privacy_statement_.record
    assert "no outcome of what is released is more than 2.72 times as likely" in page.text
    assert "epsilon = 1, delta = 1e-06" in page.text
    assert f"data set {record.dataset}, whose fits together keep epsilon = 4" in page.text
    assert model.privacy_statement_.run.name in page.text
    assert record.head in page.text
    assert "Before you approve" in page.headings
    assert "uncommon" not in page.text


def test_ball_around_public_rows_is_not_one_around_the_origin() -> None:
    rng = np.random.default_rng(0)
    rows, public = rng.normal(50, 1, (3000, 2)), np.array([[40.0, 50.0], [60.0, 50.0]])
    with noise_from(SeededNoise(0)):
        model = FedDPKMeans(2, server_data=public, delta=1e-6, random_state=0).fit(rows)
    text = Page(to_html(model)).text
    assert "distance from the point (50, 50)" in text
    assert "distance from the origin" not in text


def test_centres_sizes_and_bounds_are_in_tables(model: Any, page: Page) -> None:
    assert ["cluster", "size", "age", "weight"] in page.rows
    clusters = [row for row in page.rows if row[0] in ("0", "1") and len(row) == 4]
    assert len(clusters) == 2
    for row, size, center in zip(
        clusters, model.cluster_sizes_, model.cluster_centers_, strict=True
    ):
        cells = [float(cell.split(" ± ")[0].replace(",", "")) for cell in row[1:]]
        assert cells == pytest.approx([size, *center], rel=0.05, abs=0.05)
        assert all(" ± " in cell for cell in row[1:])
    assert ["age", "-1", "1"] in page.rows


def test_other_numbers_of_clusters_are_compared_and_none_is_recommended(page: Page) -> None:
    assert "How many clusters?" in page.headings
    assert page.text.index("privclust refit MODEL.json -k 5") < page.text.index("refit(5)")
    assert "adjusted Rand index" in page.text
    assert "elbow" not in page.text.lower()
    assert len(page.links) == 5


def test_page_of_a_refit_names_another_number_and_where_its_loss_is_estimated(model: Any) -> None:
    page = page_of(model.refit(3))
    assert "not measured for these clusters. The curves under “How many clusters?”" in page.text
    assert "this refit" not in page.text


def test_page_does_without_other_numbers_of_clusters_where_they_take_too_long(model: Any) -> None:
    with limits(minutes=1e-9):
        page = page_of(model)
    assert "How many clusters?" not in page.headings
    assert "epsilon" in page.text


def test_a_loaded_model_has_the_same_page(model: Any, tmp_path: Path) -> None:
    save(model, tmp_path / "model.json")
    assert to_html(load(tmp_path / "model.json")) == to_html(model)


def test_a_model_without_real_noise_is_not_called_private() -> None:
    for epsilon in (1.0, math.inf):
        page = page_of(fitted(kind=PEMeans, epsilon=epsilon))
        assert "NOT PRIVATE" in page.text
        assert "may be published" not in page.text


def test_without_noise_there_are_no_errors_to_show() -> None:
    page = page_of(fitted(epsilon=math.inf))
    assert "nan" not in page.text.lower().split()


# Models of every kind ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_models_without_a_coreset_have_neither_map_nor_other_numbers_of_clusters(kind: Any) -> None:
    page = page_of(fitted(kind=kind))
    assert "Map" not in page.headings
    assert "How many clusters?" not in page.headings
    assert "±" not in "".join(cell for row in page.rows for cell in row)
    assert "nan" not in page.text.lower().split()


def test_one_column_has_no_map() -> None:
    page = page_of(fitted(["age"]))
    assert "Map" not in page.headings
    assert "How many clusters?" in page.headings


def test_of_many_columns_those_are_shown_that_tell_clusters_apart() -> None:
    names = [f"column {number}" for number in range(200)]
    model = fitted(names)
    page = page_of(model)
    assert "Map" in page.headings
    head = cluster_table(page)[0]
    apart = np.ptp(model.cluster_centers_, axis=0)
    assert head[2:] == [names[place] for place in np.sort(np.argsort(-apart)[:SHOWN_COLUMNS])]
    assert f" Not shown: {200 - SHOWN_COLUMNS} columns that clusters differ less in." in page.text
    assert sum(row[1:] == ["-1", "1"] for row in page.rows) == 200


@pytest.mark.parametrize("k", [1, 64])
def test_one_cluster_or_many(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privclust.models._batched_kmeans.TRIED", 1)  # for speed
    page = page_of(fitted(k=k, epsilon=16.0, max_clusters=None))
    assert sum(row[0].isdigit() and len(row) == 4 for row in page.rows) == k
    assert f"This model has {k}." in page.text


def test_people_are_the_unit_where_they_are() -> None:
    page = page_of(fitted(kind=PEMeans, unit="who", private=True))
    assert "whether any one who, with all their rows, was in the table or not" in page.text
    assert "Is one who what has to be protected?" in page.text


def test_a_ball_is_one_bound() -> None:
    with noise_from(SeededNoise(0)):
        model = PEMeans(2, delta=1e-6, radius=2.5).fit(np.zeros((500, 2)))
    page = page_of(model)
    assert ["distance from the origin", "0", "2.5"] in page.rows
    assert ["cluster", "size", "column 0", "column 1"] in page.rows


# Names that are not to be trusted ----------------------------------------------------------------


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style><link href=//evil>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; & < c",
    "two\nlines",
    "x" * 500,
    "x" * 10_000,
    "\u202edraw",
    "",
]
SEEN = {"two\nlines": r"two\nlines", "x" * 10_000: "x" * 1000 + "…", "\u202edraw": r"\u202edraw"}
"""How a page writes names that cannot be read as they are."""


def test_a_name_is_a_name_and_nothing_else() -> None:
    page = page_of(fitted(HOSTILE, kind=PEMeans))
    seen = [SEEN.get(name, name) for name in HOSTILE]
    assert cluster_table(page)[0] == ["cluster", "size", *seen]
    assert [row[0] for row in page.rows if row[1:] == ["-1", "1"]] == seen
    assert "49" not in page.headings[0]


@given(
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=LINE - GAP)), min_size=1, max_size=40)
)
def test_parts_of_a_table_hold_every_column_once_and_fit_a_line(
    columns: list[tuple[str, str]],
) -> None:
    names, cells = [name for name, _ in columns], [cell for _, cell in columns]
    parts = parts_of(names, [(["lead"], cells), (["lead"], [""] * len(cells))])
    assert [column for part in parts for column in columns[part]] == columns
    for part in parts:
        widths = [max(name_width(name), len(cell)) + GAP for name, cell in columns[part]]
        assert len(columns[part]) == 1 or sum(widths) + len("lead") + GAP <= LINE
    lengths = [part.stop - part.start for part in parts]
    assert max(lengths) - min(lengths) <= 1


@given(st.text(max_size=60))
def test_pieces_of_a_name_are_the_name_and_none_is_too_wide(name: str) -> None:
    assert "".join(pieces_of(name)) == name
    assert all(len(piece) <= NAME for piece in pieces_of(name))


def test_names_and_numbers_with_errors_are_not_broken_within() -> None:
    """On paper there stood "ward=materni" above "ty", and "±" above "0.092"."""
    assert pieces_of("ward=maternity") == ["ward=", "maternity"]
    assert name_width("ward=maternity") >= len("maternity")


def test_a_cell_longer_than_a_line_has_a_part_of_its_own() -> None:
    assert parts_of(["a", "b"], [(["lead"], ["x" * LINE, "1"])]) == [slice(0, 1), slice(1, 2)]


def test_clusters_stand_beside_each_other_where_that_takes_fewer_parts() -> None:
    """A table of four clusters and eleven columns was cut into three."""
    names = [f"column {place}" for place in range(11)]
    clusters = [("6,947 ± 30", ["35.87 ± 0.21 %"] * 11)] * 4
    beside = table_of_clusters(names, clusters)
    assert beside.names == [f"cluster {number}" for number in range(4)]
    assert [lead for lead, _ in beside.rows] == [["size"], *([name] for name in names)]
    assert len(beside.parts) == 1
    assert table_of_clusters(names[:2], [("9", ["1", "2"])] * 40).names == names[:2]


@pytest.mark.parametrize("name", ["costs $5", "$x$ and $y", "$\\frac$", "名前 Größe 😀"], ids=ascii)
def test_a_name_can_be_drawn_whatever_it_holds(name: str) -> None:
    page = page_of(fitted([name, "b"], kind=PEMeans))
    assert [cell for row in page.rows for cell in row].count(name) == 2


def test_names_are_drawn_on_the_map_as_they_are() -> None:
    page_of(fitted(["$\\frac$", "<b>"]))


def test_other_names_are_not_trusted_either(tmp_path: Path) -> None:
    attack = '"><script>$\\frac$</script>'
    ledger = str(tmp_path / "budget.db")
    Ledger.create(ledger, attack, epsilon=4.0, delta=1e-6, unit=attack)
    page = page_of(fitted(kind=PEMeans, unit=attack, ledger=ledger, dataset=attack))
    assert f"data set {attack}" in page.text
