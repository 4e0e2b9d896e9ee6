"""One way from a table to an engine: which kind it is, and what is refused before the charge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.conformance import write_parquet

from privclust import DPLloyd, Federation
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.engines.base import Engine, Table
from privclust.engines.factory import open_engine
from privclust.engines.federated.engine import FederatedEngine
from privclust.engines.memory import NumpyEngine
from privclust.engines.noisy import NoisyEngine
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.errors import ParameterError
from privclust.queries.base import Count
from privclust.queries.unit import ROW, Unit
from privclust.sources.schema import Schema

BOX, PERSON = Box([0], [9]), Unit("who", 1)
ROWS = pa.table({"extra": ["x", "y"], "a": [1.0, 2.0], "who": [7, 7]})


class Tiny(Table):
    """A user's own table, of one column and rows that count alone."""

    @property
    def schema(self) -> Schema:
        return Schema(("a", "who"), ("number", "integer"))

    def open_engine(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> Engine:
        return NumpyEngine(np.ones((500, 1)), domain)


@pytest.mark.parametrize(
    ("kind", "unit", "engine"),
    [
        ("arrow", ROW, NumpyEngine),
        ("pandas", PERSON, NumpyEngine),
        ("file", ROW, ArrowEngine),
        ("file", PERSON, SpilledEngine),
        ("stream", ROW, ArrowEngine),
        ("federation", ROW, FederatedEngine),
        ("own", ROW, NumpyEngine),
    ],
)
def test_table_has_the_engine_of_its_kind(
    kind: str, unit: Unit, engine: type, tmp_path: Path
) -> None:
    tables: dict[str, Any] = {
        "arrow": ROWS,
        "pandas": ROWS.to_pandas(),
        "file": write_parquet(ROWS, tmp_path / "rows.parquet"),
        "stream": lambda: ROWS,
        "federation": Federation.in_process({"one": ROWS}),
        "own": Tiny(),
    }
    opened = open_engine(tables[kind], ["a"], BOX, unit)
    assert type(opened) is engine
    if kind != "own":
        assert not isinstance(opened, NoisyEngine)
        n_units = 2 if unit.column is None else 1
        assert round(opened.aggregate(Count())[0] / 2**26) == n_units


def test_fit_takes_a_users_own_table() -> None:
    model = DPLloyd(1, delta=1e-6, bounds={"a": (0, 9)}).fit(Tiny())
    assert model.cluster_centers_.shape == (1, 1)
    with pytest.raises(TypeError, match="labelled where they are"):
        model.predict(Tiny())


@pytest.mark.attack
def test_engine_that_ignores_the_unit_is_refused_before_the_charge() -> None:
    with pytest.raises(ParameterError, match=r"protects one row, and unit asks for one 'who'"):
        DPLloyd(1, delta=1e-6, bounds={"a": (0, 9)}, unit="who").fit(Tiny())


@pytest.mark.attack
@pytest.mark.parametrize(
    ("asked", "opened"),
    [
        (ROW, Unit(clients=2)),
        (PERSON, Unit("who", 1, clients=1)),
        (PERSON, Unit("who", 1, whole=True)),
        (Unit("who", 1, clients=2), PERSON),
        (Unit("who", 1, whole=True), PERSON),
        (PERSON, Unit("who", 2)),
    ],
)
def test_engine_of_another_unit_than_its_table_says_is_refused(asked: Unit, opened: Unit) -> None:
    class Other(Tiny):
        def open_engine(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> Engine:
            engine = NumpyEngine(np.ones((5, 1)), domain)
            engine.unit = opened
            return engine

    with pytest.raises(ParameterError, match="the engine of this table protects"):
        open_engine(Other(), ["a"], BOX, asked)


@pytest.mark.parametrize(
    ("asked", "protected"),
    [
        (ROW, Unit(clients=2)),
        (PERSON, Unit("who", 1, clients=2)),
        (Unit("client", 3), Unit("client", 3, clients=1, whole=True)),
    ],
)
def test_federation_protects_a_unit_at_all_its_clients(asked: Unit, protected: Unit) -> None:
    federation = Federation.in_process({"one": ROWS, "two": ROWS}, clients_per_unit=2)
    assert open_engine(federation, ["a"], BOX, asked).unit == protected


def test_table_that_has_its_columns_alone_is_not_copied() -> None:
    frame = pd.DataFrame({"a": [1.0], "who": [7]})
    engine = open_engine(frame, ["a"], BOX, PERSON)
    assert isinstance(engine, NumpyEngine)
    assert engine._load.args[0] is frame  # type: ignore[attr-defined]
