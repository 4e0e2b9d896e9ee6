"""Lines of CSV files, of which each is a row by itself, whatever bytes it has."""

from __future__ import annotations

import re
from typing import Any

BLOCK_BYTES = 2**23
"""What Arrow reads of a CSV file at a time; a line must not be longer."""
_LINES = re.compile(rb"[^\r\n]*[\r\n]")
_CELL = re.compile(rb'(?:"(?:[^"]++|"")*+"|(?!")[^,]*+)(,|\Z)')


class WholeLines:
    """A file in which every line is a row by itself, or reading it fails.

    A quote that is still open at the end of a line would make the lines after it part of a cell:
    one row would decide how many others there are. A line that is neither UTF-8 nor has as many
    cells as there are columns is left out here, since Arrow would stop at it and show its bytes,
    and so is one that is too long for Arrow.
    """

    closed = False

    def __init__(self, stream: Any, n_columns: int) -> None:
        self._stream = stream
        self._no_row = b"," * n_columns  # a cell too many
        self._n_columns = n_columns
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
            self._begun, self._ready = text[end:], self._checked(text[:end])
        read, self._ready = self._ready[:size], self._ready[size:]
        return read

    def close(self) -> None:
        """Whoever opened the stream closes it."""

    def _checked(self, lines: bytes) -> bytes:
        if len(lines) <= BLOCK_BYTES and b'"' not in lines and _is_text(lines):
            return lines
        return b"".join(map(self._checked_line, _LINES.findall(lines)))

    def _checked_line(self, line: bytes) -> bytes:
        content = line.rstrip(b"\r\n")
        if len(line) <= BLOCK_BYTES:
            if b'"' not in line and _is_text(line):
                return line
            if n_cells(content) == self._n_columns or _is_text(content):
                return line
        return self._no_row + line[len(content) :]


def n_cells(line: bytes) -> int:
    """Count the cells of a line of a CSV file, however long they are, or fail at an open quote.

    Examples
    --------
    >>> n_cells(b'1,"a,b"')
    2
    """
    place = count = 0
    while cell := _CELL.match(line, place):
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
