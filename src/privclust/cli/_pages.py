"""What commands that write pages have in common: hashes of files, and PDF."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import typer

from privclust.cli.atomic_write import replacing
from privclust.cli.messages import needing, writing
from privclust.errors import ParameterError

Pdf = Annotated[
    Path | None, typer.Option(help="PDF to write besides: the same page, for printing.")
]
Paper = Literal["A4", "letter"]
PAPERS: tuple[Paper, ...] = ("A4", "letter")
PaperSize = Annotated[Paper, typer.Option(help="What the PDF is printed on.")]
Profiles = Annotated[
    list[Path] | None, typer.Option(help="A profile of the model to show; any number.")
]
MinSize = Annotated[
    float | None,
    typer.Option(help="Leave out clusters of fewer rows; else of three standard errors."),
]


def file_hash(file: Path) -> str:
    """Return the SHA-256 of a file that was read before."""
    return sha256(file.read_bytes()).hexdigest()


def pdf_printer() -> Callable[[str, Paper], bytes]:
    """Return what makes a PDF of a page, or say what it needs to be installed."""
    try:
        with needing("pdf"):
            from privclust.models.report.pdf import to_pdf
    except OSError:  # how WeasyPrint says that Pango is missing
        raise ParameterError(
            "a PDF needs Pango, a library of the system: on Debian and Ubuntu, apt install "
            "libpango-1.0-0 libpangoft2-1.0-0. Or leave the PDF out and print the page from a "
            "browser."
        ) from None
    return to_pdf


def write_pages(
    text: str,
    out: Path,
    pdf: Path | None,
    paper: Paper,
    reads: list[Path],
    force: bool,
) -> list[Path]:
    """Write a page as HTML and, if wanted, as PDF; return what was written."""
    if pdf is not None:
        content = pdf_printer()(text, paper)
        with replacing(pdf, ".pdf", reads, may_replace=force) as file, writing(pdf):
            file.write_bytes(content)
    with replacing(out, ".html", reads, may_replace=force) as file, writing(out):
        file.write_bytes(text.encode())
    return [out] if pdf is None else [out, pdf]
