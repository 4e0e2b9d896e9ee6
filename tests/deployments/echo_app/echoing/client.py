"""Responds as an ordinary client does, and echoes with as many bytes as are wanted."""

from __future__ import annotations

from flwr.app import ConfigRecord, Context, Message, RecordDict

from privclust.engines.federated.client import Client
from privclust.engines.federated.flower import client_app


def open_client(context: Context) -> Client:
    return Client(str(context.node_config["table"]), str(context.node_config["folder"]))


app = client_app(open_client)


@app.query("echo")  # type: ignore[untyped-decorator]
def echo(message: Message, context: Context) -> Message:
    size = message.content.config_records["echo"]["size"]
    reply = RecordDict({"echo": ConfigRecord({"response": bytes(size)})})
    return Message(reply, reply_to=message)
