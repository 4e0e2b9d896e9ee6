"""Whether files still are what they were when a fit began; every pass compares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from privclust.errors import SnapshotError
from privclust.sources.stores import StoredFile

Place: TypeAlias = Path | StoredFile
Version: TypeAlias = tuple[int | str, ...]
"""What differs once a file was written anew: never shown or kept, because sizes tell of rows."""


def version_of(path: Place) -> Version:
    """Return what tells a file from what it was before: of a local one, what its disk says.

    Somebody who writes to a file can put its time back, but not the time of that.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     version_of(Path(file.name)) == version_of(Path(file.name))
    True
    """
    if isinstance(path, StoredFile):
        return path.version
    status = path.stat()
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_size, *times, status.st_ino, status.st_dev


class Pinned(NamedTuple):
    """A file, and the version of it that all passes read."""

    path: Place
    version: Version


def unchanged(files: Sequence[Pinned], batches: Iterator[Any]) -> Iterator[Any]:
    """Give the batches of files that are read; refuse files that are others before or afterwards.

    Examples
    --------
    >>> list(unchanged([], iter([1, 2])))
    [1, 2]
    """
    _check(files)
    try:
        yield from batches
    except Exception:
        _check(files)  # one that was cut short may not be readable at all
        raise
    _check(files)


def _check(files: Sequence[Pinned]) -> None:
    for file in files:
        with suppress(FileNotFoundError):
            if version_of(file.path) == file.version:
                continue
        raise SnapshotError("changed")  # which one is withheld: a file may be one person's


def pin_files(dataset: Any) -> list[Pinned]:
    """Return the files of a pyarrow dataset as they are now.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.dataset as ds
    >>> pin_files(ds.dataset(pa.table({"age": [40]})))
    []
    """
    from pyarrow.fs import LocalFileSystem

    parts: Sequence[Any] = getattr(dataset, "children", ())
    pinned = [file for part in parts for file in pin_files(part)]
    filesystem = getattr(dataset, "filesystem", None)
    for path in getattr(dataset, "files", ()):
        is_local = isinstance(filesystem, LocalFileSystem)
        place = Path(path) if is_local else StoredFile(filesystem, path)
        pinned.append(Pinned(place, version_of(place)))
    return pinned
