"""``privclust plan``: what to expect, before anything is spent."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._options import (
    AsJson,
    Clusters,
    Columns,
    Delta,
    Epsilon,
    Force,
    Rows,
    RowsPerUnit,
)
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import INDENT, needing, reporting_errors, say, writing
from privclust.cli.tables import print_table


class Engine(StrEnum):
    """Whose cost to forecast."""

    SPARK = "spark"


def plan(
    rows: Rows,
    columns: Columns,
    delta: Delta,
    clusters: Clusters = 8,
    epsilon: Epsilon = 1.0,
    max_rows_per_unit: RowsPerUnit = 1,
    picture: Annotated[Path | None, typer.Option(help="PNG to draw: loss against epsilon.")] = None,
    engine: Annotated[Engine | None, typer.Option(help="Say what it costs there, too.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say what a fit will give, from numbers you type; no table is looked at."""
    from privclust.planning.forecast import forecast, forecast_grid
    from privclust.planning.spark_cost import READ_SECONDS, spark_cost

    with reporting_errors():
        expected = forecast(
            rows,
            columns,
            clusters,
            epsilon=epsilon,
            delta=delta,
            max_rows_per_unit=max_rows_per_unit,
        )
        costs = [] if engine is None else [spark_cost(expected, kind) for kind in READ_SECONDS]
        if picture is not None:
            with needing("report"):
                from privclust.planning.plots import draw_forecast
            with replacing(picture, ".png", may_replace=force) as file, writing(picture):
                draw_forecast(expected, file)
        if as_json:
            content = {**asdict(expected), "found": expected.found}
            content |= {"spark": [asdict(cost) for cost in costs]} if costs else {}
            typer.echo(json.dumps(content))
        else:
            for part in (expected, *costs):
                say(str(part))
            lines = [
                (
                    f"{other.epsilon:g}",
                    f"{other.ratio:.3f}" if other.found else "not found",
                    f"{other.size_stderr:.0f}",
                    f"{other.smallest:,}",
                )
                for other in forecast_grid(expected)
            ]
            print_table(("epsilon", "loss / k-means", "sizes ±", "rows a cluster needs"), lines)
            sizes = f"--rows {rows} --columns {columns} -k {clusters}"
            strength = f"--epsilon {epsilon} --delta {delta}"
            say(
                "This measures it on public rows like yours; without --public, on made-up ones:\n"
                f"{INDENT}privclust simulate {sizes} {strength} "
                f"--max-rows-per-unit {max_rows_per_unit} --public FILE"
            )
