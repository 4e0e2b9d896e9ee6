"""A ledger's file has one name, and is its owner's."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from privclust.privacy.accounting import Spend, gaussian_spend
from privclust.privacy.ledger._file import COMPANIONS
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import StoredResult


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A ledger that is open in this process, in a folder of its own."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "ledger.db"


def created(place: Path) -> Ledger:
    return Ledger.create(str(place), "table", epsilon=1.0, delta=1e-6)


def most(ledger: Ledger) -> Spend:
    """More than half of the budget, so that there is only one."""
    return gaussian_spend(int(ledger.dataset("table").budget.capacity.quanta * 0.6), 1)


# Names -------------------------------------------------------------------------------------------


@pytest.mark.attack
def test_second_name_of_a_ledger_is_refused(place: Path) -> None:
    created(place)
    other = place.with_name("other.db")
    os.link(place, other)
    for name in (place, other):
        with pytest.raises(LedgerError, match=r"2 names \(hard links\).*Remove the others"):
            Ledger.open(str(name))
    other.unlink()
    assert Ledger.open(str(place)).verify() == []


@pytest.mark.attack
@pytest.mark.parametrize("verb", ["reserve", "claim", "record", "close", "add"])
def test_link_made_while_a_ledger_is_open_stops_every_write(place: Path, verb: str) -> None:
    ledger = created(place)
    charge = most(ledger)
    run = ledger.reserve("table", charge, {})
    ledger.claim(run, "count", charge, b"count")
    before = ledger.export()
    os.link(place, place.with_name("other.db"))
    verbs: dict[str, Callable[[], object]] = {
        "reserve": lambda: ledger.reserve("table", Spend(), {}),
        "claim": lambda: ledger.claim(run, "votes", Spend(), b"votes"),
        "record": lambda: ledger.record(run, "count", StoredResult(np.array([1]), 4.0, "OpenDP")),
        "close": lambda: ledger.close(run),
        "add": lambda: ledger.add("chairs", 1.0, 1e-6),
    }
    with pytest.raises(LedgerError, match="hard links"):
        verbs[verb]()
    place.with_name("other.db").unlink()
    assert ledger.export() == before
    verbs[verb]()


@pytest.mark.parametrize("relative", [False, True])
def test_symbolic_link_is_refused_and_the_file_itself_is_named(place: Path, relative: bool) -> None:
    created(place)
    link = place.with_name("link.db")
    link.symlink_to(place.name if relative else place)
    for use in (Ledger.open, lambda name: Ledger.create(name, "chairs", epsilon=1.0, delta=1e-6)):
        with pytest.raises(LedgerError, match=f"symbolic link.*Name the file itself, {place}"):
            use(str(link))


def test_symbolic_link_to_nothing_is_refused(place: Path) -> None:
    place.symlink_to("nowhere.db")
    with pytest.raises(LedgerError, match="symbolic link"):
        Ledger.open(str(place))
    with pytest.raises(LedgerError, match="symbolic link"):
        created(place)
    assert not place.with_name("nowhere.db").exists()


def test_folder_under_two_names_is_one_ledger(place: Path, tmp_path: Path) -> None:
    """File and log are the same by either name of the folder, so budget and locks are."""
    ledger = created(place)
    (tmp_path / "link").symlink_to(place.parent)
    other = Ledger.open(str(tmp_path / "link" / place.name))
    run = other.reserve("table", most(other), {})
    with pytest.raises(BudgetExceededError):
        ledger.reserve("table", most(ledger), {})
    ledger.close(run)
    assert other.run(run).state == "given up"
    assert other.verify() == []


@pytest.mark.attack
def test_ledger_that_was_moved_or_replaced_while_open_is_not_written(place: Path) -> None:
    ledger = created(place)
    place.rename(place.with_name("moved.db"))
    with pytest.raises(LedgerError, match="moved or removed while in use"):
        ledger.reserve("table", most(ledger), {})
    shutil.copy(place.with_name("moved.db"), place)
    with pytest.raises(LedgerError, match="another file was put in the place of the ledger"):
        ledger.reserve("table", most(ledger), {})


def test_relative_path_means_the_same_file_in_another_working_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.parent)
    ledger = created(Path(place.name))
    monkeypatch.chdir("/")
    ledger.reserve("table", most(ledger), {})
    assert Ledger.open(str(place)).verify() == []


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_path_that_is_not_a_file_is_refused_at_once(
    place: Path, make: Callable[[Path], None]
) -> None:
    make(place)
    with pytest.raises(LedgerError, match="it is a folder or a device"):
        created(place)
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger.open(str(place))


# Mounts ------------------------------------------------------------------------------------------


def can_mount() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    probe = ["unshare", "--mount", "mount", "--bind", "/usr", "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


OPEN = """
import sys
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.accounting import gaussian_spend
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
try:
    ledger = Ledger.open(sys.argv[1])
    quanta = ledger.dataset("table").budget.capacity.quanta
    ledger.reserve("table", gaussian_spend(int(quanta * 0.6), 1), {})
    print("reserved")
