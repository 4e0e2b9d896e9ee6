"""What DP-Lloyd, with either noise, and FastLloyd have in common."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.lloyd_forms import Form, every_form, fit, half_widths

from privclust.audit.replay import Transcript, replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, FloatArray
from privclust.privacy.accounting import Budget
from privclust.testing import SeededNoise, noise_from

STRANGE = (np.nan, np.inf, -1e308, 5e-324, -0.0)


def blobs(k: int, d: int, n: int = 4000) -> FloatArray:
    rng = np.random.default_rng(1)
    centers = rng.uniform(-0.5, 0.5, (k, d)) / math.sqrt(d)
    rows: FloatArray = centers[rng.integers(0, k, n)] + rng.normal(0.0, 0.02, (n, d))
    return rows


# What it costs -----------------------------------------------------------------------------------


@every_form
def test_a_typed_number_of_rows_saves_the_count_and_fixes_the_rounds(form: Form) -> None:
    typed, curator = fit(form, NumpyEngine(blobs(3, 2), Ball([0.0, 0.0], 1.0)), n_rows=4000)
    assert "count" not in [release.slot for release in curator.releases]
    assert typed.n_rows == 4000


@every_form
def test_rounds_follow_the_noisy_count_within_what_was_reserved(form: Form) -> None:
    budget = Budget(1.0, form.delta)
    few, many = (form.algorithm.rounds_for(n, 5, 3, budget) for n in (300, 300_000))
    assert (few, many) == (2, 7)
    for n, rounds in ((300, few), (300_000, many)):
        engine = NumpyEngine(np.zeros((n, 3)), Ball(np.zeros(3), 1.0))
        with noise_from(SeededNoise(0)):
            _, curator = fit(form, engine, k=5)
        assert len(curator.releases) == 1 + rounds
        assert curator.left == pytest.approx(0.0, abs=1e-12)


# What it finds -----------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("place", [{"radius": 1.0}, {"bounds": (-0.5, 0.5)}])
def test_with_hardly_any_noise_it_finds_what_it_finds_without(
    form: Form, place: dict[str, Any]
) -> None:
    """Epsilon 64 is the largest there is: more noise than the 10^4 that the target is set for."""
    rows = blobs(4, 3, 40_000)
    given = {"delta": form.delta, "random_state": 0, **place}
    with noise_from(SeededNoise(0)):
        noisy = form.estimator(4, epsilon=64.0, **given).fit(rows)
    exact = form.estimator(4, epsilon=math.inf, **given).fit(rows)

    def loss(model: Any) -> float:
        gaps = rows - model.cluster_centers_[model.predict(rows)]
        return float((gaps**2).sum(axis=1).mean())

    assert loss(noisy) == pytest.approx(loss(exact), rel=0.01)
    assert noisy.n_rows_ == pytest.approx(40_000, rel=0.01)
    np.testing.assert_allclose(noisy.cluster_sizes_.sum(), exact.cluster_sizes_.sum(), rtol=0.01)


@every_form
@pytest.mark.parametrize("size", [0, 1, 40])
def test_clusters_without_rows_stay_in_the_domain(form: Form, size: int) -> None:
    box = Box([-1.0, 0.0, 5.0], [1.0, 1e-3, 9.0], weights=[3.0, 1.0, 2.0])
    engine = NumpyEngine(np.full((size, 3), 0.5), box)
    with noise_from(SeededNoise(size)):
        found, _ = fit(form, engine, k=7, epsilon=0.1, domain=box)
    assert found.centers.shape == (7, 3)
    assert (np.abs(found.centers) <= half_widths(box) + 1e-12).all()
    assert (np.linalg.norm(found.centers, axis=1) <= 1 + 1e-12).all()
    assert (found.sizes >= 0).all()


@every_form
def test_rows_of_a_person_are_protected_together_and_files_are_read(
    form: Form, tmp_path: Path
) -> None:
    rows = blobs(2, 2)
    people = {"who": np.arange(len(rows)) // 2, "x": rows[:, 0], "y": rows[:, 1]}
    pq.write_table(pa.table(people), tmp_path / "rows.parquet")
    given = {"delta": form.delta, "bounds": {"x": (-1, 1), "y": (-1, 1)}, "random_state": 0}
    with noise_from(SeededNoise(0)):
        model = form.estimator(2, unit="who", max_rows_per_unit=2, **given)
        model.fit(str(tmp_path / "rows.parquet"))
    assert model.privacy_statement_.unit == "who"
    assert model.n_rows_ == pytest.approx(len(rows), rel=0.3)
    alone = form.estimator(2, n_rows=4000, **given).fit(pa.table(people).drop(["who"]))
    assert model.releases_[-1].sigma > alone.releases_[-1].sigma


# Attacks -----------------------------------------------------------------------------------------


@pytest.mark.attack
@every_form
@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("size", [0, 1, 300])
def test_neighbouring_tables_get_the_same_queries(form: Form, strange: float, size: int) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (size, 2))
    neighbour = np.vstack([rows, [[strange, 0.25]]])
    domain = Ball([0.0, 0.0], 1.0)
    findings = replay_on_neighbour(
        lambda engine: fit(form, engine),
        NumpyEngine(rows, domain),
        NumpyEngine(neighbour, domain),
        SeededNoise(1),
    )
    assert findings == []


@pytest.mark.attack
@every_form
def test_every_number_of_every_cluster_has_noise_of_its_own_also_without_rows(form: Form) -> None:
    """Published code skipped empty clusters, and drew sums and counts from one seed.

    False alarm: 2 rounds of 25 draws whose scale is above 2^28. Two are equal with probability
    9e-10 at most, one is zero with 2e-9: 6e-7.
    """
    _, curator = fit(form, NumpyEngine(np.empty((0, 4)), Ball(np.zeros(4), 1.0)), 5, n_rows=5)
    for release in curator.releases:
        assert len(set(release.result.tolist())) == release.result.size == 25
        assert 0 not in release.result


@pytest.mark.attack
@every_form
def test_bounds_far_from_zero_do_not_make_a_row_louder(form: Form) -> None:
    """Published code took the width of the bounds for the sensitivity of a sum of 10 to 11."""
    box = Box([10.0, 10.0], [11.0, 11.0])
    table, neighbour = np.full((5, 2), 10.5), np.vstack([np.full((5, 2), 10.5), [[11.0, 11.0]]])
    results = []
    for rows in (table, neighbour):
        transcript = Transcript(NumpyEngine(rows, box), SeededNoise(0))
        with noise_from(transcript):
            fit(form, transcript, k=1, n_rows=5, domain=box)
        results.append(transcript.measurements[0].exact)
    moved = [abs(after - before) / UNIT for before, after in zip(*results, strict=True)]
    assert max(moved[:2]) <= math.sqrt(0.5)
