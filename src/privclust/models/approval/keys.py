"""Keys that approvals are signed with: Ed25519, in PEM files, the private one encrypted."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from privclust._files import read_regular
from privclust.errors import ParameterError

PASSPHRASE_MIN = 12
"""Characters, so that a copied key file is not opened by trying words."""
KEY_MAX = 2**14
"""Bytes of a key file; one of ours has about 300."""


def new_key(passphrase: bytes) -> tuple[bytes, bytes]:
    """Return a new private key, encrypted, and its public key, both as PEM.

    Examples
    --------
    >>> private, public = new_key(b"correct horse battery")
    >>> private.splitlines()[0], public.splitlines()[0]
    (b'-----BEGIN ENCRYPTED PRIVATE KEY-----', b'-----BEGIN PUBLIC KEY-----')
    """
    if len(passphrase.decode(errors="replace")) < PASSPHRASE_MIN:
        raise ParameterError(
            f"a passphrase needs at least {PASSPHRASE_MIN} characters. Take four words or more."
        )
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase)
    )
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private, public


def read_private_key(file: Path, passphrase: bytes) -> Ed25519PrivateKey:
    """Return the private key of a file that only its owner may read."""
    content = _content(file)
    if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise ParameterError(
            f"others may read or write the private key {file.name!r}. Keep it to yourself: "
            f"chmod 600 {file.name}."
        )
    try:
        key = load_pem_private_key(content, passphrase)
    except TypeError:
        raise ParameterError(
            f"the private key {file.name!r} is not encrypted. Make one with 'privclust keygen'."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        # One message for both: what is wrong inside would help who tries passphrases.
        raise ParameterError(
            f"{file.name!r} is not a private key, or the passphrase is another one. Type the "
            "passphrase that it was made with."
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ParameterError(_other_kind(file))
    return key


def read_public_key(file: Path) -> Ed25519PublicKey:
    """Return the public key of a file."""
    content = _content(file)
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        raise ParameterError(
            f"{file.name!r} is not a public key. Name the .pub file that the signer gave you."
        ) from None
    if not isinstance(key, Ed25519PublicKey):
        raise ParameterError(_other_kind(file))
    return key


def key_fingerprint(key: Ed25519PublicKey) -> str:
    """Return what people compare to know that a public key is whose it is said to be.

    Examples
    --------
    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> len(key_fingerprint(Ed25519PrivateKey.generate().public_key()))
    64
    """
    return sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()


def _content(file: Path) -> bytes:
    try:
        return read_regular(file, KEY_MAX)
    except ValueError as error:
        raise ParameterError(f"{file.name!r} is not a key file: {error}. Name one.") from None


def _other_kind(file: Path) -> str:
    return f"{file.name!r} is a key of another kind. Make an Ed25519 key with 'privclust keygen'."
