"""Full disks, killed processes, lost servers: what was charged stays charged, and fits go on."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.interruptions import Interrupted
from helpers.postgres import cut
from helpers.processes import SECONDS, other_process, output_of
from helpers.small_fit import PLAN, SLOTS, small_fit
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from privclust.privacy.accounting import gaussian_spend
from privclust.privacy.ledger._sql_session import Session
from privclust.privacy.ledger.journal import Entry, LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.sql import SqlJournal, _SqlPages
from privclust.testing import RepeatableNoise, noise_from

COST = sum((PLAN.price(slot) for slot in PLAN.slots[1:]), PLAN.price(PLAN.slots[0]))


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    where = str(tmp_path / "ledger.db")
    if request.param == "postgresql":
        where = request.getfixturevalue("database")
    Ledger.create(where, "table", epsilon=1.0, delta=1e-6)
    return where


@pytest.fixture(scope="module")
def twin() -> list[list[int]]:
    """The results of a fit that nothing happened to."""
    with noise_from(RepeatableNoise(0)):
        return small_fit(None)


def assert_goes_on(place: str, twin: list[list[int]]) -> None:
    """The only run of a ledger, resumed, ends as its twin and has spent as much."""
    ledger = Ledger.open(place)
    (run,) = ledger.runs("table")
    with noise_from(RepeatableNoise(0)):
        assert small_fit(place, resume=run.name) == twin
    assert ledger.run(run.name).spent == COST
    assert ledger.verify() == []


# Killed ------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from helpers.interruptions import Interrupted
from privclust.testing import noise_from
from helpers.small_fit import small_fit
def die():
    print("drawing", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
with noise_from(Interrupted(2, die)):
    small_fit(sys.argv[1])
"""


def test_fit_killed_between_charge_and_result_goes_on(place: str, twin: list[list[int]]) -> None:
    with other_process(KILLED, place) as process:
        printed, _ = process.communicate(timeout=SECONDS)
    assert (printed, process.returncode) == ("drawing\n", -signal.SIGKILL)
    ledger = Ledger.open(place)
    (run,) = ledger.runs("table")
    assert (list(run.charges), run.open) == (["count", "votes 1"], True)
    assert ledger.remaining("table") == run.reserved.left_of(PLAN.budget.capacity)
    assert_goes_on(place, twin)


KILLED_WRITING = """
import sys
from privclust.privacy.ledger.journal import Entry
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.sql import SqlJournal, _SqlPages
from privclust.privacy.ledger._sql_session import Session
for number in range(5):
    Ledger.open(sys.argv[1]).add(f"table {number}", 1.0, 1e-6)
    print(number, flush=True)
with SqlJournal(sys.argv[1]).writing() as pages:
    pages.append(Entry("dataset", "half a data set"))
    print("inside", flush=True)
    sys.stdin.read()
"""


def test_a_process_killed_while_it_writes_leaves_whole_entries_and_no_lock(place: str) -> None:
    with other_process(KILLED_WRITING, place) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(6)]
        assert lines[-1] == "inside\n"
        process.kill()
        process.wait()
        ledger = Ledger.open(place)
        ledger.add("afterwards", 1.0, 1e-6)
    labels = [dataset.label for dataset in ledger.datasets()]
    assert labels == ["table", *(f"table {number}" for number in range(5)), "afterwards"]
    assert ledger.verify() == []


# A full disk -------------------------------------------------------------------------------------

FILL = """
import json, os, resource, sys
from pathlib import Path
import numpy as np
from privclust.privacy.accounting import Spend, gaussian_spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.records import StoredResult
from privclust.privacy.ledger.ledger import Ledger
folder, how = Path(sys.argv[1]), sys.argv[2]
place, ballast = str(folder / "ledger.db"), folder / "ballast"
ledger = Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
charge = gaussian_spend(ledger.remaining("table").quanta // 1000, 1)
run = ledger.reserve("table", sum([charge] * 999, Spend()), {})
result = StoredResult(np.arange(500), 1.0, "OpenDP")
if how == "limit":
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
else:
    ballast.write_bytes(bytes(500_000))
done, error = [], ""
try:
    for number in range(500):
        slot = f"votes {number}"
        ledger.claim(run, slot, charge, os.urandom(500))
        done.append(("claim", slot))
        ledger.record(run, slot, result)
        done.append(("result", slot))
except LedgerError as refused:
    error = str(refused)
kept = [[e["kind"], e["slot"]] for e in ledger.export() if e["kind"] in ("claim", "result")]
if how == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
else:
    ballast.unlink()
slots = [f"again {number}" for number in range(5)]
for slot in slots:
    ledger.claim(run, slot, charge, b"fingerprint")
    ledger.record(run, slot, result)
again = [slot for slot in slots if Ledger.open(place).claim(run, slot, charge, b"fingerprint")]
print(json.dumps([error, done, kept, len(again), ledger.verify()]))
"""


