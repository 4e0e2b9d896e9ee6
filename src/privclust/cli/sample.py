"""``privclust sample``: made-up rows that are like those of the fit."""

from __future__ import annotations

import math
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
import typer

from privclust.cli._models import load_with_coreset
from privclust.cli._options import Force, Model, OutTable, whole
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import reporting_errors, say, writing
from privclust.cli.table_files import ENDINGS, writing_table

DIGITS = 7
"""More say nothing about rows that nobody has."""


def sample(
    model: Model,
    rows: Annotated[
        int, typer.Option("--rows", help="How many to draw.", parser=whole, metavar="INTEGER")
    ],
    out: OutTable,
    seed: Annotated[int | None, typer.Option(help="To draw the same rows again.")] = None,
    force: Force = False,
) -> None:
    """Draw made-up rows from a model: nothing is read or spent, and no row is anybody's.

    They are drawn around the points of its coreset, as wide as its cells are, and lie within the
    bounds.
    """
    with reporting_errors():
        fitted = load_with_coreset(model)
        with replacing(out, ENDINGS, [model], may_replace=force) as file:
            drawn = fitted.sample(rows, seed)
            if not isinstance(drawn, pa.Table):
                drawn = pa.table(list(drawn.T), names=list(fitted.model_.coordinate_names))
            drawn = drawn.from_arrays(list(map(_rounded, drawn)), schema=drawn.schema)
            with writing(out), writing_table(file, out, drawn.schema) as write:
                write(drawn)
        say(f"wrote {out.name}: {rows:,} made-up row(s) that follow from {model.name}.")


def _rounded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers with as many decimals as the largest needs for seven digits."""
    if not pa.types.is_floating(column.type) or len(column) == 0:
        return column
    largest = pc.max(pc.abs(column)).as_py()
    before = math.floor(math.log10(largest)) if largest > 0 else 0
    return pc.round(column, DIGITS - 1 - before)
