"""What a released object depends on, and what that guarantees, for the person who has to sign."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from privclust._version import __version__
from privclust.domains.bounds import KNOWN_ORIGINS
from privclust.domains.origin import Origin
from privclust.models import _statement_text
from privclust.models._notebook import statement_html
from privclust.models._plotting import plots
from privclust.models.composition import Composition
from privclust.models.private_run import PrivateRun, Record, check_printable
from privclust.queries.participation import Cohort

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["fit", "refit", "profile"]
Role = Literal["start", "clusters"]


@dataclass(frozen=True)
class ReleaseLine:
    """One result: what was measured, the most one unit adds, the noise, and its part of the budget.

    `one_row_in` is 1 if all units were measured, 2^h if a secret sample was; sensitivity and noise
    are those of the sample's own sum.
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
class Dependency:
    """An earlier run on the rows that an object follows from.

    Attributes
    ----------
    role : {"start", "clusters"}
        A fit started from its centres, or a profile is grouped by its clusters.
    run : PrivateRun
        What it guarantees, and where it is recorded.
    """

    role: Role
    run: PrivateRun


@dataclass(frozen=True)
class PublicPoints:
    """Points that the user calls public, by the parameter that they were given as."""

    parameter: str
    count: int

    def __post_init__(self) -> None:
        if not self.parameter.isidentifier():
            raise ValueError(f"{self.parameter!r} is not the name of a parameter")


@dataclass(frozen=True)
class Participation:
    """Who responded in a federation.

    Attributes
    ----------
    responded, invited : int
        Clients, in the query to which fewest responded.
    earlier : int
        Queries that were measured before the run was resumed, for which nobody knows.
    """

    responded: int
    invited: int
    earlier: int


