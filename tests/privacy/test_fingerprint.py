"""Hashes of domains: those that ledgers hold stay true, and each declaration has one of its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from hashlib import sha256

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.domains.profiled import ProfileDomain
from privclust.domains.sphere import Sphere
from privclust.privacy.fingerprint import serialize

BMI = NumberColumn("bmi", 12.0, 60.0)
VISIT = DateColumn("visit", date(2020, 1, 1), date(2021, 1, 1))
WARD = CategoryColumn("ward", ("A", "B"))


def hashed(domain: Domain) -> str:
    return sha256(serialize(domain)).hexdigest()[:16]


def test_columns_that_declare_nothing_of_missing_cells_keep_the_hash_of_older_ledgers() -> None:
    """By it a profile is found to declare what its ledger recorded."""
    mixed = Mixed((BMI, VISIT, WARD))
    assert hashed(mixed) == "0defb4c4ea22bdb4"
    assert hashed(ProfileDomain(Box([0], [1]), ("x",), (BMI, WARD))) == "028be9de709b7897"
    assert b"vector=None" in serialize(Sphere(3))


def test_another_value_for_missing_cells_is_another_hash() -> None:
    found = [
        Mixed((BMI, VISIT)),
        *(Mixed((replace(BMI, missing=value), VISIT)) for value in (12.0, 25.0)),
        *(Mixed((BMI, replace(VISIT, missing=day))) for day in (VISIT.lower, VISIT.upper)),
    ]
    assert len(set(map(hashed, found))) == len(found)
