"""Whatever is killed whenever: each fit is charged once, and its model is that of no crash."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.node_deployment import Deployment, Reply, deployed, token_of, until
from helpers.node_job import SEED
from helpers.postgres import execute
from node.deployment.test_fits import ALLOWED, TABLES, write_rows

from privclust import PrivateKMeans
from privclust.testing import RepeatableNoise, noise_from

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
BOUNDS = {"age": (0, 120), "amount": (0, 1e6)}


class Crashes:
    """Kills a part of a node at a moment that a seed decides, and starts it again."""

    def __init__(self, node: Deployment, database: str, seed: int) -> None:
        self._node = node
        self._database = database
        self._rng = np.random.default_rng(seed)
        self._begun = 0
        self.counts = {"web": 0, "worker": 0, "database": 0}
        self.at_work = 0

    @property
    def part(self) -> str:
        """Whose turn it is."""
        return min(self.counts, key=lambda name: self.counts[name])

    def next(self) -> None:
        """Wait for a moment, then end one part, in turns."""
        part = self.part
        self.counts[part] += 1
        if part == "worker":
            until(self._works, self._node.describe)
        time.sleep(self._rng.uniform(0.0, 3.0 if part == "worker" else 1.5))
        if part == "database":
            execute(self._database, CUT)
        elif part == "web":
            self._node.kill("web")
            self._node.start_web()
        else:
            self.at_work += self._node.jobs.held(time.time())[0] > 0
            self._node.kill("worker")
            self._begun = self._attempts()
            self._node.start_worker(noise="repeatable")

    def _works(self) -> bool:
        """Tell whether the newest worker has begun something, or has nothing to begin."""
        return self.nothing_queued() or self._attempts() > self._begun

    def nothing_queued(self) -> bool:
        """Tell whether every fit was begun; start a worker that could not, as systemd does."""
        if self._node.processes["worker"].poll() is not None:  # cut off while it started
            self._node.kill("worker")
            self._node.start_worker(noise="repeatable")
        return all(job.state != "queued" for job in self._node.jobs.of_analyst("ada"))

    def _attempts(self) -> int:
        return sum(job.attempts for job in self._node.jobs.of_analyst("ada"))


def accepted(node: Deployment, token: str, key: str) -> Reply:
    """Send a fit again and again under its key until the node has it, as a client would."""
    while True:
        try:
            reply = node.post_fit(token, key)
        except (OSError, http.client.HTTPException):
            continue
        if reply.status == 202:
            return reply
        assert reply.status in (500, 502, 504), reply.body  # the database or the web was cut


def crashed(postgres: Any, folder: Path, n_crashes: int, seed: int) -> None:
    write_rows(folder / "credit.parquet")
    database, token = postgres.new_database(), token_of("ada")
    allowed = ALLOWED.replace("3.0", "30.0").replace("= 100\n", "= 10000\n")
    with deployed(
        folder, database, {"ada": allowed}, TABLES, epsilon=30.0, node="lanes = 2"
    ) as node:
        node.start_web()
        node.start_worker(noise="repeatable")
        crashes, sent, runs = Crashes(node, database, seed), list[str](), list[str]()
        for number in range(n_crashes):
            if crashes.part == "worker" or number % 6 == 0:  # two crashes for each fit
                sent.append(f"fit {number}")
                runs.append(accepted(node, token, sent[-1]).json["id"])
            crashes.next()
        for key, run in zip(sent, runs, strict=True):  # all keys again: nothing is new
            assert accepted(node, token, key).json["id"] == run
        until(
            crashes.nothing_queued,
            node.describe,
            patience=60.0 + 20.0 * len(runs),  # all of them may be queued still
        )
        check(node, runs, token)
        assert min(crashes.counts.values()) > 0
        if n_crashes >= 100:  # one kill may well hit a worker between two jobs
            assert crashes.at_work >= crashes.counts["worker"] / 2


def check(node: Deployment, runs: list[str], token: str) -> None:
    ledger = node.ledger
    assert ledger.verify() == []
    found = {run.name: run for run in ledger.runs("credit")}
    assert set(found) == set(runs)
    for run in runs:
        job = node.jobs.get(run)
        assert job is not None
        assert (job.state, found[run].state) == ("finished", "finished"), node.describe()
        assert node.ended(run, token)["state"] == "finished"
        model = node.send("GET", f"/v1/fits/{run}/model", token).json
        assert model["cluster_centers"] == undisturbed(node.folder, run)


def undisturbed(folder: Path, run: str) -> Any:
    """Return the centres of the same fit that nobody disturbs."""
    model = PrivateKMeans(2, epsilon=0.1, delta=1e-6, bounds=BOUNDS, random_state=int(run[:8], 16))
    with noise_from(RepeatableNoise(SEED)):
        model.fit(str(folder / "credit.parquet"))
    return json.loads(json.dumps(model.cluster_centers_.tolist()))


def test_crashes_cost_nothing(postgres: Any, tmp_path: Path) -> None:
    crashed(postgres, tmp_path, n_crashes=3, seed=3)


@pytest.mark.long
def test_two_hundred_crashes_cost_nothing(postgres: Any, tmp_path: Path) -> None:
    crashed(postgres, tmp_path, n_crashes=200, seed=4)