@dataclass(frozen=True)
class Statement:
    """What a released object depends on. Everything else that it says follows from that.

    Attributes
    ----------
    kind : {"fit", "refit", "profile"}
        What was released.
    estimator : str
        Whose clusters.
    n_clusters : int
        How many.
    columns : tuple of str, or int
        Those that were clustered, or profiled; only how many if they have no names.
    run : PrivateRun
        The run that measured it: its own epsilon, delta, unit, noise and place in a ledger.
    releases : tuple of ReleaseLine
        Everything that this run learned from the rows.
    bounds_origin : str
        Where the bounds come from, in the user's words.
    dependencies : tuple of Dependency
        Earlier runs that it follows from, with those that these follow from.
    public_points : tuple of PublicPoints
        What it was given as public besides.
    participation : Participation or None
        Of a federation.
    source : Origin or None
        Which state of which table was read, where that is known.
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

    kind: Kind
    estimator: str
    n_clusters: int
    columns: tuple[str, ...] | int
    run: PrivateRun
    releases: tuple[ReleaseLine, ...]
    bounds_origin: str
    dependencies: tuple[Dependency, ...] = ()
    public_points: tuple[PublicPoints, ...] = ()
    participation: Participation | None = None
    source: Origin | None = None
    version: str = field(default_factory=lambda: __version__)

    def __post_init__(self) -> None:
        grouped = any(one.role == "clusters" for one in self.dependencies)
        if grouped != (self.kind == "profile"):
            raise ValueError("a profile, and nothing else, depends on the run of its clusters")

    @cached_property
    def composed(self) -> Composition:
        """Its own run and all that it follows from, together."""
        return Composition.of((self.run, *(one.run for one in self.dependencies)))

    @property
    def private(self) -> bool:
        """False if no real noise was added, in its own run or in one that it follows from."""
        return self.composed.private

    @property
    def epsilon(self) -> float:
        """The guarantee of everything behind the object; `run.epsilon` is that of its own run."""
        return self.composed.epsilon

    @property
    def delta(self) -> float:
        """The delta at which that epsilon is read."""
        return self.composed.delta

    @property
    def unit(self) -> str:
        """Whose data is protected."""
        return self.run.unit.name

    @property
    def record(self) -> Record | None:
        """Where its own run is recorded."""
        return self.run.record

    @property
    def cohort(self) -> Cohort | None:
        """Nodes that added the noise of its own run, if it was not added here."""
        return self.run.cohort

    @property
    def dataset(self) -> str | None:
        """The data set's name in the ledger, if its run is recorded."""
        return None if self.record is None else self.record.dataset

    @property
    def subject(self) -> str:
        """What was released, in words."""
        return _statement_text.subject(self)

    @property
    def adjacency(self) -> str:
        """Which two tables the guarantee compares, in words."""
        return _statement_text.adjacency(self.run.unit, self.place)

    @property
    def place(self) -> str:
        """What a place where rows of a federation lie is called."""
        return "client" if self.cohort is None else "node"

    @property
    def counted_as(self) -> str | None:
        """As how many rows one unit counts in sizes, in words; None if every row is one.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from privclust import PrivateKMeans
        >>> visits = pa.table({"age": [40.0] * 1000, "who": range(1000)})
        >>> model = PrivateKMeans(1, delta=1e-6, bounds={"age": (0, 120)}, unit="who").fit(visits)
        >>> model.privacy_statement_.counted_as
        "Each 'who' counts as 1 row at most."
        """
        return _statement_text.counted_as(self.run.unit)

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the guarantee does not speak of, in words."""
        return _statement_text.not_covered(self)

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter that the guarantee is accounted as."""
        return self.composed.mu

    def to_dict(self) -> dict[str, Any]:
        """Return what a file keeps: the record, without the releases, and what it comes to."""
        return {
            "private": self.private,
            "epsilon": self.epsilon if self.private else None,
            "delta": self.delta,
            "kind": self.kind,
            "estimator": self.estimator,
            "n_clusters": self.n_clusters,
            "columns": self.columns if isinstance(self.columns, int) else list(self.columns),
            "run": self.run.to_dict(),
            "bounds_origin": self.bounds_origin,
            "dependencies": [
                {"role": one.role, "run": one.run.to_dict()} for one in self.dependencies
            ],
            "public_points": [asdict(points) for points in self.public_points],
            "participation": None if self.participation is None else asdict(self.participation),
            "source": None if self.source is None else asdict(self.source),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], releases: tuple[ReleaseLine, ...]) -> Statement:
        """Return the statement that `to_dict` described; refuse one that is not true of itself.

        `content` is what `to_dict` gave, `releases` what is listed of the results beside it.
        """
        kept = {name: content[name] for name in ("kind", "estimator", "n_clusters", "version")}
        check_printable(kept["version"])
        if content["bounds_origin"] not in KNOWN_ORIGINS:
            raise ValueError(f"bounds_origin is none of {', '.join(KNOWN_ORIGINS)}")
        columns, participation = content["columns"], content["participation"]
        source = content["source"]
        statement = cls(
            **kept,
            columns=columns if isinstance(columns, int) else tuple(columns),
            run=PrivateRun.from_dict(content["run"]),
            releases=releases,
            bounds_origin=content["bounds_origin"],
            dependencies=tuple(
                Dependency(one["role"], PrivateRun.from_dict(one["run"]))
                for one in content["dependencies"]
            ),
            public_points=tuple(PublicPoints(**points) for points in content["public_points"]),
            participation=None if participation is None else Participation(**participation),
            source=None if source is None else Origin(**source),
        )
        epsilon = math.inf if content["epsilon"] is None else content["epsilon"]
        # At any of the deltas: earlier versions read the epsilon at the largest of them.
        agrees = statement.composed.comes_to(epsilon, content["delta"])
        if content["private"] != statement.private or not agrees:
            raise ValueError("its statement says of its runs what they do not come to")
        return statement

    def to_json(self) -> str:
        """Return the record, every release and what follows from them, as JSON."""
        composed = self.composed
        content = {
            "subject": self.subject,
            **self.to_dict(),
            "mu": self.mu if self.private else None,
            "replacing_epsilon": composed.replacing_epsilon,
            "power_at_5_percent_false_alarms": composed.power,
            "unit": self.unit,
            "adjacency": self.adjacency,
            "releases": [asdict(release) for release in self.releases],
            "not_covered": list(self.not_covered),
        }
        return json.dumps(content, indent=2)

    def __str__(self) -> str:
        return _statement_text.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return statement_html(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw which queries the budget was spent on.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new picture.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = plots().plot_statement(self, ax)
        return drawn
