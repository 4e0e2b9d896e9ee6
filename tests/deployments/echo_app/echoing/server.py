"""Measures and echoes in turn, and writes down bytes and seconds of each round."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from privclust.domains.box import Box
from privclust.engines.federated.client import response_size
from privclust.engines.federated.federation import Federation
from privclust.engines.federated.flower import flower_federation
from privclust.queries import ROW, NearestVotes

ROUNDS = 4
CANDIDATES = 20_000
app = ServerApp()


@app.main()  # type: ignore[untyped-decorator]
def main(grid: Grid, context: Context) -> None:
    found: dict[str, list[float]] = {"query": [], "echo": [], "query bytes": [], "echo bytes": []}
    query = NearestVotes(np.random.default_rng(0).uniform(-0.5, 0.5, (CANDIDATES, 2)))
    real = flower_federation(grid, ["age", "bmi"], clients=3, seconds=300.0)

    def counted(requests: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
        responses = list(real.exchange(requests))
        sent = sum(map(len, requests.values()))
        found["query bytes"].append(sent + sum(len(response) for _, response in responses))
        return responses

    federation = Federation(counted, real.clients, real.columns)
    engine = federation.open_engine(None, Box([0, 10], [120, 60]), ROW)
    size = response_size(query)
    for _ in range(ROUNDS):
        start = time.monotonic()
        engine.aggregate(query)
        found["query"].append(time.monotonic() - start)
        start = time.monotonic()
        found["echo bytes"].append(_echoed(grid, real.clients, query.candidates.nbytes, size))
        found["echo"].append(time.monotonic() - start)
    Path(str(context.run_config["times"])).write_text(json.dumps(found), encoding="utf-8")


def _echoed(grid: Grid, clients: Iterable[str], sent: int, wanted: int) -> int:
    content = RecordDict({"echo": ConfigRecord({"request": bytes(sent), "size": wanted})})
    messages = [
        Message(content, dst_node_id=int(name), message_type="query.echo", ttl=300.0)
        for name in clients
    ]
    replies = list(grid.send_and_receive(messages, timeout=300.0))
    received = [len(reply.content.config_records["echo"]["response"]) for reply in replies]
    return len(messages) * sent + sum(received)
