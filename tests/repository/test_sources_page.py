"""What docs/sources.md shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from helpers.databases import in_postgres, in_sqlite
from helpers.object_store import Bucket, ObjectStore
from helpers.postgres import Server, execute

PAGE = Path(__file__).parents[2] / "docs" / "sources.md"


@pytest.fixture
def clinic(
    postgres: Server,
    object_store: ObjectStore,
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    columns = {"age": rng.uniform(0, 120, 300), "income": rng.uniform(0, 2e5, 300)}
    table = pa.table({**columns, "year": np.repeat([2024, 2025], 150)})
    execute(postgres.url("postgres"), "CREATE DATABASE clinic")
    (tmp_path / "lake").mkdir()
    url = urlsplit(postgres.url("clinic"))
    in_postgres(table, postgres.url("clinic"), "visits")
    in_sqlite(table, tmp_path / "clinic.db", "visits")
    object_store.new_bucket("clinic").put_table("visits/2025.parquet", table)
    write_deltalake(str(tmp_path / "lake" / "visits"), table)
    for name, value in {"HOST": url.hostname, "PORT": url.port, "USER": url.username}.items():
        monkeypatch.setenv(f"PG{name}", str(value))
    monkeypatch.chdir(tmp_path)


def test_every_block_of_the_page_runs(clinic: None) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
        assert len(names["model"].cluster_centers_) == 3
