"""Entries that fuzzing put into a ledger: every verb refuses them in words, and verify tells."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from privclust.privacy.accounting import QUANTA, gaussian_spend
from privclust.privacy.ledger.journal import Entry, LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import StoredResult
from privclust.privacy.ledger.sql import FINGERPRINT_MAX, SqlJournal

COST = gaussian_spend(QUANTA // 100, 1)


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A ledger with a run of one measured slot; entries 1 to 5 are one of each kind but the end."""
    where = str(tmp_path / "ledger.db")
    ledger = Ledger.create(where, "table", epsilon=1.0, delta=1e-6)
    run = ledger.reserve("table", COST, {})
    ledger.claim(run, "count", COST, b"count")
    ledger.record(run, "count", StoredResult(np.array([1]), 4.0, "OpenDP"))
    return where


def change(place: str, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER privclust_no_{verb}")
        connection.execute(statement, values)


def refusals(place: str) -> int:
    """Use all verbs and return how many refuse; any other error is one of this test."""
    ledger = Ledger.open(place)
    run = next((str(line["run"]) for line in entries(place) if line["number"] == 3), "gone")
    refused = 0
    for verb in (
        lambda: ledger.remaining("table"),
        lambda: ledger.datasets(),
        lambda: ledger.runs("table"),
        lambda: ledger.resume(run, "table", {}),
        lambda: ledger.claim(run, "count", COST, b"count"),
        lambda: ledger.reserve("table", COST, {}),
        lambda: ledger.close(run),
    ):
        try:
            verb()
        except (LedgerError, BudgetExceededError):
            refused += 1
    return refused


def entries(place: str) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(place)) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute("SELECT * FROM privclust_entries").fetchall()


@pytest.mark.parametrize("number", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "body",
    [
        *("", "nonsense", "null", "[]", "{}", "[" * 100_000),
        '{"spend": 5, "facts": {}, "fingerprint": "", "epsilon": 1, "delta": [], "values": "x"}',
        '{"spend": {"quanta": "1", "slack": 0, "tail": 0, "pure": 0}, "epsilon": 1e9, "delta": 1}',
        '{"spend": {"quanta": -1, "slack": 0, "tail": 0, "pure": 0}, "values": [0.5]}',
        '{"spend": {"quanta": 1, "slack": NaN, "tail": 0, "pure": 0}, "values": [NaN]}',
        '{"spend": {"more": 1}, "epsilon": 1e9, "delta": 0.5, "unit": "", "source": ""}',
    ],
    ids=lambda body: body[:30],
)
def test_a_body_that_makes_no_sense_is_refused_by_every_verb_that_reads_it(
    number: int, body: str, place: str
) -> None:
    change(place, "UPDATE privclust_entries SET body = ? WHERE number = ?", body, number)
    assert refusals(place) > 0
    assert Ledger.open(place).verify() != []


@pytest.mark.parametrize("kind", ["reserve", "claim", "dataset"])
def test_a_run_without_its_beginning_is_refused(kind: str, place: str) -> None:
    change(place, "DELETE FROM privclust_entries WHERE kind = ?", kind)
    refusals(place)
    assert Ledger.open(place).verify() != []


@pytest.mark.parametrize("column", ["kind", "label", "run", "slot", "hash"])
@pytest.mark.parametrize("value", [7, b"\xff", "\x00", "x" * 1000])
def test_names_of_another_type_fail_nothing_else(column: str, value: object, place: str) -> None:
    change(place, f"UPDATE privclust_entries SET {column} = ? WHERE number = 4", value)
    refusals(place)
    assert Ledger.open(place).verify() != []


def test_format_that_is_not_a_number_is_refused_when_the_ledger_is_opened(place: str) -> None:
    for body in ("{}", '{"format": []}', '{"format": "2"}', '{"format": 1}'):
        change_body = "UPDATE privclust_entries SET body = ? WHERE number = 1"
        with closing(sqlite3.connect(place, isolation_level=None)) as connection:
            connection.execute("DROP TRIGGER IF EXISTS privclust_no_update")
            connection.execute(change_body, (body,))
        with pytest.raises(LedgerError, match="this version of privclust reads 3"):
            Ledger.open(place)


def test_fingerprint_is_not_unpacked_beyond_its_limit(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of zeros takes a kilobyte; one of a terabyte would still fit into a file."""
    assert FINGERPRINT_MAX == 2**28
    monkeypatch.setattr("privclust.privacy.ledger.sql.FINGERPRINT_MAX", 1000)
    packed = zlib.compress(bytes(2**20))
    change(place, "UPDATE privclust_entries SET fingerprint = ? WHERE number = 4", packed)
    with SqlJournal(place).reading() as pages:
        assert pages.fingerprint(4) == bytes(1000)
    assert Ledger.open(place).verify() == ["the query of entry 4 was changed"]


def test_forged_result_of_a_slot_that_was_never_charged_is_not_given(place: str) -> None:
    run = str(entries(place)[3]["run"])
    body = {"values": [1], "scale": 1.0, "noise": "OpenDP"}
    with SqlJournal(place).writing() as pages:
        pages.append(Entry("result", "table", run, "votes", body))
    with pytest.raises(LedgerError, match="never claimed"):
        Ledger.open(place).record(run, "votes", StoredResult(np.array([2]), 1.0, "OpenDP"))


def test_names_of_a_damaged_file_that_are_not_text_are_a_ledger_error(place: str) -> None:
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = Path(place).read_bytes()
    broken = Path(place).with_name("broken.db")
    broken.write_bytes(content.replace(b"privclust_entries", b"privclust_\xff\xfetries"))
    with pytest.raises(LedgerError):
        Ledger.open(str(broken))


@pytest.mark.parametrize("value", [None, 7, b"\xff"])
def test_a_last_entry_without_a_hash_is_a_ledger_error(place: str, value: object) -> None:
    """A damaged page holds what the table's rules forbid."""
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER privclust_no_update")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'hash TEXT NOT NULL', 'hash BLOB')"
        )
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        newest = "(SELECT max(number) FROM privclust_entries)"
        connection.execute(
            f"UPDATE privclust_entries SET hash = ? WHERE number = {newest}", (value,)
        )
    ledger = Ledger.open(place)
    with pytest.raises(LedgerError, match="no hash"):
        ledger.reserve("table", COST, {})
    with pytest.raises(LedgerError, match="no hash"):
        ledger.head()
    assert ledger.verify() != []


def test_text_that_cannot_be_decoded_keeps_no_lock(place: str, tmp_path: Path) -> None:
    """The verb that failed half way through its lines would otherwise keep others out."""
    change(place, "UPDATE privclust_entries SET run = CAST(x'ff' AS TEXT) WHERE number = 3")
    copy = tmp_path / "copy.db"  # without a write-ahead log, in which readers keep nobody out
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    ledger = Ledger.open(str(copy))
    with pytest.raises(LedgerError, match="decode") as refusal:
        ledger.runs("table")
    with closing(sqlite3.connect(copy, timeout=0)) as other:
        assert other.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    del refusal  # the error, and with it all that its frames hold, lived until here
