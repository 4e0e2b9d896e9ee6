"""Only a token that an issuer of the policy signed for this node identifies an analyst."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from helpers.node_policy import (
    HOSPITAL,
    INSTITUTE,
    INSTITUTE_ED,
    NOW,
    POLICY,
    Key,
    ada,
    bob,
    policy_in,
    rsa_key,
    write_keys,
)
from hypothesis import given
from hypothesis import strategies as st

from privclust.node import identity
from privclust.node.identity import LEEWAY, Identities, IdentityError
from privclust.remote._token import TOKEN_MAX

OTHER = Key("h1", rsa_key("other"), "RS256")
CLAIMS: dict[str, Any] = {
    "iss": "https://id.hospital.example",
    "aud": "node",
    "sub": "ada",
    "exp": int(NOW) + 300,
}


@pytest.fixture
def identities(tmp_path: Path) -> Identities:
    return Identities(policy_in(tmp_path))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Identities:
    return Identities(policy_in(tmp_path_factory.mktemp("node")))


def whose(identities: Identities, token: str, certificate: bytes | None = None) -> str | None:
    """Return the id of the analyst of a token, or None."""
    try:
        return identities.identify(f"Bearer {token}", certificate, NOW).analyst.id
    except IdentityError:
        return None


def by_hand(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None) -> str:
    """Return a token as an attacker makes it, signed with a text if one is given."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (header, claims)
    ]
    text = b".".join(parts)
    signature = hmac.digest(secret, text, "sha256") if secret else b""
    return (text + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def pem() -> bytes:
    return (
        rsa_key("hospital")
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )


def test_token_of_each_issuer_is_that_of_its_analyst(identities: Identities) -> None:
    assert whose(identities, ada()) == "a1"
    assert whose(identities, bob()) == "b2"
    assert whose(identities, INSTITUTE_ED.token(**CLAIMS | _institute())) == "b2"


def test_scheme_may_be_written_in_small_letters(identities: Identities) -> None:
    assert identities.identify(f"bearer {ada()}", None, NOW).analyst.id == "a1"


FORGED: dict[str, Callable[[], str]] = {
    "empty": lambda: "",
    "no token": lambda: "abc",
    "HS256 with the public key": lambda: by_hand({"alg": "HS256", "kid": "h1"}, CLAIMS, pem()),
    "HS256 with the file of keys": lambda: by_hand(
        {"alg": "HS256", "kid": "h1"}, CLAIMS, json.dumps({"keys": [HOSPITAL.jwk]}).encode()
    ),
    "alg none": lambda: by_hand({"alg": "none", "kid": "h1"}, CLAIMS, None),
    "alg None": lambda: by_hand({"alg": "None", "kid": "h1"}, CLAIMS, None),
    "alg missing": lambda: by_hand({"kid": "h1"}, CLAIMS, pem()),
    "alg a list": lambda: by_hand({"alg": ["RS256"], "kid": "h1"}, CLAIMS, pem()),
    "signature cut off": lambda: ada().rpartition(".")[0] + ".",
    "payload of another": lambda: _grafted(ada(), ada(sub="bob")),
    "wrong key": lambda: OTHER.token(**CLAIMS),
    "an algorithm that is not pinned": lambda: Key("h1", HOSPITAL.private, "PS256").token(**CLAIMS),
    "unknown kid": lambda: HOSPITAL.token({"kid": "h2"}, **CLAIMS),
    "kid missing": lambda: _without_kid(),
    "kid a path": lambda: OTHER.token({"kid": "../../dev/null"}, **CLAIMS),
    "key in the header": lambda: OTHER.token({"jwk": OTHER.jwk, "jku": "https://x"}, **CLAIMS),
    "unknown critical header": lambda: HOSPITAL.token({"crit": ["x"], "x": 1}, **CLAIMS),
    "a token of who logged in": lambda: ada(nonce="n-0S6_WzA2Mj"),
    "a token of who logged out": lambda: HOSPITAL.token({"typ": "logout+jwt"}, **CLAIMS),
    "an event": lambda: ada(events={}),
    "wrong audience": lambda: ada(aud="other"),
    "no audience": lambda: ada(aud=None),
    "wrong issuer": lambda: ada(iss="https://id.elsewhere.example"),
    "issuer with a slash": lambda: ada(iss="https://id.hospital.example/"),
    "no issuer": lambda: ada(iss=None),
    "issuer a list": lambda: by_hand(
        {"alg": "RS256", "kid": "h1"}, CLAIMS | {"iss": [CLAIMS["iss"]]}, pem()
    ),
    "expired": lambda: ada(exp=int(NOW) - 31),
    "no exp": lambda: ada(exp=None),
    "exp a text": lambda: ada(exp="9999999999"),
    "exp true": lambda: ada(exp=True),
    "exp infinite": lambda: ada(exp=float("inf")),
    "not yet": lambda: ada(nbf=int(NOW) + 31),
    "issued later": lambda: ada(iat=int(NOW) + 31),
    "no sub": lambda: ada(sub=None),
    "unknown subject": lambda: ada(sub="eve"),
    "subject in capitals": lambda: ada(sub="ADA"),
    "subject of the other issuer": lambda: ada(sub="bob"),
    "too long": lambda: ada(filler="x" * TOKEN_MAX),
    "hospital's key for the institute": lambda: HOSPITAL.token(**CLAIMS | _institute()),
    "institute's key for the hospital": lambda: INSTITUTE.token(**CLAIMS),
    "institute's key with its id": lambda: INSTITUTE.token({"kid": "h1"}, **CLAIMS),
    "hospital's key with the institute's id": lambda: HOSPITAL.token(
        {"kid": "i1"}, **CLAIMS | _institute()
    ),
    "deeply nested": lambda: _raw(b"[" * 5000),
    "not UTF-8": lambda: _raw(b"\xff"),
}


@pytest.mark.attack
@pytest.mark.parametrize("name", FORGED)
def test_forged_token_identifies_nobody(identities: Identities, name: str) -> None:
    assert whose(identities, FORGED[name]()) is None


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "{}", "Basic {}", "Token {}", "Bearer  {}", "Bearer {} x"],
)
def test_header_must_be_a_bearer_token(identities: Identities, header: str | None) -> None:
    given = None if header is None else header.format(ada())
    with pytest.raises(IdentityError):
        identities.identify(given, None, NOW)


