"""One page about a model, for whoever has to approve it or to use it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from privclust.domains.bounds import UNSTATED
from privclust.models import _statement_text
from privclust.models._canvas import plain_texts
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of
from privclust.models.compose import compose
from privclust.models.composition import describe_run
from privclust.models.cost_limits import current_limits
from privclust.models.formatting import percent_up, rounded_down, rounded_up
from privclust.models.k_path import KPath, k_path_of, max_clusters_of, path_cost
from privclust.models.profile import Profile
from privclust.models.report import _pictures as pictures
from privclust.models.report._cluster_table import SHOWN_COLUMNS, ClusterTable
from privclust.models.report._map import draw_map
from privclust.models.report._profiles import shown_profiles


@plain_texts()
def to_html(
    model: ClusterModel | FittedEstimator,
    profiles: Sequence[Profile] = (),
    min_size: float | None = None,
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

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> to_html(model).startswith("<!DOCTYPE html>")
    True
    """
    model = model_of(model)
    statement = model.privacy_statement
    composed = compose(model, *profiles)
    statements = [statement, *(profile.privacy_statement for profile in profiles)]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"up": rounded_up, "down": rounded_down, "percent": percent_up}
    template = environment.from_string(
        files("privclust.models.report").joinpath("report.html.j2").read_text(encoding="utf-8")
    )
    table = ClusterTable.of(model, SHOWN_COLUMNS, min_size)
    path = _affordable_path(model)
    drawn = {
        "sizes": pictures.draw_sizes(table, statement.counted_as),
        "heat": pictures.draw_heat_map(table),
        "map": draw_map(model, table.hidden),
        "k_path": None if path is None else pictures.draw_k_path(path, len(table.sizes)),
        "budget": pictures.draw_shares(statement),
    }
    page: str = template.render(
        profiles=shown_profiles(model, profiles, table.hidden),
        embedded=_embedded,
        title=f"{len(table.sizes)} clusters, by {model.estimator}",
        statement=statement,
        composed=composed,
        factor=_statement_text.factor(composed.epsilon),
        n_rows_note=_statement_text.n_rows(statement)
        if len(composed.runs) == 1
        else composed.n_rows,
        unstated=[one for one in statements if one.bounds_origin == UNSTATED],
        not_covered=list(
            dict.fromkeys(
                item
                for items in (*(one.not_covered for one in statements), composed.not_covered)
                for item in items
            )
        ),
        unrecorded=any(run.record is None for run in composed.runs),
        releases=[(one, line) for one in statements for line in one.releases],
        describe_run=describe_run,
        roles=_statement_text.ROLES,
        estimator=model.estimator,
        table=table,
        quality=model.quality_sentences,
        warning=model.fit_warning,
        path=path,
        n_rows=f"{model.n_rows:,}",
        too_large=composed.delta * model.n_rows > 1,
        bounds=model.domain.describe(model.feature_names_in),
        pictures={name: _embedded(png) for name, png in drawn.items() if png is not None},
    )
    return page


def _affordable_path(model: ClusterModel) -> KPath | None:
    """Return what other numbers of clusters would give; beyond the limits the page does without."""
    if model.coreset is None:
        return None
    n_points, n_columns = model.coreset.points.shape
    cost, allowed = path_cost(n_points, max_clusters_of(model), n_columns), current_limits()
    affordable = cost.seconds <= 60 * allowed.minutes and cost.memory <= allowed.memory
    return k_path_of(model) if affordable else None


def _embedded(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()