except (LedgerError, BudgetExceededError) as refused:
    print(refused)
"""


def mounted(what: Path, where: Path, ledger: Path) -> str:
    """Mount a file or folder at `where`, which only another process sees, and reserve there."""
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$5"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh"]
    arguments = [str(what), str(where), sys.executable, OPEN, str(ledger)]
    return subprocess.run(
        [*command, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout


@pytest.mark.skipif(not can_mount(), reason="only root may mount")
def test_ledger_mounted_as_a_single_file_is_refused(place: Path, tmp_path: Path) -> None:
    created(place)
    target = tmp_path / "ledger.db"
    target.touch()
    assert "Mount the folder it is in." in mounted(place, target, target)
    assert Ledger.open(str(place)).runs("table") == ()


@pytest.mark.skipif(not can_mount(), reason="only root may mount")
def test_ledger_in_a_mounted_folder_shares_its_budget(place: Path, tmp_path: Path) -> None:
    ledger = created(place)
    target = tmp_path / "target"
    target.mkdir()
    assert mounted(place.parent, target, target / place.name) == "reserved\n"
    with pytest.raises(BudgetExceededError):
        ledger.reserve("table", most(ledger), {})
    assert "does not cover" in mounted(place.parent, target, target / place.name)
    assert ledger.verify() == []


@pytest.mark.attack
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux mounts single files")
def test_file_on_another_mount_than_its_folder_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created(place)
    mounts = {str(place): "mnt_id: 7", str(place.parent): "mnt_id: 6"}
    monkeypatch.setattr("privclust.privacy.ledger._file._mount_of", lambda path: mounts[path])
    with pytest.raises(LedgerError, match="Mount the folder"):
        Ledger.open(str(place))


# Modes -------------------------------------------------------------------------------------------


def modes(place: Path) -> set[int]:
    files = [Path(f"{place}{companion}") for companion in COMPANIONS]
    return {file.stat().st_mode & 0o777 for file in files}


@pytest.mark.attack
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_new_ledger_is_its_owners_alone(place: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        ledger = created(place)
    finally:
        os.umask(before)
    ledger.reserve("table", most(ledger), {})
    assert modes(place) == {0o600}


def test_owner_may_share_a_ledger_with_a_group(place: Path) -> None:
    created(place)
    gc.collect()  # closes the file, so that nothing but the ledger itself is left
    place.chmod(0o660)
    ledger = Ledger.open(str(place))
    ledger.reserve("table", most(ledger), {})
    assert modes(place) == {0o660}
    assert ledger.verify() == []


def test_ledger_that_everybody_may_write_is_reported(place: Path) -> None:
    ledger = created(place)
    place.chmod(0o666)
    assert ledger.verify() == [f"every user of this machine may write {place}: chmod o= {place}"]


def test_backup_that_was_put_back_is_written_ahead_again(place: Path) -> None:
    created(place).reserve("table", Spend(), {})
    copy = str(place.with_name("copy.db"))
    code = f"import sqlite3; sqlite3.connect({str(place)!r}).execute('VACUUM INTO ?', [{copy!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)
    restored = Ledger.open(copy)
    restored.reserve("table", most(restored), {})
    assert len(restored.runs("table")) == 2
    assert restored.verify() == []
