"""Samples of one client of a federation: each is drawn once, and kept until its fit has ended.

A key tosses coins once (docs/proofs/sampling.md). So it is written down that a key is used before
rows are read with it, and nothing takes that back: a sample that is gone is not drawn again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from threading import Lock

from privclust.engines.numpy import NumpyEngine
from privclust.errors import ParameterError

UNUSED_SECONDS = 86_400.0
"""A sample that nobody asked for so long is deleted: its fit has ended without a word."""


class Samples:
    """The samples that a client has drawn.

    Parameters
    ----------
    folder : path or None
        Where other processes find them; None if one process answers all questions of a fit.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[tuple[bytes, bytes], NumpyEngine] = {}
        self._used: set[bytes] = set()
        self._lock = Lock()
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_owner(folder)
            _delete_unused(folder)

    def sample(self, fit: bytes, key: bytes, draw: Callable[[], NumpyEngine]) -> NumpyEngine | None:
        """Return the sample that a key decides, or None if it was drawn before and is gone.

        `draw` returns an engine that has read nothing yet.
        """
        with self._lock:
            if (fit, key) not in self._held:
                found = self._drawn(fit, key, draw())
                if found is None:
                    return None
                self._held[fit, key] = found
            return self._held[fit, key]

    def forget(self, fit: bytes) -> None:
        """Forget the samples of a fit, and never draw them again."""
        with self._lock:
            self._held = {name: held for name, held in self._held.items() if name[0] != fit}
            if self._folder is not None:
                for file in self._folder.glob(f"{fit.hex()}-*.sample*"):
                    file.unlink(missing_ok=True)

    def _drawn(self, fit: bytes, key: bytes, engine: NumpyEngine) -> NumpyEngine | None:
        # From this name neither the key follows nor anything about rows.
        name = blake2b(key, digest_size=16).hexdigest()
        if self._folder is None:
            first, self._used = key not in self._used, self._used | {key}
            return engine if first else None
        file = self._folder / f"{fit.hex()}-{name}.sample"
        if _is_first(self._folder / f"{name}.used"):
            engine.write(file)
        try:
            os.utime(file)
        except FileNotFoundError:
            return None
        return engine.read_from(file)


def _is_first(marker: Path) -> bool:
    """Write down that a key is used, and tell whether it was not; lasts before rows are read."""
    try:
        opened = os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    os.fsync(opened)
    os.close(opened)
    return True


def _check_owner(folder: Path) -> None:
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise ParameterError(
            f"the folder {folder.name!r} for samples must belong to the user who answers, and "
            "nobody else may enter it. Change its owner and then its mode (chmod 700), or name one "
            "that does not exist yet."
        )


def _delete_unused(folder: Path) -> None:
    for file in folder.glob("*.sample*"):
        try:
            if time.time() - file.stat().st_mtime > UNUSED_SECONDS:
                file.unlink()
        except FileNotFoundError:  # another process was faster
            continue
