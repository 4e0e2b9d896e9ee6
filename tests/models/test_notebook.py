"""What notebooks show: what is printed, with names of columns as they are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from html import escape, unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.fitted_models import fit_of, table

from privclust import PrivateKMeans, compare, compose, forecast, track
from privclust.domains.columns import NumberColumn
from privclust.kernels.grid import GRID
from privclust.models._matching import matched
from privclust.models._missing_cells import missing_note
from privclust.models._notebook import OF_HIDDEN, OF_REFIT
from privclust.models.stability import nearest_centers
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterMoments
from privclust.testing import NoNoise, SeededNoise, noise_from

MISSING = (
    "A missing number or date counted as the middle of its bounds, and a category that is missing "
    "or has no declared level as equal shares of its levels: both pull centres there."
)
EVIL = "<script>alert('x')</script>&"
ALLOWED = {"div", "style", "p", "table", "tr", "th", "td", "details", "summary"} | {
    *("svg", "rect", "line", "circle", "polyline", "g", "text")
}


class Tags(HTMLParser):
    """Collects tags that begin, and checks that each ends where it should."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@cache
def results() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 3000)
    ward = {"type": "category", "levels": [EVIL, "B"]}
    rows = pa.table({EVIL: rng.normal(30 + 40 * group, 3), "ward": [EVIL, "B"] * 1500})
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds={EVIL: (0, 120)}, random_state=0).fit(rows)
        profile = model.profile(
            rows, ["ward", EVIL], bounds={"ward": ward, EVIL: (0, 120)}, epsilon=1.0
        )
    return {
        "estimator": model,
        "model": model.model_,
        "statement": model.privacy_statement_,
        "k_path": model.k_path(),
        "forecast": forecast(3000, 1, 2, delta=1e-6),
        "profile": profile,
        "comparison": compare(model, model),
        "composition": compose(model, profile),
        "series": track([model, model]),
        "hierarchy": model.hierarchy(),
    }


NAMES = ["estimator", "model", "statement", "k_path", "forecast", "profile", "comparison"]
NAMES += ["composition", "series", "hierarchy"]
every_result = pytest.mark.parametrize("name", NAMES)


@every_result
def test_html_is_whole_and_of_harmless_parts(name: str) -> None:
    html = results()[name]._repr_html_()
    found = Tags(html)
    assert found.seen <= ALLOWED
    assert "<script" not in html
    assert "prefers-color-scheme: dark" in html
    assert "data-jp-theme-light" in html


@pytest.mark.parametrize("name", ["estimator", "model", "statement", "profile", "comparison"])
def test_names_of_columns_are_shown_as_they_are(name: str) -> None:
    found = Tags(results()[name]._repr_html_())
    assert any(EVIL in text for text in found.texts)


@every_result
def test_nothing_prints_as_a_raw_dataclass(name: str) -> None:
    if name == "estimator":
        return
    result = results()[name]
    if name != "hierarchy":  # it may be long
        assert repr(result) == str(result)
    assert f"{type(result).__name__}(" not in repr(result)


def test_notebook_shows_the_parameters_until_there_is_a_model() -> None:
    unfitted = PrivateKMeans(2, delta=1e-6)._repr_mimebundle_()
    assert "sk-" in unfitted["text/html"]
    fitted = results()["estimator"]._repr_mimebundle_()
    assert fitted["text/html"] == results()["model"]._repr_html_()


def test_means_of_logarithms_are_called_so() -> None:
    cost = {"cost": {"type": "number", "lower": 1, "upper": 1e5, "transform": "log"}}
    rows = pa.table({"age": [40.0] * 1000, "cost": [100.0] * 1000})
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 120)}).fit(rows)
        profile = model.profile(rows, ["cost"], bounds=cost, epsilon=1.0)
        by_cost = PrivateKMeans(1, delta=1e-6, bounds=cost).fit(rows.select(["cost"])).model_
    assert "mean of logarithms, as a number" in profile._repr_html_()
    for shown in (str(by_cost), by_cost._repr_html_()):
        assert "are means of logarithms, no higher than means." in shown


def test_how_good_a_fit_is_stands_in_text_and_html() -> None:
    model = results()["model"]
    for shown in (str(model), model._repr_html_()):
        assert "Quality: good. That means" in shown
        assert all(note in shown for note in model.quality_sentences[:1])


def test_as_how_many_rows_a_unit_counts_stands_in_text_and_html() -> None:
    visits = pa.table({"age": [40.0] * 3000, "who": [number // 3 for number in range(3000)]})
    model = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 120)}, unit="who").fit(visits).model_
    said = "Each 'who' counts as 1 row at most."
    assert said in str(model)
    assert escape(said) in model._repr_html_()


def test_tables_that_are_cut_say_so() -> None:
    rng = np.random.default_rng(0)
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=(0, 1)).fit(rng.random((2000, 14)))
    assert "not shown: 2." in model._repr_html_()
    assert "not shown: 2." in str(model.model_)
    assert "not shown (8): " in compare(model, model)._repr_html_()


def test_refits_and_missing_values_are_named_where_there_are_any() -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)}, random_state=0)
    model = model.fit(pa.table({"age": np.repeat([20.0, 60.0], 4000)}))
    assert MISSING in repr(model.model_)
    assert MISSING in unescape(model.model_._repr_html_())
    assert OF_REFIT not in repr(model.model_)
    assert OF_REFIT in repr(model.refit(1).model_)
    without = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.repeat([[-0.5], [0.5]], 4000, axis=0))
    assert MISSING not in repr(without.model_)


