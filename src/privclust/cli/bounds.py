"""``privclust bounds init``: a bounds file to fill in, from names and types alone."""

from __future__ import annotations

import errno
import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli.messages import reporting_errors, writing
from privclust.domains.bounds_file import ORIGINS
from privclust.errors import UnreadableFileError
from privclust.sources.cells import NUMBERS, Kind
from privclust.sources.files import open_files

bounds_app = typer.Typer(help="Bounds files: what you declare about values.")


@bounds_app.callback()
def main() -> None:
    """Bounds files: what you declare about values."""


@bounds_app.command()
def init(
    table: Annotated[str, typer.Argument(help="A Parquet, CSV or Arrow file, folder or pattern.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "bounds.toml"
    ),
) -> None:
    """Write a bounds file with blanks to fill in; no value of the table is looked at."""
    with reporting_errors():
        schema, _ = open_files(table)
        names = schema.names or ()
        if not names:
            raise UnreadableFileError("there are no columns. Give a table that has some.")
        if schema.looks_like_a_row:
            raise UnreadableFileError(
                "the first line holds a number, which does not name a column. Put a line of names "
                "before it."
            )
        columns = zip(names, schema.kinds, strict=True)
        text = _head() + "".join(_column(name, kind) for name, kind in columns)
        with writing(out):
            if out.exists():
                raise FileExistsError(errno.EEXIST, "it exists and is not overwritten")
            out.write_text(text, encoding="utf-8")
        then = shlex.join(["privclust", "fit", table, "--bounds", str(out)])
        typer.echo(
            f"wrote {out.name}. Fill in the blanks from knowledge of the field and delete columns "
            f"that should not be clustered, then: {then} -k 8 --delta 1e-6 --out model.json"
        )


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
