"""The owner's log of who did what: one line of JSON each, only ever appended to."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from privclust.privacy.accounting import Budget


class AuditLog:
    """Appends lines to a file that only its owner may read.

    A line holds public facts alone: no token, no text of an error, nothing that depends on rows.
    The file is opened for each line, so that it may be moved away at any time.

    Parameters
    ----------
    file : Path
        Made if there is none.
    digest : str
        The SHA-256 of the policy that holds.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "audit.jsonl")
    ...     AuditLog(file, "ab12").write(1_800_000_000, "a1", "credit", "queued", fit="0" * 16)
    ...     print(file.read_text())
    {"time": 1800000000, "analyst": "a1", "table": "credit", "outcome": "queued",
     "fit": "0000000000000000", "seconds": null, "epsilon": null, "delta": null, "policy": "ab12"}
    """

    def __init__(self, file: Path, digest: str) -> None:
        self._file = file
        self._digest = digest

    def write(
        self,
        time: float,
        analyst: str,
        table: str,
        outcome: str,
        *,
        fit: str | None = None,
        seconds: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        """Append a line.

        `fit` is the name of a run, `seconds` is the work of a day that it takes, and `budget` its
        own guarantee: a ledger that was lost is worked out from them.
        """
        line = {
            "time": int(time),
            "analyst": analyst,
            "table": table,
            "outcome": outcome,
            "fit": fit,
            "seconds": seconds,
            "epsilon": None if budget is None else budget.epsilon,
            "delta": None if budget is None else budget.delta,
            "policy": self._digest,
        }
        text = f"{json.dumps(line)}\n".encode()
        flags = (
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        )
        handle = os.open(self._file, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError("the audit log is not a regular file")
            # One write, so that lines of several processes never mix.
            if os.write(handle, text) != len(text):
                raise OSError("the audit log could not be written as a whole")
        finally:
            os.close(handle)
