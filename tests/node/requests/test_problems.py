"""Refusals are problem+json, of a few kinds, and say nothing that they should not."""

from __future__ import annotations

import json

import pytest

from privclust.node.requests.problems import KINDS, MEDIA_TYPE, NOT_FOUND, Kind, problem, refused
from privclust.remote import _problems
from privclust.remote._connection import Response
from privclust.remote._problems import problem_of


def test_client_explains_every_kind() -> None:
    assert set(_problems._CAUSES) == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "detail", "other"),
    [
        ("not-allowed", "delta may be at most 1e-06. Leave it out.", "Ask the owner"),
        ("too-costly", "n_clusters may be at most 32 for you.", "or columns"),
    ],
)
def test_client_gives_one_piece_of_advice(kind: Kind, detail: str, other: str) -> None:
    headers = {"content-type": MEDIA_TYPE}
    told = problem_of(Response(422, headers, problem(kind, detail).to_json()))
    assert str(told).endswith(f"The node says: {detail}")
    assert other not in str(told)
    assert other in str(problem_of(Response(422, headers, problem(kind, "").to_json())))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_status_and_a_title(kind: Kind) -> None:
    found = json.loads(problem(kind, "Why.", requested=2.0).to_json())
    assert found["type"] == f"urn:privclust:{kind}"
    assert 400 <= found["status"] < 600
    assert found["title"]
    assert (found["detail"], found["requested"]) == ("Why.", 2.0)


def test_numbers_beside_it_replace_nothing() -> None:
    assert problem("conflict", "Why.", title="x").to_dict()["title"] != "x"


def test_error_carries_its_problem() -> None:
    error = refused("invalid-request", "Too long.", status=413)
    assert (error.problem.status, str(error)) == (413, "Too long.")


def test_not_found_has_one_text() -> None:
    assert b"or it is not yours" in NOT_FOUND.to_json()
