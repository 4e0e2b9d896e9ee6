"""Run what a page of the documents shows, from top to bottom, and compare what it prints.

- Python blocks run in order, in one namespace, in an empty folder; so do console lines that begin
  with ``$ privclust``.
- A text block right after a Python block is what that block prints, and so are the lines after a
  console command. Numbers may differ, because noise is real; words and the count of numbers may
  not. ``...`` stands for anything.
- A comment before a block says what is different about it: ``<!-- certain -->``, numbers may not
  differ either; ``<!-- file: NAME -->``, it is the content of a file; ``<!-- not run: WHY -->``.

A figure ``NAME.png`` that a page saves is kept as docs/figures/NAME.svg, in the style of all
figures, if the page shows that file; its words may not differ either. A report that a page links to
is kept as docs/_extra/NAME-report.html.

``python -m helpers.pages PAGE.md …`` writes into pages what they print now, and keeps their figures
(with ``PYTHONPATH=.:tests``).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from privclust.algorithms._lone_cells import FAR_SLOT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n+)?^```(?P<language>\w+)\n(?P<content>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PICTURE = re.compile(r"(?:!\[[^]]*\]\(|<img src=\")((?:\.\./)*figures/[^)\"]+)")
REPORT = re.compile(r'href="\.\./(\S+-report\.html)"')
RUN_NAME = re.compile(r"\b[0-9a-f]{16,64}\b")
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?")


OCCASIONAL = FAR_SLOT.name
"""A query that some fits need and others do not: a drawn budget may show it or not."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its content, the comment before it, and where it lies."""

    language: str
    content: str
    note: str
    place: tuple[int, int]
    follows: bool
    """Whether nothing but a comment lies between it and the block before."""


@dataclass
class Run:
    """What came of a page: its names, what it shows beside what was printed, and its figures."""

    page: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    outputs: list[tuple[Block, str, str]] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)

    def differences(self) -> list[str]:
        """Return what was printed or drawn and is not what the page shows."""
        printed = [
            f"on the page:\n{expected}\nprinted:\n{printed}"
            for block, expected, printed in self.outputs
            if not agrees(expected, printed, certain=block.note == "certain")
        ]
        return printed + [
            f"{kept.name} has other words than what was drawn"
            for kept, figure in self.shown()
            if f">{words_of(figure)}<" not in kept.read_text(encoding="utf-8")
        ]

    def shown(self) -> list[tuple[Path, Figure]]:
        """Return the files of figures that the page both draws and shows."""
        files = pictures_of(self.page)
        return [(file, self.figures[file.stem]) for file in files if file.stem in self.figures]


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found, end = [], -1
    for match in BLOCK.finditer(text):
        follows = end >= 0 and not text[end : match.start()].strip()
        content = match["content"]
        place = match.span("content")
        found.append(Block(match["language"], content, match["note"] or "", place, follows))
        end = match.end()
    return found


def pictures_of(page: Path) -> list[Path]:
    """Return the files of the pictures that a page shows."""
    return [
        (page.parent / place).resolve()
        for place in PICTURE.findall(page.read_text(encoding="utf-8"))
    ]


def agrees(expected: str, printed: str, certain: bool) -> bool:
    """Tell whether a page shows what was printed, but for numbers unless they are certain."""
    wanted, found = (_normal(text, certain) for text in (expected, printed))
    pattern = ".*".join(re.escape(part.strip()) for part in wanted.split("..."))
    return re.fullmatch(pattern, found, flags=re.DOTALL) is not None


def words_of(figure: Figure) -> str:
    """Return a digest of what a figure shows in words, and of how many lines and bars it has."""
    shown: list[Any] = [_normal(text.get_text(), certain=False) for text in figure.texts]
    for axes in figure.axes:
        title = "".join(axes.get_title(place) for place in ("left", "center", "right"))
        texts = [title, axes.get_xlabel(), axes.get_ylabel()]
        legend: Any = axes.get_legend_handles_labels()
        handles, labels = legend
        texts += [label for label in labels if label != OCCASIONAL]
        shown += [_normal(text, certain=False) for text in texts]
        at_times = [
            handle.patches[0].get_facecolor()
            for handle, label in zip(handles, labels, strict=True)
            if label == OCCASIONAL
        ]
        bars = [bar for bar in axes.patches if bar.get_facecolor() not in at_times]
        shown += [len(found) for found in (axes.lines, axes.collections, bars, axes.texts)]
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


