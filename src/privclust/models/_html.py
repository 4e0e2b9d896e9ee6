"""What notebooks show: tables and small pictures in HTML, on dark and on light pages.

Every text is escaped here and nowhere else, so that names of columns stay names. Text has the
page's own colour; only lines and bars have one of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

SHOWN_ROWS = 60
"""Rows of a table that a notebook shows; how many are left out is said."""
_STYLE = """<style>
.privclust { --line: #33638d; --mark: #c2570c; --edge: rgba(128, 128, 128, .35);
  font-size: 13px; line-height: 1.4; max-width: 100%; color: inherit; }
.privclust .wide { overflow-x: auto; }
@media (prefers-color-scheme: dark) { .privclust { --line: #7fb2e5; --mark: #f0a36b; } }
[data-jp-theme-light="true"] .privclust, .vscode-light .privclust, html[theme=light] .privclust
  { --line: #33638d; --mark: #c2570c; }
[data-jp-theme-light="false"] .privclust, .vscode-dark .privclust, html[theme=dark] .privclust
  { --line: #7fb2e5; --mark: #f0a36b; }
.privclust p { margin: 4px 0; max-width: 72em; }
.privclust .title { font-weight: 600; font-size: 14px; }
.privclust table { border-collapse: collapse; margin: 6px 0; color: inherit;
  font-size: 13px; }
.privclust th, .privclust td { padding: 2px 9px; border: 0; border-bottom: 1px solid var(--edge);
  text-align: right; background: none; color: inherit; white-space: nowrap; }
.privclust th { font-weight: 600; }
.privclust tr > :first-child { text-align: left; }
.privclust td.text { text-align: left; white-space: normal; }
.privclust .warn { border-left: 3px solid var(--mark); padding-left: 8px; }
.privclust svg { vertical-align: middle; overflow: visible; }
.privclust summary { cursor: pointer; }
</style>"""


class Html(str):
    """A piece of a page in which everything is escaped already.

    Examples
    --------
    >>> table(["name"], [["<b>"]])
    '<div class="wide"><table><tr><th>name</th></tr><tr><td>&lt;b&gt;</td></tr></table></div>'
    """

    __slots__ = ()


def block(title: str, *parts: Html) -> str:
    """Return a whole output of a notebook: a title, and what stands below it."""
    body = "".join(parts)
    return f'<div class="privclust">{_STYLE}<p class="title">{escape(title)}</p>{body}</div>'


def sentence(text: str, warning: bool = False) -> Html:
    """Return a paragraph; one that warns has a line beside it."""
    kind = ' class="warn"' if warning else ""
    return Html(f"<p{kind}>{escape(text)}</p>")


def details(title: str, *parts: Html) -> Html:
    """Return what opens when somebody clicks on its title."""
    return Html(f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>")


def table(header: Sequence[str], rows: Iterable[Sequence[str | Html]], text: bool = False) -> Html:
    """Return a table that scrolls if it is wide, and says how many rows are not shown.

    `text` may wrap.
    """
    every = list(rows)
    names = "".join(f"<th>{escape(name)}</th>" for name in header)
    cell = '<td class="text">' if text else "<td>"
    body = "".join(
        "<tr>" + "".join(f"{cell}{_cell(one)}</td>" for one in row) + "</tr>"
        for row in every[:SHOWN_ROWS]
    )
    whole = Html(f'<div class="wide"><table><tr>{names}</tr>{body}</table></div>')
    left_out = len(every) - SHOWN_ROWS
    return whole if left_out <= 0 else Html(whole + sentence(f"{left_out:,} more rows."))


def bar(share: float, width: int = 90) -> Html:
    """Return a bar that fills a share of its width.

    Examples
    --------
    >>> 'width="45.0"' in bar(0.5)
    True
    """
    filled = width * min(max(share, 0.0), 1.0)
    return Html(
        f'<svg width="{width}" height="10" role="img" aria-label="{share:.0%}">'
        f'<rect width="{width}" height="10" fill="var(--edge)" opacity=".5"/>'
        f'<rect width="{filled:.1f}" height="10" fill="var(--line)"/></svg>'
    )


def curve(
    label: str, values: Sequence[float], errors: Sequence[float], width: int = 340, height: int = 96
) -> Html:
    """Return a line through values from 0 up, with lines of two errors, and its two ends named."""
    most = max((value + 2 * error for value, error in zip(values, errors, strict=True)), default=0)
    step = width / max(1, len(values) - 1)
    unit = height / most if most > 0 else 0.0
    places = [(step * place, height - unit * value) for place, value in enumerate(values)]
    lines = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 2 * unit * error:.1f}" '
        f'y2="{min(height, y + 2 * unit * error):.1f}" stroke="var(--mark)"/>'
        for (x, y), error in zip(places, errors, strict=True)
    )
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return Html(
        f'<svg width="{width + 40}" height="{height + 34}" viewBox="-10 -16 {width + 40} '
        f'{height + 34}" role="img" aria-label="{escape(label)}" fill="currentColor">'
        f'<text x="0" y="-5" font-size="11">{escape(label)}</text>'
        f'<line x1="0" x2="{width}" y1="{height}" y2="{height}" stroke="var(--edge)"/>{lines}'
        f'<polyline points="{path}" fill="none" stroke="var(--line)" stroke-width="1.5"/>'
        f'<g fill="var(--line)">{dots}</g>'
        f'<text x="0" y="{height + 13}" font-size="11" text-anchor="middle">1</text>'
        f'<text x="{width}" y="{height + 13}" font-size="11" text-anchor="middle">'
        f"{len(values)}</text></svg>"
    )


def _cell(content: str | Html) -> str:
    return content if isinstance(content, Html) else escape(content)
