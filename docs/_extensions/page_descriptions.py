"""Says in the head of each page what search engines and other sites show of it."""

from __future__ import annotations

import re
from html import escape, unescape
from posixpath import join
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LETTERS = 160
"""About as many as a list of results shows."""
CARD, SIZE = "_static/card.png", (1200, 630)
CARD_WORDS = "Rows of a table beside what is released of them: noisy centres and sizes"
WITHOUT_WORDS = "k-means for sensitive tables under differential privacy, in Python."


def describe(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Add a page's title, first paragraph and card, whose address begins with the site's."""
    words = _first_paragraph(tree) if tree else WITHOUT_WORDS
    base = app.config.html_baseurl or "../" * page.count("/")
    tags = {
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": unescape(re.sub("<[^>]+>", "", context.get("title", ""))),
        "og:description": words,
        "og:image": join(base, CARD),
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": CARD_WORDS,
    }
    lines = [f'<meta property="{name}" content="{escape(text)}" />' for name, text in tags.items()]
    lines.append(f'<meta name="description" content="{escape(words)}" />')
    lines.append('<meta name="twitter:card" content="summary_large_image" />')
    context["metatags"] = context.get("metatags", "") + "\n".join(lines)


def _first_paragraph(tree: nodes.document) -> str:
    for paragraph in tree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > LETTERS:
            return text[:LETTERS].rpartition(" ")[0] + " …"
        if len(text) > LETTERS / 4:
            return text
    return WITHOUT_WORDS


def setup(app: Sphinx) -> dict[str, bool]:
    """Run on every page."""
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
