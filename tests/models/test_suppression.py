"""Clusters too small to speak of have no centre in a report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.cluster_models import made_up_model
from helpers.fitted_models import four_clusters

from privclust.errors import ParameterError
from privclust.models._cluster_table import ClusterTable
from privclust.models.report import to_html
from privclust.models.suppression import min_sizes, reported


def test_the_default_is_three_standard_errors() -> None:
    model = four_clusters().model_
    np.testing.assert_array_equal(min_sizes(model), 3 * model.size_stderr)
    assert reported(model).tolist() == (model.cluster_sizes >= 3 * model.size_stderr).tolist()


def test_without_standard_errors_all_clusters_are_reported_by_default() -> None:
    model = made_up_model([[0.0], [0.5]], [5.0, 0.0])
    assert reported(model).all()
    assert reported(model, 1).tolist() == [True, False]


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "50", True])
def test_what_is_no_number_of_rows_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="min_size must be a number of rows"):
        reported(four_clusters().model_, value)


def test_a_report_has_neither_centre_nor_size_of_a_small_cluster() -> None:
    model = four_clusters().model_
    least = float(np.sort(model.cluster_sizes)[1])
    smallest = int(model.cluster_sizes.argmin())
    rows = ClusterTable.of(model, 12, min_size=least).rows()
    assert rows[smallest] == (f"below {least:,.0f}", ["not reported", "not reported"])
    assert sum(cells[0] == "not reported" for _, cells in rows) == 1
    text = to_html(model, min_size=least)
    assert "nearer ones. Not reported: 1 cluster that seems to have too few rows" in text


def test_a_page_without_any_cluster_can_still_be_made() -> None:
    text = to_html(four_clusters(), min_size=1e9)
    assert text.count("not reported") >= 8
    assert "nan" not in text.lower().split()
