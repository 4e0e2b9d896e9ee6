"""The command line: ``privclust``, or ``python -m privclust``."""

from __future__ import annotations

from typing import Annotated

import typer

from privclust._version import __version__
from privclust.cli.approve import approve
from privclust.cli.audit import audit
from privclust.cli.bounds import bounds_app
from privclust.cli.compare import compare
from privclust.cli.describe import describe
from privclust.cli.export import export
from privclust.cli.fit import fit
from privclust.cli.help import Command, Group, epilog
from privclust.cli.k_path import k_path
from privclust.cli.keygen import keygen
from privclust.cli.ledger import ledger_app
from privclust.cli.node import node_app
from privclust.cli.plan import plan
from privclust.cli.predict import predict
from privclust.cli.profile import profile
from privclust.cli.refit import refit
from privclust.cli.report import report
from privclust.cli.sample import sample
from privclust.cli.show import show
from privclust.cli.sign import sign
from privclust.cli.simulate import simulate
from privclust.cli.statement import statement
from privclust.cli.verify import verify

app = typer.Typer(
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _privclust(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Clustering of sensitive data under differential privacy."""


for command in (
    plan,
    simulate,
    describe,
    fit,
    show,
    k_path,
    refit,
    compare,
    profile,
    statement,
    report,
    predict,
    sample,
    export,
    audit,
    approve,
    keygen,
    sign,
    verify,
):
    name = command.__name__.replace("_", "-")
    app.command(name, cls=Command, epilog=epilog(name))(command)
app.add_typer(bounds_app, name="bounds")
app.add_typer(ledger_app, name="ledger")
app.add_typer(node_app, name="node")
