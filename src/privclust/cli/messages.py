"""What the command line says: tables, and one message when something is wrong."""

from __future__ import annotations

import errno
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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
    needs_extra,
)
from privclust.models.composition import Composition
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError

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
    UnicodeError: 14,
    ValueError: 3,
    TypeError: 3,
    KeyboardInterrupt: 130,
    Exception: 14,
}
"""In this order: the first that an error is, counts. docs/command-line.md lists them."""
CANNOT_WRITE, UNEXPECTED = 10, 14
_PYTHON_NAMES = {
    r"(?:fit|profile)\(X, (?:\.{3}, )?resume='(\w+)'\)": r"--resume \1",
    r"\bn_(clusters|rows|columns)\b": r"--\1",
    r"\b(max|unit)_(clusters|rows)\b": r"--\1-\2",
    r"(?<=--)([a-z-]+) ?= ?": r"\1 ",
    r"\b(epsilon|delta) ?= ?(?=[\d.])": r"--\1 ",
}
"""How Python says it; at a prompt it is an option."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""With these, the name of a column could write anywhere on a terminal."""


@contextmanager
def told() -> Iterator[None]:
    """Show what went wrong as one message; a traceback helps nobody at a prompt."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except tuple(EXIT_CODES) as error:
        code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        notes = [note.removeprefix("privclust: ") for note in getattr(error, "__notes__", ())]
        message = _at_a_prompt(" ".join([_said(error, code), *notes]))
    else:
        return
    complain(message)
    raise typer.Exit(code)


@contextmanager
def warnings_told() -> Iterator[None]:
    """Show warnings as messages, at once, without the line of code they come from."""

    def tell(message: Warning | str, *details: object, **others: object) -> None:
        complain(_at_a_prompt(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = tell
        yield


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell apart what cannot be written from what cannot be read."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or type(error).__name__
        remedy = "Choose a place you may write to"
        if error.errno == errno.ENOSPC:
            remedy = "Free some room"
        elif error.errno == errno.EEXIST:
            remedy = "Name another file, or delete it"
        elif error.errno == errno.EINVAL:
            remedy = "Name another file"
        elif not path.parent.is_dir():
            cause, remedy = f"there is no folder {str(path.parent)!r}", "Make it, or choose another"
    else:
        return
    complain(f"{path.name} could not be written: {cause}. {remedy}.")
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
        raise ImportError(f"{needs_extra(extra)}.")


def complain(message: str) -> None:
    """Write a message to standard error."""
    typer.echo(clean(f"privclust: {message}"), err=True)


def tell_if_weak(composed: Composition) -> None:
    """Say how little a guarantee means, where it means little."""
    if composed.private and composed.weak:
        complain(composed.strength)


def show(header: Sequence[str], rows: Iterable[Sequence[str]], whole: str = "") -> None:
    """Print a table; what is in brackets stays in brackets, and the `whole` column is never cut."""
    table = Table()
    for name in header:
        table.add_column(clean(name), no_wrap=name == whole, overflow="fold")
    for row in rows:
        table.add_row(*map(clean, row))
    Console(markup=False, emoji=False).print(table)


def clean(text: str) -> str:
    """Return a text without what a terminal would obey."""
    return _CONTROLS.sub("?", text)


def at_a_terminal() -> bool:
    """Tell whether somebody looks at what is printed."""
    return sys.stdout.isatty()


def _at_a_prompt(message: str) -> str:
    for python, option in _PYTHON_NAMES.items():
        message = re.sub(python, option, message)
    return message


def _said(error: BaseException, code: int) -> str:
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}. Check the path and your rights to it."
    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    if code == UNEXPECTED:
        # Nobody knows what its text says; it may be a cell.
        return f"a {type(error).__name__} that nobody expected. Please report what you typed."
    return str(error)
