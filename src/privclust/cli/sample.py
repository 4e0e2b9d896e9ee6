"""``privclust sample``: made-up rows that are like those of the fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
import typer

from privclust.cli._models import load_with_coreset
from privclust.cli._options import Force, Model, OutTable, separator, whole
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import reporting_errors, say, writing
from privclust.cli.table_files import ENDINGS, writing_table
from privclust.domains.columns import Column, DateColumn
from privclust.errors import ParameterError
from privclust.models._fit_notes import columns_of, listed, parts_of_columns
from privclust.models.cluster_model import ClusterModel
from privclust.sources.dialects import Files

LIGHT = 0.5
"""Columns whose weight is a smaller part of the largest may be wider in cells, which are round,
than among rows."""
DIGITS = 7
"""More say nothing about rows that nobody has."""


def sample(
    model: Model,
    rows: Annotated[
        int, typer.Option("--rows", help="How many to draw.", parser=whole, metavar="INTEGER")
    ],
    out: OutTable,
    seed: Annotated[int | None, typer.Option(help="To draw the same rows again.")] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            help="What is to separate cells of a CSV file: ',', ';', '|' or 'tab'; else a comma, "
            "or a semicolon where commas mark decimals."
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="What is to mark decimals in a CSV file; else as the fit was told."),
    ] = None,
    force: Force = False,
) -> None:
    """Draw made-up rows from a model: nothing is read or spent, and no row is anybody's.

    They are drawn around the points of its coreset, as wide as its cells are, and lie within the
    bounds. Rows beyond three radii of their cluster are drawn anew, unless the fit measured that
    there are such rows. A CSV file is written as that of the fit was: with its decimal mark, and
    days as the bounds declare them.
    """
    with reporting_errors():
        fitted = load_with_coreset(model)
        style = _style(out, separator(delimiter), decimal, fitted.model_.decimal)
        with replacing(out, ENDINGS, [model], may_replace=force) as file:
            drawn = fitted.sample(rows, seed)
            if not isinstance(drawn, pa.Table):
                drawn = pa.table(list(drawn.T), names=list(fitted.model_.coordinate_names))
            drawn = drawn.from_arrays(list(map(_rounded, drawn)), schema=drawn.schema)
            if out.suffix == ".csv":
                names = fitted.model_.coordinate_names
                drawn = _with_days(drawn, fitted.model_.domain.bounded_columns(names) or ())
            with writing(out), writing_table(file, out, drawn.schema, style) as write:
                write(drawn)
        say(f"wrote {out.name}: {rows:,} made-up row(s) that follow from {model.name}.")
        say(
            "Each column is spread smoothly around the points of the coreset: how many rows share "
            "a value, such as 0, is not kept, and columns that go together within a point are "
            "drawn apart."
        )
        light = _light_columns(fitted.model_)
        if light:
            say(
                "Columns of small weight may spread more widely there than in the table: "
                f"{listed(light)}."
            )


def _light_columns(model: ClusterModel) -> list[str]:
    """Return the names of numbers and dates that count much less than another one."""
    widths, columns = model.domain.half_widths / model.domain.scales, columns_of(model)
    counts = {
        column.name: float(widths[part.start])
        for column, part in zip(columns, parts_of_columns(columns), strict=True)
        if column.use != "category"
    }
    most = max(counts.values(), default=0.0)
    return [repr(name) for name, one in counts.items() if one < LIGHT * most]


def _style(out: Path, delimiter: str | None, decimal: str | None, fitted: str) -> Files:
    """Return how a CSV file is to be written."""
    if decimal is None and delimiter == fitted:
        raise ParameterError(
            "the model's fit read commas before decimals, so that they cannot separate cells. Type "
            "--delimiter ';', or --decimal . for points before decimals."
        )
    return Files(str(out), delimiter, decimal or fitted)


def _with_days(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return a table whose days are texts, as the columns of the fit declare them."""
    for column in columns:
        if isinstance(column, DateColumn):
            form = column.format.replace("YYYY", "%Y").replace("MM", "%m").replace("DD", "%d")
            days = pc.strftime(table.column(column.name), form)
            place = table.column_names.index(column.name)
            table = table.set_column(place, column.name, days)
    return table


def _rounded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers with as many decimals as the largest needs for seven digits."""
    if not pa.types.is_floating(column.type) or len(column) == 0:
        return column
    largest = pc.max(pc.abs(column)).as_py()
    before = math.floor(math.log10(largest)) if largest > 0 else 0
    return pc.round(column, DIGITS - 1 - before)
