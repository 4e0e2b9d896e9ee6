"""Secret coins that decide which rows belong to a sample."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

HALVINGS_MAX = 32


def heads(key: bytes, block: int, n_rows: int, halvings: int) -> NDArray[np.bool_]:
    """Toss a coin for each row of a block; heads come with probability 2^-halvings.

    A coin depends on the key and on the row's address, that is its block and its place in the
    block, and on nothing else.

    Examples
    --------
    >>> heads(b"secret", 0, 6, 1).tolist()
    [False, False, True, True, True, False]
    """
    stream = hashlib.shake_256(key + block.to_bytes(8, "little")).digest(4 * n_rows)
    coins = np.frombuffer(stream, dtype="<u4")
    return np.asarray(coins < 2 ** (HALVINGS_MAX - halvings))
