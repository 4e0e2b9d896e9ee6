"""What centres and sizes tell: how much clusters explain, and which columns were not read."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.cluster_models import made_up_model

from privclust import PrivateKMeans
from privclust.domains.box import Box
from privclust.domains.columns import CategoryColumn, DateColumn, NumberColumn
from privclust.domains.mixed import Mixed
from privclust.domains.sphere import Sphere
from privclust.models._fit_notes import (
    differ_most,
    explained,
    not_read,
    on_logarithms,
    perhaps_unread,
)
from privclust.models.quality import Quality
from privclust.models.verdict import verdict
from privclust.testing import SeededNoise, noise_from

CENTERS = np.array([[-0.3, 0.0], [0.3, 0.0]])
"""Their variance is .09 with sizes that are equal."""
LEVELS = ["north", "south"]


def of_loss(loss: float, error: float, **found: object) -> str | None:
    return explained(
        made_up_model(CENTERS, quality=Quality(1.0, loss, error, loss, error), **found)
    )


@pytest.mark.parametrize(
    ("loss", "error", "words"),
    [
        (0.03, 0.0, "about 75 %"),
        (0.03, 0.0001, "about 75 %"),
        (0.03, 0.005, "69 to 82 %"),
        (0.0, 0.005, "at least 90 %"),
        (-0.01, 0.01, "at least 90 %"),
    ],
)
def test_explained_variance_is_that_of_centres_over_all(
    loss: float, error: float, words: str
) -> None:
    assert of_loss(loss, error) == f"Clusters explain {words} of the variance of rows."


def test_noise_of_centres_explains_nothing() -> None:
    noisy = np.full((2, 2), 0.3)  # of which centres like these may well consist
    assert of_loss(0.03, 0.001, center_stderr=noisy) is None
    slight = np.full((2, 2), 0.1)  # half of .02 is taken away
    assert of_loss(0.03, 0.0, center_stderr=slight) == (
        "Clusters explain about 73 % of the variance of rows."
    )


def test_nothing_is_explained_where_nothing_is_known() -> None:
    assert explained(made_up_model(CENTERS)) is None
    assert of_loss(9.0, 4.0) is None
    one = made_up_model(CENTERS[:1], quality=Quality(1.0, 0.1, 0.1, 0.1, 0.1))
    assert explained(one) is None
    none = made_up_model(CENTERS, [-3.0, 0.0], quality=Quality(1.0, 0.1, 0.1, 0.1, 0.1))
    assert explained(none) is None


def test_nothing_is_said_of_directions_whose_centres_are_no_means() -> None:
    quality = Quality(1.0, 0.03, 0.0, 0.03, 0.0)
    directions = made_up_model([[1.0, 0.0], [0.0, 1.0]], quality=quality)
    assert explained(directions) is not None
    assert explained(replace(directions, domain=Sphere(2))) is None


def test_explained_variance_is_near_that_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 2)) + 8 * rng.integers(0, 2, (20_000, 2))
    model = PrivateKMeans(4, delta=1e-6, epsilon=8, bounds=([-5, -5], [15, 15])).fit(rows)
    nearest = rows - model.cluster_centers_[model.predict(rows)]
    true = 1 - (nearest**2).sum() / ((rows - rows.mean(axis=0)) ** 2).sum()
    words = explained(model.model_)
    assert words is not None
    stated = [int(word) for word in words.split() if word.isdigit()]
    # Errors are some thousandths of it: a false alarm would take noise of more than six of them.
    assert min(stated) - 2 <= 100 * true <= (100 if "least" in words else max(stated) + 2)


def test_columns_are_named_by_their_part_of_the_variance_of_centres() -> None:
    centers = [[-0.4, 0.1, 0.0, 0.0], [0.4, -0.1, 0.0, 0.0]]
    model = replace(
        made_up_model(centers, quality=Quality(1.0, 0.1, 0.1, 0.1, 0.1)),
        domain=Box([-1.0] * 4, [1.0] * 4),
        feature_names_in=("age", "cost", "nights", "<b>"),
    )
    assert (
        differ_most(model)
        == "Of the variance of their centres, columns have: 'age' 94 %, 'cost' 6 %."
    )
    assert model.quality_sentences[1] == differ_most(model)
    alike = replace(model, cluster_centers=np.array(centers)[:, [0, 0, 0, 0]])
    assert str(differ_most(alike)).endswith("'age' 25 %, 'cost' 25 %, 'nights' 25 %, others 25 %.")
    equal = replace(model, cluster_centers=np.zeros((2, 4)))
    assert differ_most(equal) is None
    assert differ_most(made_up_model(CENTERS)) is None


def test_category_whose_levels_decide_most_is_said_to() -> None:
    ward = CategoryColumn("ward", ("A", "B", "C"))
    model = replace(
        made_up_model(np.zeros((2, 4)), quality=Quality(1.0, 0.1, 0.1, 0.1, 0.1)),
        domain=Mixed((NumberColumn("age", 0.0, 100.0), ward)),
        feature_names_in=("age", "ward"),
    )
    deciding = replace(model, cluster_centers=np.array([[40, 1, 0, 0], [50, 0, 1, 0]]))
    helping = replace(model, cluster_centers=np.array([[10, 0.5, 0.5, 0], [90, 0.4, 0.6, 0]]))
    assert "Levels of 'ward' decide most" in str(differ_most(deciding))
    assert "decide" not in str(differ_most(helping))


@pytest.mark.parametrize(("share", "said"), [(0.1, False), (0.4, True), (0.97, False)])
def test_dates_that_make_clusters_in_part_are_said_to(share: float, said: bool) -> None:
    """Groups that season split were called good, and the hint named another column's weight.

    Where a date makes clusters nearly alone, a warning says it.
    """
    seen = DateColumn("seen", date(1970, 1, 1), date(1970, 1, 1) + timedelta(100))
    model = replace(
        made_up_model(np.zeros((2, 2)), quality=Quality(1.0, 0.1, 0.1, 0.1, 0.1)),
        domain=Mixed((NumberColumn("age", 0.0, 100.0), seen)),
        feature_names_in=("age", "seen"),
    )
    apart = 30 * np.sqrt([1 - share, share])
    split = replace(model, cluster_centers=50 + np.array([-apart, apart]))
    found = str(differ_most(split))
    assert ("By 'seen' clusters are in part spans of time; if they should not be" in found) is said
    assert ("'weight': 0.3" in found) is said


# Columns that were not read -----------------------------------------------------------------------


def clustered(**columns: object) -> str | None:
    """Return the note on a table whose column x has two clusters, beside other columns."""
    x = np.repeat([20.0, 90.0], 4000)
    bounds: dict[str, Any] = {
        "x": (0, 120),
        "age": (0, 120),
        "ward": {"type": "category", "levels": LEVELS},
        "day": {"type": "date", "lower": "2025-01-01", "upper": "2025-12-31"},
    }
    table = pd.DataFrame({"x": x} | columns)
    chosen = {name: bounds[name] for name in table}
    model = PrivateKMeans(2, delta=1e-6, epsilon=4, bounds=chosen, random_state=0)
    with noise_from(SeededNoise(0)):  # of real fits, one in thousands is farther than four errors
        return not_read(model.fit(table).model_)


@pytest.mark.parametrize(
    ("name", "cell"), [("age", np.nan), ("ward", "North"), ("day", "31.12.2025"), ("day", None)]
)
def test_column_of_which_no_cell_was_read_is_named(name: str, cell: object) -> None:
    note = clustered(**{name: [cell] * 8000})
    assert note is not None
    assert note.startswith(f"All centres lie at the middle of '{name}'. ")


@pytest.mark.parametrize(
    ("name", "cell"), [("age", 41.5), ("ward", "north"), ("day", "2025-12-31")]
)
def test_column_that_was_read_is_not_named(name: str, cell: object) -> None:
    assert clustered(**{name: [cell] * 8000}) is None


def test_column_whose_cells_are_spread_evenly_is_told_from_one_that_was_not_read() -> None:
    """Years over the whole of their bounds: each centre lies at the middle, and few cells do."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 20_000)
    rows = {f"a{place}": rng.normal(20 + 30 * ((group + place) % 3), 5) for place in range(3)}
    years = rng.integers(1950, 2025, len(group)).astype(float)
    bounds = dict.fromkeys(rows, (0, 120)) | {"year": (1950, 2024)}
    model = PrivateKMeans(3, delta=1e-6, epsilon=0.3, bounds=bounds, random_state=0)
    with noise_from(SeededNoise(0)):
        read = model.fit(pd.DataFrame({**rows, "year": years})).model_
        unread = model.fit(pd.DataFrame({**rows, "year": np.full(len(group), np.nan)})).model_
    assert perhaps_unread(read) == []
    assert perhaps_unread(unread) == ["year"]
    assert perhaps_unread(replace(read, coreset=unread.coreset)) == ["year"], "centres cannot tell"


