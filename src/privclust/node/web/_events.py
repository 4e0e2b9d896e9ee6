"""Server-sent events: the status of a job whenever it is another one, until the job ended."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

from starlette.responses import StreamingResponse

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
        return StreamingResponse(
            self._counted(analyst, _events(read, tick, holds)), media_type="text/event-stream"
        )

    async def _counted(self, analyst: str, events: AsyncIterator[str]) -> AsyncIterator[str]:
        self._open[analyst] += 1
        try:
            async for event in events:
                yield event
        finally:
            self._open[analyst] -= 1


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
