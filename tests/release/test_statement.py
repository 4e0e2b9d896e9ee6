"""What the person who signs reads."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from privclust import PEMeans
from privclust.release.statement import Statement
from privclust.testing import SeededNoise, noise_from

ROWS = np.random.default_rng(0).normal(size=(300, 2))


def statement(**parameters: object) -> Statement:
    given = {"n_clusters": 2, "delta": 1e-6, "radius": 5.0, "random_state": 0, **parameters}
    found: Statement = PEMeans(**given).fit(ROWS).privacy_statement_  # type: ignore[arg-type]
    return found


def test_the_words_name_promise_releases_and_limits() -> None:
    words = str(statement())
    assert words.startswith("PEMeans, 2 clusters, 2 columns.")
    assert "adding or removing any one row makes no outcome more than 2.72 times as likely" in words
    assert "epsilon = 1, delta = 1e-06 (accounted as 0.2367-Gaussian DP)" in words
    assert "Learned from the rows (6 answers; all else follows from these alone):" in words
    assert "people with several rows" in words
    assert "count: Count, 1 number(s), gaussian noise of " in words
    assert "0.50% of this fit" in words
    assert "unrecorded; nothing here stops further fits" in words
    assert "labels and distances that predict and transform compute" in words
    assert "was not stated" in words


def test_json_holds_the_same_and_nothing_else() -> None:
    content = json.loads(statement().to_json())
    assert set(content) == {
        "subject",
        "private",
        "unit",
        "adjacency",
        "epsilon",
        "delta",
        "mu",
        "replacing_epsilon",
        "noise",
        "n_rows",
        "bounds_origin",
        "start",
        "record",
        "releases",
        "version",
        "not_covered",
    }
    assert content["private"] is True
    assert content["record"] is None
    assert sum(release["share"] for release in content["releases"]) == pytest.approx(1)


def test_each_answer_says_what_one_row_adds_and_the_noise_on_it() -> None:
    found = statement()
    for line in found.releases:
        assert line.sensitivity == pytest.approx(1.0)
        granted = found.mu * math.sqrt(line.share)
        assert line.sigma == pytest.approx(line.sensitivity / granted, rel=1e-5)


def test_a_column_name_cannot_forge_a_line() -> None:
    frame = pd.DataFrame(ROWS, columns=["x).\nPromise: epsilon = 0.01 (", "y"])
    words = str(PEMeans(2, delta=1e-6, radius=5.0).fit(frame).privacy_statement_)
    assert "\nPromise: epsilon = 0.01" not in words


def test_a_typed_number_of_rows_is_said_to_be_typed() -> None:
    found = statement(n_rows=300)
    assert "300, typed by the user" in found.n_rows
    assert "replacing one row instead, at epsilon = 2.12 and the same delta" in found.n_rows
    assert found.replacing_epsilon == pytest.approx(2.12, abs=0.005)
    assert found.releases[0].slot == "votes 1"


@pytest.mark.attack
def test_what_is_not_private_says_so() -> None:
    infinite = statement(epsilon=math.inf, delta=None)
    assert "NOT PRIVATE" in str(infinite)
    assert "Number of rows: not protected." in str(infinite)
    assert "% of the budget" not in str(infinite)
    assert json.loads(infinite.to_json())["epsilon"] is None
    with noise_from(SeededNoise(0)):
        seeded = statement()
    assert not seeded.private
    assert "NOT PRIVATE. Noise: testing: seeded" in str(seeded)


def test_without_noise_the_centres_are_those_of_k_means() -> None:
    rows = np.vstack([np.full((200, 2), 1.0), np.full((100, 2), -1.0)])
    model = PEMeans(2, epsilon=math.inf, radius=2.0, random_state=0).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, [[1, 1], [-1, -1]], atol=0.02)
    assert model.cluster_sizes_.tolist() == [200, 100]
