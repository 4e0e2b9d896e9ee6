"""``privclust predict``: label rows by the nearest centre of a model."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from privclust.cli._kept_columns import KeptColumns
from privclust.cli._options import (
    DecimalAsFitted,
    Delimiter,
    Force,
    Model,
    OutTable,
    Sheet,
    Tables,
    table_files,
)
from privclust.cli.atomic_write import FOR_THE_OWNER, replacing
from privclust.cli.messages import reporting_errors, say, state_dialects, writing
from privclust.cli.table_files import ENDINGS, writing_table
from privclust.errors import ParameterError
from privclust.kernels.grid import IntArray
from privclust.sources.files import paths_of


def predict(
    model: Model,
    table: Tables,
    out: OutTable,
    delimiter: Delimiter = None,
    decimal: DecimalAsFitted = None,
    sheet: Sheet = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column to write before the labels, such as an id; any number."),
    ] = None,
    force: Force = False,
) -> None:
    """Label rows by their nearest centre. Labels of protected rows are protected data.

    In a CSV file of labels cells are separated by what --delimiter says; else by commas, or by
    semicolons where commas mark decimals.
    """
    from privclust.estimators._labels import label_parts
    from privclust.estimators._load import load

    with reporting_errors():
        fitted = load(model)
        files = table_files(table, delimiter, decimal or fitted.model_.decimal, sheet)
        names = keep or []
        kept = KeptColumns(files, names)
        schema = pa.schema(
            [*((name, pa.large_string()) for name in names), ("cluster", pa.int32())]
        )
        failures: list[OSError | ParameterError] = []
        reads = [model, *paths_of(table)]
        with replacing(out, ENDINGS, reads, FOR_THE_OWNER, may_replace=force) as file:
            state_dialects(files)
            with writing_table(file, out, schema, files, kept.numbers) as write:

                def write_labels(labels: IntArray) -> None:
                    column = pa.array(labels.astype(np.int32))
                    try:
                        write(pa.table([*kept.take(len(labels)), column], schema=schema))
                    except (OSError, ParameterError) as error:
                        failures.append(error)

                label_parts(fitted, files, write_labels)
            with writing(out):
                if failures:
                    raise failures[0]
        say(
            f"wrote {out.name}, one label a row, in the order of the table. Of a CSV file, rows "
            "with too many or too few cells are left out, of an Excel file those without any. "
            "These labels are not covered by the guarantee: who may not see the rows may not "
            "see them."
        )
