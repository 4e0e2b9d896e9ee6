"""Who has spent what on which data set, and the noisy results they got for it.

The order never varies: reserve, claim the slot (which charges it), read, draw noise, store the
result, and only then does anyone see it. A crash leaves what was reserved and claimed standing.
Everything is an entry of an append-only journal; what is left of a budget is worked out from these.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from privclust.errors import ParameterError, safe_repr
from privclust.models.approval.ledger_total import LedgerTotal
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.integers import integer
from privclust.privacy.ledger._admission import (
    BudgetExceededError,
    Cap,
    SlotConflictError,
    check_run_name,
    excess,
    further_runs,
    largest_epsilon,
    was_reserved,
)
from privclust.privacy.ledger._lowering import lower_budget
from privclust.privacy.ledger._summary import ledger_html, ledger_text
from privclust.privacy.ledger.journal import Entry, Journal, LedgerError, Line, MemoryJournal, Pages
from privclust.privacy.ledger.records import (
    Dataset,
    Run,
    StoredResult,
    as_result,
    as_runs,
    check_texts,
    committed,
    dataset_of,
    lines_of,
    plain,
    run_of,
)
from privclust.privacy.ledger.total import total_of, totals_of
from privclust.privacy.ledger.verify import problems

__all__ = ["FORMAT", "BudgetExceededError", "Ledger"]

FORMAT = 3


class Ledger:
    """Budgets of data sets, and all that was spent of them.

    Use `Ledger.create`, `Ledger.open` or `Ledger.in_memory`. Any number of processes may share one.
    Fits that name its place as their `ledger`, and the `dataset`, are paid from it: they call
    `reserve`, `resume`, `claim` and `record` themselves. Print it for what data sets have left.

    Parameters
    ----------
    journal : Journal
        What entries are written into; the three methods above make one.

    Examples
    --------
    >>> ledger = Ledger.in_memory()
    >>> ledger.add("patients", epsilon=3.0, delta=1e-6)
    >>> ledger
    patients: epsilon 3 left for one more run, of 3 in all at delta 1e-06; runs: 0
    >>> ledger.epsilon_left("patients")
    3.0
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._latest: tuple[Line, Run] | None = None

    @classmethod
    def in_memory(cls) -> Ledger:
        """Return a ledger that lasts as long as the process, for fits without a durable one."""
        return cls(MemoryJournal())._begun()

    @classmethod
    def create(
        cls,
        place: str,
        label: str,
        *,
        epsilon: float,
        delta: float,
        unit: str = "row",
        source: str = "",
        periods: int = 1,
    ) -> Ledger:
        """Give a data set its budget, in a new ledger or one that exists: the owner's step.

        Parameters
        ----------
        place : str
            Path of a file, or a URL such as ``postgresql://user@host/database``.
        label : str
            What fits call the data set.
        epsilon, delta : float
            The guarantee that all fits together keep.
        unit : str, default="row"
            Whose data counts as one: a row, the column of ids that fits name as their `unit`, or of
            a federation "patient in 1 client" and the like (docs/federated.md).
        source : str, default=""
            Where the data comes from, in words, for whoever reads the ledger later.
        periods : int, default=1
            For a table that is released again and again, such as every week: how many periods share
            the total. Fits then name their period, and each period has an equal part of mu². The
            total is the guarantee for a person who is in the table in every period.
        """
        from privclust.privacy.ledger.sql import SqlJournal

        budget = Budget(epsilon, delta)
        check_texts(label, unit, source)
        journal = SqlJournal(str(place))
        journal.make()
        ledger = cls(journal)._begun()
        ledger.add(label, budget.epsilon, budget.delta, unit, source, periods)
        return ledger

    @classmethod
    def open(cls, place: str) -> Ledger:
        """Open the ledger at `place`, a path or a URL, which must exist."""
        from privclust.privacy.ledger.sql import SqlJournal

        journal = SqlJournal(str(place))
        if not journal.exists():
            where = place if "://" in str(place) else Path(place).absolute()
            raise LedgerError(
                f"there is no ledger at {where}. Its owner makes one with Ledger.create or "
                "'privclust ledger create', with a budget for each data set."
            )
        with journal.reading() as pages:
            formats = {safe_repr(line.entry.body.get("format")) for line in pages.lines("ledger")}
        if formats - {safe_repr(FORMAT)}:
            raise LedgerError(
                f"this ledger has format {', '.join(sorted(formats))}, this version of privclust "
                f"reads {FORMAT}. Use the version that wrote it."
            )
        return cls(journal)

    def add(
        self,
        label: str,
        epsilon: float,
        delta: float,
        unit: str = "row",
        source: str = "",
        periods: int = 1,
    ) -> None:
        """Open an account for the data set `label`, with its total `epsilon` and `delta`.

        `unit`, `source` and `periods` are those of `create`.
        """
        check_texts(label, unit, source)
        periods = integer("periods", periods, "Type one, such as 52, or leave it out.")
        budget = Budget(epsilon, delta)
        body: dict[str, Any] = {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "unit": unit,
            "source": source,
            # For a server, which cannot work them out: the most that all fits may cost together,
            # and the most if all of them are pure.
            "capacity": asdict(budget.capacity),
            "pure": asdict(budget.pure),
            **({"periods": periods} if periods > 1 else {}),
        }
        with self._journal.writing() as pages:
            if pages.lines("dataset", label=label):
                raise ParameterError(
                    f"the ledger has a data set {label!r} already; a budget never grows. Choose "
                    "another label for another table; 'privclust ledger remaining' shows this one."
                )
            pages.append(Entry("dataset", label, body=body))

    def lower(self, label: str, epsilon: float | None) -> None:
        """Lower the budget of data set `label` to `epsilon`, or close it (None): the owner's step.

        No budget falls below what runs have spent and set aside, and none grows again. Runs that
        were begun go on; a data set that is closed grants no further one.
        """
        lower_budget(self._journal, label, epsilon)

    def reserve(
        self,
        label: str,
        total: Spend,
        facts: Mapping[str, str],
        *,
        run: str | None = None,
        cap: Cap | None = None,
    ) -> str:
        """Set `total` aside for a run on data set `label` and return the run's name, or refuse.

        `facts` are the public parameters, seed and versions a resumed run must match. `run` names
        it, by 16 or 32 hexadecimal digits; a name that was reserved before, for the same, is
        returned again and costs nothing further, so that a caller that was interrupted can repeat
        the call.
        `cap` is what all runs with one of the facts in common may cost together.
        """
        body: dict[str, Any] = {"spend": asdict(total), "facts": dict(facts)}
        if run is not None:
            check_run_name(run)
        with self._journal.writing() as pages:
            account = dataset_of(pages, label)
            if run is not None and was_reserved(pages, run, label, body):
                return run
            refused = excess(pages, account, total, facts, cap)
            if refused is not None:
                raise BudgetExceededError(refused)
            run = secrets.token_hex(8) if run is None else run
            pages.append(Entry("reserve", label, run, body=body))
        return run

    def resume(self, run: str, label: str, facts: Mapping[str, str]) -> None:
        """Check that `run` may be gone on with: begun on data set `label` with equal `facts`."""
        found = self.run(run)
        known, facts = {**found.facts, "dataset": found.label}, {**facts, "dataset": label}
        differing = sorted(k for k in {*known, *facts} if known.get(k) != facts.get(k))
        if differing:
            differences = "; ".join(
                f"{key} was {known.get(key, 'unknown')}, is {facts.get(key, 'unknown')}"
                for key in differing
            )
            raise LedgerError(
                f"run {run} was started differently: {differences}. Resume it with the parameters "
                "and versions it was started with, or start a new run, which spends anew."
            )

    def claim(self, run: str, slot: str, charge: Spend, fingerprint: bytes) -> StoredResult | None:
        """Charge the `slot` of a `run` for the query of a `fingerprint`, before anything is read.

        `charge` is its price, within what was reserved.
        Returns the stored result if the query was measured before, at no further charge.
        A slot belongs to the first query that claims it, measured or not.
        """
        hashed = sha256(fingerprint).hexdigest()
        with self._journal.writing() as pages:
            found = self._as_it_stands(pages, run)
            claimed = pages.lines("claim", run=run, slot=slot) if slot in found.charges else []
            body = {"spend": asdict(charge), "fingerprint": hashed}
            if claimed and claimed[0].entry.body != body:
                raise SlotConflictError(
                    f"slot {slot!r} belongs to another query in this run, or was charged "
                    "another price. Resume it with the parameters and versions it was started "
                    "with, or start a new run."
                )
            results = pages.lines("result", run=run, slot=slot) if claimed else []
            if results:
                return as_result(results[0])
            if not found.open:
                raise SlotConflictError(
                    f"run {run} was closed before it was finished. Start a new one, which spends "
                    "anew."
                )
            if not claimed:
                if not (found.spent + charge).within(found.reserved):
                    raise BudgetExceededError("this run claims more than it reserved.")
                pages.append(Entry("claim", found.label, run, slot, body, fingerprint))
        return None

    def record(self, run: str, slot: str, result: StoredResult) -> StoredResult:
        """Store the `result` of a claimed `slot` of a `run`; return it, or what was there first."""
        with self._journal.writing() as pages:
            lines = pages.lines("claim", "result", run=run, slot=slot)
            if not lines or lines[0].entry.kind != "claim":
                raise LedgerError(f"slot {slot!r} was never claimed in this run.")
            claimed, *stored = lines
            if stored:
                return as_result(stored[0])
            body = {"values": result.values.tolist(), "scale": result.scale, "noise": result.noise}
            pages.append(Entry("result", claimed.entry.label, run, slot, body))
        return result

    def close(self, run: str, finished: bool = False) -> None:
        """End `run`: what it reserved for slots that were never claimed becomes free.

        `finished` says whether it came to its end, which changes nothing about its price.
        """
        with self._journal.writing() as pages:
            found = self._as_it_stands(pages, run)
            if found.open:
                pages.append(Entry("close", found.label, run, body={"finished": finished}))

    def remaining(self, label: str) -> Spend:
        """Return what data set `label` has left: mu², or epsilon where its guarantee is pure."""
        with self._journal.reading() as pages:
            return committed(pages, label).left_of(dataset_of(pages, label).capacity)

    def epsilon_left(self, label: str, cap: Cap | None = None) -> float:
        """Return the largest epsilon that one more fit of data set `label` may have.

        It is in thousandths and never more than is granted, at the data set's delta; of a data set
        with periods it is that of the first fit of a new one. With a `cap`, it is also within what
        the runs have left that it counts.
        """
        with self._journal.reading() as pages:
            return largest_epsilon(pages, dataset_of(pages, label), {}, cap)

    def runs_left(self, run: str) -> int:
        """Return how many more runs that reserve as much as `run` are granted, up to 1000."""
        with self._journal.reading() as pages:
            return further_runs(pages, run_of(pages, run))

    def datasets(self) -> tuple[Dataset, ...]:
        """Return all accounts, oldest first."""
        with self._journal.reading() as pages:
            return tuple(dataset_of(pages, line.entry.label) for line in pages.lines("dataset"))

    def dataset(self, label: str) -> Dataset:
        """Return the account of data set `label`."""
        with self._journal.reading() as pages:
            return dataset_of(pages, label)

    def runs(self, label: str) -> tuple[Run, ...]:
        """Return the runs on data set `label`, oldest first."""
        with self._journal.reading() as pages:
            dataset_of(pages, label)
            return as_runs(pages.lines("reserve", "claim", "close", label=label))

    def run(self, name: str) -> Run:
        """Return the run called `name`."""
        with self._journal.reading() as pages:
            return run_of(pages, name)

    def total(self, label: str) -> LedgerTotal:
        """Return what all runs on data set `label` so far guarantee together."""
        with self._journal.reading() as pages:
            return total_of(pages, label)

    def totals(self) -> tuple[LedgerTotal, ...]:
        """Return the total of every data set, oldest first, all at the same entry."""
        with self._journal.reading() as pages:
            return totals_of(pages)

    def head(self) -> str:
        """Return the hash of the last entry, which stands for all before it."""
        return self.newest()[1]

    def newest(self) -> tuple[int, str]:
        """Return number and hash of the last entry."""
        with self._journal.reading() as pages:
            return pages.head()

    def has_entry(self, number: int, line_hash: str) -> bool:
        """Tell whether there is an entry of this `number` whose hash is `line_hash`."""
        with self._journal.reading() as pages:
            return pages.hash_of(number) == line_hash

    def verify(self, head: str | None = None) -> list[str]:
        """Return what is wrong with this ledger: nothing, if its guarantee was kept.

        `head` is the hash in a model's statement; a ledger put back from a copy lacks it.
        """
        return problems(self._journal, head)

    def export(self) -> list[dict[str, Any]]:
        """Return all entries as plain values, for JSON; of fingerprints only their hashes.

        What is in a ledger follows from public parameters and noisy results.
        """
        with self._journal.reading() as pages:
            return [plain(line) for line in pages.lines()]

    def __str__(self) -> str:
        return ledger_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return ledger_html(self)

    def _as_it_stands(self, pages: Pages, name: str) -> Run:
        """Return a run. Of the one read last, only what was written since then is read."""
        if self._latest is not None and self._latest[1].name == name:
            last, run = self._latest
            since = pages.lines("reserve", "claim", "close", after=last.number - 1, run=name)
            if since and since[0] == last:
                run = as_runs(since[1:], [run])[0]
                self._latest = since[-1], run
                return run
        lines = lines_of(pages, name)
        self._latest = lines[-1], as_runs(lines)[0]
        return self._latest[1]

    def _begun(self) -> Ledger:
        with self._journal.writing() as pages:
            if not pages.lines("ledger"):
                body = {"format": FORMAT, "name": secrets.token_hex(16)}
                pages.append(Entry("ledger", body=body))
        return self
