"""What an analyst and an officer do, in one process and in a folder whose name is not ASCII.

Run as a module, with the names of what is to differ from this system: ``posix`` takes calls away
that other systems lack, ``encoding`` makes it an error to open a file without naming its encoding.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from helpers.other_system import MODULES, rename, take_away

LAZY = ("jinja2", "matplotlib.pyplot", "opendp.prelude", "openpyxl", "pandas", "typer.testing")
"""Libraries that privclust imports when it first needs them."""
FOLDER = "Ärzte & Söhne 2026"
ROWS = 3000
BOUNDS = """\
bounds_origin = "domain knowledge"

[columns."größe"]
type = "number"
lower = 100
upper = 220

[columns."Gewicht ±"]
type = "number"
lower = 0
upper = 200
"""
FIT = "fit besuche.csv --bounds grenzen.toml -k 2 --delta 1e-6 --ledger konto.db --dataset"
COMMANDS = (
    "plan --rows 3000 --columns 2 -k 2 --delta 1e-6",
    "bounds init besuche.csv -o leer.toml",
    "bounds check grenzen.toml besuche.csv",
    "ledger create konto.db Bäder --epsilon 8 --delta 1e-5 --source Straße",
    "ledger create konto.db Menschen --epsilon 1 --delta 1e-5 --unit wer",
    f"{FIT} Bäder -o modell.json",
    f"{FIT} Menschen -o einheit.json --unit wer --max-rows-per-unit 2",
    "show modell.json",
    "show modell.json --json",
    "k-path modell.json",
    "refit modell.json -k 1 -o eins.json",
    "statement modell.json",
    "report modell.json -o bericht.html",
    "predict modell.json besuche.csv -o marken.csv",
    "predict modell.json besuche.csv -o marken.csv --force",
    "predict modell.json besuche.csv -o marken.xlsx",
    "sample modell.json --rows 10 -o erfunden.csv",
    "export modell.json --sql duckdb --table besuche",
    "profile modell.json besuche.csv --columns größe --bounds grenzen.toml --epsilon 0.5 "
    "--ledger konto.db -o profil.json",
    "ledger remaining konto.db",
    "ledger runs konto.db Bäder",
    "ledger verify konto.db --model modell.json",
    "ledger export konto.db --output konto.jsonl",
    "ledger draw konto.db Bäder konto.png",
    "keygen amt.key --passphrase-file losung",
    "approve modell.json --purpose Planung --requested-by Ö --approved-by Ä --ledger konto.db",
    "sign modell.json approval.json approval.html --key amt.key --passphrase-file losung "
    "--ledger konto.db",
    "verify signature.json --public-key amt.pub",
)


def main(*differences: str) -> None:
    """Do all of it, and print what was done."""
    if "posix" in differences:
        _import_all()  # and with it all libraries
        for name in (*LAZY, *sys.modules):
            if name in LAZY:
                importlib.import_module(name)
            elif name.partition(".")[0] == "privclust":
                del sys.modules[name]
        take_away()
    if "encoding" in differences:
        warnings.filterwarnings("error", category=EncodingWarning, module=r"privclust(\.|$)")
    _import_all()
    if "posix" in differences:
        rename("privclust")
    folder = Path(tempfile.mkdtemp(dir=Path.cwd())) / FOLDER
    folder.mkdir()
    os.chdir(folder)
    _write_table()
    for command in COMMANDS:
        _type(command.split())
    _use_library()
    _use_temporary_files()
    has_nodes = sys.platform == "linux" and "posix" not in differences
    refusal = _type(["node", "check", "policy.toml"], 3 if has_nodes else 13)
    assert ("a node runs on Linux" in refusal) != has_nodes, refusal
    sys.stdout.write(f"{len(COMMANDS)} commands\n")


def _import_all() -> None:
    """Import every module but those of a node, which says itself where it runs."""
    import privclust

    for found in pkgutil.walk_packages(privclust.__path__, "privclust."):
        if found.name.startswith("privclust.node") or found.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name in MODULES:  # others belong to extras that are not installed
                raise


def _write_table() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    rows = np.repeat([[150.0, 50.0], [190.0, 120.0]], ROWS // 2, axis=0)
    rows += rng.normal(0, 5, rows.shape)
    lines = [f"{a:.2f},{b:.2f},{number // 2}" for number, (a, b) in enumerate(rows)]
    text = "\n".join(["größe,Gewicht ±,wer", *lines, ""])
    Path("besuche.csv").write_bytes(text.encode())
    Path("grenzen.toml").write_bytes(BOUNDS.encode())
    Path("losung").write_bytes(b"seven wooden spoons\r\n")
    Path("losung").chmod(0o600)


def _type(words: list[str], code: int = 0) -> str:
    from typer.testing import CliRunner

    from privclust.cli import app

    done = CliRunner().invoke(app, words)
    if done.exit_code != code:
        raise AssertionError(f"{words}: {done.exit_code}: {done.output}") from done.exception
    return done.output


def _use_library() -> None:
    import numpy as np

    from privclust import Ledger, PrivateKMeans, load, save

    given: dict[str, Any] = {"delta": 1e-6, "bounds": ([0, 0], [1, 1]), "random_state": 0}
    rows = np.random.default_rng(0).uniform(0, 1, (ROWS, 2))
    Ledger.create("zweites konto.db", "t", epsilon=2.0, delta=1e-5)
    model = PrivateKMeans(2, ledger="zweites konto.db", dataset="t", **given).fit(rows)
    save(model, "zwei Mitten.json")
    assert b"\r" not in Path("zwei Mitten.json").read_bytes()
    again = load("zwei Mitten.json")
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    (run,) = Ledger.open("zweites konto.db").runs("t")
    assert run.state == "finished"


def _use_temporary_files() -> None:
    """Use what tables larger than these are kept in, and a client's samples."""
    import numpy as np
    import pyarrow as pa

    from privclust.engines import _row_buffer
    from privclust.engines.federated._sample_store import SampleStore
    from privclust.sources.sql.spool import Spool

    vars(_row_buffer)["ROWS_BYTES"] = 100
    buffer, rows = _row_buffer.RowBuffer(2), np.arange(100, dtype=np.int32).reshape(-1, 2)
    buffer.append(rows)
    np.testing.assert_array_equal(buffer.rows(), rows)
    spool, batch = Spool(), pa.record_batch({"a": [1, 2]})
    for _ in range(2):
        assert list(spool.batches(lambda columns: iter([batch]), ["a"])) == [batch]
    spool.close()
    store = SampleStore(Path("Proben"))
    assert store.includes_client(b"fit", "ganz", 0)
    store.forget(b"fit")


if __name__ == "__main__":
    main(*sys.argv[1:])
