"""What the owner of a node allows whom: nothing that it does not name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from privclust.domains.bounds import BoundedColumns
from privclust.node.policy.federation_policy import FederationPolicy

NO_TEXTS = (
    "in CSV and Excel files one odd cell can end every fit, which analysts would see. Write the "
    "table as Parquet or Arrow; docs/node.md says how"
)


@dataclass(frozen=True)
class NodeSettings:
    """Where a node keeps what it keeps, and how much it does at the same time.

    Attributes
    ----------
    ledger : str
        Path or URL of the ledger; jobs are kept in the same database.
    head : Path
        The ledger's newest head is kept here, outside the database.
    audit_log, name_key : Path
        The log of who did what, and a file with at least 32 random bytes in hex.
    lanes : int
        How many fits run at the same time.
    tick : int
        The grid of public times, in seconds.
    max_memory_gib : float
        What the process of one fit may take.
    """

    ledger: str
    head: Path
    audit_log: Path
    name_key: Path
    lanes: int = 1
    tick: int = 1
    max_memory_gib: float = 4.0


@dataclass(frozen=True)
class Issuer:
    """Who issues tokens: its name in them, for whom they are, and the file of its public keys."""

    name: str
    url: str
    audience: str
    keys: Path
    algorithms: tuple[str, ...] = ("RS256",)


@dataclass(frozen=True)
class TablePolicy:
    """A table that may be clustered, and all that is public about it.

    Attributes
    ----------
    name, description : str
        What analysts call it and read of it.
    files : tuple of str
        Patterns of its files.
    dataset : str
        Its label in the ledger.
    columns : BoundedColumns
        What may be clustered, as the file `bounds` declares it, in the order of the table.
    profile_columns : BoundedColumns or None
        What may be profiled, as the file `profile_bounds` declares it.
    unit : str
        The column of ids; "" protects single rows.
    max_rows_per_unit : int
        How many rows of one id count.
    about_rows : int or None
        A public number of rows, for forecasts, and to refuse fits that may not be ready in time.
    seconds : int
        The public duration of a fit.
    estimators : tuple of str
        Which may be fitted.
    """

    name: str
    files: tuple[str, ...]
    dataset: str
    bounds: Path
    columns: BoundedColumns
    profile_bounds: Path | None = None
    profile_columns: BoundedColumns | None = None
    unit: str = ""
    max_rows_per_unit: int = 1
    about_rows: int | None = None
    seconds: int = 600
    estimators: tuple[str, ...] = ("PrivateKMeans",)
    description: str = ""


@dataclass(frozen=True)
class AnalystPolicy:
    """What one analyst may do.

    Attributes
    ----------
    id : str
        The opaque name that logs and the ledger have.
    issuer, subject : str
        Whose tokens these are: the name of an issuer, and the subject in its tokens.
    tables : tuple of str
        The tables that exist for this analyst.
    epsilon : float
        What all fits of one data set may spend, at the ledger's delta.
    work_per_day : float
        Seconds of lanes that all fits of 24 hours may have: each has those of its table.
    certificate : str or None
        SHA-256 of the client certificate that must come with the token, in hex.
    max_clusters, max_queued : int
        The most clusters of a fit, and the most fits that wait.
    """

    id: str
    issuer: str
    subject: str
    tables: tuple[str, ...]
    epsilon: float
    work_per_day: float
    certificate: str | None = None
    max_clusters: int = 64
    max_queued: int = 5


@dataclass(frozen=True)
class Policy:
    """All that a node allows; `digest` is the SHA-256 of the file's bytes, in hex."""

    node: NodeSettings
    issuers: Mapping[str, Issuer]
    tables: Mapping[str, TablePolicy]
    analysts: Mapping[str, AnalystPolicy]
    digest: str
    federations: Mapping[str, FederationPolicy] = field(default_factory=dict)

    def analyst(self, issuer_url: str, subject: str) -> AnalystPolicy | None:
        """Return whom the tokens of an issuer for a subject stand for; None if for nobody."""
        for one in self.analysts.values():
            if (self.issuers[one.issuer].url, one.subject) == (issuer_url, subject):
                return one
        return None

    def table_for(self, analyst: AnalystPolicy, name: object) -> TablePolicy | None:
        """Return a table if it exists for the analyst: unknown and forbidden are one case."""
        return self.tables.get(name) if isinstance(name, str) and name in analyst.tables else None
