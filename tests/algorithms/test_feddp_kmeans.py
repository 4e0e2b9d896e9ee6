"""FedDP-KMeans: nothing but Releases decides, no more is spent than the budget, every edge case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.referee import epsilon_spent

from privclust import FedDPKMeans, Federation, PrivateKMeans
from privclust.algorithms import feddp_kmeans
from privclust.algorithms.feddp_kmeans import surviving
from privclust.audit.replay import Transcript, replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.errors import ParameterError, TooFewClientsError
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.participation import QueryParticipation
from privclust.queries.unit import Unit
from privclust.testing import SeededNoise, noise_from

D, K = 6, 3
BALL = Ball(np.zeros(D), 1.0)
MIDDLES = np.eye(D)[:K] * 0.6


def mixture(n_rows: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    rows: FloatArray = MIDDLES[rng.integers(0, K, n_rows)] + rng.normal(0, 0.05, (n_rows, D))
    return rows


def algorithm(
    engine: Engine, server: FloatArray | None, rounds: int = 2, epsilon: float = 1.0
) -> Curator:
    plan = feddp_kmeans.plan(K, D, Budget(epsilon, 1e-6), server=server, rounds=rounds)
    curator = Curator.open(engine, plan.spending)
    feddp_kmeans.run(curator, plan, np.random.default_rng(0))
    return curator


@pytest.mark.attack
@pytest.mark.parametrize("server", [mixture(30, seed=9), None], ids=["server", "no server"])
def test_one_row_more_changes_no_query_and_no_result_by_more_than_declared(
    server: FloatArray | None,
) -> None:
    rows = mixture(200)
    for extra in (np.ones((1, D)), np.full((1, D), np.nan), -np.eye(1, D)):
        engines = [NumpyEngine(table, BALL) for table in (rows, np.vstack([extra, rows]))]
        run = partial(algorithm, server=server)
        assert replay_on_neighbour(run, engines[0], engines[1], SeededNoise(0)) == []


@pytest.mark.attack
def test_one_client_more_changes_no_query_and_no_result_by_more_than_declared() -> None:
    clients = {str(n): mixture(20 * n + 1, n) for n in range(4)}
    emptied = {**clients, "3": clients["3"][:0]}
    unit = Unit("client", 5)
    engines = [
        Federation.in_process(given).open_engine(None, BALL, unit) for given in (clients, emptied)
    ]
    run = partial(algorithm, server=mixture(30, seed=9))
    assert replay_on_neighbour(run, engines[0], engines[1], SeededNoise(0)) == []


@pytest.mark.parametrize(
    ("epsilon", "rounds", "clusters"), [(0.3, 1, K), (3.0, 0, K), (1.0, 3, D), (1.0, 2, D + 1)]
)
def test_no_more_is_spent_than_the_budget_says_another_accountant(
    epsilon: float, rounds: int, clusters: int
) -> None:
    """dp-accounting agrees with us to 1e-6."""
    plan = feddp_kmeans.plan(clusters, D, Budget(epsilon, 1e-6), rounds=rounds)
    transcript = Transcript(NumpyEngine(mixture(100), BALL), SeededNoise(0))
    with noise_from(transcript):
        curator = Curator.open(transcript, plan.spending)
        feddp_kmeans.run(curator, plan, np.random.default_rng(0))
    names = ["subspace"] * (clusters < D) + ["weights", "lift"]
    names += [f"sums {number + 1}" for number in range(rounds)]
    assert [release.slot for release in curator.releases] == names
    assert [slot.name for slot in curator.plan.slots] == names
    spent = epsilon_spent(transcript.measurements, 1e-6, interval=1e-4 * epsilon)
    assert (1 - 1e-5) * epsilon <= spent <= (1 + 1e-6) * epsilon


def fitted(clients: dict[str, FloatArray], minimum: int | None = None, **given: Any) -> FedDPKMeans:
    given = {"server_data": mixture(30, seed=9), "delta": 1e-6, "random_state": 0, **given}
    with noise_from(SeededNoise(0)):
        return FedDPKMeans(given.pop("n_clusters", K), **given).fit(
            Federation.in_process(clients, minimum=minimum)
        )


CLIENTS = {name: mixture(3000, n) for n, name in enumerate(("north", "south", "west"))}


def close_to_middles(model: Any, far: float = 0.05) -> bool:
    gaps = np.linalg.norm(model.cluster_centers_[:, None] - MIDDLES, axis=2)
    return bool((gaps.min(axis=0) < far).all())


def test_clusters_of_a_federation_are_found_with_bounds_from_the_servers_rows() -> None:
    model = fitted(CLIENTS)
    assert close_to_middles(model)
    assert model.participation_ == (QueryParticipation(3, 3),) * 4
    np.testing.assert_allclose(model.cluster_sizes_, [3000] * 3, rtol=0.1)
    statement = model.privacy_statement_
    assert statement.bounds_origin == "public data of the server"
    assert "all 3 clients responded" in str(statement)
    assert "what the server of the federation sees" in str(statement)


def test_whole_clients_are_protected_and_the_statement_says_so() -> None:
    clients = {f"device {n}": mixture(20, n) for n in range(400)}
    model = fitted(clients, unit="client", max_rows_per_unit=20, epsilon=4.0)
    assert close_to_middles(model, 0.2)
    statement = model.privacy_statement_
    assert statement.unit == "client"
    assert "one client has no rows" in statement.adjacency


def test_private_kmeans_fits_a_federation_as_it_fits_the_pooled_rows() -> None:
    given: dict[str, Any] = {"delta": 1e-6, "radius": 1.0, "random_state": 0}
    pooled = np.vstack(list(CLIENTS.values()))
    with noise_from(SeededNoise(0)):
        apart = PrivateKMeans(K, **given).fit(Federation.in_process(CLIENTS))
    with noise_from(SeededNoise(0)):
        together = PrivateKMeans(K, **given).fit(pooled)
    assert apart.cluster_centers_.tolist() == together.cluster_centers_.tolist()
    assert not hasattr(together, "participation_")


def test_slot_with_too_few_responses_is_charged_and_the_fit_stops(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "clients", epsilon=2.0, delta=1e-6)
    kept: dict[str, Any] = {"ledger": place, "dataset": "clients"}
    with pytest.raises(TooFewClientsError, match=r"3 of 4 clients .* minimum is 4"):
        _fit_with_one_absent(4, kept)
    (run,) = Ledger.open(place).runs("clients")
    assert list(run.charges) == ["subspace"]
    assert run.open
    model = _fit_with_one_absent(3, kept)
    assert model.participation_ == (QueryParticipation(3, 4),) * 4
    assert "at least 3 of 4 clients responded" in str(model.privacy_statement_)


def _fit_with_one_absent(minimum: int, kept: dict[str, Any]) -> Any:
    sound = Federation.in_process(CLIENTS)

    def exchange(requests: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
        return sound.exchange({name: requests[name] for name in CLIENTS})

    everybody = Federation(exchange, [*CLIENTS, "absent"], D, minimum=minimum)
    model = FedDPKMeans(K, server_data=mixture(30, seed=9), delta=1e-6, random_state=0, **kept)
    with noise_from(SeededNoise(0)):
        return model.fit(everybody)


# Edge cases --------------------------------------------------------------------------------------


def test_fewer_points_than_clusters_are_joined_by_others_and_the_user_is_warned() -> None:
    with pytest.warns(UserWarning, match=r"server_data has 2 row\(s\), fewer than n_clusters=3"):
        model = fitted(CLIENTS, server_data=mixture(2, seed=1), radius=1.0)
    assert model.cluster_centers_.shape == (K, D)


@pytest.mark.parametrize("n_clusters", [1, D - 1, D, D + 2])
def test_any_number_of_clusters_has_as_many_centres(n_clusters: int) -> None:
    model = fitted(CLIENTS, n_clusters=n_clusters, radius=1.0)
    slots = [release.slot for release in model.releases_]
    assert ("subspace" in slots) == (n_clusters < D)
    assert model.cluster_centers_.shape == (n_clusters, D)


def test_no_rows_at_all_give_finite_centres_in_the_ball() -> None:
    for rows in (np.empty((0, D)), np.zeros((5, D)), np.full((5, D), np.nan)):
        model = fitted({"a": rows, "b": rows[:0]}, radius=1.0)
        assert np.linalg.norm(model.cluster_centers_, axis=1).max() <= 1 + 1e-9
        assert np.isfinite(model.cluster_centers_).all()
        assert (model.cluster_sizes_ >= 0).all()


def test_equal_points_of_the_server_and_no_lloyd_step() -> None:
    model = fitted(CLIENTS, server_data=np.repeat(mixture(6, seed=9), 5, axis=0), rounds=0)
    assert [release.slot for release in model.releases_] == ["subspace", "weights", "lift"]
    assert model.cluster_centers_.shape == (K, D)


def test_votes_that_noise_could_give_are_left_out_unless_too_few_remain() -> None:
    votes = np.array([50.0, 9.0, -30.0, 3.0, 1.0])
    assert surviving(votes, 2.0, 2).tolist() == [50.0, 9.0, 0.0, 0.0, 0.0]
    assert surviving(votes, 2.0, 4).tolist() == [50.0, 9.0, 0.0, 3.0, 1.0]
    assert surviving(-votes, 100.0, 5).tolist() == [0.0, 0.0, 30.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"server_data": [[0.0] * D]}, "must be a NumPy array of public rows"),
        ({"server_data": np.empty((0, D))}, "at least one row and finite numbers"),
        ({"server_data": np.full((4, D), np.nan)}, "at least one row and finite numbers"),
        ({"server_data": np.zeros((4, 2)), "radius": 1.0}, "has 2 columns and the table 6"),
        ({"rounds": -1}, "rounds must be .* between 0 and 100"),
        ({"rounds": 1.5}, "rounds must be .* between 0 and 100"),
    ],
)
def test_public_faults_are_reported_before_anything_is_measured(given: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        fitted(CLIENTS, **given)
