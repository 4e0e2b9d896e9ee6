"""On a PostgreSQL server, web process and worker are a role that can run a node and no more."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest
from helpers.command_line import error_message, privclust
from helpers.node_policy import POLICY, write_node
from helpers.postgres import Server, execute
from node.test_booking import fit_request, submitted, write_table

from privclust import Ledger
from privclust.node.booking import Booking
from privclust.node.jobs.store import JobStore
from privclust.node.policy.policy_file import read_policy

RUN = "00000000000000a1"


@pytest.fixture
def places(postgres: Server, database: str) -> tuple[str, str]:
    """A ledger whose owner is no superuser, as its owner and as a node connect to it."""
    name = database.rsplit("/", 1)[1]
    roles = (f"owner_{name}", f"node_{name}")
    execute(database, *(f"CREATE ROLE {role} LOGIN" for role in roles))
    execute(database, f"GRANT ALL ON SCHEMA public TO {roles[0]}")
    owner, node = (postgres.url(name, role) for role in roles)
    return owner, node


def test_role_of_a_node_can_run_it_and_change_no_budget(
    places: tuple[str, str], tmp_path: Path
) -> None:
    owner, place = places
    role = place.split("//")[1].split("@")[0]
    Ledger.create(owner, "credit", epsilon=4.0, delta=1e-6)
    write_table(tmp_path)
    path = write_node(tmp_path, POLICY.replace("ledger.db", place))
    done = privclust("node", "init", path, "--ledger", owner)
    assert done.exit_code == 0, done.output
    error_message(privclust("node", "status", path), 9, "privclust node grant ROLE")
    execute(owner, privclust("node", "grant", role).stdout)
    booking = Booking(read_policy(path), JobStore(place))
    job = submitted(booking, fit_request(epsilon=1.0), RUN, "a1")
    booking.reserve(job)
    leased = booking.jobs.lease(time.time(), 600.0)
    assert leased is not None
    text = booking.carry_out(leased, lambda: None)
    assert booking.jobs.finish(RUN, leased.lease, text, time.time())
    assert Ledger.open(owner).verify() == []
    for forbidden in (
        "DELETE FROM privclust_jobs",
        "DROP TABLE privclust_jobs",
        "UPDATE privclust_entries SET body = '{}'",
        "INSERT INTO privclust_entries (number, kind, label, run, slot, body, fingerprint, hash) "
        "VALUES (99, 'close', 'credit', '', '', '{}', '', '')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(place, forbidden)
