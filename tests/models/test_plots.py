"""Pictures on matplotlib's axes: maps the right way round, scales, errors, names as they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import privclust.models
from privclust import DPLloyd, Ledger, PrivateKMeans, track
from privclust.errors import ParameterError
from privclust.models._drawing import map_columns
from privclust.testing import SeededNoise, noise_from

PLACES = {"Lat": (40.0, 42.0), "Lon": (-75.0, -72.0)}


@pytest.fixture(autouse=True)
def no_windows() -> Iterator[None]:
    backend = mpl.get_backend()
    mpl.use("agg")
    yield
    pyplot.close("all")
    mpl.use(backend)


def fitted(bounds: dict[str, tuple[float, float]], kind: Any = PrivateKMeans, **given: Any) -> Any:
    rng = np.random.default_rng(0)
    columns = {
        name: rng.choice([low + (high - low) / 4, high - (high - low) / 4], 3000)
        for name, (low, high) in bounds.items()
    }
    with noise_from(SeededNoise(0)):
        return kind(2, delta=1e-6, bounds=bounds, random_state=0, **given).fit(pa.table(columns))


def texts(axes: Axes) -> str:
    labels = [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")]
    return " ".join([*labels, *(text.get_text() for text in axes.texts)])


@pytest.mark.parametrize("kind", [PrivateKMeans, DPLloyd])
def test_latitude_and_longitude_are_a_map(kind: Any) -> None:
    model = fitted({**PLACES, "fare": (0.0, 50.0)}, kind)
    axes = model.plot()
    assert isinstance(axes, Axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Lon", "Lat")
    middle = np.radians(model.cluster_centers_[:, 0].mean())
    assert axes.get_aspect() == pytest.approx(1 / np.cos(middle))
    crosses: Any = axes.collections[-1].get_offsets()
    np.testing.assert_allclose(crosses, model.cluster_centers_[:, [1, 0]])


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (("latitude", "longitude"), [1, 0]),
        (("x", "LNG", "lat"), [1, 2]),
        (("start lat", "start lon", "end_lat"), [1, 0]),
        (("a_lat", "a_lon", "b_lat", "b_lon"), None),
        (("plat", "salon"), None),
        (("a_lat", "b_lon"), None),
        (("lat",), None),
    ],
)
def test_columns_of_a_map_are_told_by_their_names(
    names: tuple[str, ...], places: list[int] | None
) -> None:
    assert map_columns(names) == places


def test_more_columns_are_a_heat_map_with_a_scale() -> None:
    axes = fitted({"$a$": (0.0, 1.0), "b": (0.0, 9.0), "c": (0.0, 5.0)}).plot()
    (image,) = axes.images
    assert image.colorbar is not None
    ticks = [label.get_text() for label in image.colorbar.ax.get_yticklabels()]
    assert ticks == ["far\nbelow", "mean of\nall rows", "far\nabove"]
    assert image.get_clim() == (-1, 1)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["$a$", "b", "c"]
    pyplot.gcf().savefig("/dev/null", format="png")


def test_names_of_columns_are_no_formulas() -> None:
    model = fitted({"in $, from $": (0.0, 1.0), "b": (0.0, 1.0)})
    places, _ = track([model.model_]).plot()
    for axes in (model.plot(), places):
        assert axes.get_xlabel() == "in $, from $"
        assert not axes.xaxis.label.get_parse_math()
    wide = fitted({"$a$": (0.0, 1.0), "b": (0.0, 9.0), "c": (0.0, 5.0)}).plot()
    assert not any(label.get_parse_math() for label in wide.get_yticklabels())


def test_path_of_k_has_errors_and_stability_and_recommends_nothing() -> None:
    path = fitted({"a": (0.0, 1.0), "b": (0.0, 1.0)}, max_clusters=5).k_path()
    axes = path.plot()
    assert isinstance(axes, Axes)
    (band,) = axes.collections
    reached = [choice.loss + 2 * choice.stderr for choice in path.choices]
    assert band.get_datalim(axes.transData).y1 == pytest.approx(max(reached))
    beside = next(other for other in pyplot.gcf().axes if other is not axes)
    assert beside.get_ylabel() == "stability"
    drawn: Any = beside.lines[0].get_ydata()
    assert list(drawn) == [choice.stability for choice in path.choices]
    assert not axes.texts


def test_titles_name_the_data_set(tmp_path: Any) -> None:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "clinic <b>", epsilon=4.0, delta=1e-6)
    model = fitted(PLACES, ledger=place, dataset="clinic <b>", max_clusters=4)
    for axes in (model.plot(), model.k_path().plot(), model.privacy_statement_.plot()):
        assert "clinic <b>: " in texts(axes)


def test_statement_shows_shares_of_the_budget() -> None:
    statement = fitted(PLACES).privacy_statement_
    axes = statement.plot()
    widths = [bar.get_width() for bar in axes.patches]
    assert sum(widths) == pytest.approx(sum(line.share for line in statement.releases))
    # The noise of these tests is no noise of OpenDP.
    assert "NOT PRIVATE" in texts(axes)


def test_axes_of_the_user_are_drawn_on() -> None:
    figure, axes = pyplot.subplots()
    assert fitted(PLACES).plot(axes) is axes
    assert pyplot.gcf() is figure


def test_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(privclust.models, "plots", raising=False)
    monkeypatch.setitem(sys.modules, "privclust.models.plots", None)
    with pytest.raises(ImportError, match=r"pip install \"\.\[report\]\""):
        fitted(PLACES).plot()


def test_two_columns_are_drawn_by_their_names() -> None:
    model = fitted({**PLACES, "fare": (0.0, 50.0)}).model_
    axes = model.plot(columns=("fare", "Lat"))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("fare", "Lat")
    assert axes.get_aspect() == "auto"  # no map of the earth
    crosses = np.asarray(axes.collections[-1].get_offsets())
    expected = model.cluster_centers[:, [2, 0]]
    np.testing.assert_allclose(np.sort(crosses, axis=0), np.sort(expected, axis=0))
    for columns in (("fare", "tip"), ("fare",), "fare", ("fare", "Lat", "Lon")):
        with pytest.raises(ParameterError, match="two of 'Lat', 'Lon', 'fare', got"):
            model.plot(columns=columns)


def test_a_profile_is_drawn_by_column() -> None:
    table = pa.table({"x": np.repeat([0.2, 0.8], 2000), "ward": ["A"] * 2000 + ["B"] * 2000})
    levels: dict[str, Any] = {
        "ward": {"type": "category", "levels": ["A", "B", "other"]},
        "x": (0.0, 1.0),
    }
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds={"x": (0.0, 1.0)}, random_state=0).fit(table)
        profile = model.profile(table, ["ward", "x"], bounds=levels, epsilon=1.0)
    axes = profile.plot()
    drawn = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(drawn, 100 * profile["ward"].shares.values)
    assert [label.get_text() for label in axes.get_xticklabels()] == list(profile["ward"].labels)
    assert profile.plot("x").get_title(loc="left") == "x"
    with pytest.raises(KeyError, match="no column 'y'"):
        profile.plot("y")
