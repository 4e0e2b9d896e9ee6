"""``privclust node``: thin commands, and a check that names everything that is wrong at once."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from helpers.command_line import BOUNDS, error_message, lay_out, privclust

from privclust import Ledger
from privclust.cli._node_check import faults_of

Change = Callable[[Any], None]


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A policy as privclust.node.policy reads it, of which nothing is wrong."""
    monkeypatch.chdir(lay_out(tmp_path))
    Path("outside").mkdir()
    Path("keys.json").write_text("{}")
    Path("keys.json").chmod(0o600)
    Path("name.key").write_text("ab" * 32)
    Path("name.key").chmod(0o600)
    Ledger.create("budget.db", "visits", epsilon=4.0, delta=1e-6, unit="who")
    table = SimpleNamespace(
        name="visits",
        files=(str(tmp_path / "visits.parquet"),),
        dataset="visits",
        bounds=tmp_path / "visits.toml",
        profile_bounds=None,
        unit="who",
        max_rows_per_unit=2,
    )
    node = SimpleNamespace(
        ledger=str(tmp_path / "budget.db"),
        head=tmp_path / "outside" / "head",
        audit_log=tmp_path / "outside" / "audit.jsonl",
        name_key=tmp_path / "name.key",
        lanes=1,
        tick=1,
    )
    return SimpleNamespace(
        node=node,
        issuers={"idp": SimpleNamespace(name="idp", keys=tmp_path / "keys.json")},
        tables={"visits": table},
        analysts={"a1": None},
        digest="d" * 64,
    )


@pytest.fixture
def modules(policy: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stand-ins for the modules of a node, and what they were called with."""
    called: dict[str, Any] = {}

    class Jobs:
        def __init__(self, *place: object) -> None:
            called["jobs"] = place

        def counts(self, now: float) -> dict[str, int]:
            return {"queued": 2, "finished": 5}

    def serve(path: Path, **place: object) -> None:
        called["serve"] = (path, place)

    def run_worker(*arguments: object) -> None:
        called["worker"] = arguments

    contents: dict[str, dict[str, Any]] = {
        "policy": {"read_policy": lambda path: policy},
        "jobs": {"JobStore": Jobs},
        "serve": {"serve": serve},
        "worker": {"run_worker": run_worker, "stop_on_signal": lambda: "stop"},
    }
    monkeypatch.setitem(sys.modules, "privclust.node", ModuleType("privclust.node"))
    for name, content in contents.items():
        module = ModuleType(f"privclust.node.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return called


def test_key_is_new_secret_and_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "name.key"
    assert privclust("node", "keygen", file).exit_code == 0
    text = file.read_text()
    assert len(bytes.fromhex(text)) == 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    error_message(privclust("node", "keygen", file), 10, "not overwritten")
    assert file.read_text() == text


def test_right_policy_passes(policy: Any, modules: dict[str, Any]) -> None:
    assert faults_of(policy) == []
    done = privclust("node", "check", "policy.toml")
    assert done.exit_code == 0, done.output
    assert "allows 1 analysts to fit 1 tables" in done.stdout


def test_all_faults_are_named_at_once(policy: Any, modules: dict[str, Any]) -> None:
    policy.tables["visits"].dataset = "other"
    policy.node.name_key.chmod(0o644)
    done = privclust("node", "check", "policy.toml")
    assert done.exit_code == 1
    assert "others may read 'name.key'. Type chmod 600" in done.stderr
    assert "[tables.visits] dataset: " in done.stderr


def _set(place: str, **values: object) -> Change:
    def change(policy: Any) -> None:
        part = policy.node if place == "node" else policy.tables["visits"]
        vars(part).update(values)

    return change


def _write_bounds(text: str) -> Change:
    return lambda policy: policy.tables["visits"].bounds.write_text(text)


HEAD, AGE, WEIGHT = BOUNDS.split("\n\n")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_write_bounds(BOUNDS.replace("age", "agee")), "lacks 'agee'. Did you mean 'age'"),
        (_write_bounds(f"{HEAD}\n\n{WEIGHT}\n{AGE}\n"), "in another order"),
        (_write_bounds(BOUNDS.replace("weight", "name")), "bounds: "),
        (_set("table", unit="whom"), "no column 'whom'. Did you mean 'who'"),
        (_set("table", unit="", max_rows_per_unit=1), "protects one 'who', and the policy one"),
        (_set("table", files=("nowhere/*.csv",)), "files: "),
        (_set("node", ledger="nowhere.db"), "[node] ledger: "),
        (_set("node", name_key=Path("nowhere.key")), "there is no 'nowhere.key'"),
        (_set("node", name_key=Path("keys.json")), "32 bytes in hex"),
        (_set("node", audit_log=Path("nowhere/log")), "audit_log: 'log' cannot be written"),
        (lambda policy: policy.issuers["idp"].keys.unlink(), "[issuers.idp] keys"),
    ],
)
def test_fault_is_named_with_its_remedy(policy: Any, change: Change, text: str) -> None:
    change(policy)
    assert text in "\n".join(faults_of(policy))


def test_head_beside_the_ledger_is_named(policy: Any) -> None:
    policy.node.head = Path(policy.node.ledger).parent / "head"
    (fault,) = faults_of(policy)
    assert "beside the ledger" in fault


def test_profile_bounds_are_compared_too(policy: Any, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(BOUNDS.replace("age", "height"))
    policy.tables["visits"].profile_bounds = tmp_path / "other.toml"
    (fault,) = faults_of(policy)
    assert "profile_bounds: the table lacks 'height'" in fault


def test_web_and_worker_are_started(modules: dict[str, Any], policy: Any) -> None:
    assert privclust("node", "serve", "policy.toml", "--socket", "node.sock").exit_code == 0
    place = {"unix_socket": Path("node.sock"), "port": None, "metrics_port": None}
    assert modules["serve"] == (Path("policy.toml"), place)
    error_message(privclust("node", "serve", "policy.toml"), 3, "--socket FILE, or --port NUMBER")
    assert privclust("node", "worker", "policy.toml").exit_code == 0
    assert modules["worker"] == (policy, Path("policy.toml"), "stop")


def test_status_counts_jobs_and_budgets(modules: dict[str, Any], policy: Any) -> None:
    done = privclust("node", "status", "policy.toml")
    assert done.exit_code == 0, done.output
    assert "queued" in done.stdout
    assert "│ visits │ visits" in done.stdout
    assert modules["jobs"] == (policy.node.ledger, 1, 1)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "privclust.node.policy", None)
    error_message(privclust("node", "check", "policy.toml"), 13, '".[node]"')
