"""What is wrong with a node before it starts: its policy against tables, ledger and files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from privclust._files import read_regular
from privclust.domains.bounds import read_bounds
from privclust.domains.bounds_file import declared_column, read_file
from privclust.errors import did_you_mean, safe_repr
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.unit import Unit
from privclust.sources.dialects import Files
from privclust.sources.files import open_files
from privclust.sources.schema import Schema

if TYPE_CHECKING:
    from privclust.node.policy import NodeSettings, Policy, TablePolicy

KEY_BYTES = 32
"""What the key that names runs has, written in hex."""


def faults_of(policy: Policy) -> list[str]:
    """Return all that is wrong, each with what to do; names and types alone are read."""
    found = [*_faults_of_files(policy.node)]
    found += [
        f"[issuers.{issuer.name}] keys: {issuer.keys.name!r} cannot be read. Save the issuer's "
        "JWKS there."
        for issuer in policy.issuers.values()
        if not os.access(issuer.keys, os.R_OK)
    ]
    try:
        ledger = Ledger.open(policy.node.ledger)
    except LedgerError as error:
        found.append(f"[node] ledger: {error}")
        ledger = None
    for table in policy.tables.values():
        faults = [*_faults_of_table(table)]
        if ledger is not None:
            faults += _faults_of_account(table, ledger)
        found += [f"[tables.{table.name}] {fault}" for fault in faults]
    return found


def _faults_of_files(node: NodeSettings) -> Iterator[str]:
    key, remedy = node.name_key, "Make one with 'privclust node keygen'."
    if not key.exists():
        yield f"[node] name_key: there is no {key.name!r}. {remedy}"
    elif stat.S_IMODE(key.stat().st_mode) & 0o077:
        yield f"[node] name_key: others may read {key.name!r}. Type chmod 600 {key.name}."
    elif os.access(key, os.R_OK) and not _is_key(key):  # the worker need not read it
        yield f"[node] name_key: {key.name!r} does not hold 32 bytes in hex. {remedy}"
    for name, file in (("head", node.head), ("audit_log", node.audit_log)):
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            yield f"[node] {name}: {file.name!r} cannot be written. Make its folder, or get rights."
    if "://" not in node.ledger and node.head.parent == Path(node.ledger).parent:
        yield (
            "[node] head: it lies beside the ledger, so that a backup put back would take both "
            "back. Name a place that is not restored with it."
        )


def _is_key(file: Path) -> bool:
    with suppress(OSError, ValueError):
        text = read_regular(file, 2**16).decode("ascii").strip()
        return len(bytes.fromhex(text)) >= KEY_BYTES
    return False


def _faults_of_table(table: TablePolicy) -> Iterator[str]:
    try:
        schema, _ = open_files(Files(list(table.files)))
    except (OSError, ValueError, TypeError) as error:
        yield f"files: {error}"
        return
    names = schema.names or ()
    yield from _lacking("bounds", table.bounds, names)
    if table.profile_bounds is not None:
        yield from _lacking("profile_bounds", table.profile_bounds, names)
    if table.unit and table.unit not in names:
        yield (
            f"unit: the table has no column {safe_repr(table.unit)}."
            f"{did_you_mean([table.unit], names)}"
        )
    else:
        yield from _misdeclared(table, schema)


def _lacking(key: str, file: Path, names: tuple[str, ...]) -> Iterator[str]:
    """Give what a bounds file declares and the table has not, or not in this order."""
    declared = list(read_file(file)[0])
    lacking = [name for name in declared if name not in names]
    if lacking:
        listed = ", ".join(map(safe_repr, lacking))
        yield f"{key}: the table lacks {listed}.{did_you_mean(lacking, names)}"
    elif declared != [name for name in names if name in declared]:
        yield (
            f"{key}: columns stand in another order than in the table. Put them in that of the "
            "table, so that analysts see the order in which they are fitted."
        )


def _misdeclared(table: TablePolicy, schema: Schema) -> Iterator[str]:
    """Give what the types of columns do not allow."""
    given, _ = read_file(table.bounds)
    if not set(given) <= set(schema.names or ()):
        return
    try:
        uses = {name: declared_column(name, part).use for name, part in given.items()}
        used = schema.features(table.unit or None, set(given), uses)
        read_bounds(str(table.bounds), used.names, used.n_columns)
    except (ValueError, TypeError) as error:
        yield f"bounds: {error}"


def _faults_of_account(table: TablePolicy, ledger: Ledger) -> Iterator[str]:
    try:
        recorded = ledger.dataset(table.dataset)
    except LedgerError as error:
        yield f"dataset: {error}"
        return
    unit = Unit(table.unit or None, table.max_rows_per_unit).ledger_name
    if recorded.unit != unit:
        yield (
            f"unit: the ledger's budget of {safe_repr(table.dataset)} protects one "
            f"{safe_repr(recorded.unit)}, and the policy one {safe_repr(unit)}. Correct unit, or "
            "create another data set for it."
        )