def can_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("how", ["limit", "tmpfs"] if can_mount() else ["limit"])
def test_a_full_disk_loses_nothing_and_says_what_to_do(tmp_path: Path, how: str) -> None:
    """A small disk that only the other process sees, where we may make one; else a limit."""
    if how == "tmpfs":
        mount = 'mount -t tmpfs -o size=1m tmpfs "$3" && exec "$1" -c "$2" "$3" tmpfs'
        command = ["unshare", "--mount", "sh", "-c", mount, "sh"]
        arguments = [sys.executable, FILL, str(tmp_path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        printed = subprocess.run(
            [*command, *arguments], env=environment, stdout=subprocess.PIPE, check=True
        ).stdout.decode()
    else:
        printed = output_of(FILL, str(tmp_path), "limit")
    error, done, kept, again, problems = json.loads(printed)
    assert "disk is full" in error if how == "tmpfs" else "disk I/O error" in error
    assert "that its disk has space" in error
    assert 4 <= len(done) < 1000
    assert kept == done
    assert again == 5
    assert problems == []


# A place where one may not write -----------------------------------------------------------------

NOBODY = 65534
READ_ONLY = f"""
import os, sqlite3, sys
import sqlalchemy.dialects.sqlite
from privclust.privacy.accounting import gaussian_spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
import privclust.privacy.ledger.sql
if os.geteuid() == 0:  # who may write anywhere
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
for place in sys.argv[1:]:
    try:
        if os.path.exists(place):
            Ledger.open(place).reserve("table", gaussian_spend(1, 1), {{}})
        else:
            Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
    except LedgerError as refused:
        print(refused)
"""


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder that others may read; pytest's own are closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="privclust-read-only-"))
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_where_one_may_not_write_nothing_is_reserved_and_the_remedy_is_named(
    read_only: Path,
) -> None:
    place = read_only / "ledger.db"
    Ledger.create(str(place), "table", epsilon=1.0, delta=1e-6)
    gc.collect()  # closes the file, so that nothing but the ledger itself is left
    place.chmod(0o444)
    read_only.chmod(0o555)
    printed = output_of(READ_ONLY, str(place), str(read_only / "new.db")).splitlines()
    assert len(printed) == 2
    causes = ("readonly database", "unable to open database file", "Permission denied")
    for line in printed:
        assert any(cause in line for cause in causes)
        assert "that this user may write there" in line
    read_only.chmod(0o755)
    place.chmod(0o644)
    assert Ledger.open(str(place)).runs("table") == ()
    assert Ledger.open(str(place)).verify() == []


# A server that goes away -------------------------------------------------------------------------


def cut_at(monkeypatch: pytest.MonkeyPatch, url: str, kind: str, number: int) -> None:
    """Cut all connections while the so-manieth entry of a kind is being written."""
    seen: list[str] = []
    append = _SqlPages.append

    def cutting(pages: _SqlPages, entry: Entry) -> None:
        seen.append(entry.kind)
        if entry.kind == kind and seen.count(kind) == number:
            assert cut(url) >= 1
        append(pages, entry)

    monkeypatch.setattr(_SqlPages, "append", cutting)


@pytest.mark.parametrize(
    ("kind", "number", "charged"), [("claim", 1, 0), ("result", 1, 1), ("claim", 3, 2)]
)
def test_a_fit_that_loses_its_server_goes_on(
    database: str,
    twin: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    number: int,
    charged: int,
) -> None:
    Ledger.create(database, "table", epsilon=1.0, delta=1e-6)
    with monkeypatch.context() as patch, noise_from(RepeatableNoise(0)):
        cut_at(patch, database, kind, number)
        with pytest.raises(LedgerError, match="server can be reached"):
            small_fit(database)
    (run,) = Ledger.open(database).runs("table")
    assert list(run.charges) == list(SLOTS[:charged])
    assert run.open
    assert_goes_on(database, twin)


def test_a_commit_that_never_arrived_charges_nothing_and_reads_nothing(
    database: str, twin: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.create(database, "table", epsilon=1.0, delta=1e-6)
    commits: list[str] = []
    execute = Session.execute

    def cutting(session: Session, statement: str, *values: Any) -> list[Any]:
        if statement == "COMMIT":
            commits.append(statement)
            if len(commits) == 2:  # the first reserves, the second would charge
                cut(database)
        return execute(session, statement, *values)

    noise = Interrupted(at=99)
    with monkeypatch.context() as patch, noise_from(noise):
        patch.setattr(Session, "execute", cutting)
        with pytest.raises(LedgerError, match="could not be read or written"):
            small_fit(database)
    assert noise.draws == 0
    (run,) = Ledger.open(database).runs("table")
    assert run.charges == {}
    assert_goes_on(database, twin)


@pytest.mark.parametrize("at", [1, 3])
def test_a_connection_lost_between_two_entries_costs_an_error_at_most(
    database: str, twin: list[list[int]], at: int
) -> None:
    Ledger.create(database, "table", epsilon=1.0, delta=1e-6)
    cuts: list[int] = []
    try:
        with noise_from(Interrupted(at, lambda: cuts.append(cut(database)))):
            small_fit(database)
    except LedgerError:
        (run,) = Ledger.open(database).runs("table")
        assert list(run.charges) == list(SLOTS[:at])
    assert len(cuts) == 1
    assert_goes_on(database, twin)


# A process and its locks --------------------------------------------------------------------------


def test_a_forked_process_spends_what_its_parent_sees(tmp_path: Path) -> None:
    """SQLite's locks do not survive a fork, so no connection may be open across one."""
    place = str(tmp_path / "ledger.db")
    ledger = Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
    whole = gaussian_spend(ledger.remaining("table").quanta, 1)

    def spend() -> None:
        Ledger.open(place).reserve("table", whole, {})

    child = multiprocessing.get_context("fork").Process(target=spend)
    child.start()
    del ledger
    child.join()
    assert child.exitcode == 0
    with pytest.raises(BudgetExceededError):
        Ledger.open(place).reserve("table", whole, {})


def test_a_process_forked_while_a_ledger_is_written_is_refused_one(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=1.0, delta=1e-6)

    def use() -> None:
        with pytest.raises(LedgerError, match="spawn"):
            Ledger.open(place)

    with SqlJournal(place).writing():
        child = multiprocessing.get_context("fork").Process(target=use)
        child.start()
        child.join()
    assert child.exitcode == 0
    assert Ledger.open(place).verify() == []


def test_a_log_that_was_taken_away_is_noticed_before_anything_is_granted(tmp_path: Path) -> None:
    """Copying the file drops this process's locks on it, and others may then remove the log."""
    place = tmp_path / "ledger.db"
    ledger = Ledger.create(str(place), "table", epsilon=1.0, delta=1e-6)
    half = gaussian_spend(ledger.remaining("table").quanta // 2, 1)
    ledger.reserve("table", half, {})
    (tmp_path / "ledger.db-wal").unlink()
    with pytest.raises(LedgerError, match="taken away"):
        ledger.reserve("table", half, {})


def test_server_that_is_lost_when_a_connection_is_first_used_is_a_ledger_error(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy asks a server for its version then, and wraps what goes wrong."""
    Ledger.create(database, "table", epsilon=1.0, delta=1e-6)
    initialize = PGDialect_psycopg.initialize

    def lost(self: PGDialect_psycopg, connection: Any) -> None:
        cut(database)
        initialize(self, connection)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(PGDialect_psycopg, "initialize", lost)
    with pytest.raises(LedgerError, match="could not be read or written"):
        Ledger.open(database)
    monkeypatch.undo()
    assert Ledger.open(database).dataset("table").label == "table"
