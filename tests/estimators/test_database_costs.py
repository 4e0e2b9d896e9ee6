"""What a fit to a query costs its client: memory that does not grow with rows, and little CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import adbc_driver_postgresql.dbapi
import pyarrow.parquet as pq
import pytest
from helpers.postgres import Server, execute

COLUMNS = tuple(f"c{place}" for place in range(8))
MILLION = 10**6
FIT = """
import resource, sys, time
from privclust import PrivateKMeans, sql

address, query = sys.argv[1:]
table = sql(address, query) if query else address
bounds = {f"c{place}": (0, 1) for place in range(8)}
before = time.process_time()
PrivateKMeans(8, delta=1e-8, bounds=bounds, random_state=0).fit(table)
print(time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.fixture(scope="module")
def url(postgres: Server) -> str:
    address = postgres.new_database()
    cells = ", ".join(f"random() AS {name}" for name in COLUMNS)
    execute(
        address,
        f"CREATE UNLOGGED TABLE t AS SELECT i, {cells} FROM generate_series(1, {8 * MILLION}) AS i",
    )
    return address


def query_of(rows: int) -> str:
    return f"SELECT {', '.join(COLUMNS)} FROM t WHERE i <= {rows}"


def cost(address: str, query: str = "") -> tuple[float, float]:
    """Fit in a process of its own; return its seconds of CPU and its MB at the most."""
    found = subprocess.run(
        [sys.executable, "-c", FIT, address, query], capture_output=True, text=True, check=True
    )
    seconds, megabytes = map(float, found.stdout.split())
    sys.stdout.write(f"{query or address}: {seconds:.1f} s of CPU, {megabytes:.0f} MB\n")
    return seconds, megabytes


@pytest.mark.long
def test_memory_does_not_grow_with_rows(url: str) -> None:
    # Below, the rows that a fit sets aside for samples still grow in number; from here on they do
    # not, wherever a table lies.
    _, small = cost(url, query_of(4 * MILLION))
    _, large = cost(url, query_of(8 * MILLION))
    assert large - small < 32  # the further rows take 244 MB


@pytest.mark.long
def test_rows_of_a_query_cost_little_more_cpu_than_those_of_parquet(
    url: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.parquet"
    with (
        adbc_driver_postgresql.dbapi.connect(url) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(query_of(MILLION))
        reader = cursor.fetch_record_batch()
        with pq.ParquetWriter(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    queried = min(cost(url, query_of(MILLION))[0] for _ in range(3))
    parquet = min(cost(str(file))[0] for _ in range(3))
    assert queried <= 1.3 * parquet
