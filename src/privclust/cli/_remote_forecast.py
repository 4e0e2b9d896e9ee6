"""What a node forecasts of a fit, as a forecast made here; what it sends is not trusted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import Any

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
    read = {"int": found.integer, "float": found.number, "str": found.text}
    values: dict[str, Any] = {}
    for field in fields(Forecast):
        kind, _, optional = str(field.type).partition(" | ")
        missing = bool(optional) and sent.forecast[field.name] is None
        values[field.name] = None if missing else read[kind](field.name)
    if any(value < 0 for value in values.values() if isinstance(value, int | float)):
        found.refuse("numbers of at least 0")
    made = Forecast(**values)
    if made.n_clusters != n_clusters:
        found.refuse("the clusters that were requested")
    with suppress(ValueError):
        forecast_grid(made)  # sizes and a guarantee that there may be
        return made
    return found.refuse("a guarantee and sizes that there may be")
