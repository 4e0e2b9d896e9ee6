"""Record and replay: catch an algorithm that depends on rows by any way but its Releases.

An algorithm is run on one table and its noisy results are recorded. It is then run on a
neighbouring table, but given the same noisy results. Its queries must be the same both times, since
all it may depend on is equal; and each pair of exact results must lie within the declared
sensitivity. Results declared to be monotone all move one way: a row that comes takes nothing away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privclust.engines.base import Engine
from privclust.kernels.grid import IntArray
from privclust.privacy.fingerprint import digest
from privclust.privacy.noise import NoiseSource
from privclust.queries.base import Query, Sensitivity
from privclust.testing import noise_from


@dataclass(frozen=True, eq=False)
class Measurement:
    """One query as the engine saw it, with its exact result and the noise that was drawn."""

    query: Query
    digest: str
    sensitivity: Sensitivity
    exact: tuple[int, ...]
    mechanism: str
    scale: float

    def same_as(self, other: Measurement) -> bool:
        """Tell whether all that may be public is equal."""
        return (self.digest, self.sensitivity, len(self.exact), self.mechanism, self.scale) == (
            other.digest,
            other.sensitivity,
            len(other.exact),
            other.mechanism,
            other.scale,
        )

    def within_bounds(self, other: Measurement) -> bool:
        """Tell whether the exact results differ by no more than one row may contribute."""
        moved = [abs(a - b) for a, b in zip(self.exact, other.exact, strict=True)]
        return (
            sum(moved) <= self.sensitivity.l1
            and sum(m * m for m in moved) <= self.sensitivity.l2_squared
            and max(moved) <= self.sensitivity.linf
            and sum(m > 0 for m in moved) <= self.sensitivity.l0
        )

    def directions(self, other: Measurement) -> set[int]:
        """Return how coordinates of the exact result moved: 1 up, -1 down."""
        pairs = zip(self.exact, other.exact, strict=True)
        return {1 if after > before else -1 for before, after in pairs if after != before}


class Transcript:
    """An engine and a noise source in one, which records everything that passes.

    Parameters
    ----------
    engine : Engine
        The engine to record.
    noise : NoiseSource
        Where noise comes from while recording.
    replay : list of int arrays, optional
        Noisy results to give instead, as far as they go.

    Attributes
    ----------
    measurements : list of Measurement
        Queries whose results got noise.
    results : list of int arrays
        The noisy results.
    reads : int
        How often exact results were read; more often than noise was drawn is a leak.
    """

    name = "testing: transcript"

    def __init__(
        self, engine: Engine, noise: NoiseSource, replay: list[IntArray] | None = None
    ) -> None:
        self.n_columns = engine.n_columns
        self.unit = engine.unit
        self.measurements: list[Measurement] = []
        self.results: list[IntArray] = []
        self.reads = 0
        self._engine = engine
        self._noise = noise
        self._replay = replay or []
        self._pending: tuple[Query, tuple[int, ...]] | None = None

    def aggregate(self, query: Query) -> Sequence[int]:
        """Make the query, and record it with its exact result."""
        return self.record(self._engine, query)

    def record(self, engine: Engine, query: Query) -> Sequence[int]:
        """Make a query of the engine behind or of a sample of it, and record it."""
        exact = engine.aggregate(query)
        self.reads += 1
        self._pending = (query, tuple(exact))
        return exact

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        """Return a sample of the engine behind, recorded as well."""
        return _Sample(self, self._engine.sample(sampling_exponent, key))

    def expect_sample(self, key: bytes) -> None:
        """Prepare the engine behind."""
        self._engine.expect_sample(key)

    def key(self) -> bytes:
        """Return the same key for both tables: rows they share get the same inclusion bits."""
        return bytes(32)

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Draw, or replay, a Gaussian result."""
        return self._result("gaussian", sigma, lambda: self._noise.gaussian(exact, sigma))

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Draw, or replay, a Laplace result."""
        return self._result("laplace", scale, lambda: self._noise.laplace(exact, scale))

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Draw, or replay, a choice."""

        def draw() -> IntArray:
            return np.array([self._noise.permute_and_flip(scores, scale)])

        return int(self._result("select", scale, draw)[0])

    def _result(self, mechanism: str, scale: float, draw: Callable[[], IntArray]) -> IntArray:
        if self._pending is None:
            raise AssertionError("noise was drawn without a query to the engine")
        query, exact = self._pending
        self._pending = None
        bounds = self.unit.sensitivity(query)
        self.measurements.append(Measurement(query, digest(query), bounds, exact, mechanism, scale))
        left = self._replay[len(self.results) :]
        result = left[0] if left else draw()
        self.results.append(result)
        return result


class _Sample:
    """A sample whose results pass through the transcript of all rows."""

    def __init__(self, transcript: Transcript, engine: Engine) -> None:
        self.n_columns = engine.n_columns
        self.unit = engine.unit
        self._transcript = transcript
        self._engine = engine

    def aggregate(self, query: Query) -> Sequence[int]:
        """Make the query of the sample, and record it with its exact result."""
        return self._transcript.record(self._engine, query)

    def expect_sample(self, key: bytes) -> None:
        """Prepare the sample."""
        self._engine.expect_sample(key)

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        """Return a sample of the sample, recorded as well."""
        return _Sample(self._transcript, self._engine.sample(sampling_exponent, key))


def replay_on_neighbour(
    algorithm: Callable[[Engine], object],
    table: Engine,
    neighbour: Engine,
    noise: NoiseSource,
) -> list[str]:
    """Return what is wrong with an algorithm on two neighbouring tables; nothing, if it is sound.

    Parameters
    ----------
    algorithm : callable
        Opens a Curator on the engine it is given and runs; must be deterministic but for noise.
    table, neighbour : Engine
        Engines over tables that differ in one row.
    noise : NoiseSource
        Where the first run's noise comes from.
    """
    first = Transcript(table, noise)
    with noise_from(first):
        algorithm(first)
    second = Transcript(neighbour, noise, replay=first.results)
    with noise_from(second):
        algorithm(second)
    findings = []
    went: set[int] = set()
    if len(first.measurements) != len(second.measurements):
        findings.append(
            f"made {len(first.measurements)} queries of one table, "
            f"{len(second.measurements)} of the other"
        )
    for number, (a, b) in enumerate(zip(first.measurements, second.measurements, strict=False), 1):
        if not a.same_as(b):
            findings.append(f"query {number} differs between neighbouring tables")
        elif not a.within_bounds(b):
            findings.append(f"query {number} moved by more than it declared")
        if a.sensitivity.monotone and len(a.exact) == len(b.exact):
            went |= a.directions(b)
            if len(went) > 1:
                findings.append(f"query {number} is declared monotone, and a row took from it")
                went = set()
    return findings
