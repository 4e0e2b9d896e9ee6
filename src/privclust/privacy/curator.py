"""The Curator: the only place where an engine and noise meet.

`Curator.measure` and `Curator.select` charge a reserved slot, query the engine, add noise, store
the result and return a `Release`. Whatever an algorithm does with Releases is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from privclust.engines.base import AnyEngine, contributions
from privclust.engines.noisy import FitTerms, NoisyEngine
from privclust.engines.sampling import SAMPLING_EXPONENT_MAX
from privclust.kernels.grid import UNIT, IntArray
from privclust.privacy.accounting import Spend
from privclust.privacy.fingerprint import serialize
from privclust.privacy.ledger._admission import Cap
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import StoredResult
from privclust.privacy.measurement import round_up, sigma_of, stored_result
from privclust.privacy.noise import NoiseSource, NoNoise, OpenDPNoise, noise_source
from privclust.privacy.noisy_fit import check_has_shares, check_reserve, terms_of
from privclust.privacy.plan import Mechanism, Plan, Slot, attempt_name, make_plan
from privclust.privacy.progress import Step, report
from privclust.privacy.release import Release
from privclust.queries.base import Query, Sensitivity
from privclust.queries.registry import query_name


@dataclass
class _Progress:
    """What a Curator and those of its samples share: the plan as it stands, and all releases."""

    plan: Plan
    releases: list[Release] = field(default_factory=list)
    again: int = 0
    """Quanta of slots that were measured once more because a node was gone."""


class Curator:
    """Measures the slots of one plan, once each, and never spends more than was reserved.

    Attributes
    ----------
    sampling_exponent : int
        0, or h if `sample` drew the rows it measures at the rate 2^-h.

    Notes
    -----
    Use `Curator.open`. A slot may depend on earlier Releases (the budget is a privacy filter);
    `refine` replaces the slots not measured yet, within the reserve.
    """

    def __init__(
        self,
        engine: AnyEngine,
        plan: Plan,
        ledger: Ledger,
        run: str,
        noise: NoiseSource,
        samples: bool = True,
    ) -> None:
        self.sampling_exponent = 0
        self._samples = samples
        self._key = noise.key()
        if samples:
            engine.expect_sample(self._key)
        self._engine = engine
        self._progress = _Progress(plan)
        self._ledger = ledger
        self._run = run
        self._noise = noise

    @classmethod
    def open(
        cls,
        engine: AnyEngine,
        plan: Plan,
        ledger: Ledger | None = None,
        label: str = "unrecorded",
        facts: Mapping[str, str] | None = None,
        noiseless: bool = False,
        resume: str | None = None,
    ) -> Curator:
        """Reserve the plan's total, or refuse, and return a Curator that may spend it.

        Parameters
        ----------
        engine : Engine
            Where the rows are.
        plan : Plan
            What will be measured.
        ledger : Ledger, optional
            Where the budget is kept; by default one for this fit alone.
        label : str
            The data set's name in the ledger.
        facts : mapping, optional
            Public parameters, seed and versions, for the ledger.
        noiseless : bool
            Add no noise: NOT PRIVATE, for teaching on public data. Never with a ledger.
        resume : str, optional
            Go on with this run of the ledger instead of reserving anew: its stored results are
            given again and cost nothing. It must have been started with equal `facts`.
        """
        if noiseless and ledger is not None:
            raise ValueError(
                "epsilon = inf adds no noise and cannot be charged to a ledger. "
                "Leave the ledger out, or give a finite epsilon."
            )
        if isinstance(engine, NoisyEngine):
            check_has_shares(plan, noiseless)
        if ledger is None:
            ledger = Ledger.in_memory()
            ledger.add(label, plan.budget.epsilon, plan.budget.delta)
        if resume is None:
            run = reserve(engine, plan, ledger, label, facts or {})
        else:
            ledger.resume(resume, label, facts or {})
            run = resume
        plan = _plan_for(engine, plan)
        if isinstance(engine, NoisyEngine):
            _begin(engine, terms_of(run, facts or {}, plan), ledger, is_new=resume is None)
        noise = NoNoise() if noiseless else noise_source()
        return cls(engine, plan, ledger, run, noise, samples=not noiseless)

    @property
    def plan(self) -> Plan:
        """The plan as it stands now."""
        return self._progress.plan

    @property
    def releases(self) -> tuple[Release, ...]:
        """All that has been released, in order."""
        return tuple(self._progress.releases)

    @property
    def left(self) -> float:
        """The part of the plan's budget that no release has used."""
        return 1 - math.fsum(self.plan.slot(release.slot).share for release in self.releases)

    @property
    def rows_per_unit(self) -> int:
        """As how many rows one unit counts at most: the noise is that many times a row's."""
        return self._engine.unit.total_rows

    @property
    def noise_ratio(self) -> float:
        """How many times as large as its price needs the noise of a slot will be."""
        if not isinstance(self._engine, NoisyEngine):
            return 1.0
        return self._engine.noise_ratio * math.sqrt(1 - self._engine.reserve)

    @property
    def run(self) -> str:
        """The fit's name in the ledger."""
        return self._run

    def close(self) -> str:
        """End the run and return the hash of the ledger's last entry: nothing more is measured."""
        self._ledger.close(self._run, finished=True)
        return self._ledger.head()

    def refine(self, slots: Iterable[Slot]) -> None:
        """Replace all slots not measured yet by `slots`, within what was reserved."""
        measured = (release.slot for release in self.releases)
        self._progress.plan = self.plan.refined(measured, _widened(slots, self._engine))

    def sample(self, sampling_exponent: int) -> Curator:
        """Return a Curator of the same fit over some rows only, drawn once and secretly.

        Each unit is in with probability 2^-sampling_exponent; more than 32 count as 32. Results are
        scaled to all rows, and so is their noise; they cost as much as if all rows were measured
        (docs/proofs/sampling.md).
        """
        if sampling_exponent < 0 or self.sampling_exponent:
            raise ValueError(
                f"the sampling exponent must be 0 or more, of all rows, got {sampling_exponent!r} "
                f"for a table that is a sample at {self.sampling_exponent}."
            )
        if sampling_exponent == 0 or not self._samples:  # a fit without noise is exact
            return self
        some = copy(self)
        some.sampling_exponent = min(sampling_exponent, SAMPLING_EXPONENT_MAX)
        some._engine = self._engine.sample(some.sampling_exponent, self._key)
        return some

    def over(self, engine: AnyEngine) -> Curator:
        """Return a Curator of the same fit that measures the same rows on another scale.

        `engine` reads the same table for the same units, in a domain that follows from Releases.
        """
        if engine.unit != self._engine.unit or self.sampling_exponent:
            raise ValueError("the engine must be one of all rows, and of the same units.")
        other = copy(self)
        if other._samples:
            engine.expect_sample(other._key)
        other._engine = engine
        return other

    def measure(self, name: str, query: Query) -> Release:
        """Return the query's sum over all rows with noise on every coordinate."""
        slot = self._planned(name, query, ("gaussian", "laplace"))
        charge = self.plan.price(slot)
        if isinstance(self._engine, NoisyEngine):
            gathered = partial(self._gathered, self._engine, slot, query, charge)
            return self._release(slot, query, charge, gathered)
        if slot.mechanism == "gaussian":
            scale = sigma_of(self._bounds(query), charge.quanta)
            return self._noised(
                slot, query, charge, scale, lambda exact: self._noise.gaussian(exact, scale)
            )
        scale = round_up(self._bounds(query).l1 / charge.epsilon)
        return self._noised(
            slot, query, charge, scale, lambda exact: self._noise.laplace(exact, scale)
        )

    def select(self, name: str, query: Query) -> Release:
        """Return the index of a coordinate whose sum over all rows is nearly the largest."""
        slot = self._planned(name, query, ("select",))
        charge = self.plan.price(slot)
        bounds = self._bounds(query)
        moves = 1 if bounds.monotone else 2
        scale = round_up(moves * bounds.linf / charge.epsilon)

        def choose(exact: IntArray) -> IntArray:
            return np.array([self._noise.permute_and_flip(exact, scale)], dtype=np.int64)

        return self._noised(slot, query, charge, scale, choose)

    def _planned(self, name: str, query: Query, mechanisms: tuple[Mechanism, ...]) -> Slot:
        slot = self.plan.slot(name)
        if any(release.slot == name for release in self.releases):
            raise ValueError(f"slot {name!r} was measured already; each slot is measured once.")
        if slot.mechanism not in mechanisms:
            raise ValueError(f"slot {name!r} is planned as {slot.mechanism!r}, not {mechanisms}.")
        bounds = self._bounds(query)
        if bounds.l0 > slot.l0 or bounds.l2_squared < UNIT**2:
            raise ValueError(
                f"the query for slot {name!r} can change {bounds.l0} coordinates, the "
                f"plan allows {slot.l0}; its l2 bound must be at least one vote."
            )
        # A rehearsal on a made-up row: what is wrong with a query shows here, in its own words,
        # and not only if there are rows to trip over.
        contributions(query, np.zeros((1, self._engine.n_columns)))
        return slot

    def _bounds(self, query: Query) -> Sensitivity:
        """Return the most that one unit can add to the result, which the engine sees to."""
        return self._engine.unit.sensitivity(query)

    def _noised(
        self,
        slot: Slot,
        query: Query,
        charge: Spend,
        scale: float,
        draw: Callable[[IntArray], IntArray],
    ) -> Release:
        """Release exact sums after noise."""
        engine = self._engine
        assert not isinstance(engine, NoisyEngine)

        def store(noisy: IntArray) -> StoredResult:
            result = StoredResult(noisy, scale, self._noise.name)
            return self._ledger.record(self._run, slot.name, result)

        return self._release(slot, query, charge, lambda: stored_result(engine, query, draw, store))

    def _gathered(
        self, engine: NoisyEngine, slot: Slot, query: Query, charge: Spend
    ) -> StoredResult:
        """Store sums that have noise already; there is no way to add more, or to take it away."""
        sums = engine.measure(slot.name, 1, query, charge.quanta, slot.l0)
        attempt = 2
        while sums is None:
            self._progress.again += charge.quanta
            check_reserve(self.plan, self._progress.again)
            name = attempt_name(slot.name, attempt)
            self._ledger.claim(self._run, name, charge, self._fingerprint(query))
            sums = engine.measure(slot.name, attempt, query, charge.quanta, slot.l0)
            attempt += 1
        result = StoredResult(sums.values, sums.scale, sums.noise)
        return self._ledger.record(self._run, slot.name, result)

    def _fingerprint(self, query: Query) -> bytes:
        of = f" of one row in {2**self.sampling_exponent}" if self.sampling_exponent else ""
        return serialize(query) + of.encode()

    def _release(
        self,
        slot: Slot,
        query: Query,
        charge: Spend,
        measured: Callable[[], StoredResult | str],
    ) -> Release:
        self._report(slot, finished=False)
        result: StoredResult | str | None = self._ledger.claim(
            self._run, slot.name, charge, self._fingerprint(query)
        )
        if result is None:
            result = measured()
        if isinstance(result, str):
            raise LedgerError(result)
        kind = query_name(type(query))
        release = Release(
            slot.name,
            kind,
            slot.mechanism,
            result.values,
            result.scale,
            charge,
            result.noise,
            self.sampling_exponent,
            self._noise_ratio(query, charge, result.scale),
        )
        self._report(slot, finished=True)
        self._progress.releases.append(release)
        return release

    def _noise_ratio(self, query: Query, charge: Spend, scale: float) -> float:
        if not isinstance(self._engine, NoisyEngine):
            return 1.0
        return scale / sigma_of(self._bounds(query), charge.quanta)

    def _report(self, slot: Slot, finished: bool) -> None:
        measured = len(self._progress.releases)
        left = len(self.plan.slots) - measured - 1
        report(Step(slot.name, finished, measured, left, whole=self.sampling_exponent == 0))


