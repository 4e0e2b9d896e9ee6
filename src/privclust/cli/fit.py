"""``privclust fit``: cluster a table in files, in a database, or at a node."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._clusters import (
    cluster_table,
    clusters_json,
    protected_unit,
    quality_sentences,
)
from privclust.cli._databases import Casts, QueryText, queried_table, typed_query
from privclust.cli._options import (
    ACCOUNT,
    DecimalOfFit,
    Delimiter,
    FittedTables,
    Force,
    Quiet,
    RowsPerUnit,
    Sheet,
    Unit,
    as_typed,
    unambiguous_files,
)
from privclust.cli._remote import CaFile, Certificate, ColumnNames, remote_table
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import (
    INDENT,
    reporting_errors,
    reporting_warnings,
    say,
    state_dialects,
    writing,
)
from privclust.cli.progress import progress
from privclust.cli.tables import print_in_parts
from privclust.errors import BoundsError, ColumnError, ParameterError
from privclust.models._column_notes import column_warnings
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import rounded_up
from privclust.models.statement import Statement
from privclust.privacy.ledger.ledger import Ledger
from privclust.remote.error import RemoteError
from privclust.remote.table import RemoteTable
from privclust.sources.files import paths_of

PARTS = 3
"""How many tables below each other a fit prints of its clusters."""


def fit(
    table: FittedTables,
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
    unit: Unit = None,
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
    resume: Annotated[
        str | None, typer.Option(help="Interrupted run to go on with; else a new one is paid for.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of public choices; noise has none.")] = None,
    delimiter: Delimiter = None,
    decimal: DecimalOfFit = None,
    sheet: Sheet = None,
    query: QueryText = None,
    casts: Casts = None,
    columns: ColumnNames = None,
    ca_file: CaFile = None,
    certificate: Certificate = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Model file to write (JSON).")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Find clusters and write what may be published of them."""
    from privclust import PrivateKMeans
    from privclust.estimators._load import load
    from privclust.models.model_file import to_json

    with reporting_errors():
        _check_finite(epsilon)
        for_files = {"delimiter": delimiter, "decimal": decimal, "sheet": sheet}
        queried = queried_table(table, query, casts, **for_files)
        remote = remote_table(table, columns, ca_file, certificate, **for_files)
        elsewhere = remote or queried
        if bounds is None and remote is None:
            typed = [*as_typed(unit, delimiter, decimal, sheet), *typed_query(query, casts)]
            raise _no_bounds(table[0], typed)
        _check_places(out, as_json, ledger, dataset)
        model = PrivateKMeans(
            n_clusters,
            epsilon=epsilon,
            delta=delta,
            bounds=None if bounds is None else str(bounds),
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
        paths = [] if elsewhere else table
        files = unambiguous_files(paths, delimiter, decimal, sheet)
        reads = [*paths_of(paths), *(Path(one) for one in (bounds, ledger) if one is not None)]
        with _kept(out, reads, force) as file:
            if not (quiet or as_json or elsewhere):
                state_dialects(files)
            with progress(silent=quiet or as_json), reporting_warnings():
                model.fit(elsewhere or files, resume=resume)
            if file is not None:
                with writing(out or file):
                    file.write_bytes(to_json(model).encode())
        if as_json:
            typer.echo(clusters_json(model.model_))
        elif not quiet and out is not None:
            _show(model.model_, out)
            _say_what_is_next(model.privacy_statement_, out, remote, ledger, dataset)


def _check_finite(epsilon: float) -> None:
    """Refuse a fit that protects nobody."""
    if epsilon == float("inf"):
        raise ParameterError(
            "epsilon = inf adds no noise, and the command line writes no model that protects "
            "nobody. Type a finite one such as 1."
        )


def _no_bounds(place: str, typed: list[str]) -> BoundsError:
    """Return the error of a fit without bounds, with the command that writes a file to fill in."""
    return BoundsError(
        "--bounds is missing. This writes a file to fill in from knowledge of the field; "
        "then type your line again with --bounds bounds.toml:\n"
        f"{INDENT}{shlex.join(['privclust', 'bounds', 'init', place, *typed])}"
    )


def _check_places(out: Path | None, as_json: bool, ledger: str | None, dataset: str | None) -> None:
    """Refuse a fit whose outcome would be lost, or of which it is unclear what pays."""
    if out is None and not as_json:
        raise ParameterError(
            "--out is missing, and what a fit spends would be lost with its outcome. Type "
            "--out model.json, or --json to have the outcome printed."
        )
    if (ledger is None) != (dataset is None):
        raise ParameterError(ACCOUNT)


def _say_what_is_next(
    statement: Statement,
    out: Path,
    remote: RemoteTable | None,
    ledger: str | None,
    dataset: str | None,
) -> None:
    """Say who is protected, what is left of the budget, and which commands may follow."""
    say(protected_unit(statement))
    say(_next_step(statement, _left(remote, ledger, dataset), out, remote is not None))
    if ledger is not None:
        say(_to_sign(out, ledger))


def _left(remote: RemoteTable | None, ledger: str | None, dataset: str | None) -> float | None:
    """Return the epsilon that is left for one more run, if somebody keeps an account."""
    if remote is not None:
        with suppress(RemoteError, ColumnError):  # the model is there, whatever becomes of the node
            return remote.describe().epsilon_left
    return None if ledger is None else Ledger.open(ledger).epsilon_left(str(dataset))


def _kept(out: Path | None, reads: list[Path], force: bool) -> AbstractContextManager[Path | None]:
    if out is None:
        return nullcontext()
    return replacing(out, ".json", reads, may_replace=force, may_stream=False)


def _show(model: ClusterModel, out: Path) -> None:
    """Print the first clusters, and say how to see the others."""
    more = print_in_parts(*cluster_table(model), most=PARTS)
    if more > 0:
        say(
            f"and {more} smaller. All of them:"
            f"\n{INDENT}{shlex.join(['privclust', 'show', str(out)])}"
        )
    warned = column_warnings(model)  # while it was fitted
    for sentence in quality_sentences(model, out):
        if sentence not in warned:
            say(sentence)


def _to_sign(out: Path, ledger: str) -> str:
    people = "--purpose PURPOSE --requested-by NAME --approved-by NAME"
    approve = shlex.join(["privclust", "approve", str(out), "--ledger", ledger])
    return f"For a signature, a page with the ledger's total:\n{INDENT}{approve} {people}"


def _next_step(statement: Statement, epsilon_left: float | None, out: Path, at_node: bool) -> str:
    if statement.record is None:
        kept = "No ledger recorded this fit; further fits of the same rows add to epsilon."
    else:
        kept = f"Run {statement.run.name} of data set {statement.record.dataset!r}"
        if epsilon_left is not None:
            left = f"epsilon {epsilon_left:g} left"
            # A node says what is left of an analyst's part, and not of the whole budget.
            kept += f"; you have {left} there" if at_node else f", which has {left}"
            kept += " for one more run"
            if statement.record.delta > 0 and not at_node:
                kept += f" at delta {rounded_up(statement.record.delta)}"
        kept += "."
    if statement.dependencies:
        kept += (
            f" With the model that it started from: epsilon {rounded_up(statement.epsilon)}, delta "
            f"{rounded_up(statement.delta)}."
        )
    return (
        f"{kept} Wrote {out.name}; next:\n"
        f"{INDENT}privclust report {shlex.quote(str(out))} -o report.html"
    )
