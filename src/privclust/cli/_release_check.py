"""Whether a model and its profiles are what a ledger recorded: for approvals and signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from privclust.cli._ledger_check import (
    contradictions,
    head_of,
    not_from_results,
    read_statement,
    unrecorded,
)
from privclust.cli._ledger_place import ledger_name
from privclust.cli.messages import say_aside
from privclust.errors import ModelFileError, NotRecomputableError, safe_repr
from privclust.models.approval.ledger_total import LedgerTotal
from privclust.models.cluster_model import ClusterModel
from privclust.models.model_file import read_model
from privclust.models.profile import Profile
from privclust.models.profile_file import load_profile, profile_to_json
from privclust.models.statement import Statement
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

_DISAGREE = (
    "{} and the ledger do not agree: {}. Approve nothing before somebody has explained that."
)


@dataclass(frozen=True)
class Recorded:
    """What a ledger says of a release, as an approval keeps it.

    Attributes
    ----------
    ledger : LedgerTotal
        What all runs on the data set come to.
    ledger_place, ledger_source : str
        Which ledger it is, and where the table comes from in its owner's words.
    other_datasets : tuple of LedgerTotal
        What other data sets of that ledger come to.
    recomputed : bool
        Whether the model's numbers were worked out anew from the results in it.
    """

    ledger: LedgerTotal
    ledger_place: str
    ledger_source: str
    other_datasets: tuple[LedgerTotal, ...]
    recomputed: bool


def recorded_of(place: str, model: Path, profiles: Sequence[Path]) -> Recorded:
    """Return what the ledger at `place` says of these files; refuse files it contradicts."""
    released, loaded = read_model(model), [load_profile(file) for file in profiles]
    statements = [released.privacy_statement, *(one.privacy_statement for one in loaded)]
    opened = Ledger.open(place)
    dataset = _dataset(opened, [model, *profiles], statements)
    totals = {total.dataset: total for total in opened.totals()}
    total = totals.pop(dataset)
    recomputed = _check_numbers(place, model)
    for one in loaded:
        _check_declared(one, released, opened)
    source = opened.dataset(dataset).source
    named = source and safe_repr(source)
    return Recorded(total, ledger_name(place), named, tuple(totals.values()), recomputed)


def check_profiles(files: Sequence[Path]) -> None:
    """Refuse a profile's file that says something else than what follows from its results."""
    for file in files:
        if file.read_text(encoding="utf-8") != profile_to_json(load_profile(file)):
            raise ModelFileError(
                f"{file.name} was changed after 'privclust profile' wrote it: its numbers are not "
                "what follows from its results. Take it from where it was first written."
            )


def _dataset(opened: Ledger, files: list[Path], statements: list[Statement]) -> str:
    """Return the data set's name, if the ledger is intact and recorded what these files say."""
    contents = [read_statement(file) for file in files]
    for file, content in zip(files, contents, strict=True):
        if head_of(content) is None:
            raise LedgerError(unrecorded(file, content))
        found = opened.verify(head_of(content)) or contradictions(opened, content)
        if found:
            raise LedgerError(_DISAGREE.format(file.name, "; ".join(found)))
    dataset = opened.run(statements[0].run.name).label
    runs = [run for statement in statements for run in statement.composed.runs]
    if any(run.record is None or run.record.dataset != dataset for run in runs):
        raise LedgerError(
            f"what is released follows from runs that the ledger did not record for data set "
            f"{dataset!r}, so that its total would be too small. 'privclust statement' names them. "
            "Leave --ledger out, or release what follows from recorded runs alone."
        )
    return dataset


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


def _check_declared(profile: Profile, model: ClusterModel, ledger: Ledger) -> None:
    from privclust.estimators._recompute import declares_as_recorded

    if not declares_as_recorded(profile, model, ledger):
        cause = "its columns or the model's are not what was recorded"
        raise LedgerError(_DISAGREE.format("a profile", cause))
