"""The first hour of a data scientist: a real notebook, run by a real kernel."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebooks" / "first_hour.ipynb"
SECONDS = 600


@cache
def outputs() -> list[tuple[str, list[Any]]]:
    """Return the code of each cell with its outputs, after all of them have run."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    return [(cell.source, cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def data(cell: list[Any], kind: str) -> str:
    """Return what outputs show of one kind, such as "text/html"."""
    return "".join(one.data.get(kind, "") for one in cell if "data" in one)


def shown(source: str, kind: str) -> str:
    """Return what the one cell that holds `source` shows of one kind."""
    (cell,) = [cell for code, cell in outputs() if source in code]
    return data(cell, kind)


def test_nothing_is_written_but_results() -> None:
    streams = [one for _, cell in outputs() for one in cell if one.output_type == "stream"]
    assert [(one.name, one.text) for one in streams] == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("forecast(", "With other epsilons"),
        ("model = PrivateKMeans", "3 clusters of data set &#x27;clinic&#x27; by PrivateKMeans"),
        ("path = model.k_path()", "stability against k"),
        ("profile = model.profile", "cost"),
        ("compare(", "moved farther than noise"),
    ],
)
def test_results_are_tables(source: str, text: str) -> None:
    html = shown(source, "text/html")
    assert "<table>" in html
    assert text in html
    assert "free text that nobody clusters" not in html


@pytest.mark.parametrize("source", ["model.plot()", "path.plot()", "_.plot()", "places.plot()"])
def test_plots_are_pictures(source: str) -> None:
    assert base64.b64decode(shown(source, "image/png")).startswith(b"\x89PNG")


def test_bar_is_gone_when_a_fit_has_ended() -> None:
    assert "measuring" not in "".join(data(cell, "text/html") for _, cell in outputs())


def test_every_run_but_the_first_says_what_is_left() -> None:
    told = [code for code, cell in outputs() if "for one more run" in data(cell, "text/html")]
    assert len(told) == 3
    assert "model = PrivateKMeans" not in "".join(told)
