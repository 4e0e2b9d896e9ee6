"""Other processes, that share a ledger with the tests or die over it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 120


@contextmanager
def other_process(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run Python code that imports what the tests do; nothing of it is left in the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def output_of(code: str, *arguments: str, seconds: int = SECONDS) -> str:
    """Run Python code to its end and return what it printed."""
    with other_process(code, *arguments) as process:
        printed, _ = process.communicate(timeout=seconds)
        assert process.returncode == 0
    return printed


def race(code: str, *arguments: str) -> list[str]:
    """Run code twice at the same time and return what each printed.

    It gets a number, 0 or 1, before `arguments`; it prints a line when it is ready and reads one
    before it begins.
    """
    with (
        other_process(code, "0", *arguments) as first,
        other_process(code, "1", *arguments) as second,
    ):
        both = (first, second)
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in both:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        printed = [process.communicate(timeout=SECONDS)[0] for process in both]
        assert [process.returncode for process in both] == [0, 0]
    return printed