@given(st.text(max_size=200))
def test_any_text_identifies_nobody(shared: Identities, text: str) -> None:
    with pytest.raises(IdentityError):
        shared.identify(f"Bearer {text}", None, NOW)


def test_refusal_never_says_why(identities: Identities) -> None:
    texts = set()
    for forged in FORGED.values():
        with pytest.raises(IdentityError) as raised:
            identities.identify(f"Bearer {forged()}", None, NOW)
        texts.add(str(raised.value))
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__
    assert len(texts) == 1


def test_clocks_may_differ_a_little(identities: Identities) -> None:
    assert whose(identities, ada(exp=int(NOW) - 29)) == "a1"
    assert whose(identities, ada(nbf=int(NOW) + 29, iat=int(NOW) + 29)) == "a1"


def test_token_that_was_accepted_ends_at_its_time(identities: Identities) -> None:
    token = ada()
    assert whose(identities, token) == "a1"
    with pytest.raises(IdentityError):
        identities.identify(f"Bearer {token}", None, CLAIMS["exp"] + LEEWAY)


def test_signature_is_checked_once(identities: Identities, monkeypatch: pytest.MonkeyPatch) -> None:
    token = ada()
    assert whose(identities, token) == "a1"
    monkeypatch.delattr(jwt, "decode")
    assert whose(identities, token) == "a1"
    assert whose(identities, ada(exp=int(NOW) + 301)) is None


def test_tokens_that_are_kept_are_limited(
    identities: Identities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "SIGNED_MAX", 2)
    tokens = [ada(exp=int(NOW) + 300 + number) for number in range(3)]
    assert {whose(identities, token) for token in tokens} == {"a1"}
    monkeypatch.delattr(jwt, "decode")
    assert [whose(identities, token) for token in tokens] == [None, "a1", "a1"]


# Keys that change ---------------------------------------------------------------------------------


@pytest.mark.attack
def test_replaced_keys_hold_at_once(tmp_path: Path) -> None:
    identities = Identities(policy_in(tmp_path))
    assert whose(identities, ada()) == "a1"
    write_keys(tmp_path / "hospital.jwks", OTHER)
    assert whose(identities, ada()) is None
    assert whose(identities, OTHER.token(**CLAIMS)) == "a1"
    write_keys(tmp_path / "hospital.jwks", HOSPITAL, Key("h2", rsa_key("other"), "RS256"))
    assert whose(identities, ada()) == "a1"


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", '{"keys": [{}, 3]}', '{"keys": 3}'])
def test_broken_keys_identify_nobody(tmp_path: Path, content: str) -> None:
    identities = Identities(policy_in(tmp_path))
    assert whose(identities, ada()) == "a1"
    (tmp_path / "hospital.jwks").write_text(content)
    assert whose(identities, ada()) is None
    assert whose(identities, ada()) is None
    assert whose(identities, bob()) == "b2"
    write_keys(tmp_path / "hospital.jwks", HOSPITAL)
    assert whose(identities, ada()) == "a1"


