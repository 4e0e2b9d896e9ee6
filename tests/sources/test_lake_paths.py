"""Paths that name tables of Delta and Iceberg."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.databases import cells, opened
from helpers.lakes import DeltaFolder, IcebergFile

from privclust import Files, PEMeans
from privclust.errors import UnreadableFileError
from privclust.privacy.ledger.ledger import Ledger
from privclust.sources.files import list_files, paths_of
from privclust.sources.lake_paths import names_lake

ROWS = pa.table({"a": [1.0, 2.0, 3.0]})
KINDS = [DeltaFolder, IcebergFile]


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = request.param(tmp_path)
    found.write(ROWS)
    yield found
    found.end()


def test_a_path_is_taken_however_it_is_given(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.erase("a = 2.0")
    path = Path(lake.table())
    monkeypatch.chdir(path.parent)
    for given in (path, str(path), [path], (str(path),), path.name, Files([str(path)])):
        assert names_lake(given)
        assert sorted(cells(opened(given), "a")) == [1.0, 3.0]
    assert paths_of([str(path)]) == [path]


def test_other_files_beside_it_or_parts_of_it_are_refused(lake: Any, tmp_path: Path) -> None:
    path = Path(lake.table())
    folder = path if path.is_dir() else path.parents[1]
    part = next(folder.rglob("*.parquet"))
    remedy = r"Give that folder alone|Give its newest \.metadata\.json file alone"
    for given in (part, [str(part), str(part)], [path, part], part.parent if path != folder else 0):
        if given:
            with pytest.raises(UnreadableFileError, match=remedy):
                list_files(given)
            assert not names_lake(given) or given == path


def test_the_whole_path_is_in_no_ledger(lake: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    PEMeans(1, delta=1e-6, radius=2.0, ledger=place, dataset="table").fit(lake.table())
    facts = Ledger.open(place).runs("table")[-1].facts
    assert facts["source"].startswith(("Delta", 'Iceberg, "visits'))
    assert not any(str(tmp_path) in fact for fact in facts.values())


def test_a_table_that_is_damaged_is_refused_without_its_library_s_words(
    lake: Any, tmp_path: Path
) -> None:
    path = Path(lake.table())
    if path.is_dir():
        for file in (path / "_delta_log").iterdir():
            file.write_text("{ 4217")
    else:
        path.write_text("{ 4217", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=r"cannot be read\. Check that it is") as refused:
        opened(str(path))
    assert "4217" not in str(refused.value)
    assert str(tmp_path) not in str(refused.value)
    assert refused.value.__cause__ is None


def test_without_its_library_a_table_is_refused_with_the_extra(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def lacking(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in ("deltalake", "pyiceberg"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    path = lake.table()
    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ImportError, match=r"needs an extra: pip install .*\[(delta|iceberg)\]"):
        opened(path)


def test_a_metadata_file_that_is_not_there_names_no_table(tmp_path: Path) -> None:
    assert not names_lake(tmp_path / "00001.metadata.json")
    with pytest.raises(FileNotFoundError):
        list_files(tmp_path / "00001.metadata.json")
