"""Does a ledger hold what it should? Recomputed from its entries, trusting nothing."""

from __future__ import annotations

import zlib
from dataclasses import replace
from hashlib import sha256

from privclust.privacy.accounting import Spend
from privclust.privacy.ledger._entries import body_of
from privclust.privacy.ledger.journal import NOTHING, EntryError, Journal, Line, Pages, hash_of
from privclust.privacy.ledger.records import Dataset, as_dataset, lowered


def problems(journal: Journal, head: str | None = None) -> list[str]:
    """Return what is wrong with a journal; nothing, one hopes.

    Parameters
    ----------
    journal : Journal
        Where the entries are.
    head : str, optional
        Hash that a model's statement names: the journal must contain it.
    """
    found = journal.ailments()
    try:
        with journal.reading() as pages:
            lines = pages.lines()
            broken = _broken_chain(lines)
            odd = [] if broken else _unreadable(lines)
            read = [line for line in lines if line.number not in odd]
            found += [
                f"entry {number} does not say what its kind should, so it was not written by us"
                for number in odd
            ]
            found += broken or _changed_queries(pages, read)
    except EntryError as error:  # a body that is not an object: the others cannot be judged
        return [*found, str(error)]
    try:
        found += [] if broken else _ill_formed(read) or _overspent(read)
    except (ArithmeticError, LookupError, TypeError, ValueError, EntryError):
        found.append(
            "entries do not fit together: one that others go on from is missing or cannot be read"
        )
    if head is not None and head not in {line.hash for line in lines}:
        found.append(
            "the model's fit is not in this ledger: the ledger is another one, or an older copy of "
            "it was put back, and what was spent since then is missing from it"
        )
    return found


def _unreadable(lines: list[Line]) -> list[int]:
    """Return the numbers of entries that do not say what their kind should."""
    found = []
    for line in lines:
        try:
            body_of(line.entry)
            if line.entry.kind == "dataset":
                as_dataset(line)
        except (ArithmeticError, LookupError, TypeError, ValueError, EntryError):
            found.append(line.number)
    return found


def _broken_chain(lines: list[Line]) -> list[str]:
    previous = NOTHING
    for number, line in enumerate(lines, start=1):
        try:
            expected = hash_of(number, previous, line.entry, line.text)
        except TypeError:  # a name that is not text
            expected = ""
        if (line.number, line.hash) != (number, expected):
            return [f"entry {number} was changed, or an entry before it was taken out"]
        previous = line.hash
    return [] if lines and lines[0].entry.kind == "ledger" else ["the ledger has no beginning"]


def _changed_queries(pages: Pages, lines: list[Line]) -> list[str]:
    found = []
    for line in lines:
        if line.entry.kind == "claim":
            try:
                fingerprint = pages.fingerprint(line.number)
            except (zlib.error, TypeError):
                fingerprint = b""
            if (
                fingerprint is not None
                and sha256(fingerprint).hexdigest() != line.entry.body["fingerprint"]
            ):
                found.append(f"the query of entry {line.number} was changed")
    return found


def _ill_formed(lines: list[Line]) -> list[str]:
    """Each data set has one budget, each run one reservation and one end, each slot one result."""
    found = []
    seen: set[tuple[str, ...]] = set()
    for line in lines:
        entry = line.entry
        whole = entry.kind in ("ledger", "dataset", "reserve", "close")
        of_label = entry.kind in ("dataset", "lower")
        name = (entry.kind, entry.label if of_label else entry.run, entry.slot)
        if name in seen or (whole and entry.slot):
            found.append(f"entry {line.number} repeats an entry before it")
        seen.add(name)
    return found


def _overspent(lines: list[Line]) -> list[str]:
    """Go through the entries once, as they were written, and check every rule at every step."""
    accounts: dict[str, Dataset] = {}
    periods: dict[str, str | None] = {}
    reserved: dict[str, Spend] = {}
    claims: dict[str, dict[str, Spend]] = {}
    labels: dict[str, str] = {}
    closed: set[str] = set()
    found = []
    for line in lines:
        entry = line.entry
        if entry.kind == "dataset":
            accounts[entry.label] = as_dataset(line)
            found += _too_generous(line, accounts[entry.label])
        elif entry.kind == "lower":
            try:
                accounts[entry.label] = lowered(accounts[entry.label], line)
                found += _too_generous(line, accounts[entry.label])
            except EntryError:
                found.append(f"entry {line.number} raises the budget of data set {entry.label!r}")
        elif entry.kind == "reserve":
            labels[entry.run], claims[entry.run] = entry.label, {}
            reserved[entry.run] = Spend(**entry.body["spend"])
            periods[entry.run] = entry.body["facts"].get("period")
            committed = {
                run: sum(claims[run].values(), Spend()) if run in closed else reserved[run]
                for run, label in labels.items()
                if label == entry.label
            }
            account = accounts[entry.label]
            if not account.admits(sum(committed.values(), Spend())):
                found.append(f"entry {line.number} overspends data set {entry.label!r}")
            same = (run for run in committed if periods[run] == periods[entry.run])
            spent = sum((committed[run] for run in same), Spend())
            if account.periods > 1 and not spent.within(account.share):
                found.append(f"entry {line.number} overspends a period of data set {entry.label!r}")
        elif entry.kind == "claim":
            if entry.run in closed:
                found.append(f"entry {line.number} spends after its run was closed")
            claims[entry.run][entry.slot] = Spend(**entry.body["spend"])
            if not sum(claims[entry.run].values(), Spend()).within(reserved[entry.run]):
                found.append(f"entry {line.number} spends more than its run reserved")
        elif entry.kind == "result" and entry.slot not in claims[entry.run]:
            found.append(f"entry {line.number} is the result of a slot that was never charged")
        elif entry.kind == "close":
            closed.add(entry.run)
            if entry.run not in reserved:
                found.append(f"entry {line.number} ends a run that never began")
            if "spend" in entry.body:
                found.append(f"entry {line.number} claims to know what its run spent")
        if entry.label != labels.get(entry.run, entry.label):
            found.append(f"entry {line.number} names another data set than its run")
    return found


def _too_generous(line: Line, account: Dataset) -> list[str]:
    """Check the numbers by which a server admits fits against what the budget is worth."""
    worth = {"capacity": account.capacity, "pure": account.pure}
    for name, limit in worth.items():
        # Other versions of SciPy differ in the last digits.
        allowance = replace(limit, quanta=limit.quanta + (limit.quanta >> 30))
        if not Spend(**line.entry.body[name]).within(allowance):
            return [f"entry {line.number} lets a server grant more than its epsilon and delta"]
    return []
