"""Lets links to Markdown at the repository's root end at the pages that show it in the site."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath, relpath

from sphinx.application import Sphinx

SHOWN_BY = {
    "../README.md": "index.md",
    "../CHANGELOG.md": "project/changelog.md",
    "../CONTRIBUTING.md": "project/contributing.md",
    "../SECURITY.md": "reference/security.md",
}
LINK = re.compile(r"\]\(((?:\.\./)+[A-Z]+\.md)(#[^)]*)?\)")


def rewrite(app: Sphinx, page: str, source: list[str]) -> None:
    """Change links in a page's text before it is parsed; the file stays as it is."""
    folder = dirname(page)

    def inside(link: re.Match[str]) -> str:
        shown = SHOWN_BY.get(normpath(join(folder, link[1])))
        return f"]({relpath(shown, folder or '.')}{link[2] or ''})" if shown else link[0]

    source[0] = LINK.sub(inside, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Run on every page."""
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
