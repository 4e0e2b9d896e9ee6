"""``privclust report``: one page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._options import Model
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import needing, reporting_errors, writing


def report(
    model: Model,
    profile: Annotated[
        list[Path] | None, typer.Option(help="A profile of the model to show; any number.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    min_size: Annotated[
        float | None,
        typer.Option(help="Leave out clusters of fewer rows; else of three standard errors."),
    ] = None,
) -> None:
    """Write one page about a model, for whoever has to approve or to use it."""
    from privclust.models.model_file import read_model
    from privclust.models.profile_file import load_profile

    with reporting_errors():
        with needing("report"):
            from privclust.models.report import to_html
        profiles = profile or []
        text = to_html(read_model(model), [load_profile(file) for file in profiles], min_size)
        with replacing(out, ".html", [model, *profiles]) as file, writing(out):
            file.write_text(text, encoding="utf-8")
        typer.echo(f"wrote {out.name}; open it in a browser.")
