"""``privclust approve``: the approval file of a release and its page, for a signature."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._options import Force, Model
from privclust.cli._pages import MinSize, PaperSize, Pdf, Profiles, file_hash, write_pages
from privclust.cli._release_check import check_profiles, recorded_of
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import INDENT, needing, reporting_errors, say, say_aside, writing
from privclust.errors import ParameterError, safe_repr
from privclust.models.approval.approval_file import TEXT_MAX, Approval
from privclust.models.statement import Statement


def approve(
    model: Model,
    purpose: Annotated[str, typer.Option(help="What the release is for.")],
    requested_by: Annotated[str, typer.Option(help="Who asked for it: name and role.")],
    approved_by: Annotated[str, typer.Option(help="Who approves it: name and role.")],
    ledger: Annotated[
        str | None, typer.Option(help="Ledger that recorded the fit; its total is on the page.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="What the table is called; by default as in the ledger.")
    ] = None,
    reference: Annotated[
        str, typer.Option(help="Number of the approval in your register; on the page if typed.")
    ] = "",
    profile: Profiles = None,
    day: Annotated[
        str | None, typer.Option("--date", help="Such as 2026-11-17; by default today.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Approval file to write.")] = Path(
        "approval.json"
    ),
    pdf: Pdf = None,
    paper: PaperSize = "A4",
    min_size: MinSize = None,
    force: Force = False,
) -> None:
    """Write what is signed for a release: an approval file and its page, also as PDF.

    Purpose and people are in these files alone, never in the model or the ledger.
    """
    from privclust.models.model_file import read_model
    from privclust.models.profile_file import load_profile

    with reporting_errors():
        with needing("report"):
            from privclust.models.report.approval_page import approval_page
        profiles = profile or []
        released, loaded = read_model(model), [load_profile(file) for file in profiles]
        check_profiles(profiles)
        recorded = None if ledger is None else recorded_of(ledger, model, profiles)
        approval = Approval(
            dataset=_on_a_page(_dataset(released.privacy_statement, dataset)),
            purpose=purpose,
            requested_by=requested_by,
            approved_by=approved_by,
            date=day or date.today().isoformat(),
            model=file_hash(model),
            profiles=tuple(map(file_hash, profiles)),
            **({} if recorded is None else vars(recorded)),
            min_size=min_size,
            reference=reference,
        )
        page = out.with_suffix(".html")
        _check_names([model, *profiles, out, page, *([] if pdf is None else [pdf])])
        reads = [model, *profiles, *([] if ledger is None else [Path(ledger)])]
        text = approval_page(released, approval, loaded)
        with replacing(out, ".json", reads, may_replace=force) as file, writing(out):
            written = write_pages(text, page, pdf, paper, reads, force)
            file.write_bytes(approval.to_json().encode())
        if recorded is None:
            say_aside("No ledger was given, so nobody counted what else was released.")
        elif recorded.ledger.weak:
            say_aside(recorded.ledger.sentences[0])
        names = ", ".join(file.name for file in written)
        say(
            f"wrote {out.name}, {names}. Nothing is signed yet: read {page.name}, then\n"
            + _how_to_sign([model, *profiles, out, *written], out.parent, ledger)
        )


def _how_to_sign(files: list[Path], folder: Path, ledger: str | None) -> str:
    """Return the commands that sign these files, which lie beside each other for that."""
    apart = [file for file in files if file.resolve().parent != folder.resolve()]
    beside = [folder / file.name if file in apart else file for file in files]
    compared = [] if ledger is None else ["--ledger", ledger]
    sign = ["privclust", "sign", *map(str, beside), "--key", "YOURS.key", *compared]
    copy = [["cp", "-i", *map(str, apart), str(folder)]] if apart else []
    return "\n".join(f"{INDENT}{shlex.join(words)}" for words in [*copy, sign])


def _check_names(files: list[Path]) -> None:
    """Refuse two files of one name, before anything is written."""
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise ParameterError(
            f"two of {', '.join(names)} have the same name, and files that are signed lie in one "
            "folder. Name another file with --out or --pdf."
        )


def _on_a_page(name: str) -> str:
    """Return a data set's name; as much as a page can show, if a ledger has a strange one."""
    return name if name.isprintable() and len(name) <= TEXT_MAX else safe_repr(name)


def _dataset(statement: Statement, typed: str | None) -> str:
    """Return what the table is called: as its ledger has it, or what was typed if none has."""
    recorded = None if statement.record is None else statement.record.dataset
    if recorded is not None and typed not in (None, recorded):
        raise ParameterError(
            f"the fit is recorded for data set {recorded!r}, and not for {typed!r}. Leave "
            "--dataset out."
        )
    name = typed or recorded
    if name is None:
        raise ParameterError(
            "the model file does not say what its table is called. Name it with --dataset."
        )
    return name
