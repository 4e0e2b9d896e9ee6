"""``privclust node``: thin commands over the modules of a node."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import sys
import time
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers.command_line import error_message, lay_out, privclust
from helpers.node_policy import HOSPITAL, write_keys

from privclust import Ledger
from privclust.node.jobs.job import NewJob
from privclust.node.jobs.store import JobStore, Quota
from privclust.node.policy.policy import Policy
from privclust.node.policy.policy_file import read_policy
from privclust.privacy.ledger.head_file import HeadFile

POLICY = """\
[node]
ledger = "budget.db"
head = "outside/head"
audit_log = "outside/audit.jsonl"
name_key = "name.key"
[issuers.idp]
url = "https://id.example"
audience = "node"
keys = "keys.json"
[tables.visits]
files = ["visits.parquet"]
dataset = "visits"
bounds = "visits.toml"
unit = "who"
max_rows_per_unit = 2
[analysts.a1]
issuer = "idp"
subject = "ada"
tables = ["visits"]
epsilon = 1.0
work_per_day = 100
"""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policy:
    """A policy of which nothing is wrong, in the current folder."""
    monkeypatch.chdir(lay_out(tmp_path))
    Path("outside").mkdir()
    write_keys(Path("keys.json"), HOSPITAL)
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    Ledger.create("budget.db", "visits", epsilon=4.0, delta=1e-6, unit="who")
    return read_policy("policy.toml")


def test_init_makes_what_is_missing_and_changes_nothing_later(policy: Policy) -> None:
    done = privclust("node", "init", "policy.toml")
    assert done.exit_code == 0, done.output
    assert "made name.key" in done.stdout
    assert "made head" in done.stdout
    key, head = policy.node.name_key, policy.node.head.read_bytes()
    text = key.read_text()
    assert len(bytes.fromhex(text)) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = privclust("node", "init", "policy.toml")
    assert "made" not in again.stdout
    assert (key.read_text(), policy.node.head.read_bytes()) == (text, head)


@pytest.mark.parametrize(("place", "key"), [("outside", "head"), ("keys", "name_key")])
def test_init_names_the_folder_that_is_missing_and_makes_nothing(
    policy: Policy, place: str, key: str
) -> None:
    Path("outside").rmdir()
    text = POLICY.replace('"name.key"', '"keys/name.key"')
    Path("policy.toml").write_text(text, encoding="utf-8")
    if place == "keys":
        Path("outside").mkdir()
    else:
        Path("keys").mkdir()
    done = privclust("node", "init", "policy.toml")
    assert done.exit_code != 0
    said = " ".join(done.stderr.split())
    assert "there is no folder" in said
    assert f"for {key}" in said
    assert not list(Path("keys").glob("*"))


def test_init_takes_the_url_of_a_ledgers_owner_and_no_file(policy: Policy) -> None:
    done = privclust("node", "init", "policy.toml", "--ledger", "other.db")
    error_message(done, 3, "postgresql://owner@host/budgets")
    assert not policy.node.name_key.exists()


def test_check_passes_a_right_policy_and_names_all_faults_at_once(policy: Policy) -> None:
    privclust("node", "init", "policy.toml")
    done = privclust("node", "check", "policy.toml")
    assert done.exit_code == 0, done.output
    assert "names 1 analyst and 1 table," in done.stdout
    policy.node.name_key.chmod(0o644)
    Path("policy.toml").write_text(
        POLICY.replace('dataset = "visits"', 'dataset = "other"'), encoding="utf-8"
    )
    done = privclust("node", "check", "policy.toml")
    assert done.exit_code == 1
    assert "others may read or write the key for names" in done.stderr
    assert "[tables.visits] dataset: " in done.stderr


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What web process and worker were started with, by stand-ins of both."""
    called: dict[str, Any] = {}

    def serve(path: Path, **place: object) -> None:
        called["serve"] = (path, place)

    def run_worker(*arguments: object) -> None:
        called["worker"] = arguments

    contents: dict[str, dict[str, Any]] = {
        "web.serve": {"serve": serve},
        "workers.worker": {
            "run_worker": run_worker,
            "start_up": lambda policy: None,
            "stop_on_signal": lambda: "stop",
        },
    }
    for name, content in contents.items():
        module = ModuleType(f"privclust.node.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return called


def test_web_and_worker_are_started(started: dict[str, Any], policy: Policy) -> None:
    assert privclust("node", "serve", "policy.toml", "--socket", "node.sock").exit_code == 0
    place = {"unix_socket": Path("node.sock"), "port": None, "metrics_port": None}
    assert started["serve"] == (Path("policy.toml"), place)
    assert privclust("node", "worker", "policy.toml").exit_code == 0
    assert started["worker"] == (policy, Path("policy.toml"), "stop")


def test_web_needs_a_place(policy: Policy) -> None:
    done = privclust("node", "serve", "policy.toml")
    error_message(done, 3, "--socket FILE, or a port with --port NUMBER")


def test_status_tells_of_an_older_copy_of_the_ledger(policy: Policy) -> None:
    privclust("node", "init", "policy.toml")
    with closing(sqlite3.connect("budget.db")) as opened:
        opened.execute("VACUUM INTO 'copy.db'")
    Ledger.open("budget.db").lower("visits", 3.0)
    HeadFile(policy.node.head).advance(Ledger.open("budget.db"))
    for name in ("budget.db", "budget.db-wal", "budget.db-shm"):
        Path(name).unlink(missing_ok=True)
    shutil.move("copy.db", "budget.db")
    done = privclust("node", "status", "policy.toml")
    error_message(done, 9, "an older copy was put back")
    assert "│ visits │ visits" in done.stdout


def test_status_counts_jobs_and_budgets(policy: Policy) -> None:
    privclust("node", "init", "policy.toml")
    done = privclust("node", "status", "policy.toml")
    assert done.exit_code == 0, done.output
    assert "queued" in done.stdout
    assert "Workers have 0 of them." in done.stdout
    assert "no worker has them" not in done.stdout
    assert "│ visits │ visits" in done.stdout


def test_status_says_that_no_worker_runs(policy: Policy) -> None:
    jobs, before = JobStore(policy.node.ledger), time.time() - 100
    job = NewJob("0" * 16, "fit", "a1", "visits", "{}", price=10.0, seconds=600)
    jobs.submit(job, Quota(max_queued=5, work_per_day=100.0), before)
    done = privclust("node", "status", "policy.toml")
    assert "1 should have begun more than a minute ago, and no worker has them." in done.stdout


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "privclust.node.policy.policy_file", None)
    error_message(privclust("node", "check", "policy.toml"), 13, '".[node]"')
