"""Keys by which nodes know one another."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.cohort_parts import identity
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.cohorts.identity import KEY_BYTES, Identity, is_signed, read_identity
from privclust.errors import PolicyError

SECRET = bytes(range(KEY_BYTES))


def written(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    file = folder / "node.key"
    file.write_bytes(content)
    file.chmod(mode)
    return file


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.binary(max_size=80), st.binary(max_size=80), st.integers(0, 511))
def test_signature_is_of_one_message_by_one_key(message: bytes, other: bytes, bit: int) -> None:
    north, south = identity("north"), identity("south")
    signature = north.sign(message)
    assert is_signed(north.public, signature, message)
    assert not is_signed(south.public, signature, message)
    assert message == other or not is_signed(north.public, signature, other)
    flipped = bytearray(signature)
    flipped[bit // 8] ^= 1 << bit % 8
    assert not is_signed(north.public, bytes(flipped), message)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.binary(max_size=40), st.binary(max_size=70))
def test_bytes_that_are_no_key_or_no_signature_sign_nothing(key: bytes, signature: bytes) -> None:
    assert not is_signed(key, signature, b"terms")
    assert not is_signed(identity("north").public, signature, b"terms")


def test_each_node_has_a_key_of_its_own() -> None:
    assert len({Identity.generate().public for _ in range(8)}) == 8


def test_key_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    for content in (SECRET.hex(), SECRET.hex() + "\n", SECRET.hex().upper()):
        found = read_identity(written(tmp_path, content.encode()))
        assert found.public == Identity(SECRET).public


@pytest.mark.attack
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666])
def test_key_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(PolicyError, match=r"chmod 600 node\.key") as failed:
        read_identity(written(tmp_path, SECRET.hex().encode(), mode))
    assert SECRET.hex() not in str(failed.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 64,
        b"zz" * KEY_BYTES,
        SECRET,
        SECRET[:-1].hex().encode(),
        (SECRET + b"\0").hex().encode(),
        b"00" * 2**12,
    ],
)
def test_file_that_holds_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(PolicyError, match="cannot be read, or does not hold 32 bytes"):
        read_identity(written(tmp_path, content))


def test_file_that_is_not_there_or_no_file_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "nothing", tmp_path):
        with pytest.raises(PolicyError, match="cannot be read"):
            read_identity(place)
