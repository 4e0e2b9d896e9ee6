"""Domains: public bounds, and a rule for strange values that looks at one cell alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privclust
from privclust.domains import base
from privclust.domains._category_column import CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.ball import Ball
from privclust.domains.base import Domain, domain_from_dict
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.domains.sphere import Sphere
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import GRID, FloatArray

BOX = Box([0.0, -10.0, 5.0], [120.0, 30.0, 5.5])
BALL = Ball([10.0, -4.0, 0.5], 5.0)
DOMAINS: list[Domain] = [BOX, BALL]
MIXED = Mixed((NumberColumn("age", 1, 120, transform="log"), CategoryColumn("ward", ("A", "B"))))
TABLES: list[tuple[Domain, tuple[str, ...]]] = [
    (BOX, ("a", "b", "c")),
    (BALL, ("a", "b", "c")),
    (Sphere(3), ("a", "b", "c")),
    (Sphere(3, "words"), ("words",)),
    (MIXED, ("age", "ward")),
]


def mapped(domain: Domain, rows: NDArray[Any]) -> FloatArray:
    """Rows on the unit ball."""
    with np.errstate(all="ignore"):
        return domain.to_grid(rows) / GRID


def inside(domain: Domain, n_rows: int) -> FloatArray:
    """Rows in the user's units that no clip should touch."""
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (n_rows, domain.center.size))
    return domain.from_ball(points)


@pytest.mark.parametrize("domain", DOMAINS)
def test_rows_go_there_and_back(domain: Domain) -> None:
    rows = inside(domain, 100)
    gap = np.abs(domain.from_ball(mapped(domain, rows)) - rows)
    # Truncation loses less than one grid unit.
    assert (gap <= domain.scales * 1.001 / GRID).all()


@pytest.mark.attack
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_missing_becomes_the_centre_of_its_column(domain: Domain, column: int) -> None:
    rows = inside(domain, 5)
    expected = rows.copy()
    expected[:, column] = domain.center[column]
    rows[:, column] = np.nan
    assert np.array_equal(mapped(domain, rows), mapped(domain, expected))


@pytest.mark.attack
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_out_of_range_becomes_the_bound(domain: Domain, column: int, sign: int) -> None:
    bound = domain.center.copy()
    bound[column] += sign * domain.half_widths[column]
    rows = np.tile(domain.center, (4, 1))
    beyond = [np.inf, 1e308, 1e200, 2 * np.abs(bound[column]) + domain.half_widths[column]]
    rows[:, column] = sign * np.array(beyond)
    assert np.array_equal(mapped(domain, rows), np.tile(mapped(domain, bound[None]), (4, 1)))


@pytest.mark.attack
def test_columns_are_clipped_before_the_norm() -> None:
    ball = Ball([0.0, 0.0], 1.0)
    # Clipping the norm alone would leave the second coordinate with next to nothing.
    unit = mapped(ball, np.array([[1e300, 1.0], [np.inf, -1.0], [1e6, 0.5]]))
    half = 0.5**0.5
    assert unit[:2] == pytest.approx(np.array([[half, half], [half, -half]]), abs=1e-7)
    assert unit[2] == pytest.approx(np.array([1.0, 0.5]) / 1.25**0.5, abs=1e-7)


@pytest.mark.attack
def test_a_row_of_strange_cells_lies_on_the_grid_of_the_ball() -> None:
    cells = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, -0.0, 0.0]
    rows = np.array(np.meshgrid(cells, cells, cells)).reshape(3, -1).T
    for domain in (*DOMAINS, Box([-1e150] * 3, [1e150] * 3), Ball([0.0] * 3, 1e-150)):
        with np.errstate(all="ignore"):
            whole = domain.to_grid(rows)
        assert np.array_equal(whole, np.trunc(whole))
        assert all(sum(int(cell) ** 2 for cell in row) <= GRID**2 for row in whole)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "longdouble", ">f8"]
)
def test_every_real_dtype_maps_like_float64(dtype: str) -> None:
    rows = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=dtype)
    assert np.array_equal(mapped(BOX, rows), mapped(BOX, rows.astype(np.float64)))


def test_numbers_larger_than_float64_become_the_bound() -> None:
    huge = np.array([["1e4000", "-1e4000", "5.25"]]).astype(np.longdouble)
    assert np.array_equal(mapped(BOX, huge), mapped(BOX, np.array([[120.0, -10.0, 5.25]])))


def test_integers_at_the_end_of_their_type_become_the_bound() -> None:
    ends = np.array([[np.iinfo(np.int64).max, np.iinfo(np.int64).min, 5]])
    assert np.array_equal(mapped(BOX, ends), mapped(BOX, np.array([[120.0, -10.0, 5.0]])))


