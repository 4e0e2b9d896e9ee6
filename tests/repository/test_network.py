"""No socket is opened, whatever is imported, fitted, saved or typed."""

from __future__ import annotations

from pathlib import Path

from helpers.processes import output_of

FORBID = """
import socket, sys

def refused(*arguments, **named):
    raise AssertionError("a socket was opened")

opened = []
def listen(event, arguments):
    if event.startswith("socket."):
        opened.append(event)

sys.addaudithook(listen)
socket.socket.connect = socket.socket.bind = socket.getaddrinfo = refused
"""
IMPORT_ALL = """
import importlib, pkgutil
import privclust
for module in pkgutil.walk_packages(privclust.__path__, "privclust."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
USE = """
import os
os.chdir(sys.argv[1])
import numpy as np
import pyarrow as pa, pyarrow.parquet as pq
import privclust
from typer.testing import CliRunner
from privclust.cli import app

def typed(*words):
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output

rows = np.random.default_rng(0).normal(0.0, 0.3, (600, 2))
pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), "rows.parquet")
model = privclust.PrivateKMeans(2, delta=1e-6, bounds=(-1, 1), max_clusters=2).fit(rows)
privclust.save(model, "model.json")
privclust.load("model.json")
with open("rows.toml", "w") as file:
    file.write('bounds_origin = "public data"\\n')
    for name in "ab":
        file.write(f'[columns.{name}]\\ntype = "number"\\nlower = -1\\nupper = 1\\n')
typed("ledger", "create", "budget.db", "rows", "--epsilon", "4", "--delta", "1e-6")
typed("fit", "rows.parquet", "--bounds", "rows.toml", "-k", "2", "--delta", "1e-6", "--ledger",
      "budget.db", "--dataset", "rows", "--out", "named.json", "--quiet")
typed("predict", "named.json", "rows.parquet", "-o", "labels.parquet")
typed("export", "named.json", "--sql", "duckdb")
typed("report", "named.json", "-o", "report.html")
typed("ledger", "verify", "budget.db", "--model", "named.json")
typed("plan", "--rows", "1000", "--columns", "2", "--delta", "1e-6")
"""
TELL = "\nprint(opened)\n"


def test_importing_every_module_opens_no_socket() -> None:
    assert output_of(FORBID + IMPORT_ALL + TELL) == "[]\n"


def test_fitting_saving_reporting_and_typing_open_no_socket(tmp_path: Path) -> None:
    assert output_of(FORBID + USE + TELL, str(tmp_path)) == "[]\n"


def test_a_socket_would_be_noticed() -> None:
    assert output_of(FORBID + "socket.socket().close()" + TELL) == "['socket.__new__']\n"
