"""Fits to queries: one state of the database each, resumed only where it can be had again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import numpy as np
import pyarrow as pa
import pytest
from helpers.databases import forget, in_postgres, in_sqlite
from helpers.interruptions import Interrupted
from helpers.postgres import Server, execute

from privclust import PEMeans, PrivateKMeans, save, sql
from privclust.errors import SnapshotError
from privclust.estimators._recompute import differences_from_results
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.testing import RepeatableNoise, noise_from

SECRET = "s3kr3t"
BOUNDS = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}


def two_groups() -> Any:
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(middle, 0.1, (200, 2)) for middle in (-0.5, 0.5)])
    return pa.table({"a": rows[:, 0], "b": rows[:, 1]})


@pytest.fixture
def url(postgres: Server) -> str:
    address = postgres.new_database()
    in_postgres(two_groups(), address, "visits")
    return address


@pytest.fixture
def place(tmp_path: Path) -> str:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    return place


def model_of(place: str | None = None, kind: Any = PEMeans) -> Any:
    kept = {} if place is None else {"ledger": place, "dataset": "table"}
    return kind(2, delta=1e-6, bounds=BOUNDS, random_state=0, **kept)


def visits(url: str, where: str = "") -> Any:
    return sql(url, f"SELECT a, b FROM visits {where}".strip())


def fit(model: Any, table: Any, resume: str | None = None, noise: Any = None) -> Any:
    with noise_from(noise or RepeatableNoise(0)):
        return model.fit(table, resume=resume)


def interrupt(place: str, table: Any, at: int) -> str:
    with pytest.raises(KeyboardInterrupt):
        fit(model_of(place), table, noise=Interrupted(at))
    return Ledger.open(place).runs("table")[-1].name


def connections(url: str) -> int:
    """Return how many there are; a server needs a moment to end one that its client closed."""
    for _ in range(100):
        found = execute(
            url, "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
        )
        if found == [(0,)]:
            break
        time.sleep(0.05)
    return int(found[0][0])


def test_a_fit_is_that_of_the_same_rows_in_memory(url: str, tmp_path: Path) -> None:
    expected = fit(model_of(), two_groups()).cluster_centers_
    for table in (
        visits(url),
        sql(in_sqlite(two_groups(), tmp_path / "x.db", "visits"), "SELECT a, b FROM visits"),
    ):
        found = fit(model_of(), table)
        np.testing.assert_array_equal(found.cluster_centers_, expected)
        np.testing.assert_array_equal(found.predict(table), found.predict(two_groups()))
    assert connections(url) == 0


def test_a_table_that_changes_in_mid_fit_does_not_change_the_fit(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    expected = fit(model_of(), visits(url)).cluster_centers_
    change = Interrupted(2, lambda: execute(url, "UPDATE visits SET a = 0.9", "DELETE FROM visits"))
    found = fit(model_of(), visits(url), noise=change)
    np.testing.assert_array_equal(found.cluster_centers_, expected)
    assert execute(url, "SELECT count(*) FROM visits") == [(0,)]


@pytest.fixture
def exported(url: str) -> Any:
    with adbc_driver_postgresql.dbapi.connect(url) as keeper, keeper.cursor() as cursor:
        cursor.execute("LOCK TABLE visits IN ACCESS SHARE MODE")
        cursor.execute("SELECT pg_export_snapshot()")
        ((found,),) = cursor.fetchall()
        yield found


def test_a_resumed_fit_reads_on_in_a_snapshot_that_is_still_held(
    url: str, place: str, exported: str
) -> None:
    held = sql(url, "SELECT a, b FROM visits", snapshot=exported)
    expected = fit(model_of(), held).cluster_centers_
    run = interrupt(place, held, 3)
    execute(url, "UPDATE visits SET a = 0.9")
    resumed = fit(model_of(place), held, resume=run)
    np.testing.assert_array_equal(resumed.cluster_centers_, expected)
    assert differences_from_results(resumed, place) == []


def test_a_resumed_fit_gives_stored_results_and_then_reads_no_state_that_may_be_another(
    url: str, place: str, exported: str
) -> None:
    run = interrupt(place, visits(url), 3)
    before = Ledger.open(place).run(run)
    for table in (visits(url), sql(url, "SELECT a, b FROM visits", snapshot=exported)):
        with pytest.raises(SnapshotError, match=r"reads no further\. Start a new run"):
            fit(model_of(place), table, resume=run)
        execute(url, "UPDATE visits SET a = 0.9")
    assert Ledger.open(place).run(run).spent == before.spent  # the slot was charged before


@pytest.mark.attack
def test_neither_ledger_nor_statement_tells_whether_a_row_was_written(url: str, place: str) -> None:
    def written() -> tuple[Any, ...]:
        model = fit(model_of(place), visits(url))
        return Ledger.open(place).runs("table")[-1].facts, model.privacy_statement_.source

    first = written()
    execute(url, "INSERT INTO visits VALUES (0.1, 0.1)")
    assert written() == first


def test_a_finished_fit_is_replayed_whatever_became_of_the_table(url: str, place: str) -> None:
    done = fit(model_of(place), visits(url))
    execute(url, "UPDATE visits SET a = 0.9")
    run = done.privacy_statement_.run.name
    again = fit(model_of(place), visits(url), resume=run)
    np.testing.assert_array_equal(again.cluster_centers_, done.cluster_centers_)


def test_another_query_is_another_fit(url: str, place: str) -> None:
    run = interrupt(place, visits(url), 3)
    with pytest.raises(LedgerError, match=r'source was PostgreSQL, "database test.*, query'):
        fit(model_of(place), visits(url, "WHERE a > 0"), resume=run)
    with pytest.raises(LedgerError, match="source was PostgreSQL"):
        fit(model_of(place), two_groups(), resume=run)


def test_a_profile_of_a_query_is_resumed_in_the_same_way(url: str, place: str) -> None:
    model = fit(model_of(place), visits(url))
    with noise_from(RepeatableNoise(1)):
        found = model.profile(visits(url), ["a"], bounds={"a": (-1.0, 1.0)}, epsilon=0.5)
    execute(url, "UPDATE visits SET a = 0.9")
    with noise_from(RepeatableNoise(1)):
        again = model.profile(
            visits(url),
            ["a"],
            bounds={"a": (-1.0, 1.0)},
            epsilon=0.5,
            resume=found.privacy_statement.run.name,
        )
    np.testing.assert_array_equal(again.columns[0].means.values, found.columns[0].means.values)
    assert connections(url) == 0


def test_a_refused_fit_leaves_no_connection(url: str) -> None:
    with pytest.raises(ValueError, match="does not have these columns"):
        PrivateKMeans(2, delta=1e-6, bounds={"c": (0, 1)}).fit(visits(url))
    assert connections(url) == 0


@pytest.fixture
def guarded_url(postgres: Server, url: str) -> Any:
    """A database that asks for a password."""
    ((folder,),) = execute(url, "SELECT setting FROM pg_settings WHERE name = 'data_directory'")
    rules = Path(folder) / "pg_hba.conf"
    before = rules.read_text()
    execute(
        url,
        f"CREATE ROLE clerk LOGIN PASSWORD '{SECRET}'",
        "GRANT SELECT ON visits TO clerk",
    )
    rules.write_text(f"host all clerk 127.0.0.1/32 scram-sha-256\n{before}")
    execute(url, "SELECT pg_reload_conf()")
    yield postgres.url(url.rpartition("/")[2], "clerk")
    rules.write_text(before)
    execute(url, "SELECT pg_reload_conf()", "DROP OWNED BY clerk", "DROP ROLE clerk")


def test_a_password_comes_from_the_drivers_own_places_and_goes_nowhere(
    guarded_url: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConnectionError, match="password"):
        fit(model_of(place), visits(guarded_url))
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"127.0.0.1:*:*:clerk:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    model = fit(model_of(place), visits(guarded_url))
    save(model, tmp_path / "model.json")
    kept = [file.read_bytes() for file in tmp_path.iterdir() if file != passwords]
    texts = [str(model.privacy_statement_), repr(model), repr(visits(guarded_url))]
    for text in [*texts, Path("/proc/self/cmdline").read_text(encoding="utf-8")]:
        assert SECRET not in text
        assert "clerk" not in text
    assert not any(SECRET.encode() in content or b"clerk" in content for content in kept)


def test_the_words_of_a_query_are_nowhere_but_in_it(url: str, place: str, tmp_path: Path) -> None:
    query = f"SELECT a, b FROM visits WHERE md5(a::text) <> '{SECRET}'"
    model = fit(model_of(place), sql(url, query, name="all visits"))
    save(model, tmp_path / "model.json")
    texts = [str(model.privacy_statement_), model.privacy_statement_.to_json()]
    contents = [
        *(text.encode() for text in texts),
        *(one.read_bytes() for one in tmp_path.iterdir()),
    ]
    assert not any(SECRET.encode() in one or b"FROM visits" in one for one in contents)
    database = url.rpartition("/")[2]
    assert f'Source: PostgreSQL, "database {database}, all visits, query ' in texts[0]
    assert "127.0.0.1" not in texts[0]
