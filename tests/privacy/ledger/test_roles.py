"""On a server the owner gives budgets, and an analyst's role can fit and do nothing else."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np
import psycopg
import pytest
from helpers.command_line import privclust
from helpers.postgres import Server, execute

from privclust import PrivateKMeans
from privclust.privacy.accounting import Budget, Spend, gaussian_spend
from privclust.privacy.ledger._sql_schema import grant
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import StoredResult

BUDGET = Budget(1.0, 1e-6)
QUARTER = gaussian_spend(BUDGET.capacity.quanta // 4, 1)
FINGERPRINT = b"Count"


@dataclass(frozen=True)
class Places:
    """One ledger, as its roles connect to it."""

    owner: str
    analyst: str
    colleague: str
    stranger: str


@pytest.fixture(scope="module")
def roles(postgres: Server) -> None:
    """They belong to the whole server, and go with it."""
    names = ("owner", "analyst", "colleague", "stranger")
    execute(postgres.url("postgres"), *(f"CREATE ROLE {name} LOGIN" for name in names))


@pytest.fixture
def places(postgres: Server, database: str, roles: None) -> Places:
    """A ledger whose owner is not a superuser, with a data set, and two roles that may fit."""
    name = database.rsplit("/", 1)[1]
    execute(database, "GRANT ALL ON SCHEMA public TO owner")
    found = Places(**{role.name: postgres.url(name, role.name) for role in fields(Places)})
    Ledger.create(found.owner, "table", epsilon=1.0, delta=1e-6)
    execute(found.owner, grant("analyst"), grant("colleague"))
    return found


def reserve(place: str, spend: Any, label: str = "table", facts: Any = None, run: str = "") -> str:
    """Call the verb itself, as one may who does not use the library."""
    run = run or sha256(repr((spend, time.monotonic())).encode()).hexdigest()[:16]
    call(place, "privclust_reserve", label, run, {"spend": spend, "facts": facts or {}})
    return run


def call(place: str, verb: str, *values: Any) -> None:
    parameters = ", ".join("%s::jsonb" if isinstance(v, dict) else "%s" for v in values)
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(
            f"SELECT {verb}({parameters})",
            [json.dumps(v) if isinstance(v, dict) else v for v in values],
        )


def claim_body(spend: Any, fingerprint: bytes = FINGERPRINT) -> dict[str, Any]:
    return {"spend": spend, "fingerprint": sha256(fingerprint).hexdigest()}


# What an analyst can do --------------------------------------------------------------------------


def test_analyst_fits_resumes_and_reads(places: Places) -> None:
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    model = PrivateKMeans(
        2, epsilon=0.5, delta=1e-6, radius=4.0, ledger=places.analyst, dataset="table"
    ).fit(rows)
    ledger = Ledger.open(places.analyst)
    (run,) = ledger.runs("table")
    assert run.state == "finished"
    centers = model.cluster_centers_.copy()
    assert np.array_equal(model.fit(rows, resume=run.name).cluster_centers_, centers)
    record = model.privacy_statement_.record
    assert record is not None
    assert ledger.verify(record.head) == []
    assert Ledger.open(places.owner).remaining("table") == ledger.remaining("table")
    with pytest.raises(BudgetExceededError):
        model.set_params(epsilon=1.0).fit(rows)


def test_reservation_names_the_role_that_made_it(places: Places) -> None:
    Ledger.open(places.analyst).reserve("table", QUARTER, {})
    (entry,) = (e for e in Ledger.open(places.owner).export() if e["kind"] == "reserve")
    assert entry["role"] == "analyst"


# What an analyst cannot do -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO privclust_entries (number, kind, label, run, slot, body, fingerprint, hash) "
        "VALUES (9, 'close', 'table', 'x', '', '{}', '', '')",
        "UPDATE privclust_entries SET body = '{}'",
        "DELETE FROM privclust_entries",
        "TRUNCATE privclust_entries",
        "DROP TABLE privclust_entries",
        "ALTER TABLE privclust_entries DISABLE TRIGGER ALL",
        "DO 'BEGIN LOCK TABLE privclust_entries IN ROW SHARE MODE; END'",
        "SELECT privclust_chain('dataset', 'mine', '', '', '{}', '')",
        "SELECT privclust_own_run('x')",
        "CREATE TRIGGER mine BEFORE INSERT ON privclust_entries EXECUTE FUNCTION suppress()",
        "CREATE OR REPLACE FUNCTION privclust_lock() RETURNS void LANGUAGE sql AS 'SELECT'",
        "SET ROLE owner",
    ],
)
def test_analyst_writes_nothing_but_by_the_verbs(places: Places, statement: str) -> None:
    before = Ledger.open(places.owner).export()
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable)):
        execute(places.analyst, statement)
    assert Ledger.open(places.owner).export() == before


def test_analyst_creates_no_budget_and_the_refusal_names_who_does(places: Places) -> None:
    for create in (
        lambda: Ledger.open(places.analyst).add("chairs", 9.0, 1e-6),
        lambda: Ledger.create(places.analyst, "chairs", epsilon=9.0, delta=1e-6),
    ):
        with pytest.raises(LedgerError, match=r"may not do that.*Its owner creates data sets"):
            create()


def test_role_without_a_grant_reads_and_fits_nothing(places: Places) -> None:
    with pytest.raises(LedgerError, match="privclust ledger grant ROLE"):
        Ledger.open(places.stranger).runs("table")
    for verb in ("privclust_lock()", "privclust_close('x', '{}')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(places.stranger, f"SELECT {verb}")


def test_analyst_gets_no_more_than_the_budget_by_calling_the_verbs(places: Places) -> None:
    """Reserve, spend and close, over and over: only what was never claimed comes back."""
    whole = asdict(BUDGET.capacity)
    quarter = {**whole, "quanta": whole["quanta"] // 4, "slack": 0.0, "tail": 0.0}
    for number in range(4):
        run = reserve(places.analyst, whole if number == 0 else quarter)
        call(places.analyst, "privclust_claim", run, "a", claim_body(quarter), FINGERPRINT)
        forged = {"finished": True, "spend": asdict(Spend())}
        call(places.analyst, "privclust_close", run, forged)
    left = Ledger.open(places.owner).remaining("table").quanta
    assert left == whole["quanta"] % 4
    with pytest.raises(psycopg.errors.RaiseException, match="does not cover this run"):
        reserve(places.analyst, {**quarter, "quanta": left + 1})
    assert Ledger.open(places.owner).verify() == []


NOTHING = asdict(Spend())
WRONG: dict[str, list[Any]] = {
    "quanta": [-1, 0.5, "1", None, True, 1e30, []],
    "slack": [-1, "0", None, []],
    "tail": [-1e-300, "0", None],
    "pure": [-1, "0", 0.5, {}],
    "more": [1],
}


@pytest.mark.parametrize(
    "spend",
    [
        *(None, {}, [], 5, "x", {"quanta": 1}),
        *({**NOTHING, part: value} for part, values in WRONG.items() for value in values),
    ],
    ids=repr,
)
def test_cost_that_makes_no_sense_is_refused(places: Places, spend: Any) -> None:
    with pytest.raises(psycopg.Error):
        reserve(places.analyst, spend)
    run = reserve(places.analyst, asdict(QUARTER))
    with pytest.raises(psycopg.Error):
        call(places.analyst, "privclust_claim", run, "a", claim_body(spend), FINGERPRINT)
    assert Ledger.open(places.owner).run(run).charges == {}


def test_run_spends_no_more_than_it_reserved_and_nothing_after_its_end(places: Places) -> None:
    half = asdict(gaussian_spend(QUARTER.quanta // 2 + 1, 1))
    run = reserve(places.analyst, asdict(QUARTER))
    call(places.analyst, "privclust_claim", run, "a", claim_body(half), FINGERPRINT)
    for slot, match in (("a", "more than it reserved|duplicate"), ("b", "more than it reserved")):
        with pytest.raises(psycopg.Error, match=match):
            call(places.analyst, "privclust_claim", run, slot, claim_body(half), FINGERPRINT)
    with pytest.raises(psycopg.Error, match="hash"):
        call(places.analyst, "privclust_claim", run, "c", claim_body(NOTHING), b"another")
    call(places.analyst, "privclust_close", run, {"finished": False})
    with pytest.raises(psycopg.Error, match="closed"):
        call(places.analyst, "privclust_claim", run, "d", claim_body(NOTHING), FINGERPRINT)
    with pytest.raises(psycopg.errors.UniqueViolation):
        call(places.analyst, "privclust_close", run, {"finished": True})
    with pytest.raises(psycopg.Error, match="not a new run"):
        reserve(places.analyst, NOTHING, run=run)
    assert Ledger.open(places.owner).verify() == []


@pytest.mark.attack
def test_result_needs_a_charge_and_is_stored_once(places: Places) -> None:
    run = reserve(places.analyst, asdict(QUARTER))
    result = {"values": [1], "scale": 1.0, "noise": "OpenDP"}
    with pytest.raises(psycopg.Error, match="never claimed"):
        call(places.analyst, "privclust_result", run, "a", result)
    call(places.analyst, "privclust_claim", run, "a", claim_body(NOTHING), FINGERPRINT)
    for wrong in (
        {"values": [0.5]},
        {"values": 1},
        {"values": ["1"]},
        {"scale": "x"},
        {"noise": 1},
        {"values": [2**63]},
        {"values": [-(2**63)]},
        {"values": [10**18, 9_999_999_999_999_999_999]},
    ):
        with pytest.raises(psycopg.Error, match="not a result"):
            call(places.analyst, "privclust_result", run, "a", {**result, **wrong})
    call(places.analyst, "privclust_result", run, "a", {**result, "values": [2**63 - 1, -(2**62)]})
    with pytest.raises(psycopg.errors.UniqueViolation):
        call(places.analyst, "privclust_result", run, "a", result)
    assert Ledger.open(places.owner).verify() == []


def test_runs_show_the_role_that_reserved_them(places: Places) -> None:
    reserve(places.analyst, asdict(QUARTER))
    assert [run.role for run in Ledger.open(places.owner).runs("table")] == ["analyst"]
    assert "analyst" in privclust("ledger", "runs", places.owner, "table").stdout


def test_error_of_a_server_names_what_a_server_has(places: Places) -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger.open(places.owner.replace("owner", "nobody"))
    assert "role and database of the URL" in str(caught.value)
    assert "disk" not in str(caught.value)


def test_run_of_another_role_is_left_alone(places: Places) -> None:
    run = Ledger.open(places.analyst).reserve("table", QUARTER, {})
    other = Ledger.open(places.colleague)
    match = f'run {run} belongs to role "analyst", and this is role "colleague"'
    with pytest.raises(LedgerError, match=match):
        other.claim(run, "count", QUARTER, FINGERPRINT)
    with pytest.raises(LedgerError, match=match):
        other.close(run)
    Ledger.open(places.analyst).claim(run, "count", QUARTER, FINGERPRINT)
    with pytest.raises(LedgerError, match=match):
        other.record(run, "count", StoredResult(np.array([1]), 4.0, "OpenDP"))
    Ledger.open(places.owner).close(run)
    assert other.run(run).state == "given up"


def test_stale_view_of_the_ledger_is_refused(places: Places) -> None:
    with psycopg.connect(places.analyst) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM privclust_entries")
        with pytest.raises(psycopg.errors.RaiseException, match="READ COMMITTED"):
            connection.execute("SELECT privclust_lock()")


def test_period_has_its_share_and_must_be_named(places: Places) -> None:
    Ledger.open(places.owner).add("weekly", 1.0, 1e-6, periods=4)
    share = {**asdict(BUDGET.capacity), "quanta": BUDGET.capacity.quanta // 4}
    share = {**share, "slack": 0.0, "tail": 0.0}
    for facts in ({}, {"period": "w 1"}, {"period": 1}):
        with pytest.raises(psycopg.errors.RaiseException):
            reserve(places.analyst, share, "weekly", facts)
    reserve(places.analyst, share, "weekly", {"period": "W1"})
    with pytest.raises(psycopg.errors.RaiseException, match="period W1's budget"):
        reserve(places.analyst, {**share, "quanta": 1}, "weekly", {"period": "W1"})
    reserve(places.analyst, share, "weekly", {"period": "W2"})
    with pytest.raises(psycopg.errors.RaiseException):
        reserve(places.analyst, NOTHING, "table", {"period": "W1"})


def test_functions_of_the_analyst_are_not_called_by_the_verbs(
    places: Places, database: str
) -> None:
    """Whoever may create functions must not be able to put them in the place of built-in ones."""
    execute(database, "CREATE SCHEMA analyst", "GRANT ALL ON SCHEMA analyst TO analyst")
    run = "0123456789abcdef"
    body = json.dumps({"spend": {**NOTHING, "quanta": 2**61, "pure": None}, "facts": {}})
    statements = [
        "SET search_path = analyst, pg_temp, public, pg_catalog",
        "CREATE FUNCTION analyst.privclust_within(public.privclust_cost, public.privclust_cost) "
        "RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE FUNCTION analyst.session_user() RETURNS name LANGUAGE sql AS $$SELECT 'owner'$$",
        "CREATE TEMP TABLE privclust_entries (number bigint)",
        f"SELECT public.privclust_reserve('table', '{run}', '{body}')",
    ]
    with pytest.raises(psycopg.errors.RaiseException, match="does not cover this run"):
        execute(places.analyst, *statements)


def test_schema_in_which_others_may_create_is_refused(places: Places, database: str) -> None:
    """An overload that fits an argument better would run with the owner's rights."""
    execute(database, "GRANT CREATE ON SCHEMA public TO analyst")
    with pytest.raises(LedgerError, match='role "analyst" may create functions in schema public'):
        Ledger.open(places.owner).reserve("table", QUARTER, {})
    execute(
        places.analyst,
        "CREATE FUNCTION privclust_chain(text, text, text, text, text, text) RETURNS void "
        "LANGUAGE sql AS 'SELECT'",
    )
    execute(database, "REVOKE CREATE ON SCHEMA public FROM analyst")
    ledger = Ledger.open(places.analyst)
    run = ledger.reserve("table", QUARTER, {})
    assert list(ledger.runs("table")) == [ledger.run(run)]


# Locks -------------------------------------------------------------------------------------------


def test_lock_delays_others_by_five_seconds_and_its_holder_is_named(places: Places) -> None:
    ledger = Ledger.open(places.colleague)
    with psycopg.connect(places.analyst) as holder:
        holder.execute("SELECT privclust_lock()")
        begun = time.monotonic()
        match = f"locked by server process {holder.info.backend_pid} of role 'analyst'"
        with pytest.raises(LedgerError, match=match) as refused:
            ledger.reserve("table", QUARTER, {})
        assert 4.5 <= time.monotonic() - begun <= 7.0  # five seconds, on a busy machine
        assert "pg_terminate_backend" in str(refused.value)
        assert ledger.runs("table") == ()  # reading waits for nobody
    ledger.reserve("table", QUARTER, {})