def test_declared_values_for_missing_cells_are_named() -> None:
    bounds: dict[str, Any] = {
        "age": {"type": "number", "lower": 0, "upper": 120, "missing": 45.5},
        "seen": {"type": "date", "lower": "2020-01-01", "upper": "2029-12-31"},
        "x": (0, 1),
    }
    bounds["seen"]["missing"] = "2025-06-30"
    cells = {"age": [20.0, None] * 4000, "seen": ["2021-02-03"] * 8000, "x": [0.5] * 8000}
    with noise_from(SeededNoise(0)):
        estimator = PrivateKMeans(2, delta=1e-6, bounds=bounds, random_state=0)
        model = estimator.fit(pa.table(cells)).model_
    said = (
        "Missing cells counted as declared: 'age' as 45.5, 'seen' as 2025-06-30. Any other missing "
        "number or date counted as the middle of its bounds, and a category that is missing or has "
        "no declared level as equal shares of its levels: all of them pull centres there."
    )
    assert said in repr(model)
    assert said in unescape(model._repr_html_())
    many = [NumberColumn(f"c{place}", 0, 9, missing=1) for place in range(9)]
    assert missing_note(many).startswith(
        "Missing cells counted as declared: 'c0' as 1, 'c1' as 1, 'c2' as 1, 'c3' as 1, "
        "'c4' as 1, …. Any other missing"
    )


def test_most_errors_of_a_refit_are_larger_than_those_of_a_fit() -> None:
    for k in (3, 6, 8):
        refit, fit = fit_of(table(), 4).refit(k), fit_of(table(), k)
        assert np.mean(refit.size_stderr_ > fit.size_stderr_.max()) > 0.5
        assert np.median(refit.center_stderr_) > np.median(fit.center_stderr_)


def test_what_missing_cells_count_as_stands_below_what_was_found() -> None:
    lines = str(results()["model"]).splitlines()
    assert lines[-1].startswith("Privacy guarantee")
    assert lines[-2] == MISSING


def test_limit_of_a_warning_is_told_from_that_of_the_table() -> None:
    """The fit warned of sizes below 60, and the table had more clusters "below 90"."""
    model = results()["model"]
    assert model.size_stderr is not None
    small = replace(model, cluster_sizes=np.array([3000.0, 2.5 * model.size_stderr[1]]))
    assert OF_HIDDEN not in str(small)
    assert OF_HIDDEN in str(replace(small, fit_warning="1 of 2 clusters have sizes …"))
    assert OF_HIDDEN not in str(replace(model, fit_warning="few rows"))


def test_one_row_is_one_row() -> None:
    model = results()["model"]
    assert ", about 1 row\n" in str(replace(model, n_rows=1))
    assert ", about 2 rows\n" in str(replace(model, n_rows=2))


def test_composition_without_noise_says_so_and_names_its_runs() -> None:
    rows = pa.table({"age": np.repeat([20.0, 60.0], 40)})
    model = PrivateKMeans(2, epsilon=np.inf, bounds={"age": (0, 120)}, random_state=0).fit(rows)
    html = compose(model)._repr_html_()
    assert '<p class="warn">NOT PRIVATE: ' in html
    assert model.privacy_statement_.run.name in html


def test_a_wide_table_scrolls_and_the_sentences_below_it_do_not() -> None:
    html = results()["model"]._repr_html_()
    assert '<div class="wide"><table>' in html
    assert "</table></div><p" in html
    rule = html.partition(".privclust {")[2].partition("}")[0]
    assert "overflow" not in rule


def test_an_epsilon_of_several_runs_says_so() -> None:
    rows = np.repeat([[-0.5], [0.5]], 4000, axis=0)
    first = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(rows)
    second = PrivateKMeans(2, delta=1e-6, radius=1.0, init=first).fit(rows)
    assert "together with" not in repr(first.model_)
    said = "That is this run, epsilon = 1, together with 1 that it follows from."
    assert said in repr(second.model_)


def test_centres_are_means_within_the_borders_of_the_step_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Models give two reasons for means that differ; without noise, clipping is the other one."""
    rows, measure = np.random.default_rng(0).normal(50, 12, (20_000, 4)), Curator.measure
    steps: list[Any] = []

    def noted(curator: Curator, slot: str, query: Any, *given: Any) -> Any:
        if isinstance(query, ClusterMoments):
            steps.append(query.centers)
        return measure(curator, slot, query, *given)

    monkeypatch.setattr(Curator, "measure", noted)
    with noise_from(NoNoise()):
        model = fit_of(rows, 5, bounds=(0, 100), epsilon=8.0).model_
    centers = model.domain.to_ball(model.cluster_centers)
    points = model.domain.to_ball(rows)

    def off(middles: Any) -> float:
        labels = nearest_centers(points, middles)
        means = np.array([points[labels == cluster].mean(axis=0) for cluster in range(5)])
        one, other = matched(means, centers).T
        return float(np.linalg.norm(means[one] - centers[other]))

    assert 1.5 * off(steps[-1] / GRID) < off(centers)
