"""What a ledger is written into: whole entries, in order, never changed, and for good."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from helpers.postgres import execute

from privclust.privacy.ledger.journal import (
    NOTHING,
    Entry,
    Journal,
    LedgerError,
    MemoryJournal,
    chained,
    hash_of,
)
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.sql import SqlJournal

ENTRY = Entry("dataset", "table", "run", "count", {"cost": 0.1, "big": 2**70}, b"fingerprint" * 999)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("database"))
    return str(tmp_path / "ledger.db")


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    if request.param == "memory":
        return MemoryJournal()
    if request.param == "sqlite":
        return made(str(tmp_path / "ledger.db"))
    return made(request.getfixturevalue("database"))


def write(journal: Journal, *entries: Entry) -> None:
    """Append entries in one transaction."""
    with journal.writing() as pages:
        for entry in entries:
            pages.append(entry)


def made(place: str) -> SqlJournal:
    journal = SqlJournal(place)
    journal.make()
    return journal


# Entries -----------------------------------------------------------------------------------------


def test_a_journal_begins_with_nothing(journal: Journal) -> None:
    with journal.reading() as pages:
        assert (pages.lines(), pages.head()) == ([], (0, NOTHING))
    assert journal.ailments() == []


def test_entries_come_back_as_they_were_written_each_chained_to_the_last(journal: Journal) -> None:
    entries = [
        Entry("ledger", body={"name": "a"}),
        Entry("dataset", "tableau à né", body={"epsilon": 0.1 + 0.2, "unit": 'a "row"\n— né'}),
        ENTRY,
    ]
    for entry in entries:
        write(journal, entry)
    with journal.reading() as pages:
        lines, last = pages.lines(), pages.head()
        kept = pages.fingerprint(3)
    previous = NOTHING
    for number, (line, entry) in enumerate(zip(lines, entries, strict=True)):
        assert line.hash == hash_of(number + 1, previous, entry, line.text)
        assert (line.number, line.entry.kind, line.entry.body) == (
            number + 1,
            entry.kind,
            entry.body,
        )
        assert line.entry.fingerprint == b""
        previous = line.hash
    assert last == (3, previous)
    assert kept in (None, ENTRY.fingerprint)


def test_lines_are_found_by_kind_label_run_and_slot(journal: Journal) -> None:
    with journal.writing() as pages:
        for number in range(4):
            pages.append(Entry("dataset", "table", str(number % 2), f"slot {number}"))
            pages.append(Entry("ledger", "chairs", str(number % 2), f"slot {number}"))
    with journal.reading() as pages:
        assert [line.number for line in pages.lines("dataset", run="1")] == [3, 7]
        assert [line.number for line in pages.lines("dataset", "ledger", run="0")] == [1, 2, 5, 6]
        assert [line.number for line in pages.lines("dataset", after=3)] == [5, 7]
        assert [line.number for line in pages.lines(label="chairs", slot="slot 3")] == [8]
        assert pages.lines("close") == []


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "ledger"},
        {"label": "chairs"},
        {"run": "nur"},
        {"slot": "votes"},
        {"body": {"cost": 0.1, "big": 2**70 + 1}},
    ],
)
def test_every_part_of_an_entry_is_in_its_hash(change: dict[str, Any]) -> None:
    changed = Entry(**{**vars(ENTRY), **change})
    assert chained(3, "abc", changed).hash != chained(3, "abc", ENTRY).hash
    assert chained(4, "abc", ENTRY).hash != chained(3, "abc", ENTRY).hash
    assert chained(3, "abd", ENTRY).hash != chained(3, "abc", ENTRY).hash


def test_a_body_that_json_does_not_know_is_refused(journal: Journal) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write(journal, Entry("ledger", body={"cost": float("nan")}))
    with journal.reading() as pages:
        assert pages.lines() == []


# Transactions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_work_that_fails_leaves_no_entry_and_no_lock(
    journal: Journal, failure: type[BaseException]
) -> None:
    write(journal, Entry("ledger"))

    def fail() -> None:
        with journal.writing() as pages:
            pages.append(Entry("dataset", "table"))
            pages.append(ENTRY)
            raise failure

    with pytest.raises(failure):
        fail()
    with journal.writing() as pages:
        assert [line.entry.kind for line in pages.lines()] == ["ledger"]
        pages.append(ENTRY)
    with journal.reading() as pages:
        assert pages.head()[0] == 2


def test_what_is_not_committed_is_seen_by_nobody(journal: Journal) -> None:
    seen: list[int] = []

    def count_lines() -> None:
        with journal.reading() as pages:
            seen.append(len(pages.lines()))

    # Memory makes readers wait, databases show them what was there before.
    waits = isinstance(journal, MemoryJournal)
    reader = threading.Thread(target=count_lines)
    with journal.writing() as pages:
        pages.append(ENTRY)
        reader.start()
        reader.join(0.2 if waits else None)
        assert seen == ([] if waits else [0])
    reader.join()
    assert seen == ([1] if waits else [0])


def test_a_reader_sees_one_state(place: str) -> None:
    journal = made(place)
    with journal.reading() as pages:
        assert pages.lines() == []
        write(SqlJournal(place), ENTRY)
        assert pages.lines() == []
    with journal.reading() as pages:
        assert len(pages.lines()) == 1


def test_writers_wait_for_each_other(journal: Journal) -> None:
    def write_some(number: int) -> None:
        for slot in range(5):
            write(journal, Entry("dataset", "table", str(number), str(slot)))

    writers = [threading.Thread(target=write_some, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with journal.reading() as pages:
        lines = pages.lines()
    previous = NOTHING
    for number, line in enumerate(lines, start=1):
        assert (line.number, line.hash) == (
            number,
            hash_of(number, previous, line.entry, line.text),
        )
        previous = line.hash
    assert len(lines) == 15


def test_a_database_has_the_last_word_on_a_slot_written_twice(place: str) -> None:
    journal = made(place)
    with pytest.raises(LedgerError, match=r"(?i)unique|appended"):
        write(journal, ENTRY, ENTRY)
    with journal.reading() as pages:
        assert pages.lines() == []


# Append-only -------------------------------------------------------------------------------------

CHANGES: list[str] = [
    "UPDATE privclust_entries SET body = '{}'",
    "UPDATE privclust_entries SET fingerprint = '' WHERE number = 2",
    "DELETE FROM privclust_entries",
    "DELETE FROM privclust_entries WHERE number = 2",
]


@pytest.mark.attack
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_is_only_ever_appended_to(tmp_path: Path, change: str) -> None:
    ledger = Ledger.create(str(tmp_path / "ledger.db"), "table", epsilon=1.0, delta=1e-6)
    before = ledger.export()
    connection = sqlite3.connect(tmp_path / "ledger.db")
    with pytest.raises(sqlite3.IntegrityError, match="a ledger is only ever appended to"):
        connection.execute(change)
    connection.close()
    assert ledger.export() == before


@pytest.mark.parametrize("change", [*CHANGES, "TRUNCATE privclust_entries"])
def test_a_server_is_only_ever_appended_to(database: str, change: str) -> None:
    ledger = Ledger.create(database, "table", epsilon=1.0, delta=1e-6)
    before = ledger.export()
    with pytest.raises(psycopg.errors.RaiseException, match="a ledger is only ever appended to"):
        execute(database, change)
    assert ledger.export() == before


# Places ------------------------------------------------------------------------------------------


def nothing(place: Path) -> None:
    pass


def text(place: Path) -> None:
    place.write_text("age,ward\n34,A\n" * 99, encoding="utf-8")


def another_database(place: Path) -> None:
    connection = sqlite3.connect(place)
    connection.execute("CREATE TABLE patients (age)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("put", "message"),
    [
        (nothing, "there is no ledger at .* Ledger.create"),
        (Path.touch, "there is no ledger at"),
        (Path.mkdir, "there is no ledger at"),
        (another_database, "there is no ledger at"),
        (text, "file is not a database"),
    ],
)
def test_what_is_not_a_ledger_is_not_opened(
    tmp_path: Path, put: Callable[[Path], None], message: str
) -> None:
    place = tmp_path / "ledger.db"
    put(place)
    with pytest.raises(LedgerError, match=message):
        Ledger.open(str(place))
    assert place.exists() == (put is not nothing)


@pytest.mark.parametrize("put", [text, Path.mkdir])
def test_a_ledger_is_not_made_over_something_else(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    place = tmp_path / "ledger.db"
    put(place)
    before = place.read_bytes() if place.is_file() else None
    with pytest.raises(LedgerError, match="could not be read or written"):
        Ledger.create(str(place), "table", epsilon=1.0, delta=1e-6)
    assert before == (place.read_bytes() if place.is_file() else None)


def test_a_server_without_a_ledger_says_so(database: str) -> None:
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger.open(database)
    assert execute(database, "SELECT * FROM pg_tables WHERE tablename LIKE 'privclust%'") == []


def test_server_that_does_not_respond_is_named_as_the_cause() -> None:
    with pytest.raises(LedgerError, match=r"(?s)Connection refused.*server can be reached"):
        Ledger.open("postgresql://nobody@127.0.0.1:1/none")


def test_password_is_refused_and_not_displayed() -> None:
    for use in (Ledger.open, lambda place: Ledger.create(place, "table", epsilon=1.0, delta=1e-6)):
        with pytest.raises(LedgerError, match="must not hold a password") as refused:
            use("postgresql://postgres:pa55w0rd@127.0.0.1:1/none")
        assert "pa55w0rd" not in str(refused.value)


def test_a_second_data_set_joins_the_ledger_that_exists(place: str) -> None:
    Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
    Ledger.create(place, "chairs", epsilon=2.0, delta=1e-6)
    again = Ledger.open(place)
    assert [dataset.label for dataset in again.datasets()] == ["table", "chairs"]
    assert len([entry for entry in again.export() if entry["kind"] == "ledger"]) == 1
    with pytest.raises(ValueError, match="a budget never grows"):
        Ledger.create(place, "table", epsilon=9.0, delta=1e-6)


# Places ------------------------------------------------------------------------------------------


def test_an_entry_cannot_be_replaced(tmp_path: Path) -> None:
    """SQLite tells triggers for deletes nothing about what INSERT OR REPLACE removes."""
    place = str(tmp_path / "ledger.db")
    before = Ledger.create(place, "table", epsilon=1.0, delta=1e-6).export()
    with closing(sqlite3.connect(place)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(
            "INSERT OR REPLACE INTO privclust_entries SELECT number, kind, label, run, slot, "
            "'{}', fingerprint, hash FROM privclust_entries WHERE number = 2"
        )
    assert Ledger.open(place).export() == before


@pytest.mark.parametrize("empty", [True, False])
def test_what_is_not_a_ledger_is_left_as_it_was(tmp_path: Path, empty: bool) -> None:
    file = tmp_path / "other.db"
    file.touch()
    if not empty:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE patients (age)")
            connection.commit()
    before = file.read_bytes()
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.open(str(file))
    assert file.read_bytes() == before


def test_making_a_ledger_waits_for_whoever_writes(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
    with closing(sqlite3.connect(place, **options)) as other:
        other.execute("CREATE TABLE something (x)")
        other.execute("BEGIN IMMEDIATE")
        ends = threading.Timer(0.5, lambda: other.execute("COMMIT"))
        ends.start()
        try:
            Ledger.create(str(place), "table", epsilon=1.0, delta=1e-6)
        finally:
            ends.join()


def test_a_charge_is_on_the_servers_disk_whatever_its_settings(database: str) -> None:
    execute(database, f"ALTER DATABASE {database.rsplit('/', 1)[1]} SET synchronous_commit = off")
    with made(database)._transaction() as session:
        assert session.execute("SHOW synchronous_commit") == [("on",)]


@pytest.mark.parametrize(
    "place", ["", ":memory:", "postgres://host/x", "postgresql+psycopg://host/x", "sqlite:///x.db"]
)
def test_what_is_neither_a_file_nor_a_servers_url_is_refused(place: str) -> None:
    with pytest.raises(LedgerError, match="cannot be at this place"):
        Ledger.create(place, "table", epsilon=1.0, delta=1e-6)


def test_a_password_in_a_url_is_refused() -> None:
    with pytest.raises(LedgerError, match="PGPASSWORD"):
        Ledger.open("postgresql://user:secret@host/budgets")


@pytest.mark.attack
@pytest.mark.parametrize("message", ["", "first line\nDETAIL: Failing row contains 123456"])
def test_database_error_is_reported_by_its_first_line_or_without_text(
    tmp_path: Path, message: str
) -> None:
    """An error without a text ends the work too; what follows its first line stays inside."""
    journal = made(str(tmp_path / "ledger.db"))

    def fail() -> None:
        with journal.writing() as pages:
            pages.append(ENTRY)
            raise sqlite3.OperationalError(message)

    with pytest.raises(LedgerError) as failed:
        fail()
    assert "123456" not in str(failed.value)
    with journal.reading() as pages:
        assert pages.lines() == []


def test_a_ledger_of_another_format_is_not_read(tmp_path: Path) -> None:
    journal = made(str(tmp_path / "ledger.db"))
    write(journal, Entry("ledger", body={"format": 1, "name": "earlier"}))
    with pytest.raises(LedgerError, match="the version that wrote it"):
        Ledger.open(journal.place)
