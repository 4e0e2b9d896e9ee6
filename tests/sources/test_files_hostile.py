"""Files that fuzzing found to do more than fail: each is refused, or its one bad row left out."""

from __future__ import annotations

import csv
import struct
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from helpers.conformance import source, write_arrow, write_parquet
from helpers.processes import output_of
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.box import Box
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.errors import EngineError, UnreadableFileError
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count
from privclust.queries.unit import Unit
from privclust.sources.csv_lines import n_cells
from privclust.sources.dialects import Files
from privclust.sources.files import list_files, open_files

ONE = Box([0], [100])
READ_BY_IDS = """
import sys
import pyarrow.dataset as ds
from privclust.domains.box import Box
from privclust.errors import EngineError
from privclust.domains.box import Box
from privclust.errors import EngineError
from privclust.queries.unit import Unit
from privclust.sources.streams import source_of
from privclust.engines.spilled import SpilledEngine
from privclust.queries.base import Count

table = sys.argv[1] if sys.argv[2] == "path" else ds.dataset(sys.argv[1], format="ipc")
try:
    SpilledEngine(source_of(table), ["a"], Box([0], [100]), Unit("who", 1)).aggregate(Count())
except EngineError:
    print("refused")
"""


@pytest.mark.attack
@pytest.mark.parametrize("row", [b"1,2,\xff\n", b"\xff\n", b'1,"\xff",""\r', b"1,2,3\n"])
def test_row_with_other_cells_is_left_out_and_its_bytes_are_withheld(
    row: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Arrow stopped at such a row if it was not UTF-8, and printed its bytes."""
    file = tmp_path / "x.csv"
    file.write_bytes(b"a,b\n1,\xfe\n" + row + b"2,y\n")
    (count,) = ArrowEngine(source(file), ["a"], ONE).aggregate(Count())
    assert count == 2 * UNIT
    assert capfd.readouterr() == ("", "")


@pytest.mark.attack
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("length", [131_073, 2**23 - 100])
@pytest.mark.parametrize("cell", [b"%s", b'"%s"', b"\xff%s", b'"\xff""%s"'])
def test_a_long_cell_is_a_cell(cell: bytes, length: int, ending: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(ending.join([b"a,b", b"1,x", b"2," + cell % (b"y" * length), b"3,z", b""]))
    (count,) = ArrowEngine(source(file), ["a"], ONE).aggregate(Count())
    assert count == 3 * UNIT


@pytest.mark.attack
@pytest.mark.parametrize("before", [0, 10**6])
@pytest.mark.parametrize("length", [2**23, 20 * 2**20])
@pytest.mark.parametrize("cell", [b"%s", b'"%s"', b'"%s'])
def test_a_line_that_is_too_long_is_left_out_wherever_it_stands(
    cell: bytes, length: int, before: int, tmp_path: Path
) -> None:
    """Arrow stopped at it."""
    file = tmp_path / "x.csv"
    long = b"2," + cell % (b"y" * length) + b"\n"
    file.write_bytes(b"a,b\n" + b"1,x\n" * before + long + b"3,z\n")
    (count,) = ArrowEngine(source(file), ["a"], ONE).aggregate(Count())
    assert count == (before + 1) * UNIT


def test_names_that_are_too_long_are_refused_before_any_row_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b"a," + b"b" * 2**23 + b"\n1,2\n")
    with pytest.raises(UnreadableFileError, match="column names"):
        open_files(file)


@given(st.binary(max_size=12) | st.text('",x ', max_size=12).map(str.encode))
@settings(deadline=None, derandomize=True, database=None, max_examples=500)
def test_cells_are_counted_as_python_counts_them(line: bytes) -> None:
    content = line.replace(b"\r", b"").replace(b"\n", b"")
    try:
        expected = len(next(csv.reader([content.decode("latin-1")], strict=True), [])) or 1
    except csv.Error:
        with pytest.raises(ValueError, match="quote"):
            n_cells(content)
        return
    assert n_cells(content) == expected


def test_bytes_that_are_no_text_stay_as_they_are_where_a_row_has_its_cells(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b'a,b\n1,\xfe\n2,"\xff\xfe, ""x"""\n')
    _, batches = open_files(file)
    (batch,) = batches(["b"])
    assert batch.column("b").to_pylist() == [b"\xfe", b'\xff\xfe, "x"']


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_broken_in_its_footer_is_refused_as_that(ending: str, tmp_path: Path) -> None:
    write = write_parquet if ending == "parquet" else write_arrow
    intact = write(pa.table({"a": [1.0, 2.0]}), tmp_path / f"x.{ending}").read_bytes()
    size = struct.unpack("<i", intact[-8:-4] if ending == "parquet" else intact[-10:-6])[0]
    start = len(intact) - size - (8 if ending == "parquet" else 10)
    broken = tmp_path / f"broken.{ending}"
    for at in range(start, len(intact) - 10):
        broken.write_bytes(intact[:at] + bytes([intact[at] ^ 0xFF]) + intact[at + 1 :])
        with suppress(UnreadableFileError):
            open_files(broken)


@pytest.mark.parametrize("way", ["path", "dataset"])
@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_texts_that_lie_beyond_their_file_are_an_error_and_no_crash(
    kind: pa.DataType, way: str, tmp_path: Path
) -> None:
    """Arrow trusts what a file says of where its texts lie, and read whatever was there."""
    table = pa.table({"a": [1.0, 2.0, 3.0], "who": pa.array(["ann", "bob", "cyd"], kind)})
    file = write_arrow(table, tmp_path / "x.arrow")
    places = struct.pack("<4i", 0, 3, 6, 9)
    content = file.read_bytes()
    assert content.count(places) == 1
    file.write_bytes(content.replace(places, struct.pack("<4i", 0, 3, 10**7, 9)))
    assert output_of(READ_BY_IDS, str(file), way) == "refused\n"


def test_ids_that_are_no_text_are_read_from_arrow_files(tmp_path: Path) -> None:
    """Whether texts lie within their file is looked at; what they say is not."""
    who = pa.array([b"\xff", b"ann"], pa.binary()).view(pa.string())
    table = pa.table({"a": [1.0, 2.0], "who": who})
    file = write_arrow(table, tmp_path / "x.arrow")
    for found in (source(file), source(ds.dataset(file, format="ipc"))):
        assert sum(batch.num_rows for batch in found.batches(["a", "who"])) == 2


def test_temporary_files_are_closed_at_once_when_writing_them_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They hold rows; left to the garbage collector, they warned that they were open."""
    opened: list[Any] = []
    make = tempfile.TemporaryFile

    def listened(**named: Any) -> Any:
        opened.append(make(**named))
        return opened[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", listened)
    table = pa.table({"a": [1.0], "who": ["ann"]})
    monkeypatch.setattr("privclust.engines.spilled.on_grid", None)
    with pytest.raises(EngineError):
        SpilledEngine(source(lambda: table), ["a"], ONE, Unit("who", 1)).aggregate(Count())
    assert opened
    assert all(file.closed for file in opened)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_names_in_another_encoding_are_refused_with_the_remedy(
    encoding: str, tmp_path: Path
) -> None:
    file = tmp_path / "my table.csv"
    file.write_bytes("Größe,Zoë\n1,2\n".encode(encoding))
    with pytest.raises(UnreadableFileError, match="not written as UTF-8") as caught:
        list_files(Files(str(file)))
    message = str(caught.value)
    assert "CSV UTF-8" in message
    assert "iconv -f WINDOWS-1252 -t UTF-8 'my table.csv' > utf8.csv" in message
    assert "Zo" not in message
    file.write_text("Größe,Zoë\n1,2\n", encoding="utf-8-sig")
    assert list_files(Files(str(file)))[0].names == ("Größe", "Zoë")
