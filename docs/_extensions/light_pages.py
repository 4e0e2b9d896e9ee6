"""Lets pages load what they use, show before scripts have run, and keep still meanwhile.

The theme sends to every page 1.5 MB of drawn icons, which a font has as well, and the index of the
search, which only the page of the search reads. Styles come in eight files; here they are one.
Of two thousand icons, styles and font keep those that some page shows, and of the rules of the
theme, of Bootstrap and of extensions those whose classes some page or script names.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from fontTools import subset
from sphinx.application import Sphinx

_SCRIPT = r'<script\b[^>]*src="[^"]*\b{}[^>]*></script>\n?'
DRAWN_ICONS = re.compile(_SCRIPT.format(r"fontawesome\.js"))
SEARCH = re.compile(_SCRIPT.format(r"(?:searchtools|language_data|searchindex)\.js"))
PRELOADED = re.compile(r'<link rel="preload" as="script"[^>]*>\n?')
"""They compete with the styles, and run last."""
WAITING = re.compile(r'<script (?=src="[^"]*/(?:doctools|sphinx_highlight|sg-tags|copy)\.js)')
"""Scripts that nothing before the page's end needs, but for the search."""
DARK = re.compile(r'<img (?=[^>]*class="[^"]*only-dark)')
"""Not shown on most pages, and not loaded there if they may come late."""
PICTURE = re.compile(r'<img (?![^>]*width=)(?=[^>]*src="([^"]*_images/[^"]*\.svg)")')
SIZE = re.compile(r'<svg [^>]*width="([\d.]+)pt" height="([\d.]+)pt"')
STYLES = re.compile(
    r'<link\b(?=[^>]*rel="stylesheet")[^>]*href="(?P<root>[^"]*?)(?P<file>_static/[^"?]*)[^>]*>'
)
IMPORTED = re.compile(r'@import "([^"]*)";')
ICON, NAME = re.compile(r"(?:\.fa-[\w-]+,?)+\{--fa:[^}]*\}"), re.compile(r"fa-[\w-]+")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
RULE, EMPTY = re.compile(r"[^{}]+\{[^{}]*\}"), re.compile(r"@media[^{}]*\{\s*\}")
CLASS, WORD = re.compile(r"\.(-?[A-Za-z_][\w-]*)"), re.compile(r"[\w-]+")
ATTRIBUTE = re.compile(r"\[[^\]]*\]")
FONT = "_static/vendor/fontawesome/webfonts/fa-solid-900.woff2"
BUNDLE = "_static/styles/pages.css"
THEME = """(root => {
if (!/^(light|dark)$/.test(root.dataset.theme)) root.dataset.theme =
matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
})(document.documentElement)"""
"""The theme's own script decides that after the page is shown, with light and dark figures."""


def lighten(app: Sphinx, error: Exception | None) -> None:
    """Take what they do not use out of all pages that were written."""
    folder = Path(app.outdir)
    found = [page for page in sorted(folder.rglob("*.html")) if "_static" not in page.parts]
    pages = {page: page.read_text(encoding="utf-8") for page in found}
    written = [text for text in pages.values() if len(STYLES.findall(text)) > 1]
    if error or not written:  # none of them since the last build
        return
    styles = "\n".join(_read(folder / link["file"]) for link in STYLES.finditer(written[0]))
    icons = {name for text in pages.values() for name in NAME.findall(text)}
    styles = ICON.sub(lambda rule: rule[0] if icons & {*NAME.findall(rule[0])} else "", styles)
    (folder / BUNDLE).write_text(_used(styles, _words(folder, pages.values())), encoding="utf-8")
    _shorten(folder / FONT, styles)
    for page, text in pages.items():
        sized = PICTURE.sub(partial(_with_size, page.parent), text)
        page.write_text(_lightened(sized, page.name == "search.html"), encoding="utf-8")


def _read(file: Path) -> str:
    """Return a style sheet with those that it imports."""
    text = file.read_text(encoding="utf-8")
    return IMPORTED.sub(lambda found: _read(file.parent / found[1]), text)


def _words(folder: Path, pages: Iterable[str]) -> set[str]:
    """Return all that may be the name of a class: what pages and scripts have."""
    scripts = [file for file in folder.rglob("*.js") if "fontawesome" not in file.parts]
    texts = [*pages, *(file.read_text(encoding="utf-8") for file in scripts)]
    return {word for text in texts for word in WORD.findall(text)}


def _used(styles: str, words: set[str]) -> str:
    """Leave out rules for classes that nothing has, selector by selector."""

    def kept(rule: re.Match[str]) -> str:
        selectors, _, declarations = rule[0].partition("{")
        if selectors.lstrip().startswith("@") or re.search(r"[(\\]", selectors):
            return rule[0]  # no rule, or one that does not need all classes that it names
        found = [
            one
            for one in selectors.split(",")
            if words.issuperset(CLASS.findall(ATTRIBUTE.sub("", one)))
        ]
        return f"{','.join(found)}{{{declarations}" if found else ""

    return EMPTY.sub("", RULE.sub(kept, COMMENT.sub("", styles)))


def _shorten(file: Path, styles: str) -> None:
    """Leave in a font of icons those that styles name, by number or as they are."""
    letters = {int(code, 16) for code in re.findall(r"\\([ef][0-9a-f]{3})\b", styles)}
    letters |= {ord(letter) for letter in styles if "\ue000" <= letter <= "\uf8ff"}
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    options = subset.Options(flavor="woff2")
    font = subset.load_font(str(file), options)
    shortened = subset.Subsetter(options)
    shortened.populate(unicodes=letters)
    shortened.subset(font)
    subset.save_font(font, str(file), options)


def _with_size(folder: Path, picture: re.Match[str]) -> str:
    """Say how large a drawing is, so that what is below it does not move when it arrives."""
    found = SIZE.search((folder / picture[1]).read_text(encoding="utf-8"))
    if found is None:
        return picture[0]
    width, height = (round(float(points) * 4 / 3) for points in found.groups())
    return f'<img width="{width}" height="{height}" '


def _lightened(text: str, searches: bool) -> str:
    text = PRELOADED.sub("", DRAWN_ICONS.sub("", text))
    text = DARK.sub('<img loading="lazy" ', text)
    if not searches:
        text = WAITING.sub("<script defer ", SEARCH.sub("", text))
    links = list(STYLES.finditer(text))
    for place, link in reversed(list(enumerate(links))):
        ours = f'<link rel="stylesheet" href="{link["root"]}{BUNDLE}" />' if place == 0 else ""
        text = text[: link.start()] + ours + text[link.end() :]
    return text


def setup(app: Sphinx) -> dict[str, bool]:
    """Run when all pages are written."""
    app.add_js_file(None, body=THEME)
    app.connect("build-finished", lighten, priority=900)  # the theme writes styles then, too
    return {"parallel_read_safe": True, "parallel_write_safe": True}
