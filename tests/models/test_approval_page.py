"""The page that is signed: complete, escaped, printable, and read by everybody."""

from __future__ import annotations

import base64
import html
import math
import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import chromium
from helpers.kinds import EVERY_KIND

from privclust import Ledger, PEMeans, PrivateKMeans, compose
from privclust.domains.reader import Use
from privclust.errors import ColumnWarning
from privclust.models._statement_text import factor
from privclust.models.approval.approval_file import Approval
from privclust.models.approval.trust import trusted_parties
from privclust.models.composition import best_power
from privclust.models.formatting import percent_up, rounded_down, rounded_up
from privclust.models.report import PageHeading, to_html
from privclust.models.report._data_dictionary import data_dictionary
from privclust.models.report._release_groups import groups_of
from privclust.models.report._release_meaning import meaning
from privclust.models.report.approval_page import approval_page
from privclust.models.report.pdf import to_pdf
from privclust.models.verdict import verdict
from privclust.privacy.accounting import Budget, epsilon_of, mu_of
from privclust.testing import SeededNoise, noise_from

AXE = files("axe_core_python").joinpath("axe.min.js").read_text() + "; 1"
LINES_OF_WORDS = """[...document.querySelectorAll(".lines th")]
    .filter(cell => !cell.textContent.includes(" ")).map(cell => {
        const text = document.createRange();
        text.selectNodeContents(cell);
        return text.getClientRects().length; })"""
CUT_CELLS = """[...document.querySelectorAll("td")]
    .filter(cell => cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent)"""
FINDINGS = """axe.run({resultTypes: ["violations"]}).then(found => found.violations
    .map(one => one.id + ": " + one.nodes.map(node => node.html).join(" ")))"""
GIVEN: dict[str, Any] = {
    "dataset": "visits",
    "purpose": "staffing <of> wards",
    "requested_by": "A. Ito & Co.",
    "approved_by": "B. Sow",
    "date": "2026-11-17",
    "model": "ab" * 32,
}


def fitted(n_columns: int, k: int = 3, kind: Any = PrivateKMeans, **given: Any) -> Any:
    names = [f"measurement_{place:03d}" for place in range(n_columns)]
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.6, 0.6, (k, n_columns))[rng.integers(0, k, 2000)]
    frame = pd.DataFrame(rows + rng.normal(0, 0.05, rows.shape), columns=names)
    parameters = {"delta": 1e-6, "bounds": dict.fromkeys(names, (-1, 1)), "random_state": 0}
    with noise_from(SeededNoise(0)):
        return kind(k, **parameters, **given).fit(frame)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledger = str(tmp_path_factory.mktemp("ledger") / "budget.db")
    Ledger.create(ledger, "visits", epsilon=4.0, delta=1e-6)
    return fitted(12, max_clusters=4, ledger=ledger, dataset="visits")


@pytest.fixture(scope="module")
def private_model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledger = str(tmp_path_factory.mktemp("ledger") / "budget.db")
    Ledger.create(ledger, "visits", epsilon=4.0, delta=1e-6)
    rows = pd.DataFrame(np.zeros((1000, 2)), columns=["age", "weight"])
    bounds = {"age": (0, 120), "weight": (0, 300)}
    return PrivateKMeans(2, delta=1e-6, bounds=bounds, ledger=ledger, dataset="visits").fit(rows)


@pytest.fixture(scope="module")
def page(model: Any) -> str:
    total = Ledger.open(model.ledger).total("visits")
    return approval_page(model.model_, Approval(**GIVEN, ledger=total))


def words(page: str) -> str:
    body = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
    return " ".join(body.split())


def test_everything_that_an_officer_signs_is_on_the_page(model: Any, page: str) -> None:
    text = words(page)
    statement, total = model.privacy_statement_, Ledger.open(model.ledger).total("visits")
    assert "Purpose staffing &lt;of&gt; wards" in text
    assert "Requested by A. Ito &amp; Co." in text
    assert "ab" * 32 in text
    assert total.head in text
    assert "The ledger admits no run beyond epsilon = 4" in text
    assert statement.adjacency in text
    assert "The model file holds more than this page shows" in text
    assert "a coreset, weighted points that stand for all rows" in text
    assert "3 clusters, 12 columns" in text
    for heading in ("Who must be trusted", "Data dictionary", "Not covered", "Signatures"):
        assert heading in text
    for line in statement.releases:
        assert meaning(line, statement) in text
    for name in model.feature_names_in_:
        assert f"{name} clustered number -1 to 1" in text
    assert "<script" not in page
    assert "<of>" not in page


