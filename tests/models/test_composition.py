"""What several runs guarantee together: composed, each once, of one unit, rounded up."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from dp_accounting.pld import privacy_loss_distribution
from mpmath import mp, mpf
from scipy.stats import norm

from privclust import DPLloyd, PEMeans, PrivateKMeans, compose, load, save
from privclust.errors import ParameterError
from privclust.models.composition import CHOSEN_LATER, Composition, best_power
from privclust.models.private_run import REAL_NOISE, PrivateRun, Record
from privclust.privacy.accounting import Budget, Spend, epsilon_of, mu_of, pure_spend
from privclust.queries.unit import Unit

DELTA = 1e-6
N_ROWS = 6_000  # noise of epsilon .25 leaves a refit no cell of a hundredth as many
TABLE = pa.table(
    {
        "x": np.linspace(-1, 1, N_ROWS),
        "y": np.repeat([-0.5, 0.5], N_ROWS // 2),
        "age": np.linspace(20, 60, N_ROWS),
        "who": np.arange(N_ROWS) // 2,
    }
)
CLUSTERED = {"x": (-1, 1), "y": (-1, 1)}


def run(epsilon: float, name: str = "a", **other: Any) -> PrivateRun:
    budget = Budget(epsilon, other.get("delta", DELTA))
    given: dict[str, Any] = {
        "estimator": "PEMeans",
        "unit": Unit(),
        "delta": DELTA,
        "reserved": budget.capacity,
        "n_rows": None,
        "noise": REAL_NOISE,
        "record": None,
        **other,
    }
    return PrivateRun(name=name, epsilon=epsilon, **given)


def referee(mus: list[float], delta: float) -> float:
    """Return the epsilon that dp-accounting gives to Gaussian releases of these mu."""
    mu = math.sqrt(math.fsum(mu * mu for mu in mus))
    law = privacy_loss_distribution.from_gaussian_mechanism(
        1 / mu, value_discretization_interval=1e-4
    )
    return float(law.get_epsilon_for_delta(delta))


def fitted(**given: Any) -> PrivateKMeans:
    model = PrivateKMeans(2, delta=DELTA, bounds=CLUSTERED, max_clusters=2, **given)
    return model.fit(TABLE.select(["x", "y"]))


def profiled(model: Any, epsilon: float) -> Any:
    return model.profile(TABLE, ["age"], bounds={"age": (0, 120)}, epsilon=epsilon)


class History:
    """A random history of one table, with what each object depends on kept beside it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.objects: list[Any] = []
        self.behind: list[frozenset[str]] = []
        self.mus: dict[str, float] = {}

    def step(self) -> None:
        epsilon = float(self.rng.choice([0.25, 0.5, 1.0, 3.0]))
        models = [n for n, one in enumerate(self.objects) if isinstance(one, PrivateKMeans)]
        verb = self.rng.choice(["fit", "start", "refit", "profile"]) if models else "fit"
        earlier = int(self.rng.choice(models)) if models else 0
        if verb == "fit":
            made, behind = fitted(epsilon=epsilon), frozenset[str]()
        elif verb == "start":
            made, behind = fitted(epsilon=epsilon, init=self.objects[earlier]), self.behind[earlier]
        elif verb == "profile":
            made, behind = profiled(self.objects[earlier], epsilon), self.behind[earlier]
        else:
            made, behind = self.objects[earlier].refit(1), self.behind[earlier]
        if verb != "refit":
            number = str(len(self.mus))
            self.mus[number] = mu_of(epsilon, DELTA)
            behind |= {number}
        self.objects.append(made)
        self.behind.append(behind)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))]
)
def test_random_histories_are_composed_as_dp_accounting_does(seed: int) -> None:
    """A hundred in all; no part is random but which history it is: no false alarms."""
    history = History(seed)
    for _ in range(20):
        history.step()
        size = int(history.rng.integers(1, 4))
        chosen = history.rng.choice(len(history.objects), size).tolist()
        composed = compose(*(history.objects[one] for one in chosen))
        behind = frozenset[str]().union(*(history.behind[one] for one in chosen))
        assert len(composed.runs) == len(behind)
        expected = referee([history.mus[one] for one in behind], DELTA)
        assert composed.epsilon == pytest.approx(expected, rel=1e-3)
        exact = epsilon_of(math.sqrt(sum(history.mus[one] ** 2 for one in behind)), DELTA)
        assert composed.epsilon >= exact * (1 - 1e-7)
        one = history.objects[-1]
        words = str(getattr(one, "privacy_statement_", None) or one.privacy_statement)
        count = len(history.behind[-1])
        assert (f"guarantee of {count} runs on the rows together" in words) is (count > 1)


