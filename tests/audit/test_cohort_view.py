"""What a coordinator and its colluders find out: what the statement says, and with a bug more."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cohort_view import Setting, planted, scores

from privclust.audit.canaries import DELTA
from privclust.privacy.accounting import mu_of

EPSILON = 4.0
MU = mu_of(EPSILON, DELTA)


def found(
    setting: Setting, attacker: str, fits: int, bug: str | None = None
) -> tuple[float, float]:
    """Return the mu that an attacker's scores show, and its standard error.

    Scores of the best attack on Gaussian noise are Gaussian, mu standard deviations apart. Noise is
    seeded: it comes out the same each time.
    """
    with planted(bug):
        absent, present = (
            scores("votes", setting, side, range(fits), seeded=True)[attacker]
            for side in (False, True)
        )
    spread = np.sqrt((absent.var(ddof=1) + present.var(ddof=1)) / 2)
    mu = float((present.mean() - absent.mean()) / spread)
    return mu, float(np.sqrt(2 / fits + mu**2 / (4 * fits)))


def test_coordinator_and_colluder_find_what_is_stated_and_no_more() -> None:
    """Five standard errors: false alarm below 1e-6 with other seeds."""
    mu, error = found(Setting(3, 1, EPSILON), "sums", 30)
    assert abs(mu - MU) < 5 * error
    assert error < MU / 4  # it would notice twice the mu


@pytest.mark.long
@pytest.mark.parametrize("setting", [Setting(5, 4, EPSILON), Setting(5, 1, EPSILON)])
def test_no_number_of_colluders_finds_more(setting: Setting) -> None:
    mu, error = found(setting, "sums", 60)
    assert abs(mu - MU) < 5 * error


@pytest.mark.long
def test_replies_of_one_node_say_nothing_beside_their_sum() -> None:
    mu, error = found(Setting(5, 1, EPSILON), "repeated masks", 60)
    assert abs(mu) < 5 * error


@pytest.mark.long
@pytest.mark.parametrize(
    ("bug", "setting", "attacker"),
    [
        ("one mask for all requests", Setting(5, 1, EPSILON), "repeated masks"),
        ("shares of sigma/sqrt(n)", Setting(5, 4, EPSILON), "sums"),
    ],
)
def test_bugs_are_found(bug: str, setting: Setting, attacker: str) -> None:
    mu, error = found(setting, attacker, 60, bug)
    assert mu > MU + 3 * error
