"""Arguments and options that several commands have."""

from __future__ import annotations

import csv
from contextlib import suppress
from decimal import Decimal as Number
from decimal import InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from privclust.errors import ParameterError
from privclust.sources.dialects import Files, MarksClashError
from privclust.sources.files import list_files
from privclust.sources.found_files import format_of
from privclust.sources.lake_paths import names_lake

_FILES = (
    "Parquet, CSV, Excel or Arrow files, folders (also of a Delta table), patterns, Iceberg's "
    ".metadata.json or s3://bucket/path"
)

ACCOUNT = (
    "--ledger and --dataset belong together: a budget is that of a data set. Type both or neither."
)


def whole(text: str) -> int:
    """Read an integer, also one such as 1e10."""
    with suppress(InvalidOperation, ValueError, OverflowError):
        number = Number(text)
        if number == int(number):
            return int(number)
    raise typer.BadParameter(f"{text!r} is not an integer such as 30000 or 1e10.")


def separator(delimiter: str | None) -> str | None:
    """Return what separates cells, from how it is typed at a prompt."""
    return "\t" if delimiter in ("tab", "\\t") else delimiter


def table_files(paths: list[str], delimiter: str | None, decimal: str, sheet: str | None) -> Files:
    """Return the files of a table, written as the user says."""
    return Files(list(paths), separator(delimiter), decimal, sheet)


def unambiguous_files(
    paths: list[str], delimiter: str | None, decimal: str | None, sheet: str | None
) -> Files:
    """Return the files of a table, once it is clear what marks decimals.

    Numbers whose mark is another count as missing, and what was spent on them is spent.
    """
    files = table_files(paths, delimiter, decimal or ".", sheet)
    if decimal is None and paths and not names_lake(files):
        for file in list_files(files)[1]:
            if format_of(file.path) == "csv" and file.dialect.delimiter == ";":
                raise ParameterError(
                    f"{file.path.name} separates cells by semicolons, as files with decimal commas "
                    "do. Type --decimal , if commas mark decimals there, and --decimal . if points "
                    "do."
                )
    return files


def files_as_fitted(
    paths: list[str], delimiter: str | None, decimal: str | None, sheet: str | None, fitted: str
) -> Files:
    """Return the files of a table for a model, whose fit says what marks decimals if nobody does.

    `fitted` is what marked them there.
    """
    if decimal is not None:
        return table_files(paths, delimiter, decimal, sheet)
    try:
        files = table_files(paths, delimiter, fitted, sheet)
        if fitted == "," and paths and not names_lake(files):
            list_files(files)
    except MarksClashError as clash:
        cells = clash.cells
    else:
        return files
    raise ParameterError(
        f"The model was fitted with decimal commas; {cells} are separated by commas. Type "
        "--decimal . if points mark its decimals."
    )


def column_names(typed: str) -> list[str]:
    """Return the names of columns that were typed in one list; one with a comma has quotes.

    Examples
    --------
    >>> column_names("age, income"), column_names('"income, net",age')
    (['age', 'income'], ['income, net', 'age'])
    """
    (names,) = csv.reader([typed.replace("\n", " ")], skipinitialspace=True)
    return [name.strip() for name in names or [""]]


def as_typed(
    unit: str | None, delimiter: str | None, decimal: str | None, sheet: str | None
) -> list[str]:
    """Return the options by which a table is read, for a command that is suggested.

    Examples
    --------
    >>> as_typed("patient", None, ",", None)
    ['--unit', 'patient', '--decimal', ',']
    """
    typed = {"unit": unit, "delimiter": delimiter, "decimal": decimal, "sheet": sheet}
    given = [(f"--{name}", value) for name, value in typed.items() if value is not None]
    return [word for pair in given for word in pair]


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
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Tables = Annotated[
    list[str],
    typer.Argument(help=f"{_FILES}."),
]
LabelledTables = Annotated[
    list[str],
    typer.Argument(help=f"{_FILES}; postgresql://host/database or sqlite:///path with --query."),
]
FittedTables = Annotated[
    list[str],
    typer.Argument(
        help=f"{_FILES}; "
        "postgresql://host/database or sqlite:///path with --query; or https://host/tables/NAME."
    ),
]
OutTable = Annotated[
    Path, typer.Option("--out", "-o", help="File to write: .parquet, .csv or .xlsx.")
]
Unit = Annotated[str | None, typer.Option(help="Column of ids whose rows are protected together.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What separates cells of CSV files: ',', ';', '|' or 'tab'; else what their line of "
        "names shows."
    ),
]
DecimalOfFit = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        help="What marks decimals in CSV files: '.' or ','. To be typed where semicolons separate "
        "cells; else a point.",
    ),
]
DecimalAsFitted = Annotated[
    str | None,
    typer.Option("--decimal", help="What marks decimals in CSV files; else as the fit was told."),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of Excel files; else their first.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Model = Annotated[Path, typer.Argument(help="A model file that 'privclust fit' wrote.")]
