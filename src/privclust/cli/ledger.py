"""``privclust ledger …``: budgets of data sets, and what was spent of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._ledger_check import (
    contradictions,
    head_of,
    not_from_results,
    read_statement,
    unrecorded,
)
from privclust.cli._ledger_runs import describe_runs
from privclust.cli._node_check import CHECKED, contradictions_at_node, run_at_node
from privclust.cli._options import Force
from privclust.cli.atomic_write import replacing
from privclust.cli.help import Command, Group, epilog
from privclust.cli.messages import needing, print_error, reporting_errors, say, say_aside, writing
from privclust.cli.tables import print_in_parts
from privclust.errors import NotRecomputableError, ParameterError
from privclust.models.composition import WEAK, best_power, describe_strength
from privclust.models.formatting import rounded_up
from privclust.privacy.accounting import Spend
from privclust.privacy.ledger._sql_schema import grant
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import part_of, whole_of
from privclust.queries.unit import ROW

ledger_app = typer.Typer(cls=Group, help="Budgets of data sets, and what was spent of them.")

Place = Annotated[str, typer.Argument(help="Path of a ledger, or a postgresql:// URL.")]
Label = Annotated[str, typer.Argument(help="Name of a data set in the ledger.")]


@ledger_app.command("create", cls=Command, epilog=epilog("ledger create"))
def create(
    place: Place,
    label: Label,
    epsilon: Annotated[float, typer.Option(help="Strength of the guarantee of all fits together.")],
    delta: Annotated[float, typer.Option(help="Such as 1e-6; well below one over the rows.")],
    unit: Annotated[str, typer.Option(help="Column of ids whose rows are protected together.")] = (
        ROW.name
    ),
    source: Annotated[str, typer.Option(help="Where the data comes from, in words.")] = "",
    periods: Annotated[int, typer.Option(help="Such as 52 weeks, which share the budget.")] = 1,
) -> None:
    """Give a data set its budget, in a new ledger or one that exists."""
    with reporting_errors():
        given = {"epsilon": epsilon, "delta": delta, "unit": unit, "source": source}
        ledger = Ledger.create(place, label, **given, periods=periods)  # type: ignore[arg-type]
        text = f"{label}: epsilon {epsilon:g}, delta {delta:g}, for each {unit}."
        if periods > 1:
            each = ledger.dataset(label).epsilon_per_period
            text += (
                f" That is the guarantee to one who is in the table in all {periods} periods; each "
                f"period has epsilon {each:g}."
            )
        say(text)
        if epsilon > WEAK:
            print_error(describe_strength(epsilon, best_power(ledger.remaining(label)), unit))


@ledger_app.command("lower", cls=Command, epilog=epilog("ledger lower"))
def lower(
    place: Place,
    label: Label,
    epsilon: Annotated[
        float | None, typer.Option(help="The new total; no less than runs have spent.")
    ] = None,
    close: Annotated[bool, typer.Option("--close", help="Grant no further run.")] = False,
) -> None:
    """Lower the budget of a data set, or close it; it never grows again."""
    with reporting_errors():
        if (epsilon is None) != close:
            raise ParameterError(
                "--epsilon is the new total, and --close grants no further run. Type one of them."
            )
        ledger = Ledger.open(place)
        ledger.lower(label, epsilon)
        found = ledger.dataset(label)
        if found.closed:
            say(f"{label} is closed: no further run is granted. Runs that were begun go on.")
        else:
            left = ledger.epsilon_left(label)
            say(
                f"{label}: epsilon {found.budget.epsilon:g} in all from now on, of which epsilon "
                f"{left:g} is left for one more fit at delta {found.budget.delta:g}."
            )


@ledger_app.command("remaining", cls=Command, epilog=epilog("ledger remaining"))
def remaining(
    place: Place, label: Annotated[str | None, typer.Argument(help="Only this data set.")] = None
) -> None:
    """Show what data sets have left."""
    with reporting_errors():
        ledger = Ledger.open(place)
        datasets = ledger.datasets() if label is None else (ledger.dataset(label),)
        rows = [
            (
                found.label,
                found.unit,
                f"{found.budget.epsilon:g}",
                f"{found.budget.delta:g}",
                rounded_up(ledger.total(found.label).epsilon),
                f"{part_of(ledger.remaining(found.label), found.budget.capacity):.1%}",
                "closed" if found.closed else f"epsilon {ledger.epsilon_left(found.label):g}",
                found.source,
            )
            for found in datasets
        ]
        header = ("data set", "unit", "epsilon", "delta", "spent", "left", "for one more fit")
        print_in_parts((*header, "source"), rows)
        if datasets:
            say(f"Left is the part {_of_what([found.budget.capacity for found in datasets])}")
        if any(found.budget.delta > 0 for found in datasets):
            say(
                "Spent is the epsilon of all fits so far, with what open ones set aside. Several "
                "fits come to less together than the sum of their epsilons. All of it is at the "
                "data set's delta; a fit with a smaller delta may have a larger epsilon."
            )


@ledger_app.command("runs", cls=Command, epilog=epilog("ledger runs"))
def runs(place: Place, label: Label) -> None:
    """List the fits on a data set, oldest first. A ledger keeps no times, so they are numbered."""
    with reporting_errors():
        ledger = Ledger.open(place)
        found = ledger.runs(label)
        taken = sum((run.committed for run in found), Spend())
        whole = whole_of(ledger.dataset(label).budget, taken)
        on_server = any(run.role for run in found)
        rows = [
            (
                str(number),
                run.name,
                *([run.role] if on_server else []),
                text,
                run.state,
                str(len(run.charges)),
                f"{part_of(run.spent, whole):.1%}",
                f"{part_of(run.spent.left_of(run.committed), whole):.1%}",
            )
            for number, (run, text) in enumerate(zip(found, describe_runs(found), strict=True), 1)
        ]
        others = ("fit", "state", "results", "spent", "set aside")
        header = ("no.", "run", *(["role"] if on_server else []), *others)
        print_in_parts(header, rows)
        if rows:
            say(f"Spent and set aside are parts {_of_what([whole])}")
        total = ledger.total(label)
        say(
            f"Together: epsilon {rounded_up(total.epsilon)}, delta "
            f"{rounded_up(total.budget.delta)}, with what open ones set aside."
        )


@ledger_app.command("close", cls=Command, epilog=epilog("ledger close"))
def close(place: Place, run: Annotated[str, typer.Argument(help="Name of the run.")]) -> None:
    """End a run: what it set aside and did not use becomes free; what it spent stays spent."""
    with reporting_errors():
        Ledger.open(place).close(run)
        typer.echo(f"run {run} is {Ledger.open(place).run(run).state}.")


@ledger_app.command("grant", cls=Command, epilog=epilog("ledger grant"))
def grant_role(
    role: Annotated[str, typer.Argument(help="Name of a role of the PostgreSQL server.")],
) -> None:
    """Print the SQL that lets a role fit, and nothing else; a ledger's owner runs it with psql.

    Such as: privclust ledger grant analyst | psql -v ON_ERROR_STOP=1 -d budgets
    """
    with reporting_errors():
        typer.echo(grant(role))


@ledger_app.command("verify", cls=Command, epilog=epilog("ledger verify"))
def verify(
    place: Place,
    model: Annotated[
        Path | None,
        typer.Option(help="A model file, or the JSON of a statement: its fit must be in here."),
    ] = None,
) -> None:
    """Check every entry: the chain of hashes, the sums, the queries; and a file's mode."""
    with reporting_errors():
        content = None if model is None else read_statement(model)
        ledger = Ledger.open(place)
        at_node = None if content is None else run_at_node(ledger, content)
        head = None if content is None or at_node is not None else head_of(content)
        found, checked = ledger.verify(head), ""
        if model is not None and content is not None and not found:
            if at_node is not None:
                found = contradictions_at_node(at_node, content)
            elif head is None:
                found = [unrecorded(model, content)]
            else:
                found = contradictions(ledger, content)
                if "cluster_centers" in content and not found:
                    found, checked = _recomputed(model, place)
        for problem in found:
            say_aside(problem)
        if found:
            raise typer.Exit(1)
        typer.echo("the ledger is intact.")
        if at_node is not None:
            say(CHECKED)
        elif content is not None:
            say(f"What the file says of its runs and results is what was recorded.{checked}")


