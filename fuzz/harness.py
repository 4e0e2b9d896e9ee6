"""Feed one target with inputs that libFuzzer makes up: ``python -m fuzz.harness NAME …``.

A target is a module of this package. Its `seeds` are inputs to begin with, its `attempt` tries one;
an exception that leaves it, a crash, a hang or a hunger for memory is a finding.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Protocol, cast

import atheris

SECONDS_PER_INPUT = 20
MARGIN = 2**30
"""Bytes that an input may make the process grow by, beyond what it has after all seeds."""
LONGEST = 2**16
"""Bytes of the largest input."""
IN_MEMORY = Path("/dev/shm")
"""Where files cost little, and waiting for a disk nothing."""


class Target(Protocol):
    """What is attacked."""

    def seeds(self) -> list[bytes]:
        """Return inputs to begin with."""

    def attempt(self, data: bytes, folder: Path) -> None:
        """Try one input; files may be written into `folder`."""


def drive(name: str, corpus: Path, options: list[str]) -> None:
    """Attack a target until libFuzzer has done what `options` say; this ends the process."""
    os.environ["PRIVCLUST_KERNELS"] = "numpy"  # Numba cannot compile what is instrumented
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as place:
        folder, tempfile.tempdir = Path(place), place
        with atheris.instrument_imports(include=["privclust"]):
            target = cast(Target, importlib.import_module(f"fuzz.{name}"))
            for number, seed in enumerate(target.seeds()):
                target.attempt(seed, folder)  # loads all that is loaded late
                (corpus / f"seed-{number}").write_bytes(seed)
        _limit_memory()
        _leave_without_waiting()
        limits = [f"-timeout={SECONDS_PER_INPUT}", f"-max_len={LONGEST}", "-rss_limit_mb=2048"]
        arguments = [sys.argv[0], *limits, "-print_final_stats=1", *options, str(corpus)]
        atheris.Setup(arguments, lambda data: target.attempt(data, folder))
        atheris.Fuzz()


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    most = pages * resource.getpagesize() + MARGIN
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _leave_without_waiting() -> None:
    # libFuzzer ends the process while Python holds its lock; Arrow's threads that still close a
    # Python file want it, and the end of Arrow's pool waits for them: for ever.
    libc = ctypes.CDLL(None)
    libc.on_exit(libc._exit, None)


if __name__ == "__main__":
    drive(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
