"""A client of a federation: holds rows behind its own engine, answers with whole numbers only.

The same code runs beside the server, for tests and notebooks, and in a silo. An answer is the
question's nonce and one whole number of 64 bits per coordinate; its length follows from the
question. Whatever fails at a client, the answer is empty.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from privclust.domain import Domain
from privclust.engines.arrow import ArrowEngine
from privclust.engines.base import ROW, Engine, EngineError, Unit, guarded
from privclust.engines.frames import schema_of
from privclust.engines.numpy import NumpyEngine
from privclust.engines.sampling import heads, unit_words
from privclust.engines.schema import Schema
from privclust.engines.sources import source_of
from privclust.engines.spilled import SpilledEngine
from privclust.engines.units import clipped_whole
from privclust.engines.wire import Question, decode, encode
from privclust.queries import Query

NONCE_BYTES = 16
LARGEST = 2**62
"""Sums of one client are clamped to this size, which takes more than 2^36 rows to reach."""
_ENDING = ".sample.npy"

Columns = tuple[str, ...] | int


class Client:
    """Rows of one client, and its answers to questions about them.

    Parameters
    ----------
    table : array, frame, path, …
        Anything an estimator's `fit` takes. Read inside `answer` only.
    folder : path, optional
        Where a sample is kept from one process to the next, if each question starts a process of
        its own. Only this user may read it; it is deleted when the fit has ended, or when another
        begins.

    Examples
    --------
    >>> client = Client(np.zeros((3, 2)))
    >>> client.schema.n_columns, client.answer(b"no question")
    (2, b'')
    """

    def __init__(self, table: Any, folder: str | os.PathLike[str] | None = None) -> None:
        self._table = table
        self._folder = None if folder is None else Path(folder)
        self._opened: tuple[bytes, Engine] | None = None
        self._sampled: tuple[bytes, Engine] | None = None

    @property
    def schema(self) -> Schema:
        """Names and types of the columns, for the holder of the rows."""
        source = source_of(self._table)
        return schema_of(self._table) if source is None else source.schema

    def answer(self, message: bytes) -> bytes:
        """Return the answer to an encoded `Question`, or nothing if there is none."""
        try:
            return self._answered(message)
        except EngineError:
            return b""

    def forget(self) -> None:
        """Forget the sample and its secret: the fit has ended."""
        self._sampled = None
        for file in self._kept_files():
            file.unlink(missing_ok=True)

    @guarded
    def _answered(self, message: bytes) -> bytes:
        question = decode(message, Question)
        sums = self._sums(question)
        clamped = np.array([max(-LARGEST, min(LARGEST, value)) for value in sums], dtype="<i8")
        return question.nonce + clamped.tobytes()

    def _sums(self, question: Question) -> list[int]:
        unit, query = question.unit, question.query
        if not unit.whole:
            return self._engine(question, unit).aggregate(query)
        if question.halvings and not _client_is_in(question):
            return [0] * query.size
        return clipped_whole(query, unit, self._opened_engine(question, ROW).aggregate(query))

    def _engine(self, question: Question, unit: Unit) -> Engine:
        engine = self._opened_engine(question, unit)
        if question.halvings == 0:
            return engine
        name = encode((question.key, question.halvings))
        if self._sampled is None or self._sampled[0] != name:
            sample = engine.sample(question.halvings, question.key)
            self._sampled = (name, self._kept(sample, name))
        return self._sampled[1]

    def _opened_engine(self, question: Question, unit: Unit) -> Engine:
        name = encode((question.columns, question.domain, unit))
        if self._opened is None or self._opened[0] != name:
            self._opened = (name, open_engine(self._table, question.columns, question.domain, unit))
            self._sampled = None
        return self._opened[1]

    def _kept(self, sample: Engine, name: bytes) -> Engine:
        if self._folder is None or not isinstance(sample, NumpyEngine):
            return sample
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._folder / f"{blake2b(name, digest_size=16).hexdigest()}{_ENDING}"
        for other in self._kept_files():
            if other.name != file.name:
                other.unlink(missing_ok=True)
        return sample.kept_in(file)

    def _kept_files(self) -> list[Path]:
        return [] if self._folder is None else sorted(self._folder.glob(f"*{_ENDING}"))


def open_engine(table: Any, columns: Columns, domain: Domain, unit: Unit) -> Engine:
    """Put a client's table behind the engine for it, with the columns in the server's order."""
    source = source_of(table)
    if source is None:
        if isinstance(columns, int):
            return NumpyEngine(table, domain, unit=unit)
        used = [*columns] if unit.column is None else [*columns, unit.column]
        chosen = table.select(used) if hasattr(table, "select") else table[used]
        return NumpyEngine(chosen, domain, unit=unit)
    if isinstance(columns, int):
        raise TypeError("the columns of a table that is read from elsewhere need names.")
    source.schema.features(unit.column, columns)
    if unit.column is None:
        return ArrowEngine(source, columns, domain)
    return SpilledEngine(source, columns, domain, unit)


def answer_size(query: Query) -> int:
    """Return how many bytes the answer to a query has."""
    return NONCE_BYTES + 8 * query.size


def _client_is_in(question: Question) -> bool:
    """Toss the coin of a client that is one unit: a function of its own secret key."""
    import pyarrow as pa

    return bool(heads(unit_words(question.key, pa.array([b"client"])), question.halvings)[0])
