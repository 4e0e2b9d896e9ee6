"""What a new node needs beside its policy, made once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from privclust.cohorts.fit_store import FitStore
from privclust.errors import PolicyError
from privclust.node.federations.sum_requests import SumRequestStore
from privclust.node.jobs.store import JobStore
from privclust.node.names import KEY_BYTES_MIN
from privclust.node.policy.policy import Policy
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def set_up(policy: Policy, ledger_is_newest: bool = False) -> list[str]:
    """Make keys, the file with the ledger's newest head, and the tables of jobs and requests.

    What is there stays as it is. Returns what was made.

    Parameters
    ----------
    policy : Policy
        Which says where they belong.
    ledger_is_newest : bool, default=False
        The owner's word that a ledger with runs is not an older copy, although the file that
        would tell is gone.
    """
    made, node = [], policy.node
    _check_folders(policy)
    ledger = Ledger.open(node.ledger)
    if _has_made_key(node.name_key):
        made.append(f"{node.name_key.name}, the key that names runs")
    for federation in policy.federations.values():
        if _has_made_key(federation.identity):
            made.append(f"{federation.identity.name}, by which others know {federation.member}")
        FitStore(federation.secrets)  # makes its folder
    JobStore(node.ledger)  # makes its table
    SumRequestStore(node.ledger)
    if not node.head.exists():
        if not ledger_is_newest and any(ledger.runs(one.label) for one in ledger.datasets()):
            raise LedgerError(
                f"the ledger has runs, and {node.head.name}, which would tell whether it is the "
                "newest copy, is gone. On an older copy, budget that was spent would be spent "
                "again. If you are certain that nothing was spent since this copy was made, say so "
                "with --ledger-is-newest; else create a data set with what is surely left."
            )
        HeadFile(node.head).create(ledger)
        made.append(f"{node.head.name}, which keeps the ledger's newest head")
    return made


def _check_folders(policy: Policy) -> None:
    """Refuse before anything is made: what a folder is for decides who makes it, and where."""
    node = policy.node
    files = [("node", "name_key", node.name_key), ("node", "head", node.head)]
    files += [(one.place, "identity", one.identity) for one in policy.federations.values()]
    for place, key, file in files:
        if not file.parent.is_dir():
            raise PolicyError(
                f"in [{place}] of the policy: there is no folder {str(file.parent)!r} for {key}, "
                f"{file.name!r}. Make it, and start again."
            )


def _has_made_key(file: Path) -> bool:
    """Write a new key, which only its owner may read, unless there is one."""
    if file.exists():
        return False
    with open(os.open(file, _NEW, 0o600), "w", encoding="ascii") as opened:
        opened.write(secrets.token_hex(KEY_BYTES_MIN))
    return True
