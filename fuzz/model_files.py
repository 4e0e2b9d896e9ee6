"""Model files with faults: refused as that, or as good as any model that was fitted."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import atheris
import numpy as np

from fuzz.values import edit, noise_seeds
from privclust import PEMeans, PrivateKMeans, load
from privclust.errors import ModelFileError, ParameterError, TooManyClustersError
from privclust.exporting import to_sql
from privclust.reporting import to_html
from privclust.saving import to_json

ALLOWED = (ModelFileError,)
AS_TEXT, ONE_PAGE_IN = 4, 50


@cache
def originals() -> list[dict[str, Any]]:
    """Return contents without a fault."""
    rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, 2))
    box = PrivateKMeans(3, delta=1e-6, bounds=([-1.0] * 2, [1.0] * 2), max_clusters=4)
    ball = PEMeans(2, delta=1e-6, radius=1.0, n_rows=1000)
    contents = [json.loads(to_json(model.fit(rows))) for model in (box, ball)]
    contents[0]["columns"] = ["age", "weight"]
    return contents


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
        said = str(refused)
    else:
        use(model, folder / "again.json")
        if page:
            to_html(model)
        return
    assert len(said) < 500


def use(model: Any, again: Path) -> None:
    """Do all that a loaded model is for."""
    rows = np.array([[0.0], [np.nan], [np.inf], [-1e308]]) * np.ones(model.n_features_in_)
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
