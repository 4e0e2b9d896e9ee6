"""Tables of Delta and Iceberg: one version for a fit, without what was erased in it."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from helpers.conformance import UNITS, in_memory, people, results, streamed
from helpers.databases import cells, opened
from helpers.interruptions import Interrupted
from helpers.lakes import Delta, DeltaFolder, Iceberg, IcebergFile

from privclust import PEMeans
from privclust.engines import spilled, streaming
from privclust.errors import ColumnTypeError, SnapshotError, UnreadableFileError
from privclust.privacy.ledger.ledger import Ledger
from privclust.sources.cells import ids
from privclust.sources.guard import guarded
from privclust.testing import RepeatableNoise, noise_from

FIRST = pa.table({"a": [1.0, 2.0, 3.0], "w": ["x", None, "z"]})
MORE = pa.table({"a": [4.0], "w": ["y"]})
TYPED = pa.table(
    {
        "i": [1, 2],
        "a": [0.5, 1.5],
        "w": ["x", "y"],
        "s": pa.array([1000, 2000], pa.timestamp("us")),
        "n": [[1], [2]],
    }
)


@pytest.fixture(params=[Delta, Iceberg, DeltaFolder, IcebergFile])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    found = request.param(tmp_path)
    yield found
    found.end()


@pytest.fixture
def lay(lake: Any) -> Callable[[Any], Any]:
    def laid(table: Any) -> Any:
        half = table.num_rows // 2
        lake.write(table.slice(0, half))
        lake.write(table.slice(half))
        return lake.table()

    return laid


@pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])
def test_every_query_has_the_same_integers(
    lay: Any, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilled, "PARTITIONS", 2)
    found = results(streamed(lay(people(120)), unit=UNITS[unit]))
    assert found == results(in_memory(people(120), unit=UNITS[unit]))


def test_a_version_is_read_whatever_is_written_later(lake: Any) -> None:
    lake.write(FIRST)
    source = opened(lake.table())
    assert source.schema.names == ("a", "w")
    assert source.schema.kinds == ("number", "text")
    lake.write(MORE)
    lake.erase("a = 1.0")
    for _ in range(2):
        assert sorted(cells(source, "a")) == [1.0, 2.0, 3.0]
    later = opened(lake.table())
    assert sorted(cells(later, "a")) == [2.0, 3.0, 4.0]  # without what was erased
    assert source.snapshot is not None
    assert later.snapshot is not None
    assert source.snapshot.identity != later.snapshot.identity
    origin = source.snapshot.origin
    assert origin.kind in ("Delta", "Iceberg")
    assert origin.name in ("delta", "clinic.visits", "visits")  # no folder or catalogue above it


@pytest.mark.parametrize("kind", [Delta, Iceberg])
def test_a_table_object_that_moves_on_does_not_move_the_fit(kind: Any, tmp_path: Path) -> None:
    lake = kind(tmp_path)
    lake.write(FIRST)
    table = lake.table()
    source = opened(table)
    lake.write(MORE)
    table.update_incremental() if kind is Delta else table.refresh()
    assert sorted(cells(source, "a")) == [1.0, 2.0, 3.0]
    lake.end()


def test_types_of_no_rows_are_those_of_rows(lake: Any) -> None:
    lake.write(FIRST)
    source = opened(lake.table())
    (empty,) = source.empty(["w", "a"])
    assert empty.schema == next(source.batches(["w", "a"])).schema


def test_files_that_are_removed_in_mid_fit_are_a_clear_error(lake: Any) -> None:
    lake.write(FIRST)
    lake.write(MORE)
    source = opened(lake.table())
    lake.clean()
    with pytest.raises(SnapshotError, match=r"were removed, as VACUUM.*resume the fit"):
        guarded(lambda: cells(source, "a"))()
    assert sorted(cells(opened(lake.table()), "a")) == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("happens", ["append", "erase", "compact"])
def test_what_happens_in_mid_fit_changes_nothing(
    lake: Any, happens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 0)
    rows = np.random.default_rng(0).normal(0.2, 0.1, (200, 2))
    for begin in (0, 100):
        lake.write(pa.table({"a": rows[begin : begin + 100, 0], "b": rows[begin : begin + 100, 1]}))
    model = PEMeans(2, delta=1e-6, radius=2.0, random_state=0)
    with noise_from(RepeatableNoise(0)):
        expected = model.fit(lake.table()).cluster_centers_
    acts = {
        "append": lambda: lake.write(pa.table({"a": [0.9] * 200, "b": [0.9] * 200})),
        "erase": lambda: lake.erase("a > 0.2"),
        "compact": lake.compact,
    }
    noise = Interrupted(2, acts[happens])
    with noise_from(noise):
        model.fit(lake.table())
    assert noise.draws > 2
    np.testing.assert_array_equal(model.cluster_centers_, expected)
    if happens != "compact":
        with noise_from(RepeatableNoise(0)):
            assert not np.array_equal(model.fit(lake.table()).cluster_centers_, expected)


def test_an_earlier_version_is_read_again_or_nothing(lake: Any) -> None:
    lake.write(FIRST)
    first = opened(lake.table()).snapshot
    assert first is not None
    lake.write(MORE)
    source = opened(lake.table())
    assert source.snapshot is not None
    source.snapshot.restore(first.identity)
    assert source.snapshot.identity == first.identity
    assert sorted(cells(source, "a")) == [1.0, 2.0, 3.0]
    for other in ("another version 0", f"{first.identity}000", "snapshot", ""):
        source = opened(lake.table())
        assert source.snapshot is not None
        source.snapshot.restore(other)
        with pytest.raises(SnapshotError, match="cannot be had again"):
            guarded(lambda: cells(source, "a"))()  # noqa: B023


@pytest.mark.attack
def test_a_version_is_written_down_so_that_only_readers_of_the_table_find_it(
    lake: Any, tmp_path: Path
) -> None:
    rows = np.random.default_rng(0).normal(0, 0.1, (400, 2))
    for begin in (0, 200):
        lake.write(pa.table({"a": rows[begin : begin + 200, 0], "b": rows[begin : begin + 200, 1]}))
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=9.0, delta=1e-6)
    model = PEMeans(2, delta=1e-6, radius=2.0, ledger=place, dataset="table")
    snapshot = opened(lake.table()).snapshot
    assert snapshot is not None
    assert snapshot.identity is not None
    statements = [model.fit(lake.table()).privacy_statement_ for _ in range(2)]
    lake.write(pa.table({"a": [0.1], "b": [0.1]}))
    newer = opened(lake.table()).snapshot
    assert newer is not None
    hashes = set()
    for statement, run in zip(statements, Ledger.open(place).runs("table"), strict=True):
        source = statement.source
        assert source is not None
        assert source.facts == {name: run.facts[name] for name in source.facts}
        assert [one for one in newer.identities() if source.is_of(one)] == [snapshot.identity]
        for text in (*source.facts.values(), statement.to_json()):
            assert not any(word in text for word in snapshot.identity.split() if len(word) > 8)
            assert not re.search(r"(version|snapshot) \d", text)
        hashes.add(source.salted_hash)
    assert len(hashes) == 2


def test_an_interrupted_fit_is_resumed_on_its_own_version_once_files_are_back(
    lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 0)
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(middle, 0.1, (200, 2)) for middle in (-0.5, 0.5)])
    lake.write(pa.table({"a": rows[:, 0], "b": rows[:, 1]}))
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    model = PEMeans(2, delta=1e-6, radius=2.0, random_state=0)
    with noise_from(RepeatableNoise(0)):
        expected = model.fit(lake.table()).cluster_centers_
    model.set_params(ledger=place, dataset="table")

    def rewrite() -> None:
        shutil.copytree(tmp_path, tmp_path.parent / "copy", dirs_exist_ok=True)
        lake.write(pa.table({"a": [9.0], "b": [9.0]}))
        lake.clean()

    with pytest.raises(SnapshotError, match="VACUUM"), noise_from(Interrupted(2, rewrite)):
        model.fit(lake.table())
    copies = tmp_path.parent / "copy"
    for file in copies.rglob("*.parquet"):
        place_of = tmp_path / file.relative_to(copies)
        if not place_of.exists():
            shutil.copy(file, place_of)
    run = Ledger.open(place).runs("table")[-1].name
    with noise_from(RepeatableNoise(0)):
        model.fit(lake.table(), resume=run)
    np.testing.assert_array_equal(model.cluster_centers_, expected)
    shutil.rmtree(copies)


def test_partitions_of_delta_are_columns(tmp_path: Path) -> None:
    place = str(tmp_path / "parts")
    write_deltalake(place, FIRST.append_column("year", pa.array([24, 24, 25])), partition_by="year")
    source = opened(DeltaTable(place))
    assert source.schema.kind("year") == "integer"
    assert sorted(cells(source, "year")) == [24, 24, 25]


def test_a_table_of_iceberg_that_was_never_written_to_is_refused(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    lake.catalogue.create_table("clinic.visits", FIRST.schema)
    with pytest.raises(UnreadableFileError, match="no snapshot yet"):
        opened(lake.table())
    lake.end()


def test_a_delta_table_with_deletion_vectors_is_refused_with_the_remedy(tmp_path: Path) -> None:
    place = tmp_path / "vectors"
    write_deltalake(str(place), FIRST, configuration={"delta.enableDeletionVectors": "true"})
    with pytest.raises(UnreadableFileError, match="DataFrame of Spark"):
        opened(DeltaTable(str(place)))


@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_delta_table_whose_files_have_other_names_is_refused(tmp_path: Path, mode: str) -> None:
    place = tmp_path / "mapped"
    write_deltalake(str(place), FIRST, configuration={"delta.columnMapping.mode": mode})
    with pytest.raises(UnreadableFileError, match="maps its columns to other names"):
        opened(DeltaTable(str(place)))


# What logs and files hold -------------------------------------------------------------------------


def logged(place: Path, before: str, after: str) -> None:
    """Write a log of Delta by hand."""
    log = place / "_delta_log" / f"{0:020}.json"
    text = log.read_text(encoding="utf-8")
    assert before in text
    log.write_text(text.replace(before, after), encoding="utf-8")


def rewritten(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Write a column of all Parquet files otherwise, and put their times back."""
    time.sleep(0.02)  # clocks of file systems tick every few milliseconds
    for file in folder.rglob("*.parquet"):
        status, table = file.stat(), pq.ParquetFile(file).read()
        place = table.column_names.index(name)
        column = change(table.column(name))
        field = table.schema.field(name).with_type(column.type)
        pq.write_table(table.set_column(place, field, column), file)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.attack
