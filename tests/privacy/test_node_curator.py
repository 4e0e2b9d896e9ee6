"""The Curator of one node: charge, read, clamp, noise, mask, store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.cohort_parts import BUDGET, LABEL, RESERVE, ledger_of
from scipy.stats import chi2

from privclust.engines.base import Engine
from privclust.kernels.grid import UNIT, IntArray
from privclust.privacy.accounting import QUANTA, gaussian_spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.measurement import sigma_of
from privclust.privacy.node_curator import NodeCurator, ShareRequest
from privclust.privacy.noise_shares import NoiseShare
from privclust.queries import ROW, ColumnHistograms, Count, Query
from privclust.testing import NoNoise, SeededNoise, noise_from

RUN = "00000000000000aa"
SHARE = NoiseShare(3, 1)
MASK = 2**61 + 12345


class Rows:
    """An engine with given sums, which notes when it is read and what is drawn."""

    n_columns, unit = 3, ROW

    def __init__(self, sums: Sequence[int] = (5 * UNIT,), log: list[str] | None = None) -> None:
        self._sums, self.log = sums, [] if log is None else log
        self.keys: list[bytes] = []

    def expect_sample(self, key: bytes) -> None:
        self.keys.append(key)

    def aggregate(self, query: Query) -> Sequence[int]:
        self.log.append("read")
        return self._sums

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        self.log.append(f"sample {sampling_exponent}")
        self.keys.append(key)
        return self

    def close(self) -> None: ...


def request_for(query: Query | None = None, **changed: Any) -> ShareRequest:
    query = query or Count()
    given = ShareRequest("count", query, QUANTA // 1000, 1, 0, SHARE, b"request")
    return replace(given, **changed)


def reserved(ledger: Ledger | None = None) -> Ledger:
    ledger = ledger or ledger_of()
    ledger.reserve(LABEL, RESERVE, {}, run=RUN)
    return ledger


def as_it_is(values: IntArray) -> IntArray:
    return values


def measured(sums: Sequence[int], request: ShareRequest) -> list[int]:
    with noise_from(NoNoise()):
        curator = NodeCurator(Rows(sums), reserved(), RUN)
    found: list[int] = curator.measure(request, as_it_is).values.tolist()
    return found


@pytest.mark.attack
def test_order_is_charge_read_noise_mask_store() -> None:
    log: list[str] = []

    class Noting(Ledger):
        def claim(self, *args: Any) -> Any:
            found = super().claim(*args)
            log.append("charge")
            return found

        def record(self, *args: Any) -> Any:
            log.append("store")
            return super().record(*args)

    class Drawing(NoNoise):
        def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
            log.append("noise")
            return exact

    def mask(values: IntArray) -> IntArray:
        log.append("mask")
        return values + MASK

    ledger = Noting(reserved()._journal)
    with noise_from(Drawing()):
        curator = NodeCurator(Rows(log=log), ledger, RUN)
    result = curator.measure(request_for(), mask)
    assert log == ["charge", "read", "noise", "mask", "store"]
    assert result.values.tolist() == [5 * UNIT + MASK]
    assert ledger.run(RUN).spent == gaussian_spend(QUANTA // 1000, 1)
    # What is kept is masked, and so is what a repeat returns: with the mask it had.
    again = curator.measure(request_for(), lambda values: values + 1)
    assert again.values.tolist() == result.values.tolist()
    assert log[5:] == ["charge"]


@pytest.mark.attack
def test_another_context_in_a_slot_is_refused() -> None:
    rows = Rows()
    curator = NodeCurator(rows, reserved(), RUN)
    curator.measure(request_for(), as_it_is)
    for other in (
        request_for(context=b"request 2"),
        request_for(quanta=QUANTA // 999),
        request_for(l0=2),
    ):
        with pytest.raises(LedgerError, match="belongs to another query"):
            curator.measure(other, as_it_is)
    assert rows.log == ["read"]


@pytest.mark.attack
def test_nothing_is_read_beyond_what_was_reserved() -> None:
    rows = Rows()
    curator = NodeCurator(rows, reserved(), RUN)
    whole = BUDGET.capacity.quanta
    curator.measure(request_for(slot="a", quanta=2 * whole // 3), as_it_is)
    with pytest.raises(BudgetExceededError):
        curator.measure(request_for(slot="b", quanta=2 * whole // 3), as_it_is)
    assert rows.log == ["read"]


@pytest.mark.attack
@pytest.mark.parametrize("wrong", [{"l0": 0}, {"quanta": 0}, {"quanta": -1}, {"quanta": 2**84}])
def test_request_whose_noise_does_not_fit_is_refused_before_the_charge(
    wrong: dict[str, Any],
) -> None:
    rows, ledger = Rows(), reserved()
    curator = NodeCurator(rows, ledger, RUN)
    for act in (curator.sigma, lambda one: curator.measure(one, as_it_is)):
        with pytest.raises(ValueError, match=r"changes no more|share of the noise"):
            act(request_for(**wrong))
    assert rows.log == []
    assert ledger.run(RUN).spent.quanta == 0


@pytest.mark.attack
@pytest.mark.parametrize("members", [2, 3, 1000])
def test_sums_are_clamped_before_noise_and_never_after(members: int) -> None:
    """A sum beyond the clamp shows no more than the clamp; noise beyond it is kept as it is."""
    share, largest = NoiseShare(members, 1), 2**62 // members
    for given, clamped in ((2**63 - 1, largest), (-(2**63), -largest), (7, 7), (2**70, largest)):
        assert measured([given], request_for(share=share)) == [clamped]

    class Far(NoNoise):
        def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
            return exact + 2**60

    with noise_from(Far()):
        curator = NodeCurator(Rows([2**63 - 1]), reserved(), RUN)
    found = curator.measure(request_for(share=share), as_it_is).values.tolist()
    assert found == [largest + 2**60]


@pytest.mark.attack
@pytest.mark.parametrize(("members", "colluding"), [(3, 1), (10, 2), (100, 33)])
def test_share_is_that_of_the_members_who_do_not_collude(members: int, colluding: int) -> None:
    """σ²/(n − c) by chi-square, both ways: false alarm 1e-6, seeded."""
    share, query = NoiseShare(members, colluding), ColumnHistograms(np.ones(3), 2048)
    request = request_for(query, share=share, l0=query.sensitivity.l0)
    with noise_from(SeededNoise(members)):
        curator = NodeCurator(Rows([0] * query.size), reserved(), RUN)
    noise = curator.measure(request, as_it_is).values.astype(float)
    sigma = sigma_of(query.sensitivity, request.quanta)
    statistic = float((noise**2).sum()) / (sigma**2 / (members - colluding))
    assert chi2.isf(1 - 5e-7, query.size) < statistic < chi2.isf(5e-7, query.size)
    assert curator.sigma(request) >= sigma / (members - colluding) ** 0.5


@pytest.mark.real_noise
def test_real_noise_is_opendps() -> None:
    curator = NodeCurator(Rows(), reserved(), RUN)
    assert curator.measure(request_for(), as_it_is).noise == "OpenDP"


@pytest.mark.attack
def test_each_curator_has_a_key_of_its_own_and_one_sample() -> None:
    """Whoever knows a sample's key can tell a row by whom else it leaves out."""
    tables = [Rows() for _ in range(4)]
    for rows in tables:
        curator = NodeCurator(rows, reserved(), RUN)
        for slot in ("a", "b"):
            curator.measure(request_for(slot=slot, sampling_exponent=3), as_it_is)
        with pytest.raises(ValueError, match="one sample"):
            curator.measure(request_for(slot="c", sampling_exponent=4), as_it_is)
        assert rows.log == ["sample 3", "read", "read"]
        assert len(set(rows.keys)) == 1
        assert len(rows.keys[0]) == 32
    assert len({rows.keys[0] for rows in tables}) == 4


def test_result_of_another_length_is_not_released() -> None:
    curator = NodeCurator(Rows([1, 2]), reserved(), RUN)
    with pytest.raises(Exception, match="could not be read or summed"):
        curator.measure(request_for(), as_it_is)
