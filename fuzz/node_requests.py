"""What strangers send to a node: bodies and tokens are refused, or ask for what a policy allows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from helpers.node_policy import NOW, ada, policy_in

from privclust.node.identity import Identities, IdentityError
from privclust.node.policy.policy import Policy
from privclust.node.requests.fit_request import read_fit_request
from privclust.node.requests.problems import RequestError

TOKEN = b"\xff"
"""What an input begins with that is a token; all others are bodies."""


def seeds() -> list[bytes]:
    """Return bodies of every kind, and a token."""
    parameters = {"n_clusters": 4, "epsilon": 0.5, "delta": 1e-6, "scale": "private", "period": "7"}
    bodies = [
        {"table": "credit", "estimator": "PrivateKMeans", "parameters": parameters},
        {"table": "credit", "estimator": "PEMeans", "parameters": {}, "columns": ["age", "day"]},
        {"table": "wards", "estimator": "DPLloyd", "parameters": {"epsilon": 1e999}},
        {"table": "credit", "estimator": "PrivateKMeans", "parameters": {"bounds": "/etc/passwd"}},
    ]
    return [*(json.dumps(body).encode() for body in bodies), TOKEN + ada().encode()]


@cache
def _policy(folder: Path) -> Policy:
    return policy_in(folder)


def attempt(data: bytes, folder: Path) -> None:
    """Read what a stranger sent: what comes out is within the policy."""
    policy = _policy(folder)
    if data[:1] == TOKEN:
        _identify(policy, data[1:].decode("latin-1"))
        return
    analyst = policy.analysts["a1"]
    try:
        found = read_fit_request(data, policy, analyst)
    except RequestError:
        return
    assert found.table in analyst.tables
    assert set(found.columns) <= set(policy.tables[found.table].columns)
    assert found.n_clusters <= analyst.max_clusters
    json.dumps(dict(found.parameters), allow_nan=False)


def _identify(policy: Policy, token: str) -> None:
    try:
        found = Identities(policy).identify(f"Bearer {token}", None, NOW)
    except IdentityError:
        return
    assert found.analyst.subject == "ada"
