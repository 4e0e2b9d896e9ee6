"""Server-sent events: the status of a job whenever it is another one, until the job ended."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from privclust.node.jobs.job import ENDED
from privclust.node.requests.problems import refused

STREAMS_PER_ANALYST = 4
STREAM_SECONDS = 3600.0
"""Afterwards clients connect again, with a token that still holds."""
SILENT_SECONDS = 15.0
"""So that no proxy takes the connection for dead."""

Read: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]


class Streams:
    """Counts the streams of each analyst, since each keeps a connection."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def response(
        self, analyst: str, read: Read, tick: float, holds: Callable[[], bool]
    ) -> StreamingResponse:
        """Return a stream of what `read` returns, which is called every `tick` seconds.

        It ends when `holds` no longer says that the token does.
        """
        if self._open[analyst] >= STREAMS_PER_ANALYST:
            raise refused(
                "quota-exceeded",
                f"You have {STREAMS_PER_ANALYST} streams of events open. Close one.",
            )
        # Counted now: another request may come before the first event is sent.
        self._open.update([analyst])
        return _Stream(_events(read, tick, holds), lambda: self._open.subtract([analyst]))


class _Stream(StreamingResponse):
    """Events, and what is done when the last was sent or nobody listens any more."""

    def __init__(self, events: AsyncIterator[str], on_end: Callable[[], None]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()


async def _events(read: Read, tick: float, holds: Callable[[], bool]) -> AsyncIterator[str]:
    sent: dict[str, Any] | None = None
    silent = passed = 0.0
    while passed < STREAM_SECONDS and holds():
        status = await read()
        if status != sent:
            yield f"data: {json.dumps(status)}\n\n"
            sent, silent = status, 0.0
        elif silent >= SILENT_SECONDS:
            yield ": still there\n\n"
            silent = 0.0
        if status["state"] in ENDED:
            return
        await asyncio.sleep(tick)
        silent, passed = silent + tick, passed + tick
