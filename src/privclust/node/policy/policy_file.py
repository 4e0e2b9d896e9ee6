"""A policy as the owner writes it: one TOML file, of which nothing unknown is taken."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from privclust._files import read_regular
from privclust.domains.bounds import BoundedColumns, declared_columns
from privclust.domains.bounds_file import read_file
from privclust.errors import PolicyError, did_you_mean, safe_repr
from privclust.models._json_schema import fault
from privclust.node.policy._schema import ANALYST, FEDERATION, ISSUER, NODE, TABLE
from privclust.node.policy.federation_policy import check_federations, federation_of
from privclust.node.policy.policy import (
    NO_TEXTS,
    AnalystPolicy,
    Issuer,
    NodeSettings,
    Policy,
    TablePolicy,
)
from privclust.queries.unit import ROW, ROWS_PER_UNIT_MAX
from privclust.sources.found_files import TEXT_ENDINGS

BYTES_MAX = 2**20
"""What a policy may have: thousands of analysts."""
CLUSTERS_MAX = 2**16
LANES_MAX, SECONDS_MAX, MEMORY_MAX_GIB = 64, 30 * 86400, 2**14
_PARTS: Mapping[str, Mapping[str, Any]] = {
    "issuers": ISSUER,
    "tables": TABLE,
    "analysts": ANALYST,
    "federations": FEDERATION,
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy, and the bounds files that it names; paths in it are relative to its folder.

    Parameters
    ----------
    path : path
        The TOML file.

    Raises
    ------
    PolicyError
        If something is unknown, missing or contradictory; the message says where.

    Examples
    --------
    >>> read_policy("missing.toml")
    Traceback (most recent call last):
    privclust.errors.PolicyError: the policy 'missing.toml' cannot be read. Check its path and ...
    """
    file = Path(path)
    content = _bytes(file)
    try:
        parsed = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        known = isinstance(error, tomllib.TOMLDecodeError)
        cause = str(error) if known else "it is not UTF-8, or a number or date in it is none"
        raise PolicyError(
            f"the policy {file.name!r} is not valid TOML: {cause}. Parts begin with a line such "
            "as [tables.credit], and texts stand in quotes."
        ) from None
    _check_keys("the policy", parsed, ("node", *_PARTS))
    folder = Path(os.path.abspath(file)).parent
    tables = {name: _table(name, part, folder) for name, part in _parts(parsed, "tables")}
    together = _parts(parsed, "federations")
    policy = Policy(
        _settings(_checked("node", parsed.get("node", {}), NODE), folder),
        {name: _issuer(name, part, folder) for name, part in _parts(parsed, "issuers")},
        tables,
        {name: _analyst(name, part) for name, part in _parts(parsed, "analysts")},
        sha256(content).hexdigest(),
        {name: federation_of(name, part, folder, tables) for name, part in together},
    )
    _check_together(policy)
    return policy


def _bytes(file: Path) -> bytes:
    try:
        return read_regular(file, BYTES_MAX)
    except OSError:
        wrong = "cannot be read. Check its path and your rights to it"
    except ValueError as error:
        wrong = f"cannot be read: {error}. Name a TOML file"
    raise PolicyError(f"the policy {file.name!r} {wrong}.")


