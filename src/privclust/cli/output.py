"""Files that commands write: in one step, and never over what they read."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from privclust.cli.telling import writing

ROOM = 2**20
"""Bytes to try to write before anything is spent."""


@contextmanager
def replacing(path: Path, reads: Sequence[Path] = ()) -> Iterator[Path]:
    """Give the path of a file to write, which takes the place of `path` if all goes well.

    Otherwise what was there stays. That there is room is tried before anything else happens. A
    file keeps its rights, a link stays a link, and a device or pipe is written to at the end.
    """
    with writing(path.name):
        target = path.resolve()
        _check(target, reads)
        streams = target.exists() and not target.is_file()
        place = None if streams else target.parent
        handle, name = tempfile.mkstemp(dir=place, prefix=f".{target.name}.")
    made = Path(name)
    try:
        with writing(path.name):
            with os.fdopen(handle, "wb") as file:
                file.write(bytes(ROOM))
            made.write_bytes(b"")
        yield made
        with writing(path.name):
            if streams:
                with made.open("rb") as written, target.open("wb") as stream:
                    shutil.copyfileobj(written, stream)
            else:
                made.chmod(_rights(target))
                made.replace(target)
    finally:
        with suppress(FileNotFoundError):
            made.unlink()


def _check(target: Path, reads: Sequence[Path]) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    if any(other.exists() and target.exists() and target.samefile(other) for other in reads):
        raise OSError(errno.EINVAL, "it is what this command reads")
    if target.is_char_device():
        with target.open("wb", buffering=0) as device:
            device.write(b"")  # a full one says so, and nothing appears on a terminal


def _rights(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
