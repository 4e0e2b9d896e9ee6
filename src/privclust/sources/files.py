"""Parquet, CSV, Excel and Arrow files, alone, many, or in folders partitioned by key=value."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from privclust.errors import UnreadableFileError
from privclust.sources import csv_files, excel
from privclust.sources.cells import CommaText, Kind, intact
from privclust.sources.dialects import DECIMALS, DELIMITERS, Files
from privclust.sources.found_files import File, distinct, format_of, found_at
from privclust.sources.frames import arrow_schema
from privclust.sources.lake_paths import names_lake
from privclust.sources.refused_formats import check_plain
from privclust.sources.schema import Schema, Variant
from privclust.sources.stores import StoredFile, is_store
from privclust.sources.versions import Place, unchanged, version_of

BATCH_ROWS = 2**17


def is_path(table: object) -> bool:
    """Tell whether `table` names files."""
    paths = table if isinstance(table, list | tuple) else [table]
    return bool(paths) and all(isinstance(path, str | os.PathLike) for path in paths)


def paths_of(tables: Iterable[str]) -> list[Path]:
    """Return all files that paths, folders and patterns name; of a table of Delta, its folder."""
    return [path for given in tables for path in _named(given)]


def _named(given: str) -> list[Path]:
    if is_store(given):
        return []
    if names_lake(given):
        return [Path(given)]
    return [file.path for file in found_at(given) if isinstance(file.path, Path)]


def open_files(
    paths: Any,
) -> tuple[Schema, Callable[[Sequence[str]], Iterator[Any]]]:
    """Return the columns of files, and how to read them; nothing is read but names and types.

    Columns are those of the first file and the keys of the folders it lies in. A file that lacks
    one has missing values there. Cells of CSV files and values of keys are texts, to be read as
    what is declared.
    """
    schema, files = list_files(paths)
    return schema, partial(read_files, files)


def read_files(files: Sequence[File], columns: Sequence[str]) -> Iterator[Any]:
    """Read some columns of all files once more."""
    for file in files:
        yield from unchanged([file.pinned], _batches(file, columns))


def empty_files(files: Sequence[File], columns: Sequence[str]) -> Iterator[Any]:
    """Return for each file a batch of no rows, of the types that its rows have."""
    import pyarrow as pa

    for file in files:
        if file.is_text:
            types = pa.schema([(name, pa.binary()) for name in file.names])
        else:
            types = _declared(file.path)
        present = set(types.names)
        chosen = [types.field(name) for name in columns if name in present]
        arrays = [pa.array([], field.type) for field in chosen]
        empty = pa.record_batch(arrays, schema=pa.schema(chosen))
        yield _completed(empty, file, columns, present)


def list_files(paths: Any) -> tuple[Schema, list[File]]:
    """Return the columns of files, and the files that paths name, each once.

    `paths` may be `Files`, which say how they are written.
    """
    dialect = paths if isinstance(paths, Files) else Files(paths)
    given = dialect.paths if isinstance(dialect.paths, list | tuple) else [dialect.paths]
    # Before anything else there is found strange.
    check_plain(Path(path) for path in given if not is_store(path))
    files = distinct([file for path in given for file in found_at(os.fspath(path))])
    check_plain(file.path for file in files if isinstance(file.path, Path))
    files = [_with_names(file, dialect) for file in files]
    first = files[0]
    schema = _schema(first)
    own = schema.names or ()
    keys = tuple(key for key in first.keys if key not in own)
    kinds = (*schema.kinds, *_texts(len(keys)))
    whole = Schema((*own, *keys), kinds, schema.lengths)
    return replace(whole, variants=_variants(files[1:], whole)), files


def describe_dialects(files: Iterable[File]) -> list[str]:
    """Say how CSV files are written if not with commas and points, once for each way.

    Examples
    --------
    >>> describe_dialects([])
    []
    """
    ways = {
        file.dialect: file.path.name
        for file in reversed([*files])
        if format_of(file.path) == "csv" and file.dialect != Files("", ",")
    }
    return [
        f"{name}: cells are separated by {DELIMITERS[way.delimiter or ',']}, decimals of numbers "
        f"are marked by {DECIMALS[way.decimal]}. What is written otherwise counts as missing."
        for way, name in ways.items()
    ]


def read_part(
    file: File, columns: Sequence[str], part: int, parts: int
) -> Iterator[tuple[int, Any]]:
    """Read one of several parts of a Parquet file: batches, and the place of their first rows.

    A file that was written anew since it was found is not read: its rows may lie in other parts.
    """
    _check_version(file)
    fragment = _fragment(file.path)
    groups = fragment.row_groups
    begin, end = part * len(groups) // parts, (part + 1) * len(groups) // parts
    if begin == end:
        return
    place = sum(group.num_rows for group in groups[:begin])
    for batch in _scanned(fragment.subset(row_group_ids=range(begin, end)), file, columns):
        yield place, batch
        place += batch.num_rows
    _check_version(file)


def _check_version(file: File) -> None:
    # Workers may have copies, which are other files of other disks.
    if version_of(file.path)[:2] != file.version[:2]:
        raise UnreadableFileError("a file was written anew while it was being read.")


def _variants(files: Sequence[File], first: Schema) -> tuple[Variant, ...]:
    """Return the columns that other files declare otherwise than the first, each way once.

    Whether that matters depends on what they are used as.
    """
    known = _types(first)
    found: dict[tuple[str, Kind, int | None], Variant] = {}
    for file in files:
        for name, (kind, length) in _types(_filled(file)).items():
            if known.get(name, (kind, length)) != (kind, length):
                found.setdefault((name, kind, length), Variant(name, kind, length, file.path.name))
    return tuple(found.values())


def _types(schema: Schema) -> dict[str, tuple[Kind, int | None]]:
    lengths = dict(schema.lengths)
    columns = zip(schema.names or (), schema.kinds, strict=True)
    return {name: (kind, lengths.get(name)) for name, kind in columns}


def _filled(file: File) -> Schema:
    """Return the columns of a file without those that can hold nothing: it lacks these."""
    import pyarrow as pa

    if file.is_text:
        return _schema(file)
    fields = [field for field in _declared(file.path) if not pa.types.is_null(field.type)]
    return arrow_schema(pa.schema(fields))


def _schema(file: File) -> Schema:
    if file.is_text:
        return Schema(file.names, _texts(len(file.names)))
    return arrow_schema(_declared(file.path))


def _with_names(file: File, dialect: Files) -> File:
    """Return a file with the names in its first line, if it declares none elsewhere."""
    if format_of(file.path) == "excel":
        assert isinstance(file.path, Path)
        names = excel.names_in(file.path, dialect.sheet)
        return file._replace(names=names, dialect=dialect)
    if format_of(file.path) == "csv":
        names, delimiter = csv_files.names_in(file.path, dialect)
        written = replace(dialect, paths="", delimiter=delimiter, sheet=None)
        return file._replace(names=names, dialect=written)
    return file


def _declared(file: Place) -> Any:
    """Return the names and types that a file declares."""
    import pyarrow as pa

    try:
        schema = _fragment(file).physical_schema
        # Names that are no texts are found here and not later.
        return pa.schema(list(zip(schema.names, schema.types, strict=True)))
    except (pa.ArrowException, UnicodeDecodeError):
        pass
    except OSError as error:
        if error.errno is not None:  # Arrow calls a damaged file so too, but not by a number
            raise
    raise UnreadableFileError(
        f"the file {file.name!r} cannot be read as what its ending says. Check that it is "
        "complete, or write it anew."
    )


def _texts(count: int) -> tuple[Kind, ...]:
    return tuple("cell" for _ in range(count))


def _fragment(file: Place) -> Any:
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    kind = ds.ParquetFileFormat() if format_of(file) == "parquet" else ds.IpcFileFormat()
    if isinstance(file, StoredFile):
        return kind.make_fragment(file.key, file.filesystem)
    return kind.make_fragment(os.fspath(file), LocalFileSystem())


def _batches(file: File, columns: Sequence[str]) -> Iterator[Any]:
    if not file.is_text:
        yield from _scanned(_fragment(file.path), file, columns)
        return
    present = set(file.names)
    # Without names all columns would be read, and their types be guessed.
    wanted = [name for name in columns if name in present] or [*present][:1]
    if format_of(file.path) == "excel":
        assert isinstance(file.path, Path)
        read = excel.read_rows(file.path, file.dialect.sheet, file.names, wanted)
    else:
        mark = file.dialect.delimiter or ","
        read = csv_files.read_rows(file.path, mark, file.names, wanted)
    for batch in read:
        yield _completed(batch, file, columns, present)


def _scanned(fragment: Any, file: File, columns: Sequence[str]) -> Iterator[Any]:
    present = set(fragment.physical_schema.names)
    # Each file with its own types: casting to common ones could fail on a value.
    read = fragment.to_batches(
        schema=fragment.physical_schema,
        columns=[name for name in columns if name in present],
        batch_size=BATCH_ROWS,
        batch_readahead=4,
    )
    for batch in read:
        yield _completed(batch, file, columns, present)


def _completed(batch: Any, file: File, columns: Sequence[str], present: set[str]) -> Any:
    """Return a batch that has all columns, in order, those of folders and missing ones too."""
    import pyarrow as pa

    has_commas = format_of(file.path) == "csv" and file.dialect.decimal == ","
    arrays = [
        _marked(intact(batch.column(name)), has_commas)
        if name in present
        else pa.repeat(pa.scalar(file.keys.get(name), pa.string()), batch.num_rows)
        for name in columns
    ]
    return pa.record_batch(arrays, names=list(columns))


def _marked(column: Any, has_commas: bool) -> Any:
    import pyarrow as pa

    return pa.ExtensionArray.from_storage(CommaText(), column) if has_commas else column
