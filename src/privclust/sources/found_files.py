"""Files that paths, folders, patterns and addresses in stores name."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from privclust.errors import UnreadableFileError
from privclust.sources.address import refuse_address, refuse_miswritten_address
from privclust.sources.dialects import Files
from privclust.sources.stores import contacting, is_store, stored_files
from privclust.sources.versions import Pinned, Place, Version, version_of

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".xlsx": "excel",
}
_OF_TEXTS = ("csv", "excel")
TEXT_ENDINGS = tuple(ending for ending, kind in FORMATS.items() if kind in _OF_TEXTS)
"""Of files whose cells are texts."""
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class File(NamedTuple):
    """A file as it was when it was found.

    Attributes
    ----------
    path : Path or StoredFile
        Where it is.
    keys : dict
        What the folders say that it lies in, below the path that was given.
    version : tuple
        What differs once it was written anew.
    names : tuple of str
        Of a CSV or Excel file, the names in its first line.
    dialect : Files
        How it is written; of a CSV file with its delimiter.
    """

    path: Place
    keys: dict[str, str | None]
    version: Version
    names: tuple[str, ...] = ()
    dialect: Files = Files("")

    @property
    def pinned(self) -> Pinned:
        """It, and the version of it that every pass reads."""
        return Pinned(self.path, self.version)

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts, to be read as what is declared."""
        return format_of(self.path) in _OF_TEXTS


def found_at(given: str) -> list[File]:
    """Return the files that a path or an address in a store names, in the order of their names."""
    if is_store(given):
        return _found_in_store(given)
    refuse_address(given)
    exists = os.path.exists(given)
    named = [Path(given)] if exists else [Path(place) for place in glob.glob(given)]
    root = Path(given) if exists else _fixed_part(Path(given))
    paths = sorted(
        path
        for place in named
        for path in (_below(place) if place.is_dir() else [place])
        if path.is_file() and (path == place or _is_data(path.relative_to(place).parts))
    )
    if not paths:
        refuse_miswritten_address(given)
        raise FileNotFoundError(
            f"no Parquet, CSV, Excel or Arrow files at {given!r}. Give a file, a folder or a "
            "pattern such as 'visits/*.parquet'; in Python, a pyarrow dataset can be elsewhere."
        )
    for path in paths:
        format_of(path)
    return [
        File(path, _keys(path.relative_to(root).parts[:-1]), version_of(path)) for path in paths
    ]


def _below(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder; links to files are followed, others are refused, not left out."""
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.is_file() and _is_data(path.relative_to(folder).parts):
            raise UnreadableFileError(
                f"{path.name!r} in the folder {folder.name!r} is a link to a folder, or to "
                "nothing. Such links are not followed. Give the folder that is meant beside this "
                "one, and take the link away."
            )
        yield path


def _found_in_store(address: str) -> list[File]:
    root, stored = stored_files(address)
    found = []
    for path in stored:
        parts = PurePosixPath(path.key).relative_to(root).parts
        if path.key == root or _is_data(parts):
            if format_of(path) == "excel":
                raise UnreadableFileError(
                    f"the Excel file {path.name!r} is in a store. Copy it to this machine, or "
                    "write it as Parquet."
                )
            found.append((path, _keys(parts[:-1])))
    if not found:
        raise FileNotFoundError(
            "no Parquet, CSV or Arrow files at this address. Give that of a file, or of a folder; "
            "patterns are for files of this machine."
        )
    return contacting(address, lambda: [File(path, keys, version_of(path)) for path, keys in found])


def _fixed_part(pattern: Path) -> Path:
    fixed = takewhile(lambda part: not glob.has_magic(part), pattern.parts)
    return Path(*fixed)


def distinct(files: list[File]) -> list[File]:
    """Leave out files that were named before, in whatever way: their rows would count twice."""
    found: dict[object, File] = {}
    for file in files:
        if isinstance(file.path, Path):
            status = file.path.stat()
            found.setdefault((status.st_dev, status.st_ino), file)
        else:
            found.setdefault((file.path.filesystem.type_name, file.path.key), file)
    return list(found.values())


def _is_data(parts: Sequence[str]) -> bool:
    return not any(part.startswith(("_", ".")) and "=" not in part for part in parts)


def format_of(file: Place) -> str:
    """Return which format a file has, by its ending."""
    for ending, kind in FORMATS.items():
        if file.name.lower().endswith(ending):
            return kind
    raise UnreadableFileError(
        f"the file {file.name!r} has none of the endings {', '.join(FORMATS)}. Rename it, or give "
        "a pyarrow dataset."
    )


def _keys(folders: Sequence[str]) -> dict[str, str | None]:
    parts = [folder.partition("=") for folder in folders if "=" in folder]
    return {unquote(key): None if value == _NO_VALUE else unquote(value) for key, _, value in parts}
