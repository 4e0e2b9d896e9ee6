"""One page about a model, for whoever has to approve it or to use it."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from privclust.models._canvas import plain_texts
from privclust.models._cluster_table import SHOWN_COLUMNS, ClusterTable
from privclust.models._refit_points import have_rows, refit_cells
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of
from privclust.models.cost_limits import current_limits
from privclust.models.k_path import KPath, k_path_of, max_clusters_of, path_cost
from privclust.models.profile import Profile
from privclust.models.report import _pictures as pictures
from privclust.models.report._map import draw_map
from privclust.models.report._profiles import shown_profiles
from privclust.models.report._release_context import release_context
from privclust.models.report._templates import PageHeading, Picture, render

__all__ = ["PageHeading", "to_html"]


@plain_texts()
def to_html(
    model: ClusterModel | FittedEstimator,
    profiles: Sequence[Profile] = (),
    min_size: float | None = None,
    heading: PageHeading | None = None,
) -> str:
    """Return a self-contained page: no script, no font, no picture from elsewhere.

    Parameters
    ----------
    model : fitted estimator or ClusterModel
        What the page is about.
    profiles : sequence of Profile, optional
        Profiles of the model that the page should show, too.
    min_size : float, optional
        A cluster that seems to have fewer rows is listed without its centre; by default three
        standard errors of its size.
    heading : PageHeading, optional
        Data set, date and hashes; by default the data set's name in the ledger alone.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> to_html(model).startswith("<!DOCTYPE html>")
    True
    """
    model = model_of(model)
    table = ClusterTable.of(model, SHOWN_COLUMNS, min_size)
    context = release_context(model, profiles, table)
    if heading is None:
        record = model.privacy_statement.record
        heading = PageHeading(None if record is None else record.dataset)
    path = _affordable_path(model)
    drawn = {
        "sizes": pictures.draw_sizes(table, model.privacy_statement.counted_as),
        "heat": pictures.draw_heat_map(table),
        "map": draw_map(model, table.hidden),
        "k_path": None if path is None else pictures.draw_k_path(path, len(table.sizes)),
        "budget": pictures.draw_shares(model.privacy_statement),
    }
    return render(
        "report.html.j2",
        **context,
        kind="report",
        ledger_checked=False,
        title=_title(model, heading),
        heading=heading,
        profiles=shown_profiles(model, profiles, table.hidden),
        embedded=_embedded,
        estimator=model.estimator,
        path=path,
        other=4 if len(table.sizes) == 5 else 5,
        bounds=model.domain.describe(model.feature_names_in),
        pictures={name: _embedded(png) for name, png in drawn.items() if png is not None},
    )


def _title(model: ClusterModel, heading: PageHeading) -> str:
    found = f"{len(model.cluster_sizes)} clusters, by {model.estimator}"
    return found if heading.dataset is None else f"{heading.dataset}: {found}"


def _affordable_path(model: ClusterModel) -> KPath | None:
    """Return what other numbers of clusters would give; beyond the limits the page does without.

    So it does where noise hides all rows.
    """
    if model.coreset is None or not have_rows(refit_cells(model)):
        return None
    n_points, n_columns = model.coreset.points.shape
    cost, allowed = path_cost(n_points, max_clusters_of(model), n_columns), current_limits()
    affordable = cost.seconds <= 60 * allowed.minutes and cost.memory <= allowed.memory
    return k_path_of(model) if affordable else None


def _embedded(png: bytes) -> Picture:
    return Picture("data:image/png;base64," + base64.b64encode(png).decode())
