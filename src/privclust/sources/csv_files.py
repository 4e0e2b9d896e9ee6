"""CSV files: a line of names, and cells that are texts, whatever separates them."""

from __future__ import annotations

import csv
import gzip
import shlex
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from privclust.errors import UnreadableFileError
from privclust.sources import csv_lines
from privclust.sources.csv_lines import WholeLines
from privclust.sources.dialects import Files
from privclust.sources.versions import Place


def names_in(file: Place, dialect: Files) -> tuple[tuple[str, ...], str]:
    """Return the names in the first line, and what separates them; nothing else is read."""
    try:
        with _bytes_of(file) as stream:
            line = stream.readline(csv_lines.BLOCK_BYTES + 1)
        if len(line) <= csv_lines.BLOCK_BYTES:
            text = _decoded(line, file)
            mark = dialect.delimiter_of(text, file.name)
            return tuple(next(csv.reader([text], delimiter=mark, strict=True), [])), mark
    except (csv.Error, EOFError, gzip.BadGzipFile, zlib.error):
        pass
    raise UnreadableFileError(
        f"the file {file.name!r} does not begin with a line of column names, or is not compressed "
        "as its ending says. Write it anew, or give Parquet files."
    )


def _decoded(line: bytes, file: Place) -> str:
    """Return the line of names as a text, or say how to write the file as one that can be read."""
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        name = shlex.quote(file.name)
    raise UnreadableFileError(
        f"the names in the first line of {file.name!r} are not written as UTF-8 but in another "
        "encoding, such as Latin-1 or that of older Windows programs. In Excel save it as 'CSV "
        f"UTF-8', or convert it: iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8.csv"
    )


def read_rows(
    file: Place, delimiter: str, names: Sequence[str], columns: Sequence[str]
) -> Iterator[Any]:
    """Give columns of all rows as Arrow batches of texts."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if not _has_rows(file):
        return
    with (
        _bytes_of(file) as stream,
        arrow_csv.open_csv(
            WholeLines(stream, len(names), delimiter.encode()),
            read_options=arrow_csv.ReadOptions(block_size=csv_lines.BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                ignore_empty_lines=False,  # where there is one column, they are missing values
                invalid_row_handler=lambda row: "skip",
            ),
            convert_options=arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types={name: pa.binary() for name in columns},
                include_columns=list(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        ) as reader,
    ):
        yield from reader


def _has_rows(file: Place) -> bool:
    with _bytes_of(file) as stream:
        stream.readline()
        return bool(stream.read(1))


def _bytes_of(file: Place) -> Any:
    if not file.name.lower().endswith(".gz"):
        return file.open("rb")
    return gzip.open(file if isinstance(file, Path) else file.open("rb"), "rb")
