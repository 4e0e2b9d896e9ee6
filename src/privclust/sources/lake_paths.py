"""Tables of Delta and Iceberg that a path names: a folder with its log, or a metadata file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from privclust.errors import UnreadableFileError, needs_extra
from privclust.sources.dialects import Files
from privclust.sources.stores import check_bare, has_folder, is_store

_LOG = "_delta_log"


def names_lake(table: Any) -> bool:
    """Tell whether a path, or an address in a store, alone names a table of Delta or Iceberg.

    A path of Iceberg is that of a metadata file: which of them is the current one, its catalogue
    knows.

    Examples
    --------
    >>> names_lake("visits.parquet")
    False
    """
    path = _alone(table)
    if path is None or _is_metadata(path):
        return path is not None
    return has_folder(path, _LOG) if is_store(path) else os.path.isdir(os.path.join(path, _LOG))


def open_lake(table: Any) -> Any:
    """Return the table of Delta or Iceberg that a path names, as its own library opens it."""
    path = _alone(table)
    assert path is not None
    if _is_metadata(path):
        place = path if is_store(path) else os.path.abspath(path)
        return _opened(_open_iceberg, place, "the metadata file")
    return _opened(_open_delta, path, "the log of the Delta table")


def _is_metadata(path: str) -> bool:
    if is_store(path):
        check_bare(path)
    return path.endswith(".metadata.json") and (is_store(path) or os.path.isfile(path))


def _alone(table: Any) -> str | None:
    """Return the one path that is given, if it is one."""
    given = table.paths if isinstance(table, Files) else table
    if isinstance(given, list | tuple) and len(given) == 1:
        given = given[0]
    return os.fspath(given) if isinstance(given, str | os.PathLike) else None


def _opened(open_table: Callable[[str], Any], path: str, what: str) -> Any:
    """Open a table without repeating what its library says, which may show an account."""
    try:
        return open_table(path)
    except ImportError:
        raise
    except Exception:
        pass
    raise UnreadableFileError(
        f"{what} {Path(path).name!r} cannot be read. Check that it is complete and that this user "
        "may read it."
    )


def _open_delta(path: str) -> Any:
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise ImportError(f"{needs_extra('delta')}.") from None
    return DeltaTable(path)


def _open_iceberg(path: str) -> Any:
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise ImportError(f"{needs_extra('iceberg')}.") from None
    server = os.environ.get("AWS_ENDPOINT_URL")  # pyarrow and deltalake look there themselves
    found = StaticTable.from_metadata(path, {} if server is None else {"s3.endpoint": server})
    # Its own name is the whole path, which ledgers and statements should not show.
    name = found.location().rstrip("/").rpartition("/")[2]
    return StaticTable(
        identifier=(name,),
        metadata=found.metadata,
        metadata_location=found.metadata_location,
        io=found.io,
        catalog=found.catalog,
    )