DECLARED: dict[str, Any] = {
    "age": {"type": "number", "lower": 0, "upper": 120, "missing": 45},
    "cost": {"type": "number", "lower": 1, "upper": 1e6, "transform": "log", "missing": 300},
    "day": {
        "type": "date",
        "lower": "2025-01-01",
        "upper": "2025-12-31",
        "missing": "2025-03-01",
    },
}


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("is_read", [False, True])
def test_column_that_was_not_read_is_named_by_what_its_missing_cells_count_as(
    name: str, is_read: bool
) -> None:
    at_the_middle = {"age": 60.0, "cost": 1000.0, "day": "2025-07-02"}[name]
    unread = "31.12.2025" if name == "day" else np.nan
    cells = [at_the_middle if is_read else unread] * 8000
    table = pd.DataFrame({"x": np.repeat([20.0, 90.0], 4000), name: cells})
    bounds = {"x": (0, 120), name: DECLARED[name]}
    model = PrivateKMeans(2, delta=1e-6, epsilon=4, bounds=bounds, random_state=0)
    with noise_from(SeededNoise(0)):
        note = not_read(model.fit(table).model_)
    said = f"All centres lie at what missing cells of '{name}' count as. "
    assert note is None if is_read else str(note).startswith(said)


def test_columns_at_the_middle_and_at_declared_values_are_told_apart() -> None:
    table = pd.DataFrame({"x": np.repeat([20.0, 90.0], 4000), "age": np.nan, "bmi": np.nan})
    bounds: dict[str, Any] = {"x": (0, 120), "age": DECLARED["age"], "bmi": (12, 60)}
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, epsilon=4, bounds=bounds, random_state=0).fit(table)
    note = str(not_read(model.model_))
    assert "lie at the middle of 'bmi'. " in note
    assert "lie at what missing cells of 'age' count as. " in note
    assert sorted(perhaps_unread(model.model_)) == ["age", "bmi"]
    assert "Perhaps no cell of" in verdict(model.model_)


