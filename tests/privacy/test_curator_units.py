"""The Curator with units of many rows: noise for all that one unit can do, and no way around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.kinds import EVERY_KIND
from helpers.samples import sample_beyond

from privclust import PEMeans
from privclust.algorithms import pe_means, private_kmeans
from privclust.audit.replay import replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, FloatArray
from privclust.privacy.accounting import QUANTA, Budget, gaussian_spend
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.noise import NoNoise
from privclust.privacy.plan import Slot, make_plan
from privclust.privacy.release import Release
from privclust.queries.base import ONE_HOT, Contribution, Count, Query
from privclust.queries.clusters import ClusterSums, NearestVotes
from privclust.queries.unit import COORDINATES_MAX, ROW, Unit
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)
PLAN = make_plan(
    BUDGET,
    [
        Slot("count", 0.1),
        Slot("sums", 0.5, l0=3),
        Slot("laplace", 0.2, mechanism="laplace"),
        Slot("choice", 0.2, mechanism="select"),
    ],
)
POINTS = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.9], [0.0, -0.9]])
SUMS = ClusterSums(POINTS, POINTS, radius=0.5, weight=0.7)
VOTES = NearestVotes(POINTS)
BALL = Ball([0.0, 0.0], 1.0)


def people(n_rows: int) -> pd.DataFrame:
    rows = np.random.default_rng(0).normal(0.0, 0.2, (n_rows, 2))
    return pd.DataFrame(rows, columns=["x", "y"]).assign(who=np.arange(n_rows) // 3)


def over(frame: pd.DataFrame, rows: int = 1) -> NumpyEngine:
    return NumpyEngine(frame, BALL, unit=Unit("who", rows))


def open_curator(engine: Engine) -> Curator:
    return Curator.open(engine, PLAN)


def measure_everything(curator: Curator) -> tuple[Release, ...]:
    curator.measure("count", Count())
    curator.measure("sums", SUMS)
    curator.measure("laplace", VOTES)
    curator.select("choice", VOTES)
    return curator.releases


# Noise and charges -------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000, 1024])
def test_the_noise_pays_for_as_many_rows_as_a_unit_counts(rows: int) -> None:
    """Exact fractions: the noise is wide enough, and wider by no more than it was rounded."""
    with noise_from(NoNoise()):
        count, sums, laplace, choice = measure_everything(open_curator(over(people(60), rows)))
    for release, query in ((count, Count()), (sums, SUMS)):
        needed = Fraction(query.sensitivity.l2_squared * rows**2 * QUANTA, release.charge.quanta)
        assert needed <= Fraction(release.scale) ** 2 <= needed * (1 + Fraction(1, 2**46))
    for release in (laplace, choice):
        assert release.charge.pure is not None
        needed = Fraction(UNIT * rows * QUANTA, release.charge.pure)
        assert needed <= Fraction(release.scale) <= needed * (1 + Fraction(1, 2**46))


@pytest.mark.parametrize("unit", [ROW, Unit("who", 7), Unit("who", 3, clients=2)])
def test_algorithms_know_how_many_rows_the_noise_is_for(unit: Unit) -> None:
    """By it they predict noise: here, that of a count."""
    frame = people(60) if unit.column else people(60)[["x", "y"]]
    with noise_from(NoNoise()):
        curator = open_curator(NumpyEngine(frame, BALL, unit=unit))
        count = curator.measure("count", Count())
    assert curator.rows_per_unit == curator.sample(1).rows_per_unit == unit.total_rows
    assert count.sigma == pytest.approx(curator.rows_per_unit / count.charge.mu)


@pytest.mark.attack
def test_widest_result_is_within_what_one_unit_may_do() -> None:
    """One unit with all rows, against the sensitivity that a release claims."""
    frame = people(900).assign(who=1)
    for rows in (1, 5):
        with noise_from(NoNoise()):
            releases = measure_everything(open_curator(over(frame, rows)))
        for release in releases[:2]:
            length = np.linalg.norm(release.result.astype(np.float64))
            assert length <= release.scale * release.charge.mu
        assert releases[0].result[0] >= 0.99 * releases[0].scale * releases[0].charge.mu
        assert releases[2].result.sum() <= releases[2].scale * releases[2].charge.epsilon


@pytest.mark.attack
@pytest.mark.parametrize("other", [ROW, Unit("who", 2), Unit("household")])
def test_another_scale_protects_the_same_unit(other: Unit) -> None:
    curator = open_curator(over(people(60)))
    frame = people(60).rename(columns={"who": other.column or "z"})
    engine = NumpyEngine(frame if other.column else frame[["x", "y"]], BALL, unit=other)
    with pytest.raises(ValueError, match="of the same units"):
        curator.over(engine)
    assert curator.over(over(people(60))).measure("count", Count()).slot == "count"


def test_charges_have_the_slack_of_all_coordinates_and_cost_no_accuracy() -> None:
    with noise_from(NoNoise()):
        by_user, by_row = (
            open_curator(engine)
            for engine in (over(people(60)), NumpyEngine(people(60)[["x", "y"]], BALL))
        )
        for user, row in zip(measure_everything(by_user), measure_everything(by_row), strict=True):
            assert user.charge.quanta == row.charge.quanta
            if user.mechanism == "gaussian":
                assert user.charge == gaussian_spend(user.charge.quanta, COORDINATES_MAX)
                assert user.charge.slack > 2**18 * row.charge.slack
            else:
                assert user.charge == row.charge
    assert BUDGET.admits(by_user.plan.reserve)
    spent = sum((release.charge for release in by_user.releases[1:]), by_user.releases[0].charge)
    assert spent.within(by_user.plan.reserve)


@dataclass(frozen=True)
class Wide:
    """A query with so many coordinates."""

    size: int
    sensitivity = ONE_HOT

    def contribute(self, rows: FloatArray) -> Contribution:
        votes = np.full((len(rows), 1, 1), UNIT, dtype=np.int64)
        return Contribution(np.full((len(rows), 1), self.size - 1), votes)


@pytest.mark.parametrize("slot", ["count", "sums", "laplace"])
def test_more_coordinates_than_the_slack_is_for_are_refused_for_a_unit_and_not_for_a_row(
    slot: str,
) -> None:
    with noise_from(NoNoise()):
        curator = open_curator(over(people(6)))
        with pytest.raises(ValueError, match=r"can change 1048577 coordinates.*allows 1048576"):
            curator.measure(slot, Wide(COORDINATES_MAX + 1))
        curator.measure(slot, Wide(COORDINATES_MAX))
        rows = open_curator(NumpyEngine(people(6)[["x", "y"]], BALL))
        rows.measure(slot, Wide(COORDINATES_MAX + 1))


@pytest.mark.attack
def test_a_refined_plan_is_as_wide_as_the_first() -> None:
    with noise_from(NoNoise()):
        curator = open_curator(over(people(60)))
        curator.measure("count", Count())
        curator.refine([Slot("one", 0.3), Slot("other", 0.3, l0=3), Slot("last", 0.2)])
        assert {slot.l0 for slot in curator.plan.slots} == {COORDINATES_MAX}
        charge = curator.measure("one", VOTES).charge
        assert charge == gaussian_spend(charge.quanta, COORDINATES_MAX)
        sampled = curator.sample(1)
        sampled.refine([Slot("sampled", 0.3)])
        assert {slot.l0 for slot in curator.plan.slots} == {COORDINATES_MAX}


# Replay: tables that differ in one user ----------------------------------------------------------


def kmeans(engine: Engine) -> None:
    plan = private_kmeans.plan(2, 2, BUDGET, n_rows=300)
    curator = Curator.open(engine, plan.spending)
    private_kmeans.run(curator, plan, np.random.default_rng(0))
    assert {release.sampling_exponent for release in curator.releases} == {0, 1}


def evolution(engine: Engine) -> None:
    plan = pe_means.plan(2, 2, BUDGET)
    pe_means.run(Curator.open(engine, plan.spending), plan, np.random.default_rng(0))


def with_user(frame: pd.DataFrame, n_rows: int, who: object) -> pd.DataFrame:
    """Push a user's rows in, half of them before all others and half behind."""
    rng = np.random.default_rng(n_rows)
    coming = pd.DataFrame(rng.normal(0.3, 1.0, (n_rows, 2)), columns=["x", "y"])
    coming = coming.assign(who=who).astype({"who": "Int64"})
    coming.iloc[0, 0] = np.nan
    coming.iloc[-1, 1] = -np.inf
    half = (n_rows + 1) // 2
    return pd.concat([coming[:half], frame, coming[half:]], ignore_index=True)


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_beyond(monkeypatch, 150)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("algorithm", [kmeans, evolution])
@pytest.mark.parametrize(
    ("n_rows", "rows", "who"),
    [(1, 1, -1), pytest.param(10, 3, pd.NA, marks=pytest.mark.attack), (10_000, 8, 2**62)],
)
def test_one_user_more_changes_no_query_and_no_result_by_more_than_declared(
    algorithm: Callable[[Engine], None], n_rows: int, rows: int, who: object
) -> None:
    without = people(300).astype({"who": "Int64"})
    table, neighbour = over(without, rows), over(with_user(without, n_rows, who), rows)
    assert replay_on_neighbour(algorithm, table, neighbour, SeededNoise(1)) == []
    assert replay_on_neighbour(algorithm, neighbour, table, SeededNoise(1)) == []


