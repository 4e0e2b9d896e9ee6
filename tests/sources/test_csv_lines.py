"""Lines of CSV files: what is left out, and that one odd cell costs next to no time."""

from __future__ import annotations

import io
import time
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.sources import csv_lines
from privclust.sources.csv_lines import WholeLines, n_cells

BLOCK, PIECE = 24, 7
parts = st.sampled_from(
    [b"a", b",", b"1.5", b'"', b'"a,b"', b"\n", b"\r", b"\r\n", b"\xff", b"\xc3", "é€𝄞".encode()]
)


def is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def by_the_rule(content: bytes, n_columns: int) -> bytes:
    """Return what a file gives if each line is looked at alone."""
    ended = content if content.endswith((b"\n", b"\r")) or not content else content + b"\n"
    found, line = b"", b""
    for place in range(len(ended)):
        mark = ended[place : place + 1]
        if mark not in (b"\n", b"\r"):
            line += mark
            continue
        plain = b'"' not in line and is_text(line)
        fits = len(line) < BLOCK and (plain or n_cells(line) == n_columns or is_text(line))
        found, line = found + (line if fits else b"," * n_columns) + mark, b""
    return found


def read_all(content: bytes, n_columns: int) -> bytes:
    lines, found = WholeLines(io.BytesIO(content), n_columns), b""
    while part := lines.read(5):
        found += part
    return found


@given(st.lists(parts, max_size=80).map(b"".join), st.integers(1, 3))
@settings(deadline=None, derandomize=True, database=None, max_examples=1500)
def test_each_line_is_judged_by_its_own_bytes(content: bytes, n_columns: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "BLOCK_BYTES", BLOCK)
        patch.setattr(csv_lines, "_PIECE", PIECE)
        try:
            expected = by_the_rule(content, n_columns)
        except ValueError:
            with pytest.raises(ValueError, match="quote"):
                read_all(content, n_columns)
        else:
            assert read_all(content, n_columns) == expected


ODD = {"quoted": b'"0.25"', "no text": b"\xff", "left out": b"\xff,\xff"}


def seconds(content: bytes) -> float:
    lines = WholeLines(io.BytesIO(content), 8)
    begin = time.process_time()
    while lines.read(csv_lines.BLOCK_BYTES):
        pass
    return time.process_time() - begin


@pytest.mark.attack
@pytest.mark.parametrize("cell", ODD)
def test_odd_cell_costs_no_more_than_its_line(cell: str) -> None:
    # One block. To look at its 40,000 lines one by one takes 20 ms and more; a copy takes 1 ms.
    row = b"0.123456," * 7 + b"0.123456\n"
    clean = row * 40_000
    odd = row * 20_000 + ODD[cell] + row[8:] + row * 19_999
    pairs = [(seconds(clean), seconds(odd)) for _ in range(9)]
    assert median(after - before for before, after in pairs) < 0.008


def test_files_of_odd_lines_only_take_time_in_proportion() -> None:
    # Searches that went back to the begin of a block would take 16 times as long, not 4.
    row = b'"0.1",\xff,"0.3"\r'
    short, long = row * 4_000, row * 16_000
    pairs = [(seconds(short), seconds(long)) for _ in range(5)]
    assert median(after / before for before, after in pairs) < 9
