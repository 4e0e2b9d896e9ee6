"""Made-up tables of a few rows, which an audit queries a million times."""

from __future__ import annotations

import numpy as np

from privclust.domains.ball import Ball
from privclust.engines._summing import total
from privclust.engines.exact_sums import ExactSums
from privclust.engines.sampling import included, row_words
from privclust.engines.units import split_batches
from privclust.kernels.grid import FloatArray
from privclust.queries.base import Query
from privclust.queries.unit import ROW


class FewRows:
    """An engine over a few rows of the unit ball; it sums as all do, but starts no threads.

    Examples
    --------
    >>> from privclust.queries.base import Count
    >>> FewRows(np.zeros((5, 2))).aggregate(Count())[0] // 2**26
    5
    """

    unit = ROW

    def __init__(self, rows: FloatArray) -> None:
        self.n_columns = rows.shape[1]
        self._rows = Ball(np.zeros(self.n_columns), 1.0).to_grid(rows).astype(np.int32)

    def aggregate(self, query: Query) -> ExactSums:
        """Return the sum of what all rows contribute to the query."""
        return total(query, ROW, split_batches(self._rows, None))

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: rows are in memory."""

    def sample(self, sampling_exponent: int, key: bytes) -> FewRows:
        """Return an engine over some of the rows, each in or out by a bit that `key` decides."""
        some = FewRows(np.empty((0, self.n_columns)))
        some._rows = self._rows[included(row_words(key, 0, len(self._rows)), sampling_exponent)]
        return some
