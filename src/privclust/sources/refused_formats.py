"""Folders of table formats, whose files are not to be read as they lie there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from privclust.errors import UnreadableFileError

_SIGNS = {
    "_delta_log": "Delta",
    ".hoodie": "Hudi",
    "metadata/*.metadata.json": "Iceberg",
    "metadata/version-hint.text": "Iceberg",
}
_REMEDIES = {
    "Delta": "Give that folder alone, and nothing in it or beside it, a deltalake.DeltaTable",
    "Iceberg": "Give its newest .metadata.json file alone, a table of pyiceberg's catalogue",
    "Hudi": "Give a table that reads such files, such as a relation of DuckDB",
}


def check_plain(paths: Iterable[Path]) -> None:
    """Refuse what lies in the folder of a table format, at any depth and behind any link.

    Their files keep rows that were erased, and rows that were written anew a second time.

    Examples
    --------
    >>> check_plain([Path("visits.parquet")])
    """
    folders = {
        folder
        for path in paths
        for place in (path.absolute(), path.resolve())
        for folder in (place, *place.parents)
    }
    for folder in folders:
        for sign, kind in _SIGNS.items():
            if next(folder.glob(sign), None) is not None:
                refuse_format(folder.name, kind)


def refuse_format(folder: str, kind: str) -> NoReturn:
    """Refuse files of a folder that is a table of some format.

    Examples
    --------
    >>> refuse_format("visits", "Hudi")
    Traceback (most recent call last):
    privclust.errors.UnreadableFileError: the folder 'visits' is a table of Hudi, whose files may...
    """
    raise UnreadableFileError(
        f"the folder {folder!r} is a table of {kind}, whose files may hold rows that were erased, "
        f"and others twice. {_REMEDIES[kind]}, or a DataFrame of Spark."
    )
