"""``privclust approve``: the papers of a release, for a signature."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._ledger_check import (
    contradictions,
    head_of,
    not_from_results,
    read_statement,
    unrecorded,
)
from privclust.cli._ledger_place import ledger_name
from privclust.cli._options import Force, Model
from privclust.cli._pages import MinSize, PaperSize, Pdf, Profiles, file_hash, write_pages
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import INDENT, needing, reporting_errors, say, say_aside, writing
from privclust.errors import ModelFileError, NotRecomputableError, ParameterError, safe_repr
from privclust.models.approval.approval_file import TEXT_MAX, Approval
from privclust.models.approval.ledger_total import LedgerTotal
from privclust.models.cluster_model import ClusterModel
from privclust.models.profile import Profile
from privclust.models.statement import Statement
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

_DISAGREE = (
    "{} and the ledger do not agree: {}. Approve nothing before somebody has explained that."
)


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
        statements = [released.privacy_statement, *(one.privacy_statement for one in loaded)]
        for file, one in zip(profiles, loaded, strict=True):
            _check_unchanged(file, one)
        total, recomputed = None, False
        if ledger is not None:
            total = _total(ledger, [model, *profiles], statements)
            recomputed = _check_numbers(ledger, model)
            for one in loaded:
                _check_declared(one, released, ledger)
        approval = Approval(
            dataset=_on_a_page(_dataset(released.privacy_statement, dataset)),
            purpose=purpose,
            requested_by=requested_by,
            approved_by=approved_by,
            date=day or date.today().isoformat(),
            model=file_hash(model),
            profiles=tuple(map(file_hash, profiles)),
            ledger=total,
            **_where(ledger, total),
            recomputed=recomputed,
            min_size=min_size,
        )
        page = out.with_suffix(".html")
        _check_names([model, *profiles, out, page, *([] if pdf is None else [pdf])])
        reads = [model, *profiles, *([] if ledger is None else [Path(ledger)])]
        text = approval_page(released, approval, loaded)
        with replacing(out, ".json", reads, may_replace=force) as file, writing(out):
            written = write_pages(text, page, pdf, paper, reads, force)
            file.write_text(approval.to_json(), encoding="utf-8")
        if total is None:
            say_aside("No ledger was given, so nobody counted what else was released.")
        elif total.weak:
            say_aside(total.sentences[0])
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


def _total(place: str, files: list[Path], statements: list[Statement]) -> LedgerTotal:
    """Return the ledger's total, if the ledger is intact and recorded what these files say."""
    opened = Ledger.open(place)
    contents = [read_statement(file) for file in files]
    for file, content in zip(files, contents, strict=True):
        if head_of(content) is None:
            raise LedgerError(unrecorded(file))
        found = opened.verify(head_of(content)) or contradictions(opened, content)
        if found:
            raise LedgerError(_DISAGREE.format(file.name, "; ".join(found)))
    dataset = _dataset(statements[0], None)
    runs = [run for statement in statements for run in statement.composed.runs]
    if any(run.record is None or run.record.dataset != dataset for run in runs):
        raise LedgerError(
            f"what is released follows from runs that the ledger did not record for data set "
            f"{dataset!r}, so that its total would be too small. 'privclust statement' names them. "
            "Leave --ledger out, or release what follows from recorded runs alone."
        )
    return opened.total(dataset)


def _where(place: str | None, total: LedgerTotal | None) -> dict[str, str]:
    """Return which ledger it is and where its table comes from, as an approval keeps them."""
    if place is None or total is None:
        return {}
    source = Ledger.open(place).dataset(total.dataset).source
    return {"ledger_place": ledger_name(place), "ledger_source": source and safe_repr(source)}


def _check_numbers(place: str, model: Path) -> bool:
    """Work the model's numbers out anew; refuse others, and return whether that could be done."""
    try:
        found = not_from_results(model, place)
    except NotRecomputableError as error:
        say_aside(f"{error}. The page says that they were not checked.")
        return False
    if found:
        raise LedgerError(_DISAGREE.format(model.name, "; ".join(found)))
    return True


def _check_declared(profile: Profile, model: ClusterModel, place: str) -> None:
    from privclust.estimators._recompute import declares_as_recorded

    if not declares_as_recorded(profile, model, Ledger.open(place)):
        cause = "its columns or the model's are not what was recorded"
        raise LedgerError(_DISAGREE.format("a profile", cause))


def _check_unchanged(file: Path, profile: Profile) -> None:
    """Refuse a profile's file that says something else than what follows from its results."""
    from privclust.models.profile_file import profile_to_json

    if file.read_text(encoding="utf-8") != profile_to_json(profile):
        raise ModelFileError(
            f"{file.name} was changed after 'privclust profile' wrote it: its numbers are not what "
            "follows from its results. Take it from where it was first written."
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
            "no ledger recorded this fit, so nobody knows what its table is called. Name it with "
            "--dataset."
        )
    return name
