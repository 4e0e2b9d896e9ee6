"""``privclust verify``: whether files are as they were signed, by which key, and for what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privclust.cli.messages import needing, print_error, reporting_errors, say
from privclust.models.approval.approval_file import Approval

FINGERPRINT = (
    "A fingerprint is a number that is computed from a public key, its SHA-256: who reads the same "
    "one has the same key."
)
NOT_CHECKED = (
    "Not checked here: the ledger, and whether the model's numbers follow from it. 'privclust "
    "sign' compares them before it signs if the page names a ledger. Who has the ledger compares "
    "them again with 'privclust ledger verify LEDGER --model MODEL'."
)


def verify(
    signature: Annotated[
        Path, typer.Argument(help="Signature file; the signed files lie beside it.")
    ],
    public_key: Annotated[
        Path, typer.Option(help="Public key that you had from the signer, and not with the files.")
    ],
) -> None:
    """Check that a model, its page and its approval are as they were signed, and by which key."""
    with reporting_errors():
        with needing("sign"):
            from privclust.models.approval.keys import read_public_key
            from privclust.models.approval.signature import read_signature
        trusted = read_public_key(public_key)
        found = read_signature(signature)
        problems = found.problems(signature.parent, trusted)
        for problem in problems:
            print_error(problem)
        if problems:
            raise typer.Exit(1)
        approvals = list(found.approvals(signature.parent).values())
        names = ", ".join(f"{file.name} ({file.role})" for file in found.files)
        say(f"The signature is valid. Byte for byte as they were signed with this key: {names}.")
        for approval in approvals:
            say(_describe(approval))
        say(f"Key: fingerprint {found.key}\n{FINGERPRINT} {_whose(approvals, public_key)}")
        say(NOT_CHECKED)


def _describe(approval: Approval) -> str:
    """Return what was approved and by whom, a line each."""
    lines = [
        f"Reference: {approval.reference}" if approval.reference else "",
        f"Data set: {approval.dataset}",
        f"Purpose: {approval.purpose}",
        f"Requested by: {approval.requested_by}",
        f"Names as approver: {approval.approved_by}",
        f"Date: {approval.date}, as it was typed; a signature does not prove when it was made",
    ]
    return "\n".join(
        ["The approval names the SHA-256 of this model, and says:", *filter(None, lines)]
    )


def _whose(approvals: list[Approval], public_key: Path) -> str:
    """Say that no signature proves whose key it is, and what does."""
    if not approvals:
        return "No approval was signed with these files, so that nobody is named as approver."
    people = " and ".join(dict.fromkeys(approval.approved_by for approval in approvals))
    return (
        f"A signature does not prove whose key it is. Ask {people} for the fingerprint, in person "
        f"or by telephone: if it is another one, {public_key.name} belongs to somebody else."
    )
