"""Rows that raise when touched anywhere but inside an engine's `aggregate`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from helpers.samples import sample_beyond

from privclust import PEMeans, PrivateKMeans
from privclust.engines import memory as numpy_engine
from privclust.engines.exact_sums import ExactSums
from privclust.queries.base import Query
from privclust.testing import SeededNoise, noise_from


class Fence:
    """Opened by the engine's `aggregate` and by nothing else."""

    is_open = False


class PublicShape(tuple[int, int]):
    """A shape whose number of columns is public and whose number of rows is not."""

    def __getitem__(self, item: Any) -> Any:
        if item != 1 and not Fence.is_open:
            raise AssertionError("the number of rows was read outside aggregate")
        return super().__getitem__(item)


class FencedRows(np.ndarray[Any, Any]):
    """Rows behind the fence; their dtype, dimension and columns are public."""

    @classmethod
    def around(cls, rows: np.ndarray[Any, Any]) -> Self:
        return rows.view(cls)

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        return PublicShape(self._plain().shape)

    def _plain(self) -> np.ndarray[Any, Any]:
        return super().view(np.ndarray)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        raise AssertionError("rows were computed with outside aggregate")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise AssertionError("rows were computed with outside aggregate")

    def __getitem__(self, item: Any) -> Any:
        if not Fence.is_open:
            raise AssertionError("rows were read outside aggregate")
        return self._plain()[item]

    def __len__(self) -> int:
        if not Fence.is_open:
            raise AssertionError("the number of rows was read outside aggregate")
        return len(self._plain())

    def __iter__(self) -> Any:
        raise AssertionError("rows were iterated over")

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("rows were converted outside aggregate")


@pytest.fixture
def fence(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let `aggregate` through the fence, and list the queries it got."""
    queries: list[str] = []
    aggregate = numpy_engine.NumpyEngine.aggregate

    def through_the_fence(engine: numpy_engine.NumpyEngine, query: Query) -> ExactSums:
        queries.append(type(query).__name__)
        Fence.is_open = True
        try:
            return aggregate(engine, query)
        finally:
            Fence.is_open = False

    monkeypatch.setattr(numpy_engine.NumpyEngine, "aggregate", through_the_fence)
    return queries


def test_the_fence_works() -> None:
    rows = FencedRows.around(np.zeros((3, 2)))
    assert rows.shape[1] == 2
    for touch in (lambda: rows.shape[0], lambda: rows[0], lambda: rows + 1, lambda: len(rows)):
        with pytest.raises(AssertionError, match="outside aggregate"):
            touch()


def test_a_fit_touches_rows_only_through_the_engine(fence: list[str]) -> None:
    rows = FencedRows.around(np.random.default_rng(0).normal(size=(400, 3)))
    with noise_from(SeededNoise(0)):
        model = PEMeans(2, delta=1e-6, radius=4.0, random_state=0).fit(rows)
    assert fence == ["Count"] + ["NearestVotes"] * 6
    assert model.cluster_centers_.shape == (2, 3)


def test_a_fit_with_a_sample_touches_rows_only_through_the_engine(
    fence: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_beyond(monkeypatch, 500)
    rows = FencedRows.around(np.random.default_rng(0).normal(size=(4000, 3)))
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, epsilon=4.0, delta=1e-6, radius=4.0, random_state=0).fit(rows)
    assert [release.query for release in model.releases_] == fence
    assert max(release.sampling_exponent for release in model.releases_) > 0
