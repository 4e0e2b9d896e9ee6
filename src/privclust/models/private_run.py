"""One run on the rows: what it guarantees, to which unit, and where it is recorded."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from privclust.privacy.accounting import Budget, Spend
from privclust.queries.participation import Cohort
from privclust.queries.unit import Unit

REAL_NOISE = "OpenDP"
"""What the one noise source that protects anybody is called."""
_NAME = re.compile(r"[\w.-]{1,64}")


@dataclass(frozen=True)
class Record:
    """Where a run is recorded: data set and its total, and the ledger's last hash then."""

    dataset: str
    epsilon: float
    delta: float
    head: str

    def __post_init__(self) -> None:
        Budget(self.epsilon, self.delta)
        check_printable(self.head)


@dataclass(frozen=True)
class PrivateRun:
    """One run on the rows.

    Attributes
    ----------
    name : str
        Given at random; that in the ledger, if one recorded the run.
    estimator : str
        What ran, such as "PrivateKMeans"; "profile" for a profile.
    unit : Unit
        Whose data counts as one.
    epsilon, delta : float
        The guarantee of this run alone; infinite without noise.
    reserved : Spend
        The most that its releases could cost together, fixed before any row was read.
    n_rows : int or None
        The number of rows that the user typed.
    noise : str
        Where the noise came from; anything but "OpenDP" protects nobody.
    record : Record or None
        Where the budget was recorded.
    cohort : Cohort or None
        Nodes that added the noise themselves, each of which recorded the run as well.
    """

    name: str
    estimator: str
    unit: Unit
    epsilon: float
    delta: float
    reserved: Spend
    n_rows: int | None
    noise: str
    record: Record | None
    cohort: Cohort | None = None

    def __post_init__(self) -> None:
        check_printable(self.noise)
        if not _NAME.fullmatch(self.name) or not self.estimator.isidentifier():
            raise ValueError("a run has a name of letters and digits, and so has what ran")
        if self.n_rows is not None and self.n_rows < 1:
            raise ValueError("a typed number of rows is at least 1")
        if self.epsilon < math.inf and not Budget(self.epsilon, self.delta).admits(self.reserved):
            raise ValueError("a run reserved more than it guarantees")

    @property
    def private(self) -> bool:
        """Whether real noise was added."""
        return self.noise == REAL_NOISE and self.epsilon < math.inf

    @property
    def is_recorded(self) -> bool:
        """Whether some ledger counts it."""
        return self.record is not None or self.cohort is not None

    def is_same(self, other: PrivateRun) -> bool:
        """Tell whether this describes the same run; a ledger may have grown in between."""
        return self._without_head == other._without_head

    @property
    def _without_head(self) -> PrivateRun:
        record = None if self.record is None else replace(self.record, head="")
        return replace(self, record=record)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; an infinite epsilon becomes None."""
        return {**asdict(self), "epsilon": self.epsilon if self.epsilon < math.inf else None}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PrivateRun:
        """Return the run that `to_dict` described, checked anew."""
        record, cohort = content["record"], content["cohort"]
        return cls(
            **{
                **content,
                "unit": Unit(**content["unit"]),
                "epsilon": math.inf if content["epsilon"] is None else content["epsilon"],
                "reserved": Spend(**content["reserved"]),
                "record": None if record is None else Record(**record),
                "cohort": None if cohort is None else _cohort(cohort),
            }
        )


def _cohort(content: Mapping[str, Any]) -> Cohort:
    lists = {name: tuple(content[name]) for name in ("members", "left")}
    return Cohort(**{**content, **lists})


def check_printable(*texts: str) -> None:
    """Refuse a text that could pass for a line of its own in a statement."""
    if not all(text.isprintable() for text in texts):
        raise ValueError("a text of the statement has characters that cannot be printed")
