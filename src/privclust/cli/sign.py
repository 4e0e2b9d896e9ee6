"""``privclust sign``: a model and its page cannot be exchanged."""

from __future__ import annotations

import shlex
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privclust._version import __version__
from privclust.cli._ledger_place import ledger_name
from privclust.cli._options import Force
from privclust.cli._pages import PAPERS, pdf_printer
from privclust.cli._passphrase import PassphraseFile, read_passphrase
from privclust.cli._release_check import check_profiles, recorded_of
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import (
    INDENT,
    needing,
    reporting_errors,
    say,
    say_aside,
    writing,
)
from privclust.errors import ParameterError, safe_repr
from privclust.models.approval.approval_file import Approval, read_approval
from privclust.privacy.ledger.journal import LedgerError

if TYPE_CHECKING:
    from privclust.models.approval.signature import Signature, SignedFile

SigningKey = Annotated[Path, typer.Option(help="Private key that 'privclust keygen' wrote.")]


def sign(
    files: Annotated[
        list[Path],
        typer.Argument(help="A model, its approval and page; PDF and profiles that belong to it."),
    ],
    key: SigningKey,
    passphrase_file: PassphraseFile = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Signature file to write; by default signature.json beside them."
        ),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that the page names, if it names one.")
    ] = None,
    force: Force = False,
) -> None:
    """Sign a model with its approval and page, so that none can be changed or exchanged."""
    with reporting_errors():
        with needing("sign"):
            from privclust.models.approval.keys import read_private_key
            from privclust.models.approval.signature import sign_files
        signature = sign_files(files, read_private_key(key, read_passphrase(passphrase_file)))
        approval = _check_page(files, signature, ledger)
        out = out or files[0].parent / "signature.json"
        with replacing(out, ".json", [*files, key], may_replace=force) as file, writing(out):
            file.write_bytes(signature.to_json().encode())
        if not approval.recomputed and ledger is None:  # else the check has said why
            say_aside("Nobody checked that the model's numbers follow from what was measured.")
        checked = ["privclust", "verify", out, "--public-key", key.with_suffix(".pub")]
        say(
            f"signed {', '.join(file.name for file in signature.files)}: wrote {out.name}. Who has "
            f"your public key checks it with:\n{INDENT}{shlex.join(map(str, checked))}"
        )


def _check_page(files: list[Path], signature: Signature, ledger: str | None) -> Approval:
    """Refuse a page or PDF that says anything else than model, approval and ledger do."""
    named = {
        role: [file for file, one in zip(files, signature.files, strict=True) if one.role == role]
        for role in ("model", "profile", "approval")
    }
    if not named["approval"]:
        raise ParameterError(
            "a page is signed together with its approval, so that it can be compared with it. Name "
            "the file that 'privclust approve' wrote with the page, such as approval.json."
        )
    from privclust.models.model_file import read_model
    from privclust.models.profile_file import load_profile

    with needing("report"):
        from privclust.models.report.approval_page import approval_page
    model, approval = read_model(named["model"][0]), read_approval(named["approval"][0])
    check_profiles(named["profile"])
    if ledger is not None:
        _check_recorded(approval, ledger, named["model"][0], named["profile"])
    elif approval.ledger is not None:
        raise ParameterError(
            f"the page speaks of a ledger, {approval.ledger_place}, so that it is compared with it "
            "before it is signed. Say where it is with --ledger."
        )
    hashes = {one.sha256: file for file, one in zip(files, signature.files, strict=True)}
    profiles = [load_profile(hashes[one]) for one in approval.profiles]
    text = approval_page(model, approval, profiles)
    expected = sha256(text.encode()).hexdigest()
    for one in signature.files:
        if one.role == "page" and one.sha256 != expected:
            raise ParameterError(
                f"the page {one.name!r} is not what privclust {__version__} writes about this "
                f"model and approval, which version {approval.version} wrote. Sign nothing before "
                "'privclust approve' has written the page anew and you have read it."
            )
        if one.role == "printed page":
            _check_printed(one, text)
    return approval


def _check_printed(printed: SignedFile, page: str) -> None:
    """Refuse a PDF that is not byte for byte what is printed of the page here."""
    to_pdf = pdf_printer()
    if printed.sha256 in {sha256(to_pdf(page, paper)).hexdigest() for paper in PAPERS}:
        return
    raise ParameterError(
        f"the PDF {printed.name!r} is not what is printed of the page here: somebody changed it, "
        "or it was made with other fonts or another version of WeasyPrint. Write it anew here with "
        "'privclust approve --pdf', or leave it out and sign the page alone."
    )


def _check_recorded(approval: Approval, place: str, model: Path, profiles: list[Path]) -> None:
    """Refuse an approval that says something else of the ledger than is there now."""
    if approval.ledger is not None and approval.ledger_place != ledger_name(place):
        raise LedgerError(
            f"the page names the ledger {safe_repr(approval.ledger_place)}, and this is "
            f"{ledger_name(place)}. Name the ledger as it is called on the page, or write the page "
            "anew with 'privclust approve --ledger'."
        )
    recorded = recorded_of(place, model, profiles)
    if approval.ledger != recorded.ledger:
        raise LedgerError(
            "the approval's total is not that of this ledger: something was recorded since, or it "
            "is from another ledger. Write the page anew with 'privclust approve --ledger'."
        )
    if any(getattr(approval, name) != value for name, value in vars(recorded).items()):
        raise LedgerError(
            "the page says something else of where the table comes from, of the ledger's other "
            "data sets, or of whether numbers were worked out anew, than is so. Write it anew with "
            "'privclust approve --ledger'."
        )
