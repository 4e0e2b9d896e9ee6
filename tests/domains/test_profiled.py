"""Rows of a profile: clustered coordinates as the model has them, and notes behind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from privclust.domains._category_column import CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.base import Domain, domain_from_dict
from privclust.domains.box import Box
from privclust.domains.profiled import ProfileDomain
from privclust.domains.sphere import Sphere
from privclust.kernels.grid import GRID
from privclust.sources._reading import on_grid

WARD, INCOME = CategoryColumn("ward", ("A", "B")), NumberColumn("income", 0, 1e5)
BOX = Box([0, 0], [120, 250])


def test_rows_are_those_of_the_model_and_their_notes() -> None:
    domain = ProfileDomain(BOX, ("age", "weight"), (WARD, INCOME))
    ages, weights = [40.0, None], [80.0, 70.0]
    cells = {"age": ages, "weight": weights, "ward": ["B", None], "income": [1e5, None]}
    rows = on_grid(domain, pa.record_batch(cells), domain.names)
    clustered = BOX.to_grid(np.array([ages, weights], dtype=float).T)
    assert np.array_equal(rows[:, :2], clustered)
    assert rows[:, 2:].tolist() == [[1, 9, GRID], [2, 10, 0]]


@pytest.mark.parametrize("base", [BOX, Sphere(2)])
def test_columns_are_read_in_their_order_alone(base: Domain) -> None:
    domain = ProfileDomain(base, ("age", "weight"), (WARD, INCOME))
    assert domain.fits(("age", "weight", "ward", "income"))
    assert not domain.fits(("weight", "age", "ward", "income"))
    assert not domain.fits(4)


def test_rows_without_names_and_model_files_have_no_profile() -> None:
    domain = ProfileDomain(BOX, ("age", "weight"), (WARD,))
    with pytest.raises(TypeError, match="by name"):
        domain.encode(np.zeros((3, 3)))
    with pytest.raises(TypeError, match="model files hold no"):
        domain.to_dict()
    with pytest.raises(ValueError, match="model files hold no"):
        domain_from_dict({"profile": {}})
