"""Samples of one client of a federation: each is drawn once, and kept until its fit has ended.

A client draws a sample by a key that it forgets at once, and a fit has one sample for each
sampling rate (docs/proofs/federation.md). So it is written down that a sample is drawn before rows
are read for it, and nothing takes that back: a sample that is gone is not drawn again.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

from privclust.engines.memory import NumpyEngine
from privclust.errors import ParameterError

UNUSED_SECONDS = 86_400.0
"""A sample that no request was about for so long is deleted: its fit has ended without notice."""


class SampleStore:
    """The samples that a client has drawn.

    Parameters
    ----------
    folder : path or None
        Where other processes find them; None if one process responds to all requests of a fit.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._samples: dict[tuple[bytes, str], NumpyEngine] = {}
        self._inclusion_bits: dict[tuple[bytes, str], bool] = {}
        self._used: set[tuple[bytes, str]] = set()
        self._last_used: dict[tuple[bytes, str], float] = {}
        self._lock = Lock()
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_owner(folder)
        self._delete_unused()

    def sample(self, fit: bytes, name: str, draw: Callable[[], NumpyEngine]) -> NumpyEngine | None:
        """Return a fit's sample of some name, or None if it was drawn before and is gone.

        `draw` returns an engine that has read nothing yet. From the name nothing about rows
        follows.
        """
        with self._lock:
            self._delete_unused()
            self._last_used[fit, name] = time.time()
            if (fit, name) not in self._samples:
                found = self._drawn(fit, name, draw())
                if found is None:
                    return None
                self._samples[fit, name] = found
            elif self._folder is not None:
                with suppress(FileNotFoundError):
                    os.utime(self._file(fit, name))
            return self._samples[fit, name]

    def includes_client(self, fit: bytes, name: str, sampling_exponent: int) -> bool | None:
        """Tell whether a fit's sample includes the client, one unit; None if that is gone."""
        with self._lock:
            self._delete_unused()
            self._last_used[fit, name] = time.time()
            if self._folder is not None:
                return self._stored_bit(self._file(fit, name), sampling_exponent)
            if (fit, name) not in self._used:
                self._used.add((fit, name))
                self._inclusion_bits[fit, name] = secrets.randbits(sampling_exponent) == 0
            return self._inclusion_bits.get((fit, name))

    def forget(self, fit: bytes) -> None:
        """Forget the samples of a fit, and never draw them again."""
        with self._lock:
            self._samples = {
                name: sample for name, sample in self._samples.items() if name[0] != fit
            }
            self._inclusion_bits = {
                name: bit for name, bit in self._inclusion_bits.items() if name[0] != fit
            }
            if self._folder is not None:
                for file in self._folder.glob(f"{fit.hex()}-*.sample*"):
                    file.unlink(missing_ok=True)

    def _drawn(self, fit: bytes, name: str, engine: NumpyEngine) -> NumpyEngine | None:
        if self._folder is None:
            first, self._used = (fit, name) not in self._used, self._used | {(fit, name)}
            return engine if first else None
        file = self._file(fit, name)
        if _is_first(file.with_suffix(".used")):
            engine.write(file)
        try:
            os.utime(file)
        except FileNotFoundError:
            return None
        return engine.read_from(file)

    def _stored_bit(self, file: Path, sampling_exponent: int) -> bool | None:
        if _is_first(file.with_suffix(".used")):
            drawn = b"in" if secrets.randbits(sampling_exponent) == 0 else b"out"
            unfinished = file.with_name(f"{file.name}.part")
            opened = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(opened, drawn)
            os.close(opened)
            unfinished.replace(file)
        try:
            os.utime(file)
            return file.read_bytes() == b"in"
        except FileNotFoundError:
            return None

    def _delete_unused(self) -> None:
        oldest = time.time() - UNUSED_SECONDS
        for unused in [key for key, last in self._last_used.items() if last < oldest]:
            del self._last_used[unused]
            self._samples.pop(unused, None)
            self._inclusion_bits.pop(unused, None)
        if self._folder is None:
            return
        for file in self._folder.glob("*.sample*"):
            with suppress(FileNotFoundError):  # another process was faster
                if file.stat().st_mtime < oldest:
                    file.unlink()

    def _file(self, fit: bytes, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{fit.hex()}-{name}.sample"


def _is_first(marker: Path) -> bool:
    """Write down that a sample is drawn, and tell whether it was not; before rows are read."""
    try:
        opened = os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    os.fsync(opened)
    os.close(opened)
    return True


def _check_owner(folder: Path) -> None:
    if os.name != "posix":
        return  # there folders have no modes, and those of a user are closed to others
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise ParameterError(
            f"the folder {folder.name!r} for samples must belong to the user who responds, and "
            "nobody else may enter it. Change its owner and then its mode (chmod 700), or name one "
            "that does not exist yet."
        )
