"""A client of a federation: holds rows behind its own engine, answers with whole numbers only.

The same code runs beside the server, for tests and notebooks, and in a silo. An answer is the
question's nonce and one whole number of 64 bits per coordinate; its length follows from the
question. Whatever fails while rows are read, the answer is the nonce and a fixed word. It is empty
where no rows had a part in it: the question is refused, which follows from its bytes alone, or it
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

from privclust._version import __version__
from privclust.domains.base import Domain
from privclust.domains.bounds import Bounds, bounded_columns, read_bounds
from privclust.engines._types import check_source_types, check_types
from privclust.engines.base import EngineError, guarded
from privclust.engines.federated._rehearsal import rehearse
from privclust.engines.federated._request import NONCE_BYTES, Question
from privclust.engines.federated._sample_store import Samples
from privclust.engines.federated.wire import decode, encode
from privclust.engines.memory import NumpyEngine
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.engines.units import clipped_whole
from privclust.errors import ParameterError, UnreadableFileError
from privclust.queries.base import Count, Query
from privclust.queries.unit import ROW, Unit
from privclust.sources.files import FORMATS, is_path, paths_of
from privclust.sources.frames import schema_of
from privclust.sources.schema import Schema
from privclust.sources.streams import source_of
from privclust.tracebacks import clears_frames

CLIENT = "client"
"""The unit of which all rows of one client are protected together."""
KEY_BYTES = 32
FAILED = b"failed"
"""What a client answers, after the nonce, that could not read or sum its rows."""
LARGEST = 2**62
"""Sums of one client are clamped to this size, which takes more than 2^36 rows to reach."""
_CSV = tuple(ending for ending, kind in FORMATS.items() if kind == "csv")

Columns = tuple[str, ...] | int
ClientEngine = NumpyEngine | ArrowEngine | SpilledEngine


class Client:
    """Rows of one client, and its answers to questions about them.

    Parameters
    ----------
    table : array, frame, path, …
        Anything an estimator's `fit` takes but CSV files. Read inside `answer` only.
    folder : path, optional
        Where a sample is kept from one process to the next, which it must be if each question
        starts a process of its own. Only this user may enter it. A sample is deleted when its fit
        has ended, or when it was not asked for a day; that it was drawn stays written down.

    Examples
    --------
    >>> client = Client(np.zeros((3, 2)))
    >>> client.schema.n_columns, client.answer(b"no question")
    (2, b'')
    """

    @clears_frames
    def __init__(self, table: Any, folder: str | os.PathLike[str] | None = None) -> None:
        if is_path(table):
            _check_format(table)
        self.folder = None if folder is None else Path(folder)
        self._table = table
        self._opened: tuple[bytes, ClientEngine] | None = None
        self._samples = Samples(self.folder)

    @property
    @clears_frames
    def schema(self) -> Schema:
        """Names and types of the columns, for the holder of the rows."""
        source = source_of(self._table)
        return schema_of(self._table) if source is None else source.schema

    @clears_frames
    def check(self, bounds: Bounds, unit: str | None = None) -> None:
        """Raise what is wrong with the table, for the holder of the rows, before a server asks.

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
        open_engine(self._table, columns, domain, whose).aggregate(Count())

    def answer(self, message: bytes) -> bytes:
        """Return the answer to `message`, an encoded question, or nothing if there is none."""
        question = understood(message)
        if question is None:
            return b""
        try:
            return self._answered(question)
        except EngineError:
            return question.nonce + FAILED

    @guarded
    def forget(self, fit: bytes) -> None:
        """Forget the samples of `fit`, which has ended."""
        self._samples.forget(fit)

    @guarded
    def _answered(self, question: Question) -> bytes:
        sums = self._sums(question)
        if sums is None:
            return b""
        clamped = np.array([max(-LARGEST, min(LARGEST, value)) for value in sums], dtype="<i8")
        return question.nonce + clamped.tobytes()

    def _sums(self, question: Question) -> list[int] | None:
        unit, query = question.unit, question.query
        if not unit.whole:
            engine = self._engine(question, unit)
            return None if engine is None else engine.aggregate(query)
        if question.halvings:
            is_in = self._samples.coin(question.fit, _sample_name(question), question.halvings)
            if not is_in:
                return None if is_in is None else [0] * query.size
        return clipped_whole(query, unit, self._opened_engine(question, ROW).aggregate(query))

    def _engine(self, question: Question, unit: Unit) -> ClientEngine | None:
        engine = self._opened_engine(question, unit)
        if question.halvings == 0:
            return engine
        # The key is nowhere but here: who knows it could tell a row by whom else it leaves out.
        draw = partial(engine.sample, question.halvings, secrets.token_bytes(KEY_BYTES))
        return self._samples.sample(question.fit, _sample_name(question), draw)

    def _opened_engine(self, question: Question, unit: Unit) -> ClientEngine:
        name = encode((question.columns, question.domain, unit))
        opened = self._opened  # read once: another thread may put its own there
        if opened is None or opened[0] != name:
            opened = (name, open_engine(self._table, question.columns, question.domain, unit))
            self._opened = opened
        return opened[1]


