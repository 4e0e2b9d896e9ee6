"""The part of a policy about federations: what it must say, and what is checked before a start."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from helpers.command_line import privclust
from helpers.federation_member import POLICY, SOUTH, WEST, write_north

from privclust.cohorts.identity import read_identity
from privclust.errors import PolicyError
from privclust.node.check import faults_of
from privclust.node.policy.policy_file import read_policy
from privclust.node.web.serve import checked_node
from privclust.privacy.accounting import epsilon_of, mu_of

WITHOUT_PARTNERS = POLICY.partition("[federations.loans.partners]")[0]


def read(folder: Path, policy: str) -> None:
    file = write_north(folder)
    file.write_text(policy)
    read_policy(file)


def test_columns_and_unit_are_those_of_the_table(tmp_path: Path) -> None:
    file = write_north(tmp_path)
    member = checked_node(file).federations["loans"].hosted.member
    assert member.columns == ("age", "amount")
    assert member.unit.column is None
    assert member.colluding == 1
    assert dict(member.partners) == {"south": SOUTH.public, "west": WEST.public}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('table = "credit"', 'table = "other"', "no table 'other'"),
        ('coordinators = ["a1", "b2"]', 'coordinators = ["z9"]', "no analyst 'z9'"),
        ("minimum = 2", "minimum = 1", "minimum must be more than colluding"),
        ("minimum = 2", "minimum = 2\ncolluding = 2", "minimum must be more than colluding"),
        ('member = "north"', 'member = "south"', "different names"),
        ('member = "north"', 'member = "no rth"', "different names"),
        ("epsilon_alone = 4.0", "epsilon_alone = 0.0", "more than 0"),
        (SOUTH.public.hex(), WEST.public.hex(), "same public key"),
        (SOUTH.public.hex(), "5c1e", "64 hexadecimal digits"),
        ("minimum = 2", "minimum = 2\ncolumns = 3", "not known"),
        ('identity = "north.key"\n', "", "lacks identity"),
        (
            "[federations.loans]",
            WITHOUT_PARTNERS.partition("[federations.loans]")[2].join(
                ["[federations.other]", "[federations.loans]"]
            ),
            "a folder of its own",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    assert old in POLICY
    with pytest.raises(PolicyError, match=why):
        read(tmp_path, POLICY.replace(old, new, 1))


def test_key_is_made_once_and_its_public_half_printed(tmp_path: Path) -> None:
    file = write_north(tmp_path)
    key = tmp_path / "north.key"
    key.unlink()
    printed = privclust("node", "init", file).stdout
    public = read_identity(key).public.hex()
    assert "made north.key" in printed
    assert f'under partners: north = "{public}"' in " ".join(printed.split())
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert public in " ".join(privclust("node", "init", file).stdout.split())
    assert key.read_text() not in printed


def test_check_says_all_that_is_wrong(tmp_path: Path) -> None:
    file = write_north(tmp_path)
    assert faults_of(read_policy(file)) == []
    (tmp_path / "secrets").chmod(0o755)
    (tmp_path / "north.key").chmod(0o644)
    file.write_text(
        WITHOUT_PARTNERS.replace('["a1", "b2"]', "[]").replace("alone = 4.0", "alone = 1.0")
    )
    found = faults_of(read_policy(file))
    words = ("identity: others may read", "secrets: others may enter", "partners: there are 1")
    for word in (*words, "coordinators: there are none", "epsilon_alone: it is less"):
        assert [fault for fault in found if word in fault], (word, found)
    with pytest.raises(PolicyError, match="others may"):
        checked_node(file)


def test_check_tells_one_fit_from_all_fits(tmp_path: Path) -> None:
    """The ledger has epsilon 10 in total: two of three shares are those of others."""
    done = privclust("node", "check", write_north(tmp_path))
    said = " ".join(done.stdout.split())
    found = re.search(r"of at most 4, and all fits that the ledger can pay for (\S+):", said)
    assert found is not None, done.output
    exact = epsilon_of(2**0.5 * mu_of(10.0, 1e-6), 1e-6)
    assert exact <= float(found[1]) <= exact * 1.001


def test_key_of_this_node_among_partners_is_found(tmp_path: Path) -> None:
    file = write_north(tmp_path)
    own = read_identity(tmp_path / "north.key").public.hex()
    file.write_text(POLICY.replace(SOUTH.public.hex(), own))
    assert any("this node's own public key" in fault for fault in faults_of(read_policy(file)))


def test_group_may_read_secrets_where_the_worker_is_another_user(tmp_path: Path) -> None:
    file = write_north(tmp_path)
    (tmp_path / "secrets").chmod(0o2750)
    assert faults_of(read_policy(file)) == []
    assert checked_node(file).federations["loans"].hosted.store.count_offers() == 0
