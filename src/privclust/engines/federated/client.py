"""A client of a federation: holds rows behind its own engine, responds with integers only.

The same code runs beside the server, for tests and notebooks, and where the rows are. A response is
the request's nonce and one integer of 64 bits per coordinate; its length follows from the
request. Whatever fails while rows are read, the response is the nonce and a fixed word. It is empty
where no rows had a part in it: the request is refused, which follows from its bytes alone, or it
is about a sample of a process that ended.
"""

from __future__ import annotations

import os
import secrets
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from privclust._frames import clears_frames
from privclust._version import __version__
from privclust.domains.bounds import Bounds, bounded_columns, read_bounds
from privclust.engines.factory import local_table
from privclust.engines.federated._rehearsal import rehearse
from privclust.engines.federated._request import NONCE_BYTES, QueryRequest
from privclust.engines.federated._sample_store import SampleStore
from privclust.engines.federated.wire import decode, encode
from privclust.engines.local import LocalEngine
from privclust.engines.units import clipped_whole
from privclust.errors import EngineError, ParameterError, UnreadableFileError
from privclust.kernels.grid import IntArray
from privclust.queries.base import Count, Query
from privclust.queries.unit import ROW, Unit
from privclust.sources.dialects import Files
from privclust.sources.files import is_path
from privclust.sources.found_files import FORMATS, found_at
from privclust.sources.guard import guarded
from privclust.sources.lake_paths import names_lake
from privclust.sources.schema import Schema

CLIENT = "client"
"""The unit of which all rows of one client are protected together."""
KEY_BYTES = 32
FAILED = b"failed"
"""What a client responds, after the nonce, that could not read or sum its rows."""
_TEXTS = tuple(ending for ending, kind in FORMATS.items() if kind in ("csv", "excel"))


class Client:
    """Rows of one client, and its responses to requests about them.

    Parameters
    ----------
    table : array, frame, path, …
        Anything an estimator's `fit` takes but CSV files. Read inside `respond` only.
    folder : path, optional
        Where a sample is kept from one process to the next, which it must be if each request
        starts a process of its own. Only this user may enter it. A sample is deleted when its fit
        has ended, or when no request was about it for a day; that it was drawn stays written down.

    Examples
    --------
    >>> client = Client(np.zeros((3, 2)))
    >>> client.schema.n_columns, client.respond(b"no request")
    (2, b'')
    """

    @clears_frames
    def __init__(self, table: Any, folder: str | os.PathLike[str] | None = None) -> None:
        if is_path(table) or isinstance(table, Files):
            _check_format(table)
        self.folder = None if folder is None else Path(folder)
        self._table = table
        self._opened: tuple[bytes, LocalEngine] | None = None
        self._samples = SampleStore(self.folder)

    @property
    @clears_frames
    def schema(self) -> Schema:
        """Names and types of the columns, for the holder of the rows."""
        return local_table(self._table).schema

    @clears_frames
    def check(self, bounds: Bounds, unit: str | None = None) -> None:
        """Raise what is wrong with the table, for the holder of the rows, before any request.

        Names and types of the columns are compared with what was agreed on; then all rows are read
        once, and what was summed is forgotten. Nothing is sent, and nothing is kept.

        Parameters
        ----------
        bounds : path or mapping
            The bounds file that was agreed on, or bounds by the names of columns.
        unit : str, optional
            The column of ids, or "client", as the fit will name it.
        """
        named = bounded_columns(bounds)
        if named is None:
            raise ParameterError(
                "bounds must name the columns that were agreed on. Give the path of the bounds "
                "file, or a mapping such as {'age': (0, 120)}."
            )
        columns = tuple(named)
        domain = read_bounds(bounds, columns, len(columns)).domain
        whose = ROW if unit in (None, CLIENT) else Unit(unit)
        local_table(self._table).open_engine(columns, domain, whose).aggregate(Count())

    def respond(self, message: bytes) -> bytes:
        """Return the response to `message`, an encoded request, or nothing if there is none."""
        request = read_query_request(message)
        if request is None:
            return b""
        try:
            return self._respond(request)
        except EngineError:
            return request.nonce + FAILED

    @guarded
    def forget(self, fit: bytes) -> None:
        """Forget the samples of `fit`, which has ended."""
        self._samples.forget(fit)

    @guarded
    def _respond(self, request: QueryRequest) -> bytes:
        sums = self._sums(request)
        if sums is None:
            return b""
        return request.nonce + sums.astype("<i8", copy=False).tobytes()

    def _sums(self, request: QueryRequest) -> IntArray | None:
        unit, query = request.unit, request.query
        if not unit.whole:
            engine = self._engine(request, unit)
            return None if engine is None else engine.aggregate(query).clamped()
        if request.sampling_exponent:
            is_in = self._samples.includes_client(
                request.fit, _sample_name(request), request.sampling_exponent
            )
            if not is_in:
                return None if is_in is None else np.zeros(query.size, dtype=np.int64)
        return clipped_whole(query, unit, self._opened_engine(request, ROW))

    def _engine(self, request: QueryRequest, unit: Unit) -> LocalEngine | None:
        engine = self._opened_engine(request, unit)
        if request.sampling_exponent == 0:
            return engine
        # The key is nowhere but here: who knows it could tell a row by whom else it leaves out.
        draw = partial(engine.sample, request.sampling_exponent, secrets.token_bytes(KEY_BYTES))
        return self._samples.sample(request.fit, _sample_name(request), draw)

    def _opened_engine(self, request: QueryRequest, unit: Unit) -> LocalEngine:
        name = encode((request.columns, request.domain, unit))
        opened = self._opened  # read once: another thread may put its own there
        if opened is None or opened[0] != name:
            columns = None if isinstance(request.columns, int) else request.columns
            engine = local_table(self._table).open_engine(columns, request.domain, unit)
            self._opened = opened = (name, engine)
        return opened[1]


