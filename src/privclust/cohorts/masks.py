"""Masks that two nodes share and nobody else knows: they vanish when all sums are added up.

Each pair of nodes has a secret (X25519, from keys of this fit), from which a key for each request
follows (HKDF-SHA256), and from that a stream of numbers (ChaCha20). One of the two adds it, the
other subtracts it, modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from privclust.kernels.grid import IntArray

MASK_KEY_BYTES = 32
_PURPOSE = b"privclust: mask of one request between two nodes, version 1"
_NONCE = bytes(16)
"""A key makes one stream, so that the nonce need not differ."""
_ANY_SECRET = X25519PrivateKey.from_private_bytes(bytes(32))


@dataclass(frozen=True)
class MaskKey:
    """A node's public keys in one fit: who it is, and what its secrets with others follow from."""

    name: str
    identity: bytes
    key: bytes

    @property
    def parts(self) -> tuple[bytes, ...]:
        """All of it as bytes."""
        return self.name.encode(), self.identity, self.key


def new_secret() -> bytes:
    """Return the private half of a key for one fit."""
    return X25519PrivateKey.generate().private_bytes_raw()


def public_key(secret: bytes) -> bytes:
    """Return the public half.

    Examples
    --------
    >>> len(public_key(new_secret()))
    32
    """
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def shares_secrets(key: bytes) -> bool:
    """Tell whether secrets follow from a public key; from points of small order none does.

    That is so for every private key or for none: each is a multiple of 8.

    Examples
    --------
    >>> shares_secrets(public_key(new_secret())), shares_secrets(bytes(32))
    (True, False)
    """
    try:
        _ANY_SECRET.exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return False
    return True


def masked(
    values: IntArray, secret: bytes, own: MaskKey, others: Iterable[MaskKey], context: bytes
) -> IntArray:
    """Add a node's masks of one request to its noisy sums, modulo 2^64.

    `context` is all that the request says, as bytes. Nodes to whom different requests were sent
    have different masks, which do not vanish.

    Raises
    ------
    ValueError
        If another's key is one by which no secret is shared.

    Examples
    --------
    >>> secrets = {name: new_secret() for name in ("north", "south")}
    >>> north, south = (MaskKey(n, bytes(32), public_key(s)) for n, s in secrets.items())
    >>> one = masked(np.array([5]), secrets["north"], north, [south], b"request")
    >>> two = masked(np.array([7]), secrets["south"], south, [north], b"request")
    >>> (one + two).tolist()
    [12]
    """
    total = np.ascontiguousarray(values, dtype="<i8").view("<u8").copy()
    private = X25519PrivateKey.from_private_bytes(secret)
    for other in others:
        shared = private.exchange(X25519PublicKey.from_public_bytes(other.key))
        first, second = sorted((own, other), key=lambda one: one.name)
        stream = _stream(shared, length_prefixed(context, *first.parts, *second.parts), len(total))
        if own is first:
            total += stream
        else:
            total -= stream
    return total.view("<i8")


def length_prefixed(*parts: bytes) -> bytes:
    """Join parts so that no two lists of parts give the same bytes.

    Examples
    --------
    >>> length_prefixed(b"ab", b"c") == length_prefixed(b"a", b"bc")
    False
    """
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _stream(
    shared: bytes, context: bytes, size: int
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    info = length_prefixed(_PURPOSE, sha256(context).digest())
    key = HKDF(hashes.SHA256(), MASK_KEY_BYTES, None, info).derive(shared)
    cipher = Cipher(algorithms.ChaCha20(key, _NONCE), None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * size)), dtype="<u8")
