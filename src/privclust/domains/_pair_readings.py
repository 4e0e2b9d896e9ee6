"""Two pairs of bounds for two columns: they may be sides, or a pair for each column.

They are read as sides: all lower bounds, then all upper ones. Whatever is said here follows from
bounds and names of columns, which are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info
from typing import TypeGuard

from privclust.domains._number_text import plain
from privclust.errors import safe_repr, warn_user

LARGEST = float_info.max

_Pair = tuple[float, float] | list[float]


def warn_of_pairs(sides: tuple[object, object], names: Sequence[str] | None) -> None:
    """Warn if two tuples for two columns look like a pair for each, and were read as sides.

    Lists and arrays are sides, as documents write them, and are not warned of.
    """
    if all(isinstance(side, tuple) for side in sides) and _are_pairs(sides):
        warn_user(f"bounds of two pairs can be read in two ways. {_readings(sides, names)}")


def pairs_instead(sides: tuple[object, object], names: Sequence[str] | None) -> str:
    """Return how refused sides read as a pair for each of two columns; empty if they do not."""
    return f" {_readings(sides, names)}" if _are_pairs(sides) else ""


def _are_pairs(sides: tuple[object, object]) -> TypeGuard[tuple[_Pair, _Pair]]:
    """Tell whether both sides are two plain numbers, the first below the second."""
    return all(
        isinstance(side, tuple | list)
        and len(side) == 2
        and all(isinstance(value, int | float) and abs(value) <= LARGEST for value in side)
        and side[0] < side[1]
        for side in sides
    )


def _readings(sides: tuple[_Pair, _Pair], names: Sequence[str] | None) -> str:
    """Say how two pairs were read, and how to write both ways so that there is one."""
    (a, b), (c, d) = ([plain(float(value)) for value in side] for side in sides)
    one, other = ("column 0", "column 1") if names is None else map(safe_repr, names)
    by_name = "" if names is None else f", or by name {{{one}: ({a}, {b}), {other}: ({c}, {d})}}"
    return (
        f"They were read as all lower bounds, then all upper ones: {one} from {a} to {c}, {other} "
        f"from {b} to {d}; ([{a}, {b}], [{c}, {d}]) says so. If each pair is meant for a column, "
        f"{one} from {a} to {b} and {other} from {c} to {d}, type ([{a}, {c}], [{b}, {d}])"
        f"{by_name}."
    )
