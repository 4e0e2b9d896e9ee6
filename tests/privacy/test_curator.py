"""The Curator: what is measured is charged, what is released is noisy, and nothing else is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from privclust.audit.likelihood_ratio import log_chances
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.errors import EngineError
from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.curator import Curator
from privclust.privacy.fingerprint import serialize
from privclust.privacy.ledger.journal import Entry, LedgerError, MemoryJournal
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import StoredResult
from privclust.privacy.noise import NoNoise, OpenDPNoise
from privclust.privacy.plan import Slot, make_plan
from privclust.privacy.release import Release
from privclust.queries.base import ONE_HOT, Contribution, Count, Sensitivity, one_hot
from privclust.queries.clusters import ClusterSums, NearestVotes
from privclust.queries.unit import ROW
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)
SLOTS = (
    Slot("count", 0.1),
    Slot("votes", 0.4),
    Slot("sums", 0.3, l0=3),
    Slot("laplace", 0.1, mechanism="laplace"),
    Slot("choice", 0.1, mechanism="select"),
)
CANDIDATES = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.9], [0.0, -0.9]])
SUMS = ClusterSums(CANDIDATES, CANDIDATES, radius=0.5, weight=1.0)


def table() -> FloatArray:
    return np.random.default_rng(0).normal(0.0, 0.2, (500, 2))


def open_curator(ledger: Ledger | None = None) -> Curator:
    engine = NumpyEngine(table(), Ball([0.0, 0.0], 1.0))
    return Curator.open(engine, make_plan(BUDGET, SLOTS), ledger, "table")


def measure_everything(curator: Curator) -> tuple[Release, ...]:
    curator.measure("count", Count())
    curator.measure("votes", NearestVotes(CANDIDATES))
    curator.measure("sums", SUMS)
    curator.measure("laplace", NearestVotes(CANDIDATES))
    curator.select("choice", NearestVotes(CANDIDATES))
    return curator.releases


def own_ledger() -> Ledger:
    ledger = Ledger.in_memory()
    ledger.add("table", BUDGET.epsilon, BUDGET.delta)
    return ledger


@pytest.mark.attack
def test_the_noise_that_was_added_pays_for_every_release() -> None:
    """Sum what the noise scales really cost, not what the charges say."""
    with noise_from(NoNoise()):
        releases = measure_everything(open_curator())
    sensitivity = {"count": 1.0, "votes": 1.0, "sums": math.sqrt(2)}
    shares = {slot.name: slot.share for slot in SLOTS}
    whole = make_plan(BUDGET, SLOTS).quanta / 2**50
    for release in releases[:3]:
        cost = (sensitivity[release.slot] * UNIT / release.scale) ** 2
        assert cost <= release.charge.mu2
        assert cost == pytest.approx(shares[release.slot] * whole, rel=1e-9)
    for release in releases[3:]:
        assert UNIT / release.scale <= release.charge.epsilon
        assert UNIT / release.scale == pytest.approx(release.charge.epsilon, rel=1e-9)
    assert BUDGET.admits(sum((release.charge for release in releases), Spend()))


class Seesaw:
    """A row votes for one option and against the other; `monotone` is what it says of itself."""

    size = 2

    def __init__(self, monotone: bool) -> None:
        self.sensitivity = Sensitivity(2 * UNIT, 2 * UNIT**2, UNIT, 2, monotone)

    def contribute(self, rows: FloatArray) -> Contribution:
        values = np.tile(
            np.array([UNIT, 0 if self.sensitivity.monotone else -UNIT]), (len(rows), 1, 1)
        )
        return Contribution(np.zeros((len(rows), 1), dtype=np.int64), values)


@pytest.mark.attack
@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_row_makes_a_choice_likelier_than_it_was_charged_for(
    monotone: bool, epsilon: float
) -> None:
    """By the chances themselves, over all leads that one option may have of the other."""
    plan = make_plan(Budget(epsilon, 0.0), [Slot("choice", 1.0, 2, mechanism="select")])
    query = Seesaw(monotone)
    engine = NumpyEngine(np.zeros((3, 2)), Ball([0.0, 0.0], 1.0))
    with noise_from(NoNoise()):
        release = Curator.open(engine, plan).select("choice", query)
    moved = query.contribute(np.zeros((1, 2))).values[0, 0]
    changes = []
    for lead in range(-40, 41):
        before = np.array([lead * UNIT // 4, 0])
        chances = [log_chances(scores, release.scale) for scores in (before, before + moved)]
        changes.append(np.abs(chances[1] - chances[0]).max())
    assert 0.9 * epsilon <= max(changes) <= release.charge.epsilon * (1 + 1e-9)


@pytest.mark.attack
def test_every_release_is_charged_and_stored_before_it_is_seen() -> None:
    ledger = own_ledger()
    releases = measure_everything(open_curator(ledger))
    (run,) = ledger.runs("table")
    assert run.spent == sum((release.charge for release in releases), Spend())
    assert run.spent.within(run.reserved)
    stored = {entry["slot"]: entry for entry in ledger.export() if entry["kind"] == "result"}
    assert stored.keys() == {release.slot for release in releases}
    for release in releases:
        assert stored[release.slot]["values"] == release.result.tolist()
        assert stored[release.slot]["scale"] == release.scale


@pytest.mark.attack
def test_no_coordinate_leaves_without_noise() -> None:
    """False alarm: one of 4 + 12 + 1 coordinates draws exactly 0 at sigma > 2^26, below 2e-7."""
    with noise_from(NoNoise()):
        exact = measure_everything(open_curator())
    noisy = measure_everything(open_curator())
    for bare, release in zip(exact[:3], noisy[:3], strict=True):
        assert (bare.result != release.result).all(), release.slot


@pytest.mark.attack
def test_two_releases_never_share_their_noise() -> None:
    """False alarm: two equal draws at sigma > 2^26, below 1e-8 for each of 16 pairs."""
    with noise_from(NoNoise()):
        exact = measure_everything(open_curator())
    first, second = measure_everything(open_curator()), measure_everything(open_curator())
    for bare, a, b in zip(exact[:3], first[:3], second[:3], strict=True):
        assert (a.result - bare.result != b.result - bare.result).all()


@pytest.mark.attack
def test_empty_table_is_measured_like_any_other() -> None:
    engine = NumpyEngine(np.empty((0, 2)), Ball([0.0, 0.0], 1.0))
    curator = Curator.open(engine, make_plan(BUDGET, SLOTS))
    for release in measure_everything(curator)[:3]:
        assert (release.result != 0).all(), "false alarm below 2e-7, as above"


def test_nothing_is_read_when_the_ledger_refuses() -> None:
    ledger = own_ledger()
    open_curator(ledger)
    with pytest.raises(BudgetExceededError, match="Remaining"):
        Curator.open(Unreadable(), make_plan(BUDGET, SLOTS), ledger, "table")


@pytest.mark.attack
def test_slot_is_measured_once_and_as_planned() -> None:
    curator = open_curator()
    curator.measure("count", Count())
    with pytest.raises(ValueError, match="measured already"):
        curator.measure("count", Count())
    with pytest.raises(ValueError, match="planned as 'select'"):
        curator.measure("choice", Count())
    with pytest.raises(ValueError, match="can change 3 coordinates"):
        curator.measure("votes", SUMS)
    with pytest.raises(KeyError, match="no slot 'more'"):
        curator.measure("more", Count())


def test_refining_keeps_what_was_measured_and_stays_within_the_reserve() -> None:
    curator = open_curator()
    curator.measure("count", Count())
    with pytest.raises(ValueError, match="more than the plan reserved"):
        curator.refine([Slot("again", 0.95)])
    curator.refine([Slot("fewer", 0.5, l0=3), Slot("last", 0.3)])
    curator.measure("fewer", SUMS)
    assert [slot.name for slot in curator.plan.slots] == ["count", "fewer", "last"]
    with pytest.raises(KeyError):
        curator.measure("votes", NearestVotes(CANDIDATES))


class Unreadable:
    """An engine that must not be queried."""

    n_columns = 2
    unit = ROW

    def aggregate(self, query: object) -> list[int]:
        raise AssertionError("rows were read")

    def expect_sample(self, key: bytes) -> None:
        pass

    def sample(self, sampling_exponent: int, key: bytes) -> Unreadable:
        return self


@pytest.mark.attack
def test_stored_results_are_replayed_with_the_noise_they_were_drawn_with() -> None:
    ledger = own_ledger()
    with noise_from(NoNoise()):
        first = open_curator(ledger)
        votes = first.measure("votes", NearestVotes(CANDIDATES))
    (run,) = ledger.runs("table")
    again = Curator(Unreadable(), first.plan, ledger, run.name, OpenDPNoise())
    replayed = again.measure("votes", NearestVotes(CANDIDATES))
    np.testing.assert_array_equal(replayed.result, votes.result)
    assert (replayed.noise, replayed.scale) == ("none", votes.scale)


@pytest.mark.attack
def test_nothing_is_read_for_a_closed_run_or_another_query() -> None:
    ledger = own_ledger()
    first = open_curator(ledger)
    (run,) = ledger.runs("table")
    first.measure("votes", NearestVotes(CANDIDATES))
    ledger.close(run.name)
    other = Curator(Unreadable(), first.plan, ledger, run.name, SeededNoise(0))
    with pytest.raises(LedgerError, match="another query"):
        other.measure("votes", NearestVotes(-CANDIDATES))
    with pytest.raises(LedgerError, match="closed"):
        other.measure("count", Count())


@pytest.mark.attack
def test_a_failed_read_is_charged() -> None:
    ledger = own_ledger()
    curator = Curator.open(Unreadable(), make_plan(BUDGET, SLOTS), ledger, "table")
    with pytest.raises(EngineError):
        curator.measure("count", Count())
    assert ledger.runs("table")[0].spent == curator.plan.price(curator.plan.slot("count"))


@pytest.mark.attack
@pytest.mark.parametrize("rows", [np.empty((0, 2)), np.zeros((3, 2))])
def test_a_query_of_the_wrong_width_fails_in_its_own_words_with_or_without_rows(
    rows: FloatArray,
) -> None:
    ledger = own_ledger()
    engine = NumpyEngine(rows, Ball([0.0, 0.0], 1.0))
    curator = Curator.open(engine, make_plan(BUDGET, SLOTS), ledger, "table")
    with pytest.raises(ValueError, match="shape"):
        curator.measure("votes", NearestVotes(np.zeros((1, 3))))
    assert ledger.runs("table")[0].spent == Spend()


@pytest.mark.attack
def test_totals_beyond_64_bits_are_clamped_not_wrapped() -> None:
    class Enormous:
        n_columns = 2
        unit = ROW

        def aggregate(self, query: object) -> list[int]:
            return [2**80, -(2**80), 0, 1]

        def expect_sample(self, key: bytes) -> None:
            pass

        def sample(self, sampling_exponent: int, key: bytes) -> Enormous:
            return self

    with noise_from(NoNoise()):
        curator = Curator.open(Enormous(), make_plan(BUDGET, SLOTS))
        result = curator.measure("votes", NearestVotes(CANDIDATES)).result
    assert result.tolist() == [2**62, -(2**62), 0, 1]


@pytest.mark.attack
@pytest.mark.parametrize("coordinates", [0, 3, 5])
@pytest.mark.parametrize("slot", ["votes", "choice"])
def test_engine_that_returns_another_number_of_sums_releases_nothing(
    slot: str, coordinates: int
) -> None:
    """One more would be a release that nobody planned."""

    class Longer(Unreadable):
        def aggregate(self, query: object) -> list[int]:
            return [12345 * UNIT] * coordinates

    ledger = own_ledger()
    curator = Curator.open(Longer(), make_plan(BUDGET, SLOTS), ledger, "table")
    measured = curator.select if slot == "choice" else curator.measure
    with pytest.raises(EngineError, match="could not be read or summed") as failure:
        measured(slot, NearestVotes(CANDIDATES))
    assert failure.value.__context__ is failure.value.__cause__ is None
    assert "12345" not in str(failure.value)
    assert curator.releases == ()
    assert ledger.runs("table")[0].spent == curator.plan.price(curator.plan.slot(slot))


def test_failures_of_the_noise_source_say_nothing() -> None:
    class Broken(NoNoise):
        def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
            raise ValueError(f"cannot draw on {exact}")

    with noise_from(Broken()):
        curator = open_curator()
        with pytest.raises(EngineError) as failure:
            curator.measure("count", Count())
    assert failure.value.__context__ is None
    assert str(500 * UNIT) not in str(failure.value)


def test_releases_cannot_be_changed() -> None:
    release = open_curator().measure("count", Count())
    with pytest.raises(ValueError, match="read-only"):
        release.result[0] = 0


def test_sigma_of_a_release_is_in_votes() -> None:
    with noise_from(SeededNoise(0)):
        releases = measure_everything(open_curator())
    assert releases[0].sigma == releases[0].scale / UNIT
    assert releases[3].sigma == pytest.approx(math.sqrt(2) * releases[3].scale / UNIT)
    assert releases[0].noise == "testing: seeded"


@pytest.mark.attack
def test_result_that_cannot_be_stored_stays_in_no_frame() -> None:
    """Measured again, its slot would give another result for the same charge: two for one."""

    class Full(MemoryJournal):
        def append(self, entry: Entry) -> None:
            if entry.kind == "result":
                raise LedgerError("the disk is full")
            super().append(entry)

    ledger = Ledger(Full())
    ledger.add("table", BUDGET.epsilon, BUDGET.delta)
    curator = open_curator(ledger)
    with pytest.raises(LedgerError, match="the disk is full") as failed:
        curator.measure("count", Count())
    error: BaseException | None = failed.value
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            names = trace.tb_frame.f_locals
            assert not any(isinstance(value, StoredResult) for value in names.values())
            assert not {"exact", "noisy"} & set(names)
            trace = trace.tb_next
        error = error.__context__
    assert curator.releases == ()
    assert "count" in ledger.runs("table")[0].charges


@dataclass(frozen=True, eq=False)
class VotePerCell:
    """Declares one vote of a row, and gives one of each of its cells."""

    size = 2
    sensitivity = ONE_HOT

    def contribute(self, rows: FloatArray) -> Contribution:
        return one_hot(np.tile(np.arange(2), len(rows)))


@pytest.mark.attack
def test_query_that_counts_a_row_twice_is_refused_before_the_charge() -> None:
    ledger = own_ledger()
    curator = open_curator(ledger)
    with pytest.raises(ValueError, match=r"2 contributions of 1 rows"):
        curator.measure("votes", VotePerCell())
    assert ledger.run(curator.run).spent == Spend()


def test_own_query_is_not_taken_for_one_of_the_library() -> None:
    own = type("Count", (VotePerCell,), {"contribute": Count.contribute})
    assert serialize(own()) != serialize(Count())
    release = open_curator().measure("votes", own())
    assert release.query == f"{__name__}.Count"
    assert open_curator().measure("votes", Count()).query == "Count"
