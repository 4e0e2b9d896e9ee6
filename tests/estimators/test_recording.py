"""Which ledger pays for a fit, and what it gets to know: nothing that is not public."""

from __future__ import annotations

import pickle
import re
import secrets
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.kinds import EVERY_KIND
from sklearn.base import clone

from privclust import FedDPKMeans, Federation, PEMeans, PrivateKMeans, load, save
from privclust.errors import ParameterError
from privclust.estimators._recording import ledger_of
from privclust.kernels.grid import FloatArray
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.queries.unit import Unit
from privclust.testing import RepeatableNoise, noise_from

CANARY = 73.19283746501928
N_ROWS = 4219
FACTS = {
    "estimator",
    "n_clusters",
    "epsilon",
    "delta",
    "scale",
    "n_rows",
    "bounds",
    "bounds_origin",
    "seed",
    "unit",
    "max_rows_per_unit",
    "privclust",
    "numpy",
    "scikit-learn",
}


@pytest.fixture
def place(tmp_path: Path) -> str:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=2.0, delta=1e-6)
    return place


def model_of(place: object, kind: Any = PEMeans, **parameters: Any) -> Any:
    given = {"ledger": place, "dataset": "table", "bounds": (0, 120), "random_state": 0}
    return kind(**{"n_clusters": 2, "delta": 1e-6, **given, **parameters})


def patients(n_rows: int = N_ROWS) -> FloatArray:
    return np.full((n_rows, 2), CANARY)


def fitted(model: Any, rows: Any = None) -> Any:
    with noise_from(RepeatableNoise(0)):
        return model.fit(patients() if rows is None else rows)


# Who pays ----------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_fit_takes_what_it_was_charged_and_says_where(kind: Any, place: str) -> None:
    ledger = Ledger.open(place)
    before = ledger.remaining("table")
    model = fitted(model_of(place, kind))
    (run,) = ledger.runs("table")
    charges = {release.slot: release.charge for release in model.releases_}
    assert run.charges == charges
    assert not run.open
    assert ledger.remaining("table") == run.spent.left_of(before)
    record = model.privacy_statement_.record
    assert (record.dataset, record.head) == ("table", ledger.head())
    assert model.privacy_statement_.run.name == run.name
    assert ledger.verify(record.head) == []
    assert f"run {run.name}, last entry" in str(model.privacy_statement_)


@pytest.mark.attack
def test_fits_share_a_budget_until_it_refuses_and_then_nothing_is_read(place: str) -> None:
    class Unreadable(np.ndarray[Any, Any]):
        def __getitem__(self, item: Any) -> Any:
            if item != slice(None, 0):  # no rows, by which types are checked
                raise AssertionError("rows were read")
            return np.asarray(self)[item]

    fits = 0
    while Ledger.open(place).remaining("table").mu > 0.25:
        fitted(model_of(place))
        fits += 1
    ledger = Ledger.open(place)
    before = ledger.export()
    with pytest.raises(
        BudgetExceededError, match=r"(?s)nothing was read.*Remaining:  epsilon"
    ) as no:
        fitted(model_of(place), patients().view(Unreadable))
    assert f"(mu² {ledger.remaining('table').mu2:.6g})" in str(no.value)
    assert fits == len(ledger.runs("table")) == 3
    assert ledger.export() == before


def test_a_refit_adds_nothing_to_the_ledger(place: str) -> None:
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(middle, 3.0, (500, 2)) for middle in (20, 60, 100)])
    model = fitted(model_of(place, PrivateKMeans), rows)
    before = Ledger.open(place).export()
    other = model.refit(3)
    assert Ledger.open(place).export() == before
    assert other.privacy_statement_.record == model.privacy_statement_.record
    assert (other.ledger, other.dataset) == (place, "table")


def test_without_a_ledger_a_fit_says_that_it_is_unrecorded() -> None:
    model = fitted(model_of(None, dataset=None))
    assert model.privacy_statement_.record is None
    assert "Ledger: unrecorded" in str(model.privacy_statement_)


