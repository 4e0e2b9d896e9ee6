"""Versions of privclust and of its libraries, as reports of bugs need them."""

from __future__ import annotations

import pytest
from helpers.kernels import kernels

import privclust


@pytest.mark.parametrize(("name", "said"), [("numpy", "NumPy"), ("compiled", "compiled")])
def test_versions_and_kernels_are_printed(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with kernels(name):
        privclust.show_versions()
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith(f"privclust {privclust.__version__}, Python 3.")
    assert "opendp 0.16" in second
    assert third == f"kernels: {said}"


def test_a_library_that_is_missing_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("privclust.estimators._versions._LIBRARIES", ("no-such-library",))
    privclust.show_versions()
    assert "no-such-library not installed" in capsys.readouterr().out