def test_missing_keys_identify_nobody(tmp_path: Path) -> None:
    identities = Identities(policy_in(tmp_path))
    assert whose(identities, ada()) == "a1"
    (tmp_path / "hospital.jwks").unlink()
    assert whose(identities, ada()) is None


@pytest.mark.parametrize(
    "entry",
    [
        {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode(), "kid": "h1"},
        HOSPITAL.jwk | {"use": "enc"},
        INSTITUTE.jwk | {"kid": "h1"},
    ],
    ids=["secret", "encryption", "another kind"],
)
def test_keys_of_other_kinds_are_not_used(tmp_path: Path, entry: dict[str, Any]) -> None:
    identities = Identities(policy_in(tmp_path))
    (tmp_path / "hospital.jwks").write_text(json.dumps({"keys": [entry]}))
    assert whose(identities, ada()) is None
    assert whose(identities, by_hand({"alg": "HS256", "kid": "h1"}, CLAIMS, b"s" * 32)) is None


def test_weak_keys_are_not_used(tmp_path: Path) -> None:
    weak = Key("h1", rsa.generate_private_key(65537, 1024), "RS256")
    curve = Key("i1", ec.generate_private_key(ec.SECP256K1()), "ES256")
    identities = Identities(policy_in(tmp_path))
    write_keys(tmp_path / "hospital.jwks", weak)
    write_keys(tmp_path / "institute.jwks", curve)
    with pytest.warns(match="bits"):
        token = weak.token(**CLAIMS)
    assert whose(identities, token) is None
    assert whose(identities, bob()) is None


@pytest.mark.parametrize(
    "entry",
    [
        {name: value for name, value in OTHER.jwk.items() if name != "kid"},
        INSTITUTE.jwk | {"kid": "h2", "crv": "brainpoolP256r1"},
        {"kty": "OKP", "crv": "X25519", "x": "AA", "kid": "h2"},
        {"kty": "RSA", "kid": ["h2"]},
    ],
    ids=["no id", "unknown curve", "no curve for signatures", "strange id"],
)
def test_key_that_cannot_be_used_locks_nobody_out(tmp_path: Path, entry: dict[str, Any]) -> None:
    identities = Identities(policy_in(tmp_path))
    (tmp_path / "hospital.jwks").write_text(json.dumps({"keys": [entry, HOSPITAL.jwk]}))
    assert whose(identities, ada()) == "a1"
    assert whose(identities, OTHER.token({"kid": "h2"}, **CLAIMS)) is None


def test_two_keys_of_one_id_are_refused(tmp_path: Path) -> None:
    identities = Identities(policy_in(tmp_path))
    write_keys(tmp_path / "hospital.jwks", HOSPITAL, OTHER)
    assert whose(identities, ada()) is None


# Client certificates ------------------------------------------------------------------------------


def test_certificate_of_the_policy_must_come_with_the_token(tmp_path: Path) -> None:
    text = POLICY + f'certificate = "{sha256(b"bob").hexdigest()}"\n'
    identities = Identities(policy_in(tmp_path, text))
    assert whose(identities, bob(), b"bob") == "b2"
    assert whose(identities, bob(), b"eve") is None
    assert whose(identities, bob()) is None
    assert whose(identities, ada(), b"any") == "a1"


def test_certificate_alone_identifies_nobody(tmp_path: Path) -> None:
    text = POLICY + f'certificate = "{sha256(b"bob").hexdigest()}"\n'
    identities = Identities(policy_in(tmp_path, text))
    with pytest.raises(IdentityError):
        identities.identify(None, b"bob", NOW)


# Tokens of an attacker ----------------------------------------------------------------------------


def _institute() -> dict[str, Any]:
    return {"iss": "https://id.institute.example", "sub": "bob"}


def _grafted(token: str, other: str) -> str:
    head, _, signature = token.split(".")
    return ".".join([head, other.split(".")[1], signature])


def _without_kid() -> str:
    return jwt.encode(CLAIMS, HOSPITAL.private, "RS256")


def _raw(payload: bytes) -> str:
    head, _, signature = ada().split(".")
    return f"{head}.{base64.urlsafe_b64encode(payload).rstrip(b'=').decode()}.{signature}"
