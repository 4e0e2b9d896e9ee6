"""``privclust node …``: a service that lets analysts fit tables which they never see."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli.help import Command, Group, epilog
from privclust.cli.messages import needing, reporting_errors, say, say_aside, writing
from privclust.cli.tables import print_table
from privclust.errors import ParameterError
from privclust.models.formatting import rounded_up
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.ledger import Ledger

node_app = typer.Typer(cls=Group, help="A service that fits tables for analysts who see no row.")

PolicyFile = Annotated[Path, typer.Argument(help="Policy file (TOML); docs/node.md shows one.")]


@node_app.command("init", cls=Command, epilog=epilog("node init"))
def init(
    policy: PolicyFile,
    ledger_is_newest: Annotated[
        bool,
        typer.Option(
            "--ledger-is-newest", help="Take your word that a ledger with runs is no older copy."
        ),
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            help="On a PostgreSQL server: the ledger's URL with its owner as the role, where the "
            "policy's URL has the node's."
        ),
    ] = None,
) -> None:
    """Make what a new node needs: its keys, its tables of jobs, the file with the ledger's head."""
    with reporting_errors():
        with _needing_node():
            from privclust.node.federations._check import public_keys
            from privclust.node.policy.policy_file import read_policy
            from privclust.node.set_up import set_up
        found = read_policy(policy)
        if ledger is not None:
            found = replace(found, node=replace(found.node, ledger=_on_server(ledger)))
        with writing(policy):
            made = set_up(found, ledger_is_newest)
        for one in made:
            say(f"made {one}")
        say(
            "Back the key up apart from the ledger. It never changes: with another key, a request "
            "that is sent again would be paid again."
        )
        for federation, key in public_keys(found):
            say(
                f"In {federation.name}, others have this line under partners: "
                f'{federation.member} = "{key}"'
            )


@node_app.command("grant", cls=Command, epilog=epilog("node grant"))
def grant_role(
    role: Annotated[str, typer.Argument(help="Name of a role of the PostgreSQL server.")],
) -> None:
    """Print the SQL that lets a role run a node, and nothing else; a ledger's owner runs it."""
    with reporting_errors():
        with needing("node"):
            from privclust.node.jobs._schema import grant
        typer.echo(grant(role))


@node_app.command("check", cls=Command, epilog=epilog("node check"))
def check(policy: PolicyFile) -> None:
    """Compare a policy with tables, ledger and files; run it as the worker's user."""
    with reporting_errors():
        with _needing_node():
            from privclust.node.check import faults_of
            from privclust.node.federations._check import epsilon_of_all_fits
            from privclust.node.policy.policy_file import read_policy
        found = read_policy(policy)
        faults = faults_of(found)
        for fault in faults:
            say_aside(fault)
        if faults:
            raise typer.Exit(1)
        for federation in found.federations.values():
            others = ", ".join(sorted(federation.partners))
            say(f"In {federation.name} it is {federation.member}, together with {others}.")
            total = epsilon_of_all_fits(found, federation, Ledger.open(found.node.ledger))
            say(
                f"Against all of them together, one fit has an epsilon of at most "
                f"{rounded_up(federation.epsilon_alone)}, and all fits that the ledger can pay for "
                f"{rounded_up(total)}: epsilon_alone limits one fit, the ledger all of them."
            )
        say(
            f"{policy.name} names {_counted(len(found.analysts), 'analyst')} and "
            f"{_counted(len(found.tables), 'table')}, and matches them. Its digest: {found.digest}"
        )


@node_app.command("serve", cls=Command, epilog=epilog("node serve"))
def serve(
    policy: PolicyFile,
    socket: Annotated[
        Path | None, typer.Option(help="Unix socket to listen on, behind a proxy with TLS.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Instead: a port of 127.0.0.1.")] = None,
    metrics_port: Annotated[
        int | None, typer.Option(help="Where to serve metrics, on 127.0.0.1.")
    ] = None,
) -> None:
    """Take requests of analysts; it reads no row."""
    with reporting_errors():
        with _needing_node():
            from privclust.node.web.serve import serve as serve_node
        _log_to_stderr()
        serve_node(policy, unix_socket=socket, port=port, metrics_port=metrics_port)


@node_app.command("worker", cls=Command, epilog=epilog("node worker"))
def worker(policy: PolicyFile) -> None:
    """Fit what analysts requested, one process each; needs the rows and no network."""
    with reporting_errors():
        with _needing_node():
            from privclust.node.policy.policy_file import read_policy
            from privclust.node.workers.worker import run_worker, start_up, stop_on_signal
        found, stop = read_policy(policy), stop_on_signal()
        _log_to_stderr()
        start_up(found)
        run_worker(found, policy, stop)


@node_app.command("status", cls=Command, epilog=epilog("node status"))
def status(policy: PolicyFile) -> None:
    """Say how many fits wait, run and ended, what workers have, and what budgets have left."""
    with reporting_errors():
        with _needing_node():
            from privclust.node.jobs.job import STATES
            from privclust.node.jobs.store import JobStore
            from privclust.node.policy.policy_file import read_policy
        found = read_policy(policy)
        jobs = JobStore(found.node.ledger, found.node.lanes, found.node.tick)
        counts = jobs.counts(time.time())
        print_table(("state", "jobs"), [(one, str(counts.get(one, 0))) for one in STATES])
        held, due = jobs.held(time.time())
        say(f"Workers have {held} of them.")
        if due:
            say(
                f"{due} should have begun more than a minute ago, and no worker has them. See "
                "whether a worker runs, and what its log says."
            )
        failed = jobs.failed(time.time())
        if failed:
            print_table(("failed, newest first", "analyst", "table"), failed, whole="failed")
            say("The worker's log says why, by the class of an error.")
        ledger = Ledger.open(found.node.ledger)
        lines = [
            (table.name, table.dataset, f"{ledger.epsilon_left(table.dataset):g}")
            for table in found.tables.values()
        ]
        print_table(("table", "data set", "epsilon left for one more fit"), lines)
        HeadFile(found.node.head).check(ledger)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _on_server(place: str) -> str:
    if place.startswith("postgresql://"):
        return place
    raise ParameterError(
        "--ledger names the ledger of a PostgreSQL server as its owner reaches it, such as "
        "postgresql://owner@host/budgets. Leave it out if the policy's ledger is a file."
    )


@contextmanager
def _needing_node() -> Iterator[None]:
    """Say what is missing: the system, or the extra."""
    if sys.platform != "linux":
        raise ImportError(
            "a node runs on Linux, which keeps jobs to their memory and time. Run this command "
            "there, or in a container. Analysts reach a node from every system."
        )
    with needing("node"):
        yield


def _log_to_stderr() -> None:
    """Let the node's own lines be seen, which depend on no row; those of other libraries not."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("privclust.node")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
