"""How far a fit has come: a bar in terminals and notebooks, of queries and never of rows.

``PRIVCLUST_PROGRESS=off`` in the environment turns it off.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from privclust.models._html import bar, block
from privclust.models.formatting import spoken
from privclust.privacy.progress import Step, Wait, is_watched, watching

VARIABLE = "PRIVCLUST_PROGRESS"
FULL_PASSES = 5
"""PrivateKMeans reads a large table so often (docs/scale.md)."""


@dataclass(frozen=True)
class _View:
    """What a bar shows: what is done, how much of it, and about how long is left."""

    text: str
    count: str
    done: float
    total: float
    left: str


class Clock:
    """Guesses how long a fit will still take, from how long its queries took."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._whole: list[float] = []
        self._sampled: list[float] = []

    def left(self, step: Step) -> float | None:
        """Return seconds, or None as long as nothing is known."""
        if not step.finished:
            self._begun = time.monotonic()
        else:
            took = time.monotonic() - self._begun
            (self._whole if step.whole else self._sampled).append(took)
        if not self._whole:
            return None
        whole = sum(self._whole) / len(self._whole)
        if not self._sampled:
            return whole * step.left
        sampled = sum(self._sampled) / len(self._sampled)
        passes = max(0, FULL_PASSES - len(self._whole))
        return whole * passes + sampled * max(0, step.left - passes)


@contextmanager
def showing_progress() -> Iterator[None]:
    """Show a bar in a notebook or a terminal, if `should_show_progress`."""
    if not should_show_progress():
        yield
        return
    with notebook_bar() if in_notebook() else terminal_bar():
        yield


def should_show_progress() -> bool:
    """Tell whether to show anything: not in logs, not if it is turned off or a fit is watched."""
    wanted = os.environ.get(VARIABLE, "on").lower() not in ("off", "0", "no", "false")
    return wanted and not is_watched() and (in_notebook() or sys.stderr.isatty())


def tell(text: str) -> None:
    """Print a message that is no warning, where bars are shown."""
    if in_notebook():
        _display(block(text))
    else:
        sys.stderr.write(f"{text}\n")


@contextmanager
def terminal_bar() -> Iterator[None]:
    """Show a bar of queries and about how long is left, on standard error."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:  # of the extra "cli"
        yield
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task("starting", total=None, count="", left="")

        def update(view: _View) -> None:
            display.update(
                task,
                description=view.text,
                completed=view.done,
                total=view.total,
                count=view.count,
                left=view.left,
            )

        with watching(_timed(update)):
            yield


@contextmanager
def notebook_bar() -> Iterator[None]:
    """Show a bar of queries and about how long is left, below a cell, until the fit ends."""
    handle = _display(block("starting", bar(0.0, 240)))

    def update(view: _View) -> None:
        text = ", ".join(part for part in (view.text, view.count, view.left) if part)
        _display(block(text, bar(view.done / view.total, 240)), handle)

    try:
        with watching(_timed(update)):
            yield
    finally:
        _display("", handle)


def in_notebook() -> bool:
    """Tell whether a kernel runs this, whose front end shows HTML."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


def _timed(update: Callable[[_View], None]) -> Callable[[Step | Wait], None]:
    clock = Clock()

    def watch(step: Step | Wait) -> None:
        view = _waited(step) if isinstance(step, Wait) else _measured(step, clock.left(step))
        with suppress(Exception):  # a bar that fails must not end a fit that was paid for
            update(view)

    return watch


def _measured(step: Step, left: float | None) -> _View:
    done, total = step.measured + step.finished, step.measured + 1 + step.left
    count = f"query {done} of about {total}"
    rest = "" if left is None else f"about {spoken(left)} left"
    return _View(f"measuring {step.slot}", count, done, total, rest)


def _waited(wait: Wait) -> _View:
    left = f"{spoken(wait.seconds_left)} left"
    if wait.part >= 1:
        soon = wait.seconds_left == 0
        left = "to be released" if soon else f"late; next release in {spoken(wait.seconds_left)}"
    return _View(f"{wait.state} at the node", "", wait.part, 1.0, left)


def _display(html: str, handle: Any = None) -> Any:
    """Show HTML below the cell that runs, or in place of what a handle shows."""
    with suppress(Exception):
        from IPython.display import display

        # Where HTML is not shown, a bar is nothing rather than the name of a class.
        content = {"text/html": html, "text/plain": ""}
        if handle is None:
            return display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        handle.update(content, raw=True)
    return None
