"""Whatever is refused, no frame of ours holds the table that was given."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command_line import lay_out, privclust

import privclust as package
from privclust import DPLloyd, Federation, compose, estimators, save, save_profile, simulate
from privclust.domains._category_column import CategoryColumn
from privclust.domains.box import Box
from privclust.domains.profiled import ProfileDomain
from privclust.engines.federated.client import Client
from privclust.errors import EngineError
from privclust.estimators._input import open_profiled, open_table

OURS = str(Path(package.__file__).parent)
ROWS = pd.DataFrame({"a": np.linspace(0, 10, 40), "b": np.linspace(10, 0, 40)})
BOUNDS: Any = {"a": (0, 10), "b": (0, 10)}
GIVEN: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bounds": BOUNDS, "random_state": 0}

REFUSALS: dict[str, dict[str, Any]] = {
    "missing bounds": {"bounds": None},
    "bad scale": {"scale": "wide"},
    "measured scale": {"scale": "private", "bounds": None, "radius": 1.0},
    "bad unit": {"unit": "nobody"},
    "bad max_rows_per_unit": {"max_rows_per_unit": 0},
    "bad column": {"bounds": {"a": (0, 10), "c": (0, 10)}},
    "bad bounds": {"bounds": {"a": (10, 0), "b": (0, 10)}},
    "bad epsilon": {"epsilon": -1.0},
    "missing delta": {"delta": None},
    "bad n_clusters": {"n_clusters": 0},
    "missing ledger": {"ledger": "/nowhere/budget.db", "dataset": "t"},
    "bad seed": {"random_state": "seven"},
}


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and all that it came from."""
    if error is not None:
        yield error
        yield from chained(error.__cause__)
        yield from chained(error.__context__)


def frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def reaches(value: object, secret: object) -> bool:
    """Tell whether an object leads to another, however far; code and types lead everywhere."""
    seen: dict[int, object] = {}
    queue = [value]
    while queue:
        one = queue.pop()
        if one is secret:
            return True
        if id(one) in seen or isinstance(one, type | FunctionType | ModuleType | FrameType):
            continue
        seen[id(one)] = one
        queue.extend(gc.get_referents(one))
    return False


def assert_withheld(
    work: Callable[[], object], table: Any, errors: tuple[type[BaseException], ...] = (Exception,)
) -> None:
    """Check that work on a table fails, and that no frame of ours holds the table afterwards."""
    caught: BaseException | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
    except errors as error:
        caught = error
    assert caught is not None
    found = [frame for one in chained(caught) for frame in frames(one.__traceback__)]
    ours = [frame for frame in found if frame.f_code.co_filename.startswith(OURS)]
    assert ours
    for frame in ours:
        held = [name for name, value in frame.f_locals.items() if reaches(value, table)]
        assert not held, f"{frame.f_code.co_qualname} holds the table as {held}"


def made(kind: str, **given: Any) -> Any:
    return getattr(estimators, kind)(**{"n_clusters": 1, **GIVEN, **given})


@pytest.mark.attack
@pytest.mark.parametrize("kind", estimators.__all__)
def test_refusal_of_missing_bounds_holds_no_rows(kind: str) -> None:
    table = ROWS.copy()
    assert_withheld(lambda: made(kind, bounds=None).fit(table), table)


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
@pytest.mark.parametrize("kind", estimators.__all__)
def test_refused_fit_holds_no_rows(kind: str, method: str) -> None:
    for refusal in REFUSALS.values():
        table = ROWS.copy()
        work = getattr(made(kind, **refusal), method)
        assert_withheld(lambda: work(table), table)  # noqa: B023
        assert_withheld(lambda: work(X=table), table)  # noqa: B023


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {kind: made(kind).fit(ROWS) for kind in estimators.__all__}


ODD_TABLES: dict[str, Callable[[], Any]] = {
    "other columns": lambda: ROWS.rename(columns={"b": "c"}),
    "texts": lambda: ROWS.astype(str),
    "Sparse": lambda: ROWS.astype(pd.SparseDtype(float)),
    "no table": lambda: [1.0, 2.0],
    "an array": lambda: np.zeros((3, 3)),
}


@pytest.mark.parametrize("method", ["predict", "transform"])
@pytest.mark.parametrize("kind", estimators.__all__)
def test_refused_labels_hold_no_rows(kind: str, method: str, fitted: dict[str, Any]) -> None:
    for make in ODD_TABLES.values():
        table = make()
        work = getattr(fitted[kind], method)
        assert_withheld(lambda: work(table), table)  # noqa: B023
    unfitted, table = made(kind), ROWS.copy()
    assert_withheld(lambda: getattr(unfitted, method)(table), table)