def read_query_request(message: bytes) -> QueryRequest | None:
    """Return the request that a message holds, or None if it is refused, by its bytes alone.

    Examples
    --------
    >>> read_query_request(b"no request") is None
    True
    """
    try:
        return _rehearsed(message)
    except EngineError:
        return None


def response_size(query: Query) -> int:
    """Return how many bytes the response to a query has."""
    return NONCE_BYTES + 8 * query.size


def failure(message: bytes) -> bytes:
    """Return the response of a client that failed, or nothing if `message` is not a request.

    Examples
    --------
    >>> failure(b"no request")
    b''
    """
    request = read_query_request(message)
    return b"" if request is None else request.nonce + FAILED


@guarded
def _rehearsed(message: bytes) -> QueryRequest:
    request = decode(message, QueryRequest)
    if request.version != __version__:
        raise ValueError
    query = request.query
    # The server sizes noise by what it takes the query to declare, by code of its own.
    if (request.sensitivity, request.size) != (query.sensitivity, query.size):
        raise ValueError
    rehearse(request)
    return request


def _sample_name(request: QueryRequest) -> str:
    """Return a name that requests share if they mean the same sample, brought to one grid."""
    about = (request.sampling_exponent, request.columns, request.domain, request.unit)
    return blake2b(encode(about), digest_size=16).hexdigest()


def _check_format(table: Any) -> None:
    """Refuse CSV and Excel files, which one line can make unreadable, such as by an open quote."""
    paths = table.paths if isinstance(table, Files) else table
    given = paths if isinstance(paths, list | tuple) else [paths]
    if names_lake(table):
        return
    names = [file.path.name for path in given for file in found_at(os.fspath(path))]
    for name in names:
        if name.lower().endswith(_TEXTS):
            raise UnreadableFileError(
                f"{name!r} is a CSV or Excel file, which one line can make unreadable; all "
                "would learn that a client of the federation failed. Convert it to Parquet, for "
                "instance with pyarrow.csv.read_csv and pyarrow.parquet.write_table."
            )
