"""Two models: matched one to one, moved only where they moved."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.fitted_models import MIDDLES, fit_of, four_clusters, table, vector_model, vectors_model
from helpers.kinds import OTHER_KINDS

from privclust import PEMeans, PrivateKMeans, compare, compose, track
from privclust.errors import ColumnError, ParameterError
from privclust.models._coordinates import format_shift
from privclust.models._matching import matched
from privclust.models.compare import BORDERS, SOFT_BORDERS
from privclust.testing import SeededNoise, noise_from

APART = MIDDLES[1:]


def test_the_cluster_that_moved_is_named_with_its_shift() -> None:
    later = APART.copy()
    later[2] -= [0, 10]
    found = compare(fit_of(table(APART), 3), fit_of(table(later, seed=1), 3, seed=1))
    (place,) = np.flatnonzero(found.moved)
    np.testing.assert_allclose(found.shifts[place], [0, -10], atol=0.2)
    assert "moved" in str(found)
    assert (found.shift_stderr > 0).all()
    assert found.gone == found.new == ()


def test_other_rows_of_the_same_people_move_nothing() -> None:
    """The test's own chance is a thousandth each; noise and rows are seeded, so it is drawn."""
    models = [fit_of(table(APART, seed=seed), 3, seed=seed) for seed in range(4)]
    for before, after in pairwise(models):
        assert not compare(before, after).moved.any()


def test_clusters_without_a_counterpart_are_gone_or_new() -> None:
    model = four_clusters()
    fewer = model.refit(3)
    assert len(compare(model, fewer).gone) == len(compare(fewer, model).new) == 1
    assert "gone" in str(compare(model, fewer))
    assert "new" in str(compare(fewer, model))


def test_sizes_have_errors_of_both() -> None:
    model = four_clusters()
    found = compare(model, model)
    assert found.pairs.tolist() == [[k, k] for k in range(4)]
    np.testing.assert_array_equal(found.size_shifts, 0)
    np.testing.assert_allclose(found.size_stderr, 2**0.5 * model.size_stderr_)


def test_matching_is_one_to_one_even_where_two_are_nearest_to_the_same() -> None:
    before, after = np.array([[0.0], [0.1]]), np.array([[0.05], [0.9]])
    assert matched(before, after).tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize("kind", [PEMeans])
def test_models_that_do_not_know_their_errors_are_compared_without(kind: Any) -> None:
    assert kind in OTHER_KINDS
    with noise_from(SeededNoise(0)):
        model = kind(2, delta=1e-6, bounds=(0, 100)).fit(table(APART))
        other = kind(2, delta=1e-6, bounds=(0, 100)).fit(table(APART, seed=1))
    found = compare(model, other)
    assert np.isnan(found.shift_stderr).all()
    assert np.abs(found.shifts).max() > 0
    assert not found.moved.any()
    assert "nan" not in str(found)
    assert "no cluster is said to have moved" in str(found)
    assert not track([model, other]).drifted.any()


def test_models_of_one_column_of_vectors_are_compared_by_coordinate() -> None:
    before, after = vectors_model(0), vectors_model(1)
    found = compare(before, after)
    assert found.names == ("words[0]", "words[1]", "words[2]")
    assert found.shifts.shape == (2, 3)
    assert "words[0]" in str(found)


def test_other_columns_are_refused() -> None:
    one = fit_of(table()[:, :1], 2, bounds=(0, 100))
    with pytest.raises(ColumnError, match="different columns"):
        compare(four_clusters(), one)


@pytest.mark.parametrize("name", ["m24.json", Path("m24.json")])
def test_names_of_files_are_refused_with_how_to_load_them(name: Any) -> None:
    """They ended in an AttributeError."""
    for taking in (lambda: compare(name, name), lambda: track([name])):
        with pytest.raises(ParameterError, match=r"'m24\.json'\. Load it first: privclust\.load"):
            taking()
    with pytest.raises(ParameterError, match=r"privclust\.load or privclust\.load_profile"):
        compose(name)


def test_what_is_no_fitted_model_is_refused_with_what_to_do() -> None:
    """Profiles of two years ended in an AttributeError."""
    fitted: Any = stays()
    people = pd.DataFrame({"age": [30.0], "bmi": [25.0], "ward": ["A"], "seen": ["2024-03-01"]})
    people["seen"] = pd.to_datetime(people["seen"])
    bounds: Any = {"age": (0, 120)}
    profile = fitted.profile(people, ["age"], bounds=bounds, epsilon=1.0)
    for one in (profile, PrivateKMeans(2, delta=1e-6)):
        with pytest.raises(ParameterError, match=f"got a {type(one).__name__}. Fit an estimator"):
            compare(one, one)