def test_clone_and_pickle_keep_path_and_label(place: str) -> None:
    model = model_of(place)
    for copy in (clone(model), pickle.loads(pickle.dumps(fitted(model)))):
        assert (copy.ledger, copy.dataset) == (place, "table")
        fitted(copy)
    assert len(Ledger.open(place).runs("table")) == 3


def test_a_path_object_is_a_path(place: str) -> None:
    fitted(clone(model_of(Path(place))))
    assert len(Ledger.open(place).runs("table")) == 1


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"dataset": None},
        {"ledger": None},
        {"ledger": 5},
        {"ledger": Ledger.in_memory()},
        {"ledger": np.full((3, 2), CANARY)},
        {"dataset": np.full((3, 2), CANARY)},
        {"dataset": 7},
    ],
)
def test_a_ledger_is_a_path_and_a_data_set_a_name_and_both_are_given(
    place: str, given: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"Give both, such as ledger=.* or neither") as refused:
        fitted(model_of(place).set_params(**given))
    assert str(CANARY)[:6] not in str(refused.value)
    assert Ledger.open(place).runs("table") == ()


def test_a_data_set_that_was_not_named_is_one_of_the_ledgers(place: str) -> None:
    with pytest.raises(ValueError, match="dataset is missing; the ledger has 'table'"):
        fitted(model_of(place).set_params(dataset=None))


def test_an_unknown_data_set_is_named_with_the_remedy(place: str) -> None:
    with pytest.raises(LedgerError, match=r"knows no data set 'chairs'; it has 'table'"):
        fitted(model_of(place, dataset="chairs"))


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    with pytest.raises(LedgerError, match=r"there is no ledger at .*missing\.db"):
        fitted(model_of(str(missing)))
    assert not missing.exists()


@pytest.mark.attack
def test_a_fit_without_noise_cannot_be_charged(place: str) -> None:
    before = Ledger.open(place).export()
    with pytest.raises(ValueError, match="epsilon = inf adds no noise and cannot be charged"):
        model_of(place, epsilon=np.inf, delta=None).fit(patients())
    assert Ledger.open(place).export() == before


@pytest.mark.parametrize(
    ("protected", "unit", "is_profile", "advice"),
    [
        ("user", Unit(), False, "Type unit='user', or name another data set."),
        ("row", Unit("user"), False, "A fit without unit='user' protects single rows alone."),
        ("user in 2 clients", Unit("user"), False, "Only a federation protects that. Name an"),
        ("user", Unit("user", clients=2), False, "clients_per_unit to the number of clients"),
        ("user", Unit(), True, "A profile protects what its fit does. Name another data set."),
    ],
)
def test_another_unit_is_answered_with_what_to_type(
    protected: str, unit: Unit, is_profile: bool, advice: str, tmp_path: Path
) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "d", epsilon=2.0, delta=1e-6, unit=protected)
    with pytest.raises(ParameterError, match=re.escape(advice)):
        ledger_of(place, "d", unit, is_profile=is_profile)


def test_a_data_set_of_another_unit_is_refused(place: str) -> None:
    Ledger.create(place, "users", epsilon=2.0, delta=1e-6, unit="user")
    with pytest.raises(ParameterError, match=r"per user, this fit per row\. Type unit='user', or"):
        fitted(model_of(place, dataset="users"))
    assert Ledger.open(place).runs("users") == ()


@pytest.mark.parametrize("resume", [5, np.full((3, 2), CANARY), True])
def test_a_run_is_resumed_by_its_name(place: str, resume: Any) -> None:
    with pytest.raises(ParameterError, match="needs a ledger, its dataset and the name") as refused:
        model_of(place).fit(patients(), resume=resume)
    assert str(CANARY)[:6] not in str(refused.value)


