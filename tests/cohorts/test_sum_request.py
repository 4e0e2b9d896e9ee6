"""Requests: all that they say counts, and what does not belong together is refused."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.cohort_parts import NAMES, agreed, membership_of, request_of, terms_of
from helpers.query_examples import SUMS, VOTES

from fuzz.hostile import joined, parts_of
from privclust.cohorts.sum_request import ATTEMPTS_MAX, SLOT_MAX, Reply, SumRequest
from privclust.cohorts.terms import Agreement
from privclust.engines.federated.wire import WireError, decode, encode


@cache
def agreement() -> Agreement:
    return agreed(terms_of(), map(membership_of, NAMES))


@pytest.mark.parametrize(
    "changed",
    [
        {"agreement": bytes(31)},
        {"attempt": 0},
        {"attempt": ATTEMPTS_MAX + 1},
        {"slot": ""},
        {"slot": "a\n"},
        {"slot": "x" * (SLOT_MAX + 1)},
        {"quanta": 0},
        {"quanta": -1},
        {"l0": 0},
        {"l0": 2**24 + 1},
        {"cohort": ("north", "east")},
        {"cohort": ("east", "east")},
    ],
)
def test_request_that_cannot_be_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"request|slot|cohort"):
        request_of(agreement(), **changed)


@pytest.mark.attack
@pytest.mark.parametrize(
    "changed",
    [
        {"cohort": ("north",)},
        {"cohort": ()},
        {"cohort": ("east", "west")},
        {"size": VOTES.size + 1},
        {"sensitivity": replace(VOTES.sensitivity, l2_squared=1)},
        {"sampling_exponent": 33},
        {"sampling_exponent": -1},
    ],
)
def test_request_that_does_not_keep_to_the_terms_is_refused(changed: dict[str, Any]) -> None:
    request = request_of(agreement(), **changed)
    with pytest.raises(ValueError, match=r"cohort|code|exponent"):
        request.query_request(agreement().terms)


def test_request_has_the_domain_columns_and_unit_of_the_terms() -> None:
    terms = agreement().terms
    request = request_of(agreement()).query_request(terms)
    assert (request.columns, request.domain, request.unit) == (
        terms.columns,
        terms.domain,
        terms.unit,
    )


def test_hash_of_a_request_is_over_all_of_it() -> None:
    request = request_of(agreement())
    others: dict[str, Any] = {
        "agreement": bytes(32),
        "slot": "other",
        "attempt": 2,
        "cohort": NAMES[:2],
        "quanta": request.quanta + 1,
        "l0": request.l0 + 1,
        "sampling_exponent": 1,
        "query": SUMS,
        "sensitivity": SUMS.sensitivity,
        "size": SUMS.size,
    }
    assert set(others) == {one.name for one in fields(SumRequest)}
    changed = {replace(request, **{name: value}).digest for name, value in others.items()}
    assert len(changed | {request.digest}) == 1 + len(others)


@pytest.mark.attack
@pytest.mark.parametrize("name", ["key", "secret", "domain", "unit", "columns", "sigma"])
def test_request_has_no_place_for_a_key_a_unit_or_a_sigma(name: str) -> None:
    """Whoever knows the key of a sample can tell a row by whom else it leaves out."""
    content, blobs = parts_of(encode(request_of(agreement())))
    assert name not in content["fields"]
    content["fields"][name] = {"bytes": 32}
    with pytest.raises(WireError):
        decode(joined((content, blobs + bytes(32))), SumRequest)


def test_each_attempt_has_a_name_of_its_own_in_ledgers() -> None:
    names = [request_of(agreement(), attempt=attempt).ledger_slot for attempt in (1, 2, 3)]
    assert names == ["votes", "votes, attempt 2", "votes, attempt 3"]


def test_reply_arrives_as_it_left() -> None:
    values = np.array([0, -1, 2**63 - 1, -(2**63)])
    reply = Reply(bytes(32), "north", "OpenDP", values.astype("<i8").tobytes())
    assert decode(encode(reply), Reply).integers().tolist() == values.tolist()
