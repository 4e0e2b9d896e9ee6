"""Does a ledger hold what it should? Recomputed from its entries, trusting nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from privclust.privacy.accounting import Spend
from privclust.privacy.ledger._entries import body_of
from privclust.privacy.ledger.journal import NOTHING, EntryError, Journal, Line, Pages, hash_of
from privclust.privacy.ledger.records import Dataset, as_dataset, lowered


def problems(journal: Journal, head: str | None = None) -> list[str]:
    """Return what is wrong with a journal, a sentence for each problem.

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
    books = _Books()
    return [problem for line in lines for problem in books.problems_with(line)]


@dataclass
class _Run:
    """What entries so far say of a run."""

    label: str
    period: str | None
    reserved: Spend
    closed: bool
    claims: dict[str, Spend] = field(default_factory=dict)

    @property
    def spent(self) -> Spend:
        return sum(self.claims.values(), Spend())

    @property
    def committed(self) -> Spend:
        return self.spent if self.closed else self.reserved


class _Books:
    """Accounts and runs, as far as entries were read."""

    def __init__(self) -> None:
        self._accounts: dict[str, Dataset] = {}
        self._runs: dict[str, _Run] = {}
        self._ended: set[str] = set()
        self._checks: dict[str, Callable[[Line], list[str]]] = {
            "dataset": self._dataset,
            "lower": self._lower,
            "reserve": self._reserve,
            "claim": self._claim,
            "result": self._result,
            "close": self._close,
        }

    def problems_with(self, line: Line) -> list[str]:
        """Return what is wrong with an entry, after those before it."""
        entry = line.entry
        found = self._checks[entry.kind](line) if entry.kind in self._checks else []
        run = self._runs.get(entry.run)
        if run is not None and entry.label != run.label:
            found.append(f"entry {line.number} names another data set than its run")
        return found

    def _dataset(self, line: Line) -> list[str]:
        self._accounts[line.entry.label] = account = as_dataset(line)
        return _too_generous(line, account)

    def _lower(self, line: Line) -> list[str]:
        label = line.entry.label
        try:
            self._accounts[label] = account = lowered(self._accounts[label], line)
        except EntryError:
            return [f"entry {line.number} raises the budget of data set {label!r}"]
        return _too_generous(line, account)

    def _reserve(self, line: Line) -> list[str]:
        entry, found = line.entry, []
        period, reserved = entry.body["facts"].get("period"), Spend(**entry.body["spend"])
        self._runs[entry.run] = _Run(entry.label, period, reserved, entry.run in self._ended)
        account = self._accounts[entry.label]
        runs = [run for run in self._runs.values() if run.label == entry.label]
        if not account.admits(sum((run.committed for run in runs), Spend())):
            found.append(f"entry {line.number} overspends data set {entry.label!r}")
        spent = sum((run.committed for run in runs if run.period == period), Spend())
        if account.periods > 1 and not spent.within(account.share):
            found.append(f"entry {line.number} overspends a period of data set {entry.label!r}")
        return found

    def _claim(self, line: Line) -> list[str]:
        entry, found = line.entry, []
        run = self._runs[entry.run]
        if run.closed:
            found.append(f"entry {line.number} spends after its run was closed")
        run.claims[entry.slot] = Spend(**entry.body["spend"])
        if not run.spent.within(run.reserved):
            found.append(f"entry {line.number} spends more than its run reserved")
        return found

    def _result(self, line: Line) -> list[str]:
        if line.entry.slot in self._runs[line.entry.run].claims:
            return []
        return [f"entry {line.number} is the result of a slot that was never charged"]

    def _close(self, line: Line) -> list[str]:
        entry, found = line.entry, []
        self._ended.add(entry.run)
        if entry.run in self._runs:
            self._runs[entry.run].closed = True
        else:
            found.append(f"entry {line.number} ends a run that never began")
        if "spend" in entry.body:
            found.append(f"entry {line.number} claims to know what its run spent")
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
