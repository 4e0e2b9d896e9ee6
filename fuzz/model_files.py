"""Model files with faults: refused as that, or as good as any model that was fitted."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import atheris
import numpy as np
import pyarrow as pa

from fuzz.values import edit, noise_seeds
from privclust import PEMeans, PrivateKMeans, load
from privclust.domains.mixed import Mixed
from privclust.domains.sphere import Sphere
from privclust.errors import ModelFileError, ParameterError, TooManyClustersError
from privclust.kernels.grid import FloatArray
from privclust.models.model_file import to_json
from privclust.models.report import to_html
from privclust.models.sql_export import to_sql

ALLOWED = (ModelFileError,)
AS_TEXT, ONE_PAGE_IN = 4, 50
BOUNDS = """
bounds_origin = "public data"
columns.age = {type = "number", lower = 0.1, upper = 9, transform = "log", missing = 2}
columns.ward = {type = "category", levels = ["A", "other"]}
columns.visit = {type = "date", lower = 2020-01-01, upper = 2029-12-31}
"""
CELLS: dict[str, list[Any]] = {
    "number": [0.0, None, float("inf"), -1e308],
    "category": ["A", None, "", "\xff"],
    "date": ["2021-05-05", None, "9999-99-99", "0000-00-00"],
}


@cache
def originals() -> list[dict[str, Any]]:
    """Return contents without a fault."""
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, 2))
    box = PrivateKMeans(3, delta=1e-6, bounds=([-1.0] * 2, [1.0] * 2), max_clusters=4)
    ball = PEMeans(2, delta=1e-6, radius=1.0, n_rows=1000)
    sphere = PrivateKMeans(2, delta=1e-6, metric="cosine", max_clusters=4)
    contents = [json.loads(to_json(model.fit(rows))) for model in (box, ball, sphere)]
    contents[0]["columns"] = ["age", "weight"]
    return [*contents, _mixed(rows)]


def _mixed(rows: FloatArray) -> dict[str, Any]:
    """Return the content of a model of declared columns."""
    table = pa.table({"age": rows[:, 0], "ward": ["A", "B"] * 500, "visit": ["2021-05-05"] * 1000})
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".toml") as file:
        file.write(BOUNDS)
        file.flush()
        model = PrivateKMeans(2, delta=1e-6, bounds=file.name, max_clusters=4).fit(table)
    content: dict[str, Any] = json.loads(to_json(model))
    return content


def seeds() -> list[bytes]:
    """Return inputs to begin with."""
    return [b"", *noise_seeds(40)]


def attempt(data: bytes, folder: Path) -> None:
    """Change a model file at some places, load it, and use what was loaded."""
    source = atheris.FuzzedDataProvider(data)
    contents = originals()
    content = deepcopy(contents[source.ConsumeIntInRange(0, len(contents) - 1)])
    for _ in range(source.ConsumeIntInRange(0, 3)):
        edit(content, source)
    text = json.dumps(content).encode("utf-8", "surrogatepass")
    if source.ConsumeIntInRange(0, AS_TEXT) == 0:
        place = source.ConsumeIntInRange(0, len(text))
        cut = source.ConsumeIntInRange(0, 20)
        text = text[:place] + source.ConsumeBytes(20) + text[place + cut :]
    page = source.ConsumeIntInRange(1, ONE_PAGE_IN) == 1
    file = folder / "model.json"
    file.write_bytes(text)
    try:
        model = load(file)
    except ALLOWED as refused:
        message = str(refused)
    else:
        use(model, folder / "again.json")
        if page:
            to_html(model)
        return
    assert len(message) < 500


def _rows(model: Any) -> Any:
    domain = model.domain_
    if isinstance(domain, Mixed):
        return pa.table({name: CELLS[use] for name, use in domain.uses.items()})
    if isinstance(domain, Sphere) and domain.vector is not None:
        return pa.table({domain.vector: pa.nulls(4, pa.list_(pa.float32(), domain.n_columns))})
    return np.array([[0.0], [np.nan], [np.inf], [-1e308]]) * np.ones(model.n_features_in_)


def use(model: Any, again: Path) -> None:
    """Do all that a loaded model is for."""
    rows = _rows(model)
    labels = model.predict(rows)
    assert ((labels >= 0) & (labels < len(model.cluster_centers_))).all()
    assert model.transform(rows).shape == (len(rows), len(model.cluster_centers_))
    str(model.privacy_statement_)
    text = to_json(model)
    again.write_text(text, encoding="utf-8")
    assert to_json(load(again)) == text
    with suppress(ParameterError):
        to_sql(model, "duckdb")
    if hasattr(model, "coreset_"):
        with suppress(TooManyClustersError):
            model.k_path()
            model.refit(2)
