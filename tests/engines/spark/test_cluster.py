"""Spark as it is used: a driver behind Connect, a cluster of processes, and what may befall it.

One cluster and one server serve all tests of this file that are not long. Speculation is always on.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import (
    KEY,
    MOMENTS,
    UNITS,
    in_memory,
    in_spark,
    people,
    results,
    spark_files,
    spark_frame,
    write_parquet,
)
from helpers.kernels import kernels
from helpers.large_fit import fit, model_of, table
from helpers.processes import other_process, output_of
from helpers.spark_faults import Hindered, attempts
from helpers.spark_sessions import SECONDS, Cluster, cluster, connected

from privclust import Ledger
from privclust.kernels.implementation import VARIABLE
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.base import Count, Query
from privclust.queries.clusters import NearestVotes
from privclust.testing import RepeatableNoise, noise_from

N_ROWS = 120
VOTES = NearestVotes(np.random.default_rng(1).uniform(-0.5, 0.5, (5, 3)))
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "200ms",
}
LAYOUTS = {"frame": spark_frame, "files": spark_files}
pytestmark = pytest.mark.long  # two workers, a driver and a Connect server are started
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.fixture(scope="module")
def workers() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture(scope="module")
def session(workers: Cluster) -> Iterator[Any]:
    settings = {**SPECULATION, f"spark.executorEnv.{VARIABLE}": "compiled"}
    with connected(workers.master, settings=settings) as client:
        yield client


@pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])
@every_layout
def test_connect_and_a_cluster_give_the_same_integers(
    layout: str, unit: str, session: Any, tmp_path: Path
) -> None:
    """Workers run compiled loops; what they are compared with comes from NumPy's."""
    queries: list[Query] = [Count(), VOTES, *MOMENTS]
    engine = in_spark(LAYOUTS[layout](session, people(N_ROWS), tmp_path), unit=UNITS[unit])
    twin = in_memory(people(N_ROWS), unit=UNITS[unit])
    with kernels("numpy"):
        expected, sampled = results(twin, queries), results(twin.sample(1, KEY), MOMENTS)
    assert results(engine, queries) == expected
    if unit != "row":
        assert results(engine.sample(1, KEY), MOMENTS) == sampled


def test_workers_run_compiled_loops(session: Any) -> None:
    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from privclust.kernels.implementation import compiled_loops

        yield from (pa.record_batch({"compiled": [compiled_loops() is not None]}) for _ in batches)

    answers = session.range(1).mapInArrow(ask, "compiled boolean").collect()
    assert [row.compiled for row in answers] == [True]


