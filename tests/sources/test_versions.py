"""Files that are written anew in mid-fit are noticed at the next pass, before it gives anything."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from helpers.conformance import source, write_arrow, write_csv, write_parquet
from helpers.databases import cells
from helpers.interruptions import Interrupted

from privclust import PEMeans
from privclust.engines import streaming
from privclust.errors import EngineError, SnapshotError, UnreadableFileError
from privclust.privacy.ledger.ledger import Ledger
from privclust.sources.files import list_files, read_files
from privclust.sources.guard import guarded
from privclust.sources.versions import Pinned, unchanged, version_of
from privclust.testing import RepeatableNoise, noise_from

BEFORE = pa.table({"a": [1.0, 2.0, 3.0]})
AFTER = pa.table({"a": [1.0, 2.0, 4.0]})
AGAIN = r"^a file of the table was written anew or removed in mid-fit\. Restore .* and resume"


def write_excel(table: Any, file: Path) -> Path:
    book = openpyxl.Workbook()
    for row in [table.column_names, *zip(*table.to_pydict().values(), strict=True)]:
        book.active.append(row)
    book.save(file)
    return file


WRITERS: dict[str, Callable[[Any, Path], Path]] = {
    "parquet": write_parquet,
    "arrow": write_arrow,
    "csv": write_csv,
    "csv.gz": write_csv,
    "xlsx": write_excel,
}
GIVEN: dict[str, Callable[[Path], Any]] = {
    "a file": str,
    "a list": lambda file: [file, file.with_name("y" + file.name[1:])],
    "a folder": lambda file: file.parent,
}


def rewritten(file: Path, write: Callable[[Any, Path], Path]) -> None:
    time.sleep(0.02)  # clocks of file systems tick every few milliseconds
    write(AFTER, file)


def replaced(file: Path, write: Callable[[Any, Path], Path]) -> None:
    """Put another file of the same size and time in its place."""
    status = file.stat()
    write(AFTER, file.with_name("other.tmp" + file.name[1:])).rename(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def rewritten_in_place(file: Path, write: Callable[[Any, Path], Path]) -> None:
    """Write to the file itself as many bytes as it had, and put its time back."""
    time.sleep(0.02)
    status = file.stat()
    written = write(AFTER, file.with_name("other.tmp" + file.name[1:]))
    file.write_bytes(written.read_bytes())
    written.unlink()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file.stat().st_ino == status.st_ino


def removed(file: Path, write: Callable[[Any, Path], Path]) -> None:
    file.unlink()


@pytest.fixture(params=WRITERS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "visits"
    folder.mkdir()
    write = WRITERS[request.param]
    write(BEFORE, folder / f"y.{request.param}")
    return write(BEFORE, folder / f"x.{request.param}")


@pytest.mark.attack
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("change", [rewritten, replaced, rewritten_in_place, removed])
def test_a_change_between_passes_is_refused(
    given: str, change: Callable[[Path, Any], None], file: Path
) -> None:
    opened = source(GIVEN[given](file))
    before = cells(opened, "a")
    assert before == cells(opened, "a")
    change(file, WRITERS[file.name[2:]])
    with pytest.raises(SnapshotError, match=AGAIN):
        guarded(lambda: cells(opened, "a"))()


def test_a_file_that_appears_in_a_folder_is_not_read(tmp_path: Path) -> None:
    write_parquet(BEFORE, tmp_path / "x.parquet")
    opened = source(tmp_path)
    write_parquet(AFTER, tmp_path / "z.parquet")
    assert cells(opened, "a") == [1.0, 2.0, 3.0]


@pytest.mark.attack
def test_a_change_while_a_file_is_read_is_refused_at_its_end(tmp_path: Path) -> None:
    file = write_parquet(BEFORE, tmp_path / "x.parquet")
    _, files = list_files(file)
    batches = read_files(files, ["a"])
    next(batches)
    write_parquet(AFTER, file)
    with pytest.raises(SnapshotError, match=AGAIN):
        next(batches)


@pytest.mark.attack
def test_what_cannot_be_read_because_it_was_rewritten_is_said_to_be(tmp_path: Path) -> None:
    file = write_parquet(BEFORE, tmp_path / "x.parquet")
    pinned = Pinned(file, version_of(file))

    def failing() -> Iterator[Any]:
        yield 1
        file.write_bytes(b"cut")
        raise OSError("the footer 4217 is gone")

    with pytest.raises(SnapshotError, match=AGAIN):
        list(unchanged([pinned], failing()))


def test_what_cannot_be_read_though_nothing_changed_is_another_error(tmp_path: Path) -> None:
    file = write_parquet(BEFORE, tmp_path / "x.parquet")

    def failing() -> Iterator[Any]:
        yield 1
        raise OSError("a disk")

    with pytest.raises(EngineError, match="could not be read") as caught:
        guarded(lambda: list(unchanged([Pinned(file, version_of(file))], failing())))()
    assert not isinstance(caught.value, SnapshotError)


@pytest.mark.attack
@pytest.mark.parametrize("is_union", [False, True])
def test_datasets_of_pyarrow_are_compared_as_paths_are(is_union: bool, tmp_path: Path) -> None:
    file = write_parquet(BEFORE, tmp_path / "x.parquet")
    dataset = ds.dataset(file)
    opened = source(ds.dataset([dataset, ds.dataset(BEFORE)]) if is_union else dataset)
    assert 3.0 in cells(opened, "a")
    write_parquet(AFTER, file)
    with pytest.raises(SnapshotError, match=AGAIN):
        guarded(lambda: cells(opened, "a"))()


@pytest.mark.attack
def test_a_store_that_says_neither_when_nor_what_was_written_is_refused(tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    file = write_parquet(BEFORE, tmp_path / "x.parquet")
    store.pipe_file("/clinic/x.parquet", file.read_bytes())
    dataset = ds.dataset("/clinic/x.parquet", filesystem=store)
    with pytest.raises(UnreadableFileError, match="neither a time nor an ETag") as refused:
        source(dataset)
    assert "x.parquet" not in str(refused.value)
    store.rm("/clinic", recursive=True)


@pytest.mark.attack
def test_a_fit_ends_before_a_result_of_other_rows_and_is_resumed_once_they_are_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 0)
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(middle, 0.1, (200, 2)) for middle in (-0.5, 0.5)])
    file, kept = tmp_path / "x.parquet", tmp_path / "kept"
    write_parquet(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), file)
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    model = PEMeans(2, delta=1e-6, radius=2.0, random_state=0)
    with noise_from(RepeatableNoise(0)):
        expected = model.fit(file).cluster_centers_
    model.set_params(ledger=place, dataset="table")

    def rewrite() -> None:
        file.rename(kept)
        write_parquet(pa.table({"a": rows[:, 1], "b": rows[:, 0]}), file)

    noise = Interrupted(2, rewrite)
    with pytest.raises(SnapshotError, match=AGAIN), noise_from(noise):
        model.fit(file)
    assert noise.draws == 2
    kept.rename(file)
    run = Ledger.open(place).runs("table")[-1].name
    with noise_from(RepeatableNoise(0)):
        model.fit(file, resume=run)
    np.testing.assert_array_equal(model.cluster_centers_, expected)
