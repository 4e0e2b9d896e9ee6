"""Who sends a request: a signed token, checked against keys that the owner keeps in a file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.types import Options

from privclust._files import read_regular
from privclust.node.policy._schema import ALGORITHMS
from privclust.node.policy.policy import AnalystPolicy, Issuer, Policy
from privclust.remote._token import TOKEN_MAX

KEYS_MAX = 2**20
"""Bytes of a file of keys."""
LEEWAY = 30.0
"""Seconds by which clocks may differ."""
RSA_BITS_MIN = 2048
SIGNED_MAX = 1024
"""Tokens whose signatures were checked and are not checked again."""
_OPTIONS: Options = {
    "require": ["exp", "iss", "aud", "sub"],
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
"""Times are checked here, by the node's clock and not by the library's own."""


class IdentityError(RuntimeError):
    """A request does not come from an analyst of the policy; why is never said."""

    def __init__(self) -> None:
        super().__init__(
            "the request carries no token of an analyst whom this node knows. Get a new token from "
            "your issuer, and send it as 'Authorization: Bearer TOKEN'."
        )


@dataclass(frozen=True)
class Caller:
    """Who sends a request, and until when the token that says so is accepted."""

    analyst: AnalystPolicy
    until: float


class Identities:
    """Tells which analyst of a policy sends a request.

    Parameters
    ----------
    policy : Policy
        Names issuers, the files of their keys, and analysts.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._issuers = {one.url: one for one in policy.issuers.values()}
        self._keys = {one.name: _KeyFile(one.keys) for one in policy.issuers.values()}
        self._signed: dict[bytes, _Signed] = {}

    def identify(self, authorization: str | None, certificate: bytes | None, now: float) -> Caller:
        """Return the analyst, or raise an error that does not say what is wrong.

        Parameters
        ----------
        authorization : str or None
            The header of this name.
        certificate : bytes or None
            The client certificate of the connection, as DER.
        now : float
            The time, in POSIX seconds.
        """
        try:
            found = self._identified(authorization, certificate, now)
        except Exception:  # whatever a forged token makes a parser raise, it identifies nobody
            found = None
        if found is None:
            raise IdentityError from None
        return found

    def _identified(
        self, authorization: str | None, certificate: bytes | None, now: float
    ) -> Caller | None:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.isascii() or len(token) > TOKEN_MAX:
            return None
        signed = self._checked(token)
        if signed is None or not _is_current(signed.claims, now):
            return None
        analyst = self._policy.analyst(signed.issuer.url, signed.claims["sub"])
        if analyst is None or not _has_certificate(analyst, certificate):
            return None
        return Caller(analyst, _until(signed.claims))

    def _checked(self, token: str) -> _Signed | None:
        """Return a token that its issuer signed; one signature is checked once for each key."""
        digest = sha256(token.encode()).digest()
        known = self._signed.pop(digest, None)
        if known is None or known.key is not self._key(known.issuer, known.header):
            known = self._check(token)
        if known is not None:
            if len(self._signed) >= SIGNED_MAX:
                del self._signed[next(iter(self._signed))]
            self._signed[digest] = known
        return known

    def _check(self, token: str) -> _Signed | None:
        # Read before it is checked, to find the key; the check below covers all of it.
        unchecked = jwt.decode_complete(token, options={"verify_signature": False})
        header = unchecked["header"]
        issuer = self._issuers.get(unchecked["payload"]["iss"])
        key = None if issuer is None else self._key(issuer, header)
        if issuer is None or key is None:
            return None
        claims = _verified(token, key, header["alg"], issuer)
        return _Signed(issuer, header, claims, key) if _is_for_access(header, claims) else None

    def _key(self, issuer: Issuer, header: Mapping[str, Any]) -> Any | None:
        """Return the key that a token names, as the issuer's file has it now."""
        if header["alg"] not in issuer.algorithms:
            return None
        return self._keys[issuer.name].find(header["kid"], header["alg"])


@dataclass(frozen=True)
class _Signed:
    """A token whose signature holds by a key; its times and its analyst are not checked yet."""

    issuer: Issuer
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    key: Any


@dataclass(frozen=True)
class _Keys:
    """What a file held when it was read, and what told that it was that file."""

    stamp: tuple[int, ...]
    by_id: Mapping[str, Any]


class _KeyFile:
    """Public keys by their ids, read again when the file is another one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = _Keys((), {})

    def find(self, key_id: str, algorithm: str) -> Any | None:
        """Return the key of an id, if it is one for this algorithm."""
        found = os.stat(self._file)
        stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        if stamp != self._read.stamp:
            # Old keys go first: an owner who replaced the file withdrew them, even if it is broken.
            self._read = _Keys((), {})
            self._read = _Keys(stamp, _public_keys(self._file))
        key = self._read.by_id.get(key_id)
        return key if key is not None and _fits(key, algorithm) else None


def algorithms_of_keys(issuer: Issuer) -> tuple[str, ...]:
    """Return the algorithms whose tokens the keys in an issuer's file could check."""
    try:
        keys = _public_keys(issuer.keys).values()
    except Exception:  # whatever a broken file makes a parser raise
        return ()
    return tuple(one for one in ALGORITHMS if any(_fits(key, one) for key in keys))


def _public_keys(file: Path) -> dict[str, Any]:
    """Return the public keys of a JWKS for signatures; what no token can name is left out."""
    found: dict[str, Any] = {}
    for entry in json.loads(read_regular(file, KEYS_MAX))["keys"]:
        if entry.get("kty") not in ("RSA", "EC", "OKP") or entry.get("use", "sig") != "sig":
            continue
        if not isinstance(name := entry.get("kid"), str):
            continue
        if name in found:
            raise ValueError("two keys have one id")
        try:
            found[name] = jwt.PyJWK(entry).key
        except jwt.PyJWTError:  # of a curve that is not known here, or not whole
            found[name] = None
    return found


def _fits(key: Any, algorithm: str) -> bool:
    """Tell whether a public key is of the kind and strength that an algorithm needs."""
    if algorithm in ("RS256", "PS256"):
        return isinstance(key, RSAPublicKey) and key.key_size >= RSA_BITS_MIN
    if algorithm == "ES256":
        return isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1)
    return algorithm == "EdDSA" and isinstance(key, Ed25519PublicKey)


def _verified(token: str, key: Any, algorithm: str, issuer: Issuer) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(
        token,
        key,
        algorithms=[algorithm],
        audience=issuer.audience,
        issuer=issuer.url,
        options=_OPTIONS,
    )
    return claims


def _is_for_access(header: Mapping[str, Any], claims: Mapping[str, Any]) -> bool:
    """Tell whether a token was issued to be sent: not one that says who logged in, or out."""
    kind = str(header.get("typ", "JWT")).lower()
    return kind in ("jwt", "at+jwt") and not {"nonce", "events"} & claims.keys()


def _is_current(claims: Mapping[str, Any], now: float) -> bool:
    """Tell whether a token holds now."""
    begins = [_seconds(claims[name]) for name in ("nbf", "iat") if name in claims]
    return _until(claims) > now and all(one <= now + LEEWAY for one in begins)


def _until(claims: Mapping[str, Any]) -> float:
    return _seconds(claims["exp"]) + LEEWAY


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a time")
    return float(value)


def _has_certificate(analyst: AnalystPolicy, certificate: bytes | None) -> bool:
    if analyst.certificate is None:
        return True
    given = sha256(certificate or b"").hexdigest()
    return certificate is not None and compare_digest(given, analyst.certificate)
