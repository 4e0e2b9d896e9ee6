"""The forms of Lloyd's iterations that tests go through, and how to run one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from privclust import DPLloyd, FastLloyd
from privclust.algorithms import dp_lloyd, fast_lloyd
from privclust.domains.base import Domain
from privclust.engines.base import Engine
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator


@dataclass(frozen=True)
class Form:
    """An algorithm, and the delta that chooses its noise."""

    name: str
    algorithm: Any
    estimator: Any
    delta: float


FORMS = [
    Form("DPLloyd", dp_lloyd, DPLloyd, 1e-6),
    Form("DPLloyd, pure", dp_lloyd, DPLloyd, 0.0),
    Form("FastLloyd", fast_lloyd, FastLloyd, 1e-6),
]
every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)


def half_widths(domain: Domain) -> FloatArray:
    return domain.half_widths / domain.scales


def fit(
    form: Form,
    engine: Engine,
    k: int = 3,
    epsilon: float = 1.0,
    n_rows: int | None = None,
    delta: float | None = None,
    domain: Domain | None = None,
) -> tuple[Clustering, Curator]:
    budget = Budget(epsilon, form.delta if delta is None else delta)
    widths = None if domain is None else half_widths(domain)
    plan = form.algorithm.plan(k, engine.n_columns, budget, n_rows, widths)
    curator = Curator.open(engine, plan.spending)
    return form.algorithm.run(curator, plan, np.random.default_rng(0)), curator
