"""The newest head of a ledger, kept outside its database: an older copy put back is noticed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privclust._files import read_regular
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

SIZE_MAX = 1000


class HeadFile:
    """A file with number and hash of a ledger's newest entry.

    A ledger that lacks this entry is another one, or an older copy: what was spent since then is
    missing from it, and results that left may be measured anew with other noise. A service
    calls `advance` before results leave.

    Parameters
    ----------
    path : str or Path
        A file that is not restored together with the ledger: on another disk or machine.

    Examples
    --------
    >>> import tempfile
    >>> from privclust import Ledger
    >>> ledger = Ledger.in_memory()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = HeadFile(Path(folder) / "head")
    ...     file.create(ledger)
    ...     ledger.add("patients", epsilon=1.0, delta=1e-6)
    ...     file.advance(ledger)
    ...     file.check(ledger)
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def create(self, ledger: Ledger) -> None:
        """Begin to keep the head of `ledger`, in a file that does not exist yet."""
        if self._path.exists():
            raise LedgerError(
                f"{self._path} exists already. It protects against an older copy of the ledger: "
                "remove it only if you know that the ledger is the newest one."
            )
        self._write(*ledger.newest())

    def check(self, ledger: Ledger) -> None:
        """Refuse a ledger that lacks the entry which was the newest when it was last kept."""
        number, head = self._read()
        if not ledger.has_entry(number, head):
            raise LedgerError(
                f"the ledger lacks entry {number}, which {self._path} says it has: an older copy "
                "was put back, or it is another ledger. Budget that was spent since then would be "
                "spent again. Put back the newest copy."
            )

    def advance(self, ledger: Ledger) -> None:
        """Check `ledger`, then keep its newest head."""
        with self._locked():
            self.check(ledger)
            newest = ledger.newest()
            if newest[0] > self._read()[0]:
                self._write(*newest)

    def _read(self) -> tuple[int, str]:
        try:
            found = json.loads(read_regular(self._path, SIZE_MAX))
            return int(found["number"]), str(found["hash"])
        except (OSError, ValueError, LookupError, TypeError):
            raise LedgerError(
                f"{self._path}, which keeps the ledger's newest head, cannot be read. For a new "
                "ledger, 'privclust node init' makes it; for one with runs, "
                "docs/node-security.md says what to do."
            ) from None

    def _write(self, number: int, head: str) -> None:
        made = self._path.with_name(f".{self._path.name}.new")
        made.unlink(missing_ok=True)
        # A link that somebody put there is not followed.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(made, flags, 0o660), "w", encoding="utf-8") as file:
            json.dump({"number": number, "hash": head}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time advance the head."""
        import fcntl  # a node's system has it

        with open(self._path.with_name(f".{self._path.name}.lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
