"""What a fit of a federation guarantees, and says about who took part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privclust import DPLloyd, FedDPKMeans, Federation, PrivateKMeans, limits
from privclust.algorithms._cost import Cost
from privclust.domains.box import Box
from privclust.errors import ColumnError, CostError, ParameterError, TooFewClientsError
from privclust.estimators._cost_check import check_cost
from privclust.kernels.grid import UNIT
from privclust.models.formatting import plural
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.base import Count
from privclust.queries.participation import QueryParticipation
from privclust.queries.unit import Unit
from privclust.testing import SeededNoise, noise_from

PUBLIC = np.random.default_rng(9).uniform(0, 100, (30, 2))


def patients(seed: int, n_rows: int = 600) -> pd.DataFrame:
    rows = np.random.default_rng(seed).uniform(0, 100, (n_rows, 2))
    return pd.DataFrame(rows, columns=["a", "b"]).assign(pid=np.arange(n_rows) // 2)


TABLES = {name: patients(seed) for seed, name in enumerate("xyz")}


def federation(clients_per_unit: int = 1) -> Federation:
    return Federation.in_process(TABLES, ["a", "b"], clients_per_unit=clients_per_unit)


def fitted(table: Any, resume: str | None = None, **given: Any) -> Any:
    given = {"server_data": PUBLIC, "delta": 1e-6, "bounds": (0, 100), "random_state": 0, **given}
    with noise_from(SeededNoise(0)):
        return FedDPKMeans(2, **given).fit(table, resume=resume)


def test_the_flagship_starts_from_public_rows_of_the_server() -> None:
    given: dict[str, Any] = {"delta": 1e-6, "bounds": (0, 100), "random_state": 0, "init": PUBLIC}
    pooled = pd.concat([table[["a", "b"]] for table in TABLES.values()])
    with noise_from(SeededNoise(0)):
        together = PrivateKMeans(2, **given).fit(federation())
    with noise_from(SeededNoise(0)):
        alone = PrivateKMeans(2, **given).fit(pooled)
    np.testing.assert_array_equal(together.cluster_centers_, alone.cluster_centers_)
    assert [one.slot for one in together.privacy_statement_.releases][1] == "start"


# The guarantee -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "clients", "guaranteed"),
    [
        (None, 1, "has one row more at one client."),
        (None, 2, "has one row more at each of up to 2 clients."),
        ("pid", 1, "has all rows of one 'pid' more at one client, however many. "),
        ("pid", 3, "has all rows of one 'pid' more at each of up to 3 clients, however many. "),
    ],
)
def test_the_statement_says_at_how_many_clients_somebody_is_protected(
    unit: str | None, clients: int, guaranteed: str
) -> None:
    statement = fitted(federation(clients), unit=unit).privacy_statement_
    assert statement.adjacency.startswith("two federations of the same columns")
    assert guaranteed in statement.adjacency
    assert f"or with rows at more than {plural(clients, 'client')}" in statement.not_covered[0]
    if unit:
        assert "Rows without one count as one 'pid' at each client." in statement.adjacency


def test_of_one_table_the_statement_speaks_as_before() -> None:
    statement = fitted(TABLES["x"][["a", "b", "pid"]], unit="pid").privacy_statement_
    assert statement.adjacency.startswith("two tables of the same columns")
    assert "Rows without one count as one 'pid' together." in statement.adjacency
    assert "client" not in str(statement)


def test_rows_without_an_id_are_one_unit_at_each_client() -> None:
    nobody = {name: table.assign(pid=pd.Series(dtype="Int64")) for name, table in TABLES.items()}
    engines = [
        Federation.in_process(tables, ["a", "b"]).open_engine(
            None, Box([0, 0], [100, 100]), Unit("pid")
        )
        for tables in (nobody, {**nobody, "x": nobody["x"][:0]})
    ]
    three, two = (engine.aggregate(Count())[0] for engine in engines)
    assert abs(three - two) <= engines[0].unit.sensitivity(Count()).linf
    assert three > 2.9 * UNIT


# Refused before anything is charged --------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("verb", ["fit_predict", "fit_transform"])
@pytest.mark.parametrize("kind", [PrivateKMeans, FedDPKMeans])
def test_rows_of_a_federation_are_not_labelled_and_nothing_is_charged(
    tmp_path: Path, verb: str, kind: Any
) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "d", epsilon=2.0, delta=1e-6)
    sent: list[Mapping[str, bytes]] = []

    def exchange(requests: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
        sent.append(requests)
        return ()

    some = Federation(exchange, "xyz", ["a", "b"])
    model = kind(2, delta=1e-6, bounds=(0, 100), ledger=place, dataset="d")
    with pytest.raises(TypeError, match=r"labelled where they are: .* call model\.predict"):
        getattr(model, verb)(some)
    assert not sent
    assert not Ledger.open(place).runs("d")


def test_rows_of_a_federation_are_labelled_by_whoever_holds_them() -> None:
    model = fitted(federation())
    for verb in (model.predict, model.transform):
        with pytest.raises(TypeError, match="labelled where they are"):
            verb(federation())
        assert len(verb(TABLES["x"][["a", "b"]])) == len(TABLES["x"])


def test_the_column_of_ids_is_not_clustered() -> None:
    everything = fitted(Federation.in_process(TABLES), unit="pid")
    named = fitted(federation(), unit="pid")
    assert list(everything.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(everything.cluster_centers_, named.cluster_centers_)


def test_refits_know_who_took_part_in_their_fit() -> None:
    given: dict[str, Any] = {"delta": 1e-6, "bounds": (0, 100), "random_state": 0}
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, **given).fit(federation())
    for refit in (model.refit(1), model.refit(2), model.refit(1).refit(2)):
        assert refit.participation_ == model.participation_


# Participation in a fit that was resumed ---------------------------------------------------------


def test_resumed_fit_counts_only_its_own_responses(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "d", epsilon=2.0, delta=1e-6)
    recorded = {"ledger": place, "dataset": "d"}
    honest, sent = federation(), []

    def exchange(requests: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
        sent.append(requests)
        responses = list(honest.exchange(requests))
        return responses[1:] if len(sent) < 3 else responses[2:] if len(sent) == 3 else responses

    some = Federation(exchange, honest.clients, ["a", "b"], minimum=2)
    with pytest.raises(TooFewClientsError):
        fitted(some, **recorded)
    (run,) = Ledger.open(place).runs("d")
    model = fitted(some, run.name, **recorded)
    left = len(model.releases_) - 2
    assert model.participation_ == (QueryParticipation(3, 3),) * left
    participation = " ".join(model.privacy_statement_.not_covered)
    assert "who takes part (all 3 clients " in participation
    assert "not counting 2 " in participation
    again = fitted(some, run.name, **recorded)
    assert again.participation_ == ()
    not_covered = again.privacy_statement_.not_covered
    assert (
        "what the server of the federation sees, which are exact sums of each client" in not_covered
    )
    assert f"who takes part (not counting {left + 2} " in " ".join(not_covered)


# Limits of the wire ------------------------------------------------------------------------------


def budgeted(folder: Path) -> dict[str, Any]:
    place = str(folder / "budget.db")
    Ledger.create(place, "all", epsilon=4.0, delta=1e-5)
    return {"ledger": place, "dataset": "all", "delta": 1e-6}


def unreachable(columns: Any) -> Federation:
    """A federation whose clients must not receive a request."""

    def exchange(requests: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
        raise AssertionError("a request was sent")

    return Federation(exchange, ["north"], columns)


@pytest.mark.attack
def test_rows_too_wide_for_clients_are_refused_before_the_charge(tmp_path: Path) -> None:
    given = budgeted(tmp_path)
    with pytest.raises(CostError, match=r"70,000 coordinates.*at most 65,536"):
        DPLloyd(2, bounds=(0, 1), **given).fit(unreachable(70_000))
    assert Ledger.open(given["ledger"]).runs("all") == ()


@pytest.mark.attack
def test_names_too_long_for_a_request_are_refused_before_the_charge(tmp_path: Path) -> None:
    given = budgeted(tmp_path)
    names = [f"{number:0100}" for number in range(42_000)]
    with pytest.raises(ColumnError, match="shorter names"):
        DPLloyd(2, bounds=(0, 1), **given).fit(unreachable(names))
    assert Ledger.open(given["ledger"]).runs("all") == ()


@pytest.mark.attack
def test_result_larger_than_clients_respond_with_is_refused_before_the_charge(
    tmp_path: Path,
) -> None:
    given = budgeted(tmp_path)
    with limits(minutes=1e6, memory="10000 GiB"), pytest.raises(CostError, match="16,777,216"):
        DPLloyd(2000, bounds=(0, 1), **given).fit(unreachable(10_000))
    assert Ledger.open(given["ledger"]).runs("all") == ()


def test_query_longer_than_clients_read_is_refused() -> None:
    cost = Cost(1.0, 0.0, 1.0, 1.0, 1.0, sent=2.0**28)
    check_cost(cost)
    check_cost(cost, unit=Unit())
    with pytest.raises(CostError, match=r" of up to 268.4 million bytes"):
        check_cost(cost, unit=Unit(clients=1))


@pytest.mark.attack
def test_request_that_no_client_understands_is_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = budgeted(tmp_path)
    monkeypatch.setattr(
        "privclust.engines.federated.engine.read_query_request", lambda message: None
    )
    with pytest.raises(ParameterError, match="every client would refuse"):
        DPLloyd(2, bounds=(0, 1), **given).fit(unreachable(2))
    assert Ledger.open(given["ledger"]).runs("all") == ()


# Types that clients declare -----------------------------------------------------------------------


def words(seed: int, width: int = 3) -> Any:
    rows = np.random.default_rng(seed).normal(size=(400, width)) + 2.0
    return pa.table({"words": pa.array(rows.tolist(), pa.list_(pa.float64(), width))})


def by_direction(table: Any, **given: Any) -> Any:
    given = {"delta": 1e-6, "metric": "cosine", "random_state": 0, **given}
    with noise_from(SeededNoise(0)):
        return PrivateKMeans(2, max_clusters=4, **given).fit(table)


def test_column_of_vectors_is_clustered_as_in_one_table() -> None:
    tables = {"north": words(0), "south": words(1)}
    together = by_direction(Federation.in_process(tables))
    alone = by_direction(pa.concat_tables(tables.values()))
    np.testing.assert_array_equal(together.cluster_centers_, alone.cluster_centers_)
    assert together.n_features_in_ == 1


@pytest.mark.attack
def test_vectors_that_nobody_declared_are_refused_before_the_charge(tmp_path: Path) -> None:
    given = budgeted(tmp_path)
    with pytest.raises(ColumnError, match=r"types.*not known here.*schemas="):
        by_direction(unreachable(["words"]), **given)
    assert Ledger.open(given["ledger"]).runs("all") == ()


@pytest.mark.parametrize(
    ("other", "given", "message"),
    [
        (words(1, 4), {"metric": "cosine"}, "vectors must have 3 numbers"),
        (pa.table({"words": ["a", "b"]}), {"metric": "cosine"}, "vectors of one length: words"),
        (words(1), {"bounds": {"words": (0, 1)}}, "do not hold numbers: words"),
    ],
    ids=["another length", "texts", "vectors as numbers"],
)
def test_column_of_another_type_at_one_client_is_refused_before_the_charge(
    other: Any, given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    recorded = budgeted(tmp_path)
    tables = {"north": words(0), "south": other}
    with pytest.raises((ValueError, TypeError), match=message):
        PrivateKMeans(2, **given, **recorded).fit(Federation.in_process(tables))
    assert Ledger.open(recorded["ledger"]).runs("all") == ()
