"""``privclust predict``: label rows by the nearest centre of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from privclust.cli._options import Model
from privclust.cli.atomic_write import FOR_THE_OWNER, replacing
from privclust.cli.messages import reporting_errors, writing
from privclust.kernels.grid import IntArray
from privclust.sources.files import paths_of


def predict(
    model: Model,
    table: Annotated[list[str], typer.Argument(help="Files, folders or patterns to label.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
) -> None:
    """Label rows by their nearest centre. Labels of protected rows are protected data."""
    from privclust.estimators._labels import label_parts
    from privclust.estimators._load import load

    with reporting_errors():
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
