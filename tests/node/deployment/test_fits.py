"""A node as it is deployed: nginx, TLS, tokens, PostgreSQL, workers. What analysts can do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.node_deployment import Deployment, deployed, token_of

from privclust import PrivateKMeans, RemoteTable
from privclust.privacy.ledger.ledger import BudgetExceededError

TABLES = """\
[tables.credit]
files = ["credit.parquet"]
dataset = "credit"
bounds = "bounds.toml"
profile_bounds = "profile.toml"
about_rows = 3000
seconds = 3
description = "Loans"
"""
ALLOWED = 'tables = ["credit"]\nepsilon = 3.0\nwork_per_day = 100000\nmax_queued = 100'
ANALYSTS = {"ada": ALLOWED, "bob": ALLOWED, "eve": ALLOWED.replace("3.0", "0.2")}


def write_rows(file: Path, n_rows: int = 3000) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n_rows)
    columns = {"age": 30.0 + 40 * kind, "amount": 1e5 + 6e5 * kind}
    region = np.where(kind == 0, "north", "south")
    pq.write_table(pa.table({**columns, "region": region}), file)


@pytest.fixture(scope="module")
def node(postgres: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("node")
    write_rows(folder / "credit.parquet")
    with deployed(folder, postgres.new_database(), ANALYSTS, TABLES) as found:
        found.start_web()
        found.start_worker()
        yield found


@pytest.fixture
def remote(node: Deployment, monkeypatch: pytest.MonkeyPatch) -> RemoteTable:
    monkeypatch.setenv("PRIVCLUST_TOKEN", token_of("ada"))
    return RemoteTable(node.url("credit"), ca_file=str(node.folder / "ca.pem"))


def test_estimator_fits_and_profiles_a_table_it_never_sees(remote: RemoteTable) -> None:
    described = remote.describe()
    assert [column.name for column in described.columns] == ["age", "amount"]
    model = PrivateKMeans(2, epsilon=0.5).fit(remote)
    assert sorted(np.round(model.cluster_centers_[:, 0], -1)) == [30, 70]
    profile = model.profile(remote, ["region"], epsilon=0.5)
    assert profile.privacy_statement.run.estimator == "profile"
    assert remote.describe().epsilon_left < described.epsilon_left


def test_fifty_posts_with_one_key_are_one_run(node: Deployment) -> None:
    token, before = token_of("bob"), len(node.ledger.runs("credit"))
    with ThreadPoolExecutor(16) as pool:
        posts = [pool.submit(node.post_fit, token, "one key") for _ in range(50)]
        replies = [post.result() for post in posts]
    assert {reply.status for reply in replies} == {202}, node.describe()
    assert len({reply.json["id"] for reply in replies}) == 1
    assert len(node.ledger.runs("credit")) == before + 1
    other = node.post_fit(token, "one key", epsilon=0.2)
    assert (other.status, other.json["type"]) == (409, "urn:privclust:conflict")


def test_fits_of_another_analyst_do_not_exist(node: Deployment) -> None:
    owner, other = token_of("bob"), token_of("ada")
    run = node.post_fit(owner, "mine").json["id"]
    unknown = "0" * 16
    for method, path in (
        ("GET", "/v1/fits/{}"),
        ("GET", "/v1/fits/{}/model"),
        ("GET", "/v1/fits/{}/events"),
        ("POST", "/v1/fits/{}/cancel"),
    ):
        replies = [node.send(method, path.format(one), other) for one in (run, unknown)]
        assert {reply.status for reply in replies} == {404}
        assert len({reply.body for reply in replies}) == 1
    assert run not in node.send("GET", "/v1/fits", other).body.decode()
    assert node.send("GET", f"/v1/fits/{run}", owner).json["state"] != "cancelled"


def test_cancelled_fit_is_paid_for_and_gives_no_model(node: Deployment) -> None:
    token = token_of("bob")
    run = node.post_fit(token, "to be cancelled").json["id"]
    assert node.send("POST", f"/v1/fits/{run}/cancel", token).json["state"] == "cancelled"
    assert node.send("GET", f"/v1/fits/{run}/model", token).status == 409
    found = node.ledger.run(run)
    assert found.committed == found.reserved


def test_budget_that_is_spent_is_refused_with_what_is_left(
    node: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIVCLUST_TOKEN", token_of("eve"))
    remote = RemoteTable(node.url("credit"), ca_file=str(node.folder / "ca.pem"))
    with pytest.raises(BudgetExceededError, match="epsilon"):
        PrivateKMeans(2, epsilon=0.5).fit(remote)
    reply = node.post_fit(token_of("eve"), "too much", epsilon=0.5)
    assert reply.json["type"] == "urn:privclust:budget-exceeded"
    assert len([run for run in node.ledger.runs("credit") if run.facts["analyst"] == "eve"]) == 0
