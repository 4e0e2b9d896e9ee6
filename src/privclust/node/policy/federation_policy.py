"""What the owner of a node lets it take part in with others: a part of its policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from privclust.cohorts.identity import KEY_BYTES
from privclust.cohorts.membership import MemberPolicy
from privclust.domains.bounds import BoundedColumns, read_bounds
from privclust.errors import PolicyError, safe_repr
from privclust.privacy.noise_shares import MEMBERS_MAX
from privclust.queries.unit import Unit

_PUBLIC_KEY = re.compile(rf"[0-9a-f]{{{2 * KEY_BYTES}}}")
_MEMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class FederationPolicy:
    """One federation that a node takes part in.

    Attributes
    ----------
    name : str
        What addresses call it.
    table : str
        The table of the policy whose columns, bounds and unit hold.
    member : str
        What the other nodes call this one.
    identity, secrets : Path
        The file of this node's private key, and the folder for the secrets of fits.
    partners : mapping of str to bytes
        The other nodes, and the public keys of their identities.
    coordinators : tuple of str
        The analysts of the policy who may send requests.
    minimum, colluding : int
        The smallest cohort, and against how many members together a fit guarantees at least.
    epsilon, epsilon_alone : float
        The most that one fit may have, and the most of one fit against all other members together.
        What all fits may have together is limited by the ledger.
    seconds : int
        For how long a fit's process replies; each such time counts as work of its coordinator.
    megabytes : int
        What requests and replies of one fit may take up in the ledger, which keeps them for ever.
    """

    name: str
    table: str
    member: str
    identity: Path
    secrets: Path
    partners: Mapping[str, bytes]
    coordinators: tuple[str, ...]
    minimum: int
    epsilon: float
    epsilon_alone: float
    seconds: int
    colluding: int = 1
    megabytes: int = 64

    @property
    def place(self) -> str:
        """Where in the policy it is."""
        return f"federations.{self.name}"

    @property
    def ledger_bytes(self) -> int:
        """What one fit may write into the ledger."""
        return self.megabytes * 10**6

    def member_policy(self, columns: BoundedColumns, unit: Unit) -> MemberPolicy:
        """Return what terms of a fit are compared with: `columns` and `unit` are the table's."""
        names = tuple(columns)
        return MemberPolicy(
            self.member,
            self.partners,
            self.coordinators,
            names,
            read_bounds(columns, names, len(names)).domain,
            unit,
            self.minimum,
            self.colluding,
            self.epsilon,
            self.epsilon_alone,
        )


def federation_of(
    name: str, part: dict[str, Any], folder: Path, tables: Mapping[str, Any]
) -> FederationPolicy:
    """Read one part of a policy, whose types were checked; paths are relative to `folder`."""
    place = f"federations.{name}"
    if part["table"] not in tables:
        _refuse(place, f"there is no table {safe_repr(part['table'])}")
    found = FederationPolicy(
        **{
            **part,
            "name": name,
            "identity": folder / part["identity"],
            "secrets": folder / part["secrets"],
            "partners": {
                partner: _public_key(place, partner, key)
                for partner, key in part.get("partners", {}).items()
            },
            "coordinators": tuple(part["coordinators"]),
            "seconds": part.get("seconds", tables[part["table"]].seconds),
        }
    )
    _check(found)
    return found


def check_federations(
    federations: Mapping[str, FederationPolicy], analysts: Mapping[str, object]
) -> None:
    """Refuse federations that contradict each other, or name analysts that there are not."""
    folders: dict[Path, str] = {}
    for one in federations.values():
        unknown = [name for name in one.coordinators if name not in analysts]
        if unknown:
            _refuse(one.place, f"there is no analyst {safe_repr(unknown[0])}")
        if one.secrets in folders:
            _refuse(
                one.place,
                f"it has the secrets of [federations.{folders[one.secrets]}]. Give each federation "
                "a folder of its own",
            )
        folders[one.secrets] = one.name


def _check(one: FederationPolicy) -> None:
    names = [one.member, *one.partners]
    if not all(_MEMBER.fullmatch(name) for name in names) or len(set(names)) < len(names):
        _refuse(
            one.place,
            "member and partners have different names of 1 to 64 letters, digits, dots, hyphens "
            "and underscores",
        )
    if len(set(one.partners.values())) < len(one.partners):
        _refuse(one.place, "two partners have the same public key")
    if not one.colluding < one.minimum <= MEMBERS_MAX:
        _refuse(
            one.place,
            f"minimum must be more than colluding, {one.colluding}, and at most {MEMBERS_MAX}: "
            "those who collude see the sum of the others",
        )
    if not one.epsilon > 0 or not one.epsilon_alone > 0:
        _refuse(one.place, "epsilon and epsilon_alone must be more than 0")


def _public_key(place: str, partner: str, key: str) -> bytes:
    if not _PUBLIC_KEY.fullmatch(key.lower()):
        _refuse(
            place,
            f"the public key of {safe_repr(partner)} must be {2 * KEY_BYTES} hexadecimal digits, "
            "as 'privclust node init' prints it there",
        )
    return bytes.fromhex(key)


def _refuse(place: str, cause: str) -> NoReturn:
    raise PolicyError(f"in [{place}] of the policy: {cause}.")
