"""What a node forecasts of a fit, as a forecast made here; what it sends is not trusted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from privclust.planning.forecast import Forecast, forecast_grid
from privclust.remote._fields import Fields
from privclust.remote.description import RemoteForecast


def forecast_of(sent: RemoteForecast, n_clusters: int) -> Forecast | None:
    """Return what a node expects of a fit of so many clusters; None if it says nothing of that."""
    if sent.forecast is None:
        return None
    found = Fields(sent.forecast, "a forecast")
    if set(sent.forecast) != {field.name for field in fields(Forecast)}:
        found.refuse("exactly the numbers that a forecast has")
    read = {int: found.integer, float: found.number, str: found.text}
    values: dict[str, Any] = {}
    for name, hint in get_type_hints(Forecast).items():
        kind, *others = get_args(hint) or (hint,)
        missing = NoneType in others and sent.forecast[name] is None
        values[name] = None if missing else read[kind](name)
    if any(value < 0 for value in values.values() if isinstance(value, int | float)):
        found.refuse("numbers of at least 0")
    made = Forecast(**values)
    if made.n_clusters != n_clusters:
        found.refuse("the clusters that were requested")
    with suppress(ValueError):
        forecast_grid(made)  # sizes and a guarantee that there may be
        return made
    return found.refuse("a guarantee and sizes that there may be")
