"""Entries of a ledger rewritten by hand, with the chain of hashes made good or not."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import atheris

from fuzz.ledgers import original, put, use
from fuzz.values import edit, noise_seeds, value_from
from privclust.privacy.ledger.journal import NOTHING, Entry, hash_of

COLUMNS = ("number", "kind", "label", "run", "slot", "body", "fingerprint", "hash")
BODY = COLUMNS.index("body")
KINDS = ("ledger", "dataset", "reserve", "claim", "result", "close", "other")


def seeds() -> list[bytes]:
    """Return inputs to begin with."""
    return [b"", *noise_seeds(60)]


def attempt(data: bytes, folder: Path) -> None:
    """Change entries, put them back, and use the ledger."""
    source = atheris.FuzzedDataProvider(data)
    place = put(original(), folder)
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        for name in ("update", "delete", "replace"):
            connection.execute(f"DROP TRIGGER privclust_no_{name}")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        names = ", ".join(COLUMNS)
        found = connection.execute(f"SELECT {names} FROM privclust_entries ORDER BY number")
        rows = [list(row) for row in found]
        for _ in range(source.ConsumeIntInRange(0, 4)):
            change(rows, source)
        if source.ConsumeBool():
            rechain(rows)
        connection.execute("DELETE FROM privclust_entries")
        for row in rows:
            try:
                connection.execute(
                    f"INSERT INTO privclust_entries ({names}) VALUES ({','.join('?' * len(row))})",
                    row,
                )
            except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                continue  # SQLite itself would not hold it
    use(place)


def change(rows: list[list[Any]], data: atheris.FuzzedDataProvider) -> None:
    """Change one cell of one entry, or take the entry away."""
    if not rows:
        return
    row = rows[data.ConsumeIntInRange(0, len(rows) - 1)]
    match data.ConsumeIntInRange(0, 9):
        case 0:
            rows.remove(row)
        case 1:
            row[1] = data.PickValueInList([*KINDS])
        case 2 | 3:
            place = data.ConsumeIntInRange(0, len(COLUMNS) - 1)
            value = value_from(data, depth=0)
            row[place] = str(value) if isinstance(value, list | dict) else value
        case 4:
            row[BODY] = json.dumps(value_from(data))
        case _:
            try:
                body = json.loads(row[BODY])
                edit(body, data)
                row[BODY] = json.dumps(body)
            except (TypeError, ValueError):
                pass


def rechain(rows: list[list[Any]]) -> None:
    """Give entries the numbers and hashes they would have if they had been written so."""
    previous = NOTHING
    for last, row in enumerate(rows):
        try:
            kind, label, run, slot, body = row[1 : BODY + 1]
            previous = hash_of(last + 1, previous, Entry(kind, label, run, slot), body)
        except (TypeError, ValueError):
            return
        row[0], row[-1] = last + 1, previous
