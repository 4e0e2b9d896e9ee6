"""Planted bugs, and whether the test meant for each catches it."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

from mutations import CATALOGUE, Mutation, try_out

from benchmarks.digest import PACKAGE
from benchmarks.pieces import Piece, load, run

TESTS = Path(__file__).parents[1] / "tests"
BY_NAME = {mutation.name: mutation for mutation in CATALOGUE}


@dataclass(frozen=True)
class Caught:
    """The test that caught a mutation, if it was the one meant to, and a digest of both files."""

    test: str | None
    cpu_seconds: float
    code: str


def pieces() -> list[Piece]:
    """Return the catalogue as pieces."""
    return [Piece(mutation.name, mutation.file, 0.0, 0) for mutation in CATALOGUE]


def plant_missing() -> None:
    """Plant the mutations of which no current result is kept."""
    run("mutations", pieces(), notice, code_of, kind=Caught)


def notice(piece: Piece) -> Caught:
    """Plant a mutation and run the test meant for it."""
    start = time.monotonic()
    trial = try_out(BY_NAME[piece.method], PACKAGE, TESTS)
    test = trial.test if trial.meant else None
    return Caught(test, time.monotonic() - start, code_of(piece.method))


def code_of(name: str) -> str:
    """Return a digest of a mutation, the file it changes and the file of the test meant for it."""
    return digest_of(BY_NAME[name])


def digest_of(mutation: Mutation) -> str:
    """Return a digest of a mutation, the file it changes and the file of the test meant for it."""
    files = (PACKAGE / mutation.file, TESTS.parent / mutation.test.partition("::")[0])
    content = [repr(mutation).encode(), *(file.read_bytes() for file in files)]
    return hashlib.sha256(b"\0".join(content)).hexdigest()[:12]


def current() -> dict[Piece, Caught]:
    """Return the kept results that still hold: neither bug, nor its file, nor its test changed."""
    kept = load("mutations", Caught)
    return {
        piece: kept[piece]
        for piece in pieces()
        if piece in kept and kept[piece].code == code_of(piece.method)
    }


def print_table() -> None:
    """Print each mutation, where it is planted and which test catches it."""
    caught = current()
    print("| mutation | planted in | caught by the test meant for it |\n|---|---|---|")
    for piece in pieces():
        test = caught[piece].test or "not caught" if piece in caught else "not tried with this code"
        print(f"| {piece.method} | {piece.dataset} | {test} |")
    print(f"\n{len(caught)} of {len(CATALOGUE)} mutations have a current result\n")
