"""Rows and comparisons that try to break a query: a row alone and among others, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.engines import memory as numpy_engine
from privclust.engines import units
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.queries import Query

STRANGE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, 2e-308, -0.0, 0.0, 1.0, -1.0]
COLUMNS = [1, 3, 16, 65]


@dataclass(frozen=True)
class Example:
    """A query, and how many columns its rows have."""

    name: str
    n_columns: int
    query: Query

    @property
    def domain(self) -> Domain:
        return Ball(np.zeros(self.n_columns), 1.0)


def mirrored_points(n_columns: int, n_pairs: int, seed: int) -> FloatArray:
    """Points, their mirror images in the first column, and with columns reversed.

    Rows with a zero first, and rows that read the same backwards, are on exact bisectors.
    """
    rng = np.random.default_rng(seed)
    points = 0.5 * rng.normal(size=(n_pairs, n_columns)) / np.sqrt(n_columns)
    mirror = points * np.where(np.arange(n_columns) == 0, -1, 1)
    return np.vstack([points, mirror, points[:, ::-1], points[:1]])


def strange_rows(n_columns: int) -> FloatArray:
    """Each strange value alone, in every column, and mixed with the others."""
    index = np.arange(len(STRANGE))[:, None]
    mixed = (index + np.arange(n_columns)) % len(STRANGE)
    first_only = np.where(np.arange(n_columns) == 0, index, STRANGE.index(0.0))
    constant = np.broadcast_to(index, mixed.shape)
    rows: FloatArray = np.array(STRANGE)[np.vstack([mixed, first_only, constant])]
    return rows


def knife_edge_rows(n_columns: int, n_rows: int) -> FloatArray:
    """Long rows whose last clipped coordinate is within an ulp of the grid."""
    rng = np.random.default_rng(5)
    shape = (n_rows, n_columns)
    rows: FloatArray = rng.uniform(0.75, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    goal = rng.integers(2**21, 2**22, n_rows) / 2**25
    for _ in range(100):
        rows[:, -1] = goal * np.sqrt((rows**2).sum(axis=1)) / (1 - 2.0**-40)
    rows[:, -1] += rng.integers(-2, 3, n_rows) * np.spacing(rows[:, -1])
    return rows


def edge_case_rows(n_columns: int) -> FloatArray:
    """Rows on bisectors, on knife edges, strange ones and ordinary ones: about 300."""
    rng = np.random.default_rng(6)
    ordinary = rng.normal(size=(150, n_columns)) / np.sqrt(n_columns)
    ordinary[:40, 0] = 0.0
    ordinary[40:80] += ordinary[40:80, ::-1]
    edge = [knife_edge_rows(n_columns, 100)] if n_columns > 1 else []
    return np.vstack([ordinary, *edge, strange_rows(n_columns), np.zeros((2, n_columns))])


def contributions(example: Example, rows: FloatArray) -> list[bytes]:
    """What each row contributes, bit for bit."""
    with np.errstate(all="ignore"):
        found = example.query.contribute(example.domain.to_grid(rows))
    return [
        blocks.tobytes() + values.tobytes()
        for blocks, values in zip(found.blocks, found.values, strict=True)
    ]


def each_row_alone(example: Example, rows: FloatArray) -> list[bytes]:
    return [contributions(example, row[None].copy())[0] for row in rows]


def totals(example: Example, rows: FloatArray, threads: int = 1) -> list[int]:
    return list(NumpyEngine(rows, example.domain, threads).aggregate(example.query))


def set_batch_rows(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows be read and summed so many at a time."""
    monkeypatch.setattr(numpy_engine, "GRID_BATCH_ROWS", n_rows)
    monkeypatch.setattr(units, "GRID_BATCH_ROWS", n_rows)


def every_second_row(rows: FloatArray) -> FloatArray:
    return np.repeat(rows, 2, axis=0)[::2]


def every_second_column(rows: FloatArray) -> FloatArray:
    return np.repeat(rows, 2, axis=1)[:, ::2]


def negative_strides(rows: FloatArray) -> FloatArray:
    return rows[::-1, ::-1].copy()[::-1, ::-1]


ARRANGEMENTS: list[Callable[[FloatArray], FloatArray]] = [
    np.ascontiguousarray,
    np.asfortranarray,
    negative_strides,
    every_second_row,
    every_second_column,
]


def assert_one_row_moves_no_more_than_declared(
    query: Query, without: Sequence[int], with_row: Sequence[int]
) -> None:
    moves = [after - before for before, after in zip(without, with_row, strict=True)]
    bounds = query.sensitivity
    assert sum(abs(move) for move in moves) <= bounds.l1
    assert sum(move * move for move in moves) <= bounds.l2_squared
    assert max(abs(move) for move in moves) <= bounds.linf
    assert sum(move != 0 for move in moves) <= bounds.l0
    assert not bounds.monotone or min(moves) >= 0


def assert_no_row_added_moves_too_much(
    example: Example, table: FloatArray, extra: FloatArray
) -> None:
    without = totals(example, table)
    for row in extra:
        with_row = totals(example, np.vstack([row, table]))
        assert_one_row_moves_no_more_than_declared(example.query, without, with_row)
