"""Bytes as a CSV file: refused as that, or each line moves the sums by one row at most."""

from __future__ import annotations

import gzip
import re
from contextlib import suppress
from pathlib import Path

import atheris

from fuzz.neighbours import DECLARED, PERSON, close, results, written
from privclust.queries.unit import ROW, Unit

ALLOWED = (*DECLARED, OSError)
"""A gzip file that ends too early is an OSError, with nothing in its message."""
HEADER = b"age,weight,who\n"
LINES = re.compile(rb"[^\r\n]*(?:\r\n|[\r\n]|$)")
COLUMNS = ("age", "weight")
PEOPLE = Unit(PERSON, 1)


def seeds() -> list[bytes]:
    """Return inputs to begin with; the last bytes decide how they are used."""
    bodies = (
        b"0.1,0.2,ann\n-0.5,1e3,bob\nnan,,ann\n",
        b'"0.1","0.2","ann"\n"a ""b""",.5,\n',
        b"1,2\n1,2,3,4\n\n\r\n,,\n1,2,\xff\xfe\r",
        b'0.1,0.2,"ann\n0.3,0.4,bob"\n',
        b"\x00,\x00,\x00\n0.1,\x1a,ann",
        b"\xef\xbb\xbf0.1,0.2,ann\n" + b"9" * 400 + b",-inf,bob\n",
    )
    rows = [body + bytes([how]) for body in bodies for how in (0, 16)]
    return [*rows, HEADER + bodies[0] + bytes([1]), gzip.compress(HEADER + bodies[0]) + bytes([2])]


def attempt(data: bytes, folder: Path) -> None:
    """Read lines below a header, a file with its own header, or a compressed one."""
    source = atheris.FuzzedDataProvider(data[-1:])
    how, dropped = source.ConsumeIntInRange(0, 3), source.ConsumeIntInRange(0, 7)
    body = data[:-1]
    if how == 2:
        with suppress(*ALLOWED):
            results(written(folder, "table.csv.gz", body), COLUMNS, ROW)
        return
    content = body if how == 1 else HEADER + body
    for unit in (ROW, PEOPLE):
        try:
            found = results(written(folder, "table.csv", content), COLUMNS, unit)
            first, *lines = LINES.findall(content)
            del lines[dropped : dropped + 1]
            without = b"".join([first, *lines])
            other = results(written(folder, "table.csv", without), COLUMNS, unit)
        except DECLARED:
            continue
        # One row less of a person leaves one that may point in another direction: twice the bound.
        assert close(found, other, ROW if unit == ROW else Unit(PERSON, 2), len(COLUMNS))
