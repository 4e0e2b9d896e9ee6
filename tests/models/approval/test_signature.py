"""A changed byte is found, wherever it is, and files of two releases cannot be exchanged."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.signing import write_release
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privclust.errors import ModelFileError, ParameterError
from privclust.models._json_file import schema_of
from privclust.models.approval.approval_file import Approval
from privclust.models.approval.keys import key_fingerprint
from privclust.models.approval.signature import (
    Signature,
    SignedFile,
    _signed_bytes,
    read_signature,
    sign_files,
)

KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    signature = sign_files(write_release(tmp_path), KEY)
    (tmp_path / "signature.json").write_text(signature.to_json())
    return tmp_path


def problems(folder: Path) -> list[str]:
    signature = read_signature(folder / "signature.json")
    return signature.problems(folder, KEY.public_key())


def flip(file: Path, place: int, bit: int = 0) -> None:
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 1 << bit
    file.write_bytes(content)


def test_signed_files_are_as_they_were(folder: Path) -> None:
    assert problems(folder) == []
    content = json.loads((folder / "signature.json").read_text())
    jsonschema.validate(content, schema_of("signature"))
    assert [file["role"] for file in content["files"]] == ["model", "page"]


@pytest.mark.parametrize(("name", "role"), [("model.json", "model"), ("page.html", "page")])
def test_a_changed_byte_is_found_and_said_where(folder: Path, name: str, role: str) -> None:
    flip(folder / name, 10)
    assert problems(folder) == [f"the {role} '{name}' was changed after it was signed."]


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(place=st.integers(0, 10**4), bit=st.integers(0, 7))
def test_any_changed_bit_of_the_signature_file_is_found(folder: Path, place: int, bit: int) -> None:
    file = folder / "signature.json"
    before = file.read_bytes()
    flip(file, place, bit)
    try:
        assert problems(folder)
    except ModelFileError:
        pass
    finally:
        file.write_bytes(before)


def test_the_same_in_other_bytes_is_refused(folder: Path) -> None:
    file = folder / "signature.json"
    file.write_text(json.dumps(json.loads(file.read_text())))
    with pytest.raises(ModelFileError, match="its bytes are not"):
        read_signature(file)


def test_another_key_signs_nothing_of_this_one(folder: Path) -> None:
    other = Ed25519PrivateKey.generate()
    signature = read_signature(folder / "signature.json")
    (problem,) = signature.problems(folder, other.public_key())
    assert "made with another key" in problem


def test_names_and_roles_are_signed_too(folder: Path) -> None:
    content = json.loads((folder / "signature.json").read_text())
    content["files"].reverse()
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    (folder / "signature.json").write_text(text)
    assert problems(folder) == [
        "the signature file was changed after it was signed, so it proves nothing."
    ]


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "page.html").unlink()
    (problem,) = problems(folder)
    assert "the page 'page.html' is missing" in problem


def test_a_page_about_another_model_is_not_signed(folder: Path) -> None:
    with (folder / "model.json").open("a") as model:
        model.write(" ")
    with pytest.raises(ParameterError, match="is not about the model"):
        sign_files([folder / "model.json", folder / "page.html"], KEY)


@pytest.mark.attack
def test_an_approval_of_other_files_or_of_other_content_is_not_signed(folder: Path) -> None:
    release = [folder / "model.json", folder / "page.html", folder / "approval.json"]
    model = sha256(release[0].read_bytes()).hexdigest()
    given = Approval("visits", "staffing", "A. Ito", "B. Sow", "2026-11-17", model)
    release[2].write_text(given.to_json())
    assert len(sign_files(release, KEY).files) == 3
    release[2].write_text(replace(given, profiles=("0" * 64,)).to_json())
    with pytest.raises(ParameterError, match="another model or other profiles"):
        sign_files(release, KEY)
    content = {"format": "privclust approval 1", "model": model, "ledger": {"epsilon": 0.01}}
    release[2].write_text(json.dumps(content))
    with pytest.raises(ModelFileError):
        sign_files(release, KEY)


def test_a_printed_page_goes_with_its_page(folder: Path) -> None:
    (folder / "page.pdf").write_bytes(b"%PDF-1.7")
    with pytest.raises(ParameterError, match="one model to its page"):
        sign_files([folder / "model.json", folder / "page.pdf"], KEY)


def test_a_printed_page_is_a_pdf(folder: Path) -> None:
    (folder / "page.pdf").write_bytes(b"just text")
    with pytest.raises(ParameterError, match=r"'page.pdf' is no PDF"):
        sign_files([folder / "model.json", folder / "page.html", folder / "page.pdf"], KEY)


def test_a_model_needs_its_page_and_one_folder(folder: Path) -> None:
    with pytest.raises(ParameterError, match="one model to its page"):
        sign_files([folder / "model.json"], KEY)
    (folder / "below").mkdir()
    (folder / "page.html").rename(folder / "below" / "page.html")
    with pytest.raises(ParameterError, match="several folders"):
        sign_files([folder / "model.json", folder / "below" / "page.html"], KEY)
    (folder / "note.txt").write_text("{}")
    with pytest.raises(ParameterError, match="neither a model"):
        sign_files([folder / "note.txt"], KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"files": [{"role": "model", "name": "../model.json", "sha256": "0" * 64}]},
        {"files": [{"role": "model", "name": "a\nb", "sha256": "0" * 64}]},
        {"files": [{"role": "model", "name": "model.json", "sha256": "0" * 63}]},
        {"files": [{"role": "table", "name": "model.json", "sha256": "0" * 64}]},
        {"signature": "0"},
        {"key": None},
        {"format": "privclust signature 2"},
        {"format": "privclust model 5"},
    ],
)
def test_a_file_that_is_no_signature_is_refused(folder: Path, change: dict[str, Any]) -> None:
    file = folder / "signature.json"
    content = json.loads(file.read_text()) | change
    file.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    with pytest.raises(ModelFileError):
        read_signature(file)


def test_an_approval_of_another_model_is_found_though_it_was_signed(folder: Path) -> None:
    """`sign_files` signs no such set; other programs that hold the key might."""
    approval = Approval("visits", "staffing", "A. Ito", "B. Sow", date="2026-11-17", model="0" * 64)
    (folder / "approval.json").write_text(approval.to_json())
    content = (folder / "approval.json").read_bytes()
    signed = read_signature(folder / "signature.json").files
    files = (*signed, SignedFile("approval", "approval.json", sha256(content).hexdigest()))
    key = key_fingerprint(KEY.public_key())
    made = Signature(files, key, KEY.sign(_signed_bytes(files, key)).hex())
    (folder / "signature.json").write_text(made.to_json())
    assert "is about another model" in problems(folder)[0]