def test_mapping_leaves_the_users_rows_alone() -> None:
    rows = np.array([[np.nan, np.inf, -np.inf]])
    mapped(BOX, rows)
    assert np.isnan(rows[0, 0])
    assert rows[0, 1:].tolist() == [np.inf, -np.inf]


def test_an_empty_table_stays_empty() -> None:
    assert mapped(BOX, np.empty((0, 3))).shape == (0, 3)


def test_a_constant_table_without_memory_of_its_own_is_mapped() -> None:
    rows = np.broadcast_to(np.nan, (10, 3))
    assert np.array_equal(mapped(BALL, rows), np.zeros((10, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e151])
def test_bounds_that_are_not_public_numbers_are_refused_by_name(bad: float) -> None:
    allowed = r"must be one finite number per column, at most 1e\+150"
    with pytest.raises(ValueError, match="upper bounds " + allowed):
        Box([0.0, 0.0], [1.0, bad])
    with pytest.raises(ValueError, match="lower bounds " + allowed):
        Box([bad, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="the middle of the ball " + allowed):
        Ball([0.0, bad], 1.0)


def test_bounds_without_columns_or_in_a_table_are_refused() -> None:
    for values in ([], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match="one finite number per column"):
            Ball(values, 1.0)


@pytest.mark.attack
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_masked_cells_are_missing_whatever_lies_under_the_mask(dtype: str) -> None:
    rows = np.ma.masked_array([[75, 20], [75, 20]], mask=[[True, False], [False, False]])
    found = Ball([0.0, 0.0], 100.0).to_grid(rows.astype(dtype)) / GRID
    np.testing.assert_allclose(found, [[0.0, 0.2], [0.75, 0.2]], atol=1e-6)


@pytest.mark.parametrize(("domain", "columns"), TABLES)
def test_every_domain_knows_its_table(domain: Domain, columns: tuple[str, ...]) -> None:
    assert domain.fits(columns)
    assert not domain.fits((*columns, "d"))
    assert not domain.fits(columns * 2)
    assert domain.n_features == len(columns)
    assert len(domain.coordinate_names(columns)) == domain.center.size
    assert len(domain.coordinate_uses) == domain.center.size
    assert domain.describe(columns)


@pytest.mark.parametrize(("domain", "columns"), TABLES)
def test_every_domain_comes_back_from_a_file(domain: Domain, columns: tuple[str, ...]) -> None:
    found = domain_from_dict(domain.to_dict())
    assert type(found) is type(domain)
    assert found.to_dict() == domain.to_dict()
    rows = inside(domain, 20)
    assert np.array_equal(found.to_grid(rows), domain.to_grid(rows))


@pytest.mark.parametrize(("domain", "columns"), TABLES)
def test_points_come_back_to_the_users_units(domain: Domain, columns: tuple[str, ...]) -> None:
    points = domain.to_units(np.random.default_rng(0).uniform(-0.5, 0.5, (20, domain.center.size)))
    np.testing.assert_allclose(domain.to_units(domain.to_ball(points)), points, rtol=1e-5)
    assert domain.slopes(points).shape == points.shape


@pytest.mark.attack
@pytest.mark.parametrize(
    "content",
    [{}, {"disc": {}}, {"box": {}, "ball": {}}, {"box": {"lower": [0], "upper": [1], "more": 1}}],
)
def test_file_of_an_unknown_domain_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        domain_from_dict(content)


def test_new_kind_of_domain_needs_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "DOMAINS", dict(base.DOMAINS))

    @dataclass(frozen=True)
    class Interval(Domain, kind="interval"):
        end: float

        @property
        def center(self) -> FloatArray:
            return np.zeros(1)

        @property
        def half_widths(self) -> FloatArray:
            return np.full(1, self.end)

        @property
        def scales(self) -> FloatArray:
            return self.half_widths

        def describe(self, columns: Sequence[str] | None) -> list[tuple[str, list[str]]]:
            return [("interval", [f"{-self.end:g}", f"{self.end:g}"])]

        def content(self) -> dict[str, Any]:
            return {"end": self.end}

        @classmethod
        def from_content(cls, content: Any) -> Interval:
            return cls(**content)

    assert domain_from_dict(Interval(2.0).to_dict()) == Interval(2.0)
    assert NumpyEngine(np.zeros((5, 1)), Interval(2.0)).n_columns == 1


def test_two_domains_of_one_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="'box'"):
        type("Other", (Domain,), {}, kind="box")


def test_no_code_outside_domains_checks_the_type_of_a_domain() -> None:
    kinds = {kind.__name__ for kind in base.DOMAINS.values()} | {"Domain"}
    package = Path(privclust.__file__).parent
    checks = [
        f"{file.relative_to(package)}:{call.lineno}"
        for file in package.rglob("*.py")
        if file.parent.name != "domains"
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "isinstance"
        and kinds & {item.id for item in ast.walk(call) if isinstance(item, ast.Name)}
    ]
    assert checks == []
