"""Lines of CSV files, of which each is a row by itself, whatever bytes it has."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

BLOCK_BYTES = 2**23
"""What Arrow reads of a CSV file at a time; a line must not be longer."""
_PIECE = 2**14
_END = re.compile(rb"[\r\n]")


@cache
def _content(delimiter: bytes) -> bytes:
    """Return the pattern of a cell."""
    return rb'(?:"(?:[^"]++|"")*+"|(?!")[^%b]*+)' % re.escape(delimiter)


@cache
def _cell(delimiter: bytes) -> re.Pattern[bytes]:
    return re.compile(_content(delimiter) + rb"(%b|\Z)" % re.escape(delimiter))


class WholeLines:
    """A file in which every line is a row by itself, or reading it fails.

    A quote that is still open at the end of a line would make the lines after it part of a cell:
    one row would decide how many others there are. A line that is neither UTF-8 nor has as many
    cells as there are columns is left out here, since Arrow would stop at it and show its bytes,
    and so is one that is too long for Arrow.

    Only lines with quotes, or with bytes that are no text, are looked into, each alone: the time
    that a line takes does not depend on other lines.
    """

    closed = False

    def __init__(self, stream: Any, n_columns: int, delimiter: bytes = b",") -> None:
        self._stream, self._delimiter = stream, delimiter
        self._no_row = delimiter * n_columns  # a cell too many
        cell = _content(delimiter)
        others = b"(?:%b%b){%d}" % (cell, re.escape(delimiter), n_columns - 1)
        self._row = re.compile(others + cell) if n_columns else None
        self._begun = self._ready = b""

    def read(self, size: int) -> bytes:
        """Return the next bytes, all of lines that are known to be whole; nothing at the end."""
        while not self._ready:
            found: bytes = self._stream.read(BLOCK_BYTES // 2)
            if not found and not self._begun:
                break
            # Without an end, the last row would be read by other rules than if it were not last.
            text = self._begun + (found or b"\n")
            end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
            self._ready = self._checked(text[:end], len(self._begun))
            self._begun = text[end:]
        read, self._ready = self._ready[:size], self._ready[size:]
        return read

    def close(self) -> None:
        """Whoever opened the stream closes it."""

    def _checked(self, lines: bytes, begun: int) -> bytes:
        """Return lines, with something that is not a row in place of those that are left out."""
        kept: list[bytes] = []
        copied = 0
        for begin, end in _odd_lines(lines, begun):
            if not self._is_row(lines, begin, end):
                kept += [lines[copied:begin], self._no_row]
                copied = end
        return b"".join([*kept, lines[copied:]]) if kept else lines

    def _is_row(self, lines: bytes, begin: int, end: int) -> bool:
        if end - begin >= BLOCK_BYTES:
            return False
        if self._row is not None and self._row.fullmatch(lines, begin, end):
            return True
        line = lines[begin:end]
        n_cells(line, self._delimiter)  # fails at an open quote
        return _is_text(line)


def _odd_lines(lines: bytes, begun: int) -> Iterator[tuple[int, int]]:
    """Give begin and end of each line that may be no row, found by nothing but its own bytes.

    Only the first line can be too long: `begun` bytes of it were there before the rest was read.
    """
    end = _end_of_line(lines, begun)
    if end >= BLOCK_BYTES:
        yield 0, end
    place = end + 1 if end >= BLOCK_BYTES else 0
    quote = no_text = -1
    while True:
        # Neither is looked for where it was before, so that all of it takes one pass.
        if quote < place:
            quote = lines.find(b'"', place) % (len(lines) + 1)  # the end, where there is none
        if no_text < place:
            no_text = _first_no_text(lines, place)
        odd = min(quote, no_text)
        if odd == len(lines):
            return
        begin = 1 + max(place - 1, *(lines.rfind(mark, place, odd) for mark in (b"\n", b"\r")))
        end = _end_of_line(lines, odd)
        yield begin, end
        place = end + 1


def _end_of_line(lines: bytes, place: int) -> int:
    end = _END.search(lines, place)
    return len(lines) if end is None else end.start()


def _first_no_text(lines: bytes, place: int) -> int:
    """Return where the first byte is that is not UTF-8, or the end."""
    view = memoryview(lines)
    while place < len(lines):
        try:
            # In pieces, because an error takes a copy of all that was to be decoded.
            place += codecs.utf_8_decode(view[place : place + _PIECE], "strict", False)[1]
        except UnicodeDecodeError as error:
            return place + error.start
    return len(lines)


def n_cells(line: bytes, delimiter: bytes = b",") -> int:
    """Count the cells of a line of a CSV file, however long they are, or fail at an open quote.

    Examples
    --------
    >>> n_cells(b'1,"a,b"')
    2
    """
    place = count = 0
    pattern = _cell(delimiter)
    while cell := pattern.match(line, place):
        place, count = cell.end(), count + 1
        if not cell[1]:
            return count
    raise ValueError("a quote is left open, or is not the last character of its cell.")


def _is_text(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
