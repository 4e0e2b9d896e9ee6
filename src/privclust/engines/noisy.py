"""Engines whose sums have noise before anyone else sees them: there are no exact ones to give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from privclust.kernels.grid import IntArray
from privclust.queries.base import Query
from privclust.queries.participation import Cohort, QueryParticipation
from privclust.queries.unit import Unit


@dataclass(frozen=True, eq=False)
class NoisySums:
    """Sums over all rows, with the noise that was added where the rows are.

    Attributes
    ----------
    values : int array
        The noisy sums, in grid units.
    scale : float
        Standard deviation of their noise, in grid units.
    noise : str
        Where the noise came from; anything but "OpenDP" is not private.
    """

    values: IntArray
    scale: float
    noise: str


@dataclass(frozen=True)
class FitTerms:
    """What a fit is about, as those who hold rows have to know it before they take part.

    Attributes
    ----------
    run : str
        Its name in the ledger of whoever fits.
    facts : mapping of str to str
        Its public parameters.
    epsilon, delta : float
        The guarantee.
    quanta, slack, tail : int, float, float
        The most that all its queries may cost together: the parts of a `Spend`.
    """

    run: str
    facts: Mapping[str, str]
    epsilon: float
    delta: float
    quanta: int
    slack: float
    tail: float


class NoisyEngine(ABC):
    """Measures queries by sums that carry noise already, of which the Curator adds no more.

    Attributes
    ----------
    n_columns : int
        Columns of the table, which are public.
    unit : Unit
        Whose rows count as one.
    participation : list of QueryParticipation
        Who took part in each query so far.
    reserve : float
        The part of mu² that is kept to measure again where somebody was gone.
    noise_ratio : float
        How many times as large as for one table with the same guarantee the noise will be: what
        is kept in reserve counts, and noise that those who collude could subtract.
    """

    n_columns: int
    unit: Unit
    participation: list[QueryParticipation]
    reserve: float
    noise_ratio: float

    @property
    @abstractmethod
    def cohort(self) -> Cohort:
        """Who holds the rows and adds the noise."""

    @abstractmethod
    def begin(self, terms: FitTerms) -> None:
        """Let all who hold rows agree to a fit, or go on with one they agreed to, or refuse."""

    @abstractmethod
    def measure(
        self, slot: str, attempt: int, query: Query, quanta: int, l0: int
    ) -> NoisySums | None:
        """Return a query's noisy sums; None if somebody is gone, and others may go on.

        mu² is `quanta`, and a unit changes `l0` coordinates at most. The first `attempt` is 1; each
        is charged by itself.
        """

    @abstractmethod
    def expect_sample(self, key: bytes) -> None:
        """Note that a sample may be drawn."""

    @abstractmethod
    def sample(self, sampling_exponent: int, key: bytes) -> NoisyEngine:
        """Return an engine over some of the units, drawn where they are; `key` stays unused."""

    @abstractmethod
    def close(self) -> None:
        """Let all who hold rows know that the fit has ended."""
