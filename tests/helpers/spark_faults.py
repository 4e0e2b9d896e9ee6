"""Queries that fail, lag or wait on purpose inside Spark's tasks, and leave a mark each time.

Workers import this module, so it loads little.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from privclust.kernels.grid import FloatArray
from privclust.queries.base import Contribution, Sensitivity
from privclust.queries.clusters import NearestVotes

CANARY = 1234567.8901234


@dataclass(frozen=True, eq=False)
class Hindered:
    """A query that marks every attempt of a task in a folder, and hinders some.

    "twice": the first two attempts of each task fail. "always": all fail. "lag": the first attempt
    of the first task takes a minute. "wait": each first attempt takes three seconds. "never":
    nothing happens.
    """

    query: NearestVotes
    marks: str
    how: Literal["twice", "always", "lag", "wait", "never"]

    @property
    def size(self) -> int:
        """Coordinates of the result."""
        return self.query.size

    @property
    def sensitivity(self) -> Sensitivity:
        """The most one row can contribute."""
        return self.query.sensitivity

    def contribute(self, rows: FloatArray) -> Contribution:
        """Return what each grid row contributes, unless this is the driver's to hinder."""
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None:
            attempt, place = context.attemptNumber(), context.partitionId()
            mark = Path(self.marks, f"{place} {attempt}")
            is_new = not mark.exists()
            mark.touch()
            if self.how == "always" or (self.how == "twice" and attempt < 2):
                raise ValueError(f"{CANARY} in {rows.tolist()}")
            if is_new and attempt == 0:
                slow = self.how == "lag" and place == 0
                time.sleep(60 if slow else 3 if self.how == "wait" else 0)
        return self.query.contribute(rows)


def attempts(folder: Path) -> dict[int, set[int]]:
    """Return which attempts each task made."""
    found: dict[int, set[int]] = {}
    for mark in folder.iterdir():
        place, attempt = map(int, mark.name.split())
        found.setdefault(place, set()).add(attempt)
    return found
