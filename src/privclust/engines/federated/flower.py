"""Requests and responses over Flower: the server's side and the client's, with the same `Client`.

Messages have the types ``query.privclust``, with an encoded request, and ``query.privclust_end``,
when a fit has ended. Both sides import Flower and nothing else of it: no strategy, no model.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from privclust.engines.federated.client import Client, failure
from privclust.engines.federated.federation import Federation
from privclust.errors import EngineError
from privclust.sources.guard import guarded
from privclust.sources.schema import Schema

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
"""Settings under which Flower calls nobody and installs nothing. Set them for SuperLink and
SuperNodes, too, which start before this module is loaded."""
os.environ.update(QUIET)  # before Flower is imported, which reads them then

ACTION, END = "privclust", "privclust_end"
_PAUSE = 1.0


def flower_federation(
    grid: Any,
    columns: Iterable[str] | int,
    *,
    clients: int,
    minimum: int | None = None,
    clients_per_unit: int = 1,
    seconds: float = 600.0,
    schemas: Iterable[Schema] = (),
) -> Federation:
    """Return the federation of all SuperNodes that are connected.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
        What Flower hands to the main function of a ServerApp.
    columns : sequence of str, or int
        The columns to cluster, which every client's table must have.
    clients : int
        How many SuperNodes to wait for. Those that are connected then are the clients of the
        federation from then on: one that comes back under its own key takes its place again.
    minimum : int, optional
        The fewest clients with whose responses a fit goes on; by default all.
    clients_per_unit : int, default=1
        At how many clients one row's owner, or one id, may have rows; noise grows with it.
    seconds : float, default=600.0
        How long to wait for clients to connect, and for the responses to one request. Ten minutes,
        since a response may take a pass over a large table.
    schemas : sequence of Schema, optional
        What clients declare of their columns, if the server knows it. Vectors must be declared.
    """
    connected = _connected(grid, clients, seconds)

    def exchange(requests: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
        for reply in grid.send_and_receive(_messages(ACTION, requests, seconds), timeout=seconds):
            if reply.has_content() and ACTION in reply.content.config_records:
                response = reply.content.config_records[ACTION].get("response")
                if isinstance(response, bytes):
                    yield str(reply.metadata.src_node_id), response

    def on_finish(fit: bytes) -> None:
        # A client that is away forgets a day later.
        everybody = dict.fromkeys(connected, fit)
        grid.send_and_receive(_messages(END, everybody, seconds), timeout=seconds)

    return Federation(
        exchange,
        connected,
        columns,
        minimum=minimum,
        clients_per_unit=clients_per_unit,
        on_finish=on_finish,
        schemas=schemas,
    )


def client_app(open_client: Callable[[Context], Client]) -> ClientApp:
    """Return a Flower ClientApp that responds for the client that `open_client` opens.

    Flower starts a process for each message, so `open_client` is called for each: it should name
    files, not read them, and give the `Client` a folder to keep samples in. Without a folder
    there is no response, since each process would draw the same sample again.

    Parameters
    ----------
    open_client : callable
        From Flower's context, in which a SuperNode has its settings, to a `Client`.
    """
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp()

    @guarded
    def opened(context: Context) -> Client:
        client = open_client(context)
        if client.folder is None:
            raise ValueError("each request starts a process: give the Client a folder.")
        return client

    def sent(message: Message) -> bytes:
        return bytes(message.content.config_records[ACTION]["request"])

    @app.query(ACTION)  # type: ignore[untyped-decorator]
    def respond(message: Message, context: Context) -> Message:
        """Respond to one request; Flower would send the text of an error to the server."""
        request = sent(message)
        try:
            given = opened(context).respond(request)
        except EngineError:
            given = failure(request)
        content = RecordDict({ACTION: ConfigRecord({"response": given})})
        return Message(content, reply_to=message)

    @app.query(END)  # type: ignore[untyped-decorator]
    def forget(message: Message, context: Context) -> Message:
        """Forget the fit's samples: it has ended."""
        with suppress(EngineError):
            opened(context).forget(sent(message))
        return Message(RecordDict(), reply_to=message)

    return app


def _connected(grid: Any, clients: int, seconds: float) -> list[str]:
    """Wait for so many SuperNodes and return their names, in a fixed order."""
    end = time.monotonic() + seconds
    while True:
        nodes = sorted(grid.get_node_ids())
        if len(nodes) >= clients:
            return [str(node) for node in nodes]
        if time.monotonic() > end:
            raise TimeoutError(
                f"{len(nodes)} of {clients} SuperNodes are connected after {seconds:g} seconds. "
                "Start the others, or wait for fewer."
            )
        time.sleep(_PAUSE)


def _messages(action: str, content: Mapping[str, bytes], seconds: float) -> list[Message]:
    """Write one message to each node; after `seconds` nobody may act on it any more."""
    from flwr.app import ConfigRecord, Message, RecordDict

    return [
        Message(
            RecordDict({ACTION: ConfigRecord({"request": request})}),
            dst_node_id=int(name),
            message_type=f"query.{action}",
            ttl=seconds,
        )
        for name, request in content.items()
    ]
