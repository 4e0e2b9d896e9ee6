"""A ledger's file has one name.

SQLite keeps what was written last in a log beside the name by which a file was opened. Opened by
two names, a ledger has two logs: each lacks what the other was charged.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path

from privclust.privacy.ledger.journal import LedgerError

COMPANIONS = ("", "-wal", "-shm")
"""What SQLite appends to a ledger's name for the files that belong to it."""

_creation = threading.Lock()


def create_private(place: str) -> None:
    """Make an empty file that only its owner may read, unless there is something already.

    SQLite gives its companions the same mode. A file that exists keeps the mode it has.
    """
    # Whoever closes a file drops the locks that other threads hold on it, hence the lock here.
    with _creation:
        try:
            descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileExistsError:
            return
        except OSError as error:
            raise LedgerError(
                f"the ledger {place} could not be created: {error.strerror}. Check that its folder "
                "exists and that this user may write there."
            ) from None
        if os.chmod in os.supports_fd:
            os.chmod(descriptor, 0o600)  # whatever a umask took away
        os.close(descriptor)


def file_identity(place: str) -> tuple[int, int]:
    """Return what tells a ledger's file from all others, or refuse one that has two names."""
    try:
        found = os.lstat(place)
    except OSError:
        raise LedgerError(
            f"the ledger {place} was moved or removed while in use, or cannot be reached. Put it "
            "back together with its companions -wal and -shm, then resume the fit."
        ) from None
    if stat.S_ISLNK(found.st_mode):
        target = os.path.realpath(place)
        raise LedgerError(
            f"the ledger {place} is a symbolic link, and a ledger must have one name: "
            "SQLite keeps the latest charges in a file beside the name it was opened by. Name the "
            f"file itself, {target}."
        )
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(
            f"the ledger {place} could not be read or written: it is a folder or a device. Give "
            "the path of a file."
        )
    if found.st_nlink > 1:
        raise LedgerError(
            f"the ledger {place} has {found.st_nlink} names (hard links), and a ledger must have "
            "one: SQLite keeps the latest charges in a file beside the name it was opened by. "
            f"Remove the others; 'find FOLDER -samefile {place}' lists them."
        )
    return found.st_dev, found.st_ino


def refuse_mount_point(place: str) -> None:
    """Refuse a file that was mounted by itself, as containers do: its log would stay outside."""
    if _mount_of(place) != _mount_of(os.path.realpath(Path(place).parent)):
        raise LedgerError(
            f"the ledger {place} is mounted as a single file, so that its companions -wal and -shm "
            "are not those of other users of the same file. Mount the folder it is in."
        )


def writable_by_anyone(place: str) -> list[str]:
    """Return what is wrong with the modes of a ledger's files, where files have modes."""
    if os.name != "posix":
        return []
    found = []
    for path in (f"{place}{companion}" for companion in COMPANIONS):
        with suppress(OSError):
            if os.stat(path).st_mode & stat.S_IWOTH:
                found.append(f"every user of this machine may write {path}: chmod o= {path}")
    return found


def _mount_of(place: str) -> str:
    """Return what the system calls the mount that a path is on."""
    if sys.platform != "linux":
        return str(os.path.ismount(place) and not os.path.isdir(place))
    # Opened as a path only: closing such a descriptor drops none of SQLite's locks.
    try:
        descriptor = os.open(place, os.O_PATH | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text("ascii").splitlines()
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return next((line for line in lines if line.startswith("mnt_id")), "")
