"""A ledger to attack, and what must hold of it afterwards."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import numpy as np

from privclust.privacy.accounting import QUANTA, gaussian_spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import StoredResult

ALLOWED = (LedgerError, BudgetExceededError)
LABELS = ("visits", "pure")
COST = gaussian_spend(QUANTA // 100, 1)


@cache
def original() -> bytes:
    """Return a ledger's file: two data sets, and runs that are open, finished and given up."""
    with tempfile.TemporaryDirectory() as place:
        file = f"{place}/ledger.db"
        ledger = Ledger.create(file, "visits", epsilon=4.0, delta=1e-6)
        ledger.add("pure", 1.0, 0.0, unit="who", source="a table")
        for finished in (True, False, None):
            run = ledger.reserve("visits", COST + COST, {"seed": "7"})
            ledger.claim(run, "count", COST, b"Count")
            ledger.record(run, "count", StoredResult(np.array([1, -2]), 2.0**20, "OpenDP"))
            if finished is not None:
                ledger.close(run, finished)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(f"VACUUM INTO '{place}/copy.db'")
        return Path(f"{place}/copy.db").read_bytes()


def put(data: bytes, folder: Path) -> str:
    """Write a ledger's file in place of the one before it."""
    file = folder / "ledger.db"
    for companion in ("", "-wal", "-shm", "-journal"):
        Path(f"{file}{companion}").unlink(missing_ok=True)
    file.write_bytes(data)
    return str(file)


def use(place: str) -> None:
    """Do all that is done with a ledger; one in which nothing is wrong serves everybody."""
    try:
        ledger = Ledger.open(place)
        healthy = ledger.verify() == []
    except ALLOWED:
        return
    for label in LABELS:
        try:
            runs = ledger.runs(label)
            ledger.epsilon_left(label)
            ledger.dataset(label)
        except ALLOWED:
            assert not healthy or label not in {one.label for one in ledger.datasets()}
            continue
        for run in runs:
            with suppress(*ALLOWED):
                ledger.resume(run.name, label, run.facts)
                ledger.claim(run.name, "count", COST, b"Count")
                ledger.close(run.name)
        with suppress(*ALLOWED):
            ledger.reserve(label, COST, {})
    try:
        ledger.export()
        assert not healthy or ledger.verify() == []
    except ALLOWED:
        assert not healthy
