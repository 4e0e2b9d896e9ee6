"""How far a fit has come, at a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from privclust.privacy.progress import Step, watching

FULL_PASSES = 5
"""PrivateKMeans reads a large table so often (docs/scale.md)."""


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
def progress(silent: bool) -> Iterator[None]:
    """Show a bar of queries and about how long is left, on standard error."""
    console = Console(stderr=True)
    if silent or not console.is_terminal:
        yield
        return
    clock = Clock()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("query {task.completed} of about {task.total}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None, left="")

        def update(step: Step) -> None:
            left = clock.left(step)
            bar.update(
                task,
                description=f"measuring {step.slot}",
                completed=step.measured + step.finished,
                total=step.measured + 1 + step.left,
                left="" if left is None else f"about {_spoken(left)} left",
            )

        with watching(update):
            yield


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
