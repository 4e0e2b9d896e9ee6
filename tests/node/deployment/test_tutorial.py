"""The page on three hospitals, followed as it is printed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.node_deployment import ROOT, until

PAGE = ROOT / "docs" / "federated-nodes.md"
HOSPITALS = {"north": 8441, "south": 8442, "west": 8443}
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps() -> dict[int, list[str]]:
    """Return what is typed in each step of the page."""
    parts = re.split(r"^## (\d)\. .*$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    numbered = zip(parts[::2], parts[1::2], strict=True)
    return {int(number): [code for _, code in BLOCK.findall(text)] for number, text in numbered}


def environment(folder: Path) -> dict[str, str]:
    """Return one in which `python` and `privclust` are those of this checkout."""
    programs = folder / "bin"
    programs.mkdir()
    script = f'#!/bin/sh\nexec {sys.executable} -m privclust "$@"\n'
    for name, text in (("privclust", script), ("python", f'#!/bin/sh\nexec {sys.executable} "$@"')):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    path = os.pathsep.join(map(str, [ROOT / "src", ROOT, ROOT / "tests"]))
    return {**os.environ, "PYTHONPATH": path, "PATH": f"{programs}:{os.environ['PATH']}"}


@contextmanager
def started(code: str, place: Path, variables: dict[str, str]) -> Iterator[Path]:
    """Run what goes on in the background, and end it."""
    log = place / "processes.log"
    with open(log, "wb") as file:
        process = subprocess.Popen(
            ["bash", "-c", f"{code}\nwait"],
            cwd=place,
            env=variables,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


@pytest.mark.long
def test_page_on_three_hospitals_works_as_printed(tmp_path: Path) -> None:
    typed, variables = steps(), environment(tmp_path)

    def shell(code: str, place: Path, **further: str) -> str:
        command = ["bash", "-e", "-o", "pipefail", "-c", code]
        done = subprocess.run(
            command, cwd=place, env={**variables, **further}, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    shell("\n".join(typed[2]), tmp_path)
    for name, port in HOSPITALS.items():
        shell("\n".join(typed[3]), tmp_path, HOSPITAL=name, PORT=str(port))
    shell("\n".join(typed[4]), tmp_path)
    check, begin = typed[5]
    places = [tmp_path / name for name in HOSPITALS]
    with (
        started(begin, places[0], {**variables, "PORT": "8441"}) as north,
        started(begin, places[1], {**variables, "PORT": "8442"}) as south,
        started(begin, places[2], {**variables, "PORT": "8443"}) as west,
    ):
        for place in places:
            assert "matches them" in shell(check, place)
        for log in (north, south, west):
            until(lambda log=log: "listening at" in log.read_text(), log.read_text)  # type: ignore[misc]
            until(lambda log=log: "working on jobs" in log.read_text(), log.read_text, 600)  # type: ignore[misc]
        coordinate, verify = typed[6]
        (tmp_path / "coordinate.py").write_text(coordinate)
        printed = shell("python coordinate.py", tmp_path)
        assert "epsilon = 1, delta = 1e-06" in printed
        for place in places:
            assert "finished" in shell("privclust ledger runs ledger.db wards", place)
            assert "the ledger is intact" in shell(verify, place)