class ClippedInParts:
    """An engine that clips what a user has in each half of the table, not all of it."""

    n_columns = 2

    def __init__(self, frame: pd.DataFrame, rows: int) -> None:
        self.unit = Unit("who", rows)
        half = len(frame) // 2
        self._parts = [over(part, rows) for part in (frame[:half], frame[half:])]

    def aggregate(self, query: Query) -> list[int]:
        results = [part.aggregate(query) for part in self._parts]
        return [sum(values) for values in zip(*results, strict=True)]

    def expect_sample(self, key: bytes) -> None:
        pass

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        other = ClippedInParts.__new__(ClippedInParts)
        other.unit = self.unit
        other._parts = [part.sample(sampling_exponent, key) for part in self._parts]
        return other


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("algorithm", [kmeans, evolution])
def test_an_engine_that_clips_in_parts_is_found(algorithm: Callable[[Engine], None]) -> None:
    without = people(300).astype({"who": "Int64"})
    with_one = with_user(without, 10, -1)
    found = replay_on_neighbour(
        algorithm, ClippedInParts(without, 3), ClippedInParts(with_one, 3), SeededNoise(1)
    )
    assert "query 1 moved by more than it declared" in found


@pytest.mark.usefixtures("small_samples")
def test_an_engine_that_takes_rows_for_units_is_found() -> None:
    without = people(300).astype({"who": "Int64"})
    tables = [frame.assign(who=range(len(frame))) for frame in (without, with_user(without, 10, 1))]
    found = replay_on_neighbour(evolution, over(tables[0], 3), over(tables[1], 3), SeededNoise(1))
    assert "query 1 moved by more than it declared" in found