def reserve(
    engine: AnyEngine,
    plan: Plan,
    ledger: Ledger,
    label: str,
    facts: Mapping[str, str],
    *,
    run: str | None = None,
    cap: Cap | None = None,
) -> str:
    """Set aside what `plan` may spend on an engine's rows, which are not read.

    Returns the run's name, which `Curator.open` then resumes; `run` and `cap` are those of
    `Ledger.reserve`.
    """
    return ledger.reserve(label, _plan_for(engine, plan).reserve, facts, run=run, cap=cap)


def _begin(engine: NoisyEngine, terms: FitTerms, ledger: Ledger, is_new: bool) -> None:
    """Let nodes agree to a fit; if they do not, what a new one set aside is free again.

    One that is resumed can go on later: nothing of it ends.
    """
    try:
        engine.begin(terms)
    except BaseException:
        if is_new:
            ledger.close(terms.run)
            engine.close()  # nodes that joined set something aside, too
        raise


def _plan_for(engine: AnyEngine, plan: Plan) -> Plan:
    if engine.unit.l0:
        plan = make_plan(plan.budget, _widened(plan.slots, engine))
    return plan.with_reserve(engine.reserve) if isinstance(engine, NoisyEngine) else plan


def _widened(slots: Iterable[Slot], engine: AnyEngine) -> list[Slot]:
    """Return slots that allow for a unit of many rows, which may change every coordinate."""
    return [replace(slot, l0=max(slot.l0, engine.unit.l0)) for slot in slots]


def noise_is_real() -> bool:
    """Tell whether noise that is drawn now protects anybody, and is not that of a test."""
    return isinstance(noise_source(), OpenDPNoise)
