"""What a fit tells of single columns: on tables that are declared well, and on others."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.cluster_models import made_up_model
from helpers.peak_memory import peak_bytes

from privclust import PrivateKMeans
from privclust.domains.bounds_file import declared_column
from privclust.domains.columns import Column, NumberColumn
from privclust.errors import ColumnWarning
from privclust.models._absent_levels import absent_levels
from privclust.models._column_notes import (
    APART,
    alike,
    all_other,
    at_bounds,
    column_warnings,
    equal_shares,
    long_tailed,
    nothing_differs,
    overshadowed,
    ruled_by,
    same_but_for_noise,
    unmatched,
)
from privclust.models._fit_notes import columns_of, smaller_weight
from privclust.models.cluster_model import ClusterModel
from privclust.models.report import to_html
from privclust.models.verdict import verdict
from privclust.testing import SeededNoise, noise_from

N_ROWS = 10_000
WARDS = ["north", "south", "east"]
_RNG = np.random.default_rng(0)
GROUP = _RNG.integers(0, 3, N_ROWS)
AGE = _RNG.normal(30 + 20 * GROUP, 5)
PRESSURE = _RNG.normal(110 + 15 * GROUP, 6)
COST = _RNG.lognormal(7, 1.3, N_ROWS)
ANY_WARD = _RNG.choice(WARDS, N_ROWS)
LEVELS: dict[str, Any] = {"type": "category", "levels": WARDS}
BOUNDS: dict[str, Any] = {"age": (0, 120), "pressure": (60, 240), "cost": (0, 1e5), "ward": LEVELS}


def fitted(epsilon: float = 1.0, seed: int = 0, **columns: Any) -> ClusterModel:
    """Fit ages of three groups beside other columns, each given as cells and maybe bounds."""
    cells = {name: given[0] if type(given) is tuple else given for name, given in columns.items()}
    bounds = {name: given[1] for name, given in columns.items() if type(given) is tuple}
    table = pd.DataFrame({"age": AGE} | cells)
    chosen = {name: BOUNDS[name] for name in table if name in BOUNDS} | bounds
    model = PrivateKMeans(3, delta=1e-6, epsilon=epsilon, bounds=chosen, random_state=0)
    with noise_from(SeededNoise(seed)):
        return model.fit(table).model_


@pytest.mark.parametrize(
    "columns",
    [
        {"pressure": PRESSURE},
        {"pressure": PRESSURE, "ward": np.array(WARDS)[GROUP]},
        {"pressure": PRESSURE, "ward": (ANY_WARD, {**LEVELS, "weight": 0.3})},
        {"age": (AGE, (0, 1000)), "pressure": (PRESSURE, (0, 1000))},
        {"cost": (COST, {"type": "number", "lower": 0, "upper": 1e5, "transform": "log1p"})},
    ],
    ids=["numbers", "levels", "even levels", "loose bounds", "logarithm"],
)
def test_nothing_is_said_of_columns_that_are_declared_well(columns: Any) -> None:
    assert column_warnings(fitted(1.0, **columns)) == []


@pytest.mark.parametrize(("epsilon", "seed"), [(0.5, 1), (4.0, 0)])
def test_category_that_rules_is_named(epsilon: float, seed: int) -> None:
    model = fitted(epsilon, seed, pressure=PRESSURE, ward=ANY_WARD)
    (note,) = column_warnings(model)
    assert note == ruled_by(model)
    assert note.startswith("Clusters differ by 'ward' nearly alone: it has ")
    assert note in model.quality_sentences
    assert note in str(model)
    said = "{'ward': {'type': 'category', 'levels': ['...'], 'weight': 0.3}}"
    assert f"a smaller weight: in a bounds file weight = 0.3, in Python {said}; or fit" in note


def test_weight_that_is_small_already_is_said_to_become_smaller() -> None:
    bounds: dict[str, Any] = {"type": "number", "lower": 0, "upper": 120, "weight": 0.5}
    model = fitted(4.0, 0, age=(AGE, bounds), pressure=PRESSURE)
    assert smaller_weight(model, columns_of(model)[0]) == (
        "in a bounds file weight = 0.1, in Python {'age': {'type': 'number', 'lower': 0.0, "
        "'upper': 120.0, 'weight': 0.1}}"
    )


def test_dates_that_rule_are_spans_of_time_with_a_remedy_of_their_own() -> None:
    """Their spread fills the bounds, so that scale "private" would hardly help."""
    date = {"type": "date", "lower": "2024-01-01", "upper": "2024-12-31"}
    days = np.datetime64("2024-01-01") + _RNG.integers(0, 366, N_ROWS)
    (note,) = column_warnings(fitted(4.0, day=(days, date), pressure=PRESSURE))
    assert note.startswith("Clusters differ by 'day' nearly alone: it has ")
    assert "So they are spans of time. If they should not be, leave the column out of the " in note
    assert "scale" not in note
    declared = ast.literal_eval(note.partition("in Python ")[2].removesuffix("."))
    assert declared == {"day": {**date, "weight": 0.3}}
    assert declared_column("day", declared["day"]).weight == 0.3


@pytest.mark.parametrize(("epsilon", "seed"), [(0.5, 1), (4.0, 0)])
@pytest.mark.parametrize("matching", [0.0, 0.1])
def test_levels_that_match_hardly_anything_are_named(
    matching: float, epsilon: float, seed: int
) -> None:
    is_read = np.random.default_rng(1).random(N_ROWS) < matching
    ward = np.where(is_read, ANY_WARD, np.char.upper(ANY_WARD))
    model = fitted(epsilon, seed, pressure=PRESSURE, ward=ward)
    (note,) = column_warnings(model)
    assert note == unmatched(model)
    most = int(note.partition("'ward' ")[2].partition(" %")[0])
    assert 100 * matching <= most <= 30
    assert verdict(model).startswith("Quality: fair. A column may not have been read")


def test_levels_that_all_count_as_other_are_named() -> None:
    """Levels in capitals passed without a word, and clusters looked better without the column."""
    levels = [level.upper() for level in WARDS]
    wrong, right = ({**LEVELS, "levels": [*some, "other"]} for some in (levels, WARDS))
    model = fitted(ward=(ANY_WARD, wrong))
    said = all_other(model)
    assert said is not None
    assert said.startswith("Nearly all cells of 'ward' count as 'other', ")
    assert said in column_warnings(model)
    beside = fitted(pressure=PRESSURE, ward=(ANY_WARD, wrong))
    assert verdict(beside).startswith("Quality: fair. A category tells nothing apart, ")
    assert all_other(fitted(ward=(ANY_WARD, right))) is None


def test_narrower_bounds_are_no_advice_for_rows_that_all_lie_beyond_one() -> None:
    """Last year's bounds of a day were answered with narrower ones."""
    model = fitted(pressure=(PRESSURE + 300, (60, 240)))
    assert at_bounds(model) is not None
    assert overshadowed(model) is None


