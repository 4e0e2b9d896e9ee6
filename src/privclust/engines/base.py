"""What every engine shares: its one verb, the table that opens it, the last word on bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from privclust.domains.base import Domain
from privclust.domains.profiled import ProfileDomain
from privclust.domains.reader import Use
from privclust.engines.noisy import NoisyEngine
from privclust.kernels.grid import BoolArray, FloatArray, IntArray
from privclust.kernels.implementation import compiled_loops
from privclust.queries.base import Contribution, Query, Sensitivity
from privclust.queries.unit import Unit
from privclust.sources.schema import Schema
from privclust.sources.snapshot import Snapshot

_LARGEST_EXACT_SQUARE = 2.0**62
_HALF = 16


class Engine(Protocol):
    """Sums a query over rows and returns the exact integers, to the Curator only."""

    @property
    def n_columns(self) -> int:
        """Columns of the table, which are public."""

    @property
    def unit(self) -> Unit:
        """Whose rows count as one."""

    def aggregate(self, query: Query) -> Sequence[int]:
        """Return the sum of what all units contribute to the query, as integers of any size.

        No unit contributes more than ``unit.sensitivity(query)``. There are ``query.size`` sums;
        the Curator releases nothing of any other number. `ExactSums` keeps them in arrays.
        """

    def expect_sample(self, key: bytes) -> None:
        """Note, before rows are read, that a sample with this key may be drawn."""

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        """Return an engine over some of the units, each in or out by a bit that `key` decides.

        A unit is in with probability 2^-sampling_exponent. Rows are not read before `aggregate`.
        """


AnyEngine: TypeAlias = Engine | NoisyEngine
"""What a Curator measures by: exact sums, to which it adds noise, or sums that have it."""


class Table(ABC):
    """A table that opens its own engine; an estimator's `fit` takes any subclass."""

    labelled_by: ClassVar[str] = (
        "rows of this table are labelled where they are: fit, and call model.predict on parts of "
        "it that are in memory."
    )
    """What `predict` says of rows that this process does not read."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Names and types of its columns, which are public."""

    @property
    def snapshot(self) -> Snapshot | None:
        """What holds the state of the table that all its engines read, where something does."""
        return None

    @abstractmethod
    def open_engine(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> AnyEngine:
        """Return an engine over these columns, or refuse them before anything is charged.

        `columns` are in the order of the `domain`; None stands for all but that of ids, where
        columns have no names. The engine's unit is ``protected(unit)``, or it is refused. Nothing
        is read but names and types.
        """

    def protected(self, unit: Unit) -> Unit:
        """Return what its engines protect if a user asks for `unit`: the same, but for federations.

        There, rows of one unit may lie at several clients.
        """
        return unit

    def clustered(
        self, unit: Unit, named: Collection[str] | None, uses: Mapping[str, Use] | None
    ) -> Schema:
        """Return the columns to cluster: those that are `named` by bounds, or all but `unit`'s.

        `uses` says which of them are declared as something else than numbers.
        """
        return self.schema.features(unit.column, named, uses)

    def profiled(self, unit: Unit, domain: ProfileDomain) -> Schema:
        """Return the columns that a profile of `domain` reads, that of `unit` not among them."""
        return self.schema.read_by(domain, unit.column, domain.names)


def contributions(query: Query, rows: FloatArray) -> Contribution:
    """Return what each row contributes, and refuse a query that does not say so of each row once.

    The bounds are those of one row. They hold for a row of the table only if it has one line. A
    query cannot write to the rows, which the engine may hold for the next.
    """
    kept = rows.view()
    kept.setflags(write=False)
    found = query.contribute(kept)
    if not len(found.blocks) == len(found.values) == len(rows):
        raise ValueError(
            f"the query {type(query).__name__} gives {len(found.values)} contributions of "
            f"{len(rows)} rows. It must give one of each row, with all the blocks that it touches."
        )
    return found


def bounded_sum(query: Query, contribution: Contribution) -> IntArray:
    """Add up the rows of a contribution, leaving out every row that breaks the query's bounds.

    This is the engine's last word (docs/proofs/sensitivity.md): whatever a query computes, one
    row moves the result by no more than the query declares. Sums are exact for up to 2^20 rows a
    call.
    """
    _check_form(query.size, contribution.blocks, contribution.values)
    width = contribution.values.shape[2]
    n_blocks = query.size // width
    loops, limits = compiled_loops(), _limits(query.sensitivity)
    if loops is not None and limits is not None:
        compiled: IntArray = loops.bounded_sum(
            contribution.blocks, contribution.values, n_blocks, limits, query.sensitivity.monotone
        )
        return compiled.ravel()
    kept = kept_rows(query, contribution)
    blocks, values = contribution.blocks[kept], contribution.values[kept]
    if n_blocks == 1 < width:
        # The same sum, and faster where a row changes many coordinates.
        added: IntArray = values.sum(axis=(0, 1), dtype=np.int64)
        return added
    total = np.zeros((n_blocks, width), dtype=np.int64)
    for column in range(width):
        # bincount adds in float64: exact, since 2^20 rows of at most 2^31, each once in a block,
        # stay below 2^53.
        sums = np.bincount(blocks.ravel(), values[:, :, column].ravel(), n_blocks)
        total[:, column] = sums.astype(np.int64)
    return total.ravel()


def kept_rows(query: Query, contribution: Contribution) -> BoolArray:
    """Tell for each row whether it keeps the bounds that the query declares.

    What is checked is what is added up: no number is converted in between.
    """
    bounds, blocks, values = query.sensitivity, contribution.blocks, contribution.values
    _check_form(query.size, blocks, values)
    n_blocks = query.size // values.shape[2]
    loops, limits = compiled_loops(), _limits(bounds)
    if loops is not None and limits is not None:
        compiled: BoolArray = loops.kept_rows(blocks, values, n_blocks, limits, bounds.monotone)
        return compiled
    sizes = np.abs(values)
    kept: BoolArray = sizes.max(axis=(1, 2), initial=0) <= min(bounds.linf, 2**31)
    kept &= sizes.sum(axis=(1, 2)) <= bounds.l1
    kept &= _squares_within(sizes, bounds.l2_squared)
    kept &= np.count_nonzero(values, axis=(1, 2)) <= bounds.l0
    kept &= ((blocks >= 0) & (blocks < n_blocks)).all(axis=1)
    if bounds.monotone:
        kept &= values.min(axis=(1, 2), initial=0) >= 0
    if blocks.shape[1] > 1:
        kept &= (np.diff(np.sort(blocks, axis=1), axis=1) > 0).all(axis=1)
    return kept


def _limits(bounds: Sensitivity) -> tuple[int, int, int, int] | None:
    """Return what compiled loops compare a row with; None if its squares may outgrow 64 bits."""
    if bounds.l2_squared > 2**61:
        return None
    return min(bounds.linf, 2**31), min(bounds.l1, 2**62), bounds.l2_squared, bounds.l0


def _check_form(size: int, blocks: IntArray, values: IntArray) -> None:
    for array in (blocks, values):
        # A subclass, such as a masked array, may leave numbers out of a maximum and not of a sum.
        if type(array) is not np.ndarray or array.dtype != np.int64:
            raise TypeError("blocks and values of a contribution must be NumPy arrays of int64.")
    shaped = values.ndim == 3 and blocks.shape == values.shape[:2]
    if not shaped or values.shape[2] == 0 or size % values.shape[2]:
        raise ValueError(
            "blocks of shape (n, q) need values of shape (n, q, width), and the size of a query "
            f"must be a multiple of the width; got {blocks.shape}, {values.shape}, size {size}."
        )


def _squares_within(sizes: IntArray, most: int) -> BoolArray:
    """Tell for each row of absolute values of at most 2^31 whether their squares keep to `most`.

    The lowest integer, whose absolute value is negative, does not.
    """
    if most <= _LARGEST_EXACT_SQUARE / 2:
        lengths = sizes.astype(np.float64)
        # The float sum of squares only rules out that the exact one has wrapped around.
        within: BoolArray = np.einsum("nqw,nqw->n", lengths, lengths) < _LARGEST_EXACT_SQUARE
        within &= np.einsum("nqw,nqw->n", sizes, sizes) <= most
        return within
    # Squares of wide rows outgrow 64 bits: each is added up in two halves of its root.
    high, low = sizes >> _HALF, sizes & (2**_HALF - 1)
    crossed = np.einsum("nqw,nqw->n", high, low)
    rest = np.einsum("nqw,nqw->n", low, low) + ((crossed & (2 ** (_HALF - 1) - 1)) << (_HALF + 1))
    upper = np.einsum("nqw,nqw->n", high, high) + (crossed >> (_HALF - 1)) + (rest >> 2 * _HALF)
    lower = rest & (2 ** (2 * _HALF) - 1)
    upper_most, lower_most = min(most >> 2 * _HALF, 2**62), most & (2 ** (2 * _HALF) - 1)
    within = (upper < upper_most) | ((upper == upper_most) & (lower <= lower_most))
    within &= sizes.min(axis=(1, 2), initial=0) >= 0
    return within
