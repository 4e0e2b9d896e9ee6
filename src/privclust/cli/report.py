"""``privclust report``: one page about a model."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._options import Force, Model
from privclust.cli._pages import MinSize, PaperSize, Pdf, Profiles, file_hash, write_pages
from privclust.cli.messages import needing, reporting_errors, say


def report(
    model: Model,
    profile: Profiles = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    pdf: Pdf = None,
    paper: PaperSize = "A4",
    min_size: MinSize = None,
    force: Force = False,
) -> None:
    """Write one page about a model, for whoever has to approve or to use it."""
    from privclust.models.model_file import read_model
    from privclust.models.profile_file import load_profile

    with reporting_errors():
        with needing("report"):
            from privclust.models.report import PageHeading, to_html
        profiles = profile or []
        released, loaded = read_model(model), [load_profile(file) for file in profiles]
        heading = PageHeading(
            released.privacy_statement.dataset,
            date.today().isoformat(),
            file_hash(model),
            tuple(map(file_hash, profiles)),
        )
        text = to_html(released, loaded, min_size, heading)
        written = write_pages(text, out, pdf, paper, [model, *profiles], force)
        names = " and ".join(file.name for file in written)
        say(f"wrote {names}; open {out.name} in a browser.")