PROFILES: dict[str, dict[str, Any]] = {
    "missing column": {"columns": ["income"], "bounds": {"income": (0, 1)}},
    "missing bounds": {"columns": ["c"], "bounds": {}},
    "bad columns": {"columns": "c", "bounds": {"c": (0, 1)}},
    "bad epsilon": {"columns": ["c"], "bounds": {"c": (0, 1)}, "epsilon": 0.0},
    "missing ledger": {"columns": ["c"], "bounds": {"c": (0, 1)}, "ledger": "/nowhere/budget.db"},
}


@pytest.mark.parametrize("kind", estimators.__all__)
def test_refused_profile_holds_no_rows(kind: str, fitted: dict[str, Any]) -> None:
    for given in PROFILES.values():
        table = ROWS.assign(c=0.5)
        words = {"epsilon": 0.5, **given}
        assert_withheld(lambda: fitted[kind].profile(table, **words), table)  # noqa: B023


def test_opening_a_table_holds_no_rows() -> None:
    table = ROWS.copy()
    assert_withheld(lambda: open_table(DPLloyd(1, delta=1e-6), table), table)
    domain = ProfileDomain(Box([0], [1]), ("nothing",), (CategoryColumn("ward", ("A", "B")),))
    assert_withheld(lambda: open_profiled(DPLloyd(1), table, domain, "typed"), table)


@pytest.mark.attack
def test_refusal_beside_estimators_holds_no_rows(tmp_path: Path) -> None:
    for table in (ROWS.copy(), ROWS.astype(pd.SparseDtype(float))):
        client = Client(table)
        assert_withheld(lambda: client.check(([0], [1])), table)  # noqa: B023
        assert_withheld(lambda: client.check({"c": (0, 1)}), table)  # noqa: B023
        assert_withheld(lambda: compose(table), table)  # noqa: B023
        assert_withheld(lambda: save(table, tmp_path / "m.json"), table)  # noqa: B023
        assert_withheld(lambda: save_profile(table, tmp_path / "p.json"), table)  # noqa: B023
        others = {"a": table, "b": ROWS[["a"]]}
        assert_withheld(lambda: Federation.in_process(others), table)  # noqa: B023
    rows = ["rows.csv"]
    assert_withheld(lambda: Client(rows), rows)
    odd = [1.0, 2.0]
    assert_withheld(lambda: Client(odd).schema, odd)


def test_refused_simulation_holds_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.zeros((40, 2))
    monkeypatch.setattr("privclust.planning.simulate._public_rows", lambda path: rows)
    work = lambda: simulate(40, 2, 80, delta=1e-6, public="rows.csv")  # noqa: E731
    assert_withheld(work, rows)


class Breaking(pd.DataFrame):  # type: ignore[misc]
    """A table that can be asked for its types, and not for its rows."""

    @property
    def iloc(self) -> Any:
        raise KeyError(*self["a"])


def test_library_that_fails_beside_rows_holds_none(fitted: dict[str, Any]) -> None:
    table = Breaking(ROWS)
    assert_withheld(lambda: fitted["DPLloyd"].predict(table), table, (TypeError, EngineError))


def test_interrupt_holds_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("privclust.estimators._input.unit_of", interrupt)
    table = ROWS.copy()
    assert_withheld(lambda: made("DPLloyd").fit(table), table, (KeyboardInterrupt,))


def test_errors_of_the_caller_keep_their_frames() -> None:
    table = ROWS.copy()

    def calling() -> None:
        mine = "a local of the caller"
        try:
            int(mine)
        except ValueError:
            made("DPLloyd", bounds=None).fit(table)

    with pytest.raises(ValueError, match="bounds are missing") as caught:
        calling()
    before = caught.value.__context__
    assert before is not None
    assert [frame.f_locals.get("mine") for frame in frames(before.__traceback__)] == [
        "a local of the caller"
    ]


def test_lines_of_a_traceback_stay() -> None:
    with pytest.raises(ValueError, match="bounds are missing") as caught:
        made("DPLloyd", bounds=None).fit(ROWS)
    assert "_check_extent" in [entry.name for entry in caught.traceback]


def test_warning_points_to_the_caller() -> None:
    with pytest.warns(UserWarning, match="more than one over") as warned:
        made("DPLloyd", delta=0.5).fit(ROWS)
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "visits.parquet", "--bounds", "visits.toml", "--delta", 2, "--out", "m.json"),
        ("fit", "visits.parquet", "--bounds", "missing.toml", "--delta", 1e-6, "--out", "m.json"),
        ("predict", "missing.json", "visits.csv", "-o", "labels.parquet"),
    ],
)
def test_command_that_refuses_shows_no_frame(
    words: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lay_out(tmp_path))
    result = privclust(*words)
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    assert sys.exception() is None