def test_directions_in_one_column_are_compared_in_every_coordinate() -> None:
    """There was one name for four coordinates, and printing them failed."""
    found = compare(vector_model(0), vector_model(1))
    assert found.names == tuple(f"words[{place}]" for place in range(4))
    assert found.shifts.shape == (2, 4)
    assert "words[3]" in str(found)


def test_models_are_compared_like_the_estimators_that_hold_them() -> None:
    before, after = four_clusters(), fit_of(table(seed=1), seed=1)
    one, other = compare(before, after), compare(before.model_, after.model_)
    assert str(one) == str(other)
    np.testing.assert_array_equal(one.moved, other.moved)


def test_other_weights_bounds_and_decimal_marks_are_named() -> None:
    """Their centres are comparable, and nobody saw that one fit counted a column otherwise."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(50, 9, 2000), "nights": rng.normal(5, 1, 2000)})

    def fitted(**changed: object) -> Any:
        nights = {"type": "number", "lower": 0, "upper": 30, **changed}
        bounds: Any = {"age": (0, 120), "nights": nights}
        with noise_from(SeededNoise(0)):
            return PrivateKMeans(1, delta=1e-6, bounds=bounds, random_state=0).fit(rows).model_

    plain = fitted()
    assert compare(plain, plain).differences == ()
    (other,) = compare(plain, fitted(weight=0.3)).differences
    assert other.endswith("though nothing moved: weight of 'nights' is 1.0 and 0.3.")
    (other,) = compare(plain, fitted(transform="log1p", upper=40)).differences
    assert "transform of 'nights' is 'none' and 'log1p'; upper of 'nights' is 30.0 and 4" in other
    (marks,) = compare(plain, replace(plain, decimal=",")).differences
    assert marks.startswith("Decimals of the first model's files were read with '.' and those of ")
    assert marks in str(compare(plain, replace(plain, decimal=",")))
    measured = replace(plain, parameters={**plain.parameters, "scale": "private"})
    (other,) = compare(plain, measured).differences
    assert other.endswith(f"scale is {plain.parameters.get('scale')!r} and 'private'.")


def counting(rows_per_unit: int | None) -> Any:
    """Return a model that counts rows, or each patient as so many."""
    rng = np.random.default_rng(0)
    visits = pd.DataFrame({"age": rng.normal(50, 9, 2000), "patient": np.arange(2000) // 2})
    if rows_per_unit is None:
        given: Any = {"weight": 0.3}
        visits = visits.drop(columns="patient")
    else:
        given = {}
    bounds: Any = {"age": {"type": "number", "lower": 0, "upper": 120, **given}}
    unit: Any = {"unit": "patient", "max_rows_per_unit": rows_per_unit} if rows_per_unit else {}
    with noise_from(SeededNoise(0)):
        return PrivateKMeans(1, delta=1e-6, bounds=bounds, random_state=0, **unit).fit(visits)


def test_models_that_count_people_otherwise_say_so_first() -> None:
    """Sizes stood beside each other as if patients and visits were the same."""
    found = compare(counting(1), counting(2))
    said = (
        "Sizes cannot be compared: the first model counts each 'patient' as 1 row at most, the "
        "second each 'patient' as 2 rows at most."
    )
    assert found.differences == (said,)
    assert said in str(found)
    assert escape(said) in found._repr_html_()
    rows = compare(counting(None), counting(2))
    assert rows.notes[0].startswith("Sizes cannot be compared: the first model counts every row,")
    assert len(rows.notes) == 2
    assert compare(counting(2), counting(2)).differences == ()


def stays(seen: int = 0, bmi: float = 25.0) -> Any:
    """Return a model of two groups of patients who came from that day on."""
    rng = np.random.default_rng(seen)
    old = rng.random(8000) < 0.4
    rows = pd.DataFrame(
        {
            "age": np.where(old, 70, 30) + rng.normal(0, 3, 8000),
            "bmi": rng.normal(bmi, 2, 8000),
            "ward": np.where(rng.random(8000) < 0.5, "A", "B"),
            "seen": pd.Timestamp("2024-03-01") + pd.to_timedelta(seen + 9 * old, "D"),
        }
    )
    bounds: Any = {
        "age": (0, 120),
        "bmi": (10, 50),
        "ward": {"type": "category", "levels": ["A", "B"], "weight": 0.1},
        "seen": {"type": "date", "lower": "2024-01-01", "upper": "2024-12-31"},
    }
    with noise_from(SeededNoise(0)):
        return PrivateKMeans(2, delta=1e-6, bounds=bounds, random_state=0).fit(rows)


def test_columns_by_which_clusters_moved_are_named() -> None:
    """A reader saw "moved" and could not tell by what."""
    found = compare(stays(), stays(30, bmi=29))
    assert found.moved.all()
    assert found.moved_columns.tolist() == [[False, True, False, False, True]] * 2
    assert found.moves() == ["moved: bmi, seen"] * 2
    assert found.moves("yes", "no") == ["yes: bmi, seen"] * 2
    shown = str(found)
    assert shown.startswith(f"{found.title}:\n")
    assert found.title.startswith("2 of 2 clusters moved farther than noise and chance explain")
    assert found.title.endswith("numbers are after less before")
    assert re.search(r"\+30\.\d+ ± [.\d]+ days  moved: bmi, seen", shown)
    assert " %  " in shown
    html = found._repr_html_()
    assert "<td>moved: bmi, seen</td>" in html
    assert escape(found.title) in html
    same = compare(stays(), stays())
    assert not same.moved_columns.any()
    assert same.moves() == ["", ""]


def test_what_moved_beside_dates_is_counted() -> None:
    """Clusters of two years had always moved, by their dates."""
    said = ", {} of them by another column than 'seen', which moves with time; numbers are"
    later, heavier = compare(stays(), stays(30)), compare(stays(), stays(30, bmi=29))
    assert later.moved.all()
    assert said.format(0) in later.title
    assert said.format(2) in heavier.title
    assert "seen" not in compare(stays(), stays(bmi=29)).title, "no date moved"


def test_soft_borders_explain_moves_as_chance_does() -> None:
    """Fits of the same rows had nearly always "moved" where clusters shade into each other."""
    rows = np.random.default_rng(0).normal(50, 12, (20_000, 2))
    fits = [fit_of(rows, 5, seed=seed, bounds=(0, 100)) for seed in range(4)]
    for pair in pairwise(fits):
        found = compare(*pair)
        assert not found.moved.any()
        assert found.border_stderr is not None
        assert (found.border_stderr > found.shift_stderr).all()
        assert (found.errors > found.border_stderr).all()
        assert (found.size_errors > found.size_stderr).all()
        _, printed = format_shift("number", 0.0, float(found.errors[0, 0])).split(" ± ")
        assert f"± {printed}" in str(found)
        assert found.notes == [SOFT_BORDERS]
    assert not track(fits).drifted.any()
    assert compare(
        fits[0], fit_of(rows + np.array([40, 0]), 5, seed=9, bounds=(0, 100))
    ).moved.any()


def test_borders_are_not_spoken_of_where_clusters_lie_apart() -> None:
    found = compare(stays(), stays(30, bmi=29))
    assert found.moved.all()
    assert not np.any(found.border_stderr)
    assert found.notes == []


def test_what_borders_do_is_said_to_be_unknown_without_a_coreset() -> None:
    before, after = (replace(fit.model_, coreset=None) for fit in (stays(), stays(30, bmi=29)))
    found = compare(before, after)
    assert found.moved.all()
    assert found.border_stderr is None
    assert found.notes == [BORDERS]
    assert compare(before, before).notes == []


def test_many_small_shifts_move_a_cluster_and_name_no_column() -> None:
    found = replace(
        compare(stays(), stays(30)),
        moved=np.array([True, False]),
        moved_columns=np.zeros((2, 5), dtype=bool),
    )
    assert found.moves() == ["moved", ""]


def test_columns_by_which_clusters_moved_are_shown_though_others_shift_by_more() -> None:
    """Shares are below 1, so that columns in large units pushed them out of the table."""
    pair = compare(stays(), stays(30))
    wide = replace(
        pair,
        names=tuple(f"column {place}" for place in range(9)),
        uses=("number",) * 9,
        shifts=np.tile(np.arange(9.0), (2, 1)),
        shift_stderr=np.ones((2, 9)),
        border_stderr=None,
        moved_columns=np.arange(9) == np.zeros((2, 1)),
    )
    assert wide.rows()[0][2:-1] == [f"column {place}" for place in (0, 4, 5, 6, 7, 8)]
    hidden = "'column 1', 'column 2', 'column 3'"
    assert f"Columns that moved less and are not shown (3): {hidden}." in wide.notes
    moved = replace(wide, moved_columns=np.ones((2, 9), dtype=bool))
    assert moved.rows()[0][2:-1] == list(wide.names)
