"""The command line in this process, and files for it that hold cells nobody may see."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from privclust.cli import app
from privclust.privacy.noise import NoiseSource
from privclust.testing import RepeatableNoise, noise_from

CANARY = 73.19283746501928
TRACES = ("73.192", "Canary")
"""What the two secret cells leave in any text that shows them."""
N_ROWS = 601
BOUNDS = """\
bounds_origin = "domain knowledge"

[columns.age]
type = "number"
lower = 0
upper = 120

[columns.weight]
type = "number"
lower = 0
upper = 300
"""


def privclust(
    *words: object, noise: NoiseSource | None = None, env: Mapping[str, str] | None = None
) -> Result:
    """Run a command with noise that repeats itself; a fit keeps its model somewhere."""
    if words[:1] == ("fit",) and not {"--out", "-o", "--json"} & set(words):
        words = (*words, "--out", Path(tempfile.mkdtemp()) / "kept.json")
    with noise_from(noise or RepeatableNoise(0)):
        return CliRunner().invoke(
            app, [str(word) for word in words], env={"COLUMNS": "200", **(env or {})}
        )


def error_message(result: Result, code: int, *words: str) -> str:
    """Return the one message of a command that failed; it shows no cell and no traceback."""
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code == code, result.output
    message: str = result.stderr.strip()
    assert message.startswith("privclust: ")
    assert sum(line.startswith("privclust: ") for line in message.splitlines()) == 1, message
    assert "Traceback" not in result.output
    assert_silent_about_cells(result.output)
    for word in words:
        assert word in message
    return message


def assert_silent_about_cells(text: str) -> None:
    """Check that no secret cell shows."""
    for trace in TRACES:
        assert trace not in text


def visits() -> pa.Table:
    """Return two groups of rows, and one row that is a secret."""
    rng = np.random.default_rng(0)
    middles = ((20.0, 100.0), (60.0, 30.0))
    rows = np.vstack([rng.normal(middle, 2.0, (300, 2)) for middle in middles])
    rows = np.vstack([rows, [CANARY, CANARY]])
    names = ["Ben"] * (N_ROWS - 1) + ["Ada Canary"]
    who = np.arange(N_ROWS) // 2
    return pa.table({"age": rows[:, 0], "weight": rows[:, 1], "who": who, "name": names})


def lay_out(folder: Path) -> Path:
    """Write the same table in several ways, files that are broken, and a bounds file."""
    table = visits()
    (folder / "parts").mkdir()
    pq.write_table(table, folder / "visits.parquet")
    pyarrow.csv.write_csv(table, folder / "visits.csv")
    pq.write_table(table.slice(0, 250), folder / "parts" / "a.parquet")
    pq.write_table(table.slice(250), folder / "parts" / "b.parquet")
    (folder / "visits.toml").write_text(BOUNDS)
    intact = bytearray((folder / "visits.parquet").read_bytes())
    (folder / "cut.parquet").write_bytes(intact[:-100])
    intact[4:3000] = b"\xff" * 2996  # the footer with names and types is at the end
    (folder / "smashed.parquet").write_bytes(intact)
    (folder / "plain.csv.gz").write_text(f"age,weight\n{CANARY},{CANARY}\n")
    (folder / "visits.txt").write_text(f"age,weight\n{CANARY},{CANARY}\n")
    (folder / "empty").mkdir()
    (folder / "full").symlink_to("/dev/full")  # a disk without room
    return folder