def _parts(parsed: Mapping[str, Any], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parts of a kind, each checked alone, so that messages can say which one."""
    found = parsed.get(kind, {})
    if not isinstance(found, dict):
        _refuse(kind, f"it must have parts of its own, such as [{kind}.name]")
    for name, part in found.items():
        if not _NAME.fullmatch(name):
            _refuse(
                f"{kind}.{safe_repr(name)}",
                "a name has 1 to 64 letters, digits, dots, hyphens and underscores, and begins "
                "with a letter or digit, because addresses and logs hold it",
            )
        yield name, _checked(f"{kind}.{name}", part, _PARTS[kind])


def _checked(place: str, part: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(part, dict):
        _check_keys(f"[{place}] of the policy", part, tuple(schema["properties"]))
    wrong = fault(part, schema, "it")
    if wrong is not None:
        _refuse(place, wrong)
    empty = [key for key, value in part.items() if value == "" and key in schema["required"]]
    if empty:
        _refuse(place, f"{empty[0]} is empty")
    return dict(part)


def _check_keys(place: str, part: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = [key for key in part if key not in known]
    if unknown:
        raise PolicyError(
            f"{place} has {safe_repr(unknown[0])}, which is not known. It may have "
            f"{', '.join(known)}.{did_you_mean(unknown, known)}"
        )


def _settings(part: dict[str, Any], folder: Path) -> NodeSettings:
    for key in ("head", "audit_log", "name_key"):
        part[key] = folder / part[key]
    if "://" not in part["ledger"]:
        part["ledger"] = str(folder / part["ledger"])
    settings = NodeSettings(**part)
    _check_at_most("node", part, lanes=LANES_MAX, tick=3600, max_memory_gib=MEMORY_MAX_GIB)
    _check_positive("node", part, "max_memory_gib")
    return settings


def _issuer(name: str, part: dict[str, Any], folder: Path) -> Issuer:
    if "algorithms" in part:
        part["algorithms"] = tuple(part["algorithms"])
        if not part["algorithms"]:
            _refuse(f"issuers.{name}", "algorithms is empty. Leave it out for RS256")
    part["keys"] = folder / part["keys"]
    return Issuer(name, **part)


def _table(name: str, part: dict[str, Any], folder: Path) -> TablePolicy:
    place = f"tables.{name}"
    if not part["files"]:
        _refuse(
            place, "files is empty. Name the table's files, or patterns such as 'rows/*.parquet'"
        )
    if any(pattern.lower().endswith(TEXT_ENDINGS) for pattern in part["files"]):
        _refuse(place, f"files: {NO_TEXTS}")
    if "estimators" in part:
        part["estimators"] = tuple(part["estimators"])
    part["files"] = tuple(str(folder / pattern) for pattern in part["files"])
    for key, columns in (("bounds", "columns"), ("profile_bounds", "profile_columns")):
        if key in part:
            part[key] = folder / part[key]
            part[columns] = _columns(place, part[key])
    table = TablePolicy(name, **part)
    _check_at_most(place, part, seconds=SECONDS_MAX, max_rows_per_unit=ROWS_PER_UNIT_MAX)
    if table.unit == ROW.name or (table.max_rows_per_unit > 1 and not table.unit):
        _refuse(
            place,
            f"unit is the name of a column of ids other than {ROW.name!r}, and max_rows_per_unit "
            "is how many rows of one id count. Leave both out to protect single rows",
        )
    if table.unit in table.columns:
        _refuse(place, "its unit is among the columns of its bounds. Delete it there")
    return table


def _columns(place: str, file: Path) -> BoundedColumns:
    """Return the columns of a bounds file, if all that they declare is complete."""
    try:
        columns = BoundedColumns(*read_file(file))
        declared_columns(columns, list(columns))
    except (ValueError, TypeError) as error:
        raise PolicyError(f"in [{place}] of the policy: {error}") from None
    return columns


def _analyst(name: str, part: dict[str, Any]) -> AnalystPolicy:
    place = f"analysts.{name}"
    part["tables"] = tuple(part["tables"])
    if "certificate" in part:
        part["certificate"] = part["certificate"].replace(":", "").lower()
        if not _DIGEST.fullmatch(part["certificate"]):
            _refuse(
                place,
                "certificate must be the SHA-256 of the client certificate, 64 hexadecimal "
                "digits, as 'openssl x509 -noout -fingerprint -sha256 -in FILE' prints it",
            )
    _check_positive(place, part, "epsilon", "work_per_day")
    _check_at_most(place, part, max_clusters=CLUSTERS_MAX)
    return AnalystPolicy(name, **part)


def _check_positive(place: str, part: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if key in part and not part[key] > 0:
            _refuse(place, f"{key} must be more than 0")


def _check_at_most(place: str, part: Mapping[str, Any], **most: int) -> None:
    for key, value in most.items():
        if key in part and part[key] > value:
            _refuse(place, f"{key} must be at most {value:,}")


def _check_together(policy: Policy) -> None:
    """Refuse parts that contradict each other."""
    urls: dict[str, str] = {}
    for issuer in policy.issuers.values():
        if issuer.url in urls:
            _refuse(
                f"issuers.{issuer.name}",
                f"it has the url of [issuers.{urls[issuer.url]}]. A token names its issuer by the "
                "url alone, so that each needs its own",
            )
        urls[issuer.url] = issuer.name
    found: dict[tuple[str, str], str] = {}
    for analyst in policy.analysts.values():
        place = f"analysts.{analyst.id}"
        if analyst.issuer not in policy.issuers:
            _refuse(place, _unknown("issuer", analyst.issuer, policy.issuers))
        for table in analyst.tables:
            if table not in policy.tables:
                _refuse(place, _unknown("table", table, policy.tables))
        key = (analyst.issuer, analyst.subject)
        if key in found:
            _refuse(
                place,
                f"it has the issuer and subject of [analysts.{found[key]}]. Put all that this "
                "analyst may do into one of them",
            )
        found[key] = analyst.id
    check_federations(policy.federations, policy.analysts)


def _unknown(what: str, name: str, known: Mapping[str, object]) -> str:
    listed = ", ".join(known) or "none"
    return (
        f"there is no {what} {safe_repr(name)}. The policy has {listed}"
        f"{did_you_mean([name], known).rstrip('?')}"
    )


def _refuse(place: str, cause: str) -> NoReturn:
    raise PolicyError(f"in [{place}] of the policy: {cause}.")