def test_a_date_that_python_does_not_know_neither_ends_a_fit_nor_shows(tmp_path: Path) -> None:
    """The log keeps the smallest and the largest value of every column, also of others."""
    days = pa.array([4_000_000, 0], pa.int32()).cast(pa.date32())
    write_deltalake(str(tmp_path / "visits"), pa.table({"a": [0.1, 0.2], "day": days}))
    source = opened(DeltaTable(str(tmp_path / "visits")))
    assert cells(source, "a") == [0.1, 0.2]
    (batch,) = source.batches(["day"])
    assert batch.column(0).cast(pa.int32()).to_pylist() == [4_000_000, 0]


@pytest.mark.attack
def test_what_a_log_says_of_values_is_not_believed(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "visits"), pa.table({"a": [0.5, 0.5]}))
    logged(tmp_path / "visits", '{\\"a\\":0.5}', '{\\"a\\":\\"soon\\"}')
    assert cells(opened(DeltaTable(str(tmp_path / "visits"))), "a") == [0.5, 0.5]


@pytest.mark.attack
@pytest.mark.parametrize("table_id", ["visits", "00000000-0000-0000-0000-000000000000"])
def test_an_id_that_could_be_guessed_gives_no_salted_hash(table_id: str, tmp_path: Path) -> None:
    place = tmp_path / "visits"
    write_deltalake(str(place), FIRST)
    logged(place, str(DeltaTable(str(place)).metadata().id), table_id)
    source = opened(DeltaTable(str(place)))
    assert source.snapshot is not None
    assert source.snapshot.identity is None
    assert not [*source.snapshot.identities()]
    source.snapshot.restore(None)
    with pytest.raises(SnapshotError, match="cannot be had again"):
        cells(source, "a")


