"""Figures of quality in words, and which of them cannot be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.cluster_models import made_up_model

from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.models.quality import NO_UNIT, Quality

GOOD = Quality(0.5, 0.0625, 0.001, 0.07, 0.03, 0.4, 0.1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cap": 0.0}, "caps above 0"),
        ({"cap": math.nan}, "finite numbers"),
        ({"loss": math.inf}, "finite numbers"),
        ({"far_share_stderr": math.inf}, "finite numbers"),
        ({"loss_stderr": -0.1}, "negative error"),
        ({"capped_loss_stderr": -0.1}, "negative error"),
        ({"far_share_stderr": -0.1}, "negative error"),
        ({"far_share": None}, "comes with its error"),
        ({"far_share_stderr": None}, "comes with its error"),
        ({"far_share": 1.1}, "between 0 and 1"),
        ({"far_share": -0.1}, "between 0 and 1"),
    ],
)
def test_figures_that_cannot_be_are_refused(changed: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(GOOD, **changed)


def test_loss_that_noise_hides_may_be_negative_and_is_reported_as_a_limit() -> None:
    hidden = replace(GOOD, loss=-0.1, loss_stderr=0.2)
    assert "Without the cap: below 0.4." in hidden.sentences()
    assert "Without the cap: below 0.05." in replace(GOOD, loss=0.01, loss_stderr=0.02).sentences()


def test_losses_are_in_squares_of_the_users_units() -> None:
    first, second, third = GOOD.sentences(scale=10.0)
    assert first.endswith("distances capped at 5: 6.25 ± 0.10.")
    assert second == "Without the cap: 7.0 ± 3.0."
    assert third == "Rows farther away than the cap have 40 ± 10 % of it or more."


def test_a_loss_that_noise_makes_less_than_with_a_cap_is_not_printed() -> None:
    less = replace(GOOD, loss=0.06, loss_stderr=0.01).sentences()
    assert "Without the cap it is no less, and noise hides by how much it is more." in less


def test_one_loss_is_reported_where_no_distance_is_beyond_the_cap() -> None:
    whole = Quality(1.2, 0.07, 0.01, 0.07, 0.01)
    assert whole.sentences(scale=1.0) == [
        "Mean squared distance of rows to their centre: 0.070 ± 0.010."
    ]


def test_figures_without_noise_have_no_errors() -> None:
    exact = GOOD.without_errors()
    assert (exact.capped_loss_stderr, exact.loss_stderr, exact.far_share_stderr) == (0, 0, 0)
    assert "Without the cap: 0.07." in exact.sentences()
    nothing_far = replace(GOOD, far_share=None, far_share_stderr=None)
    assert nothing_far.without_errors().far_share_stderr is None


def test_units_are_the_users_where_all_columns_have_one_scale() -> None:
    model = made_up_model(np.zeros((2, 2)), quality=GOOD)
    wide = replace(model, domain=Ball(np.zeros(2), 10.0))
    assert wide.quality_sentences == GOOD.sentences(scale=10.0)
    for box, scale in (
        (Box([0, 0], [120, 240]), None),
        (Box([0, 10], [30, 50]).unscaled(), 25.0),
        (Box([0, 10], [1, 11]), math.sqrt(0.5)),
    ):
        assert box.common_scale == (None if scale is None else pytest.approx(scale))
    other = replace(model, domain=Box([0, 0], [120, 240])).quality_sentences
    assert other[-1] == NO_UNIT


def test_model_that_measured_nothing_says_nothing() -> None:
    assert made_up_model(np.zeros((2, 2))).quality_sentences == []
