"""``privclust bounds …``: bounds files to fill in, and to check, by names and types alone."""

from __future__ import annotations

import errno
import json
import shlex
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._databases import Casts, QueryText, queried_table, typed_query
from privclust.cli._options import (
    DecimalOfFit,
    Delimiter,
    Sheet,
    Unit,
    as_typed,
    unambiguous_files,
)
from privclust.cli.atomic_write import replacing
from privclust.cli.help import Command, Group, epilog
from privclust.cli.messages import INDENT, reporting_errors, say, state_dialects, writing
from privclust.cli.tables import print_table
from privclust.domains._date_format import ISO
from privclust.domains.bounds import declared_columns, read_bounds
from privclust.domains.bounds_file import ORIGINS, read_file
from privclust.domains.columns import CategoryColumn, Column
from privclust.errors import BoundsError, UnreadableFileError
from privclust.sources.cells import NUMBERS, Kind
from privclust.sources.dialects import Files
from privclust.sources.schema import Schema
from privclust.sources.sql.table import SqlTable
from privclust.sources.streams import source_of

ADDED = "Add -k for another number of clusters than 8, and --ledger and --dataset if a ledger pays."
WITHOUT_UNIT = (
    "If one person can have several rows, add --unit with the column of their ids; else the "
    "guarantee is for one row."
)
"""What the suggested fit leaves out, since this command was not told."""
bounds_app = typer.Typer(cls=Group, help="Bounds files: what you declare about values.")


@bounds_app.callback()
def main() -> None:
    """Bounds files: what you declare about values."""


@bounds_app.command("init", cls=Command, epilog=epilog("bounds init"))
def init(
    table: Annotated[
        str,
        typer.Argument(
            help="A Parquet, CSV, Excel or Arrow file, folder or pattern; "
            "postgresql://host/database or sqlite:///path with --query."
        ),
    ],
    unit: Unit = None,
    delimiter: Delimiter = None,
    decimal: DecimalOfFit = None,
    sheet: Sheet = None,
    query: QueryText = None,
    casts: Casts = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "bounds.toml"
    ),
) -> None:
    """Write a bounds file with blanks to fill in; no value of the table is looked at."""
    with reporting_errors():
        style = (delimiter, decimal, sheet)
        schema = _schema_of(_table([table], style, query, casts))
        kinds = dict(zip(schema.names or (), schema.kinds, strict=True))
        if unit is not None:
            schema.check_ids(unit)
        text = _head() + "".join(
            _column(name, kind) for name, kind in kinds.items() if name != unit
        )
        with writing(out):
            if out.exists():
                raise FileExistsError(errno.EEXIST, "it exists and is not overwritten")
        with replacing(out, out.suffix) as file, writing(out):
            file.write_bytes(text.encode())
        typed = [*as_typed(unit, *style), *typed_query(query, casts)]
        checked = shlex.join(["privclust", "bounds", "check", str(out), table, *typed])
        say(
            f"wrote {out.name}. Fill in the blanks from knowledge of the field and delete columns "
            f"that should not be clustered. Then check it, and fit:\n{INDENT}{checked}\n"
            f"{INDENT}{_fit_command([table], typed, out)}\n{_added(unit)}"
        )


@bounds_app.command("check", cls=Command, epilog=epilog("bounds check"))
def check(
    bounds: Annotated[Path, typer.Argument(help="A bounds file that you filled in.")],
    table: Annotated[
        list[str] | None,
        typer.Argument(
            help="The table it is for: files, folders or patterns; or an address with --query."
        ),
    ] = None,
    unit: Unit = None,
    delimiter: Delimiter = None,
    decimal: DecimalOfFit = None,
    sheet: Sheet = None,
    query: QueryText = None,
    casts: Casts = None,
) -> None:
    """Check a bounds file, alone or with its table; no value of the table is looked at.

    What is said of the table depends on the names and types of its columns alone.
    """
    with reporting_errors():
        given, origin = read_file(bounds)
        if not given:
            raise BoundsError(f"the bounds file {bounds.name!r} declares no column.")
        columns, _ = declared_columns(str(bounds), list(given))
        rest: tuple[str, ...] = ()
        style = (delimiter, decimal, sheet)
        if table:
            schema = _schema_of(_table(table, style, query, casts))
            used = schema.features(unit, given, {column.name: column.use for column in columns})
            read_bounds(str(bounds), used.names, used.n_columns)
            rest = tuple(name for name in schema.names or () if name not in (*given, unit))
        print_table(*_declarations(columns))
        say(f"Bounds come from: {origin}.")
        if rest:
            say(f"Not clustered, because no bounds name them: {', '.join(rest)}.")
        if not table:
            say(f"{bounds.name} is complete.")
            return
        typed = [*as_typed(unit, *style), *typed_query(query, casts)]
        say(
            f"{bounds.name} is complete and names columns of the table. No cell was read: whatever "
            f"is not written as declared will count as missing{_but_days(columns)}. Next:\n"
            f"{INDENT}{_fit_command(table, typed, bounds)}\n"
            f"{_added(unit)}"
        )


