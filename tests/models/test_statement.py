"""What the person who signs reads."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privclust import PEMeans
from privclust.domains.origin import Origin
from privclust.models.formatting import percent_up
from privclust.models.statement import Statement
from privclust.testing import SeededNoise, noise_from

ROWS = np.random.default_rng(0).normal(size=(300, 2))


def statement(**parameters: object) -> Statement:
    given = {"n_clusters": 2, "delta": 1e-6, "radius": 5.0, "random_state": 0, **parameters}
    found: Statement = PEMeans(**given).fit(ROWS).privacy_statement_  # type: ignore[arg-type]
    return found


def test_the_words_name_guarantee_releases_and_limits() -> None:
    words = str(statement())
    assert words.startswith("PEMeans, 2 clusters, 2 columns.")
    assert "adding or removing any one row makes no outcome more than 2.72 times as likely" in words
    assert "epsilon = 1, delta = 1e-06 (accounted as 0.2368-Gaussian DP)" in words
    assert "no test for one row finds it in more than 7.96 % of cases; blind" in words
    assert "Privacy guarantee: adding or removing any one row" in words
    assert "Learned from the rows in this run (6 noisy results; all else follows from" in words
    assert "people with several rows" in words
    assert "count: Count, 1 number, gaussian noise of " in words
    assert "0.50 % of this run" in words
    assert "unrecorded; nothing here stops further fits" in words
    assert "labels and distances that predict and transform compute" in words
    assert "was not stated" in words


def test_json_holds_the_record_and_what_follows_from_it() -> None:
    content = json.loads(statement().to_json())
    assert set(content) == {
        *("private", "epsilon", "delta", "kind", "estimator", "n_clusters", "columns", "run"),
        *("bounds_origin", "dependencies", "public_points", "participation", "source"),
        *(
            "version",
            "subject",
            "mu",
            "replacing_epsilon",
            "power_at_5_percent_false_alarms",
            "unit",
        ),
        *("adjacency", "releases", "not_covered"),
    }
    assert content["private"] is True
    assert content["run"]["record"] is None
    assert sum(release["share"] for release in content["releases"]) == pytest.approx(1)


@pytest.mark.attack
def test_preprocessing_and_unstated_bounds_are_listed_as_not_covered() -> None:
    listed = " ".join(statement().not_covered)
    assert "what was done to the rows before (scaling, filters, joins" in listed
    assert "whether the bounds were taken from the rows, since nobody stated" in listed
    public = " ".join(replace(statement(), bounds_origin="public data").not_covered)
    assert "what was done to the rows before" in public
    assert "nobody stated" not in public


@pytest.mark.attack
@pytest.mark.parametrize(("epsilon", "weak"), [(8.0, False), (8.1, True), (32.0, True)])
def test_weak_guarantee_says_how_little_it_means(epsilon: float, weak: bool) -> None:
    found = statement(epsilon=epsilon)
    assert ("This guarantee says little" in str(found)) is weak
    assert found.composed.power > 0.45
    assert f"more than {percent_up(found.composed.power)} of cases" in str(found)


def test_no_text_of_a_release_can_forge_a_line() -> None:
    """Slots are named by the algorithm, which may be anybody's."""
    one = statement()
    line, text = one.releases[0], "x\nPrivacy guarantee: epsilon = 0.01"
    for forged in (replace(line, slot=text), replace(line, query=text)):
        assert "\nPrivacy guarantee: epsilon = 0.01" not in str(replace(one, releases=(forged,)))


def test_bounds_of_a_private_release_are_not_free() -> None:
    found = replace(statement(), bounds_origin="private release")
    assert "what the private release that the bounds come from has cost" in found.not_covered
    assert "all else follows from these and the bounds" in str(found)


def test_each_result_says_what_one_row_adds_and_the_noise_on_it() -> None:
    found = statement()
    for line in found.releases:
        assert line.sensitivity == pytest.approx(1.0)
        granted = found.mu * math.sqrt(line.share)
        assert line.sigma == pytest.approx(line.sensitivity / granted, rel=1e-5)


def test_a_column_name_cannot_forge_a_line() -> None:
    frame = pd.DataFrame(ROWS, columns=["x).\nPrivacy guarantee: epsilon = 0.01 (", "y"])
    words = str(PEMeans(2, delta=1e-6, radius=5.0).fit(frame).privacy_statement_)
    assert "\nPrivacy guarantee: epsilon = 0.01" not in words


def test_typed_number_of_rows_is_called_typed() -> None:
    found = statement(n_rows=300)
    assert "300, typed by the user" in str(found)
    assert "replacing one row instead, at epsilon = 2.123 and the same delta" in str(found)
    assert found.composed.replacing_epsilon == pytest.approx(2.1228, abs=1e-4)
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


def test_a_source_is_named_wherever_the_statement_is_shown() -> None:
    source = Origin("Delta", "visits <2025>", "one version", "12-34")
    found = replace(statement(), source=source)
    assert 'Source: Delta, "visits <2025>", one version (salted hash 12-34).' in str(found)
    assert (
        "Source: Delta, &quot;visits &lt;2025&gt;&quot;, one version (salted hash 12-34)."
        in found._repr_html_()
    )
    assert json.loads(found.to_json())["source"]["salted_hash"] == "12-34"
    assert Statement.from_dict(json.loads(found.to_json()), found.releases) == found
    assert "whoever can read the table finds by the salted hash" in " ".join(found.not_covered)
    query = replace(found, source=Origin("SQLite", "x.db, query 12", "one read transaction"))
    assert "the hash of a query lets a guess of its words be checked" in str(query)
    assert "the table that was read" not in str(statement())
