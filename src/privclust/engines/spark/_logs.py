"""Python's own loggers of Spark, which must not tell of rows or secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PY4J = ("py4j.clientserver", "py4j.java_gateway")
"""At level DEBUG these write all that is sent to Spark, the key of a sample included."""
_PYSPARK = (
    "pyspark.sql.connect.logging",
    "DataFrameQueryContextLogger",
    "SQLQueryContextLogger",
)
"""So does the first of these; the others write to the console why a user's own query failed, with
the value that it failed on."""
_measuring: ContextVar[bool] = ContextVar("measuring", default=False)


@contextmanager
def silenced() -> Iterator[None]:
    """Let these loggers say nothing about what is done inside."""
    from pyspark.logger import PySparkLogger

    for name in _PY4J:
        # For good: objects of Java are let go at any time, each with a line in the log.
        logging.getLogger(name).addFilter(_matters)
    for name in _PYSPARK:
        PySparkLogger.getLogger(name).addFilter(_is_outside)
    before = _measuring.set(True)
    try:
        yield
    finally:
        _measuring.reset(before)


def _matters(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING


def _is_outside(record: logging.LogRecord) -> bool:
    return not _measuring.get()
