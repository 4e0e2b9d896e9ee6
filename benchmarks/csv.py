"""What an odd cell costs: passes over a clean CSV file and over ones with one, by turns."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from privclust.domains.box import Box
from privclust.engines.streaming import ArrowEngine
from privclust.queries import Count
from privclust.sources.streams import source_of

TARGET = 1.05
COLUMNS, REPEATS = 8, 15
ODD = {"a quoted cell": b'"0.25"', "a byte that is no text": b"\xff", "a line too short": b""}


def main(quick: bool) -> None:
    """Print CPU seconds of a pass, and the ratio of medians to those of the clean file."""
    for n_rows in (50_000,) if quick else (50_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            files = _written(Path(folder), n_rows)
            repeats = 3 if quick else REPEATS
            seconds = np.array([[_pass(file) for file in files] for _ in range(repeats)])
        clean, *odd = np.median(seconds, axis=0)
        print(f"{n_rows:,} rows, clean: {clean:.3f} CPU s a pass")
        for what, found in zip(ODD, odd, strict=True):
            ratio = found / clean
            print(f"{n_rows:,} rows, {what} {ratio:.3f} {TARGET}", end=" ")
            print("met" if ratio <= TARGET else "not met")


def _written(folder: Path, n_rows: int) -> list[Path]:
    """Write the clean file, and the same with one odd cell in its middle."""
    rows = np.random.default_rng(0).random((n_rows, COLUMNS)).round(6)
    files = [folder / f"{number}.csv" for number in range(1 + len(ODD))]
    pa.csv.write_csv(pa.table(list(rows.T), names=[f"x{i}" for i in range(COLUMNS)]), files[0])
    lines = files[0].read_bytes().splitlines(keepends=True)
    _, *others = lines[n_rows // 2].split(b",")
    for file, cell in zip(files[1:], ODD.values(), strict=True):
        lines[n_rows // 2] = b",".join([cell, *others] if cell else others)
        file.write_bytes(b"".join(lines))
    return files


def _pass(file: Path) -> float:
    source = source_of(file)
    assert source is not None
    engine = ArrowEngine(source, source.schema.names or (), Box([0] * COLUMNS, [1] * COLUMNS))
    begin = time.process_time()
    engine.aggregate(Count())
    return time.process_time() - begin
