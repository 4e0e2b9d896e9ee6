"""Keys: the private one is encrypted, and kept from others."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from helpers.signing import PASSPHRASE, write_keys

from privclust.errors import ParameterError
from privclust.models.approval.keys import (
    key_fingerprint,
    new_key,
    read_private_key,
    read_public_key,
)


def test_a_private_key_comes_back_with_its_passphrase(tmp_path: Path) -> None:
    write_keys(tmp_path)
    private = read_private_key(tmp_path / "officer.key", PASSPHRASE.encode())
    public = read_public_key(tmp_path / "officer.pub")
    assert key_fingerprint(private.public_key()) == key_fingerprint(public)


def test_another_passphrase_is_refused_and_not_repeated(tmp_path: Path) -> None:
    write_keys(tmp_path)
    with pytest.raises(ParameterError, match="passphrase is another one") as caught:
        read_private_key(tmp_path / "officer.key", b"some other words")
    assert "some other words" not in str(caught.value)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    write_keys(tmp_path)
    (tmp_path / "officer.key").chmod(0o640)
    with pytest.raises(ParameterError, match=r"chmod 600 officer\.key"):
        read_private_key(tmp_path / "officer.key", PASSPHRASE.encode())


def test_a_short_passphrase_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least 12 characters"):
        new_key("éééééé".encode())  # twelve bytes


def test_a_key_without_passphrase_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    key = X25519PrivateKey.generate()
    secret = PASSPHRASE.encode()
    ways = (
        (NoEncryption(), "is not encrypted"),
        (BestAvailableEncryption(secret), "another kind"),
    )
    for encryption, message in ways:
        file = tmp_path / "other.key"
        file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        file.chmod(0o600)
        with pytest.raises(ParameterError, match=message):
            read_private_key(file, secret)
    form = (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "other.pub").write_bytes(key.public_key().public_bytes(*form))
    with pytest.raises(ParameterError, match="another kind"):
        read_public_key(tmp_path / "other.pub")


def test_what_is_not_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "note.pub").write_text("hello")
    with pytest.raises(ParameterError, match="not a public key"):
        read_public_key(tmp_path / "note.pub")
    with pytest.raises(ParameterError, match="not a regular file"):
        read_public_key(Path("/dev/zero"))
