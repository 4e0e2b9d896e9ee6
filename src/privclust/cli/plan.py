"""``privclust plan`` and ``simulate``: what to expect, before anything is spent."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli.atomic_write import replacing
from privclust.cli.messages import (
    needing,
    print_table,
    reporting_errors,
    reporting_warnings,
    writing,
)


def whole(text: str) -> int:
    """Read a whole number, also one such as 1e10."""
    with suppress(InvalidOperation, ValueError, OverflowError):
        number = Decimal(text)
        if number == int(number):
            return int(number)
    raise typer.BadParameter(f"{text!r} is no whole number such as 30000 or 1e10.")


Rows = Annotated[
    int,
    typer.Option("--rows", help="About how many rows there are.", parser=whole, metavar="INTEGER"),
]
Columns = Annotated[int, typer.Option("--columns", help="How many columns.")]
Clusters = Annotated[int, typer.Option("--clusters", "-k", help="How many clusters.")]
Epsilon = Annotated[float, typer.Option(help="Strength of the guarantee; smaller is stronger.")]
Delta = Annotated[float, typer.Option(help="Well below one over the rows, such as 1e-6.")]


class Engine(StrEnum):
    """Whose cost to forecast."""

    SPARK = "spark"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def plan(
    rows: Rows,
    columns: Columns,
    delta: Delta,
    clusters: Clusters = 8,
    epsilon: Epsilon = 1.0,
    picture: Annotated[Path | None, typer.Option(help="PNG to draw: loss against epsilon.")] = None,
    engine: Annotated[Engine | None, typer.Option(help="Say what it costs there, too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a fit will give, from numbers you type; no table is looked at."""
    from privclust.planning.forecast import FOUND, forecast, forecast_grid
    from privclust.planning.spark_cost import READ_SECONDS, spark_cost

    with reporting_errors():
        expected = forecast(rows, columns, clusters, epsilon=epsilon, delta=delta)
        costs = [] if engine is None else [spark_cost(expected, kind) for kind in READ_SECONDS]
        if as_json:
            said = {**asdict(expected), "found": expected.found}
            said |= {"spark": [asdict(cost) for cost in costs]} if costs else {}
            typer.echo(json.dumps(said))
        else:
            for told_first in (expected, *costs):
                typer.echo(str(told_first))
            lines = [
                (
                    f"{other.epsilon:g}",
                    f"{other.ratio:.3f}" if other.found else f"above {FOUND}: not found",
                    f"{other.size_stderr:.0f}",
                    f"{other.smallest:,}",
                )
                for other in forecast_grid(expected)
            ]
            print_table(("epsilon", "loss / k-means", "sizes ±", "smallest cluster"), lines)
            typer.echo(
                "For clusters apart and of about equal size; 'privclust simulate' measures it."
            )
        if picture is not None:
            with needing("report"):
                from privclust.planning.plots import draw_forecast
            with replacing(picture, ".png") as file, writing(picture):
                draw_forecast(expected, file)


def simulate(
    rows: Rows,
    columns: Columns,
    delta: Delta,
    clusters: Clusters = 8,
    epsilon: Epsilon = 1.0,
    public: Annotated[
        str | None, typer.Option(help="Public rows to fit instead of made-up ones (file).")
    ] = None,
    repeats: Annotated[int, typer.Option(help="How many fits.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure what a fit gives, on made-up rows or on public ones of yours."""
    from privclust.planning.simulate import simulate as measure

    with reporting_errors():
        given = {"epsilon": epsilon, "delta": delta, "repeats": repeats, "public": public}
        with reporting_warnings():
            measured = measure(rows, columns, clusters, **given)  # type: ignore[arg-type]
        if as_json:
            typer.echo(json.dumps({**asdict(measured), "ratio": measured.ratio}))
            return
        each = ", ".join(f"{ratio:.3g}" for ratio in measured.ratios)
        typer.echo(
            f"loss: {measured.ratio:.3g} times that of k-means without privacy ({each}); "
            f"{measured.seconds:.2g} seconds a fit"
        )
