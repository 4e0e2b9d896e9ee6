"""A node's folder: policy, bounds, keys and a key for names, as an owner would make them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from privclust.node.policy.policy import Policy
from privclust.node.policy.policy_file import read_policy

NOW = 1_800_000_000.0
"""Long before any clock of a test's own."""
POLICY = """\
[node]
ledger = "ledger.db"
head = "head.json"
audit_log = "audit.jsonl"
name_key = "names.key"

[issuers.hospital]
url = "https://id.hospital.example"
audience = "node"
keys = "hospital.jwks"

[issuers.institute]
url = "https://id.institute.example"
audience = "node"
algorithms = ["ES256", "EdDSA"]
keys = "institute.jwks"

[tables.credit]
files = ["credit/*.parquet"]
dataset = "credit"
bounds = "credit.toml"
profile_bounds = "profile.toml"
about_rows = 100000
estimators = ["PrivateKMeans", "PEMeans", "HDPEMeans", "DPLloyd", "FastLloyd", "BalcanKMeans",
    "LSHCoreset"]
description = "Loans"

[tables.wards]
files = ["wards.parquet"]
dataset = "wards"
bounds = "credit.toml"
unit = "patient"
max_rows_per_unit = 3

[analysts.a1]
issuer = "hospital"
subject = "ada"
tables = ["credit"]
epsilon = 2.0
work_per_day = 100000

[analysts.b2]
issuer = "institute"
subject = "bob"
tables = ["credit", "wards"]
epsilon = 1.0
work_per_day = 50000.0
max_clusters = 16
"""
NUMBERS = """\
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
[columns.amount]
type = "number"
lower = 0
upper = 1e6
"""
BOUNDS = f"""\
{NUMBERS}[columns.day]
type = "date"
lower = 2020-01-01
upper = 2025-12-31
"""
PROFILED = """\
bounds_origin = "public data"
[columns.region]
type = "category"
levels = ["north", "south"]
"""


@cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """Return the same key for the same name: making one takes long."""
    return rsa.generate_private_key(65537, 2048)


@dataclass(frozen=True)
class Key:
    """A signing key of an issuer."""

    kid: str
    private: Any
    algorithm: str

    @property
    def jwk(self) -> dict[str, Any]:
        """The public part as a JWKS has it."""
        kinds: dict[str, Any] = {"RS256": RSAAlgorithm, "PS256": RSAAlgorithm, "ES256": ECAlgorithm}
        kind = kinds.get(self.algorithm, OKPAlgorithm)
        return {**json.loads(kind.to_jwk(self.private.public_key())), "kid": self.kid, "use": "sig"}

    def token(self, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a token; claims that are None are left out."""
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(
            kept, self.private, self.algorithm, headers={"kid": self.kid} | (headers or {})
        )


HOSPITAL = Key("h1", rsa_key("hospital"), "RS256")
INSTITUTE = Key("i1", ec.generate_private_key(ec.SECP256R1()), "ES256")
INSTITUTE_ED = Key("i2", ed25519.Ed25519PrivateKey.generate(), "EdDSA")


def write_keys(file: Path, *keys: Key) -> None:
    """Put a JWKS in place of the one there is, as a program that fetches them would."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"keys": [key.jwk for key in keys]}))
    os.replace(new, file)


def write_node(folder: Path, policy: str = POLICY) -> Path:
    """Write all files of a node and return the path of its policy."""
    (folder / "credit.toml").write_text(BOUNDS)
    (folder / "profile.toml").write_text(PROFILED)
    write_keys(folder / "hospital.jwks", HOSPITAL)
    write_keys(folder / "institute.jwks", INSTITUTE, INSTITUTE_ED)
    key = folder / "names.key"
    key.touch(mode=0o600)
    key.write_text("5a" * 32)
    file = folder / "policy.toml"
    file.write_text(policy)
    return file


def policy_in(folder: Path, policy: str = POLICY) -> Policy:
    """Return the policy of a new node."""
    return read_policy(write_node(folder, policy))


def ada(now: float = NOW, **claims: Any) -> str:
    """Return a token of the hospital for Ada."""
    return HOSPITAL.token(**(_claims("hospital", "ada", now) | claims))


def bob(now: float = NOW, **claims: Any) -> str:
    """Return a token of the institute for Bob."""
    return INSTITUTE.token(**(_claims("institute", "bob", now) | claims))


def _claims(issuer: str, subject: str, now: float) -> dict[str, Any]:
    return {
        "iss": f"https://id.{issuer}.example",
        "aud": "node",
        "sub": subject,
        "exp": int(now) + 300,
    }
