"""``privclust describe``: what a node says of a table, and of your fits on it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from privclust.cli._options import AsJson
from privclust.cli._remote import Address, CaFile, Certificate, table_at
from privclust.cli.messages import reporting_errors, say
from privclust.cli.tables import print_table
from privclust.remote.runs import RunStatus


def describe(
    table: Address,
    fits: Annotated[bool, typer.Option("--fits", help="List your fits, too.")] = False,
    cancel: Annotated[
        str | None, typer.Option(help="Id of a fit to end early; what it reserved stays spent.")
    ] = None,
    ca_file: CaFile = None,
    certificate: Certificate = None,
    as_json: AsJson = False,
) -> None:
    """Say what is public about a table at a node, and what its budget has left for you."""
    with reporting_errors():
        found = table_at(table, None, ca_file, certificate)
        if cancel is not None:
            ended = found.cancel(cancel)
            if as_json:
                typer.echo(json.dumps(asdict(ended)))
            else:
                say(_cancelled(ended))
            return
        described = found.describe()
        runs = found.fits() if fits else ()
        if as_json:
            content = asdict(described) | ({"fits": [asdict(run) for run in runs]} if fits else {})
            typer.echo(json.dumps(content))
            return
        say(str(described))
        if fits and not runs:
            say("You have no fits on it, and no profiles.")
        elif fits:
            lines = [(run.id, run.kind, run.state, _passed(run)) for run in runs]
            print_table(("id", "kind", "state", "of its time"), lines, whole="id")


def _cancelled(run: RunStatus) -> str:
    if run.state == "cancelled":
        return f"The {run.kind} {run.id} is cancelled. What it reserved stays spent."
    return f"The {run.kind} {run.id} had ended: it is {run.state}. Nothing was cancelled."


def _passed(run: RunStatus) -> str:
    return "late" if run.late else f"{run.progress:.0%}"
