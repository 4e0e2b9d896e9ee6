"""The command line: ``privclust``, or ``python -m privclust``."""

from __future__ import annotations

import typer

from privclust.cli.audit import audit
from privclust.cli.bounds import bounds_app
from privclust.cli.fit import fit
from privclust.cli.ledger import ledger_app
from privclust.cli.models import export, predict, report
from privclust.cli.plans import plan, simulate
from privclust.cli.profile import profile

app = typer.Typer(
    help="Clustering of sensitive data under differential privacy.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
for command in (plan, simulate, fit, profile, report, predict, export, audit):
    app.command()(command)
app.add_typer(bounds_app, name="bounds")
app.add_typer(ledger_app, name="ledger")