def test_totals_are_at_one_delta_and_say_so(private_model: Any) -> None:
    """The release is at its own delta above, and beside the ledger's total at the ledger's."""
    total = Ledger.open(private_model.ledger).total("visits")
    other = replace(total, budget=Budget(6.0, 1e-4))
    text = words(approval_page(private_model.model_, Approval(**GIVEN, ledger=other)))
    at_its_own = compose(private_model).epsilon
    at_the_ledgers = compose(private_model).epsilon_at(1e-4)
    assert at_the_ledgers < at_its_own
    assert "all three are at the ledger's delta, 0.0001; the guarantee above is at" in text
    power, in_all = (percent_up(one) for one in (compose(private_model).power, other.power))
    assert f"This release {rounded_up(at_the_ledgers)} {power} Everything recorded so far" in text
    assert f"this release among it {rounded_up(other.epsilon)} {in_all} The most" in text
    most = percent_up(best_power(Budget(6.0, 1e-4).capacity))
    assert f"The most that the ledger admits under this data set&#39;s name 6 {most} " in text
    assert "admits, ever" not in text
    typed = replace(other, typed_rows=True)
    assert typed.power > other.power
    assert typed.largest_power > other.largest_power
    assert "It counts what was recorded under the name &#39;visits&#39; alone." in text
    same = words(approval_page(private_model.model_, Approval(**GIVEN, ledger=total)))
    assert "the guarantee above is at" not in same
    assert compose(private_model).epsilon_at(1e-6) == at_its_own


def test_what_holds_if_earlier_runs_decided_is_said_beside_the_guarantee(
    private_model: Any,
) -> None:
    """A trial with another k was in the ledger, and the box stated the epsilon of one fit alone."""
    total = Ledger.open(private_model.ledger).total("visits")
    alone = words(approval_page(private_model.model_, Approval(**GIVEN, ledger=total)))
    assert "other run" not in alone
    assert total.on_earlier(1) is None
    half = Budget(0.5, 1e-6).capacity
    after = replace(total, runs=2, cost=total.cost + half)
    text = words(approval_page(private_model.model_, Approval(**GIVEN, ledger=after)))
    said = after.on_earlier(1)
    assert said is not None
    assert said.startswith("The ledger recorded 1 other run under this data set's name. It knows")
    assert "runs on them under another name are not among these" in said
    assert f"then the total of all holds, epsilon = {rounded_up(after.epsilon)} at delta" in said
    assert after.epsilon > compose(private_model).epsilon
    assert said.endswith("so chosen, epsilon = 4 holds.")
    before, _, _ = text.partition("In standard terms")
    assert html.escape(said, quote=False).replace("'", "&#39;") in before
    assert "which of several models is shown? Then what is said above" in text


