"""``privclust profile``: what other columns are like in each cluster of a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privclust.cli._databases import Casts, QueryText, queried_table
from privclust.cli._options import (
    ACCOUNT,
    DecimalAsFitted,
    Delimiter,
    Force,
    Model,
    Quiet,
    Sheet,
    column_names,
    files_as_fitted,
)
from privclust.cli._remote import CaFile, Certificate, remote_table
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import (
    INDENT,
    reporting_errors,
    reporting_warnings,
    say,
    state_dialects,
    warn_if_weak,
    writing,
)
from privclust.cli.progress import progress
from privclust.cli.tables import print_in_parts
from privclust.errors import BoundsError, ParameterError
from privclust.models.formatting import rounded_up
from privclust.sources.files import paths_of

if TYPE_CHECKING:
    from privclust.models.profile import Profile


def profile(
    model: Model,
    table: Annotated[
        list[str],
        typer.Argument(help="The table that was fitted: files, folders, patterns, or its address."),
    ],
    columns: Annotated[list[str], typer.Option(help="Columns to profile, such as age,income.")],
    epsilon: Annotated[
        float, typer.Option(help="Of the profile alone; what it costs adds to the fit.")
    ],
    bounds: Annotated[
        Path | None, typer.Option(help="Bounds file that declares these columns.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="By default that of the fit.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger that pays for it.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The data set's name there; by default that of the fit.")
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="Which of its periods pays; by default that of the fit.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="Interrupted run to go on with; else a new one is paid for.")
    ] = None,
    delimiter: Delimiter = None,
    decimal: DecimalAsFitted = None,
    sheet: Sheet = None,
    query: QueryText = None,
    casts: Casts = None,
    ca_file: CaFile = None,
    certificate: Certificate = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write (JSON).")] = Path(
        "profile.json"
    ),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Measure what other columns are like in each cluster, from what the budget has left."""
    from privclust.estimators._load import load
    from privclust.models.profile_file import profile_to_json

    with reporting_errors():
        fitted = load(model)
        if ledger is None and dataset is not None:
            raise ParameterError(ACCOUNT)
        for_files = {"delimiter": delimiter, "decimal": decimal, "sheet": sheet}
        queried = queried_table(table, query, casts, **for_files)
        remote = remote_table(table, None, ca_file, certificate, **for_files)
        elsewhere = remote or queried
        if bounds is None and remote is None:
            raise BoundsError(
                "--bounds is missing. Name a bounds file that declares the columns to profile."
            )
        paths = [] if elsewhere else table
        files = files_as_fitted(paths, delimiter, decimal, sheet, fitted.model_.decimal)
        others = (Path(one) for one in (bounds, ledger) if one is not None)
        reads = [model, *paths_of(paths), *others]
        with replacing(out, ".json", reads, may_replace=force, may_stream=False) as file:
            if not (quiet or elsewhere):
                state_dialects(files)
            with progress(silent=quiet), reporting_warnings():
                found: Profile = fitted.profile(
                    elsewhere or files,
                    [name for typed in columns for name in column_names(typed)],
                    bounds=None if bounds is None else str(bounds),
                    epsilon=epsilon,
                    delta=delta,
                    ledger=ledger,
                    dataset=dataset,
                    period=period,
                    resume=resume,
                )
            with writing(out):
                file.write_bytes(profile_to_json(found).encode())
        warn_if_weak(found.privacy_statement.composed)
        if not quiet:
            _show(found, model, out)


def _show(found: Profile, model: Path, out: Path) -> None:
    """Print a profile, what it guarantees together with its model, and what may follow."""
    header, *rows = found.rows()
    print_in_parts(header, rows)
    together = found.privacy_statement
    say(
        f"{' '.join(found.notes)} The profile and the model it is grouped by together: epsilon "
        f"{rounded_up(together.epsilon)}, delta {rounded_up(together.delta)}. "
        f"Wrote {out.name}; next:\n"
        f"{INDENT}{shlex.join(['privclust', 'report', str(model), '--profile', str(out)])}"
    )
