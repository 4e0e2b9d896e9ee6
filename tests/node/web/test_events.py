"""Streams of events: how many an analyst has, counted from when they are granted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from privclust.node.requests.problems import RequestError
from privclust.node.web._events import STREAMS_PER_ANALYST, Streams


async def read() -> dict[str, Any]:
    return {"state": "running"}


def granted(streams: Streams, analyst: str = "a1") -> Any:
    return streams.response(analyst, read, 0.0, lambda: True)


async def sent_to_nobody(response: Any) -> None:
    """Send a response to a client that is gone before the first event."""

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(_: object) -> None:
        await asyncio.sleep(0)

    await response({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)


@pytest.mark.attack
def test_streams_count_before_their_first_event() -> None:
    streams = Streams()
    first, *_ = [granted(streams) for _ in range(STREAMS_PER_ANALYST)]
    with pytest.raises(RequestError, match="streams of events open"):
        granted(streams)
    granted(streams, "another")
    asyncio.run(sent_to_nobody(first))
    granted(streams)
