"""A federation of nodes as a table: the integers of one table, and fits from end to end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.cohort_parts import DOMAIN as BOX
from helpers.cohort_parts import rows_of, tables_of
from helpers.conformance import COLUMNS, DOMAIN, QUERIES, UNITS, clients, in_memory, people
from helpers.query_examples import PROFILE_QUERIES, PROFILED, VOTES, names_of, package_queries
from helpers.query_examples import QUERIES as EXAMPLES

from fuzz.hostile import table_for
from privclust import DPLloyd, FedDPKMeans, Ledger, PrivateKMeans, forecast
from privclust.cohorts.federation import NodeFederation
from privclust.cohorts.member import RehearsedNode
from privclust.domains.base import Domain
from privclust.engines.noisy import FitTerms
from privclust.errors import ParameterError
from privclust.privacy.accounting import QUANTA, Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import ROW, Query, Unit
from privclust.testing import NoNoise, noise_from

BUDGET = Budget(8.0, 1e-6)
EACH = QUANTA // 1000


def measured(
    tables: dict[str, Any], domain: Domain, unit: Unit, queries: list[Query], columns: Any = None
) -> list[list[int]]:
    """Return what a federation's coordinator gets without noise."""
    engine = NodeFederation.in_process(tables, columns).open_engine(None, domain, unit)
    cost = make_plan(BUDGET, [Slot("all", 1.0, 2**20)]).reserve
    engine.begin(
        FitTerms("f" * 16, {}, BUDGET.epsilon, BUDGET.delta, cost.quanta, cost.slack, cost.tail)
    )
    found = []
    for number, query in enumerate(queries):
        l0 = engine.unit.sensitivity(query).l0
        sums = engine.measure(f"query {number}", 1, query, EACH, l0)
        assert sums is not None
        assert sums.noise == "none"
        found.append(sums.values.tolist())
    return found


@pytest.mark.attack
@pytest.mark.parametrize(
    ("n_nodes", "unit"),
    [
        *((3, unit) for unit in UNITS),
        (7, "row"),
        (7, "integers, 3 rows"),
        pytest.param(50, "row", marks=pytest.mark.long),
        pytest.param(50, "integers, 3 rows", marks=pytest.mark.long),
    ],
)
def test_sums_are_those_of_one_table(n_nodes: int, unit: str) -> None:
    """Uneven nodes, of which one has no rows: every query of a Gaussian slot, bit for bit."""
    table, whose = people(200 + n_nodes), UNITS[unit]
    parts = {f"node {n:02}": one for n, one in enumerate(clients(table, whose, n_nodes))}
    assert min(part.num_rows for part in parts.values()) == 0
    engine = in_memory(table, unit=whose)
    wanted = [[int(value) for value in engine.aggregate(query)] for query in QUERIES]
    with noise_from(NoNoise()):
        assert measured(parts, DOMAIN, whose, QUERIES, COLUMNS) == wanted


def test_sums_of_fifty_nodes_are_those_of_one_table() -> None:
    table = people(250)
    parts = {f"node {n:02}": one for n, one in enumerate(clients(table, ROW, 50))}
    wanted = [[int(value) for value in in_memory(table).aggregate(QUERIES[5])]]
    with noise_from(NoNoise()):
        assert measured(parts, DOMAIN, ROW, QUERIES[5:6], COLUMNS) == wanted


def test_queries_of_every_kind_are_summed() -> None:
    """Those that other estimators and profiles make as well."""
    tables = tables_of(n_rows=9)
    with noise_from(NoNoise()):
        one = measured({"a": rows_of(0), **tables}, BOX, ROW, [*EXAMPLES])
        other = measured({**tables, "z": rows_of(0), "y": rows_of(0)}, BOX, ROW, [*EXAMPLES])
        assert one == other
        rows = table_for(PROFILED.names, PROFILED, 12)
        halves = {"a": rows[:5], "b": rows[5:]}
        whole = {"a": rows, "b": rows[:0]}
        found = [
            measured(tables, PROFILED, ROW, [*PROFILE_QUERIES], PROFILED.names)
            for tables in (halves, whole)
        ]
    assert found[0] == found[1]
    assert names_of([*EXAMPLES, *PROFILE_QUERIES]) == package_queries()


# Fits ---------------------------------------------------------------------------------------------


def blobs(n_rows: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 2.0, (n_rows, 2)) + 30.0 * rng.integers(1, 3, (n_rows, 1))


TABLES = {"north": blobs(4000, 0), "south": blobs(2500, 1), "west": blobs(700, 2)}
SERVER = blobs(200, 3)


@pytest.mark.parametrize(
    "model",
    [
        PrivateKMeans(2, epsilon=4.0, delta=1e-6, bounds=(0, 100), random_state=0),
        FedDPKMeans(2, epsilon=4.0, delta=1e-6, server_data=SERVER, random_state=0),
    ],
    ids=["PrivateKMeans", "FedDPKMeans"],
)
def test_fit_finds_the_clusters(model: Any) -> None:
    found = model.fit(NodeFederation.in_process(TABLES))
    centers = np.sort(found.cluster_centers_.mean(axis=1))
    assert centers == pytest.approx([30.0, 60.0], abs=3.0)
    assert set(found.participation_) == {type(found.participation_[0])(3, 3)}