# Ledgers and statements --------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> str:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "visits", epsilon=2.0, delta=1e-6, unit="who")
    Ledger.create(place, "rows", epsilon=2.0, delta=1e-6)
    return place


def fitted(place: str | None, kind: Any = PEMeans, **parameters: Any) -> Any:
    given = {"n_clusters": 2, "delta": 1e-6, "bounds": (-1, 1), "random_state": 0}
    if place is not None:
        given = {**given, "ledger": place, "dataset": "visits"}
    with noise_from(SeededNoise(0)):
        return kind(**{**given, **parameters}).fit(people(300).assign(which=1))


@pytest.mark.parametrize(
    ("dataset", "unit", "protected"),
    [("visits", None, "who"), ("visits", "which", "who"), ("rows", "who", "row")],
)
def test_a_label_of_another_unit_is_refused_and_nothing_reserved(
    dataset: str, unit: str | None, protected: str, place: str
) -> None:
    with pytest.raises(ValueError, match=f"'{dataset}' is protected per {protected}, this fit per"):
        fitted(place, dataset=dataset, unit=unit)
    assert Ledger.open(place).runs(dataset) == ()


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_ledger_and_the_statement_name_the_unit(kind: Any, place: str) -> None:
    model = fitted(place, kind, unit="who", max_rows_per_unit=4)
    (run,) = Ledger.open(place).runs("visits")
    assert (run.facts["unit"], run.facts["max_rows_per_unit"]) == ("who", "4")
    statement = model.privacy_statement_
    assert statement.unit == "who"
    assert "has all rows of one 'who' more, however many" in statement.adjacency
    words = str(replace(statement, run=replace(statement.run, noise="OpenDP")))
    assert "adding or removing any one 'who'" in words
    assert "people with several values of 'who'" in words
    assert model.n_features_in_ == 3


def test_a_statement_says_what_a_unit_adds_at_most() -> None:
    for rows in (1, 6):
        lines = fitted(None, unit="who", max_rows_per_unit=rows).privacy_statement_.releases
        assert [line.sensitivity for line in lines] == pytest.approx([rows] * len(lines))


@pytest.mark.parametrize(
    "parameters",
    [
        {"unit": "row"},
        {"unit": "who", "max_rows_per_unit": 1025},
        {"max_rows_per_unit": 2},
        {"unit": 3},
    ],
)
def test_units_that_no_proof_covers_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="unit must be the name of a column of ids other than"):
        fitted(None, **parameters)


def test_a_row_is_a_unit_without_a_column() -> None:
    assert (ROW.name, ROW.l0, ROW.sensitivity(SUMS)) == ("row", 0, SUMS.sensitivity)
