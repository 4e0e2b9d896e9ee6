"""What the command line says: tables, progress, and one message when something is wrong."""

from __future__ import annotations

import errno
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.table import Table

from privclust.engines.base import EngineError
from privclust.errors import (
    BoundsError,
    ColumnError,
    ColumnTypeError,
    ModelFileError,
    ParameterError,
    TooManyClustersError,
    UnreadableFileError,
)
from privclust.privacy.journal import LedgerError
from privclust.privacy.ledger import BudgetExceededError

EXIT_CODES: dict[type[BaseException], int] = {
    TooManyClustersError: 11,
    ParameterError: 3,
    BoundsError: 4,
    ColumnError: 5,
    ColumnTypeError: 6,
    ModelFileError: 12,
    UnreadableFileError: 7,
    EngineError: 7,
    BudgetExceededError: 8,
    LedgerError: 9,
    ImportError: 13,
    FileNotFoundError: 7,
    OSError: 7,
    ValueError: 3,
    TypeError: 3,
    KeyboardInterrupt: 130,
}
"""In this order: the first that an error is, counts. docs/command-line.md lists them."""
CANNOT_WRITE = 10
_PYTHON_NAMES = {
    r"fit\(X, resume='(\w+)'\)": r"--resume \1",
    r"\bn_(clusters|rows|columns)\b": r"--\1",
    r"\b(max|unit)_(clusters|rows)\b": r"--\1-\2",
    r"(?<=--)([a-z-]+) ?= ?": r"\1 ",
    r"\b(epsilon|delta) ?= ?(?=[\d.])": r"--\1 ",
}
"""How Python says it; at a prompt it is an option."""


@contextmanager
def told() -> Iterator[None]:
    """Show what went wrong as one message; a traceback helps nobody at a prompt."""
    try:
        yield
    except tuple(EXIT_CODES) as error:
        code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        notes = [note.removeprefix("privclust: ") for note in getattr(error, "__notes__", ())]
        message = _at_a_prompt(" ".join([_said(error), *notes]))
    else:
        return
    typer.echo(f"privclust: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def warnings_told() -> Iterator[None]:
    """Show warnings as messages, without the line of code they come from."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in found:
                typer.echo(f"privclust: {_at_a_prompt(str(warning.message))}", err=True)


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Tell apart what cannot be written from what cannot be read."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or type(error).__name__
        remedy = (
            "Free some room" if error.errno == errno.ENOSPC else "Choose a place you may write to"
        )
    else:
        return
    typer.echo(f"privclust: {name} could not be written: {cause}. {remedy}.", err=True)
    raise typer.Exit(CANNOT_WRITE)


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Say which extra a missing library belongs to."""
    try:
        yield
    except ImportError:
        missing = True
    else:
        return
    if missing:
        raise ImportError(f'this needs an extra: pip install "privclust[{extra}]".')


def show(table: Table) -> None:
    """Print a table; what is in brackets stays in brackets."""
    Console(markup=False).print(table)


def _at_a_prompt(message: str) -> str:
    for python, option in _PYTHON_NAMES.items():
        message = re.sub(python, option, message)
    return message


def _said(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}. Check the path and your rights to it."
    return "interrupted." if isinstance(error, KeyboardInterrupt) else str(error)
