"""``privclust fit``: cluster a table in files."""

from __future__ import annotations

import json
import shlex
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._options import RowsPerUnit
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import (
    print_table,
    reporting_errors,
    reporting_warnings,
    warn_if_weak,
    writing,
)
from privclust.cli.progress import progress
from privclust.errors import BoundsError, ParameterError, safe_repr
from privclust.models._coordinates import format_coordinate
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import rounded_up, with_error
from privclust.models.statement import Statement
from privclust.sources.files import paths_of

SUMMARY = (
    "columns",
    "cluster_centers",
    "cluster_sizes",
    "size_stderr",
    "quality",
    "fit_warning",
    "n_rows",
    "statement",
)
SHOWN_CLUSTERS = 4
"""A terminal of 80 columns has space for so many."""


def fit(
    table: Annotated[
        list[str], typer.Argument(help="Parquet, CSV or Arrow files, folders or patterns.")
    ],
    bounds: Annotated[
        Path | None, typer.Option(help="Bounds file; 'privclust bounds init' writes one to fill.")
    ] = None,
    n_clusters: Annotated[int, typer.Option("--clusters", "-k", help="How many.")] = 8,
    epsilon: Annotated[
        float, typer.Option(help="Strength of the guarantee; smaller is stronger.")
    ] = 1.0,
    delta: Annotated[
        float | None, typer.Option(help="Well below one over the number of rows, such as 1e-6.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Column of ids whose rows are protected together.")
    ] = None,
    max_rows_per_unit: RowsPerUnit = 1,
    scale: Annotated[
        str | None,
        typer.Option(help="Columns count by their 'bounds', by a 'private' spread, or 'none'."),
    ] = None,
    n_rows: Annotated[
        int | None, typer.Option("--rows", help="Number of rows, if it is public.")
    ] = None,
    max_clusters: Annotated[
        int | None, typer.Option(help="The most clusters to choose from later.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger that pays for the fit.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set's name in the ledger.")] = None,
    period: Annotated[
        str | None, typer.Option(help="Which of its periods pays, such as 2026-W07.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option(help="Model file to start from, such as last week's.")
    ] = None,
    resume: Annotated[str | None, typer.Option(help="Run to go on with.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of public choices; noise has none.")] = None,
    out: Annotated[Path | None, typer.Option(help="Model file to write (JSON).")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Find clusters and write what may be published of them."""
    from privclust import PrivateKMeans
    from privclust.estimators._load import load
    from privclust.models.model_file import to_json

    with reporting_errors():
        if epsilon == float("inf"):
            raise ParameterError(
                "epsilon = inf adds no noise, and the command line writes no model that protects "
                "nobody. Type a finite one such as 1."
            )
        if bounds is None:
            raise BoundsError(
                f"--bounds is missing. 'privclust bounds init {shlex.quote(table[0])}' writes a "
                "file to fill in from knowledge of the field."
            )
        if out is None and not as_json:
            raise ParameterError(
                "--out is missing, and what a fit spends would be lost with its outcome. Type "
                "--out model.json, or --json to have the outcome printed."
            )
        if (ledger is None) != (dataset is None):
            raise ParameterError(
                "--ledger and --dataset belong together: a budget is that of a data set. Type both "
                "or neither."
            )
        model = PrivateKMeans(
            n_clusters,
            epsilon=epsilon,
            delta=delta,
            bounds=str(bounds),
            scale=scale,
            n_rows=n_rows,
            unit=unit,
            max_rows_per_unit=max_rows_per_unit,
            max_clusters=max_clusters,
            ledger=ledger,
            dataset=dataset,
            period=period,
            init=None if init is None else load(init),
            random_state=seed,
        )
        reads = [bounds, *paths_of(table), *([] if ledger is None else [Path(ledger)])]
        with _kept(out, reads, force) as file:
            with progress(silent=quiet or as_json), reporting_warnings():
                model.fit(table, resume=resume)
            text = to_json(model)
            warn_if_weak(model.privacy_statement_.composed)
            if file is not None:
                with writing(out or file):
                    file.write_text(text, encoding="utf-8")
        if as_json:
            content = json.loads(text)
            content["statement"] = json.loads(model.privacy_statement_.to_json())
            typer.echo(json.dumps({key: content[key] for key in SUMMARY}))
        elif not quiet and out is not None:
            _show(model.model_, out)
            typer.echo(_protected(model.privacy_statement_))
            typer.echo(_next_step(model.privacy_statement_, out))


def _kept(out: Path | None, reads: list[Path], force: bool) -> AbstractContextManager[Path | None]:
    if out is None:
        return nullcontext()
    return replacing(out, ".json", reads, may_replace=force, may_stream=False)


def _show(model: ClusterModel, out: Path) -> None:
    """Print clusters side by side, as many as fit, and their columns below each other."""
    center_errors, size_errors = model.center_stderr, model.size_stderr
    assert center_errors is not None  # which PrivateKMeans knows
    assert size_errors is not None
    n_shown = min(SHOWN_CLUSTERS, len(model.cluster_sizes))
    sizes = zip(model.cluster_sizes, size_errors, strict=True)
    rows = [["rows", *[with_error(*size) for size in sizes][:n_shown]]]
    columns = zip(
        model.coordinate_names,
        model.domain.coordinate_uses,
        model.cluster_centers.T,
        center_errors.T,
        strict=True,
    )
    for name, use, values, errors in columns:
        cells = [format_coordinate(use, *cell) for cell in zip(values, errors, strict=True)]
        rows.append([name, *cells[:n_shown]])
    print_table(["", *(f"cluster {number}" for number in range(n_shown))], rows)
    more = len(model.cluster_sizes) - n_shown
    if more > 0:
        typer.echo(
            f"and {more} smaller cluster{'s' if more > 1 else ''}: the report lists all of them, "
            f"and {out.name} has their numbers"
        )
    for sentence in model.quality_sentences:
        typer.echo(sentence)


def _protected(statement: Statement) -> str:
    if statement.counted_as is None:
        return (
            "The protected unit is one row. If a person may have several, fit with --unit COLUMN, "
            "which protects all rows of one together."
        )
    return (
        f"The protected unit is all rows of one {safe_repr(statement.unit)}. {statement.counted_as}"
    )


def _next_step(statement: Statement, out: Path) -> str:
    kept = (
        "No ledger recorded this fit; further fits of the same rows add to epsilon."
        if statement.record is None
        else f"Run {statement.run.name} of data set {statement.record.dataset!r}."
    )
    if statement.dependencies:
        kept += (
            f" With the model that it started from: epsilon {rounded_up(statement.epsilon)}, delta "
            f"{rounded_up(statement.delta)}."
        )
    return f"{kept} Wrote {out.name}; next: privclust report {shlex.quote(str(out))} -o report.html"
