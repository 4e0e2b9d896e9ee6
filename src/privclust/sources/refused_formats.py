"""Folders of table formats, whose files are not to be read as they lie there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from privclust.errors import UnreadableFileError

_SIGNS = {
    "_delta_log": "Delta",
    ".hoodie": "Hudi",
    "metadata/*.metadata.json": "Iceberg",
    "metadata/version-hint.text": "Iceberg",
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
                raise UnreadableFileError(
                    f"the folder {folder.name!r} is a table of {kind}, whose files may hold rows "
                    "that were erased, and others twice. Give what reads such a table: a "
                    "deltalake.DeltaTable, a table of pyiceberg, a DataFrame of Spark, a LazyFrame "
                    "of Polars or a relation of DuckDB."
                )
