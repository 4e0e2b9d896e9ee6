"""What a fit promised, in words and as JSON, for the person who has to sign for it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

NOT_COVERED = (
    "names, number and types of the columns",
    "labels and distances that predict and transform compute for protected rows",
    "bounds chosen after looking at the rows",
    "running time and memory",
    "other fits of the same rows that no common ledger recorded",
)


@dataclass(frozen=True)
class Record:
    """Where a fit is recorded: data set and its total, run, the ledger's last hash then."""

    dataset: str
    epsilon: float
    delta: float
    run: str
    head: str


@dataclass(frozen=True)
class ReleaseLine:
    """One answer: what was asked, the most one unit adds, the noise, and its part of the budget.

    `one_row_in` is 1 if all units were asked, 2^h if a secret sample was; sensitivity and noise are
    those of the sample's own sum.
    """

    slot: str
    query: str
    mechanism: str
    coordinates: int
    sensitivity: float
    sigma: float
    share: float
    one_row_in: int


@dataclass(frozen=True)
class Statement:
    """The promise of one fit. Everything in it is public.

    Attributes
    ----------
    subject : str
        What was fitted: the estimator, its number of clusters, the columns.
    private : bool
        False if no real noise was added.
    unit, adjacency : str
        Whose data is protected, and what "changed" means.
    epsilon, delta, mu : float
        The promise, and its Gaussian-DP parameter.
    replacing_epsilon : float or None
        With a typed number of rows that is exact: the epsilon for replacing one row.
    noise : str
        Where the noise came from.
    n_rows : str
        How the number of rows was treated.
    bounds_origin : str
        Where the bounds come from, in the user's words.
    start : str or None
        What the fit was given to start from, if anything, which is taken to be public.
    record : Record or None
        Where the budget was recorded.
    releases : tuple of ReleaseLine
        Everything that was learned from the rows.
    not_covered : tuple of str
        What the promise does not speak of.
    version : str
        Of privclust.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> model.privacy_statement_.epsilon, model.privacy_statement_.unit
    (1.0, 'row')
    """

    subject: str
    private: bool
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    mu: float
    replacing_epsilon: float | None
    noise: str
    n_rows: str
    bounds_origin: str
    start: str | None
    record: Record | None
    releases: tuple[ReleaseLine, ...]
    version: str
    not_covered: tuple[str, ...]

    def to_json(self) -> str:
        """Return the statement as JSON; an infinite number becomes null."""
        content = asdict(self)
        for key, value in content.items():
            if isinstance(value, float) and not math.isfinite(value):
                content[key] = None
        return json.dumps(content, indent=2)

    def __str__(self) -> str:
        lines = [
            f"{self.subject}.",
            self._promise(),
            f"Neighbours: {self.adjacency}",
            f"Number of rows: {self.n_rows}",
            f"Bounds: {self.bounds_origin}.",
            *([] if self.start is None else [f"Start: {self.start}."]),
            f"Noise: {self.noise}. Ledger: {self._recorded()}. privclust {self.version}.",
            f"Learned from the rows ({len(self.releases)} answers; all else follows from these "
            f"{'alone' if self.start is None else 'and the start'}):",
            *(self._line(release) for release in self.releases),
            *self._sampled(),
            "Not covered: " + "; ".join(self.not_covered) + ".",
        ]
        return "\n".join(lines)

    @property
    def _one(self) -> str:
        return self.unit if self.unit == "row" else f"{self.unit!r} with all its rows"

    def _promise(self) -> str:
        if not self.private:
            return (
                f"NOT PRIVATE. Noise: {self.noise}. Nothing here protects anybody; use it on "
                "public rows only."
            )
        return (
            f"Promise: adding or removing any one {self._one} makes no outcome more than "
            f"{math.exp(self.epsilon):.3g} times as likely, up to a remainder of delta: "
            f"epsilon = {self.epsilon:g}, delta = {self.delta:g} (accounted as "
            f"{self.mu:.4g}-Gaussian DP)."
        )

    def _recorded(self) -> str:
        if self.record is None:
            return (
                "unrecorded; nothing here stops further fits of the same rows, which add to epsilon"
            )
        return (
            f"data set {self.record.dataset!r}, whose fits together keep epsilon = "
            f"{self.record.epsilon:g}, delta = {self.record.delta:g}; run {self.record.run}, last "
            f"entry {self.record.head}"
        )

    def _line(self, release: ReleaseLine) -> str:
        asked = f"  {release.slot}: {release.query}, {release.coordinates} number(s)"
        if release.one_row_in > 1:
            asked += f", of one {self.unit} in {release.one_row_in} at random"
        if release.sigma == 0:
            return f"{asked}, no noise"
        return (
            f"{asked}, {release.mechanism} noise of standard deviation {release.sigma:.4g} where "
            f"one {self.unit} adds at most {release.sensitivity:.4g}, {release.share:.2%} of this "
            "fit"
        )

    def _sampled(self) -> list[str]:
        if all(release.one_row_in == 1 for release in self.releases):
            return []
        return [
            "Those asked at random are a secret sample, for speed; no credit is taken for it: all "
            "are protected alike."
        ]
