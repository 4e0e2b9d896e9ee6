"""Says where lines may break: not between a number and its unit, but inside a long name."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

TOGETHER = re.compile(r"(?<=\d) (?=%)|(?<=±) (?=[\d.])|(?<=\b[kd] =) (?=\d)")
"""Spaces of 5 %, ± 30 and k = 8."""
LONG_NAME = re.compile(r'<span class="pre">([^<\s]{30,})</span>')
"""A path, a test or an option within a line. Tables have no room for one in a single piece."""
BREAKS = re.compile(r"(?<=[/_.:])(?=\w)")
FRAME = re.compile(r"[│┃]| {6,}\S")
"""What tables have that programs print; they keep their lines."""
WIDE = 96
"""Letters of a line that no page has room for: it is a sentence, and is broken like one."""


class Together(SphinxTransform):
    """Keep numbers with their units."""

    default_priority = 850  # after other transforms made text

    def apply(self) -> None:
        """Look through all text that is not code, and all output for long sentences."""
        for text in list(self.document.findall(nodes.Text)):
            parent = text.parent
            if not isinstance(parent, nodes.FixedTextElement | nodes.literal | nodes.raw):
                kept = TOGETHER.sub("\N{NO-BREAK SPACE}", text)
                if kept != text:
                    parent.replace(text, nodes.Text(kept))
        for block in self.document.findall(nodes.literal_block):
            text = block.astext()
            printed = block.get("language") in ("text", "console") and not FRAME.search(text)
            if printed and any(len(line) > WIDE for line in text.splitlines()):
                block["classes"].append("sentences")


def break_names(
    app: Sphinx, page: str, template: str, context: dict[str, Any], document: nodes.document | None
) -> None:
    """Let long names break where they have a sign, which copies of them do not get."""
    if "body" in context:
        context["body"] = LONG_NAME.sub(_with_breaks, context["body"])


def _with_breaks(name: re.Match[str]) -> str:
    return f'<span class="pre long">{BREAKS.sub("<wbr>", name[1])}</span>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Run on every page."""
    app.add_transform(Together)
    app.connect("html-page-context", break_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
