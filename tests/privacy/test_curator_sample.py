"""The Curator of a sample: plan, ledger and price are those of all rows; nobody sees the key."""

from __future__ import annotations

import math
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.engines.sampling import SAMPLING_EXPONENT_MAX
from privclust.errors import EngineError
from privclust.kernels.grid import UNIT
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.noise import NoNoise
from privclust.privacy.plan import Slot, make_plan
from privclust.privacy.release import Release
from privclust.queries.base import Count, Query
from privclust.queries.clusters import ClusterMoments, NearestVotes
from privclust.queries.unit import ROW
from privclust.testing import SeededNoise, noise_from

PLAN = make_plan(
    Budget(1.0, 1e-6),
    [
        Slot("count", 0.1),
        Slot("votes", 0.4),
        Slot("moments", 0.3, l0=4),
        Slot("laplace", 0.1, mechanism="laplace"),
        Slot("choice", 0.1, mechanism="select"),
    ],
)
POINTS = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.9], [0.0, -0.9]])
MOMENTS = ClusterMoments(POINTS, np.full(4, 0.5), weight=0.6, square_weight=0.4)
ENGINE = NumpyEngine(np.random.default_rng(0).normal(0.0, 0.2, (500, 2)), Ball([0.0, 0.0], 1.0))


def measure_everything(curator: Curator) -> tuple[Release, ...]:
    curator.measure("count", Count())
    curator.measure("votes", NearestVotes(POINTS))
    curator.measure("moments", MOMENTS)
    curator.measure("laplace", NearestVotes(POINTS))
    curator.select("choice", NearestVotes(POINTS))
    return curator.releases


def own_ledger() -> Ledger:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 1e-6)
    return ledger


class Listening:
    """An engine that remembers the keys of its samples, and what was spent when rows were read."""

    n_columns = 2
    unit = ROW

    def __init__(self, ledger: Ledger, keys: list[bytes] | None = None) -> None:
        self.keys: list[bytes] = [] if keys is None else keys
        self.expected: list[bytes] = []
        self.spent_when_read: list[Spend] = []
        self._ledger = ledger

    def aggregate(self, query: Query) -> list[int]:
        self.spent_when_read.append(self._ledger.runs("table")[-1].spent)
        return list(ENGINE.aggregate(query))

    def expect_sample(self, key: bytes) -> None:
        assert self.spent_when_read == [], "rows were read before the key was known"
        self.expected.append(key)

    def sample(self, sampling_exponent: int, key: bytes) -> Listening:
        self.keys.append(key)
        return self


# One fit -----------------------------------------------------------------------------------------


@pytest.mark.attack
def test_slot_is_measured_once_of_a_table_and_its_samples_together() -> None:
    curator = Curator.open(ENGINE, PLAN)
    sample, another = curator.sample(1), curator.sample(2)
    sample.measure("count", Count())
    curator.measure("votes", NearestVotes(POINTS))
    for one in (curator, sample, another):
        for slot in ("count", "votes"):
            with pytest.raises(ValueError, match="measured already"):
                one.measure(slot, Count())


def test_a_sample_shares_releases_and_what_is_left() -> None:
    curator = Curator.open(ENGINE, PLAN)
    assert curator.left == 1.0
    sample = curator.sample(2)
    first = sample.measure("count", Count())
    second = curator.measure("votes", NearestVotes(POINTS))
    assert curator.releases == sample.releases == (first, second)
    assert [release.sampling_exponent for release in curator.releases] == [2, 0]
    assert (curator.sampling_exponent, sample.sampling_exponent) == (0, 2)
    assert curator.left == sample.left == pytest.approx(0.5)


def test_a_plan_refined_by_one_is_refined_for_the_other() -> None:
    curator = Curator.open(ENGINE, PLAN)
    sample = curator.sample(1)
    sample.measure("count", Count())
    sample.refine([Slot("by the sample", 0.5)])
    curator.measure("by the sample", Count())
    curator.refine([Slot("by the table", 0.2)])
    with pytest.raises(ValueError, match="more than the plan reserved"):
        sample.refine([Slot("too much", 0.5)])
    sample.measure("by the table", Count())
    for one in (curator, sample):
        assert [slot.name for slot in one.plan.slots] == ["count", "by the sample", "by the table"]
        with pytest.raises(KeyError):
            one.measure("votes", NearestVotes(POINTS))


def test_sampling_exponent_0_means_all_rows_and_draws_no_sample() -> None:
    listening = Listening(own_ledger())
    curator = Curator.open(listening, PLAN)
    assert curator.sample(0) is curator
    assert listening.keys == []


