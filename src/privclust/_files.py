"""Files that somebody names, read and written as a whole: regular ones, of a limited size."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

FOR_ALL, FOR_THE_OWNER = 0o666, 0o600
"""Who may read a new file, as far as the system lets everybody."""


def read_regular(file: Path, most: int) -> bytes:
    """Return the content of a file, or refuse at once what is none, or is too large.

    A pipe would wait for a writer and a device may never end: neither is read.

    Parameters
    ----------
    file : Path
        What somebody named.
    most : int
        So many bytes it may have.

    Raises
    ------
    ValueError
        If it is not a regular file, or has more than `most` bytes.

    Examples
    --------
    >>> read_regular(Path(os.devnull), 1000)
    Traceback (most recent call last):
    ValueError: it is not a regular file
    """
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # Windows has no such flag
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        with open(handle, "rb", closefd=False) as opened:
            content = opened.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return content


def holds_something(file: Path) -> bool:
    """Tell whether there is a file that would be lost if another were written in its place.

    Examples
    --------
    >>> holds_something(Path(os.devnull)), holds_something(Path(__file__))
    (False, True)
    """
    return file.is_file() and file.stat().st_size > 0


def is_irregular(file: Path) -> bool:
    """Tell whether there is something that keeps nothing, or not as a file: a pipe, a device.

    Examples
    --------
    >>> is_irregular(Path(os.devnull)), is_irregular(Path(__file__)), is_irregular(Path("none"))
    (True, False, False)
    """
    return file.exists() and not file.is_file()


def make_beside(target: Path, folder: Path | None, margin: int = 0) -> Path:
    """Return a new empty file in `folder`, for its owner alone, that may take the place of another.

    Parameters
    ----------
    target : Path
        The file whose place it may take, by `put_in_place`.
    folder : Path or None
        That of `target`, so that it can; None for one that is never put anywhere.
    margin : int, default=0
        So many bytes are written and removed again: a full disk is noticed first.
    """
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{target.name}.")
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(bytes(margin))
        made.write_bytes(b"")
    except BaseException:
        made.unlink()
        raise
    return made


def put_in_place(made: Path, target: Path, rights: int = FOR_ALL) -> None:
    """Let a file that was written take the place of another, in one step.

    What was there keeps its rights, if those of the new file are not the owner's alone. What is not
    a regular file stays, even where a caller did not refuse it.
    """
    if is_irregular(target):
        raise OSError(f"{target.name!r} is not a regular file, and nothing takes its place.")
    with made.open("rb+") as written:
        os.fsync(written.fileno())  # else a crash may leave the name with an empty file
    made.chmod(_rights(target, rights))
    made.replace(target)


def _rights(target: Path, rights: int) -> int:
    if target.exists() and rights != FOR_THE_OWNER:
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return rights & ~mask


def write_text(text: str, file: Path, overwrite: bool) -> None:
    """Write a file, or refuse if there is one that would be lost, or something that is none.

    What was there stays until all of the text is written. A link stays a link.
    """
    if is_irregular(file):
        raise OSError(f"{file.name!r} could not be written: it is not a regular file. Name a file.")
    if not overwrite and holds_something(file):
        raise FileExistsError(
            f"{file.name} exists already and may have cost budget. Name another file, or overwrite "
            "it with overwrite=True."
        )
    target = Path(os.path.realpath(file))
    if not target.parent.is_dir():
        folder = target.parent if file.is_symlink() else file.parent
        raise FileNotFoundError(f"there is no folder {str(folder)!r}. Make it, or choose another.")
    made = make_beside(target, target.parent)
    try:
        made.write_bytes(text.encode())  # the same bytes on every system
        put_in_place(made, target)
    finally:
        made.unlink(missing_ok=True)
