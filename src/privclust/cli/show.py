"""``privclust show``: the clusters of a model, or what a profile says of them."""

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
from privclust.cli._options import AsJson
from privclust.cli.messages import print_error, reporting_errors, say, warn_if_weak
from privclust.cli.tables import print_in_parts


def show(
    file: Annotated[Path, typer.Argument(help="A model file, or a profile.")],
    as_json: AsJson = False,
) -> None:
    """Print the clusters of a model: all of them, with the standard errors of noise.

    Of a profile, what its columns are like in each cluster.
    """
    from privclust.models._json_file import kind_of_file

    with reporting_errors():
        if kind_of_file(file) == "profile":
            _show_profile(file, as_json)
        else:
            _show_model(file, as_json)


def _show_model(file: Path, as_json: bool) -> None:
    from privclust.models.model_file import read_model

    found = read_model(file)
    if as_json:
        typer.echo(clusters_json(found))
        return
    say(f"{found.privacy_statement.subject}.")
    print_in_parts(*cluster_table(found))
    for sentence in quality_sentences(found, file):
        say(sentence)
    say(protected_unit(found.privacy_statement))
    if found.fit_warning is not None:
        print_error(found.fit_warning)
    warn_if_weak(found.privacy_statement.composed)


def _show_profile(file: Path, as_json: bool) -> None:
    from privclust.models.profile import NOTE
    from privclust.models.profile_file import load_profile, profile_to_json

    found = load_profile(file)
    if as_json:
        typer.echo(profile_to_json(found), nl=False)
        return
    say(f"{found.privacy_statement.subject}.")
    header, *rows = found.rows()
    print_in_parts(header, rows)
    say(NOTE)
    say(protected_unit(found.privacy_statement))
    warn_if_weak(found.privacy_statement.composed)
