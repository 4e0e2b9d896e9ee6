"""Runs of tests against a copy of this package with a bug in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mutations.base import Mutation, plant

_BROKEN = re.compile(r"^E +(?:\w*SyntaxError|IndentationError|ImportError|NameError)\b", re.M)


@dataclass(frozen=True)
class Trial:
    """What became of a planted bug.

    Attributes
    ----------
    test : str or None
        The first test that noticed; None if none did.
    meant : bool
        Whether the test meant to notice did. Only this counts as caught: another test that turned
        red did so by luck.
    output : str
        What pytest printed last.
    """

    test: str | None
    meant: bool
    output: str


def try_out(mutation: Mutation, package: Path, tests: Path) -> Trial:
    """Plant a bug and run the test meant for it; then its file, then all attacks, until one fails.

    Parameters
    ----------
    mutation : Mutation
        The bug.
    package, tests : Path
        The folders of the package, which is copied, and of its tests, whose files marked ``attack``
        are run.
    """
    with tempfile.TemporaryDirectory() as folder:
        plant(mutation, package, Path(folder))
        # A bug of the NumPy kernels stays unseen where compiled loops run in their place.
        kernels = "compiled" if mutation.file == "kernels/compiled.py" else "numpy"
        alone = [mutation.test]
        for selection in (alone, [mutation.test.split("::")[0]], attack_files(tests)):
            done = attack(selection, tests, Path(folder), kernels)
            if done.returncode not in (0, 1) or _BROKEN.search(done.stdout):
                raise RuntimeError(f"mutation {mutation.name!r} broke the tests:\n{done.stdout}")
            if done.returncode:
                meant = selection is alone and f"FAILED {mutation.test}" in done.stdout
                return Trial(caught_by(done.stdout), meant, done.stdout)
    return Trial(None, False, done.stdout)


def attack(
    selection: Iterable[str], tests: Path, source: Path, kernels: str
) -> subprocess.CompletedProcess[str]:
    """Run selected tests marked ``attack`` with the package below `source`, until one fails.

    `kernels` are "numpy" or "compiled".

    Exit code 0 means that no test noticed, 1 that one did; anything else that the run itself broke.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "attack", *selection]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-o", "addopts=--import-mode=importlib --strict-markers"]
    return subprocess.run(
        command,
        # One thread each: OpenMP's idle threads spin, and several attacks may share the cores.
        env={
            **os.environ,
            "PYTHONPATH": str(source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PRIVCLUST_KERNELS": kernels,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
        cwd=tests.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def attack_files(tests: Path) -> list[str]:
    """Return the files with attacks; the others load referees that take seconds to import."""
    files = [file for file in tests.rglob("test_*.py") if "mark.attack" in file.read_text()]
    return [str(file.relative_to(tests.parent)) for file in sorted(files)]


def caught_by(output: str) -> str | None:
    """Return the first test that failed, as pytest's summary names it; None if none did.

    Examples
    --------
    >>> caught_by("FAILED tests/domains/test_base.py::test_rim[0.5] - assert 2 == 1")
    'tests/domains/test_base.py::test_rim[0.5]'
    """
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    return found and found[1]
