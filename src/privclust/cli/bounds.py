"""``privclust bounds init``: a bounds file to fill in, from names and types alone."""

from __future__ import annotations

import errno
import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from privclust.bounds import ORIGINS
from privclust.cli.telling import told, writing
from privclust.engines.cells import NUMBERS
from privclust.engines.files import open_files
from privclust.errors import UnreadableFileError

bounds_app = typer.Typer(help="Bounds files: what you promise about values.")


@bounds_app.callback()
def main() -> None:
    """Bounds files: what you promise about values."""


@bounds_app.command()
def init(
    table: Annotated[str, typer.Argument(help="A Parquet, CSV or Arrow file, folder or pattern.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "bounds.toml"
    ),
) -> None:
    """Write a bounds file with blanks to fill in; no value of the table is looked at."""
    with told():
        schema, _ = open_files(table)
        names = schema.names or ()
        if not names:
            raise UnreadableFileError("there are no columns. Give a table that has some.")
        if schema.looks_like_a_row:
            raise UnreadableFileError(
                "the first line holds a number, which is no name of a column. Put a line of names "
                "before it."
            )
        columns = zip(names, schema.kinds, strict=True)
        text = _head() + "".join(_column(name, kind in NUMBERS) for name, kind in columns)
        with writing(out):
            if out.exists():
                raise FileExistsError(errno.EEXIST, "it exists and is not overwritten")
            out.write_text(text, encoding="utf-8")
        then = shlex.join(["privclust", "fit", table, "--bounds", str(out)])
        typer.echo(
            f"wrote {out.name}. Fill in the blanks from knowledge of the field and delete columns "
            f"that shall not be clustered, then: {then} -k 8 --delta 1e-6 --out model.json"
        )


def _head() -> str:
    origins = ", ".join(json.dumps(origin) for origin in ORIGINS)
    return (
        "# What no value can pass, whoever is in the table. Looking at the table to choose bounds\n"
        "# would reveal something of it. They may be loose.\n"
        f'bounds_origin = ""  # one of {origins}\n'
    )


def _column(name: str, is_number: bool) -> str:
    key = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    if not is_number:
        return f"\n# column {key} holds no numbers and cannot be clustered\n"
    return (
        f'\n[columns.{key}]\ntype = "number"\n'
        "# lower =   fill in and uncomment\n# upper =   fill in and uncomment\n"
    )
