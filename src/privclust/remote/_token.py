"""The token that says who an analyst is: from a parameter, the environment or a file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from privclust._files import read_regular
from privclust.remote.error import RemoteError

VARIABLE, FILE_VARIABLE = "PRIVCLUST_TOKEN", "PRIVCLUST_TOKEN_FILE"
TOKEN_MAX = 8192
"""Bytes that a node takes."""


def read_token(given: str | None) -> str:
    """Return the token to send now; one in a file is read anew, so that it can be refreshed.

    No message repeats any of it.

    Examples
    --------
    >>> read_token("header.payload.signature ")
    'header.payload.signature'
    """
    token = given or os.environ.get(VARIABLE) or _from_file(os.environ.get(FILE_VARIABLE))
    if not token:
        raise RemoteError(
            "there is no token to show to the node. Get one from your identity provider and put "
            f"it into the environment variable {VARIABLE}, or into a file that {FILE_VARIABLE} "
            "names. Nothing was sent."
        )
    token = token.strip()
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise RemoteError(
            "the token holds characters that no token has, such as spaces between others. Copy it "
            "again, as a whole and alone. Nothing was sent."
        )
    if len(token) > TOKEN_MAX:
        raise RemoteError(
            f"the token has more than {TOKEN_MAX:,} bytes, which no node takes. Ask your identity "
            "provider for one with fewer claims. Nothing was sent."
        )
    return token


def _from_file(name: str | None) -> str | None:
    if not name:
        return None
    with suppress(OSError, ValueError):
        return read_regular(Path(name), 2 * TOKEN_MAX).decode("ascii")
    raise RemoteError(
        f"the file that {FILE_VARIABLE} names cannot be read as a token. Check its path, your "
        "rights to it, and that it holds a token and nothing else. Nothing was sent."
    )
