"""Passphrases of signing keys: typed at a terminal or read from a file, never an argument."""

from __future__ import annotations

import getpass
import os
import stat
import sys
from pathlib import Path
from typing import Annotated

import typer

from privclust.errors import ParameterError

LONGEST = 4096
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        help="File, or descriptor such as /dev/fd/3, whose first line is the passphrase. By "
        "default it is asked for at the terminal."
    ),
]


def read_passphrase(file: Path | None, repeat: bool = False) -> bytes:
    """Return the passphrase of a key; one that is typed for a new key is typed twice."""
    if file is not None:
        return _first_line(file)
    if not sys.stdin.isatty():
        raise ParameterError(
            "a passphrase is typed at a terminal, and this is none. Name a file that holds it with "
            "--passphrase-file."
        )
    typed = getpass.getpass("Passphrase: ")
    if repeat and typed != getpass.getpass("The same again: "):
        raise ParameterError("the two passphrases differ. Try again.")
    return typed.encode()


def _first_line(file: Path) -> bytes:
    with file.open("rb") as opened:
        mode = os.fstat(opened.fileno()).st_mode
        if os.name == "posix" and stat.S_ISREG(mode) and stat.S_IMODE(mode) & 0o077:
            raise ParameterError(
                f"others may read or write the passphrase in {file.name!r}. Keep it to yourself: "
                f"chmod 600 {file.name}."
            )
        return opened.readline(LONGEST).rstrip(b"\r\n")
