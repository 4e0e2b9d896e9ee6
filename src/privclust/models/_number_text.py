"""Numbers with their errors, as people write them."""

from __future__ import annotations

import math


def with_error(value: float, error: float) -> str:
    """Return a value with as many digits as its standard error allows.

    Examples
    --------
    >>> with_error(40.762312, 0.000047), with_error(5154.2, 30.1), with_error(1.5, float("nan"))
    ('40.762312 ± 0.000047', '5,154 ± 30', '1.5')
    """
    if not (math.isfinite(error) and error > 0):
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"
    decimals = max(0, min(12, 1 - math.floor(math.log10(error))))
    return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"
