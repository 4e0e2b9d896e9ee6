"""Names of runs follow from the request, and the secret behind them is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privclust.errors import PolicyError
from privclust.node.names import read_name_key, run_name

PARTS = st.tuples(*[st.text(max_size=5)] * 4)


@given(PARTS, PARTS)
def test_names_differ_where_any_part_does(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    names = [run_name(b"k" * 32, *parts) for parts in (one, other)]
    assert (names[0] == names[1]) == (one == other)


def test_parts_cannot_be_shifted() -> None:
    assert run_name(b"k", "a", "bc", "t", "1") != run_name(b"k", "ab", "c", "t", "1")


def test_name_needs_the_secret() -> None:
    assert run_name(b"k", "a", "b", "t", "1") != run_name(b"l", "a", "b", "t", "1")


def _key(folder: Path, content: str, mode: int = 0o600) -> Path:
    file = folder / "names.key"
    file.write_text(content)
    file.chmod(mode)
    return file


def test_key_is_read(tmp_path: Path) -> None:
    assert read_name_key(_key(tmp_path, "5a" * 32 + "\n")) == b"\x5a" * 32


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(PolicyError, match="chmod 600"):
        read_name_key(_key(tmp_path, "5a" * 32, mode))


@pytest.mark.parametrize("content", ["", "5a" * 31, "x" * 64, "é", "5a" * 5000])
def test_key_must_be_long_and_hexadecimal(tmp_path: Path, content: str) -> None:
    with pytest.raises(PolicyError, match="privclust node init"):
        read_name_key(_key(tmp_path, content))


def test_key_must_exist(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="privclust node init"):
        read_name_key(tmp_path / "none")
