"""A policy is read strictly: what it does not name is not allowed, and mistakes say where."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from helpers.node_policy import BOUNDS, POLICY, policy_in, write_node

from privclust.errors import PolicyError
from privclust.node.policy.policy_file import read_policy


def test_all_that_a_policy_says_is_read(tmp_path: Path) -> None:
    policy = policy_in(tmp_path)
    table, analyst = policy.tables["credit"], policy.analysts["b2"]
    assert policy.node.ledger == str(tmp_path / "ledger.db")
    assert policy.node.audit_log == tmp_path / "audit.jsonl"
    assert (policy.node.lanes, policy.node.tick, policy.node.max_memory_gib) == (1, 1, 4.0)
    assert policy.issuers["hospital"].algorithms == ("RS256",)
    assert policy.issuers["institute"].algorithms == ("ES256", "EdDSA")
    assert table.files == (str(tmp_path / "credit/*.parquet"),)
    assert (list(table.columns), table.columns.origin) == (
        ["age", "amount", "day"],
        "domain knowledge",
    )
    assert table.profile_columns is not None
    assert list(table.profile_columns) == ["region"]
    assert (table.unit, table.about_rows, table.seconds) == ("", 100_000, 600)
    assert (analyst.max_clusters, analyst.max_queued, analyst.certificate) == (16, 5, None)


def test_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    file = write_node(tmp_path)
    assert read_policy(file).digest == sha256(file.read_bytes()).hexdigest()


def test_ledger_may_be_an_address(tmp_path: Path) -> None:
    text = POLICY.replace('"ledger.db"', '"postgresql://node@/ledger"')
    assert policy_in(tmp_path, text).node.ledger == "postgresql://node@/ledger"


def test_who_is_not_named_is_nobody(tmp_path: Path) -> None:
    policy = policy_in(tmp_path)
    found = policy.analyst("https://id.hospital.example", "ada")
    assert found is policy.analysts["a1"]
    assert policy.analyst("https://id.institute.example", "ada") is None
    assert policy.analyst("https://id.hospital.example", "bob") is None
    assert policy.analyst("hospital", "ada") is None
    assert policy.table_for(found, "credit") is policy.tables["credit"]
    assert policy.table_for(found, "wards") is policy.table_for(found, "nothing") is None


def test_fingerprint_may_be_written_as_openssl_prints_it(tmp_path: Path) -> None:
    text = POLICY + f'certificate = "{":".join(["AB"] * 32)}"\n'
    assert policy_in(tmp_path, text).analysts["b2"].certificate == "ab" * 32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[node]", "[node", "not valid TOML"),
        ("[node]", "[nodes]", "the policy has 'nodes'.*Did you mean 'node'"),
        ('head = "head.json"\n', "", r"\[node\].*lacks head"),
        ('head = "head.json"', 'head = ""', r"\[node\].*head is empty"),
        ("about_rows = 100000", "about_row = 1", r"\[tables.credit\].*Did you mean 'about_rows'"),
        ("about_rows = 100000", 'seconds = "10"', r"\[tables.credit\].*seconds must be integer"),
        ("about_rows = 100000", "seconds = 0", r"\[tables.credit\].*seconds must be at least 1"),
        ("about_rows = 100000", "seconds = 99999999", "seconds must be at most 2,592,000"),
        ("about_rows = 100000", "max_rows_per_unit = 2", r"\[tables.credit\].*column of ids"),
        ('unit = "patient"', 'unit = "row"', r"\[tables.wards\].*column of ids"),
        ('unit = "patient"', 'unit = "age"', r"\[tables.wards\].*Delete it there"),
        (
            'files = ["wards.parquet"]',
            'files = ["w/*.CSV.gz"]',
            "one odd cell can end every fit",
        ),
        ('files = ["wards.parquet"]', "files = []", r"\[tables.wards\].*files is empty"),
        ('files = ["wards.parquet"]', 'files = "wards.parquet"', "files must be array"),
        ('bounds = "credit.toml"', 'bounds = "none.toml"', r"\[tables.credit\].*'none.toml'"),
        ("[tables.wards]", '[tables."../x"]', "letters, digits, dots"),
        ("[tables.wards]", "[tables.other]", r"\[analysts.b2\].*no table 'wards'.*credit, other"),
        ('"ES256", "EdDSA"', '"HS256"', r"\[issuers.institute\].*one of RS256"),
        ('"ES256", "EdDSA"', '"none"', r"\[issuers.institute\].*one of RS256"),
        ('"ES256", "EdDSA"', "", r"\[issuers.institute\].*algorithms is empty"),
        ("//id.institute.", "//id.hospital.", r"\[issuers.institute\].*url of \[issuers.hospital"),
        ('issuer = "institute"\nsubject = "bob"', 'issuer = "hospital"\nsubject = "ada"', "a1"),
        ('issuer = "institute"', 'issuer = "institut"', "no issuer 'institut'.*Did you mean"),
        ('subject = "bob"', 'subject = ""', r"\[analysts.b2\].*subject is empty"),
        ('subject = "bob"', 'subject = "bob"\ncertificate = "ab"', "64 hexadecimal digits"),
        ("epsilon = 1.0", "epsilon = 0", r"\[analysts.b2\].*epsilon must be more than 0"),
        ("epsilon = 1.0", "epsilon = inf", r"\[analysts.b2\].*epsilon must be number"),
        ("epsilon = 1.0", "epsilon = nan", r"\[analysts.b2\].*epsilon must be number"),
        ("epsilon = 1.0\n", "", r"\[analysts.b2\].*lacks epsilon"),
        ("work_per_day = 50000.0\n", "", r"\[analysts.b2\].*lacks work_per_day"),
        ("max_clusters = 16", "max_clusters = 1000000", "max_clusters must be at most 65,536"),
        ("max_clusters = 16", "max_clusters = true", "max_clusters must be integer"),
    ],
)
def test_mistake_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in POLICY
    with pytest.raises(PolicyError, match=message):
        policy_in(tmp_path, POLICY.replace(old, new, 1))


def test_parts_must_be_parts(tmp_path: Path) -> None:
    text = "issuers = 3\n" + POLICY.partition("[issuers.hospital]")[0]
    with pytest.raises(PolicyError, match=r"\[issuers\].*parts of its own"):
        policy_in(tmp_path, text)


def test_bounds_must_be_complete(tmp_path: Path) -> None:
    file = write_node(tmp_path)
    (tmp_path / "credit.toml").write_text(BOUNDS.replace("upper = 120\n", ""))
    with pytest.raises(PolicyError, match=r"\[tables.credit\].*'age' \(upper\)"):
        read_policy(file)


@pytest.mark.parametrize("content", [b"\xff", b"a = " + b"[" * 100_000, b"a = 1" + b"\n" * 2**20])
def test_strange_bytes_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "policy.toml").write_bytes(content)
    with pytest.raises(PolicyError):
        read_policy(tmp_path / "policy.toml")


def test_device_is_refused() -> None:
    with pytest.raises(PolicyError, match="regular file"):
        read_policy("/dev/zero")
