"""What is wrong with a node before it starts: its policy against tables, ledger and files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from privclust.domains.bounds import read_bounds
from privclust.domains.bounds_file import declared_column
from privclust.errors import PolicyError, did_you_mean, safe_repr
from privclust.node.federations._check import faults_of_federations
from privclust.node.identity import algorithms_of_keys
from privclust.node.names import read_name_key
from privclust.node.policy.policy import NO_TEXTS, Issuer, NodeSettings, Policy, TablePolicy
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.unit import ROW
from privclust.sources.dialects import Files
from privclust.sources.files import open_files
from privclust.sources.found_files import found_at
from privclust.sources.schema import Schema


def faults_of(policy: Policy) -> list[str]:
    """Return all that is wrong, each with what to do; of tables, names and types alone are read."""
    found = [*_faults_of_files(policy.node)]
    for issuer in policy.issuers.values():
        found += [f"[issuers.{issuer.name}] keys: {fault}" for fault in _faults_of_keys(issuer)]
    ledger = None
    try:
        ledger = Ledger.open(policy.node.ledger)
        HeadFile(policy.node.head).check(ledger)
    except LedgerError as error:
        found.append(f"[node] {'ledger' if ledger is None else 'head'}: {error}")
    for table in policy.tables.values():
        faults = [*_faults_of_table(table)]
        if ledger is not None:
            faults += faults_of_account(table, ledger)
        found += [f"[tables.{table.name}] {fault}" for fault in faults]
    return [*found, *faults_of_federations(policy)]


def faults_of_account(table: TablePolicy, ledger: Ledger) -> Iterator[str]:
    """Give why the ledger cannot pay for fits of a table: no data set, or one of another unit."""
    try:
        protected = ledger.dataset(table.dataset).unit
    except LedgerError as error:
        yield f"dataset: {error}"
        return
    unit = table.unit or ROW.name
    if protected != unit:
        yield (
            f"unit: the ledger's budget of {safe_repr(table.dataset)} protects one "
            f"{safe_repr(protected)}, and the policy one {safe_repr(unit)}. Correct unit, or "
            "create another data set for it."
        )


def check_not_writable(file: Path) -> None:
    """Refuse a file with which others could let themselves in."""
    try:
        mode = stat.S_IMODE(os.stat(file).st_mode)
    except OSError:
        raise PolicyError(f"{str(file)!r}, which the policy names, cannot be read.") from None
    if mode & 0o022:
        raise PolicyError(
            f"others may write to {str(file)!r}, and could give themselves access. Type: "
            f"chmod go-w {file.name}."
        )


def _faults_of_keys(issuer: Issuer) -> Iterator[str]:
    usable = algorithms_of_keys(issuer)
    if set(usable) & set(issuer.algorithms):
        return
    lacking = (
        f"{issuer.keys.name!r} has no key for {' or '.join(issuer.algorithms)}, which is what "
        "algorithms says"
    )
    if usable:
        listed = " or ".join(f'algorithms = ["{one}"]' for one in usable)
        yield (
            f"{lacking}; it has keys for {' and '.join(usable)}. Write {listed}, by which the "
            "issuer signs, or save its other keys there."
        )
    else:
        yield f"{lacking}, nor for anything else that is known here. Save the issuer's JWKS there."


def _faults_of_files(node: NodeSettings) -> Iterator[str]:
    # The worker's user, who checks, may be kept from the key.
    if os.access(node.name_key, os.R_OK) or not node.name_key.exists():
        try:
            read_name_key(node.name_key)
        except PolicyError as error:
            yield f"[node] name_key: {error}"
    if not os.access(node.head if node.head.exists() else node.head.parent, os.W_OK):
        yield f"[node] head: {node.head.name!r} cannot be written. Make its folder, or get rights."
    if not node.audit_log.parent.is_dir():  # the file is the web process's alone
        yield f"[node] audit_log: there is no folder for {node.audit_log.name!r}. Make it."
    if "://" not in node.ledger and node.head.parent == Path(node.ledger).parent:
        yield (
            "[node] head: it lies beside the ledger, so that a backup put back would take both "
            "back. Name a place that is not restored with it."
        )


def _faults_of_table(table: TablePolicy) -> Iterator[str]:
    try:
        schema, _ = open_files(Files(list(table.files)))
        has_texts = any(file.is_text for given in table.files for file in found_at(given))
    except (OSError, ValueError, TypeError) as error:
        yield f"files: {error}"
        return
    if has_texts:
        yield f"files: {NO_TEXTS}."
    names = schema.names or ()
    yield from _lacking("bounds", table.columns, names)
    yield from _lacking("profile_bounds", table.profile_columns or {}, names)
    if table.unit and table.unit not in names:
        yield (
            f"unit: the table has no column {safe_repr(table.unit)}."
            f"{did_you_mean([table.unit], names)}"
        )
    elif set(table.columns) <= set(names):
        yield from _misdeclared(table, schema)


def _lacking(key: str, columns: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """Give what a bounds file declares and the table has not, or not in this order."""
    lacking = [name for name in columns if name not in names]
    if lacking:
        listed = ", ".join(map(safe_repr, lacking))
        yield f"{key}: the table lacks {listed}.{did_you_mean(lacking, names)}"
    elif list(columns) != [name for name in names if name in columns]:
        yield (
            f"{key}: columns stand in another order than in the table. Put them in that of the "
            "table, in which they are fitted."
        )


def _misdeclared(table: TablePolicy, schema: Schema) -> Iterator[str]:
    """Give what the types of columns do not allow."""
    try:
        uses = {name: declared_column(name, part).use for name, part in table.columns.items()}
        used = schema.features(table.unit or None, set(table.columns), uses)
        read_bounds(table.columns, used.names, used.n_columns)
    except (ValueError, TypeError) as error:
        yield f"bounds: {error}"