def test_negative_sampling_exponent_is_refused_and_a_large_one_is_capped() -> None:
    curator = Curator.open(ENGINE, PLAN)
    with pytest.raises(ValueError, match=r"0 or more.*got -1"):
        curator.sample(-1)
    assert curator.sample(SAMPLING_EXPONENT_MAX + 1).sampling_exponent == SAMPLING_EXPONENT_MAX


def test_fit_without_noise_measures_all_rows() -> None:
    listening = Listening(own_ledger())
    curator = Curator.open(listening, PLAN, noiseless=True)
    assert curator.sample(3) is curator
    assert listening.expected == listening.keys == []


@pytest.mark.parametrize("sampling_exponent", [0, 1])
def test_a_sample_of_a_sample_is_refused(sampling_exponent: int) -> None:
    sample = Curator.open(ENGINE, PLAN).sample(3)
    with pytest.raises(ValueError, match="a sample at 3"):
        sample.sample(sampling_exponent)


# Price -------------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("sampling_exponent", [1, 5, SAMPLING_EXPONENT_MAX])
def test_a_sample_is_charged_and_noised_like_all_rows(sampling_exponent: int) -> None:
    """No amplification: the noise of each result and the ledger's charge are the same."""
    ledger = own_ledger()
    with noise_from(NoNoise()):
        whole = measure_everything(Curator.open(ENGINE, PLAN))
        sampled = measure_everything(
            Curator.open(ENGINE, PLAN, ledger, "table").sample(sampling_exponent)
        )
    for one, other in zip(whole, sampled, strict=True):
        assert (one.scale, one.charge) == (other.scale, other.charge)
    assert ledger.runs("table")[0].spent == sum((one.charge for one in whole), Spend())
    cost = MOMENTS.sensitivity.l2_squared / sampled[2].scale ** 2
    assert cost == pytest.approx(0.3 * PLAN.quanta / 2**50, rel=1e-9)


@pytest.mark.attack
@pytest.mark.parametrize("sampling_exponent", [1, SAMPLING_EXPONENT_MAX])
def test_no_coordinate_of_a_sample_leaves_without_noise(sampling_exponent: int) -> None:
    """False alarm: one of 1 + 4 + 16 coordinates draws exactly 0 at sigma > 2^26, twice: 3e-7."""
    with noise_from(NoNoise()):
        bare = measure_everything(Curator.open(NoneDrawn(), PLAN).sample(sampling_exponent))
    noisy = measure_everything(Curator.open(NoneDrawn(), PLAN).sample(sampling_exponent))
    for exact, release in zip(bare[:3], noisy[:3], strict=True):
        assert (exact.result == 0).all()
        assert (release.result != 0).all(), release.slot


class NoneDrawn:
    """A table whose samples hold no row."""

    n_columns = 2
    unit = ROW

    def aggregate(self, query: Query) -> list[int]:
        raise AssertionError("all rows were read")

    def expect_sample(self, key: bytes) -> None:
        pass

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        return NumpyEngine(np.empty((0, 2)), Ball([0.0, 0.0], 1.0))


@pytest.mark.parametrize("sampling_exponent", [1, 3])
def test_values_and_sigma_are_those_of_all_rows(sampling_exponent: int) -> None:
    with noise_from(NoNoise()):
        whole = measure_everything(Curator.open(ENGINE, PLAN))
        sampled = measure_everything(Curator.open(ENGINE, PLAN).sample(sampling_exponent))
        key = NoNoise().key()
    exact = ENGINE.sample(sampling_exponent, key)
    queries: tuple[Query, ...] = (Count(), NearestVotes(POINTS), MOMENTS)
    for release, query in zip(sampled[:3], queries, strict=True):
        assert release.result.tolist() == exact.aggregate(query)
        np.testing.assert_array_equal(release.values, release.result / UNIT * 2**sampling_exponent)
    for one, other in zip(whole[:4], sampled[:4], strict=True):
        assert other.sigma == 2**sampling_exponent * one.sigma
    assert sampled[3].sigma == math.sqrt(2) * sampled[3].scale / UNIT * 2**sampling_exponent
    # 500 inclusion bits at 1/2 or 1/8: within five standard deviations, and the key is constant.
    assert sampled[0].values[0] == pytest.approx(
        500, abs=5 * math.sqrt(500 * (2**sampling_exponent - 1))
    )


# Rows and keys -----------------------------------------------------------------------------------


@pytest.mark.attack
def test_rows_are_not_read_by_sampling_and_afterwards_not_before_the_charge() -> None:
    ledger = own_ledger()
    listening = Listening(ledger)
    sample = Curator.open(listening, PLAN, ledger, "table").sample(2)
    assert listening.spent_when_read == []
    assert ledger.runs("table")[0].spent == Spend()
    measure_everything(sample)
    prices = [PLAN.price(slot) for slot in PLAN.slots]
    charged = [sum(prices[: number + 1], Spend()) for number in range(len(prices))]
    assert listening.spent_when_read == charged