@contextlib.contextmanager
def _figures_kept(figures: dict[str, Figure]) -> Iterator[None]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        yield
        return
    save = Figure.savefig

    def keep(figure: Figure, target: Any, *given: Any, **named: Any) -> None:
        save(figure, target, *given, **named)
        if isinstance(target, str | Path):
            figures[Path(target).stem] = figure

    with patch.object(Figure, "savefig", keep):
        yield


def run(page: Path) -> Run:
    """Run a page in the present folder."""
    done = Run(page)
    with _figures_kept(done.figures):
        _run_blocks(done)
    return done


def _run_blocks(done: Run) -> None:
    printed = ""
    for block in blocks_of(done.page.read_text(encoding="utf-8")):
        if block.note.startswith("not run: "):
            continue
        if block.note.startswith("file: "):
            Path(block.note.removeprefix("file: ")).write_text(block.content, encoding="utf-8")
        elif block.language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block.content, str(done.page), "exec"), done.names)
            printed = output.getvalue()
        elif block.language == "console":
            done.outputs += _commands(block)
        elif block.language == "text" and block.follows:
            done.outputs.append((block, block.content, printed))


def _commands(block: Block) -> list[tuple[Block, str, str]]:
    """Run the commands of a console block that are ours."""
    outputs = []
    joined = block.content.replace("\\\n", " ")
    for entry in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, expected = entry.partition("\n")
        words = shlex.split(command, comments=True)
        if words[0] != "privclust":
            continue
        code, printed = _command(words[1:])
        # A page may show how a command is refused, but must not hide it.
        assert code == 0 or expected.strip(), f"{command}\n{printed}"
        if expected.strip():
            outputs.append((block, expected, printed))
    return outputs


def _command(words: list[str]) -> tuple[int, str]:
    from typer.testing import CliRunner

    from privclust.cli import app

    with _style_of_a_new_process():
        result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, str(result.output)


def _style_of_a_new_process() -> contextlib.AbstractContextManager[None]:
    """Let a command draw as it does at a prompt, though figures of a page have the site's style."""
    try:
        from matplotlib import rc_context, rcParamsDefault
    except ModuleNotFoundError:
        return contextlib.nullcontext()
    plain: Any = {name: value for name, value in rcParamsDefault.items() if name != "backend"}
    return rc_context(plain)


def _normal(text: str, certain: bool) -> str:
    if not certain:
        text = NUMBER.sub("#", RUN_NAME.sub("RUN", text))
    # How wide numbers are decides where arrays break and how they are filled up.
    return re.sub(r"\s+(?=\])|(?<=\[)\s+", "", re.sub(r"\s+", " ", text)).strip()


def renew(page: Path) -> None:
    """Write into a page what it prints now, and keep the figures that it draws and shows."""
    from benchmarks.figures.style import styled, write

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, styled():
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            done = run(page)
        finally:
            os.chdir(before)
            sys.path.remove(folder)
        for file, figure in done.shown():
            write(figure, words_of(figure), file.stem, file.parent)
        for kept in REPORT.findall(page.read_text(encoding="utf-8")):
            shutil.copy(Path(folder) / "report.html", DOCS / "_extra" / kept)
    text = page.read_text(encoding="utf-8")
    for block, expected, printed in reversed(done.outputs):
        if block.language == "text" and "..." not in expected:
            text = text[: block.place[0]] + printed + text[block.place[1] :]
        elif not agrees(expected, printed, certain=False):
            sys.stderr.write(f"{page.name} shows\n{expected}but printed\n{printed}\n")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(Path(name).resolve())
