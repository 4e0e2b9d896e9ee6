"""``privclust simulate``: what fits give on made-up or public rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from privclust.cli._options import AsJson, Clusters, Columns, Delta, Epsilon, Rows, RowsPerUnit
from privclust.cli.messages import reporting_errors, reporting_warnings, say


def simulate(
    rows: Rows,
    columns: Columns,
    delta: Delta,
    clusters: Clusters = 8,
    epsilon: Epsilon = 1.0,
    max_rows_per_unit: RowsPerUnit = 1,
    public: Annotated[
        str | None, typer.Option(help="Public rows to fit instead of made-up ones (file).")
    ] = None,
    repeats: Annotated[int, typer.Option(help="How many fits.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure what a fit gives, on made-up rows or on public ones of yours."""
    from privclust.planning.simulate import simulate as measure

    with reporting_errors():
        given = {
            "epsilon": epsilon,
            "delta": delta,
            "max_rows_per_unit": max_rows_per_unit,
            "repeats": repeats,
            "public": public,
        }
        with reporting_warnings():
            measured = measure(rows, columns, clusters, **given)  # type: ignore[arg-type]
        if as_json:
            typer.echo(json.dumps({**asdict(measured), "ratio": measured.ratio}))
            return
        each = ", ".join(f"{ratio:.3g}" for ratio in measured.ratios)
        say(
            f"loss: {measured.ratio:.3g} times that of k-means without privacy ({each}); "
            f"{measured.seconds:.2g} seconds a fit"
        )
