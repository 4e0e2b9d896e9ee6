"""The command line: ``privclust ledger …``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from privclust.engines.base import ROW
from privclust.privacy.accounts import Run
from privclust.privacy.budget import Spend
from privclust.privacy.journal import LedgerError
from privclust.privacy.ledger import BudgetExceededError, Ledger

app = typer.Typer(
    help="Clustering of sensitive data under differential privacy.", add_completion=False
)
ledger_app = typer.Typer(help="Budgets of data sets, and what was spent of them.")
app.add_typer(ledger_app, name="ledger")

Place = Annotated[str, typer.Argument(help="Path of a ledger, or a postgresql:// URL.")]
Label = Annotated[str, typer.Argument(help="Name of a data set in the ledger.")]


@app.callback()
def main() -> None:
    """Clustering of sensitive data under differential privacy."""


@ledger_app.command()
def create(
    place: Place,
    label: Label,
    epsilon: Annotated[float, typer.Option(help="The most all fits together may promise.")],
    delta: Annotated[float, typer.Option(help="Such as 1e-6; well below one over the rows.")],
    unit: Annotated[str, typer.Option(help="Column of ids whose rows are protected together.")] = (
        ROW.name
    ),
    source: Annotated[str, typer.Option(help="Where the data comes from, in words.")] = "",
) -> None:
    """Give a data set its budget, in a new ledger or one that exists."""
    with _told():
        Ledger.create(place, label, epsilon=epsilon, delta=delta, unit=unit, source=source)
        typer.echo(f"{label}: epsilon {epsilon:g}, delta {delta:g}, for each {unit}.")


@ledger_app.command()
def remaining(
    place: Place, label: Annotated[str | None, typer.Argument(help="Only this data set.")] = None
) -> None:
    """Show what data sets have left."""
    with _told():
        ledger = Ledger.open(place)
        datasets = ledger.datasets() if label is None else (ledger.dataset(label),)
        table = Table("data set", "unit", "epsilon", "delta", "left", "for one more fit", "source")
        for found in datasets:
            left, budget = ledger.remaining(found.label), found.budget
            table.add_row(
                found.label,
                found.unit,
                f"{budget.epsilon:g}",
                f"{budget.delta:g}",
                f"{_part(left, budget.capacity):.1%}",
                f"epsilon {ledger.epsilon_left(found.label):.3g}",
                found.source,
            )
        _print(table)


@ledger_app.command()
def runs(place: Place, label: Label) -> None:
    """List the fits on a data set, oldest first."""
    with _told():
        ledger = Ledger.open(place)
        budget = ledger.dataset(label).budget
        table = Table("run", "fit", "state", "answers", "spent", "set aside besides")
        for run in ledger.runs(label):
            table.add_row(
                run.name,
                _described(run),
                run.state,
                str(len(run.charges)),
                f"{_part(run.spent, budget.capacity):.1%}",
                f"{_part(run.spent.left_of(run.committed), budget.capacity):.1%}",
            )
        _print(table)


@ledger_app.command()
def close(place: Place, run: Annotated[str, typer.Argument(help="Name of the run.")]) -> None:
    """End a run: what it set aside and never asked becomes free; what was asked stays spent."""
    with _told():
        Ledger.open(place).close(run)
        typer.echo(f"run {run} is {Ledger.open(place).run(run).state}.")


@ledger_app.command()
def verify(
    place: Place,
    model: Annotated[
        Path | None, typer.Option(help="JSON of a model's statement: its fit must be in here.")
    ] = None,
) -> None:
    """Check every entry: the chain of hashes, the sums, the questions."""
    with _told():
        head = None if model is None else _head(model)
        found = Ledger.open(place).verify(head)
        for problem in found:
            typer.echo(problem, err=True)
        if found:
            raise typer.Exit(1)
        typer.echo("the ledger is intact.")


@ledger_app.command()
def export(
    place: Place, output: Annotated[Path | None, typer.Option(help="Instead of printing.")] = None
) -> None:
    """Write all entries as JSON, one a line."""
    with _told():
        text = "".join(f"{json.dumps(entry)}\n" for entry in Ledger.open(place).export())
        if output is None:
            typer.echo(text, nl=False)
        else:
            output.write_text(text)


@ledger_app.command()
def draw(
    place: Place, label: Label, picture: Annotated[Path, typer.Argument(help="A PNG to write.")]
) -> None:
    """Draw where a data set's budget went."""
    with _told():
        try:
            from privclust.drawing import draw_budget
        except ImportError:
            raise ImportError('pictures need an extra: pip install "privclust[report]".') from None
        draw_budget(Ledger.open(place), label, picture)
        typer.echo(f"wrote {picture.name}.")


@contextmanager
def _told() -> Iterator[None]:
    """Show what went wrong as one message; a traceback helps nobody at a prompt."""
    try:
        yield
    except (LedgerError, BudgetExceededError, ValueError, OSError, ImportError) as error:
        typer.echo(f"privclust: {error}", err=True)
    else:
        return
    raise typer.Exit(1)


def _head(model: Path) -> str:
    try:
        record = json.loads(model.read_text())["record"]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise ValueError(
            f"{model.name} is no statement. Write one with model.privacy_statement_.to_json()."
        ) from None
    if record is None:
        raise ValueError("the model's statement says that its fit was not recorded in a ledger.")
    return str(record["head"])


def _part(spend: Spend, whole: Spend) -> float:
    if whole.pure is not None:
        return (spend.pure or 0) / whole.pure
    return spend.quanta / whole.quanta


def _described(run: Run) -> str:
    facts = run.facts
    return ", ".join(
        text.format(facts[name])
        for name, text in (
            ("estimator", "{}"),
            ("n_clusters", "{} clusters"),
            ("epsilon", "epsilon {}"),
        )
        if name in facts
    )


def _print(table: Table) -> None:
    Console(markup=False).print(table)
