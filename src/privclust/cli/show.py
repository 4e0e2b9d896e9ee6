"""``privclust show``: the clusters of a model."""

from __future__ import annotations

import typer

from privclust.cli._clusters import (
    cluster_table,
    clusters_json,
    protected_unit,
    quality_sentences,
)
from privclust.cli._options import AsJson, Model
from privclust.cli.messages import print_error, reporting_errors, say, warn_if_weak
from privclust.cli.tables import print_in_parts


def show(model: Model, as_json: AsJson = False) -> None:
    """Print the clusters of a model: all of them, with the standard errors of noise."""
    from privclust.models.model_file import read_model

    with reporting_errors():
        found = read_model(model)
        if as_json:
            typer.echo(clusters_json(found))
            return
        say(f"{found.privacy_statement.subject}.")
        print_in_parts(*cluster_table(found))
        for sentence in quality_sentences(found, model):
            say(sentence)
        say(protected_unit(found.privacy_statement))
        if found.fit_warning is not None:
            print_error(found.fit_warning)
        warn_if_weak(found.privacy_statement.composed)
