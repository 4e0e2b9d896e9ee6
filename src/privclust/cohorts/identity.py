"""Who a node is: an Ed25519 key, whose public half the other nodes have in their policies."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from privclust._files import read_regular
from privclust.errors import PolicyError

KEY_BYTES = 32
_FILE_MAX = 2**10


class Identity:
    """The private key by which a node signs what it agrees to.

    Parameters
    ----------
    secret : bytes
        32 random bytes.

    Examples
    --------
    >>> north = Identity.generate()
    >>> is_signed(north.public, north.sign(b"terms"), b"terms")
    True
    """

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def generate(cls) -> Identity:
        """Return a new one."""
        return cls(os.urandom(KEY_BYTES))

    @property
    def public(self) -> bytes:
        """What the other nodes know it by."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        return self._key.sign(message)


def is_signed(public: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether a signature of a message is by the holder of a public key."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_identity(file: Path) -> Identity:
    """Return the identity of a file that nobody but its owner may read.

    Raises
    ------
    PolicyError
        If there is none, if others may read it, or if it holds something else.
    """
    try:
        content = read_regular(file, _FILE_MAX)
        mode = stat.S_IMODE(os.stat(file).st_mode)
        secret = bytes.fromhex(content.decode())
    except (OSError, ValueError):
        mode, secret = 0, b""
    if mode & 0o077:
        raise PolicyError(
            f"others may read or write the node's key {str(file)!r}. Keep it to the node: chmod "
            f"600 {file.name}."
        )
    if len(secret) != KEY_BYTES:
        raise PolicyError(
            f"the node's key {str(file)!r} cannot be read, or does not hold {KEY_BYTES} bytes in "
            "hexadecimal digits. 'privclust node init' writes one, once: other nodes know this "
            "node by it."
        )
    return Identity(secret)
