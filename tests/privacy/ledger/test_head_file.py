"""A ledger that was put back from an older copy is noticed by the head kept beside it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from privclust.privacy.accounting import Budget, gaussian_spend
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

SMALL = gaussian_spend(Budget(1.0, 1e-6).capacity.quanta // 100, 1)


def kept(folder: Path) -> tuple[Ledger, HeadFile, Path]:
    place = folder / "ledger.db"
    ledger = Ledger.create(str(place), "table", epsilon=1.0, delta=1e-6)
    file = HeadFile(folder / "head")
    file.create(ledger)
    return ledger, file, place


@pytest.mark.attack
def test_an_older_copy_is_refused(tmp_path: Path) -> None:
    ledger, file, place = kept(tmp_path)
    copied = (
        f"import sqlite3; sqlite3.connect({str(place)!r}).execute('VACUUM INTO ?', ['copy.db'])"
    )
    subprocess.run([sys.executable, "-c", copied], check=True, cwd=tmp_path)
    ledger.reserve("table", SMALL, {})
    file.advance(ledger)
    del ledger
    for companion in ("", "-wal", "-shm"):
        Path(f"{place}{companion}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "copy.db", place)
    older = Ledger.open(str(place))
    with pytest.raises(LedgerError, match=r"lacks entry 3.*older copy"):
        file.check(older)
    older.reserve("table", SMALL, {"seed": "2"})  # as many entries, another history
    for act in (file.check, file.advance):
        with pytest.raises(LedgerError, match="older copy"):
            act(older)


def test_entries_written_since_are_no_reason_to_refuse(tmp_path: Path) -> None:
    ledger, file, _ = kept(tmp_path)
    ledger.reserve("table", SMALL, {})
    file.check(ledger)
    file.advance(ledger)
    before = (tmp_path / "head").read_bytes()
    file.advance(ledger)
    assert (tmp_path / "head").read_bytes() == before


def test_head_that_is_missing_or_damaged_is_refused(tmp_path: Path) -> None:
    ledger, file, _ = kept(tmp_path)
    with pytest.raises(LedgerError, match="exists already"):
        file.create(ledger)
    for content in ("", "[]", '{"number": 1}', "x" * 2000):
        (tmp_path / "head").write_text(content)
        with pytest.raises(LedgerError, match="cannot be read"):
            file.check(ledger)
    (tmp_path / "head").unlink()
    with pytest.raises(LedgerError, match="privclust node init"):
        file.advance(ledger)


def test_head_never_goes_back_while_many_advance_it(tmp_path: Path) -> None:
    ledger, _, place = kept(tmp_path)

    def spend(number: int) -> None:
        own = Ledger.open(str(place))
        own.reserve("table", SMALL, {"number": str(number)})
        HeadFile(tmp_path / "head").advance(own)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(spend, range(16)))
    assert (ledger.newest()[1]) in (tmp_path / "head").read_text()


def test_heads_of_a_server(database: str, tmp_path: Path) -> None:
    ledger = Ledger.create(database, "table", epsilon=1.0, delta=1e-6)
    file = HeadFile(tmp_path / "head")
    file.create(ledger)
    ledger.reserve("table", SMALL, {})
    file.advance(ledger)
    file.check(ledger)
    other = Ledger.in_memory()
    with pytest.raises(LedgerError, match="lacks entry"):
        file.check(other)