def _but_days(columns: Sequence[Column]) -> str:
    """Say which days are read that are not written as declared, if some are declared otherwise."""
    if all(getattr(column, "format", ISO) == ISO for column in columns):
        return ""
    return f", but for days that are written as {ISO}, which are read as well"


def _fit_command(table: list[str], typed: list[str], bounds: Path) -> str:
    """Return the command that fits a table, read as the user typed."""
    words = ["privclust", "fit", *table, *typed, "--bounds", str(bounds)]
    return f"{shlex.join(words)} --delta 1e-6 --out model.json"


def _added(unit: str | None) -> str:
    return ADDED if unit else f"{ADDED} {WITHOUT_UNIT}"


def _table(
    typed: list[str],
    style: tuple[str | None, str | None, str | None],
    query: str | None,
    casts: list[str] | None,
) -> Files | SqlTable:
    """Return the table that was typed: files, or the result of a query."""
    delimiter, decimal, sheet = style
    queried = queried_table(typed, query, casts, delimiter=delimiter, decimal=decimal, sheet=sheet)
    return queried or unambiguous_files(typed, *style)


def _schema_of(table: Files | SqlTable) -> Schema:
    """Return the columns of a table, or refuse files whose first line is no line of names."""
    if isinstance(table, SqlTable):
        with closing(table.open()) as session:
            return session.schema
    source = source_of(table)
    assert source is not None
    schema = source.schema
    state_dialects(table)
    if not schema.names:
        raise UnreadableFileError("there are no columns. Give a table that has some.")
    if schema.looks_like_a_row:
        raise UnreadableFileError(
            "the first line holds a value, which does not name a column. Put a line of names "
            "before it."
        )
    return schema


def _declarations(columns: tuple[Column, ...]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head and the lines of the table of columns."""
    head = ("column", "type", "from", "to", "scale", "weight")
    lines = [_declaration(column) for column in columns]
    if all(column.missing_text is None for column in columns):
        return head, lines
    missing = [column.missing_text or "" for column in columns]
    return (*head, "missing as"), [(*line, one) for line, one in zip(lines, missing, strict=True)]


def _declaration(column: Column) -> tuple[str, ...]:
    """Return a line of the table of columns."""
    weight = f"{column.weight:g}"
    if isinstance(column, CategoryColumn):
        return column.name, "category", ", ".join(column.levels), "", "", weight
    _, ends = column.describe()
    scale = column.number.transform
    return column.name, column.use, *ends, "" if scale == "none" else scale, weight


def _head() -> str:
    origins = ", ".join(json.dumps(origin) for origin in ORIGINS)
    return (
        "# What no value can pass, whoever is in the table. Looking at the table to choose bounds\n"
        "# or levels would reveal something of it. They may be loose. Delete columns that should\n"
        "# not be clustered, such as ids and free text. CSV files do not say what a column holds:\n"
        "# there each one begins as a number, and you change it to what it is, one of\n"
        '#   type = "number"    with  lower = 0  and  upper = 120\n'
        '#                      and  transform = "log1p"  for amounts, counts and durations that\n'
        "#                      have a long tail: their logarithms are clustered\n"
        '#   type = "category"  with  levels = ["north", "south", "other"]\n'
        '#   type = "date"      with  lower = 2020-01-01  and  upper = 2029-12-31, no quotes\n'
        '#                      and  format = "DD.MM.YYYY"  where texts write days like that\n'
        "# In each of them,  weight = 0.5  makes a column count half as much as the others.\n"
        "# A missing number or date counts as the middle, or as a value that you know to be\n"
        "# typical of the field:  missing = 25  or  missing = 2025-06-30\n"
        f'bounds_origin = ""  # one of {origins}\n'
    )


def _column(name: str, kind: Kind) -> str:
    """Return a part to be filled in; whether a text is a category at all, only the owner knows."""
    key = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    if kind in NUMBERS:
        return (
            f'\n[columns.{key}]\ntype = "number"\n'
            "# lower =   fill in and uncomment\n# upper =   fill in and uncomment\n"
        )
    if kind == "date":
        return (
            f'\n[columns.{key}]\ntype = "date"\n'
            "# lower =   fill in a day such as 1990-01-01 and uncomment\n"
            "# upper =   fill in a day such as 2029-12-31 and uncomment\n"
        )
    if kind == "text":
        return (
            f"\n# column {key} holds texts; if they are levels of a category, fill in all that\n"
            "# there can be, from what is public and not from the table, and uncomment:\n"
            f'# [columns.{key}]\n# type = "category"\n# levels = ["…", "…", "other"]\n'
        )
    return f"\n# column {key} holds neither numbers, texts nor days and cannot be clustered\n"
