"""Files that somebody names, read and written as a whole: regular ones, of a limited size."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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


def write_text(text: str, file: Path, overwrite: bool) -> None:
    """Write a file, or refuse if there is one that would be lost, or something that is none."""
    if is_irregular(file):
        raise OSError(f"{file.name!r} could not be written: it is not a regular file. Name a file.")
    if not overwrite and holds_something(file):
        raise FileExistsError(
            f"{file.name} exists already and may have cost budget. Name another file, or overwrite "
            "it with overwrite=True."
        )
    if not file.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(file.parent)!r}. Make it, or choose another."
        )
    file.write_bytes(text.encode())  # the same bytes on every system