def test_column_with_one_centre_elsewhere_is_not_named() -> None:
    """However vague that one is: it lies ten errors away."""
    model = made_up_model(
        np.array([[0.0, 5.0], [4.0, 7.0]]), center_stderr=np.array([[0.01, 0.01], [0.01, 0.2]])
    )
    assert not_read(replace(model, domain=Box([0.0, 0.0], [10.0, 10.0]))) is None


@pytest.mark.parametrize(("transform", "has_zeros"), [("log1p", True), ("log", False)])
def test_centres_of_logarithms_are_called_what_they_are(transform: str, has_zeros: bool) -> None:
    """They were called typical, also where most cells were 0 and no row was like the centre."""
    table = pd.DataFrame({"age": [30.0, 60.0] * 500, "cost": [10.0, 500.0] * 500})
    cost = {"type": "number", "lower": 1, "upper": 1e5, "transform": transform}
    bounds: dict[str, Any] = {"age": (0, 120), "cost": cost}
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=bounds, random_state=0).fit(table).model_
    (note,) = [text for text in model.quality_sentences if "logarithms" in text]
    assert note.startswith("Centres of 'cost' are means of logarithms, no higher than means.")
    assert ("Where many cells of a cluster are 0" in note) is has_zeros
    assert on_logarithms(made_up_model(np.zeros((2, 2)))) is None


def test_long_lists_are_cut_and_vague_or_centred_columns_left_out() -> None:
    d = 8
    model = replace(
        made_up_model(np.full((2, d), 5.0), center_stderr=np.full((2, d), 0.001)),
        domain=Box([0.0] * d, [10.0] * d),
        feature_names_in=tuple(f"c{number}" for number in range(d)),
    )
    note = not_read(model)
    assert note is not None
    assert "'c0', 'c1', 'c2', 'c3', 'c4', …." in note
    assert not_read(replace(model, center_stderr=np.full((2, d), 0.2))) is None
    assert not_read(replace(model, center_stderr=None)) is None
    centred = replace(model, domain=Box([-5.0] * d, [5.0] * d), cluster_centers=np.zeros((2, d)))
    assert not_read(centred) is None
