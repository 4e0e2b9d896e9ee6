"""Arguments and options that several commands have."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer


def whole(text: str) -> int:
    """Read an integer, also one such as 1e10."""
    with suppress(InvalidOperation, ValueError, OverflowError):
        number = Decimal(text)
        if number == int(number):
            return int(number)
    raise typer.BadParameter(f"{text!r} is not an integer such as 30000 or 1e10.")


Rows = Annotated[
    int,
    typer.Option("--rows", help="About how many rows there are.", parser=whole, metavar="INTEGER"),
]
Columns = Annotated[int, typer.Option("--columns", help="How many columns.")]
Clusters = Annotated[int, typer.Option("--clusters", "-k", help="How many clusters.")]
Epsilon = Annotated[float, typer.Option(help="Strength of the guarantee; smaller is stronger.")]
Delta = Annotated[float, typer.Option(help="Well below one over the rows, such as 1e-6.")]
RowsPerUnit = Annotated[
    int, typer.Option("--max-rows-per-unit", help="How many rows of one id count.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Model = Annotated[Path, typer.Argument(help="A model file that 'privclust fit' wrote.")]
