"""Parts of a request that must agree with each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.requests import request_for

from privclust.domains._category_column import CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.domains.profiled import ProfileDomain
from privclust.domains.sphere import Sphere
from privclust.engines.federated._request import SIZE_MAX
from privclust.queries.base import ONE_HOT, Count, Query
from privclust.queries.clusters import NearestVotes
from privclust.queries.covariance import SecondMoment
from privclust.queries.profiles import ProfileSums, ProfileTallies
from privclust.queries.unit import COORDINATES_MAX, Unit

REQUEST = request_for(Count())
MIXED = Mixed((NumberColumn("z", 0, 1), CategoryColumn("x", ("A", "B"))))
NOTED = ProfileDomain(
    Box([0], [1]), ("z",), (NumberColumn("n", 0, 1), CategoryColumn("x", ("A", "B")))
)


@pytest.mark.attack
@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": b""},
        {"nonce": bytes(17)},
        {"fit": b"../.."},
        {"sampling_exponent": -1},
        {"sampling_exponent": 33},
        {"columns": ("z", "x")},
        {"columns": ("z", "x", "x")},
        {"columns": 2},
        {"columns": 0},
        {"columns": 3, "domain": MIXED},
        {"columns": ("z", "y"), "domain": MIXED},
        {"columns": ("z", "x", "y"), "domain": MIXED},
        {"columns": ("z",), "domain": Sphere(3)},
        {"columns": ("z",), "domain": Sphere(3, "x")},
        {"columns": ("z", "n"), "domain": NOTED},
        {"domain": Ball([0.0], 1.0)},
        {"unit": Unit("x")},
        {"unit": Unit("id", 2, clients=1)},
        {"unit": Unit("client", 1, clients=1, whole=True)},
        {"query": SecondMoment(5793)},
        {"columns": 2**16 + 1, "domain": Sphere(2**16 + 1)},
        {"query": SecondMoment(10**9)},
        {"size": 0},
        {"size": 2**24 + 1},
        {"sensitivity": replace(ONE_HOT, l1=0)},
        {"sensitivity": replace(ONE_HOT, linf=-1)},
        {"sensitivity": replace(ONE_HOT, l0=0)},
        {"sensitivity": replace(ONE_HOT, l2_squared=0)},
        {"sensitivity": replace(ONE_HOT, l1=2**63)},
        {"sensitivity": replace(ONE_HOT, l2_squared=2**127)},
    ],
)
def test_parts_that_do_not_agree_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|have|has|counts"):
        replace(REQUEST, **wrong)


@pytest.mark.attack
def test_a_unit_adds_to_no_more_coordinates_than_its_length_can_be_summed_over() -> None:
    wide = 1449  # 1,050,525 products, more than 2^20
    request = replace(REQUEST, columns=wide, domain=Sphere(wide), query=SecondMoment(wide))
    assert request.query.size > COORDINATES_MAX
    with pytest.raises(ValueError, match=f"1 to {COORDINATES_MAX} coordinates"):
        replace(request, unit=Unit("id"))


@pytest.mark.attack
def test_rows_of_a_profile_are_for_its_queries_only() -> None:
    """They leave the unit ball, in which products of others are exact."""
    profile = replace(REQUEST, domain=NOTED, columns=("z", "n", "x"))
    centers = np.zeros((2, 1))
    refused: list[Query] = [
        NearestVotes(np.eye(4) / 2),
        SecondMoment(4),
        ProfileSums(centers, 2, 2),
        ProfileSums(centers, 1, 1),
        ProfileSums(np.zeros((2, 2)), 1, 1),
        ProfileTallies(centers, (11,)),
        ProfileTallies(centers, (11, 4)),
    ]
    for query in refused:
        with pytest.raises(ValueError, match="one of a profile its domain"):
            replace(profile, query=query)
    fitting: list[Query] = [ProfileSums(centers, 2, 1), ProfileTallies(centers, (11, 3)), Count()]
    for query in fitting:
        replace(profile, query=query)
    with pytest.raises(ValueError, match="one of a profile its domain"):
        replace(REQUEST, query=ProfileTallies(np.zeros((2, 2)), (3,)))


def test_responses_may_be_long() -> None:
    assert SecondMoment(5792).size <= SIZE_MAX
    replace(REQUEST, query=SecondMoment(5792))
