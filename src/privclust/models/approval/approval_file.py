"""The approval: who released what, for which purpose, and who agreed.

It is a file of its own, which a signature binds to the model. Neither model nor ledger holds
purposes or people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from privclust._version import __version__
from privclust.errors import ParameterError, safe_repr
from privclust.models._json_file import format_name, read_json
from privclust.models.approval.ledger_total import LedgerTotal
from privclust.models.private_run import check_printable

TEXT_MAX = 1000
"""Characters of a name or a purpose: they must fit on a page."""
_TEXTS = ("dataset", "purpose", "requested_by", "approved_by")


@dataclass(frozen=True)
class Approval:
    """Who asked for a release of what, and who approved it for which purpose.

    Attributes
    ----------
    dataset, purpose, requested_by, approved_by : str
        As people wrote them, each on one line.
    date : str
        Of the approval, such as 2026-11-17.
    model : str
        SHA-256 of the model file.
    profiles : tuple of str
        SHA-256 of each profile that is released with it.
    ledger : LedgerTotal or None
        What all runs on the data set came to then; None if no ledger recorded the fit.
    ledger_place, ledger_source : str
        Which ledger that is, without folders and passwords, and where the table comes from in the
        words of the ledger's owner; empty if nobody said.
    other_datasets : tuple of LedgerTotal
        What the other data sets of that ledger came to, at the same entry.
    recomputed : bool
        Whether all numbers in the model were worked out anew from the results in the ledger.
    min_size : float or None
        Below how many rows the page leaves a cluster out; None for three standard errors.
    version : str
        Of privclust, which wrote the page.
    reference : str
        What the approval is called in the register of who approves; empty if nobody said.

    Examples
    --------
    >>> people = {"requested_by": "A. Ito, analyst", "approved_by": "B. Sow, privacy officer"}
    >>> Approval("visits", "staffing", **people, date="2026-11-17", model="0" * 64).dataset
    'visits'
    """

    dataset: str
    purpose: str
    requested_by: str
    approved_by: str
    date: str
    model: str
    profiles: tuple[str, ...] = ()
    ledger: LedgerTotal | None = None
    ledger_place: str = ""
    ledger_source: str = ""
    other_datasets: tuple[LedgerTotal, ...] = ()
    recomputed: bool = False
    min_size: float | None = None
    version: str = field(default_factory=lambda: __version__)
    reference: str = ""

    def __post_init__(self) -> None:
        for name in (*_TEXTS, *(["reference"] if self.reference else [])):
            value = getattr(self, name)
            if not value.strip() or not value.isprintable() or len(value) > TEXT_MAX:
                raise ParameterError(
                    f"{name.replace('_', '-')} must be 1 to {TEXT_MAX} printable characters on one "
                    f"line, got {safe_repr(value)}. Type it in words."
                )
        check_printable(
            self.version, self.model, *self.profiles, self.ledger_place, self.ledger_source
        )
        date.fromisoformat(self.date)

    def to_json(self) -> str:
        """Return the text of an approval file."""
        content = {
            "format": format_name("approval"),
            **asdict(self),
            "ledger": None if self.ledger is None else self.ledger.to_dict(),
            "other_datasets": [other.to_dict() for other in self.other_datasets],
        }
        return json.dumps(content, indent=1, sort_keys=True) + "\n"


def read_approval(file: Path) -> Approval:
    """Return the approval that a file holds, checked anew."""
    return read_json(file, "approval", _approval_from)


def _approval_from(content: Mapping[str, Any]) -> Approval:
    ledger = content["ledger"]
    given = {name: value for name, value in content.items() if name != "format"}
    given["profiles"] = tuple(content["profiles"])
    given["ledger"] = None if ledger is None else LedgerTotal.from_dict(ledger)
    given["other_datasets"] = tuple(map(LedgerTotal.from_dict, content.get("other_datasets", ())))
    approval = Approval(**given)
    if any(ledger is None or other.head != ledger["head"] for other in approval.other_datasets):
        raise ValueError("its data sets are not of one ledger at one entry")
    return approval
