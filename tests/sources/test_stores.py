"""Files in object stores: found, read and compared as those of this machine, without secrets."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from helpers.conformance import (
    KEY,
    MOMENTS,
    UNITS,
    in_memory,
    people,
    results,
    streamed,
    thirds,
    write_csv,
    write_parquet,
)
from helpers.databases import cells, opened
from helpers.interruptions import Interrupted
from helpers.lakes import Delta, Iceberg
from helpers.object_store import SECRET, Bucket, running_store
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from privclust import Files, PEMeans, PrivateKMeans
from privclust.engines import spilled, streaming
from privclust.engines.federated.client import Client
from privclust.engines.spark.table import on_spark, spark_table_of
from privclust.errors import EngineError, ParameterError, SnapshotError, UnreadableFileError
from privclust.privacy.ledger.ledger import Ledger
from privclust.sources import stores
from privclust.sources.guard import guarded
from privclust.sources.stores import StoredFile, check_bare, is_store
from privclust.testing import RepeatableNoise, noise_from

BEFORE = pa.table({"a": [1.0, 2.0, 3.0]})
AFTER = pa.table({"a": [1.0, 2.0, 4.0]})
AGAIN = r"^a file of the table was written anew or removed in mid-fit\. Restore .* and resume"


def one_file(bucket: Bucket, table: Any, tmp_path: Path) -> str:
    return bucket.put_table("people.parquet", table)


def folder(bucket: Bucket, table: Any, tmp_path: Path) -> str:
    for place, part in enumerate(thirds(table)):
        bucket.put_table(f"people/{place}.parquet", part)
    return f"{bucket.address}/people"


def csv_file(bucket: Bucket, table: Any, tmp_path: Path) -> str:
    return bucket.put("people.csv", write_csv(table, tmp_path / "x.csv").read_bytes())


def zipped(bucket: Bucket, table: Any, tmp_path: Path) -> str:
    content = write_csv(table, tmp_path / "x.csv").read_bytes()
    return bucket.put("people.csv.gz", gzip.compress(content))


def dataset(bucket: Bucket, table: Any, tmp_path: Path) -> Any:
    filesystem, key = FileSystem.from_uri(folder(bucket, table, tmp_path))
    return ds.dataset(key, filesystem=filesystem)


def delta(bucket: Bucket, table: Any, tmp_path: Path) -> str:
    lake = Delta(tmp_path)
    lake.write(table)
    return bucket.put_folder("delta", Path(lake.place))


LAID = [one_file, folder, csv_file, zipped, dataset, delta]
Lay = Callable[[Bucket, Any, Path], Any]


@pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])
@pytest.mark.parametrize("lay", LAID)
def test_every_query_has_the_same_integers(
    lay: Lay, unit: str, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilled, "PARTITIONS", 2)
    found = results(streamed(lay(bucket, people(120), tmp_path), unit=UNITS[unit]))
    assert found == results(in_memory(people(120), unit=UNITS[unit]))


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_and_its_sample_have_the_same_integers(
    unit: str, bucket: Bucket, tmp_path: Path
) -> None:
    engine = streamed(folder(bucket, people(120), tmp_path), unit=UNITS[unit])
    same = in_memory(people(120), unit=UNITS[unit])
    assert results(engine, MOMENTS) == results(same, MOMENTS)
    if unit != "row":
        assert results(engine.sample(2, KEY), MOMENTS) == results(same.sample(2, KEY), MOMENTS)


def test_keys_of_folders_are_columns_and_hidden_files_none(bucket: Bucket) -> None:
    bucket.put_table("v/year=2024/x.parquet", BEFORE)
    bucket.put_table("v/year=2025/x.parquet", AFTER)
    bucket.put("v/_SUCCESS", b"")
    bucket.put_table("visits/x.parquet", AFTER)  # begins alike, and lies elsewhere
    for address in (f"{bucket.address}/v", f"{bucket.address}/v/"):
        source = opened(address)
        assert source.schema.names == ("a", "year")
        assert cells(source, "year") == ["2024"] * 3 + ["2025"] * 3
    twice = [f"{bucket.address}/v", f"{bucket.address}/v/year=2024/x.parquet"]
    assert len(cells(opened(twice), "a")) == 6


# Changes -----------------------------------------------------------------------------------------


def as_file(address: str) -> Any:
    return f"{address}/v/x.parquet"


def as_folder(address: str) -> Any:
    return f"{address}/v"


def as_list(address: str) -> Any:
    return [f"{address}/v/x.parquet", f"{address}/v/y.parquet"]


def as_dataset(address: str) -> Any:
    filesystem, key = FileSystem.from_uri(f"{address}/v")
    return ds.dataset(key, filesystem=filesystem)


@pytest.mark.attack
@pytest.mark.parametrize("given", [as_file, as_folder, as_list, as_dataset])
@pytest.mark.parametrize("is_removed", [False, True])
def test_an_object_that_changes_between_passes_is_refused(
    given: Callable[[str], Any], is_removed: bool, bucket: Bucket
) -> None:
    bucket.put_table("v/x.parquet", BEFORE)
    bucket.put_table("v/y.parquet", BEFORE)
    source = opened(given(bucket.address))
    assert cells(source, "a") == cells(source, "a")
    if is_removed:
        bucket.remove("v/x.parquet")
    else:
        bucket.put_table("v/x.parquet", AFTER)  # of the same size, in the same second
    with pytest.raises(SnapshotError, match=AGAIN):
        guarded(lambda: cells(source, "a"))()


@pytest.mark.attack
def test_where_there_is_no_etag_size_and_time_are_compared(tmp_path: Path) -> None:
    file = write_parquet(BEFORE, tmp_path / "x.parquet")
    stored = StoredFile(SubTreeFileSystem(str(tmp_path), LocalFileSystem()), "x.parquet")
    before = stored.version
    assert before == stored.version
    os.utime(file, ns=(0, 0))
    assert before != stored.version


def test_an_object_that_is_added_is_not_read(bucket: Bucket) -> None:
    bucket.put_table("v/x.parquet", BEFORE)
    source = opened(f"{bucket.address}/v")
    bucket.put_table("v/z.parquet", AFTER)
    assert cells(source, "a") == [1.0, 2.0, 3.0]


@pytest.mark.attack
def test_a_fit_ends_before_a_result_of_other_rows_and_is_resumed_once_they_are_back(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 0)
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(middle, 0.1, (200, 2)) for middle in (-0.5, 0.5)])
    first = pa.table({"a": rows[:, 0], "b": rows[:, 1]})
    address = bucket.put_table("x.parquet", first)
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    model = PEMeans(2, delta=1e-6, radius=2.0, random_state=0)
    with noise_from(RepeatableNoise(0)):
        expected = model.fit(address).cluster_centers_
    model.set_params(ledger=place, dataset="table")
    other = pa.table({"a": rows[:, 1], "b": rows[:, 0]})
    noise = Interrupted(2, lambda: bucket.put_table("x.parquet", other))
    with pytest.raises(SnapshotError, match=AGAIN), noise_from(noise):
        model.fit(address)
    assert noise.draws == 2
    bucket.put_table("x.parquet", first)
    run = Ledger.open(place).runs("table")[-1]
    with noise_from(RepeatableNoise(0)):
        model.fit(address, resume=run.name)
    np.testing.assert_array_equal(model.cluster_centers_, expected)
    assert not any(SECRET in fact for fact in run.facts.values())


def test_a_fit_whose_store_is_gone_says_nothing_else_and_is_resumed_when_it_is_back(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 0)
    rows = np.random.default_rng(0).normal(0.2, 0.1, (200, 2))
    table = pa.table({"a": rows[:, 0], "b": rows[:, 1]})
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    model = PEMeans(2, delta=1e-6, radius=2.0, random_state=0)
    address = bucket.put_table("x.parquet", table)
    with noise_from(RepeatableNoise(0)):
        expected = model.fit(address).cluster_centers_
    model.set_params(ledger=place, dataset="table")
    with ExitStack() as server:
        other = server.enter_context(running_store())
        other.new_bucket(address.split("/")[2]).put_table("x.parquet", table)
        with monkeypatch.context() as elsewhere:
            for name, value in other.environment.items():
                elsewhere.setenv(name, value)
            lost = noise_from(Interrupted(2, server.close))
            with pytest.raises(EngineError, match="could not be read or summed") as caught, lost:
                model.fit(address)
    assert not isinstance(caught.value, SnapshotError)
    run = Ledger.open(place).runs("table")[-1]
    with noise_from(RepeatableNoise(0)):
        model.fit(address, resume=run.name)
    np.testing.assert_array_equal(model.cluster_centers_, expected)


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize(
    "address",
    [
        f"s3://key:{SECRET}@bucket/x.parquet",
        f"s3://{SECRET}@bucket/x.parquet",
        f"s3://key:a/{SECRET}@bucket/x.parquet",
        f"s3://bucket/x.parquet?secret_key={SECRET}",
        f"gs://bucket/x.parquet#{SECRET}",
        f"az://{SECRET}@container/x.parquet",
        f"az://container/x.parquet?sig={SECRET}",
        f"abfss://container:{SECRET}@account.dfs.core.windows.net/x.parquet",
        f"abfs://container@account.dfs.core.windows.net/x?sig={SECRET}",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds={"a": (0, 120)})
    for given in (address, [address], Files([address, address])):
        with pytest.raises(ParameterError, match="without key, password or options") as refused:
            model.fit(given)
        assert SECRET not in str(refused.value)
        assert refused.value.__context__ is None


def test_addresses_without_one_are_taken() -> None:
    for address in ("s3://b/v", "gs://b.c/v@w", "az://c/v", "abfss://c@a.dfs.core.windows.net/v"):
        assert is_store(address)
        check_bare(address)


@pytest.mark.parametrize("path", ["", "/nothing", "/v/*.parquet"])
def test_nothing_at_an_address_is_said_without_it(path: str, bucket: Bucket) -> None:
    with pytest.raises(FileNotFoundError, match="no Parquet, CSV or Arrow files") as refused:
        opened(f"{bucket.address}{path}")
    assert "s3://" not in str(refused.value)


def test_a_store_that_refuses_is_said_without_its_words(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*args: Any) -> Any:
        raise OSError(f"AWS Error ACCESS_DENIED during ListObjectsV2 by {SECRET}")

    monkeypatch.setattr(stores, "_listed", denied)
    with pytest.raises(UnreadableFileError, match=r"\(ACCESS_DENIED\).*AWS_ACCESS_KEY_ID") as found:
        opened(f"{bucket.address}/x.parquet")
    assert SECRET not in str(found.value)
    assert found.value.__context__ is None


def test_excel_files_are_refused(bucket: Bucket) -> None:
    address = bucket.put("x.xlsx", b"PK")
    with pytest.raises(UnreadableFileError, match=r"'x\.xlsx' is in a store\. Copy it"):
        opened(address)


def test_workers_of_spark_and_clients_keep_to_their_rules(bucket: Bucket) -> None:
    address = bucket.put_table("x.parquet", BEFORE)
    with pytest.raises(UnreadableFileError, match="DataFrame of what is in a store"):
        spark_table_of(on_spark(None, address))
    with pytest.raises(UnreadableFileError, match="CSV or Excel file"):
        Client(bucket.put("x.csv", b"a\n1\n"))


# Tables of Delta and Iceberg ---------------------------------------------------------------------


def test_a_delta_table_in_a_store_is_read_without_erased_rows(
    bucket: Bucket, tmp_path: Path
) -> None:
    lake = Delta(tmp_path)
    lake.write(BEFORE)
    lake.erase("a = 2.0")
    address = bucket.put_folder("lake/visits", Path(lake.place))
    source = opened(address)
    assert sorted(cells(source, "a")) == [1.0, 3.0]
    assert source.snapshot is not None
    assert source.snapshot.origin.kind == "Delta"
    part = next(Path(lake.place).glob("*.parquet")).name
    for given in (f"{address}/{part}", f"{bucket.address}/lake", [address, address]):
        with pytest.raises(UnreadableFileError, match="'visits' is a table of Delta"):
            opened(given)


def test_an_iceberg_table_in_a_store_is_read_by_its_metadata_file(
    bucket: Bucket, tmp_path: Path
) -> None:
    lake = Iceberg(tmp_path, bucket.address, {"s3.endpoint": os.environ["AWS_ENDPOINT_URL"]})
    lake.write(BEFORE)
    lake.erase("a = 2.0")
    newest = lake.loaded().metadata_location
    source = opened(newest)
    lake.write(AFTER)
    assert sorted(cells(source, "a")) == [1.0, 3.0]
    assert source.snapshot is not None
    assert source.snapshot.origin.name == "visits"
    address = f"{bucket.address}/clinic/visits"
    for given in (address, f"{address}/data", bucket.address):
        with pytest.raises(UnreadableFileError, match="'visits' is a table of Iceberg"):
            opened(given)
    lake.end()


# Other stores ------------------------------------------------------------------------------------


def test_addresses_of_other_stores_go_to_their_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(ParameterError, match="AZURE_STORAGE_ACCOUNT_NAME"):
        opened("az://container/x.parquet")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    for address, kind in {
        "gs://bucket/v/": "gcs",
        "az://bucket/v": "abfs",
        "abfss://bucket@account.dfs.core.windows.net/v": "abfs",
    }.items():
        filesystem, key = stores._located(address)
        assert (filesystem.type_name, key) == (kind, "bucket/v")
