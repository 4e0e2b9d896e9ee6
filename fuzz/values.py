"""Plain values, as JSON and TOML know them, that nobody expects."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import atheris
import numpy as np

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 0.5, -0.0, 1e-300, 1e150, 1e308, -1e308),
    *(float("nan"), float("inf"), 2**31, 2**53, 2**63, -(2**63), 10**400, "", "0", "nan"),
    *("row", "gaussian", "OpenDP", "\x00", "\ud800", "\u202e", "x" * 300, "<script>", "{{7*7}}"),
    *([], {}, [[]], [{}], {"": {}}, [0], [1.5, None], {"quanta": 1}),
)


def value_from(data: atheris.FuzzedDataProvider, depth: int = 3) -> Any:
    """Return a strange value, or one made up."""
    match data.ConsumeIntInRange(0, 6 if depth else 4):
        case 0 | 1:
            return deepcopy(STRANGE[data.ConsumeIntInRange(0, len(STRANGE) - 1)])
        case 2:
            return data.ConsumeInt(8)
        case 3:
            return data.ConsumeFloat()
        case 4:
            return data.ConsumeUnicode(12)
        case 5:
            return [value_from(data, depth - 1) for _ in range(data.ConsumeIntInRange(0, 3))]
        case _:
            count = data.ConsumeIntInRange(0, 3)
            return {data.ConsumeUnicode(8): value_from(data, depth - 1) for _ in range(count)}


def edit(content: Any, data: atheris.FuzzedDataProvider) -> None:
    """Put something else at one place of nested lists and objects, or take it away."""
    part = content
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        if not keys:
            return
        key = keys[data.ConsumeIntInRange(0, len(keys) - 1)]
        if isinstance(part[key], dict | list) and part[key] and data.ConsumeIntInRange(0, 3):
            part = part[key]
            continue
        if data.ConsumeIntInRange(0, 9):
            part[key] = value_from(data)
        else:
            del part[key]
        return


def noise_seeds(count: int) -> list[bytes]:
    """Return inputs that make different choices."""
    rng = np.random.default_rng(0)
    return [rng.bytes(int(size)) for size in rng.integers(16, 256, count)]
