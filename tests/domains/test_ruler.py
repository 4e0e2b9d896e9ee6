"""Marks of a logarithm: in order, however close the bounds."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.domains._log_scale import ruler


@pytest.mark.attack
@pytest.mark.parametrize("width", [1e-15, 1e-14, 1e-13, 1e-12])
@pytest.mark.parametrize("lower", [7e-5, 3.3, 1e8])
def test_marks_between_close_bounds_do_not_decrease(lower: float, width: float) -> None:
    """A search among marks that do would depend on the number searched for before."""
    marks, logs = ruler(lower, lower * (1 + width), 0.0)
    assert (np.diff(marks) >= 0).all()
    assert (np.diff(logs) >= 0).all()