class Unreadable:
    """A table whose samples cannot be read."""

    n_columns = 2
    unit = ROW

    def aggregate(self, query: Query) -> list[int]:
        raise AssertionError("a row says 73.19")

    def expect_sample(self, key: bytes) -> None:
        pass

    def sample(self, sampling_exponent: int, key: bytes) -> Unreadable:
        return self


@pytest.mark.attack
def test_a_sample_that_cannot_be_read_is_charged_and_says_nothing() -> None:
    ledger = own_ledger()
    sample = Curator.open(Unreadable(), PLAN, ledger, "table").sample(2)
    with pytest.raises(EngineError) as failure:
        sample.measure("count", Count())
    assert "73.19" not in str(failure.value)
    assert failure.value.__context__ is None
    assert ledger.runs("table")[0].spent == PLAN.price(PLAN.slot("count"))


@pytest.mark.attack
def test_each_fit_has_a_fresh_key_of_256_bits() -> None:
    """False alarm: two of 20 uniform keys are equal, below 1e-74."""
    keys: list[bytes] = []
    for _ in range(20):
        Curator.open(Listening(own_ledger(), keys), PLAN).sample(1)
    assert len(set(keys)) == len(keys) == 20
    assert {len(key) for key in keys} == {32}


def test_all_samples_of_a_fit_have_the_key_that_the_engine_got_before_rows_were_read() -> None:
    ledger = own_ledger()
    listening = Listening(ledger)
    curator = Curator.open(listening, PLAN, ledger, "table")
    (key,) = listening.expected
    curator.sample(1)
    curator.measure("count", Count())
    curator.sample(1)
    curator.sample(3)
    assert listening.keys == [key] * 3
    assert listening.expected == [key]


def test_a_resumed_fit_has_a_key_of_its_own() -> None:
    """Its table may have changed meanwhile. False alarm: two uniform keys are equal, 1e-77."""
    ledger = own_ledger()
    keys: list[bytes] = []
    Curator.open(Listening(ledger, keys), PLAN, ledger, "table").sample(1)
    (run,) = ledger.runs("table")
    resumed = Curator.open(Listening(ledger, keys), PLAN, ledger, "table", resume=run.name)
    resumed.sample(1)
    assert keys[0] != keys[1]


def test_a_key_does_not_follow_from_public_seeds() -> None:
    keys: list[bytes] = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        Curator.open(Listening(own_ledger(), keys), PLAN).sample(1)
    assert keys[0] != keys[1]


def test_test_noise_repeats_its_keys() -> None:
    keys: list[bytes] = []
    for seed in (0, 0, 1):
        with noise_from(SeededNoise(seed)):
            Curator.open(Listening(own_ledger(), keys), PLAN).sample(1)
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.attack
def test_a_key_is_in_no_release_and_not_in_the_ledger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fingerprints: list[bytes] = []
    claim = Ledger.claim

    def overheard(ledger: Ledger, run: str, slot: str, charge: Spend, fingerprint: bytes) -> Any:
        fingerprints.append(fingerprint)
        return claim(ledger, run, slot, charge, fingerprint)

    monkeypatch.setattr(Ledger, "claim", overheard)
    ledger = own_ledger()
    listening = Listening(ledger)
    curator = Curator.open(listening, PLAN, ledger, "table")
    sample = curator.sample(1)
    releases = measure_everything(sample)
    (key,) = listening.keys
    assert listening.expected == [key]
    for release in releases:
        values = [getattr(release, item.name) for item in fields(release)]
        assert not any(isinstance(value, bytes) for value in values)
        assert key not in pickle.dumps(release)
    public = repr(releases) + repr(vars(ledger)) + repr(curator.plan) + repr((curator, sample))
    assert not any(form in public for form in (repr(key)[2:-1], key.hex(), str(list(key))))
    assert len(fingerprints) == len(releases)
    assert not any(
        form in claimed for claimed in fingerprints for form in (key, key.hex().encode())
    )


def test_stored_result_of_a_sample_is_not_taken_for_one_of_all_rows() -> None:
    ledger = own_ledger()
    with noise_from(NoNoise()):
        first = Curator.open(ENGINE, PLAN, ledger, "table")
        first.sample(3).measure("count", Count())
        (run,) = ledger.runs("table")
        resumed = Curator(ENGINE, PLAN, ledger, run.name, NoNoise())
        with pytest.raises(LedgerError, match="another query"):
            resumed.measure("count", Count())