def test_share_of_matching_cells_is_never_understated() -> None:
    """With half of them read, what is said would have to be more than half: nothing is said."""
    is_read = np.arange(N_ROWS) % 2 == 0
    model = fitted(4.0, pressure=PRESSURE, ward=np.where(is_read, ANY_WARD, "elsewhere"))
    assert unmatched(model) is None
    assert unmatched(replace(model, quality=None)) is None


def logarithm_in(name: str, said: str) -> Column:
    """Return the column that a warning shows to copy."""
    declared = ast.literal_eval(said.partition("in Python ")[2].removesuffix("."))
    return declared_column(name, declared[name])


def test_column_that_cannot_be_an_amount_is_offered_no_logarithm() -> None:
    model = fitted(4.0, 0, pressure=(PRESSURE, (-5_000, 5_000)))
    assert str(overshadowed(model)).endswith("declare narrower bounds from knowledge of the field.")


@pytest.mark.parametrize(("epsilon", "seed"), [(0.5, 0), (4.0, 0)])
def test_column_in_a_small_part_of_its_bounds_is_named(epsilon: float, seed: int) -> None:
    model = fitted(epsilon, seed, pressure=(PRESSURE + 1000, (0, 10_000)))
    assert column_warnings(model) == [overshadowed(model)]
    said = str(overshadowed(model))
    assert said.startswith("Rows fill a small part of the bounds of 'pressure'")
    assert logarithm_in("pressure", said) == NumberColumn("pressure", 0.0, 1e4, transform="log1p")
    assert overshadowed(replace(model, coreset=None)) is None