@pytest.fixture(scope="module")
def profiled(private_model: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """Return a model, its profile, both again without a ledger for the model, and the ledger."""
    rows = pd.DataFrame({"age": np.zeros(1000), "weight": 0.0, "pay": 1.0, "seen": "2024-02-03"})
    own = str(tmp_path_factory.mktemp("own") / "own.db")
    Ledger.create(own, "visits", epsilon=4.0, delta=1e-6)
    bounds = {"age": (0, 120), "weight": (0, 300)}
    recorded: dict[str, Any] = {"ledger": own, "dataset": "visits"}
    model = PrivateKMeans(2, delta=1e-6, bounds=bounds, **recorded).fit(rows)
    paid: dict[str, Any] = {
        "bounds": {
            "pay": {"type": "number", "lower": 0, "upper": 9, "transform": "log1p"},
            "seen": {"type": "date", "lower": "2024-01-01", "upper": "2024-12-31"},
        },
        "epsilon": 0.5,
    }
    profile = model.profile(rows, ["pay", "seen"], **paid, **recorded)
    total = Ledger.open(own).total("visits")
    alone = PrivateKMeans(2, delta=1e-6, bounds=bounds).fit(rows)
    other = alone.profile(rows, ["pay", "seen"], **paid, **recorded)
    return model, profile, alone, other, total


def test_both_guarantees_of_several_runs_are_in_the_box(profiled: tuple[Any, ...]) -> None:
    """The box named the smaller epsilon, though who orders a profile has mostly looked."""
    model, profile, *_, total = profiled
    composed = compose(model, profile)
    power = percent_up(best_power(Budget(4.0, 1e-6).capacity))
    approval = Approval(**GIVEN, ledger=total)
    for page in (
        approval_page(model.model_, approval, [profile]),
        to_html(model, profiles=[profile]),
    ):
        text = words(page)
        assert f"{factor(composed.epsilon)} times as likely in one case" in text
        assert f"{factor(4.0)} times as likely, up to a remainder of 1e-06 (epsilon = 4," in text
        assert f"(epsilon = {rounded_up(composed.epsilon)}, delta = 1e-06), if neither" in text
        box = text.partition("if one was so chosen")[0]
        assert f"in more than {percent_up(composed.power)} of cases" in box
        assert f"in more than {power} of cases" in text.partition("if one was so chosen")[2]
        assert "Who orders a profile after seeing the clusters has chosen so." in text
        asked = text.partition("Before you approve")[2]
        assert "such as to order a profile after seeing the clusters? Then epsilon = 4 at" in asked
        assert f"holds and not {rounded_up(composed.epsilon)}: what the ledger admits" in asked
        assert "Number of rows protected; what is released of it is noisy." in text
    terms = words(approval_page(model.model_, approval, [profile])).partition("In standard")[2]
    assert "then (4, 1e-06)-differential privacy" in terms
    assert f"then at {rounded_up(epsilon_of(4 * mu_of(4.0, 1e-6), 1e-6))}, at the same" in terms
    assert f"{percent_up(composed.power)}, then {power}, at a level of 5 %" in terms
    lowered = replace(total, budget=Budget(1.6, 1e-6), granted=Budget(4.0, 1e-6))
    text = words(approval_page(model.model_, replace(approval, ledger=lowered), [profile]))
    assert f"{factor(4.0)} times as likely, up to" in text
    assert "that is what the ledger admitted at first for all runs of data set" in text


def test_the_page_says_what_the_file_of_a_profile_holds_beside(profiled: tuple[Any, ...]) -> None:
    """A table has means, and the file a histogram of each cluster."""
    model, profile, *_ = profiled
    ranges = {column.shares.values.shape[1] - 1 for column in profile.columns}
    assert ranges == {10}
    assert {column.labels[-1] for column in profile.columns} == {"missing"}
    text = words(approval_page(model.model_, Approval(**GIVEN), [profile]))
    assert "The profile holds more, too: for each cluster, also those that are not" in text
    assert "in each of 10 ranges of a column of numbers or dates" in text
    assert "level of a category" not in text.partition("The profile holds")[2].partition(";")[0]
    assert "holds more, too" not in words(approval_page(model.model_, Approval(**GIVEN)))


def test_runs_that_no_one_ledger_has_have_no_common_total(profiled: tuple[Any, ...]) -> None:
    _, _, model, profile, _ = profiled
    text = words(to_html(model, profiles=[profile]))
    assert "no one ledger has recorded all of them for one data set" in text
    assert "if one was so chosen" not in text
    assert "Then only what a common ledger admitted at first holds." in text


def test_a_recorded_model_without_its_ledger_is_not_said_to_be_unrecorded(
    private_model: Any,
) -> None:
    """One page said that no ledger counts it, and that a ledger kept its total."""
    text = words(approval_page(private_model.model_, Approval(**GIVEN)))
    assert "Release for approval, without its ledger: visits" in text
    assert "By the model file, a ledger recorded it for data set visits. That ledger was" in text
    assert "Not recorded" not in text
    text = words(approval_page(fitted(3).model_, Approval(**GIVEN)))
    assert "Release for approval, which no ledger counts: visits" in text
    assert "Not recorded: what else was released" in text


@pytest.mark.parametrize(
    ("delta", "words_of_it"),
    [(1e-6, None), (3e-4, "Delta times the number of rows is 0.3."), (3e-3, "Do not approve")],
)
def test_delta_that_is_large_for_so_few_rows_is_said_to_be(
    delta: float, words_of_it: str | None
) -> None:
    rows = pd.DataFrame({"age": np.repeat([20.0, 60.0], 500)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = PrivateKMeans(2, delta=delta, bounds={"age": (0, 120)}, n_rows=1000).fit(rows)
    text = words(approval_page(fit.model_, Approval(**GIVEN)))
    for said in ("Delta times the number of rows is 0.3.", "Do not approve"):
        assert (said in text) is (said == words_of_it)


def test_before_approval_nothing_is_left_to_fill_in(private_model: Any) -> None:
    total = Ledger.open(private_model.ledger).total("visits")
    page = approval_page(private_model.model_, Approval(**GIVEN, ledger=total))
    text = words(page).partition("Before you approve")[2]
    assert "Are epsilon = 1 and delta = 1e-06 within your policy, and epsilon = 4" in text
    assert "intact" not in text
    assert "An older copy that somebody put back passes the same check" in text
    for written in (page, to_html(private_model)):
        assert "LEDGER" not in written
    assert "finds out" in words(to_html(private_model))


def test_the_guarantee_is_that_of_this_release_and_further_ones_add_to_epsilon(
    private_model: Any,
) -> None:
    """The box could be read as if it covered whatever is released later."""
    text = words(approval_page(private_model.model_, Approval(**GIVEN)))
    assert "This release's guarantee does not expire" in text
    assert "further releases of the same rows add to epsilon." in text


def test_what_the_guarantee_does_not_prevent_is_on_the_page(private_model: Any) -> None:
    total = Ledger.open(private_model.ledger).total("visits")
    with_ledger, without = (
        words(approval_page(private_model.model_, Approval(**GIVEN, ledger=ledger)))
        .partition("What the guarantee does not prevent")[2]
        .partition("Before you approve")[0]
        for ledger in (total, None)
    )
    for text in (with_ledger, without):
        assert "holds for members of that group, whether or not their rows were in" in text
        assert "If a person's row is deleted later, what was released does not change" in text
    assert f"the last entry that this page counts is {total.head} , and each later" in with_ledger
    assert "put back from an older copy" not in without


def test_a_budget_that_was_lowered_is_the_one_to_approve(private_model: Any) -> None:
    """No page spoke of it. What holds whatever was chosen by looking is the budget before."""
    total = replace(Ledger.open(private_model.ledger).total("visits"), budget=Budget(1.6, 1e-6))
    lowered = words(approval_page(private_model.model_, Approval(**GIVEN, ledger=total)))
    assert "and epsilon = 4 and delta = 1e-06 for all fits of data set visits" in lowered
    assert "together (no further run may bring the total beyond 1.6)?" in lowered
    assert "together keep epsilon = 4, delta = 1e-06 (lowered since: no further run" in lowered
    assert "admits under this data set&#39;s name, as lowered 1.6" in lowered
    assert "count epsilon = 4, what the ledger admitted at first, before it was lowered" in lowered
    closed = approval_page(
        private_model.model_, Approval(**GIVEN, ledger=replace(total, closed=True))
    )
    assert "The data set is closed: no further run is admitted" in words(closed)
    assert "The data set is closed" not in lowered


def test_how_good_the_fit_is_stands_on_the_page(model: Any) -> None:
    for warning in (None, "<b> & some noise"):
        fit = replace(model.model_, fit_warning=warning)
        text = words(approval_page(fit, Approval(**GIVEN)))
        for sentence in (verdict(fit), *fit.quality_sentences):
            assert html.escape(sentence).replace("&#x27;", "&#39;") in text
        assert ("The fit gave a warning: &lt;b&gt; &amp; some noise" in text) == bool(warning)
        assert "Is the fit good enough for what it is meant for" in text


def test_weights_are_in_the_dictionary() -> None:
    rows = pd.DataFrame({"age": [40.0] * 900, "pay": [2e4] * 900})
    bounds: dict[str, Any] = {
        "age": (0, 120),
        "pay": {"type": "number", "lower": 0, "upper": 9e4, "weight": 0.3},
    }
    assert _dictionary_of(rows, bounds) == [
        ("age", "clustered", "number", "0 to 120"),
        ("pay", "clustered", "number", "0 to 90000; weight 0.3"),
    ]


def test_weights_of_columns_on_logarithms_are_in_the_dictionary() -> None:
    # The second column has the name by which a report lists the first.
    on_logarithms = {"type": "number", "lower": 100, "upper": 1e6, "transform": "log", "weight": 3}
    levels = {"type": "category", "levels": ["A", "B"], "weight": 0.5}
    rows = pd.DataFrame({"pay": [2e4] * 900, "pay (log scale)": 1.0, "ward": "A"})
    bounds = {"pay": on_logarithms, "pay (log scale)": (0, 2), "ward": levels}
    assert _dictionary_of(rows, bounds) == [
        ("pay (log scale)", "clustered", "number", "100 to 1000000; weight 3"),
        ("pay (log scale)", "clustered", "number", "0 to 2"),
        ("ward", "clustered", "category", "levels: A, B; weight 0.5"),
    ]


def test_values_for_missing_cells_are_in_the_dictionary_and_among_what_was_assumed() -> None:
    days = {"lower": "2020-01-01", "upper": "2029-12-31"}
    bounds: dict[str, Any] = {
        "pay": {"type": "number", "lower": 0, "upper": 9e4, "weight": 0.3, "missing": 12_500},
        "seen": {"type": "date", **days, "missing": "2025-06-30"},
        "age": (0, 120),
    }
    rows = pd.DataFrame({"pay": [2e4] * 900, "seen": "2024-04-04", "age": 40.0})
    pay, seen = "missing cells count as 12500", "missing cells count as 2025-06-30"
    assert _dictionary_of(rows, bounds) == [
        ("pay", "clustered", "number", f"0 to 90000; {pay}; weight 0.3"),
        ("seen", "clustered", "date", f"2020-01-01 to 2029-12-31; {seen}"),
        ("age", "clustered", "number", "0 to 120"),
    ]
    with noise_from(SeededNoise(0)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        filled = PrivateKMeans(1, delta=1e-6, bounds=bounds).fit(rows)
    said = (
        "Missing cells count as declared: 'pay' as 12500, 'seen' as 2025-06-30. Any other missing "
        "number or date counts as the middle of its bounds"
    )
    for page in (approval_page(filled.model_, Approval(**GIVEN)), to_html(filled)):
        assert said in html.unescape(words(page))
        assert "a column with many gaps is pulled there" in words(page)


def test_values_for_missing_cells_of_profiles_are_in_the_dictionary() -> None:
    pay = {"type": "number", "lower": 0, "upper": 9e4, "missing": 12_500}
    rows = pd.DataFrame({"pay": [2e4] * 900, "age": 40.0})
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 120)}).fit(rows)
        profile = model.profile(rows, ["pay"], bounds={"pay": pay}, epsilon=1.0)
    assert data_dictionary(model.model_, [profile])[1:] == [
        ("pay", "profiled", "number", "0 to 90000; missing cells count as 12500")
    ]
    text = html.unescape(words(approval_page(model.model_, Approval(**GIVEN), [profile])))
    assert "Means are of the cells that are there" in text
    assert "A missing number or date counts as the middle of its bounds" in text


def _dictionary_of(rows: pd.DataFrame, bounds: dict[str, Any]) -> list[tuple[str, str, Use, str]]:
    model = PrivateKMeans(1, delta=1e-6, bounds=bounds)
    with noise_from(SeededNoise(0)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        return data_dictionary(model.fit(rows).model_, ())


def test_without_a_ledger_nobody_counted(model: Any) -> None:
    text = words(approval_page(model.model_, Approval(**GIVEN)))
    assert "the page does not know what else was released from this table" in text
    text = words(approval_page(fitted(3).model_, Approval(**GIVEN)))
    assert "nobody counted what else was released" in text


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_result_of_every_estimator_has_a_plain_meaning(kind: Any) -> None:
    statement = fitted(3, 2, kind).privacy_statement_
    meanings = [meaning(line, statement) for line in statement.releases]
    assert not [text for text in meanings if "own query" in text]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_results_by_kind_are_all_results_and_come_to_the_whole_run(kind: Any) -> None:
    model = fitted(3, 2, kind)
    statement = model.privacy_statement_
    groups = groups_of(statement)
    lines = [line for group in groups for line in group.lines]
    assert len(groups) <= 12
    assert sorted(map(repr, lines)) == sorted(map(repr, statement.releases))
    spent = sum(release.charge.mu2 for release in model.releases_) / statement.run.reserved.mu2
    assert math.isclose(sum(group.share for group in groups), spent, rel_tol=1e-12)
    assert math.isclose(spent, 1.0, rel_tol=1e-9)
    assert sum(group.numbers for group in groups) == sum(line.coordinates for line in lines)
    for group in groups:
        assert {meaning(line, statement) for line in group.lines} == {group.meaning}
        assert float(group.sensitivity) >= max(line.sensitivity for line in group.lines) - 1e-12
        assert float(group.noise.split(" ")[0]) <= min(line.sigma for line in group.lines)


def test_the_page_has_results_by_kind_above_and_each_in_the_annex(model: Any, page: str) -> None:
    statement = model.privacy_statement_
    above, annex = page.split('<section class="annex">')
    measured = sum(line.coordinates for line in statement.releases)
    total = f"all of the fit {len(statement.releases)} {measured} 100.00 %"
    assert total in words(above)
    assert len(re.findall(r"<tr>", above.split('id="learned"')[1].split("<h2")[0])) <= 12
    rows = re.findall(r'<tr><th scope="row" class="name">([^<]*)<', annex)
    assert rows == [line.slot for line in statement.releases]
    for line in statement.releases:
        assert f"{line.coordinates} {rounded_down(line.sigma)} " in words(annex)


def test_columns_that_are_bounded_together_are_all_in_the_dictionary() -> None:
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(1, delta=1e-6, radius=2.5).fit(np.zeros((500, 2)))
    assert data_dictionary(model.model_, ()) == [
        (name, "clustered", "number", "all columns together: distance from the origin: 0 to 2.5")
        for name in ("column 0", "column 1")
    ]


HOSTILE = ["<script>alert(1)</script>", '" onload="x', "\u202edraw", "two\nlines", "x" * 10_000]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of a release in which whatever has a name has a hostile one."""
    ledger, label = str(tmp_path_factory.mktemp("hostile") / "budget.db"), "".join(HOSTILE)
    Ledger.create(ledger, label, epsilon=4.0, delta=1e-6, unit=label)
    frame = pd.DataFrame(0.0, range(500), HOSTILE)
    frame = frame.assign(ward=HOSTILE * 100, drug=HOSTILE * 100, **{label: range(500)})
    levels = {"type": "category", "levels": HOSTILE}
    bounds: dict[str, Any] = {**dict.fromkeys(HOSTILE, (-1, 1)), "ward": levels}
    given: dict[str, Any] = {"delta": 1e-6, "unit": label, "ledger": ledger, "dataset": label}
    with noise_from(SeededNoise(0)):
        model = PEMeans(2, bounds=bounds, **given).fit(frame.drop(columns="drug"))
        profile = model.profile(frame, ["drug"], bounds={"drug": levels}, epsilon=0.5)
    total = Ledger.open(ledger).total(label)
    return approval_page(model.model_, Approval(**GIVEN, ledger=total), [profile])


@pytest.mark.attack
def test_hostile_names_are_escaped_and_cut(hostile: str) -> None:
    page = hostile
    assert "<script" not in page
    assert '" onload="' not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not [one for one in page if not one.isprintable() and one != "\n"]
    assert "two\nlines" not in page
    assert r"\u202edraw" in page
    assert max(map(len, re.findall(r"x+", page))) <= 1000


@pytest.mark.attack
@pytest.mark.long
def test_hostile_names_stay_on_paper(hostile: str, tmp_path: Path) -> None:
    file = tmp_path / "hostile.pdf"
    file.write_bytes(to_pdf(hostile))
    _check_margins(file)
    text = re.sub(r"\s", "", pdf_text(file))
    assert "<script>alert(1)</script>" in text
    assert "\u202e" not in text
    for heading in ("Whomustbetrusted", "Datadictionary", "Signatures", "Annex"):
        assert heading in text


# On paper ----------------------------------------------------------------------------------------


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program}")
    return found


def pdf_text(file: Path, *options: str) -> str:
    done = subprocess.run(
        [needs("pdftotext"), *options, str(file), "-"], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    ("n_columns", "paper"),
    [
        (12, "A4"),
        (110, "letter"),
        pytest.param(12, "letter", marks=pytest.mark.long),
        pytest.param(110, "A4", marks=pytest.mark.long),
    ],
)
def test_no_column_is_lost_and_no_heading_orphaned_on_paper(
    tmp_path: Path, paper: Any, n_columns: int
) -> None:
    model = fitted(n_columns, max_clusters=4)
    pages = {
        "approval": approval_page(model.model_, Approval(**GIVEN)),
        "report": to_html(model, heading=PageHeading("visits", "2026-11-17", "ab" * 32)),
    }
    for name, page in pages.items():
        file = tmp_path / f"{name}.pdf"
        file.write_bytes(to_pdf(page, paper))
        text = pdf_text(file)
        together = re.sub(r"\s", "", text)
        for column in model.feature_names_in_:
            assert column in together
        leaves = [leaf for leaf in text.split("\f") if leaf.strip()]
        # Pictures have no text, so those above one seem to be last.
        found = re.findall(r"<h[123][^>]*>([^<]*)</h[123]>(?!\s*<img)", page)
        headings = {" ".join(heading.split()) for heading in found}
        for number, leaf in enumerate(leaves, 1):
            assert "ab" * 32 in leaf
            assert f"page {number} of {len(leaves)}" in leaf
            lines = [line.strip() for line in leaf.splitlines() if line.strip()]
            foot = re.compile(r"model SHA-256 (ab){32}|page \d+ of \d+")
            body = [line for line in lines if not foot.fullmatch(line)]
            assert body[-1] not in headings
        _check_margins(file)


def _check_margins(file: Path) -> None:
    """Check that no word lies beyond the margins of its page."""
    for leaf in re.findall(r"<page .*?</page>", pdf_text(file, "-bbox"), re.DOTALL):
        width, height = map(float, re.findall(r'<page width="([\d.]+)" height="([\d.]+)"', leaf)[0])
        places = re.findall(
            r'xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)"', leaf
        )
        for left, top, right, bottom in places:
            assert float(left) > 35
            assert float(right) < width - 35
            assert float(top) > 35
            assert float(bottom) < height - 15


@pytest.mark.parametrize("paper", ["A4", "letter"])
@pytest.mark.parametrize("n_columns", [2, 5, 12])
def test_what_is_read_together_is_on_one_sheet(tmp_path: Path, paper: Any, n_columns: int) -> None:
    names = [f"measurement_{place}" for place in range(n_columns)]
    bounds = dict.fromkeys(names, (-1, 1))
    model = PrivateKMeans(2, delta=1e-6, bounds=bounds).fit(pd.DataFrame(0.0, range(900), names))
    file = tmp_path / "approval.pdf"
    file.write_bytes(to_pdf(approval_page(model.model_, Approval(**GIVEN)), paper))
    sheets = [" ".join(sheet.split()) for sheet in pdf_text(file, "-raw").split("\f")]
    # Words beyond these may be on another line, which follows the column beside it.
    parties = [who[:30] for who, _ in trusted_parties(model.privacy_statement_)]
    together = (
        ("Release for approval", "The guarantee", "must not be published"),
        ("In standard terms", "Best test for one row", "power of at most"),
        ("Who must be trusted, and with what", *parties),
        ("what each says", "all of the fit"),
        ("Signatures", "requested", "approved B. Sow"),
    )
    for texts in together:
        found = [number for number, sheet in enumerate(sheets) if texts[0] in sheet]
        assert len(found) == 1
        assert not [text for text in texts if text not in sheets[found[0]]]
    assert (
        f"Place to sign after what is not covered by the guarantee: page {found[0] + 1} "
        in (sheets[0])
    )


def test_the_pdf_is_tagged_and_holds_its_fonts(page: str, tmp_path: Path) -> None:
    file = tmp_path / "approval.pdf"
    file.write_bytes(to_pdf(page))
    run: dict[str, Any] = {"capture_output": True, "text": True, "check": True}
    program = needs("pdfinfo")
    assert re.search(r"Tagged: +yes", subprocess.run([program, str(file)], **run).stdout)
    tags = subprocess.run([program, "-struct-text", str(file)], **run).stdout
    assert re.search(r"H1 .*\n.*\n +\"Release for approval: visits\"", tags)
    assert "TH" in tags
    fonts = subprocess.run([needs("pdffonts"), str(file)], **run).stdout.splitlines()[2:]
    assert fonts
    assert all(re.search(r" yes (yes|no) +(yes|no) ", font) for font in fonts)


# In a browser ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_have_no_findings_of_axe_and_no_width_beyond_the_window(
    model: Any, page: str, tmp_path: Path, width: int
) -> None:
    (tmp_path / "approval.html").write_text(page)
    (tmp_path / "report.html").write_text(to_html(model))
    program = needs("chromium")
    with chromium.running(program) as browser, chromium.served(tmp_path) as address:
        for name in ("approval", "report"):
            for scheme in ("light", "dark"):
                browser.open(f"{address}/{name}.html", width)
                features = [{"name": "prefers-color-scheme", "value": scheme}]
                browser.call("Emulation.setEmulatedMedia", features=features)
                assert browser.evaluate("document.documentElement.scrollWidth") <= width
                browser.evaluate(AXE)
                assert browser.evaluate(FINDINGS) == []


def test_intervals_of_dates_are_not_cut(profiled: tuple[Any, ...], tmp_path: Path) -> None:
    """A cell of a date with its interval was cut at half a window's width."""
    model, profile, *_ = profiled
    (tmp_path / "approval.html").write_text(
        approval_page(model.model_, Approval(**GIVEN), [profile])
    )
    program = needs("chromium")
    with chromium.running(program) as browser, chromium.served(tmp_path) as address:
        for width in (1280, 390):
            browser.open(f"{address}/approval.html", width)
            assert browser.evaluate(CUT_CELLS) == []
            assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_no_word_is_broken_where_people_sign_on_a_telephone(page: str, tmp_path: Path) -> None:
    (tmp_path / "approval.html").write_text(page)
    program = needs("chromium")
    with chromium.running(program) as browser, chromium.served(tmp_path) as address:
        browser.open(f"{address}/approval.html", 390)
        assert browser.evaluate(LINES_OF_WORDS) == [1] * 5  # role, name, signature and two roles
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_annex_is_open_on_what_a_browser_prints(model: Any, page: str, tmp_path: Path) -> None:
    (tmp_path / "approval.html").write_text(page)
    file, program = tmp_path / "printed.pdf", needs("chromium")
    with chromium.running(program) as browser, chromium.served(tmp_path) as address:
        browser.open(f"{address}/approval.html", 1280)
        file.write_bytes(base64.b64decode(browser.call("Page.printToPDF")["data"]))
    text = " ".join(pdf_text(file, "-raw").split())
    annex = text.split("Annex: each result on its own")[1]
    for line in model.privacy_statement_.releases:
        assert line.slot in annex


def test_the_guarantee_of_a_household_is_stated(private_model: Any) -> None:
    statement = private_model.privacy_statement_
    text = words(approval_page(private_model.model_, Approval(**GIVEN)))
    group = epsilon_of(4 * statement.mu, statement.delta)
    assert f"each with a row of its own: protected at epsilon {rounded_up(group)}, at" in text


def test_who_names_the_data_set_is_trusted_to_name_the_right_one(private_model: Any) -> None:
    """The ledger counts by name: a run under another name is not in its total."""
    parties = dict(trusted_parties(private_model.privacy_statement_))
    named = parties["The people who named the data set in each run, such as analysts"]
    assert "the ledger counts by that name, and never looks at the rows" in named
    unrecorded = dict(trusted_parties(fitted(3).privacy_statement_))
    assert not [who for who in unrecorded if "named" in who]