def _recomputed(model: Path, place: str) -> tuple[list[str], str]:
    """Return what is wrong with a model's numbers, and what was checked of them."""
    try:
        found = not_from_results(model, place)
    except NotRecomputableError as error:
        return [], f" Beyond that, {error}."
    return found, " All its numbers were worked out anew from these results, and are the same."


@ledger_app.command("export", cls=Command, epilog=epilog("ledger export"))
def export(
    place: Place,
    output: Annotated[Path | None, typer.Option(help="Instead of printing.")] = None,
    force: Force = False,
) -> None:
    """Write all entries as JSON, one a line."""
    with reporting_errors():
        text = "".join(f"{json.dumps(entry)}\n" for entry in Ledger.open(place).export())
        if output is None:
            typer.echo(text, nl=False)
        else:
            reads = [Path(place)]
            with replacing(output, ".jsonl", reads, may_replace=force) as file, writing(output):
                file.write_bytes(text.encode())


@ledger_app.command("draw", cls=Command, epilog=epilog("ledger draw"))
def draw(
    place: Place,
    label: Label,
    picture: Annotated[Path, typer.Argument(help="A PNG to write.")],
    force: Force = False,
) -> None:
    """Draw where a data set's budget went."""
    with reporting_errors():
        with needing("report"):
            from privclust.privacy.ledger.plots import draw_budget
        reads = [Path(place)]
        with replacing(picture, ".png", reads, may_replace=force) as file, writing(picture):
            draw_budget(Ledger.open(place), label, file)
        typer.echo(f"wrote {picture.name}.")


def _of_what(budgets: Sequence[Spend]) -> str:
    """Say what percentages are a part of: fits add up in mu², or in epsilon where delta is 0."""
    if all(whole.pure is not None for whole in budgets):
        return "of the data set's epsilon, in which fits add up where delta is 0."
    squares = (
        "of the data set's whole budget in mu², in which fits add up, and not of its epsilon: a "
        "fit with half of the epsilon takes somewhat more than a quarter."
    )
    mixed = any(whole.pure is not None for whole in budgets)
    return squares + (" Where delta is 0, it is of epsilon." if mixed else "")
