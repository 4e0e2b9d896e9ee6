"""Long measurements in small pieces: kept in Parquet, resumed where they stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results"
SAVE_EVERY = 20.0


@dataclass(frozen=True)
class Piece:
    """One fit to be made."""

    method: str
    dataset: str
    epsilon: float
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What a fit gave, the digest of the code that gave it, and whether the library warned."""

    loss: float
    cpu_seconds: float
    code: str
    warned: bool = False


Results = dict[Piece, Outcome]


def load(name: str, kind: Callable[..., Any] = Outcome) -> dict[Piece, Any]:
    """Return the pieces kept under `name`, and what each gave, as a `kind`."""
    file = RESULTS / f"{name}.parquet"
    if not file.exists():
        return {}
    keys = Piece.__dataclass_fields__
    return {
        Piece(**{key: row[key] for key in keys}): kind(
            **{key: value for key, value in row.items() if key not in keys}
        )
        for row in pq.read_table(file).to_pylist()
    }


def save(name: str, results: Mapping[Piece, Any]) -> None:
    """Keep the pieces under `name`."""
    rows = [{**asdict(piece), **asdict(outcome)} for piece, outcome in results.items()]
    rows.sort(key=lambda row: (row["method"], row["dataset"], row["epsilon"], row["seed"]))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.parquet"
    unfinished = file.with_suffix(".unfinished")
    pq.write_table(pa.Table.from_pylist(rows), unfinished)
    unfinished.replace(file)


def run(
    name: str,
    pieces: Iterable[Piece],
    measure: Callable[[Piece], Any],
    code_of: Callable[[str], str],
    known: Results | None = None,
    workers: int = 2,
    kind: Callable[..., Any] = Outcome,
) -> dict[Piece, Any]:
    """Measure the pieces that are missing or stale, show progress, and return all of them.

    Pieces `known` from another measurement are not made again.
    """
    wanted = list(pieces)
    results = (known or {}) | load(name, kind)
    missing = [
        piece
        for piece in wanted
        if piece not in results or results[piece].code != code_of(piece.method)
    ]
    started = saved = time.monotonic()
    pool = ProcessPoolExecutor(workers)
    try:
        futures = {pool.submit(measure, piece): piece for piece in missing}
        for done, future in enumerate(as_completed(futures), 1):
            results[futures[future]] = future.result()
            now = time.monotonic()
            _show(name, done, len(missing), now - started)
            if now - saved > SAVE_EVERY:
                save(name, results)
                saved = now
    finally:
        # A piece that fails ends the run now and not after all others; what was measured is kept.
        pool.shutdown(cancel_futures=True)
        save(name, results)
    return {piece: results[piece] for piece in wanted}


def kept(
    name: str,
    pieces: Iterable[Piece],
    code_of: Callable[[str], str],
    known: Results | None = None,
) -> Results | None:
    """Say how many pieces are kept and how many are stale; return them unless some are missing."""
    wanted, results = list(pieces), (known or {}) | load(name)
    found = [piece for piece in wanted if piece in results]
    stale = sum(results[piece].code != code_of(piece.method) for piece in found)
    print(f"{len(found)} of {len(wanted)} fits, {stale} of them by older code\n")
    if len(found) == len(wanted):
        return {piece: results[piece] for piece in wanted}
    print(f"{name} {len(wanted) - len(found)} missing 0 missing NOT MET")
    return None


def _show(name: str, done: int, total: int, elapsed: float) -> None:
    left = elapsed / done * (total - done)
    end = "\n" if done == total else ""
    text = f"\r{name}: {done}/{total} pieces, {elapsed:.0f} s, about {left:.0f} s left   "
    print(text, end=end, file=sys.stderr, flush=True)