@pytest.mark.parametrize(("epsilon", "seed"), [(0.5, 1), (4.0, 0)])
def test_column_with_a_long_tail_is_named(epsilon: float, seed: int) -> None:
    model = fitted(epsilon, seed, cost=COST)
    assert column_warnings(model) == [long_tailed(model)]
    said = str(long_tailed(model))
    assert "of the bounds of 'cost' and some far beyond" in said
    assert logarithm_in("cost", said) == NumberColumn("cost", 0.0, 1e5, transform="log1p")


@pytest.mark.parametrize("bounds", [{"a": (0, 100)}, {"a": (0, 100), "b": (0, 100)}])
def test_table_without_rows_has_no_column_to_judge(bounds: dict[str, Any]) -> None:
    table = pd.DataFrame({name: np.empty(0) for name in bounds})
    model = PrivateKMeans(1, epsilon=np.inf, bounds=bounds).fit(table).model_
    assert model.coreset is not None
    assert model.coreset.weights.sum() < 1
    assert column_warnings(model) == []
    assert "1 cluster" in str(model)
    assert "NOT PRIVATE" in to_html(model)


def test_long_tail_of_less_than_a_row_is_none() -> None:
    model = fitted(4.0, cost=COST)
    assert model.coreset is not None
    few = model.coreset.weights / model.coreset.weights.sum() / 2
    lighter = replace(model, coreset=replace(model.coreset, weights=few))
    assert long_tailed(model) is not None
    assert (long_tailed(lighter), overshadowed(lighter)) == (None, None)


def test_columns_in_which_noise_explains_the_differences_are_named() -> None:
    errors = np.full((2, 2), 1.0)
    model = made_up_model([[10.0, 5.0], [20.0, 6.0]], center_stderr=errors)
    box = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 30), "visits": (0, 30)})
    with noise_from(SeededNoise(0)):
        domain = box.fit(pd.DataFrame({"age": [1.0] * 999, "visits": [1.0] * 999})).domain_
    model = replace(model, domain=domain, feature_names_in=("age", "visits"))
    assert str(alike(model)).startswith("Noise may explain how centres differ in 'visits': ")
    assert alike(model) in model.quality_sentences
    assert alike(replace(model, center_stderr=errors / 10)) is None
    assert alike(replace(model, center_stderr=errors * 0)) is None
    assert alike(replace(model, center_stderr=None)) is None


@pytest.mark.parametrize("k", [1, 2, 6])
def test_every_two_clusters_are_compared_in_every_column(k: int) -> None:
    rng = np.random.default_rng(0)
    centers, errors = rng.normal(size=(k, 40)), rng.uniform(0, 2, (k, 40))
    errors[0, 0], errors[-1, 1], centers[:, 2] = np.nan, 0.0, 1.0
    noise = np.sqrt(errors[:, None] ** 2 + errors**2)
    at_once = (np.abs(centers[:, None] - centers) < APART * noise).all(axis=(0, 1))
    found = same_but_for_noise(centers, errors)
    assert found.tolist() == at_once.tolist()
    assert set(found.tolist()) == {False, True}


def test_memory_of_notes_does_not_grow_with_clusters_times_clusters_times_columns() -> None:
    centers, errors = np.zeros((200, 300)), np.ones((200, 300))
    assert peak_bytes(lambda: same_but_for_noise(centers, errors)) < 20 * centers.nbytes


def test_fit_warns_of_columns_once_and_keeps_no_text_of_it() -> None:
    table = pd.DataFrame({"age": AGE, "cost": COST})
    bounds = {"age": (0, 120), "cost": (0, 1e5)}
    model = PrivateKMeans(3, epsilon=4.0, delta=1e-6, bounds=bounds, random_state=0)
    with noise_from(SeededNoise(0)), pytest.warns(ColumnWarning, match="log1p") as given:
        model.fit(table)
    assert [str(one.message) for one in given] == column_warnings(model.model_)
    assert model.fit_warning_ is None


def test_columns_are_not_judged_where_noise_hides_clusters() -> None:
    model = fitted(4.0, cost=COST)
    assert column_warnings(replace(model, fit_warning="few rows")) == []


