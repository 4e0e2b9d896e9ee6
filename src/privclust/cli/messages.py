"""What the command line says: texts, and one message when something is wrong."""

from __future__ import annotations

import errno
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TextIO

import typer
from rich.console import Console

from privclust.errors import (
    AbsentNodeError,
    BoundsError,
    ColumnError,
    ColumnTypeError,
    EngineError,
    Message,
    ModelFileError,
    NodeRefusedError,
    Parameter,
    ParameterError,
    TooManyClustersError,
    UnreadableFileError,
    needs_extra,
)
from privclust.models.composition import Composition
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.remote.error import RemoteError
from privclust.sources.dialects import Files
from privclust.sources.files import describe_dialects, list_files
from privclust.sources.lake_paths import names_lake

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
    RemoteError: 15,
    NodeRefusedError: 15,
    AbsentNodeError: 15,
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
INDENT = "    "
"""Before a command to type."""
_OPTIONS = {
    "n_clusters": "--clusters",
    "n_rows": "--rows",
    "n_columns": "--columns",
    "random_state": "--seed",
}
"""Of parameters whose options have other names."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""With these, the name of a column could write anywhere on a terminal."""


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Print what went wrong as one message; a traceback helps nobody at a prompt."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise  # a program that closed its pipe, such as `head`, has read enough
    except tuple(EXIT_CODES) as error:
        code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        notes = [_rendered(note) for note in getattr(error, "__notes__", ())]
        notes = [note.removeprefix("privclust: ") for note in notes]
        message = " ".join([_text_of(error, code), *notes])
    else:
        return
    print_error(message)
    raise typer.Exit(code)


@contextmanager
def reporting_warnings() -> Iterator[None]:
    """Print warnings as messages, at once, without the line of code they come from."""

    def report(message: Warning | str, *details: object, **others: object) -> None:
        print_error(_message_of(message) if isinstance(message, Warning) else message)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = report
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
            remedy = "Free some space"
        elif error.errno == errno.EEXIST:
            remedy = "Name another file, or delete it"
        elif error.errno == errno.EINVAL:
            remedy = "Name another file"
        elif not path.parent.is_dir():
            cause, remedy = f"there is no folder {str(path.parent)!r}", "Make it, or choose another"
    else:
        return
    print_error(f"{path.name} could not be written: {cause}. {remedy}.")
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


def say(text: str) -> None:
    """Write a text to standard output; at a terminal, lines end between words."""
    typer.echo(_wrapped(clean(text), sys.stdout))


def say_aside(text: str) -> None:
    """Write a text to standard error, where it is not taken for a result."""
    # Not through typer, which would write into the bar of a fit that goes on.
    sys.stderr.write(f"{_wrapped(clean(text), sys.stderr)}\n")


def print_error(message: str) -> None:
    """Write a message to standard error."""
    say_aside(f"privclust: {message}")


def _wrapped(text: str, stream: TextIO) -> str:
    """Return a text whose lines fit a terminal; commands to type stay whole."""
    if not stream.isatty():
        return text
    width = Console().width
    lines = (
        [line] if line.startswith(INDENT) else wrap(line, width, break_on_hyphens=False)
        for line in text.split("\n")
    )
    return "\n".join(part for line in lines for part in line or [""])


def state_dialects(files: Files) -> None:
    """Say how CSV files are taken to be written, on standard error."""
    if names_lake(files):
        return
    sentences = describe_dialects(list_files(files)[1])
    for sentence in sentences:
        say_aside(sentence)
    if sentences and files.decimal == ".":
        say_aside("If commas mark decimals, type --decimal ,")


def warn_if_weak(composed: Composition) -> None:
    """Say how little a guarantee means, where it means little."""
    if composed.private and composed.weak:
        print_error(composed.strength)


def clean(text: str) -> str:
    """Return a text without what a terminal would obey."""
    return _CONTROLS.sub("?", text)


def at_a_terminal() -> bool:
    """Tell whether somebody looks at what is printed."""
    return sys.stdout.isatty()


def option_of(parameter: Parameter) -> str:
    """Return how a parameter is typed at a prompt.

    Examples
    --------
    >>> option_of(Parameter("n_clusters", 8)), option_of(Parameter("max_rows_per_unit"))
    ('--clusters 8', '--max-rows-per-unit')
    >>> option_of(Parameter("epsilon")), option_of(Parameter("unit", "id of patient"))
    ('epsilon', "--unit 'id of patient'")
    >>> option_of(Parameter("columns", ["age", "income"]))
    '--columns age,income'
    """
    name = parameter.name
    option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    value = parameter.value
    if isinstance(value, list | tuple):
        value = ",".join(map(_in_a_list, value))
    if value is not None:
        return f"{option} {shlex.quote(str(value))}"
    return option if "_" in name else name  # a single word is the same in a sentence


def _in_a_list(name: object) -> str:
    """Return a name as it is typed in a list of several: in quotes if it has a comma."""
    text = str(name)
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"') else text


def _rendered(text: str) -> str:
    return text.render(option_of) if isinstance(text, Message) else text


def _message_of(error: BaseException) -> str:
    text = error.args[0] if error.args else None
    return _rendered(text) if isinstance(text, Message) else str(error)


def _text_of(error: BaseException, code: int) -> str:
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}. Check the path and your rights to it."
    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    if code == UNEXPECTED:
        # Nobody knows what its text says; it may be a cell.
        return f"a {type(error).__name__} that nobody expected. Please report what you typed."
    return _message_of(error)