def test_a_task_that_two_workers_race_for_counts_its_rows_once(
    session: Any, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    frame = spark_frame(session, people(N_ROWS), tmp_path)
    found = in_spark(frame).aggregate(Hindered(VOTES, str(marks), "lag"))
    assert 1 in attempts(marks)[0]  # without failures, only speculation tries a task again
    assert found == in_memory(people(N_ROWS)).aggregate(VOTES)


def test_a_worker_killed_in_mid_query_changes_nothing_and_is_charged_once(
    session: Any, workers: Cluster, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    ledger = Ledger.create(str(tmp_path / "ledger.db"), "table", epsilon=4.0, delta=1e-6)
    plan = make_plan(Budget(1.0, 1e-6), [Slot("votes", 1.0)])
    query = Hindered(VOTES, str(marks), "wait")

    def kill() -> None:
        while not attempts(marks):
            time.sleep(0.1)
        workers.workers[0].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with noise_from(RepeatableNoise(0)):
        engine = in_spark(spark_frame(session, people(N_ROWS), tmp_path))
        curator = Curator.open(engine, plan, ledger, "table", {})
        found = curator.measure("votes", query)
        twin = Curator.open(in_memory(people(N_ROWS)), plan).measure("votes", query)
    killer.join()
    assert workers.workers[0].wait(SECONDS) == -signal.SIGKILL
    np.testing.assert_array_equal(found.result, twin.result)
    (run,) = ledger.runs("table")
    assert run.spent == found.charge


ALL_OF_IT = """
import sys
from pathlib import Path
from helpers.conformance import QUERIES, UNITS, in_memory, in_spark, people, results
from helpers.conformance import spark_files, spark_frame
from helpers.spark_sessions import classic, connected
from contextlib import nullcontext
kind, master, folder = sys.argv[1:]
running = connected(master) if kind == "connect" else nullcontext(classic(master))
with running as session:
    for lay in (spark_frame, spark_files):
        for unit in UNITS.values():
            for parts in ("1", "5"):
                session.conf.set("spark.sql.shuffle.partitions", parts)
                found = lay(session, people(120), Path(folder))
                if lay is spark_frame:
                    found = found.repartition(int(parts))
                twin = in_memory(people(120), unit=unit)
                assert results(in_spark(found, unit=unit)) == results(twin), (lay, unit, parts)
print("same")
"""


@pytest.mark.parametrize("kind", ["classic", "connect"])
@pytest.mark.parametrize("where", ["here", "cluster"])
def test_every_query_unit_and_partitioning_everywhere(
    kind: str, where: str, tmp_path: Path
) -> None:
    if where == "here":
        output = output_of(ALL_OF_IT, kind, "local[2]", str(tmp_path), seconds=1200)
    else:
        with cluster() as running:
            output = output_of(ALL_OF_IT, kind, running.master, str(tmp_path), seconds=1200)
    assert output.split()[-1] == "same"


KILLED = """
import os, signal, sys
from helpers.kernels import kernels
from helpers.large_fit import fit, model_of
from helpers.spark_sessions import classic
place, file, number, unit, marks = sys.argv[1:]
session = classic("local[2]", {"spark.sql.execution.arrow.maxRecordsPerBatch": "10000"})
driver = os.getpid()
frame = session.read.parquet(file)

def deadly(batches):
    from pyspark import TaskContext
    if TaskContext.get().partitionId() == 0:
        open(os.path.join(marks, str(len(os.listdir(marks)))), "w").close()
        if len(os.listdir(marks)) == int(number):
            os.kill(driver, signal.SIGKILL)
    yield from batches

fit(model_of(place, unit or None), frame.mapInArrow(deadly, frame.schema))
"""


@pytest.mark.parametrize(
    ("unit", "number", "charged"), [("", 1, "locate 1"), ("", 3, "sums 3"), ("who", 1, "locate 1")]
)
def test_a_driver_killed_and_resumed_is_charged_once(
    unit: str, number: int, charged: str, tmp_path: Path
) -> None:
    """The resumed fit reads the same file without Spark: an engine is not part of a query."""
    file, marks = write_parquet(table(), tmp_path / "one.parquet"), tmp_path / "marks"
    marks.mkdir()
    place = str(tmp_path / "ledger.db")
    ledger = Ledger.create(place, "table", epsilon=4.0, delta=1e-6, unit=unit or "row")
    with other_process(KILLED, place, str(file), str(number), unit, str(marks)) as process:
        assert process.wait(SECONDS) == -signal.SIGKILL
    (run,) = ledger.runs("table")
    assert list(run.charges)[-1] == charged
    model = fit(model_of(place, unit or None), file, resume=run.name)
    (run,) = ledger.runs("table")
    assert list(run.charges) == [release.slot for release in model.releases_]
    assert run.spent == sum(
        (release.charge for release in model.releases_[1:]), model.releases_[0].charge
    )
    assert ledger.verify() == []


def test_no_record_that_spark_keeps_shows_a_cell_or_the_key(tmp_path: Path) -> None:
    """Event log, and the server's own log with all failures, of queries, samples and failures."""
    events, log, marks = (tmp_path / name for name in ("events", "server.log", "marks"))
    events.mkdir()
    marks.mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.log.level": "INFO",
    }
    key = b"a key that nobody may ever find."
    with connected("local[2]", log, settings) as client:
        frame = spark_frame(client, people(N_ROWS), tmp_path)
        for unit in (UNITS["row"], UNITS["texts"]):
            results(in_spark(frame, unit=unit).sample(1, key), MOMENTS)
            with pytest.raises(RuntimeError, match="withheld"):
                in_spark(frame, unit=unit).aggregate(Hindered(VOTES, str(marks), "always"))
    kept = "".join(file.read_text() for file in events.rglob("*") if file.is_file())
    output = kept + log.read_text(errors="replace")
    assert "MapInArrow" in kept
    assert "withheld" in output
    person = str(people(N_ROWS).column("name")[0].as_py() or people(N_ROWS).column("name")[1])
    for secret in ("1234567", person, key.decode(), key.decode()[:8], key.hex()):
        assert secret not in output
