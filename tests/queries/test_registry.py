"""A query of somebody's own: registered, it is measured and travels like those of the package."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from helpers.conformance import COLUMNS, DOMAIN, people
from helpers.requests import request_for

from privclust.engines.federated._request import QueryRequest
from privclust.engines.federated.client import Client
from privclust.engines.federated.federation import Federation
from privclust.engines.federated.wire import WireError, decode, encode
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.fingerprint import serialize
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import (
    ONE_HOT,
    ROW,
    Contribution,
    Count,
    Query,
    Sensitivity,
    frozen_points,
    one_hot,
    register,
    registered_queries,
)


@register("tests.Sides")
@dataclass(frozen=True, eq=False)
class Sides:
    """Each row votes for the side of a plane it lies on."""

    normal: FloatArray
    size, sensitivity = 2, ONE_HOT

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", frozen_points(self.normal))

    def contribute(self, rows: FloatArray) -> Contribution:
        return one_hot((rows @ self.normal[0] < 0).astype(np.int64))


@register("tests.Sorted")
@dataclass(frozen=True, eq=False)
class Sorted:
    """A query whose constructor puts its edges in order, without which rows depend on others."""

    edges: FloatArray
    sensitivity = ONE_HOT

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", np.sort(np.asarray(self.edges)))

    @property
    def size(self) -> int:
        return self.edges.size + 1

    def contribute(self, rows: FloatArray) -> Contribution:
        return one_hot(np.searchsorted(self.edges, rows[:, 0]))


SIDES = Sides(np.array([[0.5, -0.25, 0.125]]))


def test_query_of_ones_own_arrives_as_it_left() -> None:
    arrived = decode(encode(request_for(SIDES)), QueryRequest).query
    assert type(arrived) is Sides
    assert serialize(arrived) == serialize(SIDES)
    assert serialize(SIDES).startswith(b"tests.Sides/normal=")


def test_query_of_ones_own_is_measured_by_engines_and_federations() -> None:
    table = people(300).select(COLUMNS)
    expected = NumpyEngine(table, DOMAIN).aggregate(SIDES)
    federation = Federation.in_process({"north": table[:100], "south": table[100:]}, COLUMNS)
    assert federation.open_engine(None, DOMAIN, ROW).aggregate(SIDES) == expected
    assert sum(expected) == 300 * UNIT
    assert min(expected) > 0


def test_query_of_ones_own_is_released_by_the_curator() -> None:
    table = people(300).select(COLUMNS)
    plan = make_plan(Budget(1.0, 1e-6), [Slot("sides", 1.0)])
    curator = Curator.open(NumpyEngine(table, DOMAIN), plan, noiseless=True)
    assert curator.measure("sides", SIDES).values.sum() == pytest.approx(300)


@pytest.mark.attack
def test_what_a_constructor_changes_is_not_put_back() -> None:
    assert decode(encode(Sorted(np.array([1.0, 2.0]))), Sorted).size == 3
    unsorted = Sorted(np.array([1.0, 2.0]))
    object.__setattr__(unsorted, "edges", np.array([2.0, 1.0]))
    with pytest.raises(WireError):
        decode(encode(unsorted), Sorted)


def test_query_without_a_name_does_not_travel() -> None:
    @dataclass(frozen=True, eq=False)
    class Unnamed(Sides):
        """Registered is the class above alone."""

    with pytest.raises(WireError, match=r"Register its class with privclust\.queries\.register"):
        encode(Unnamed(SIDES.normal / 2**25))


def test_query_defined_again_takes_the_place_of_the_first() -> None:
    def define() -> Any:
        @register("tests.Cell")
        @dataclass(frozen=True)
        class Cell(Count):
            """Of a notebook."""

        return Cell

    first, second = define(), define()
    assert registered_queries()["tests.Cell"] is second
    arrived: object = decode(encode(second()), second)
    assert isinstance(arrived, second)
    with pytest.raises(WireError):
        encode(first())


def recoded(bounds: Sensitivity, coordinates: int) -> Query:
    """Register other code under the same name, as another machine would."""

    @register("tests.Recoded")
    @dataclass(frozen=True, eq=False)
    class Recoded(Count):
        size, sensitivity = coordinates, bounds

    return Recoded()


@pytest.mark.attack
@pytest.mark.parametrize(
    ("bounds", "coordinates"),
    [
        (replace(ONE_HOT, l1=2 * UNIT), 1),
        (replace(ONE_HOT, l2_squared=2 * UNIT**2), 1),
        (replace(ONE_HOT, l2_squared=2**70), 1),
        (replace(ONE_HOT, linf=2 * UNIT), 1),
        (replace(ONE_HOT, l0=2), 1),
        (replace(ONE_HOT, monotone=False), 1),
        (ONE_HOT, 2),
    ],
)
def test_client_with_other_bounds_under_the_same_name_refuses_before_it_reads(
    bounds: Sensitivity, coordinates: int
) -> None:
    """The server would size noise by its own, and the client let rows count by its own."""
    reads: list[int] = []

    def table() -> Any:
        reads.append(1)
        return people(3).select(COLUMNS)

    for server, client in (
        ((ONE_HOT, 1), (bounds, coordinates)),
        ((bounds, coordinates), (ONE_HOT, 1)),
    ):
        message = encode(request_for(recoded(*server)))
        asked = len(reads)
        assert len(Client(table).respond(message)) == 16 + 8 * server[1]
        assert len(reads) > asked
        recoded(*client)
        asked = len(reads)
        assert Client(table).respond(message) == b""
        assert len(reads) == asked


@pytest.mark.parametrize("name", ["", "1.Query", "tests query", "tests.Qüery", "tests.", ".Query"])
def test_other_characters_make_no_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"such as 'project\.Query'"):
        register(name)


def test_names_of_the_package_and_of_others_are_taken() -> None:
    with pytest.raises(ValueError, match="names without a dot are those of privclust"):
        register("Count")(Sides)
    with pytest.raises(ValueError, match=r"'tests\.Sides' is that of .*Sides"):
        register("tests.Sides")(Sorted)
    assert registered_queries()["Count"] is Count
    assert registered_queries()["tests.Sides"] is Sides


@dataclass(eq=False)
class Unfrozen:
    size, sensitivity = 1, ONE_HOT

    def contribute(self, rows: FloatArray) -> Contribution:
        return Count().contribute(rows)


@dataclass(frozen=True)
class NoQuery:
    size: int = 1


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(Unfrozen, "not a frozen dataclass"), (NoQuery, "not a query: it needs size, sensitivity")],
)
def test_class_that_is_not_a_query_is_not_registered(kind: type, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        register("tests.No")(kind)
    assert "tests.No" not in registered_queries()