def open_engine(table: Any, columns: Columns, domain: Domain, unit: Unit) -> ClientEngine:
    """Put a client's table behind the engine for it, with the columns in the server's order.

    Types are checked first, by what is declared: no cell decides whether a client answers.
    """
    source = source_of(table)
    schema = schema_of(table) if source is None else source.schema
    schema.read_by(domain, unit.column, None if isinstance(columns, int) else columns)
    if source is None:
        chosen = table
        if not isinstance(columns, int):
            used = [*columns] if unit.column is None else [*columns, unit.column]
            chosen = table.select(used) if hasattr(table, "select") else table[used]
        check_types(chosen, domain, unit)
        return NumpyEngine(chosen, domain, unit=unit)
    if isinstance(columns, int):
        raise TypeError("the columns of a table that is read from elsewhere need names.")
    check_source_types(source, columns, domain, unit)
    if unit.column is None:
        return ArrowEngine(source, columns, domain)
    return SpilledEngine(source, columns, domain, unit)


def understood(message: bytes) -> Question | None:
    """Return the question that a message holds, or None if it is refused, by its bytes alone.

    Examples
    --------
    >>> understood(b"no question") is None
    True
    """
    try:
        return _rehearsed(message)
    except EngineError:
        return None


def answer_size(query: Query) -> int:
    """Return how many bytes the answer to a query has."""
    return NONCE_BYTES + 8 * query.size


def failure(message: bytes) -> bytes:
    """Return the answer of a client that was asked and failed, or nothing to what is no question.

    Examples
    --------
    >>> failure(b"no question")
    b''
    """
    question = understood(message)
    return b"" if question is None else question.nonce + FAILED


@guarded
def _rehearsed(message: bytes) -> Question:
    question = decode(message, Question)
    if question.version != __version__:
        raise ValueError
    rehearse(question)
    return question


def _sample_name(question: Question) -> str:
    """Return a name that questions share if they mean the same sample, brought to one grid."""
    about = (question.halvings, question.columns, question.domain, question.unit)
    return blake2b(encode(about), digest_size=16).hexdigest()


def _check_format(table: Any) -> None:
    """Refuse CSV files, in which a quote that a line leaves open makes the file unreadable."""
    given = table if isinstance(table, list | tuple) else [table]
    for path in paths_of(map(os.fspath, given)):
        if path.name.lower().endswith(_CSV):
            raise UnreadableFileError(
                f"{path.name!r} is a CSV file, which one line can make unreadable, and all would "
                "learn that a client of the federation failed. Convert it to Parquet, for instance "
                "with pyarrow.csv.read_csv and pyarrow.parquet.write_table."
            )