@pytest.mark.attack
def test_profile_states_its_own_run_and_the_fit_it_is_grouped_by() -> None:
    model = fitted(epsilon=1.0)
    statement = profiled(model, 0.25).privacy_statement
    assert statement.run.epsilon == 0.25
    assert [one.run for one in statement.dependencies] == [model.privacy_statement_.run]
    together = epsilon_of(math.hypot(mu_of(0.25, DELTA), mu_of(1.0, DELTA)), DELTA)
    assert statement.epsilon == pytest.approx(together, rel=1e-6)
    assert statement.epsilon > 1.0
    words = str(statement)
    assert "all else follows from these alone" not in words
    assert "epsilon = 1.04" in words
    assert (
        f"grouped by the clusters of PrivateKMeans, run {model.privacy_statement_.run.name}"
        in words
    )


@pytest.mark.attack
def test_fit_states_the_run_it_started_from_and_what_that_started_from() -> None:
    first = fitted(epsilon=1.0)
    second = fitted(epsilon=0.5, init=first)
    third = profiled(fitted(epsilon=0.5, init=second), 0.5).privacy_statement
    names = [one.run.name for one in third.dependencies]
    assert names[1:] == [one.privacy_statement_.run.name for one in (second, first)]
    assert [one.role for one in third.dependencies] == ["clusters", "start", "start"]
    assert len(third.composed.runs) == 4


@pytest.mark.attack
@pytest.mark.parametrize("init", [True, False])
def test_model_of_another_unit_is_refused_before_anything_is_charged(init: bool) -> None:
    by_row = fitted()
    rows = TABLE.select(["x", "y", "who"])
    if init:
        other = PrivateKMeans(2, delta=DELTA, bounds=CLUSTERED, unit="who", init=by_row)
        with pytest.raises(ParameterError, match=r"protects each 'row'.*each 'who'"):
            other.fit(rows)
    else:
        by_row.set_params(unit="who")
        with pytest.raises(ParameterError, match=r"protects each 'row'.*each 'who'"):
            profiled(by_row, 0.5)


@pytest.mark.attack
def test_column_named_like_a_unit_of_federations_is_not_one() -> None:
    column, client = Unit("whole client"), Unit("client", whole=True)
    assert column.ledger_name == client.ledger_name
    with pytest.raises(ParameterError, match="Fit both with the same unit"):
        Composition.of([run(1.0, "a", unit=column), run(1.0, "b", unit=client)])


@pytest.mark.attack
def test_typed_number_of_rows_counts_for_two_units() -> None:
    """A test for which of two rows is there, of a table whose size is known, does better."""
    typed = Composition.of([run(6.0, "a", n_rows=100)])
    assert typed.epsilon == 6.0
    assert typed.replacing_epsilon == pytest.approx(
        epsilon_of(2 * mu_of(6.0, DELTA), DELTA), rel=1e-6
    )
    assert typed.power >= norm.cdf(norm.ppf(0.05) + 2 * mu_of(6.0, DELTA)) * (1 - 1e-6)
    assert typed.weak
    assert not Composition.of([run(6.0, "a")]).weak
    both = str(Composition.of([run(6.0, "a", n_rows=100), run(1.0, "b")]))
    assert "100, typed by the user" in both
    assert "replacing one row instead, at epsilon = 14" in both


@pytest.mark.attack
def test_profile_without_the_run_of_its_clusters_cannot_be() -> None:
    statement = profiled(fitted(), 0.25).privacy_statement
    with pytest.raises(ValueError, match="depends on the run of its clusters"):
        replace(statement, dependencies=())
    with pytest.raises(ValueError, match="depends on the run of its clusters"):
        replace(fitted().privacy_statement_, dependencies=statement.dependencies)


def test_run_that_was_resumed_is_the_same_run() -> None:
    """Its ledger has grown since, and so another hash is the last."""
    record = Record("d", 4.0, DELTA, "0" * 64)
    one, again = (run(1.0, "a", record=replace(record, head=head)) for head in ("0" * 64, "1" * 64))
    assert Composition.of([one, again]).epsilon == 1.0


def test_units_that_disagree_are_not_composed() -> None:
    with pytest.raises(ParameterError, match="Fit both with the same unit"):
        Composition.of([run(1.0, "a"), run(1.0, "b", unit=Unit("who"))])
    same = Composition.of([run(1.0, "a", unit=Unit("who", 3)), run(1.0, "b", unit=Unit("who"))])
    assert len(same.runs) == 2


def test_same_run_counts_once_and_changed_one_is_refused() -> None:
    one = run(1.0, "a")
    assert Composition.of([one, one]).epsilon == 1.0
    with pytest.raises(ParameterError, match="described in two ways"):
        Composition.of([one, run(0.5, "a")])


