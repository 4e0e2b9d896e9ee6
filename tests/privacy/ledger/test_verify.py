"""Whoever changes a ledger is found out, whatever they change."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.postgres import execute

from privclust.privacy.accounting import Budget, Spend, gaussian_spend
from privclust.privacy.ledger.journal import Entry, LedgerError, chained
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import StoredResult
from privclust.privacy.ledger.sql import SqlJournal

UNLOCKED: str = "ALTER TABLE privclust_entries DISABLE TRIGGER ALL"
UNCHECKED: str = "ALTER TABLE privclust_entries DROP CONSTRAINT privclust_entries_check" + "".join(
    f", ALTER COLUMN {column} DROP EXPRESSION" for column in ("quanta", "slack", "tail", "pure")
)
TABLE: str = "privclust_entries"
FIRST_RESULT, SECOND_CLAIM, CLOSE, LAST = 5, 6, 7, 8
"""Numbers of the entries that `place` has; 1 is the beginning, 2 the data set, 3 and 8 reserve."""


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.attack), "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger with a run that claimed two slots, stored one result and ended, and an open one."""
    where = str(tmp_path / "ledger.db")
    if request.param == "postgresql":
        where = request.getfixturevalue("database")
    ledger = Ledger.create(where, "table", epsilon=1.0, delta=1e-6)
    charge = quarter(ledger)
    run = ledger.reserve("table", charge + charge, {"seed": "7"})
    ledger.claim(run, "count", charge, b"count")
    ledger.record(run, "count", StoredResult(np.array([123, 456]), 4.0, "OpenDP"))
    ledger.claim(run, "votes", charge, b"votes")
    ledger.close(run)
    ledger.reserve("table", charge, {})
    assert ledger.verify(ledger.head()) == []
    return where


def quarter(ledger: Ledger) -> Spend:
    return gaussian_spend(ledger.dataset("table").budget.capacity.quanta // 4, 1)


def tamper(place: str, *changes: str) -> None:
    """Change the entries behind the ledger's back, as someone may who owns the database."""
    if place.startswith("postgresql"):
        execute(place, UNLOCKED, UNCHECKED, *changes)
        return
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER privclust_no_{verb}")
        for change in changes:
            connection.execute(change)
        connection.commit()


def found(place: str, head: str | None = None) -> list[str]:
    return Ledger.open(place).verify(head)


# Changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (1, "body = replace(body, 'name', 'mane')"),
        (2, "body = replace(body, '1.0', '9.0')"),
        (2, "body = replace(body, 'row', 'pair')"),
        (3, "body = replace(body, 'seed', 'deed')"),
        (5, "body = replace(body, '123', '124')"),
        (5, "body = replace(body, 'OpenDP', 'none')"),
        (6, "slot = 'votes 2'"),
        (7, "kind = 'closed'"),
        (8, "run = 'another'"),
        (8, "number = 9"),
    ],
)
def test_a_changed_entry_is_found(place: str, number: int, change: str) -> None:
    tamper(place, f"UPDATE {TABLE} SET {change} WHERE number = {number}")
    assert f"entry {number} was changed, or an entry before it was taken out" in found(place)


@pytest.mark.parametrize("number", [2, 5, LAST])
def test_a_changed_hash_is_found(place: str, number: int) -> None:
    tamper(place, f"UPDATE {TABLE} SET hash = upper(hash) WHERE number = {number}")
    assert found(place) == [f"entry {number} was changed, or an entry before it was taken out"]


def test_changed_query_is_found(place: str) -> None:
    server = place.startswith("postgresql")
    literal = f"'\\x{b'who?'.hex()}'" if server else f"x'{zlib.compress(b'who?').hex()}'"
    tamper(place, f"UPDATE {TABLE} SET fingerprint = {literal} WHERE number = {SECOND_CLAIM}")
    assert found(place) == [f"the query of entry {SECOND_CLAIM} was changed"]


@pytest.mark.parametrize("number", [1, FIRST_RESULT, SECOND_CLAIM, CLOSE])
def test_a_missing_entry_is_found(place: str, number: int) -> None:
    tamper(place, f"DELETE FROM {TABLE} WHERE number = {number}")
    assert f"entry {number} was changed, or an entry before it was taken out" in found(place)


def test_a_closed_gap_is_found(place: str) -> None:
    tamper(
        place,
        "DELETE FROM privclust_entries WHERE number = 6",
        "UPDATE privclust_entries SET number = 6 WHERE number = 7",
        "UPDATE privclust_entries SET number = 7 WHERE number = 8",
    )
    assert found(place) == ["entry 6 was changed, or an entry before it was taken out"]


def test_entries_in_another_order_are_found(place: str) -> None:
    tamper(
        place,
        "UPDATE privclust_entries SET number = 99 WHERE number = 5",
        "UPDATE privclust_entries SET number = 5 WHERE number = 6",
        "UPDATE privclust_entries SET number = 6 WHERE number = 99",
    )
    assert found(place) == ["entry 5 was changed, or an entry before it was taken out"]