@pytest.mark.attack
def test_a_key_that_python_does_not_know_is_in_no_message(tmp_path: Path) -> None:
    days = pa.array([4_000_000, 0], pa.int32()).cast(pa.date32())
    table = pa.table({"a": [0.1, 0.2], "day": days})
    write_deltalake(str(tmp_path / "visits"), table, partition_by="day")
    with pytest.raises(UnreadableFileError, match="withheld") as refused:
        opened(DeltaTable(str(tmp_path / "visits")))
    assert "12921" not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.attack
@pytest.mark.parametrize(
    ("values", "declared"),
    [
        (pa.array([1, 2]), ('\\"long\\"', '\\"integer\\"')),
        (pa.array([b"a", b"\xff"]), ('\\"binary\\"', '\\"string\\"')),
    ],
)
def test_files_of_delta_that_have_other_types_are_refused(
    values: Any, declared: tuple[str, str], tmp_path: Path
) -> None:
    write_deltalake(str(tmp_path / "visits"), pa.table({"b": values}))
    logged(tmp_path / "visits", *declared)
    with pytest.raises(ColumnTypeError, match=r"column 'b' .* in one of its files"):
        opened(DeltaTable(str(tmp_path / "visits")))


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("i", pa.uint64()),
        ("i", pa.float64()),
        ("a", pa.decimal128(9, 2)),
        ("w", pa.binary()),
        ("s", pa.timestamp("ms")),
        ("s", pa.timestamp("us", "UTC")),
    ],
)
def test_files_of_iceberg_that_have_other_types_are_refused(
    name: str, found: Any, tmp_path: Path
) -> None:
    lake = Iceberg(tmp_path)
    lake.write(TYPED)
    rewritten(tmp_path, name, lambda column: column.cast(found))
    with pytest.raises(ColumnTypeError, match=rf"column '{name}' .* in one of its files"):
        opened(lake.table())
    lake.end()


