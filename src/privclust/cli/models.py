"""``privclust predict``, ``export`` and ``report``: what to do with a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from privclust.cli.atomic_write import FOR_THE_OWNER, replacing
from privclust.cli.messages import at_a_terminal, clean, needing, told, writing
from privclust.kernels.grid import IntArray
from privclust.sources.files import paths_of

Model = Annotated[Path, typer.Argument(help="A model file that 'privclust fit' wrote.")]


def predict(
    model: Model,
    table: Annotated[list[str], typer.Argument(help="Files, folders or patterns to label.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
) -> None:
    """Label rows by their nearest centre. Labels of protected rows are protected data."""
    from privclust.estimators._fit import label_parts
    from privclust.estimators._load import load

    with told():
        fitted = load(model)
        schema = pa.schema([("cluster", pa.int32())])
        failures: list[OSError] = []
        reads = [model, *paths_of(table)]
        with replacing(out, ".parquet", reads, FOR_THE_OWNER) as file:
            with pq.ParquetWriter(file, schema) as writer:

                def write(labels: IntArray) -> None:
                    column = pa.array(labels.astype(np.int32))
                    try:
                        writer.write_table(pa.table([column], schema=schema))
                    except OSError as error:
                        failures.append(error)

                label_parts(fitted, table, write)
            with writing(out):
                if failures:
                    raise failures[0]
        typer.echo(
            f"wrote {out.name}, one label a row, in the order of the table; of a CSV file, rows "
            "with too many or too few cells are left out. These labels are not covered by the "
            "guarantee: whoever may not see the rows may not see them."
        )


def export(
    model: Model,
    sql: Annotated[str, typer.Option(help="duckdb, postgres or spark.")],
    table: Annotated[str, typer.Option(help="The table to label.")] = "your_table",
) -> None:
    """Print a query that labels the rows of a table in a database."""
    from privclust.models.model_file import read_model
    from privclust.models.sql_export import to_sql

    with told():
        text = to_sql(read_model(model), sql, table)  # type: ignore[arg-type]
        typer.echo(clean(text) if at_a_terminal() else text)


def report(
    model: Model,
    profile: Annotated[
        list[Path] | None, typer.Option(help="A profile of the model to show; any number.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    min_size: Annotated[
        float | None,
        typer.Option(help="Leave out clusters of fewer rows; else of three standard errors."),
    ] = None,
) -> None:
    """Write one page about a model, for whoever has to approve or to use it."""
    from privclust.models.model_file import read_model
    from privclust.models.profile_file import load_profile

    with told():
        with needing("report"):
            from privclust.models.report import to_html
        profiles = profile or []
        text = to_html(read_model(model), [load_profile(file) for file in profiles], min_size)
        with replacing(out, ".html", [model, *profiles]) as file, writing(out):
            file.write_text(text, encoding="utf-8")
        typer.echo(f"wrote {out.name}; open it in a browser.")