def test_an_emptied_ledger_is_found(place: str) -> None:
    tamper(place, "DELETE FROM privclust_entries")
    assert found(place) == ["the ledger has no beginning"]


# Copies put back ---------------------------------------------------------------------------------


def test_a_missing_last_entry_is_found_by_the_head_that_a_model_names(place: str) -> None:
    head = Ledger.open(place).head()
    tamper(place, f"DELETE FROM {TABLE} WHERE number = {LAST}")
    assert found(place) == []
    (problem,) = found(place, head)
    assert "the model's fit is not in this ledger" in problem
    assert "older copy" in problem


@pytest.mark.attack
def test_an_older_copy_that_was_put_back_lacks_what_came_after_it(tmp_path: Path) -> None:
    place, copy = str(tmp_path / "ledger.db"), str(tmp_path / "copy.db")
    ledger = Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
    with closing(sqlite3.connect(place)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    ledger.reserve("table", quarter(ledger), {})
    restored = Ledger.open(copy)
    assert restored.remaining("table") != ledger.remaining("table")
    assert restored.verify() == []
    assert "older copy" in restored.verify(ledger.head())[0]


# Forgeries with a chain that holds ---------------------------------------------------------------


def forge(place: str, *entries: Entry) -> None:
    """Append entries with a chain that holds, as someone may who owns the database."""
    names = "number, kind, label, run, slot, body, fingerprint, hash"
    for entry in entries:
        with SqlJournal(place).reading() as pages:
            line = chained(*pages.head(), entry)
        values = [line.number, entry.kind, entry.label, entry.run, entry.slot, line.text, line.hash]
        number, *texts = [str(value).replace("'", "''") for value in values]
        kind, label, run, slot, text, line_hash = (f"'{value}'" for value in texts)
        fingerprint = "''" if place.startswith("postgresql") else "x''"
        statement = (
            f"INSERT INTO privclust_entries ({names}) VALUES "
            f"({number}, {kind}, {label}, {run}, {slot}, {text}, {fingerprint}, {line_hash})"
        )
        if place.startswith("postgresql"):
            execute(place, statement)
        else:
            with closing(sqlite3.connect(place, isolation_level=None)) as connection:
                connection.execute(statement)


def spend(ledger: Ledger, quarters: int) -> dict[str, Any]:
    return asdict(gaussian_spend(quarters * quarter(ledger).quanta, 1))


def test_a_forged_reservation_beyond_the_budget_is_found(place: str) -> None:
    ledger = Ledger.open(place)
    body = {"spend": spend(ledger, 1), "facts": {}}
    forge(place, Entry("reserve", "table", "x", body=body))
    assert found(place) == []
    forge(place, Entry("reserve", "table", "y", body=body))
    assert found(place) == ["entry 10 overspends data set 'table'"]


def test_a_forged_charge_beyond_the_reservation_is_found(place: str) -> None:
    ledger = Ledger.open(place)
    run = ledger.runs("table")[1].name
    body = {"spend": spend(ledger, 2), "fingerprint": "0"}
    forge(place, Entry("claim", "table", run, "count", body))
    assert "entry 9 spends more than its run reserved" in found(place)


def test_a_forged_charge_after_the_end_is_found(place: str) -> None:
    ledger = Ledger.open(place)
    run = ledger.runs("table")[0].name
    body = {"spend": asdict(Spend()), "fingerprint": "0"}
    forge(place, Entry("claim", "table", run, "count 2", body))
    assert "entry 9 spends after its run was closed" in found(place)


def test_forged_result_that_nobody_paid_for_is_found(place: str) -> None:
    ledger = Ledger.open(place)
    run = ledger.runs("table")[1].name
    body = {"values": [1], "scale": 1.0, "noise": "OpenDP"}
    forge(place, Entry("result", "table", run, "count", body))
    assert found(place) == ["entry 9 is the result of a slot that was never charged"]


@pytest.mark.attack
def test_forged_close_is_found_and_frees_nothing(place: str) -> None:
    ledger = Ledger.open(place)
    run = ledger.runs("table")[1].name
    ledger.claim(run, "count", quarter(ledger), b"count")
    before = ledger.remaining("table")
    forge(place, Entry("close", "table", run, body={"spend": asdict(Spend()), "finished": True}))
    assert ledger.remaining("table") == before
    assert ledger.run(run).spent == quarter(ledger)
    assert found(place) == ["entry 10 claims to know what its run spent"]


def test_forged_end_of_a_run_that_never_began_is_found(place: str) -> None:
    """Such an entry keeps the runs of its data set from being listed."""
    forge(place, Entry("close", "table", "0" * 16, body={"finished": True}))
    with pytest.raises(LedgerError, match="has no beginning"):
        Ledger.open(place).runs("table")
    assert found(place) == ["entry 9 ends a run that never began"]


def test_forged_claim_on_another_data_set_is_found(place: str) -> None:
    ledger = Ledger.open(place)
    run = ledger.runs("table")[1].name
    body = {"spend": asdict(Spend()), "fingerprint": sha256(b"").hexdigest()}
    forge(place, Entry("claim", "chairs", run, "count", body))
    assert "entry 9 names another data set than its run" in found(place)


def test_forged_capacity_of_a_data_set_is_found(place: str) -> None:
    """A server cannot work out what epsilon and delta are worth; whoever verifies can."""
    budget = Budget(1.0, 1e-6)
    body = {"epsilon": 1.0, "delta": 1e-6, "unit": "row", "source": "", "pure": asdict(budget.pure)}
    generous = replace(budget.capacity, quanta=budget.capacity.quanta * 2)
    forge(place, Entry("dataset", "chairs", body={**body, "capacity": asdict(generous)}))
    assert found(place) == ["entry 9 lets a server grant more than its epsilon and delta"]


# A damaged file ----------------------------------------------------------------------------------


def test_a_damaged_file_is_found_wherever_the_damage_is(tmp_path: Path) -> None:
    """In the table or in the index that finds its lines: both hold the name of a slot."""
    place = tmp_path / "ledger.db"
    ledger = Ledger.create(str(place), "table", epsilon=1.0, delta=1e-6)
    run = ledger.reserve("table", quarter(ledger), {})
    ledger.claim(run, "uncommon", quarter(ledger), b"count")
    ledger.record(run, "uncommon", StoredResult(np.array([1]), 4.0, "OpenDP"))
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sound = place.read_bytes()
    places = [at for at in range(len(sound)) if sound.startswith(b"uncommon", at)]
    assert len(places) == 4
    for number, at in enumerate(places):
        damaged = tmp_path / f"damaged{number}.db"
        damaged.write_bytes(sound[:at] + b"UN" + sound[at + 2 :])
        assert found(str(damaged)) != []


def test_a_file_cut_short_is_an_error_not_a_clean_ledger(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    ledger = Ledger.create(str(whole), "table", epsilon=1.0, delta=1e-6)
    assert ledger.verify() == []
    with closing(sqlite3.connect(whole)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    short = tmp_path / "short.db"
    short.write_bytes(whole.read_bytes()[:-4096])
    with pytest.raises(LedgerError, match="malformed"):
        found(str(short))


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM privclust_entries WHERE kind = 'dataset'",
        "DELETE FROM privclust_entries WHERE kind = 'reserve'",
        "UPDATE privclust_entries SET fingerprint = '0' WHERE number = 4",
        "UPDATE privclust_entries SET body = '{}' WHERE number = 4",
        "UPDATE privclust_entries SET body = 'nonsense' WHERE number = 4",
        "UPDATE privclust_entries SET body = replace(replace(body, ': ', ':'), 'ta\":', 'ta\":-')",
        "UPDATE privclust_entries SET run = 'x' WHERE number = 4",
        "UPDATE privclust_entries SET label = 'x' WHERE number = 3",
    ],
)
def test_impossible_entries_are_reported_and_fail_nothing(place: str, change: str) -> None:
    tamper(place, change)
    assert Ledger.open(place).verify() != []


def test_a_second_reservation_of_a_run_is_found_and_gives_nothing_back(place: str) -> None:
    ledger = Ledger.open(place)
    before = ledger.remaining("table")
    run = ledger.runs("table")[0].name
    body = {"spend": asdict(Spend()), "facts": {}}
    forge(place, Entry("reserve", "table", run, "again", body))
    assert ledger.verify() == ["entry 9 repeats an entry before it"]
    assert ledger.remaining("table") == before


def test_a_second_budget_of_a_data_set_is_found(place: str) -> None:
    budget = Budget(60.0, 1e-6)
    larger: dict[str, Any] = {"epsilon": 60.0, "delta": 1e-6, "unit": "row", "source": ""}
    larger |= {"capacity": asdict(budget.capacity), "pure": asdict(budget.pure)}
    forge(place, Entry("dataset", "table", "", "again", larger))
    assert Ledger.open(place).verify() == ["entry 9 repeats an entry before it"]


@pytest.mark.attack
def test_entry_that_cannot_be_read_is_named_and_others_are_checked(place: str) -> None:
    ledger = Ledger.open(place)
    run = ledger.runs("table")[0].name
    beyond = {"values": [2**63], "scale": 1.0, "noise": "OpenDP"}
    forge(place, Entry("result", "table", run, "far", beyond))
    forge(place, Entry("reserve", "table", "ab" * 8, body={"spend": spend(ledger, 9), "facts": {}}))
    assert found(place) == [
        "entry 9 does not say what its kind should, so it was not written by us",
        "entry 10 overspends data set 'table'",
    ]


def test_entry_that_is_not_an_object_is_named(place: str) -> None:
    tamper(place, "UPDATE privclust_entries SET body = 'nonsense' WHERE number = 5")
    assert any("entry 5" in problem for problem in found(place))