def test_fit_is_resumed_at_its_coordinators_ledger(tmp_path: Any) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "all", epsilon=1.0, delta=1e-6)
    model = PrivateKMeans(
        2, delta=1e-6, bounds=(0, 100), random_state=0, ledger=place, dataset="all"
    )
    federation = NodeFederation.in_process(TABLES)
    first = model.fit(federation).cluster_centers_
    (run,) = Ledger.open(place).runs("all")
    again = model.fit(federation, resume=run.name).cluster_centers_
    assert again.tolist() == first.tolist()
    assert len(Ledger.open(place).runs("all")) == 1


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"colluding": 0}, "colluding must be an integer of at least 1"),
        ({"colluding": 3}, "colluding must be an integer of at least 1"),
        ({"colluding": 1.5}, "colluding must be an integer of at least 1"),
        ({"minimum": 1}, "minimum larger than that"),
        ({"minimum": 4}, "minimum larger than that"),
        ({"colluding": 2, "minimum": 2}, "minimum larger than that"),
        ({"reserve": -0.1}, "reserve is a part of the budget"),
        ({"reserve": 1.0}, "reserve is a part of the budget"),
        ({"reserve": float("nan")}, "reserve is a part of the budget"),
        ({"seconds": 0.0}, "seconds are more than 0"),
    ],
)
def test_federation_that_cannot_be_is_refused(changed: dict[str, Any], says: str) -> None:
    nodes = tuple(RehearsedNode(name, table) for name, table in TABLES.items())
    with pytest.raises(ParameterError, match=says):
        NodeFederation(nodes, 2, "ada", **changed)


def test_nodes_of_one_name_and_single_nodes_are_refused() -> None:
    north = RehearsedNode("north", TABLES["north"])
    with pytest.raises(ParameterError, match="names that differ"):
        NodeFederation((north, RehearsedNode("north", TABLES["south"])), 2, "ada")
    with pytest.raises(ParameterError, match="colluding must be an integer of at least 1"):
        NodeFederation((north,), 2, "ada")


@pytest.mark.attack
@pytest.mark.parametrize(
    ("model", "says"),
    [
        (PrivateKMeans(2, epsilon=np.inf, delta=1e-6, bounds=(0, 100)), "adds no noise"),
        (PrivateKMeans(2, delta=1e-6, bounds=(0, 100), unit="client"), "a whole node cannot be"),
        (PrivateKMeans(2, delta=1e-6, bounds=(0, 100), scale="private"), "on one table"),
        (DPLloyd(2, delta=0.0, bounds=(0, 100)), "noise of the kind laplace"),
    ],
)
def test_fit_that_shares_of_noise_cannot_serve_is_refused(model: Any, says: str) -> None:
    log: list[str] = []

    class Noting(RehearsedNode):
        def submit(self, message: bytes) -> None:
            log.append("requested")
            super().submit(message)

    nodes = tuple(Noting(name, table) for name, table in TABLES.items())
    with pytest.raises(ParameterError, match=says):
        model.fit(NodeFederation(nodes, 2, "ada"))
    assert log == []


# What noise to expect -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_nodes", "colluding", "reserve"), [(3, 1, 0.0), (5, 3, 0.0), (4, 1, 0.4)]
)
def test_noise_is_as_large_as_was_forecast(n_nodes: int, colluding: int, reserve: float) -> None:
    tables = {f"node {n}": rows_of(2000, n) for n in range(n_nodes)}
    federation = NodeFederation.in_process(
        tables, colluding=colluding, minimum=colluding + 1, reserve=reserve
    )
    expected = forecast(
        2000 * n_nodes, 3, 2, epsilon=4.0, delta=1e-6, noise_ratio=federation.noise_ratio
    )
    plain = forecast(2000 * n_nodes, 3, 2, epsilon=4.0, delta=1e-6)
    factor = np.sqrt(n_nodes / (n_nodes - colluding) / (1 - reserve))
    assert expected.size_stderr == pytest.approx(factor * plain.size_stderr)
    assert expected.rows_needed > plain.rows_needed
    bounds = {"a": (0, 1), "b": (0, 2), "c": (0, 3)}
    model = PrivateKMeans(2, epsilon=4.0, delta=1e-6, bounds=bounds, random_state=0).fit(federation)
    assert model.size_stderr_ == pytest.approx(expected.size_stderr, rel=1e-4)


def test_algorithm_expects_the_noise_of_the_whole_cohort() -> None:
    federation = NodeFederation.in_process(tables_of(), reserve=0.5)
    plan = make_plan(BUDGET, [Slot("votes", 1.0)])
    curator = Curator.open(federation.open_engine(None, BOX, ROW), plan)
    release = curator.measure("votes", VOTES)
    assert curator.noise_ratio == pytest.approx(release.noise_ratio)
    assert curator.noise_ratio == pytest.approx(np.sqrt(3 / 2))
