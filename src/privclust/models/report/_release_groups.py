"""Results of one kind on one line, so that a page with many of them can be read."""

from __future__ import annotations

from dataclasses import dataclass

from privclust.models.formatting import percent_up, rounded_down, rounded_up
from privclust.models.report._release_meaning import meaning
from privclust.models.statement import ReleaseLine, Statement


@dataclass(frozen=True)
class ReleaseGroup:
    """Results of one run, of one kind of query: what a page says of all of them at once.

    Attributes
    ----------
    owner : Statement
        Of the run that measured them.
    lines : tuple of ReleaseLine
        Each result, in the order in which it was measured.
    """

    owner: Statement
    lines: tuple[ReleaseLine, ...]

    @property
    def name(self) -> str:
        """The first and the last result."""
        first, last = self.lines[0].slot, self.lines[-1].slot
        return first if len(self.lines) == 1 else f"{first} to {last}"

    @property
    def meaning(self) -> str:
        """What each of them tells about the rows."""
        return meaning(self.lines[0], self.owner)

    @property
    def numbers(self) -> int:
        """How many numbers all of them have."""
        return sum(line.coordinates for line in self.lines)

    @property
    def noise(self) -> str:
        """The smallest and the largest standard deviation of their noise, rounded down."""
        sigmas = [line.sigma for line in self.lines]
        return _range(rounded_down(min(sigmas)), rounded_down(max(sigmas)))

    @property
    def sensitivity(self) -> str:
        """The most that one unit adds to any of them, rounded up."""
        return rounded_up(max(line.sensitivity for line in self.lines))

    @property
    def share_of_each(self) -> str:
        """The smallest and the largest share of the run that one of them has, rounded up."""
        shares = [line.share for line in self.lines]
        return _range(percent_up(min(shares)), percent_up(max(shares)))

    @property
    def share(self) -> float:
        """The share of the run that they have together."""
        return sum(line.share for line in self.lines)


def groups_of(statement: Statement) -> list[ReleaseGroup]:
    """Return a run's results by the first word of their names and by their kind.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PEMeans
    >>> model = PEMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> count, votes = groups_of(model.privacy_statement_)
    >>> count.name, count.noise, round(count.share + votes.share, 9)
    ('count', '59.74', 1.0)
    """
    found: dict[tuple[str, str, str], list[ReleaseLine]] = {}
    for line in statement.releases:
        kind = (line.slot.split(" ")[0], line.query, line.mechanism)
        found.setdefault(kind, []).append(line)
    return [ReleaseGroup(statement, tuple(lines)) for lines in found.values()]


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
