"""What one fit really cost, by another accountant and from what the engine and the noise saw."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import reduce
from typing import Any

from dp_accounting.pld import privacy_loss_distribution as pld

from privclust.audit.replay import Measurement


def epsilon_spent(measurements: Iterable[Measurement], delta: float, interval: float) -> float:
    """Return the epsilon that these noisy results keep together; losses are put on `interval`.

    It reads the bounds the engine enforced and the scale the noise was drawn with, and no
    charge, share or plan. With delta = 0 epsilons of Laplace noise add up.
    """
    counts = Counter((one.mechanism, _relative_scale(one)) for one in measurements)
    if delta == 0:
        assert {mechanism for mechanism, _ in counts} == {"laplace"}
        return math.fsum(times / scale for (_, scale), times in counts.items())
    losses = [_loss(*kind, interval).self_compose(times) for kind, times in counts.items()]
    whole = reduce(lambda one, other: one.compose(other), losses)
    return float(whole.get_epsilon_for_delta(delta))


def _relative_scale(measurement: Measurement) -> float:
    if measurement.mechanism == "gaussian":
        return measurement.scale / math.sqrt(measurement.sensitivity.l2_squared)
    return measurement.scale / measurement.sensitivity.l1


def _loss(mechanism: str, scale: float, interval: float) -> Any:
    made_by = {"gaussian": pld.from_gaussian_mechanism, "laplace": pld.from_laplace_mechanism}
    return made_by[mechanism](scale, value_discretization_interval=interval)
