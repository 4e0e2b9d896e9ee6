"""The report's pictures show all that was released, on one scale, in names that fit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.models.report import _pictures
from privclust.models.report._range_names import drawn_labels


def panels(
    monkeypatch: pytest.MonkeyPatch, count: int, draw: Callable[[Axes, int], None]
) -> list[Axes]:
    figures: list[Figure] = []
    with monkeypatch.context() as patched:
        patched.setattr(_pictures, "png", figures.append)
        _pictures.draw_panels(count, draw, 1.0, "% of rows")
    return figures[0].axes


def test_no_bar_of_a_later_panel_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = [10.0, 90.0, 40.0]

    def draw(axes: Axes, panel: int) -> None:
        axes.barh([0], [shares[panel]], xerr=[[1.0], [1.0]])

    limits = {axes.get_xlim() for axes in panels(monkeypatch, 3, draw)}

    assert len(limits) == 1
    low, high = limits.pop()
    assert low == 0
    assert high >= 91


def test_every_column_of_panels_has_numbers_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(axes: Axes, panel: int) -> None:
        axes.barh([0], [50.0])

    drawn = panels(monkeypatch, 5, draw)[:5]

    numbered = [axes.xaxis.get_tick_params()["labelbottom"] for axes in drawn]
    assert numbered == [False, True, True, True, True]


def test_ranges_are_drawn_in_few_digits_and_with_both_ends() -> None:
    stay = NumberColumn("stay_days", 0, 365, transform="log1p")
    visit = DateColumn("visit", date(2020, 1, 1), date(2024, 12, 31))

    assert drawn_labels(stay, stay.labels)[:2] == ["0 to 0.804", "0.804 to 2.26"]
    assert drawn_labels(stay, stay.labels)[-1] == "missing"
    assert drawn_labels(visit, visit.labels) == list(visit.labels)


def test_ranges_that_few_digits_do_not_tell_apart_are_drawn_with_all() -> None:
    close = NumberColumn("x", 100000.0, 100000.5)

    assert drawn_labels(close, close.labels) == list(close.labels)


def test_long_names_of_levels_are_cut() -> None:
    ward = CategoryColumn("ward", ("a" * 30, "b"))

    assert drawn_labels(ward, ward.labels) == ["a" * 17 + "…", "b", "missing"]
