"""The client's side: which table to take part with, and where to keep a sample of it during a fit.

Both are named by the client's own engineer when the SuperNode is started:
``--node-config 'table="/data/patients.parquet" folder="/var/lib/privclust"'``.
"""

from __future__ import annotations

from flwr.app import Context

from privclust.engines.federated.client import Client
from privclust.engines.federated.flower import client_app


def open_client(context: Context) -> Client:
    """Open this client's table; nothing is read before a query comes."""
    config = context.node_config
    return Client(str(config["table"]), str(config["folder"]))


app = client_app(open_client)
