"""``privclust predict``: label rows by the nearest centre of a model."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import pyarrow as pa
import typer

from privclust._files import FOR_THE_OWNER
from privclust.cli._databases import Casts, QueryText, queried_table, read_once
from privclust.cli._kept_columns import KeptColumns
from privclust.cli._options import (
    DecimalAsFitted,
    Delimiter,
    Force,
    LabelledTables,
    Model,
    OutTable,
    Sheet,
    files_as_fitted,
)
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import reporting_errors, say, state_dialects, writing
from privclust.cli.table_files import ENDINGS, writing_table
from privclust.errors import EngineError, ParameterError
from privclust.kernels.grid import IntArray
from privclust.sources.dialects import Files
from privclust.sources.files import list_files, paths_of
from privclust.sources.found_files import format_of
from privclust.sources.lake_paths import names_lake
from privclust.sources.sql.table import SqlTable
from privclust.sources.streams import Source, source_of

if TYPE_CHECKING:
    from privclust.estimators.base import PrivateClusterer

_NO_ROWS = {
    "csv": "Of a CSV file, lines with too many or too few cells are left out, and a blank line is "
    "a row without values; a fit reads them alike.",
    "excel": "Of an Excel file, rows without any cell are left out, as in a fit.",
}
"""What has no label, by the kind of file."""


def predict(
    model: Model,
    table: LabelledTables,
    out: OutTable,
    delimiter: Delimiter = None,
    decimal: DecimalAsFitted = None,
    sheet: Sheet = None,
    query: QueryText = None,
    casts: Casts = None,
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
    from privclust.estimators._load import load

    with reporting_errors():
        fitted = load(model)
        for_files = {"delimiter": delimiter, "decimal": decimal, "sheet": sheet}
        queried, names = queried_table(table, query, casts, **for_files), keep or []
        paths = [] if queried else table
        files = files_as_fitted(paths, delimiter, decimal, sheet, fitted.model_.decimal)
        if queried is not None and not names:
            raise ParameterError(
                "--keep is missing: rows of a query have no order, so that labels alone would say "
                "nothing. Name a column that tells them apart, such as an id."
            )
        reads = [model, *paths_of(paths)]
        columns = [*(fitted.model_.feature_names_in or ()), *names]
        opened = nullcontext(source_of(files)) if queried is None else read_once(queried, columns)
        with replacing(out, ENDINGS, reads, FOR_THE_OWNER, may_replace=force) as file:
            if queried is None:
                state_dialects(files)
            with opened as source:
                assert source is not None
                _write_labels(fitted, source, names, files, file, out)
        say(
            f"wrote {out.name}, one label a row{_order(files, queried)} "
            "These labels are not covered by the guarantee: show them only to people who may see "
            "the rows."
        )


def _write_labels(
    fitted: PrivateClusterer, source: Source, names: list[str], style: Files, file: Path, out: Path
) -> None:
    """Write the labels of rows, and columns beside them, to `file`, which becomes `out`."""
    from privclust.estimators._labels import label_parts

    kept = KeptColumns(source, names)
    schema = pa.schema([*((name, pa.large_string()) for name in names), ("cluster", pa.int32())])
    failure: OSError | ParameterError | None = None
    with writing_table(file, out, schema, style, kept.numbers) as write:

        def write_labels(labels: IntArray) -> None:
            nonlocal failure
            column = pa.array(labels.astype(np.int32))
            try:
                write(pa.table([*kept.take(len(labels)), column], schema=schema))
            except (OSError, ParameterError) as error:
                failure = error
                raise  # no further row is read; what arrives outside says nothing of this error

        try:
            label_parts(fitted, source, write_labels)
        except EngineError:
            if failure is None:
                raise
    with writing(out):
        if failure is not None:
            raise failure


def _order(files: Files, queried: SqlTable | None) -> str:
    """Say which row a label belongs to; what is a row depends on the kinds of files alone."""
    if queried is not None:
        return "."
    kinds = set() if names_lake(files) else {format_of(one.path) for one in list_files(files)[1]}
    rules = [sentence for kind, sentence in _NO_ROWS.items() if kind in kinds]
    return " ".join([", in the order of the table.", *rules])
