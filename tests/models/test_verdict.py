"""A verdict in a word, with a reason that is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.cluster_models import made_up_model
from helpers.fitted_models import four_clusters

from privclust.models._fit_notes import explained_share
from privclust.models.quality import Quality
from privclust.models.verdict import FAIR, GOOD, verdict

CENTERS = np.array([[-0.3, 0.0], [0.3, 0.0]])
"""Their variance is .09 with sizes that are equal."""


@pytest.mark.parametrize(
    ("loss", "error", "word"),
    [
        (0.03, 0.0, "good"),
        (0.08, 0.0, "good"),
        (0.08, 0.02, "fair"),
        (0.2, 0.0, "fair"),
        (0.4, 0.0, "poor"),
        (0.1, 0.5, "poor"),
    ],
)
def test_a_word_is_by_what_clusters_explain_at_least(loss: float, error: float, word: str) -> None:
    model = made_up_model(CENTERS, quality=Quality(1.0, loss, error, loss, error))
    share = explained_share(model)
    assert share is not None
    assert verdict(model).startswith(f"Quality: {word}. ")
    assert word == ("good" if share >= GOOD else "fair" if share >= FAIR else "poor")


def test_a_warning_is_poor_and_a_hidden_cluster_fair_whatever_is_explained() -> None:
    model = four_clusters().model_
    assert verdict(model).startswith("Quality: good. ")
    assert verdict(replace(model, fit_warning="few rows")).startswith("Quality: poor. The fit war")
    sizes = model.cluster_sizes.copy()
    sizes[-1] = 1.0
    assert "as large as 1 of the clusters" in verdict(replace(model, cluster_sizes=sizes))


def test_what_was_not_measured_is_not_judged() -> None:
    assert verdict(made_up_model(CENTERS)) == "Quality: not measured for these clusters."
    refit = four_clusters().refit(2).model_
    assert verdict(refit) == "Quality: not measured for these clusters."
    one = made_up_model(CENTERS[:1], quality=Quality(1.0, 0.1, 0.1, 0.1, 0.1))
    assert verdict(one).startswith("Quality: not judged")
