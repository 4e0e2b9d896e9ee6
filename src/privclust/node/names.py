"""Names of runs: the same for the same request, and of no use to anyone else."""

from __future__ import annotations

import hmac
import os
import stat
from pathlib import Path

from privclust._files import read_regular
from privclust.cohorts.masks import length_prefixed
from privclust.errors import PolicyError

KEY_BYTES_MIN = 32
_NAME_BYTES = 16
_FILE_MAX = 2**12


def run_name(key: bytes, issuer: str, subject: str, table: str, idempotency_key: str) -> str:
    """Return the name of a run in the ledger, which follows from who requested it by which key.

    A crash between paying and remembering cannot pay twice: the request has the same name when it
    is sent again.

    Parameters
    ----------
    key : bytes
        The node's secret, without which names say nothing of who is behind them.
    issuer, subject, table, idempotency_key : str
        The analyst, what is clustered, and the header of the request.

    Examples
    --------
    >>> run_name(bytes(32), "https://id.example", "ada", "credit", "first")
    'f9ef41e6aaf6118535df2e6261ae074f'
    """
    parts = (part.encode() for part in (issuer, subject, table, idempotency_key))
    return hmac.digest(key, length_prefixed(*parts), "sha256")[:_NAME_BYTES].hex()


def read_name_key(file: Path) -> bytes:
    """Return the secret of a file that nobody but its owner may read.

    Raises
    ------
    PolicyError
        If there is none, if others may read it, or if it is too short.
    """
    try:
        content = read_regular(file, _FILE_MAX)
        mode = stat.S_IMODE(os.stat(file).st_mode)
    except (OSError, ValueError):
        raise PolicyError(
            f"the key for names {str(file)!r} cannot be read. 'privclust node init' makes "
            "one, once: runs keep the names that it gave them."
        ) from None
    if mode & 0o077:
        raise PolicyError(
            f"others may read or write the key for names {str(file)!r}. Keep it to the node: "
            f"chmod 600 {file.name}."
        )
    try:
        key = bytes.fromhex(content.decode())
    except ValueError:
        key = b""
    if len(key) < KEY_BYTES_MIN:
        raise PolicyError(
            f"the key for names {str(file)!r} must hold at least {KEY_BYTES_MIN} random bytes in "
            "hexadecimal digits, and nothing else. 'privclust node init' writes one."
        )
    return key
