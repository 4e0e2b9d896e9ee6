"""All that is wrong with a node is named before it starts, each with its remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.node_policy import BOUNDS, INSTITUTE, POLICY, write_keys, write_node
from node.test_booking import write_table

from privclust import Ledger
from privclust.node.check import faults_of
from privclust.node.policy.policy import Policy
from privclust.node.policy.policy_file import read_policy
from privclust.node.set_up import set_up
from privclust.privacy.accounting import gaussian_spend
from privclust.privacy.ledger.journal import LedgerError


def policy_of(folder: Path, policy: str, bounds: str = BOUNDS) -> Policy:
    """Return a policy with one table, of which nothing is wrong but what a test changed."""
    alone = policy[: policy.index("[tables.wards]")] + policy[policy.index("[analysts.a1]") :]
    alone = alone[: alone.index("[analysts.b2]")]
    alone = alone.replace('"head.json"', '"outside/head.json"')
    path = write_node(folder, alone)
    (folder / "credit.toml").write_text(bounds)
    (folder / "outside").mkdir()
    write_table(folder)
    Ledger.create(str(folder / "ledger.db"), "credit", epsilon=4.0, delta=1e-6)
    found = read_policy(path)
    set_up(found)
    return found


def test_right_policy_has_no_fault(tmp_path: Path) -> None:
    assert faults_of(policy_of(tmp_path, POLICY)) == []


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("columns.age]", "columns.agee]", "lacks 'agee'. Did you mean 'age'"),
        ("columns.age]", "columns.region]", "in another order"),
        ("columns.day]", "columns.secret]", "bounds: "),
    ],
)
def test_bounds_that_do_not_fit_the_table(tmp_path: Path, old: str, new: str, text: str) -> None:
    faults = faults_of(policy_of(tmp_path, POLICY, BOUNDS.replace(old, new)))
    assert text in "\n".join(faults)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('dataset = "credit"', 'dataset = "other"', "[tables.credit] dataset: "),
        ('dataset = "credit"', 'dataset = "credit"\nunit = "whom"', "no column 'whom'"),
        ('dataset = "credit"', 'dataset = "credit"\nunit = "secret"', "protects one 'row'"),
        ("credit/*.parquet", "nowhere/*.parquet", "[tables.credit] files: "),
    ],
)
def test_table_that_is_not_as_the_policy_says(
    tmp_path: Path, old: str, new: str, text: str
) -> None:
    assert text in "\n".join(faults_of(policy_of(tmp_path, POLICY.replace(old, new))))


def test_folder_of_csv_files_is_refused(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, POLICY.replace("credit/*.parquet", "texts"))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "rows.csv").write_text("age,amount,region,day\n", encoding="utf-8")
    assert "[tables.credit] files: in CSV and Excel files" in "\n".join(faults_of(policy))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"ledger": "nowhere.db"}, "[node] ledger: there is no ledger"),
        ({"name_key": Path("nowhere.key")}, "[node] name_key: "),
        ({"audit_log": Path("nowhere/log")}, "audit_log: there is no folder"),
        ({"head": Path("nowhere")}, "[node] head: "),
    ],
)
def test_file_that_is_not_there(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    policy = policy_of(tmp_path, POLICY)
    policy = replace(policy, node=replace(policy.node, **changes))
    assert text in "\n".join(faults_of(policy))


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda policy: policy.node.name_key.chmod(0o644), "others may read"),
        (lambda policy: policy.node.name_key.write_text("ab"), "32 random bytes"),
        (lambda policy: policy.issuers["hospital"].keys.unlink(), "[issuers.hospital] keys"),
        (lambda policy: policy.issuers["hospital"].keys.write_text("{broken"), "no key for RS256"),
        (
            lambda policy: write_keys(policy.issuers["hospital"].keys, INSTITUTE),
            'algorithms says; it has keys for ES256. Write algorithms = ["ES256"]',
        ),
        (lambda policy: policy.node.head.write_text("{}"), "[node] head: "),
    ],
)
def test_file_that_is_not_as_it_should_be(
    tmp_path: Path, spoil: Callable[[Policy], None], text: str
) -> None:
    policy = policy_of(tmp_path, POLICY)
    spoil(policy)
    assert text in "\n".join(faults_of(policy))


def test_head_beside_the_ledger_is_named(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, POLICY)
    beside = policy.node.head.rename(tmp_path / "head")
    (fault,) = faults_of(replace(policy, node=replace(policy.node, head=beside)))
    assert "beside the ledger" in fault


def test_head_is_not_made_for_a_ledger_with_runs(tmp_path: Path) -> None:
    """It may be an older copy, whose budget would be spent again."""
    policy = policy_of(tmp_path, POLICY)
    ledger = Ledger.open(policy.node.ledger)
    ledger.reserve("credit", gaussian_spend(1000, 1), {})
    policy.node.head.unlink()
    with pytest.raises(LedgerError, match="--ledger-is-newest"):
        set_up(policy)
    assert not policy.node.head.exists()
    assert len(set_up(policy, ledger_is_newest=True)) == 1
    assert faults_of(policy) == []