@pytest.mark.parametrize(("name", "found"), [("i", pa.int32()), ("a", pa.float32())])
def test_files_of_iceberg_that_are_narrower_are_read(name: str, found: Any, tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    lake.write(TYPED)
    rewritten(tmp_path, name, lambda column: column.cast(found))
    source = opened(lake.table())
    assert (cells(source, "i"), cells(source, "a")) == ([1, 2], [0.5, 1.5])
    lake.end()


@pytest.mark.attack
@pytest.mark.parametrize("kind", [Delta, Iceberg])
def test_a_text_that_is_none_does_not_end_a_fit(kind: Any, tmp_path: Path) -> None:
    lake = kind(tmp_path)
    odd = pa.array([b"x", b"\xff"]).view(pa.string())
    lake.write(pa.table({"a": [1.0, 2.0], "w": ["x", "y"]}))
    (file,) = tmp_path.rglob("*.parquet")
    size = file.stat().st_size
    rewritten(tmp_path, "w", lambda column: odd)
    if kind is Delta:
        logged(Path(lake.place), f'"size":{size}', f'"size":{file.stat().st_size}')
    (batch,) = opened(lake.table()).batches(["w"])
    assert ids(batch.column(0)).to_pylist() == [b"x", b"\xff"]
    lake.end()


@pytest.mark.attack
def test_a_data_file_that_is_written_anew_in_mid_fit_is_noticed(lake: Any, tmp_path: Path) -> None:
    lake.write(FIRST)
    source = opened(lake.table())
    assert cells(source, "a") == [1.0, 2.0, 3.0]
    rewritten(tmp_path, "a", lambda column: pa.array([1.0, 2.0, 4.0]))
    with pytest.raises(SnapshotError, match="written anew or removed in mid-fit"):
        guarded(lambda: cells(source, "a"))()


@pytest.mark.attack
def test_a_list_of_files_that_is_written_anew_in_mid_fit_is_noticed(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    lake.write(FIRST)
    lake.write(MORE)
    earlier, later = (
        Path(one.manifest_list.removeprefix("file://")) for one in lake.loaded().snapshots()
    )
    source = opened(lake.table())
    assert sorted(cells(source, "a")) == [1.0, 2.0, 3.0, 4.0]
    shutil.copyfile(earlier, later)
    with pytest.raises(SnapshotError, match="written anew or removed in mid-fit"):
        guarded(lambda: cells(source, "a"))()
    lake.end()


def test_files_that_pyiceberg_reads_by_fsspec_are_read(tmp_path: Path) -> None:
    io = "pyiceberg.io.fsspec.FsspecFileIO"
    lake = Iceberg(tmp_path, properties={"py-io-impl": io})
    lake.write(FIRST)
    assert cells(opened(lake.table()), "a") == [1.0, 2.0, 3.0]
    lake.end()
