"""Whether a model file says of its runs what the ledger recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privclust.domains.origin import FACTS_OF_TABLES
from privclust.errors import ModelFileError, NotRecomputableError
from privclust.models.private_run import PrivateRun
from privclust.models.statement import Statement
from privclust.privacy.accounting import Spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import Dataset, Run, StoredResult


def read_statement(model: Path) -> dict[str, Any]:
    """Return a model file's content, or a statement's as if it were in one."""
    try:
        content: dict[str, Any] = json.loads(model.read_text(encoding="utf-8"))
        content = content if "statement" in content else {"statement": content}
        if isinstance(head_of(content), str | None):
            return content
    except OSError as error:
        raise ModelFileError(f"{model.name} cannot be read: {error.strerror}.") from None
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise ModelFileError(
        f"{model.name} is neither a model file, nor a profile, nor a statement. Write one with "
        "'privclust fit --ledger ... --out' or privclust.save."
    )


def head_of(content: dict[str, Any]) -> Any:
    """Return the last entry of the ledger when the fit ended; None if no ledger recorded it."""
    record = content["statement"]["run"]["record"]
    return None if record is None else record["head"]


def unrecorded(model: Path, content: dict[str, Any]) -> str:
    """Say that this is no ledger which has paid for a fit."""
    cohort = content["statement"]["run"].get("cohort")
    if cohort is not None:
        return (
            f"{model.name} says that nodes made its fit. This ledger does not have it as a run of "
            "its own: check it with 'privclust ledger verify' and the ledger of a node."
        )
    return (
        f"{model.name} says that no ledger recorded its fit: it was paid from no budget, and no "
        "ledger can vouch for it. Fit with --ledger and --dataset to have fits recorded."
    )


def contradictions(ledger: Ledger, content: dict[str, Any]) -> list[str]:
    """Return what a model says of itself that the ledger does not."""
    try:
        statement = Statement.from_dict(content["statement"], ())
    except (LookupError, TypeError, ValueError):
        return ["the model was changed after its fit: its statement does not add up"]
    try:
        run = ledger.run(statement.run.name)
        found = _differences(ledger, statement)
        results = content.get("releases")  # a statement alone has none
        given = {
            result["slot"]: (
                Spend(**result["charge"]),
                StoredResult(result["result"], result["scale"], result["noise"]),
            )
            for result in results or ()
        }
        if results is not None and given != _results(ledger, run):
            found.append("its results")
    except (LedgerError, LookupError, TypeError, ValueError):
        found = ["its run"]
    return [
        f"the model was changed after its fit: what is recorded differs from {what}"
        for what in found
    ]


def _differences(ledger: Ledger, statement: Statement) -> list[str]:
    """Return what a statement says of its runs, and of what they follow from, that is not so."""
    found = []
    facts = ledger.run(statement.run.name).facts
    if facts.get("privclust") != statement.version:
        found.append("the version of privclust that made it")
    if facts.get("bounds_origin") != statement.bounds_origin:
        found.append("the origin of its bounds")
    named = {} if statement.source is None else statement.source.facts
    if {name: facts[name] for name in FACTS_OF_TABLES & facts.keys()} != named:
        found.append("the table that it says was read")
    if "init" in facts and "follows_from" not in facts and not statement.public_points:
        found.append("what it follows from")
    runs = [statement.run, *(one.run for one in statement.dependencies)]
    recorded = [_recorded(ledger, one, needed=one is statement.run) for one in runs]
    misplaced = _misplaced(runs, recorded)
    for one, run in zip(runs, recorded, strict=True):
        if run is None:  # of another ledger, or of none
            continue
        wrong = _run_differences(one, run, ledger.dataset(run.label))
        if one.name in misplaced:
            wrong.append("what it follows from")
        found += wrong if one is statement.run else [f"{what} (run {one.name})" for what in wrong]
    return found


def _misplaced(runs: list[PrivateRun], recorded: list[Run | None]) -> set[str]:
    """Return the runs of which something else is listed than what they follow from.

    Each is listed before what it follows from. What stands after a run of another ledger may be
    what that one follows from, up to the next that is expected here.
    """
    found: set[str] = set()
    expected: list[tuple[str, str]] = []
    is_foreign = False
    for place, (one, run) in enumerate(zip(runs, recorded, strict=True)):
        if place and expected and expected[0][0] == one.name:
            expected.pop(0)
            is_foreign = False
        elif place and not is_foreign:
            found.add(expected[0][1] if expected else runs[place - 1].name)
        if run is None:
            is_foreign = True
        else:
            expected[:0] = [(name, one.name) for name in _starts(run)]
    return found | {owner for _, owner in expected}


def _recorded(ledger: Ledger, run: PrivateRun, needed: bool) -> Run | None:
    """Return a run as its ledger has it; None if this one does not."""
    try:
        return ledger.run(run.name)
    except LedgerError:
        if needed:
            raise
        return None


def _starts(run: Run) -> list[str]:
    """Return the names of the runs that a recorded one follows from."""
    names = run.facts.get("follows_from")
    return [] if names is None else names.split(", ")


def _run_differences(described: PrivateRun, run: Run, account: Dataset) -> list[str]:
    """Return what a statement says of one run that its ledger does not."""
    record, budgets = described.record, (account.budget, *account.earlier)
    total = None if record is None else (record.dataset, record.epsilon, record.delta)
    known = {(run.label, budget.epsilon, budget.delta) for budget in budgets}
    found = [] if total in known else ["its budget"]
    facts = (float(run.facts["epsilon"]), float(run.facts["delta"]))
    if (described.epsilon, described.delta) != facts or described.reserved != run.reserved:
        found.append("its guarantee")
    if (described.unit.ledger_name, str(described.unit.rows)) != (
        account.unit,
        run.facts.get("max_rows_per_unit"),
    ):
        found.append("whom it protects")
    if str(described.n_rows) != run.facts.get("n_rows", "None"):
        found.append("its number of rows")
    return found


def _results(ledger: Ledger, run: Run) -> dict[str, tuple[Spend, StoredResult | None]]:
    """Return what each slot of a run cost, and its result."""
    stored = {
        entry["slot"]: StoredResult(entry["values"], entry["scale"], entry["noise"])
        for entry in ledger.export()
        if (entry["kind"], entry["run"]) == ("result", run.name)
    }
    return {slot: (charge, stored.get(slot)) for slot, charge in run.charges.items()}


def not_from_results(model: Path, place: str) -> list[str]:
    """Return what numbers of a model file are not what follows from its results in a ledger.

    Raises NotRecomputableError if the file's numbers follow from more than these.
    """
    from privclust.estimators._load import load
    from privclust.estimators._recompute import differences_from_results
    from privclust.models.model_file import read_model, to_json

    given = read_model(model)
    try:
        fitted = load(model)
    except ModelFileError:
        cause = f"{given.estimator!r} is none of privclust's estimators"
        raise NotRecomputableError(cause) from None
    try:
        found = differences_from_results(fitted, place)
    except LedgerError as error:
        return [str(error)]
    # Numbers may be written with more digits than they have, and digits may mean something.
    if not found and model.read_text(encoding="utf-8") != to_json(given):
        found = ["how its numbers are written"]
    return [
        f"the model was changed after its fit: {key} is not what follows from its results"
        for key in found
    ]
