"""``privclust plan``: what to expect, before anything is spent."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privclust.cli._options import AsJson, Clusters, Epsilon, Force, whole
from privclust.cli._remote import (
    FOR_NODES,
    CaFile,
    Certificate,
    refuse_options,
    table_at,
    typed_again,
)
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import INDENT, needing, reporting_errors, say, writing
from privclust.cli.tables import print_table
from privclust.remote.table import RemoteTable

if TYPE_CHECKING:
    from privclust.planning.forecast import Forecast
    from privclust.planning.spark_cost import SparkCost


class Engine(StrEnum):
    """Whose cost to forecast."""

    SPARK = "spark"


def plan(
    table: Annotated[
        str | None, typer.Argument(help="A table at a node, https://host/tables/NAME, or none.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="About how many rows there are.", parser=whole, metavar="INTEGER"),
    ] = None,
    columns: Annotated[int | None, typer.Option(help="How many columns.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Well below one over the rows, such as 1e-6.")
    ] = None,
    clusters: Clusters = 8,
    epsilon: Epsilon = 1.0,
    max_rows_per_unit: Annotated[
        int | None, typer.Option(help="How many rows of one id count; 1 unless typed.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="PNG to draw: loss against epsilon.")] = None,
    engine: Annotated[Engine | None, typer.Option(help="Say what it costs there, too.")] = None,
    force: Force = False,
    ca_file: CaFile = None,
    certificate: Certificate = None,
    as_json: AsJson = False,
) -> None:
    """Say what a fit will give, from numbers you type or of a table at a node; no row is read."""
    if table is not None:
        with reporting_errors():
            refuse_options(
                "is for a plan without a table, and this one is at a node",
                rows=rows,
                columns=columns,
                max_rows_per_unit=max_rows_per_unit,
                picture=picture,
                engine=engine,
                force=force or None,
            )
            found = table_at(table, None, ca_file, certificate)
            _plan_at_node(found, clusters, epsilon, delta, as_json)
        return
    if rows is None or columns is None or delta is None:
        raise typer.BadParameter(
            "Type --rows, --columns and --delta, or the address of a table at a node."
        )
    from privclust.planning.forecast import forecast
    from privclust.planning.spark_cost import READ_SECONDS, spark_cost

    with reporting_errors():
        refuse_options(FOR_NODES, ca_file=ca_file, certificate=certificate)
        expected = forecast(
            rows,
            columns,
            clusters,
            epsilon=epsilon,
            delta=delta,
            max_rows_per_unit=1 if max_rows_per_unit is None else max_rows_per_unit,
        )
        costs = [] if engine is None else [spark_cost(expected, kind) for kind in READ_SECONDS]
        if picture is not None:
            with needing("report"):
                from privclust.models._canvas import new_axes, save_png
            with replacing(picture, ".png", may_replace=force) as file, writing(picture):
                figure, axes = new_axes(7, 4)
                expected.plot(axes)
                save_png(figure, file)
        if as_json:
            content = {**asdict(expected), "found": expected.found}
            content |= {"spark": [asdict(cost) for cost in costs]} if costs else {}
            typer.echo(json.dumps(content))
            return
        _say_all(expected, costs)
        if picture is not None:
            say(f"wrote {picture.name}.")


def _say_all(expected: Forecast, costs: Iterable[SparkCost]) -> None:
    """Say what to expect, what it costs on Spark, and how to measure it."""
    from privclust.planning.forecast import forecast_grid

    for part in (expected, *costs):
        say(str(part))
    _print_others(forecast_grid(expected))
    sizes = f"--rows {expected.n_rows} --columns {expected.n_columns} -k {expected.n_clusters}"
    strength = f"--epsilon {expected.epsilon} --delta {expected.delta}"
    say(
        "This measures it on public rows like yours; without --public, on made-up ones:\n"
        f"{INDENT}privclust simulate {sizes} {strength} "
        f"--max-rows-per-unit {expected.max_rows_per_unit} --public FILE"
    )


def _plan_at_node(
    table: RemoteTable, clusters: int, epsilon: float, delta: float | None, as_json: bool
) -> None:
    """Say what a node forecasts of a fit of all columns; it spends nothing."""
    from privclust import PrivateKMeans
    from privclust.cli._remote_forecast import forecast_of
    from privclust.planning.forecast import forecast_grid

    sent = table.forecast(PrivateKMeans(clusters, epsilon=epsilon, delta=delta))
    expected = forecast_of(sent, clusters)
    if as_json:
        found = {} if expected is None else {**asdict(expected), "found": expected.found}
        typer.echo(json.dumps({**asdict(sent), "forecast": found or None}))
        return
    if expected is not None:
        say(str(replace(expected, seconds=sent.price)))  # the public time, whatever it computes
        _print_others(forecast_grid(expected))
    say(f"It would spend {sent}.")
    if not sent.allowed:
        say("Nothing was spent. Ask for less, or talk to the owner of the table.")
        return
    typed = ["privclust", "fit", *typed_again(table), "-k", str(clusters)]
    typed += ["--epsilon", str(epsilon), *([] if delta is None else ["--delta", str(delta)])]
    say(f"Nothing was spent. This fits it:\n{INDENT}{shlex.join(typed)} --out model.json")


def _print_others(grid: Iterable[Forecast]) -> None:
    """Print a table of the same fit with other epsilons."""
    lines = [
        (
            f"{other.epsilon:g}",
            f"{other.ratio:.3f}" if other.found else "not found",
            f"{other.size_stderr:.0f}",
            f"{other.smallest:,}",
        )
        for other in grid
    ]
    print_table(("epsilon", "loss / k-means", "sizes ±", "rows a cluster needs"), lines)
