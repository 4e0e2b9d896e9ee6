"""Profiles as public mathematics: what is measured, what it costs, and what results say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.profile_table import CENTERS, DOMAIN, table
from helpers.query_attacks import edge_case_rows
from scipy.stats import binom

from privclust.algorithms import profile
from privclust.audit.replay import replay_on_neighbour
from privclust.domains._category_column import CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.box import Box
from privclust.domains.profiled import ProfileDomain
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.models.profile import found_in
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoNoise
from privclust.privacy.release import Release
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)


def measured(engine: Engine, domain: ProfileDomain = DOMAIN, centers: Any = CENTERS) -> Any:
    planned = profile.plan(centers, domain, BUDGET)
    curator = Curator.open(engine, planned.spending)
    profile.run(curator, planned)
    return curator.releases


@pytest.mark.attack
def test_neighbouring_tables_get_the_same_queries() -> None:
    cells = table(edge_case_rows(3))
    for place in (0, 7, 160, cells.num_rows - 1):
        fewer = pa.concat_tables([cells.slice(0, place), cells.slice(place + 1)])
        table_of, neighbour = NumpyEngine(cells, DOMAIN), NumpyEngine(fewer, DOMAIN)
        assert replay_on_neighbour(measured, table_of, neighbour, SeededNoise(0)) == []


@pytest.mark.attack
def test_every_number_of_every_cluster_has_noise_of_its_own_also_without_rows() -> None:
    with noise_from(SeededNoise(3)):
        releases = measured(NumpyEngine(table(np.zeros((0, 3))), DOMAIN))
    for release in releases:
        # Two of n draws at sigma 2^28 or so are equal with a probability below n²/2^28.
        assert len(set(release.result.tolist())) == len(release.result)
        assert (release.result != 0).all()


def test_each_tally_and_each_mean_has_an_equal_part_and_all_keep_the_budget() -> None:
    planned = profile.plan(CENTERS, DOMAIN, BUDGET)
    slots = {slot.name: slot for slot in planned.spending.slots}
    assert slots["tallies"].share == pytest.approx(4 / 7)
    assert slots["sums"].share == pytest.approx(3 / 7)
    assert (slots["tallies"].l0, slots["sums"].l0) == (4, 4)
    assert BUDGET.admits(planned.spending.reserve)


def test_categories_alone_are_tallied_only() -> None:
    domain = ProfileDomain(Box([0], [1]), ("x",), (CategoryColumn("ward", ("A", "B")),))
    planned = profile.plan(np.zeros((2, 1)), domain, BUDGET)
    assert planned.sums is None
    assert [slot.name for slot in planned.spending.slots] == ["tallies"]


def small_table(n_rows: int) -> Any:
    rng = np.random.default_rng(n_rows)
    return pa.table(
        {
            "x": rng.uniform(0, 1, n_rows),
            "age": rng.uniform(0, 100, n_rows),
            "ward": rng.choice(["A", "B"], n_rows, p=[0.8, 0.2]),
        }
    )


SMALL = ProfileDomain(
    Box([0], [1]), ("x",), (NumberColumn("age", 0, 120), CategoryColumn("ward", ("A", "B")))
)
HALVES = np.array([[-0.5], [0.5]])


def test_without_noise_the_numbers_are_those_of_the_table() -> None:
    cells = small_table(3000)
    with noise_from(NoNoise()):
        releases = measured(NumpyEngine(cells, SMALL), SMALL, HALVES)
    found = found_in(releases, SMALL.columns, 2)
    x, age = cells["x"].to_numpy(), cells["age"].to_numpy()
    ward = np.array(cells["ward"].to_pylist())
    for cluster, ours in enumerate((x < 0.5, x > 0.5)):
        assert found.sizes.values[cluster] == pytest.approx(ours.sum(), abs=1e-3)
        means = found.columns[0].means
        assert means is not None
        assert means.values[cluster] == pytest.approx(age[ours].mean(), abs=1e-4)
        expected = np.histogram(age[ours], 10, (0, 120))[0] / ours.sum()
        np.testing.assert_allclose(
            found.columns[0].shares.values[cluster, :10], expected, atol=1e-6
        )
        share = (ward[ours] == "A").mean()
        np.testing.assert_allclose(
            found.columns[1].shares.values[cluster], [share, 1 - share, 0], atol=1e-6
        )


@pytest.mark.parametrize("n_rows", [20, 300, 5000])
def test_intervals_hold_at_least_as_often_as_they_say(n_rows: int) -> None:
    # 400 profiles, each with a size, a mean and a share of cluster 0, whose noise is independent
    # from one to the next: below the 1e-6 quantile of the binomial is a false alarm of 1e-6 each.
    cells = small_table(n_rows)
    with noise_from(NoNoise()):
        exact = measured(NumpyEngine(cells, SMALL), SMALL, HALVES)
    truth = found_in(exact, SMALL.columns, 2)
    rng = np.random.default_rng(1)
    held = np.zeros(3)
    for _ in range(400):
        noisy = tuple(_with_noise(release, rng) for release in exact)
        found = found_in(noisy, SMALL.columns, 2)
        pairs = [
            (found.sizes, truth.sizes),
            (found.columns[0].means, truth.columns[0].means),
            (found.columns[1].shares, truth.columns[1].shares),
        ]
        held += [
            one.lower.flat[0] <= other.values.flat[0] + 1e-9
            and other.values.flat[0] - 1e-9 <= one.upper.flat[0]
            for one, other in pairs
            if one is not None and other is not None
        ]
    assert (held >= binom.ppf(1e-6, 400, 0.95)).all()


def _with_noise(release: Release, rng: np.random.Generator) -> Release:
    added = np.rint(rng.normal(0, release.scale, release.result.shape)).astype(np.int64)
    fields = {name: getattr(release, name) for name in Release.__dataclass_fields__}
    return Release(**{**fields, "result": release.result + added})


def test_where_nothing_is_known_intervals_are_as_wide_as_the_bounds() -> None:
    with noise_from(NoNoise()):
        releases = measured(NumpyEngine(small_table(0), SMALL), SMALL, HALVES)
    found = found_in(releases, SMALL.columns, 2)
    means, shares = found.columns[0].means, found.columns[1].shares
    assert means is not None
    assert (means.lower.tolist(), means.upper.tolist()) == ([0.0, 0.0], [120.0, 120.0])
    assert (shares.lower == 0).all()
    assert (shares.upper == 1).all()