def test_centres_at_bounds_are_named() -> None:
    """What lies beyond counts as the bound, so that clusters seem to lie there, and to be clear."""
    narrow = fitted(age=(AGE, (0, 40)), pressure=PRESSURE)
    note = at_bounds(narrow)
    assert note is not None
    assert note.startswith("Some centres lie at a bound of 'age'.")
    assert note in narrow.quality_sentences


@pytest.mark.parametrize(("missing", "said"), [(40, True), (39, True), (20, False), (None, False)])
def test_missing_cells_that_count_as_a_bound_are_named_as_a_cause(
    missing: float | None, said: bool
) -> None:
    declared = {"type": "number", "lower": 0, "upper": 40, "missing": missing}
    note = str(at_bounds(fitted(age=(AGE, declared), pressure=PRESSURE)))
    assert note.startswith("Some centres lie at a bound of 'age'.")
    assert note.endswith("Missing cells of 'age' count as values there, too.") is said


def test_advice_keeps_what_is_declared_of_missing_cells() -> None:
    declared = {"type": "number", "lower": 0, "upper": 1e5, "missing": 900}
    said = str(long_tailed(fitted(4.0, cost=(COST, declared))))
    copied = ast.literal_eval(said.partition("in Python ")[2].removesuffix("."))["cost"]
    assert declared_column("cost", copied) == NumberColumn(
        "cost", 0.0, 1e5, transform="log1p", missing=900.0
    )
    model = fitted(cost=(COST, declared))
    column = next(one for one in columns_of(model) if one.name == "cost")
    assert "'missing': 900.0" in smaller_weight(model, column)


@pytest.mark.parametrize(
    "columns",
    [
        {"pressure": PRESSURE},
        {"visits": (np.where(GROUP == 0, 0.0, AGE), (0, 120))},  # 0 is a value, and no limit
        {"smokes": (np.where(GROUP == 0, 0.0, 1.0), (0, 1)), "ward": np.array(WARDS)[GROUP]},
    ],
)
def test_centres_within_bounds_are_not(columns: dict[str, Any]) -> None:
    assert at_bounds(fitted(**columns)) is None


def test_clusters_whose_levels_are_not_declared_are_named() -> None:
    """Cells of a misspelt level count as equal shares, which look like shares of the cluster."""
    misspelt = {**LEVELS, "levels": ["norht", "south", "east"]}
    note = equal_shares(fitted(ward=(np.array(WARDS)[GROUP], misspelt)))
    assert note is not None
    assert note.startswith("All levels have nearly the same share: 'ward' in cluster ")


def test_levels_that_no_row_has_are_named() -> None:
    """A level was declared as 'Emergency', and the table wrote 'emergency'."""
    spare = {**LEVELS, "levels": [*WARDS, "West", "other"]}
    for ward in (np.array(WARDS)[GROUP], ANY_WARD):
        model = fitted(ward=(ward, spare))
        note = absent_levels(model)
        assert note is not None
        assert note.startswith("'West' of 'ward' has no rows that noise would show.")
        assert note in model.quality_sentences
    lower = np.where(np.array(WARDS)[GROUP] == "north", "west", np.array(WARDS)[GROUP])
    misspelt = absent_levels(fitted(ward=(lower, {**LEVELS, "levels": ["West", *WARDS[1:]]})))
    assert misspelt is not None
    assert "'West' of 'ward'" in misspelt


def test_levels_of_one_row_in_fifty_are_not_called_absent() -> None:
    rare = np.where(np.arange(N_ROWS) % 50 == 0, "West", ANY_WARD)
    assert absent_levels(fitted(ward=(rare, {**LEVELS, "levels": [*WARDS, "West"]}))) is None


@pytest.mark.parametrize("ward", [np.array(WARDS)[GROUP], ANY_WARD])
def test_levels_that_are_declared_or_tell_nothing_are_not(ward: Any) -> None:
    assert equal_shares(fitted(ward=ward)) is None


def test_clusters_that_are_not_reported_lie_at_no_bound() -> None:
    model = fitted(cost=(AGE, (0, 50)))
    assert at_bounds(model) is not None
    assert model.size_stderr is not None
    hidden = replace(model, size_stderr=np.full(len(model.cluster_sizes), 1e6))
    assert at_bounds(hidden) is None


