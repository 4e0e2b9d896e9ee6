"""Pages as PDF: tagged, with their fonts, and loading nothing."""

from __future__ import annotations

from typing import Any, Literal

from weasyprint import CSS, HTML
from weasyprint.urls import URLFetcher

Paper = Literal["A4", "letter"]


def to_pdf(page: str, paper: Paper = "A4") -> bytes:
    """Return a page of this library as a tagged PDF (PDF/UA-1).

    Parameters
    ----------
    page : str
        HTML that `to_html` or `approval_page` made.
    paper : {"A4", "letter"}, default="A4"
        What it is printed on.

    Examples
    --------
    >>> to_pdf("<html lang=en><title>a</title><p>b</p></html>")[:5]
    b'%PDF-'
    """
    embedded_only = URLFetcher(allowed_protocols=["data"])  # nothing from a disk or a network
    size = CSS(string=f"@page {{ size: {paper} }}")
    options: dict[str, Any] = {"pdf_variant": "pdf/ua-1", "stylesheets": [size]}
    written: bytes = HTML(string=page, url_fetcher=embedded_only).write_pdf(**options)
    return written
