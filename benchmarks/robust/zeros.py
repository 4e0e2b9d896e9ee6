"""Tables that are mostly zeros: sales, visits, claims."""

from __future__ import annotations

import numpy as np

from benchmarks.robust.drawing import BOX, N_ROWS, SIDE, Drawn, amounts, clusters, drawn

AMOUNT_MAX = 5_000.0


def zero_one(rng: np.random.Generator, n_columns: int, zeros: float) -> Drawn:
    """One column of amounts that is mostly zero; six Gaussian clusters in the others."""
    return zero_some(rng, n_columns, [zeros])


def zero_some(rng: np.random.Generator, n_columns: int, zeros: list[float]) -> Drawn:
    """Draw amounts with a share of zeros in some columns; six Gaussian clusters in the others."""
    plain = n_columns - len(zeros)
    found = amounts(rng, (N_ROWS, len(zeros)), np.array(zeros))
    rows = np.hstack([found, clusters(rng, N_ROWS, plain, 6)])
    return drawn(
        rows, [0.0] * len(zeros) + [-SIDE] * plain, [AMOUNT_MAX] * len(zeros) + [SIDE] * plain
    )


def equal_rows(rng: np.random.Generator, share: float) -> Drawn:
    """Draw a share of rows that are one and the same; the rest are seven blobs in 4 columns."""
    rows = clusters(rng, N_ROWS, 4, 7, BOX)
    rows[: int(share * N_ROWS)] = [1, 2, 3, 4]
    return drawn(rows, -SIDE, SIDE)


def zero_rows(rng: np.random.Generator, share: float, n_columns: int) -> Drawn:
    """Draw a share of rows that are zero in all columns; the rest are log-normal amounts."""
    rows = amounts(rng, (N_ROWS, n_columns), 0.0)
    rows[: int(share * N_ROWS)] = 0.0
    return drawn(rows, 0.0, AMOUNT_MAX)


def zero_each(rng: np.random.Generator, n_columns: int, zeros: float) -> Drawn:
    """Each column is zero by itself with one probability, and else exponential around 10."""
    rows = rng.exponential(10.0, (N_ROWS, n_columns))
    rows[rng.random(rows.shape) < zeros] = 0.0
    return drawn(rows, 0.0, 100.0)
