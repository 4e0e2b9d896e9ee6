"""Tables at a node, as they are typed at a prompt; tokens are taken from the environment alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._options import column_names
from privclust.errors import ParameterError
from privclust.remote._address import is_address
from privclust.remote.table import RemoteTable

Address = Annotated[str, typer.Argument(help="Such as https://host/tables/credit.")]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns", help="Of a table at a node: columns to cluster, such as age,income; else all."
    ),
]
CaFile = Annotated[
    Path | None, typer.Option(help="Of a table at a node: your authority's certificates (PEM).")
]
Certificate = Annotated[
    Path | None, typer.Option(help="Of a table at a node: your certificate and key (PEM).")
]
FOR_NODES = "is for a table at a node, such as https://host/tables/credit"


def remote_table(
    typed: list[str],
    columns: str | None,
    ca_file: Path | None,
    certificate: Path | None,
    **for_files: object,
) -> RemoteTable | None:
    """Return the table at a node that was typed; None if files were.

    `for_files` are options by which files are read, each None unless it was typed.
    """
    addresses = [word for word in typed if is_address(word)]
    if not addresses:
        refuse_options(FOR_NODES, columns=columns, ca_file=ca_file, certificate=certificate)
        return None
    if len(typed) > 1:
        raise ParameterError(
            "a table at a node is fitted alone. Type one address, and no files beside it."
        )
    refuse_options("is for files, and this table is at a node", **for_files)
    return table_at(addresses[0], columns, ca_file, certificate)


def table_at(
    url: str, columns: str | None = None, ca_file: Path | None = None, own: Path | None = None
) -> RemoteTable:
    """Return a table at a node."""
    names = None if columns is None else column_names(columns)
    return RemoteTable(
        url,
        names,
        ca_file=None if ca_file is None else str(ca_file),
        certificate=None if own is None else str(own),
    )


def typed_again(table: RemoteTable) -> list[str]:
    """Return the address of a table and how to reach it, for a command to type next."""
    paths = {"--ca-file": table.ca_file, "--certificate": table.certificate}
    options = [(name, str(path)) for name, path in paths.items() if path is not None]
    return [table.url, *(word for option in options for word in option)]


def refuse_options(why: str, **options: object) -> None:
    """Refuse the first of `options` that was typed: that is not None."""
    typed = [name for name, value in options.items() if value is not None]
    if typed:
        raise ParameterError(f"--{typed[0].replace('_', '-')} {why}. Leave it out.")