def test_pure_runs_add_their_epsilons_where_that_is_less() -> None:
    pure = [run(0.5, str(place), delta=0.0, reserved=pure_spend(2**49)) for place in range(3)]
    together = Composition.of(pure)
    assert (together.epsilon, together.delta) == (1.5, 0.0)
    mixed = Composition.of([*pure, run(0.5, "g")])
    assert mixed.delta == DELTA
    assert mixed.epsilon == pytest.approx(2.0, rel=1e-6)
    many = [
        run(0.1, str(place), delta=0.0, reserved=pure_spend(2**50 // 10)) for place in range(99)
    ]
    mu = math.sqrt(99 * pure_spend(2**50 // 10).mu2 + Budget(0.5, DELTA).capacity.mu2)
    many_together = Composition.of([*many, run(0.5, "g")]).epsilon
    assert many_together == pytest.approx(epsilon_of(mu, DELTA), rel=1e-6)
    assert many_together < 10


def test_runs_of_several_deltas_are_read_at_the_smallest_and_no_run_exceeds_all() -> None:
    runs = [run(1.0, "a", delta=1e-6), run(0.2, "b", delta=1e-4)]
    together = Composition.of(runs)
    mu = math.hypot(*(math.sqrt(one.reserved.mu2) for one in runs))
    assert together.delta == 1e-6
    assert together.epsilon == pytest.approx(epsilon_of(mu, 1e-6), rel=1e-4)
    assert together.epsilon > 1.0
    assert Composition.of(runs[::-1]).epsilon == together.epsilon


def test_smallest_delta_that_the_tails_of_all_runs_exceed_is_not_read() -> None:
    loose = run(0.3, "b", delta=1e-4)
    assert loose.reserved.tail > 1e-11
    together = Composition.of([run(1.0, "a", delta=1e-11), loose])
    assert together.delta == 1e-4
    assert together.epsilon < math.inf


def test_statement_is_of_the_delta_of_a_run_and_of_no_other() -> None:
    together = Composition.of([run(1.0, "a", delta=1e-6), run(0.2, "b", delta=1e-4)])
    assert all(together.comes_to(together.epsilon_at(delta), delta) for delta in (1e-6, 1e-4))
    assert not together.comes_to(together.epsilon_at(1e-5), 1e-5)
    assert not together.comes_to(together.epsilon_at(1e-4), 1e-6)


def test_runs_without_real_noise_compose_to_nothing() -> None:
    together = Composition.of([run(1.0, "a"), run(1.0, "b", noise="testing: seeded")])
    assert not together.private
    assert (together.epsilon, together.delta, together.power) == (math.inf, 1.0, 1.0)
    assert "NOT PRIVATE" in str(together)


@pytest.mark.attack
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0, 8.0, 32.0])
def test_power_is_that_of_the_best_test_and_never_below(epsilon: float) -> None:
    cost = Budget(epsilon, DELTA).capacity
    with mp.workdps(40):
        exact = mp.ncdf(-mp.sqrt(2) * mp.erfinv(mpf("0.9")) + mp.sqrt(mpf(cost.quanta) / 2**50))
        assert best_power(cost) >= float(exact)
    assert best_power(cost) == pytest.approx(
        norm.cdf(norm.ppf(0.05) + mu_of(epsilon, DELTA)), rel=1e-5
    )


def test_power_of_a_pure_guarantee_is_bounded_by_its_own_curve() -> None:
    assert best_power(pure_spend(2**50)) == pytest.approx(min(0.05 * math.e, 1 - 0.95 / math.e))
    assert best_power(pure_spend(6 * 2**50)) == pytest.approx(1 - 0.95 * math.exp(-6))


@pytest.mark.parametrize("cost", [Spend(2**70, pure=2**62), Spend(2**50, slack=1e6, pure=None)])
def test_power_of_a_cost_too_large_for_exponentials_is_certainty(cost: Spend) -> None:
    assert best_power(cost) == 1.0


def test_more_runs_never_guarantee_more() -> None:
    epsilons = [
        Composition.of([run(0.3, str(place)) for place in range(count)]).epsilon
        for count in range(1, 12)
    ]
    assert all(one < other for one, other in pairwise(epsilons))


def test_loaded_objects_compose_as_they_did(tmp_path: Any) -> None:
    model = fitted(init=fitted())
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.privacy_statement_ == model.privacy_statement_
    assert compose(model, again).epsilon == model.privacy_statement_.epsilon


def test_what_composes_is_a_model_a_profile_or_a_statement() -> None:
    with pytest.raises(ParameterError, match="takes fitted models"):
        compose(PEMeans(2, delta=DELTA))
    with pytest.raises(ParameterError, match="at least one"):
        compose()
    pure = DPLloyd(2, epsilon=1.0, delta=0, bounds=CLUSTERED).fit(TABLE.select(["x", "y"]))
    assert compose(pure, pure.privacy_statement_).epsilon == 1.0


def test_several_do_not_cover_what_any_of_them_does_not_cover() -> None:
    """One took its bounds from where nobody said, the other started from points called public."""
    stated = PrivateKMeans(2, delta=DELTA, radius=1.0, init=np.zeros((2, 2)))
    stated.fit(np.zeros((60, 2)))
    models = fitted(), stated
    together = compose(*models)
    each = [set(model.privacy_statement_.not_covered) for model in models]
    assert each[0] != each[1]
    assert set(together.not_covered) == each[0] | each[1] | {CHOSEN_LATER}
    assert len(set(together.not_covered)) == len(together.not_covered)
    for item in together.not_covered:
        assert item in str(together)
    assert set(compose(models[0]).not_covered) == each[0]