def test_without_a_ledger_nothing_can_be_resumed() -> None:
    with pytest.raises(ValueError, match="resume='0123' needs a ledger"):
        model_of(None, dataset=None).fit(patients(), resume="0123")


def test_an_unknown_run_is_named(place: str) -> None:
    for seed in (0, None):
        with pytest.raises(LedgerError, match="knows no run '0123'"):
            model_of(place, random_state=seed).fit(patients(), resume="0123")


def test_parameters_are_checked_before_anything_is_reserved(place: str) -> None:
    before = Ledger.open(place).export()
    for wrong in ({"n_clusters": 0}, {"epsilon": -1.0}, {"delta": None}, {"random_state": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fitted(model_of(place, **wrong))
    assert Ledger.open(place).export() == before


# What a ledger gets to know ----------------------------------------------------------------------


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def measurements(place: str) -> list[bytes]:
    with closing(sqlite3.connect(place)) as connection:
        rows = connection.execute("SELECT fingerprint FROM privclust_entries WHERE kind = 'claim'")
        return [zlib.decompress(fingerprint) for (fingerprint,) in rows]


@pytest.mark.attack
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_cell_and_no_exact_count_is_in_a_ledger(kind: Any, place: str) -> None:
    frame = pd.DataFrame(patients(), columns=["age", "weight"])
    bounds = {"age": (0, 120), "weight": (0, 300)}
    fitted(model_of(place, kind, bounds=bounds), frame)
    ledger = Ledger.open(place)
    for leaf in leaves(ledger.export()):
        assert leaf not in (CANARY, N_ROWS, N_ROWS * 2**26)
        assert str(CANARY)[:8] not in str(leaf)
    stored = [*measurements(place), *(path.read_bytes() for path in Path(place).parent.iterdir())]
    assert len(stored) >= 6
    for content in stored:
        for order in ("<d", ">d", "<f"):
            assert struct.pack(order, CANARY) not in content
        assert str(CANARY)[:8].encode() not in content


def test_the_facts_are_a_list_of_public_things(place: str) -> None:
    fitted(model_of(place))
    (run,) = Ledger.open(place).runs("table")
    assert set(run.facts) == FACTS
    assert run.facts["seed"] == "0"
    assert run.facts["n_rows"] == "None"
    assert all(isinstance(value, str) for value in run.facts.values())


def test_a_ledger_does_not_know_when_or_where_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With repeatable noise and fixed names, two ledgers are equal to the last hash."""
    exports = []
    for days, folder in ((0, "here"), (400, "elsewhere")):
        numbers, true_time = count(), time.time
        monkeypatch.setattr(secrets, "token_hex", lambda n, numbers=numbers: f"{next(numbers)}")
        monkeypatch.setattr(time, "time", lambda d=days, now=true_time: now() + 86400 * d)
        (tmp_path / folder).mkdir()
        place = str(tmp_path / folder / f"{folder}.db")
        Ledger.create(place, "table", epsilon=2.0, delta=1e-6)
        fitted(model_of(place))
        exports.append((Ledger.open(place).export(), measurements(place)))
        monkeypatch.undo()
    assert exports[0] == exports[1]


def test_the_column_names_and_the_order_of_rows_are_not_in_a_ledger(place: str) -> None:
    Ledger.create(place, "again", epsilon=2.0, delta=1e-6)
    rows = np.random.default_rng(0).uniform(0, 120, (500, 2))
    fitted(model_of(place), pd.DataFrame(rows, columns=["uncommon", "b"]))
    fitted(model_of(place, dataset="again"), rows[::-1].copy())
    exported = Ledger.open(place).export()
    assert "uncommon" not in str(exported)
    first, second = (
        [
            entry["values"]
            for entry in exported
            if entry["kind"] == "result" and entry["label"] == at
        ]
        for at in ("table", "again")
    )
    assert first == second


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("verb", ["fit_predict", "fit_transform"])
def test_a_refused_fit_and_label_shows_no_rows_in_our_frames(
    place: str, kind: Any, verb: str
) -> None:
    rows = patients(10)
    with pytest.raises(BudgetExceededError) as refused:
        getattr(model_of(place, kind, epsilon=3.0), verb)(rows)
    ours = [
        trace.frame.f_locals
        for trace in refused.traceback
        if "privclust/estimators" in trace.path.as_posix()  # type: ignore[union-attr]
    ]
    assert ours
    assert not any(value is rows for values in ours for value in values.values())


# Federations -------------------------------------------------------------------------------------

VISITS = pd.DataFrame(
    np.random.default_rng(0).uniform(0, 120, (600, 2)), columns=["a", "b"]
).assign(who=np.arange(600) // 2, client=1, **{"whole client": 1})


def clients(per_patient: int) -> Federation:
    tables = dict.fromkeys("xyz", VISITS)
    return Federation.in_process(tables, ["a", "b"], clients_per_unit=per_patient)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("protected", "table", "unit"),
    [
        ("row", clients(2), None),
        ("row in 2 clients", clients(1), None),
        ("row in 2 clients", clients(3), None),
        ("who", clients(1), "who"),
        ("who in 2 clients", clients(1), "who"),
        ("who in 1 client", VISITS[["a", "b", "who"]], "who"),
        ("client", clients(1), "client"),
        ("whole client", VISITS[["a", "b", "client"]], "client"),
        ("whole client", VISITS[["a", "b", "whole client"]], "whole client"),
    ],
)
def test_a_label_has_one_unit(protected: str, table: Any, unit: str | None, tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "d", epsilon=2.0, delta=1e-6, unit=protected)
    with pytest.raises(ValueError, match=f"is protected per {protected}, this fit per"):
        model_of(place, FedDPKMeans, dataset="d", unit=unit).fit(table)
    assert Ledger.open(place).runs("d") == ()


@pytest.mark.parametrize(
    ("protected", "table", "unit"),
    [
        ("row", clients(1), None),
        ("row", VISITS[["a", "b"]], None),
        ("row in 2 clients", clients(2), None),
        ("who in 1 client", clients(1), "who"),
        ("who in 3 clients", clients(3), "who"),
        ("whole client", clients(1), "client"),
        ("client", VISITS[["a", "b", "client"]], "client"),
    ],
)
def test_a_fit_is_charged_to_the_label_of_its_unit(
    protected: str, table: Any, unit: str | None, tmp_path: Path
) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "d", epsilon=2.0, delta=1e-6, unit=protected)
    model_of(place, FedDPKMeans, dataset="d", unit=unit).fit(table)
    (run,) = Ledger.open(place).runs("d")
    assert run.facts["unit"] == protected


def test_class_without_a_proper_name_is_refused_before_the_charge(tmp_path: Path) -> None:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "t", epsilon=4.0, delta=1e-5)
    kind: Any = type("My k-means", (PrivateKMeans,), {})
    model = kind(2, delta=1e-6, radius=1.0, ledger=place, dataset="t")
    with pytest.raises(ParameterError, match="not a name of Python"):
        model.fit(np.zeros((50, 2)))
    assert Ledger.open(place).runs("t") == ()


def test_a_loaded_model_does_not_fit_beside_the_ledger(tmp_path: Path) -> None:
    place, rows = tmp_path / "budget.db", np.repeat([[-0.5], [0.5]], 2000, axis=0)
    ledger = Ledger.create(str(place), "clinic", epsilon=3.0, delta=1e-5)
    paid: dict[str, Any] = {"ledger": str(place), "dataset": "clinic"}
    save(PrivateKMeans(2, delta=1e-6, radius=1.0, **paid).fit(rows), tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    with pytest.raises(ParameterError, match=r"data set 'clinic'.*set_params\(ledger="):
        loaded.fit(rows)
    clone(loaded).fit(rows)
    assert len(ledger.runs("clinic")) == 1
    loaded.set_params(**paid).fit(rows)
    assert len(ledger.runs("clinic")) == 2
