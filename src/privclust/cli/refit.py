"""``privclust refit``: another number of clusters, at no cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._clusters import (
    cluster_table,
    clusters_json,
    protected_unit,
    quality_sentences,
)
from privclust.cli._models import load_with_coreset
from privclust.cli._options import AsJson, Force, Model, Quiet
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import reporting_errors, say, writing
from privclust.cli.tables import print_in_parts


def refit(
    model: Model,
    n_clusters: Annotated[int, typer.Option("--clusters", "-k", help="How many to have instead.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write (JSON).")],
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make a model with another number of clusters; no row is read and nothing is spent.

    It follows from what the fit released. 'privclust k-path' shows what each number is like.
    """
    from privclust.models.model_file import to_json

    with reporting_errors():
        fitted = load_with_coreset(model)
        with replacing(out, ".json", [model], may_replace=force) as file:
            found = fitted.refit(n_clusters).model_
            with writing(out):
                file.write_bytes(to_json(found).encode())
        if as_json:
            typer.echo(clusters_json(found))
            return
        if quiet:
            return
        print_in_parts(*cluster_table(found))
        for sentence in quality_sentences(found, out):
            say(sentence)
        say(protected_unit(found.privacy_statement))
        say(f"No row was read and nothing was spent. Wrote {out.name}.")
