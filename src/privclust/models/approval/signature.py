"""A signature that binds a model, its page and its approval to each other.

It is a file of its own. It names the SHA-256 of each signed file, so that none can be changed or
exchanged for that of another release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from privclust._files import read_regular
from privclust.errors import ModelFileError, ParameterError
from privclust.models._json_file import BYTES_MAX, format_name, read_json
from privclust.models.approval.approval_file import Approval, read_approval
from privclust.models.approval.keys import key_fingerprint
from privclust.models.private_run import check_printable

Role = Literal["model", "profile", "page", "printed page", "approval"]
_ENDINGS: dict[str, Role] = {".html": "page", ".pdf": "printed page"}
_HASH = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")


@dataclass(frozen=True)
class SignedFile:
    """A file that was signed: what it is, its name without a folder, and its hash."""

    role: Role
    name: str
    sha256: str

    def __post_init__(self) -> None:
        check_printable(self.name)
        if Path(self.name).name != self.name or not _HASH.fullmatch(self.sha256):
            raise ValueError("a signed file has a name without a folder, and a SHA-256")


@dataclass(frozen=True)
class Signature:
    """Who signed which files.

    Attributes
    ----------
    files : tuple of SignedFile
        One model, its page, and what else belongs to the release.
    key : str
        Fingerprint of the public key.
    signature : str
        Of all the above, in hexadecimal digits.
    """

    files: tuple[SignedFile, ...]
    key: str
    signature: str

    def __post_init__(self) -> None:
        if not _HASH.fullmatch(self.key) or not _SIGNATURE.fullmatch(self.signature):
            raise ValueError("its key or its signature has the wrong length")

    def to_json(self) -> str:
        """Return the text of a signature file; there is one text for one signature."""
        content = {**_signed_content(self.files, self.key), "signature": self.signature}
        return json.dumps(content, indent=1, sort_keys=True) + "\n"

    def problems(self, folder: Path, key: Ed25519PublicKey) -> list[str]:
        """Return what is wrong: nothing, if these files were signed by this key as they are."""
        if self.key != key_fingerprint(key):
            return [
                f"the signature was made with another key (fingerprint {self.key}) than the given "
                f"one (fingerprint {key_fingerprint(key)}). Ask the signer which is theirs."
            ]
        try:
            key.verify(bytes.fromhex(self.signature), _signed_bytes(self.files, self.key))
        except InvalidSignature:
            return ["the signature file was changed after it was signed, so it proves nothing."]
        found = [problem for file in self.files for problem in _file_problems(file, folder)]
        return found or [
            f"the approval {name!r} is about another model or other profiles than those that were "
            "signed with it, so it approves none of them."
            for name, approval in self.approvals(folder).items()
            if not _is_about(approval, self.files)
        ]

    def approvals(self, folder: Path) -> dict[str, Approval]:
        """Return the approvals among the signed files, by their names."""
        names = [file.name for file in self.files if file.role == "approval"]
        return {name: read_approval(folder / name) for name in names}


def sign_files(files: Sequence[Path], key: Ed25519PrivateKey) -> Signature:
    """Sign a model, its page and what belongs to them, if they belong together.

    Parameters
    ----------
    files : sequence of Path
        One model file and its page (HTML, or printed as PDF); besides, if there are any, the
        approval and profiles. They must lie in one folder, beside which nothing is looked for.
    key : Ed25519PrivateKey
        Of who signs.
    """
    contents = {file: _content_of(file) for file in files}
    signed = tuple(
        SignedFile(_role_of(file, content), file.name, sha256(content).hexdigest())
        for file, content in contents.items()
    )
    _check_set(files, signed)
    _check_together(signed, list(contents.values()))
    for file, one in zip(files, signed, strict=True):
        if one.role == "approval" and not _is_about(read_approval(file), signed):
            raise ParameterError(
                "the approval is about another model or other profiles than those to be signed. "
                "Name the files that 'privclust approve' read."
            )
    fingerprint = key_fingerprint(key.public_key())
    return Signature(signed, fingerprint, key.sign(_signed_bytes(signed, fingerprint)).hex())


def read_signature(file: Path) -> Signature:
    """Return the signature that a file holds; a file written in another way is refused."""
    signature = read_json(file, "signature", _signature_from)
    if read_regular(file, BYTES_MAX) != signature.to_json().encode():
        raise ModelFileError(
            f"the signature file {file.name!r} was changed after it was written: its bytes are not "
            "those that its content has. Take it from where it was first written."
        )
    return signature


def _signature_from(content: Mapping[str, Any]) -> Signature:
    files = tuple(SignedFile(**one) for one in content["files"])
    return Signature(files, content["key"], content["signature"])


def _signed_content(files: Sequence[SignedFile], key: str) -> dict[str, Any]:
    listed = [asdict(file) for file in files]
    return {"format": format_name("signature"), "files": listed, "key": key}


def _signed_bytes(files: Sequence[SignedFile], key: str) -> bytes:
    content = _signed_content(files, key)
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _content_of(file: Path) -> bytes:
    try:
        return read_regular(file, BYTES_MAX)
    except ValueError as error:
        raise ParameterError(f"{file.name!r} cannot be signed: {error}. Name a file.") from None


def _role_of(file: Path, content: bytes) -> Role:
    """Tell what a file is, by its ending or by what a JSON file calls itself."""
    if file.suffix in _ENDINGS:
        if file.suffix == ".pdf" and not content.startswith(b"%PDF-"):
            raise ParameterError(f"{file.name!r} is no PDF. Name what 'privclust approve' wrote.")
        return _ENDINGS[file.suffix]
    try:
        format_of = json.loads(content)["format"]
    except (ValueError, LookupError, TypeError, RecursionError):
        format_of = None
    kinds: tuple[Literal["model", "profile", "approval"], ...] = ("model", "profile", "approval")
    for kind in kinds:
        if format_of == format_name(kind):
            return kind
    raise ParameterError(
        f"{file.name!r} is neither a model, a profile, an approval nor a page. Sign what "
        "'privclust fit', 'profile', 'approve' or 'report' wrote."
    )


def _check_set(files: Sequence[Path], signed: Sequence[SignedFile]) -> None:
    roles = [file.role for file in signed]
    if roles.count("model") != 1 or "page" not in roles:
        raise ParameterError(
            "a signature binds one model to its page. Name one model file and its page, such as "
            "model.json approval.html."
        )
    if len({file.resolve().parent for file in files}) > 1:
        raise ParameterError(
            "the files lie in several folders, and who checks the signature looks for them "
            "beside each other. Put them into one folder."
        )


def _check_together(signed: Sequence[SignedFile], contents: Sequence[bytes]) -> None:
    """Refuse a page or an approval that does not name the hash of the model and each profile."""
    named = [file for file in signed if file.role in ("model", "profile")]
    for file, content in zip(signed, contents, strict=True):
        if file.role not in ("page", "approval"):
            continue  # a PDF is compressed; who signs has printed the page anew
        for other in named:
            if other.sha256.encode() not in content:
                raise ParameterError(
                    f"the {file.role} {file.name!r} is not about the {other.role} {other.name!r}: "
                    "it does not name its SHA-256. Write both anew from the same files."
                )


def _is_about(approval: Approval, signed: Sequence[SignedFile]) -> bool:
    """Tell whether an approval names the model and profiles among these files, and no others."""
    hashes = {
        role: sorted(file.sha256 for file in signed if file.role == role)
        for role in ("model", "profile")
    }
    return [approval.model] == hashes["model"] and sorted(approval.profiles) == hashes["profile"]


def _file_problems(file: SignedFile, folder: Path) -> list[str]:
    try:
        content = read_regular(folder / file.name, BYTES_MAX)
    except (OSError, ValueError):
        return [
            f"the {file.role} {file.name!r} is missing or cannot be read. Put it beside the "
            "signature under this name."
        ]
    if sha256(content).hexdigest() == file.sha256:
        return []
    return [f"the {file.role} {file.name!r} was changed after it was signed."]