def test_counts_of_few_values_are_offered_no_logarithm() -> None:
    """Nine of ten rows have 0, the others 5 of 5: a logarithm would change nothing."""
    few = np.where(np.arange(N_ROWS) % 10 == 0, 5.0, 0.0)
    assert long_tailed(fitted(limits=(few, (0, 5)))) is None
    assert long_tailed(fitted(visits=(40 * few, (0, 200)))) is not None


def test_zeros_at_the_lower_bound_of_a_logarithm_are_answered_with_log1p() -> None:
    declared = {"type": "number", "lower": 1, "upper": 1e5, "transform": "log"}
    costs = (np.where(GROUP == 0, 0.0, COST), declared)
    note = at_bounds(fitted(cost=costs))
    assert note is not None
    assert 'transform = "log1p" takes them.' in note


def digits(n_rows: int = 1800) -> pd.DataFrame:
    """Return pixels as of handwritten digits, of 0 to 16: eight are used, 56 hardly ever."""
    rng = np.random.default_rng(3)
    used = rng.integers(0, 2, (10, 8))[rng.integers(0, 10, n_rows)] * 16.0
    cells = np.hstack([used, np.zeros((n_rows, 54)), rng.random((n_rows, 2)) < 0.01])
    return pd.DataFrame(cells, columns=[f"pixel {number}" for number in range(64)])


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_noise_in_a_column_that_is_always_0_is_no_tail(epsilon: float) -> None:
    model = PrivateKMeans(10, delta=1e-6, epsilon=epsilon, bounds=(0, 16), random_state=0)
    with noise_from(SeededNoise(0)):
        assert long_tailed(model.fit(digits()).model_) is None


def test_tail_needs_points_of_the_coreset_that_noise_does_not_explain() -> None:
    model = fitted(4.0, cost=COST)
    assert model.coreset is not None
    assert long_tailed(model) is not None
    precision = model.coreset.precision
    noisier = replace(precision, center_stderr=precision.center_stderr + 0.3)
    coreset = replace(model.coreset, precision=noisier)
    assert long_tailed(replace(model, coreset=coreset)) is None


def bound_fit(bounds: dict[str, Any], **columns: Any) -> ClusterModel:
    model = PrivateKMeans(3, delta=1e-6, bounds=bounds, random_state=0)
    with noise_from(SeededNoise(0)):
        return model.fit(pd.DataFrame(columns)).model_


def test_table_beyond_its_bounds_is_not_answered_with_more_rows() -> None:
    """It was said that clusters show with more rows, and not that no cell lies within bounds."""
    model = bound_fit({"cost": (0, 100)}, cost=COST + 100)
    assert model.fit_warning is not None
    assert "at or beyond a bound: the upper one of 'cost'." in model.fit_warning
    assert "Clusters show with more rows" not in model.fit_warning
    assert str(model).count("at or beyond a bound") == 1
    assert at_bounds(model) is not None


@pytest.mark.parametrize("bounds", [{"a": (0, 100)}, {"a": (0, 100), "b": (20, 90)}])
def test_table_without_a_number_is_not_answered_with_more_rows(bounds: dict[str, Any]) -> None:
    model = bound_fit(bounds, **{name: np.full(N_ROWS, np.nan) for name in bounds})
    assert model.fit_warning is not None
    assert model.fit_warning.startswith("All centres lie at the middle of 'a'")
    assert "Clusters show with more rows" not in model.fit_warning


def test_column_that_lies_beyond_a_bound_beside_another_is_named() -> None:
    bounds = {"age": (0, 120), "pressure": (250, 300)}
    model = bound_fit(bounds, age=AGE, pressure=PRESSURE)
    note = at_bounds(model)
    assert note is not None
    assert note.startswith("Nearly all rows seem to lie at or beyond a bound: the lower one of 'pr")
    assert "Some centres" not in note
    assert nothing_differs(model) is None


def test_rows_of_which_half_lie_within_bounds_are_not_said_to_lie_beyond() -> None:
    model = bound_fit({"age": (0, 50)}, age=AGE)
    assert str(at_bounds(model)).startswith("Some centres lie at a bound of 'age'.")
    assert nothing_differs(model) is None
