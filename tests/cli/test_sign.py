"""``privclust keygen``, ``sign`` and ``verify``: no secret in arguments, output or open files."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.command_line import error_message, privclust
from helpers.signing import PASSPHRASE, write_approved, write_keys

from privclust.models.approval.keys import key_fingerprint, read_private_key, read_public_key
from privclust.models.approval.signature import sign_files

KEY = ("--key", "officer.key", "--passphrase-file", "passphrase")


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_keys(tmp_path)
    write_approved(tmp_path)


def mode(file: str) -> int:
    return stat.S_IMODE(Path(file).stat().st_mode)


def test_a_release_is_signed_and_verified_and_a_changed_byte_found() -> None:
    done = privclust("sign", "model.json", "approval.json", "page.html", *KEY)
    assert done.exit_code == 0, done.output
    assert PASSPHRASE not in done.output
    done = privclust("verify", "signature.json", "--public-key", "officer.pub")
    assert done.exit_code == 0, done.output
    assert "model.json (model), approval.json (approval), page.html (page)" in done.output
    for line in ("Data set: visits", "Purpose: staffing", "Requested by: A. Ito"):
        assert line in done.output.splitlines()
    assert "Names as approver: B. Sow" in done.output.splitlines()
    assert "Date: 2026-11-17, as it was typed" in done.output
    key = key_fingerprint(read_public_key(Path("officer.pub")))
    assert f"Key: fingerprint {key}" in done.output.splitlines()
    assert "A fingerprint is a number that is computed from a public key" in done.output
    assert "does not prove whose key it is. Ask B. Sow for the fingerprint" in done.output
    assert "Not checked here: the ledger" in done.output
    with Path("page.html").open("a", encoding="utf-8") as page:
        page.write(" ")
    done = privclust("verify", "signature.json", "--public-key", "officer.pub")
    error_message(done, 1, "the page 'page.html' was changed after it was signed.")


def test_files_without_an_approval_name_no_approver() -> None:
    key = read_private_key(Path("officer.key"), PASSPHRASE.encode())
    signature = sign_files([Path("model.json"), Path("page.html")], key)
    Path("signature.json").write_text(signature.to_json(), encoding="utf-8")
    done = privclust("verify", "signature.json", "--public-key", "officer.pub")
    assert done.exit_code == 0, done.output
    assert "No approval was signed with these files" in done.output
    assert "Purpose" not in done.output


def test_a_new_key_is_for_its_owner_alone_and_never_overwritten() -> None:
    old = os.umask(0)
    try:
        done = privclust("keygen", "new.key", "--passphrase-file", "passphrase")
    finally:
        os.umask(old)
    assert done.exit_code == 0, done.output
    assert "fingerprint" in done.output
    assert PASSPHRASE not in done.output
    assert mode("new.key") == 0o600
    assert b"ENCRYPTED" in Path("new.key").read_bytes()
    before = Path("new.key").read_bytes()
    done = privclust("keygen", "new.key", "--passphrase-file", "passphrase")
    error_message(done, 10, "new.key could not be written", "not overwritten")
    assert Path("new.key").read_bytes() == before
    error_message(privclust("keygen", "new.pem"), 3, "does not end in .key")


def test_without_a_terminal_a_passphrase_wants_a_file() -> None:
    done = privclust("sign", "model.json", "approval.json", "page.html", "--key", "officer.key")
    error_message(done, 3, "--passphrase-file")


def test_a_passphrase_that_others_may_read_is_refused() -> None:
    Path("passphrase").chmod(0o644)
    done = privclust("sign", "model.json", "approval.json", "page.html", *KEY)
    error_message(done, 3, "chmod 600 passphrase")
    assert not Path("signature.json").exists()


def test_another_passphrase_does_not_sign() -> None:
    Path("passphrase").write_text("something else entirely\n", encoding="utf-8")
    done = privclust("sign", "model.json", "approval.json", "page.html", *KEY)
    message = error_message(done, 3, "the passphrase is another one")
    assert "something else" not in message


def test_a_key_is_not_written_over() -> None:
    done = privclust("sign", "model.json", "approval.json", "page.html", *KEY, "-o", "officer.key")
    error_message(done, 3, "does not end in .json")


def test_a_passphrase_comes_by_a_descriptor_or_a_terminal_and_is_not_echoed() -> None:
    """In processes of their own, whose arguments and output hold no passphrase."""
    run = [sys.executable, "-m", "privclust"]
    read, write = os.pipe()
    os.write(write, PASSPHRASE.encode() + b"\n")
    os.close(write)
    sign = ["sign", "model.json", "approval.json", "page.html", "--key", "officer.key"]
    done = subprocess.run(
        [*run, *sign, "--passphrase-file", f"/dev/fd/{read}"],
        pass_fds=[read],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    os.close(read)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [*run, *sign, "-o", "typed.json"])
    shown = b""
    while b"Passphrase:" not in shown:
        shown += os.read(terminal, 1024)
    os.write(terminal, PASSPHRASE.encode() + b"\n")
    try:
        while part := os.read(terminal, 1024):
            shown += part
    except OSError:  # how Linux says that the other end is closed
        pass
    assert os.waitpid(child, 0)[1] == 0, shown
    os.close(terminal)
    assert PASSPHRASE.encode() not in shown
    assert Path("typed.json").read_text(encoding="utf-8") == Path("signature.json").read_text(
        encoding="utf-8"
    )
