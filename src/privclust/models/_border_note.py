"""What a fit says of borders that another fit of the same rows would draw otherwise."""

from __future__ import annotations

import math

import numpy as np

from privclust.domains.reader import Use
from privclust.models._fit_notes import NAMED
from privclust.models._soft_borders import STEADY, soft_borders
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import two_digits


def border_note(model: ClusterModel) -> str | None:
    """Return how far centres and sizes of another fit would differ; None if hardly, or unknown.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rows = np.random.default_rng(0).uniform(size=(9000, 2))
    >>> print(border_note(PrivateKMeans(3, delta=1e-6, bounds=(0, 1)).fit(rows).model_))
    Another fit of these rows may draw other borders (stability ...): centres then lie ...
    """
    if model.fit_warning is not None:
        return None  # it says worse
    borders = soft_borders(model)
    if borders is None or borders.stability >= STEADY:
        return None
    sizes = np.maximum(model.cluster_sizes, 1.0)
    apart = np.sqrt(np.average(borders.centers**2, axis=0, weights=sizes))
    relative = apart / (model.domain.slopes(model.cluster_centers) * model.domain.scales).mean(0)
    places = np.argsort(-relative)[:NAMED].tolist()
    named = [
        f"{_amount(model.domain.coordinate_uses[place], apart[place])} in "
        f"{model.coordinate_names[place]!r}"
        for place in places
        if apart[place] > 0
    ]
    stability = math.floor(100 * borders.stability) / 100
    size = math.sqrt(float(np.average(borders.sizes**2)))
    return (
        f"Another fit of these rows may draw other borders (stability {stability:.2f}): centres "
        f"then lie elsewhere by about {', '.join(named)}, and sizes differ by about "
        f"{two_digits(size)}. ± leaves that out."
    )


def _amount(use: Use, value: float) -> str:
    if use == "category":
        return f"{two_digits(100 * value)} %"
    return f"{two_digits(value)} days" if use == "date" else two_digits(value)
