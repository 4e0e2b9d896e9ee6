"""The Curator of one node of a federation: what leaves it has its share of the noise, and a mask.

Its order is that of every Curator: charge the slot in the node's own ledger, read, draw noise,
mask, store, and only then does anyone see it. The ledger holds masked sums alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privclust.engines.base import Engine
from privclust.kernels.grid import UNIT, IntArray
from privclust.privacy.accounting import gaussian_spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import StoredResult
from privclust.privacy.measurement import sigma_of, stored_result
from privclust.privacy.noise import noise_source
from privclust.privacy.noise_shares import NoiseShare
from privclust.queries.base import Query


@dataclass(frozen=True, eq=False)
class ShareRequest:
    """What a node is to measure, and with how much of the noise.

    Attributes
    ----------
    slot : str
        Its name in the node's ledger.
    query : Query
        What to sum, checked before (docs/proofs/federation.md, section 6).
    quanta : int
        mu² of the whole noise, in quanta.
    l0 : int
        Coordinates of the result that one unit changes at most.
    sampling_exponent : int
        0 for all rows; otherwise a sample, which the node draws by a key of its own.
    share : NoiseShare
        Which part of the noise is this node's.
    context : bytes
        All of the above and who takes part, as bytes: a slot belongs to the first context.
    """

    slot: str
    query: Query
    quanta: int
    l0: int
    sampling_exponent: int
    share: NoiseShare
    context: bytes


class NodeCurator:
    """Measures one node's part of the queries of a fit, each once.

    Parameters
    ----------
    engine : Engine
        Where the node's rows are.
    ledger : Ledger
        The node's own, in which the fit has been reserved.
    run : str
        The fit's name there.
    """

    def __init__(self, engine: Engine, ledger: Ledger, run: str) -> None:
        self._engine = engine
        self._ledger = ledger
        self._run = run
        self._noise = noise_source()
        self._key = self._noise.key()
        self._sample: tuple[int, Engine] | None = None
        engine.expect_sample(self._key)

    def sigma(self, request: ShareRequest) -> float:
        """Return the standard deviation of this node's noise, or refuse the request.

        Raises
        ------
        ValueError
            If the query changes more than it says, or its noise does not fit into 64 bits. No row
            has a part in that.
        """
        bounds = self._engine.unit.sensitivity(request.query)
        if request.quanta < 1 or not bounds.l0 <= request.l0 or bounds.l2_squared < UNIT**2:
            raise ValueError("a query changes no more coordinates than it is charged for.")
        drawn = self._sample
        if request.sampling_exponent and drawn and drawn[0] != request.sampling_exponent:
            raise ValueError("a fit has one sample at each node.")
        return request.share.sigma(sigma_of(bounds, request.quanta))

    def measure(self, request: ShareRequest, mask: Callable[[IntArray], IntArray]) -> StoredResult:
        """Return the node's sums with its share of the noise, masked; those stored, if any are.

        `mask` hides what it is given from everybody who lacks the other nodes' masks.
        """
        scale = self.sigma(request)
        largest = request.share.largest

        def draw(exact: IntArray) -> IntArray:
            return mask(self._noise.gaussian(np.clip(exact, -largest, largest), scale))

        def store(masked: IntArray) -> StoredResult:
            result = StoredResult(masked, scale, self._noise.name)
            return self._ledger.record(self._run, request.slot, result)

        charge = gaussian_spend(request.quanta, request.l0)
        found: StoredResult | str | None = self._ledger.claim(
            self._run, request.slot, charge, request.context
        )
        if found is None:
            engine = self._engine_for(request.sampling_exponent)
            found = stored_result(engine, request.query, draw, store)
        if isinstance(found, str):
            raise LedgerError(found)
        return found

    def _engine_for(self, sampling_exponent: int) -> Engine:
        if sampling_exponent == 0:
            return self._engine
        if self._sample is None:
            self._sample = (
                sampling_exponent,
                self._engine.sample(sampling_exponent, self._key),
            )
        return self._sample[1]
