"""``privclust export``: a model as a query for a database."""

from __future__ import annotations

from typing import Annotated

import typer

from privclust.cli._options import Model
from privclust.cli.messages import at_a_terminal, clean, reporting_errors


def export(
    model: Model,
    sql: Annotated[str, typer.Option(help="duckdb, postgres or spark.")],
    table: Annotated[str, typer.Option(help="The table to label.")] = "your_table",
) -> None:
    """Print a query that labels the rows of a table in a database."""
    from privclust.models.model_file import read_model
    from privclust.models.sql_export import to_sql

    with reporting_errors():
        text = to_sql(read_model(model), sql, table)  # type: ignore[arg-type]
        # Databases read UTF-8, whatever a file is written in elsewhere on this machine.
        typer.echo(clean(text) if at_a_terminal() else text.encode())
