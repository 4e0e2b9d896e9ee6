"""How far a fit has come, at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from privclust.estimators._progress import terminal_bar
from privclust.privacy.progress import watching


@contextmanager
def progress(silent: bool) -> Iterator[None]:
    """Show a bar of queries and about how long is left, on standard error."""
    # A watcher who does nothing keeps the fit from showing a bar itself.
    with watching(lambda step: None) if silent else terminal_bar():
        yield
