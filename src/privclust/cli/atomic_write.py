"""Files that commands write: in one step, and never over what they read."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from privclust._files import FOR_ALL, holds_something, make_beside, put_in_place
from privclust.cli.messages import CANNOT_WRITE, print_error, writing
from privclust.errors import ParameterError
from privclust.models._json_file import kind_of_file

MARGIN = 2**20
"""Bytes to try to write before anything is spent."""
_PAID = ("model", "profile")
"""Files for which rows were asked; a damaged one is taken for a model."""


@contextmanager
def replacing(
    path: Path,
    endings: str | tuple[str, ...],
    reads: Sequence[Path] = (),
    rights: int = FOR_ALL,
    may_replace: bool = True,
    may_stream: bool = True,
) -> Iterator[Path]:
    """Give the path of a file to write, which takes the place of `path` if all goes well.

    Otherwise what was there stays. That there is space is tried before anything else happens. A
    link stays a link, and a device or pipe is written to at the end, unless not `may_stream`: it
    might wait for ever, or keep nothing. A file keeps its rights, if not `rights` are the owner's
    alone. Unless it `may_replace` it, a file that holds something is refused.
    """
    with writing(path):
        target = Path(os.path.realpath(path))
        streams = target.exists() and not target.is_file() and not target.is_dir()
        _check(target, (endings,) if isinstance(endings, str) else endings, reads, streams)
        if not may_stream and streams:
            raise OSError(errno.EINVAL, "it is not a regular file")
        if not may_replace and holds_something(target):
            may_be_paid = target.suffix == ".json" and kind_of_file(target) in _PAID
            paid = " and may have cost budget" if may_be_paid else ""
            print_error(
                f"{target.name} exists already{paid}. Name another file, or overwrite it with "
                "--force."
            )
            raise typer.Exit(CANNOT_WRITE)
        made = make_beside(target, None if streams else target.parent, MARGIN)
    try:
        yield made
        with writing(path):
            if streams:
                with made.open("rb") as written, target.open("wb") as stream:
                    shutil.copyfileobj(written, stream)
            else:
                put_in_place(made, target, rights)
    finally:
        made.unlink(missing_ok=True)


def _check(target: Path, endings: tuple[str, ...], reads: Sequence[Path], streams: bool) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    if not streams and target.suffix not in endings:
        # So that no command writes over a table or a ledger by a slip of the hand.
        raise ParameterError(
            f"{target.name!r} does not end in {' or '.join(endings)}, which is what will be in it. "
            f"Name a file such as {target.stem}{endings[0]}."
        )
    for other in reads:
        if target.exists() and other.exists() and target.samefile(other):
            raise OSError(errno.EINVAL, "it is what this command reads")
        # Not by their names, of which a folder has many where capitals do not count.
        if other.is_dir() and any(one.samefile(other) for one in target.parents if one.exists()):
            raise OSError(errno.EINVAL, "it lies in a folder that this command reads")
    if target.is_char_device():
        with target.open("wb", buffering=0) as device:
            device.write(b"")  # a full one says so, and nothing appears on a terminal
