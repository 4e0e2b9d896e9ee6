"""A verdict in a word, with a reason that is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.cluster_models import made_up_model
from helpers.fitted_models import fit_of, four_clusters, table

from privclust import PrivateKMeans
from privclust.models import stability as stabilities
from privclust.models._fit_notes import explained_share
from privclust.models.quality import Quality
from privclust.models.stability import stability_of
from privclust.models.verdict import FAIR, GOOD, POOR_RECOVERY, verdict
from privclust.testing import SeededNoise, noise_from

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


@pytest.mark.parametrize(("spread", "word"), [(0.5, "good"), (11.0, "fair")])
def test_a_column_at_its_middle_is_named_with_what_clusters_are_if_it_was_read(
    spread: float, word: str
) -> None:
    """Days over the whole of their bounds made every fit fair, and nobody knew which column."""
    rng = np.random.default_rng(0)
    age = rng.normal(np.repeat([30.0, 50.0], 1000), spread)
    table = pd.DataFrame({"age": age, "visits": np.tile([4.9, 5.1], 1000)})
    bounds = {"age": (0, 120), "visits": (0, 10)}
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=bounds, random_state=0).fit(table).model_
    assert verdict(model) == (
        "Quality: in doubt. Perhaps no cell of 'visits' was read, see below; if cells were, "
        f"clusters are {word}."
    )


@pytest.mark.parametrize(("upper", "doubt"), [(120, False), (45, True)])
def test_bounds_that_cut_rows_are_said_beside_what_clusters_explain(
    upper: float, doubt: bool
) -> None:
    """Too narrow bounds make clusters look good: what they cut off is not in the variance."""
    rows = np.repeat([[20.0], [80.0]], 2000, axis=0)
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=(0, upper), random_state=0).fit(rows).model_
    said = verdict(model)
    assert said.startswith("Quality: good. ")
    assert ("That is the variance of rows as bounds cut them, and some cen" in said) is doubt


def test_both_reasons_are_given() -> None:
    """Of one Gaussian clusters explain less than half, and noise draws their borders."""
    rows = np.random.default_rng(0).normal(50, 12, (20_000, 4))
    said = verdict(fit_of(rows, 5, bounds=(0, 100)).model_)
    assert said.startswith("Quality: fair. Clusters explain at least 20 % ")
    assert "Besides, another fit may draw other borders: stability is 0." in said


def test_clusters_that_another_fit_would_not_find_are_not_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twelve clusters of four groups explain nearly all, and noise draws most of their borders."""
    model = fit_of(table(), 12).model_
    share, found = explained_share(model), stability_of(model, 12)
    assert share is not None
    assert share >= GOOD
    assert found < POOR_RECOVERY
    said = verdict(model)
    assert said.startswith("Quality: fair. Clusters explain half of the variance of rows or more, ")
    assert f"stability is {int(100 * found) / 100:.2f}, and below 0.65 it is poor" in said
    assert verdict(replace(model, coreset=None)).startswith("Quality: good. ")
    monkeypatch.setattr(stabilities, "stability_seconds", lambda *_: 2.0)
    assert verdict(replace(model)).startswith("Quality: good. "), "it would take long"


def test_what_was_not_measured_is_not_judged() -> None:
    assert verdict(made_up_model(CENTERS)) == "Quality: not measured for these clusters."
    refit = four_clusters().refit(2).model_
    assert verdict(refit) == "Quality: not measured for these clusters."
    one = made_up_model(CENTERS[:1], quality=Quality(1.0, 0.1, 0.1, 0.1, 0.1))
    assert verdict(one).startswith("Quality: not judged")
