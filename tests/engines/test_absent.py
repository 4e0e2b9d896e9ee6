"""A fit is checked and priced without rows exactly as with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privclust import Ledger, PrivateKMeans
from privclust.engines.absent import AbsentEngine, AbsentTable
from privclust.errors import ColumnError, EngineError
from privclust.estimators import _fit
from privclust.queries.base import Count

BOUNDS: dict[str, Any] = {
    "age": (0, 120),
    "ward": {"type": "category", "levels": ["A", "B"]},
    "seen": {"type": "date", "lower": "2020-01-01", "upper": "2026-01-01"},
}
TABLE = pa.table(
    {
        "who": pa.array([1, 2, 2]),
        "age": pa.array([40.0, 30.0, 20.0]),
        "ward": pa.array(["A", "B", "A"]),
        "seen": pa.array(np.array(["2021-01-01"] * 3, dtype="datetime64[D]")),
        "other": pa.array(["x", "y", "z"]),
    }
)


def prepared(table: Any, ledger: str, unit: str | None, scale: str | None) -> _fit.PreparedFit:
    estimator = PrivateKMeans(
        2,
        delta=1e-6,
        bounds=BOUNDS,
        ledger=ledger,
        dataset="visits",
        random_state=1,
        unit=unit,
        scale=scale,
    )
    return _fit.prepare(estimator, estimator._open(table), estimator.plan, estimator.run)


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("scale", [None, "private"])
def test_price_and_facts_are_those_of_the_table_itself(
    unit: str | None, scale: str | None, tmp_path: Path
) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "visits", epsilon=2.0, delta=1e-6, unit=unit or "row")
    whole = prepared(TABLE, place, unit, scale)
    absent = prepared(AbsentTable(tuple(TABLE.column_names)), place, unit, scale)
    absent.run.reserve("00000000000000aa")
    whole.run.reserve("00000000000000aa")  # the same, or it would be refused
    (run,) = Ledger.open(place).runs("visits")
    assert run.facts == whole.run.recorded.facts == absent.run.recorded.facts


def test_a_reserved_run_is_carried_out_once_by_its_name(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    ledger = Ledger.create(place, "visits", epsilon=1.0, delta=1e-6)
    prepared(AbsentTable(tuple(TABLE.column_names)), place, None, None).run.reserve("0" * 16)
    left, ended = ledger.remaining("visits"), []
    estimator = prepared(TABLE, place, None, None).estimator
    assert isinstance(estimator, PrivateKMeans)
    fit = _fit.prepare(estimator, estimator._open(TABLE), estimator.plan, estimator.run, "0" * 16)
    model, _ = fit.carry_out(lambda: ended.append(ledger.run("0" * 16).state))
    assert ended == ["open"]
    (run,) = ledger.runs("visits")
    assert (run.name, run.state) == (model.privacy_statement.run.name, "finished")
    assert left.within(ledger.remaining("visits"))


def test_absent_rows_cannot_be_measured_or_labelled() -> None:
    estimator = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)})
    table = AbsentTable(("age",))
    engine = estimator._open(table).engine
    assert isinstance(engine, AbsentEngine)
    with pytest.raises(AssertionError, match="elsewhere"):
        engine.aggregate(Count())
    with pytest.raises(EngineError):
        estimator.fit(table)
    with pytest.raises(ColumnError, match="does not have these columns: 'height'"):
        PrivateKMeans(2, delta=1e-6, bounds={"height": (0, 3)}).fit(table)
    with pytest.raises(TypeError, match="labelled where they are"):
        estimator.fit_predict(table)
