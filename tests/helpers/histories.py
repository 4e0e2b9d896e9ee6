"""Calls as people make them: whole estimators, with a start, a scale, units, profiles, federations.

`privclust.audit.canaries` attacks bare algorithms. Here the canary goes the way of real rows: into
a table, through an estimator's `fit` and what follows from it. The guarantee of a history is that
of all its releases together.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from privclust import estimators
from privclust.audit._few_rows import FewRows
from privclust.audit.canaries import CANARY, CROWD, DELTA, N_CLUSTERS
from privclust.audit.likelihood_ratio import LikelihoodRatioAttack, PairedEngine
from privclust.domains.base import Domain
from privclust.domains.profiled import ProfileDomain
from privclust.domains.reader import Use
from privclust.engines.base import Table
from privclust.engines.factory import table_of
from privclust.engines.federated.federation import Federation
from privclust.engines.noisy import NoisyEngine
from privclust.estimators.base import PrivateClusterer
from privclust.kernels.grid import FloatArray
from privclust.models.profile import Profile
from privclust.privacy.accounting import epsilon_of, mu_of
from privclust.privacy.noise import OpenDPNoise
from privclust.queries.unit import Unit
from privclust.sources.schema import Schema
from privclust.testing import SeededNoise, noise_from

Observed = dict[str, list[float]]
"""What each kind of attacker sees of one history."""
BOUNDS = {"x": (-1.0, 1.0)}
MAX_ROWS_PER_UNIT = 3


@dataclass(frozen=True, eq=False)
class History:
    """Calls on one of two neighbouring tables.

    Attributes
    ----------
    absent, present : table or Federation
        Without the canary, and with it: a row, or all rows of a unit.
    act : callable
        Makes the calls on a table, at an epsilon, with a seed of public choices, and returns what
        attackers see. All its releases together have the guarantee of that epsilon at `DELTA`.
    """

    absent: Any
    present: Any
    act: Callable[[Any, float, int], Observed]


def together(*epsilons: float) -> float:
    """Return the guarantee of several releases of the same rows, each with its own at `DELTA`.

    Examples
    --------
    >>> round(together(0.5, 0.25), 2)
    0.62
    """
    return epsilon_of(math.hypot(*(mu_of(epsilon, DELTA) for epsilon in epsilons)), DELTA)


def half_of(epsilon: float) -> float:
    """Return the epsilon of which two make one, together.

    Examples
    --------
    >>> round(together(half_of(1.0), half_of(1.0)), 9)
    1.0
    """
    return epsilon_of(mu_of(epsilon, DELTA) / math.sqrt(2), DELTA)


def estimator(name: str, epsilon: float, seed: int, **given: Any) -> Any:
    """Return an estimator of the audit's tables."""
    kind = getattr(estimators, name)
    return kind(N_CLUSTERS, epsilon=epsilon, delta=DELTA, bounds=BOUNDS, random_state=seed, **given)


def histories() -> dict[str, History]:
    """Return all that are attacked, by name: every estimator alone, then what goes with it.

    Examples
    --------
    >>> [name for name in histories() if "federation" in name]
    ['PrivateKMeans of a federation', 'PrivateKMeans of a federation by client']
    """
    crowd, more = (pa.table({"x": rows[:, 0]}) for rows in (CROWD, np.vstack([CROWD, CANARY])))
    alone = {name: History(crowd, more, partial(_fit, name)) for name in estimators.__all__}
    many = np.repeat(CANARY[:, 0], MAX_ROWS_PER_UNIT)
    owned = pa.table({"x": CROWD[:, 0], "who": [f"person {place}" for place in range(len(CROWD))]})
    owner = pa.table({"x": many, "who": ["somebody"] * MAX_ROWS_PER_UNIT})
    by_unit = partial(_fit, "PrivateKMeans", unit="who", max_rows_per_unit=MAX_ROWS_PER_UNIT)
    by_client = partial(_fit, "PrivateKMeans", unit="client", max_rows_per_unit=MAX_ROWS_PER_UNIT)
    halves = {"north": crowd.slice(0, len(CROWD) // 2), "south": crowd.slice(len(CROWD) // 2)}
    nobody = crowd.slice(0, 0)
    return {
        **alone,
        "PrivateKMeans from a start": History(
            crowd, more, partial(_fit, "PrivateKMeans", init=_last_week())
        ),
        "PrivateKMeans and its start": History(crowd, more, _fit_twice),
        "PrivateKMeans, scale measured": History(
            crowd, more, partial(_fit, "PrivateKMeans", scale="private")
        ),
        "PrivateKMeans by person": History(owned, pa.concat_tables([owned, owner]), by_unit),
        "FedDPKMeans and its profile": History(crowd, more, _fit_and_profile),
        "PrivateKMeans of a federation": History(
            Federation.in_process({**halves, "west": nobody}),
            Federation.in_process({**halves, "west": pa.table({"x": CANARY[:, 0]})}),
            partial(_fit, "PrivateKMeans"),
        ),
        "PrivateKMeans of a federation by client": History(
            Federation.in_process({**halves, "west": nobody}),
            Federation.in_process({**halves, "west": owner.select(["x"])}),
            by_client,
        ),
    }


def watch(
    history: History, epsilon: float, present: bool, seeds: Iterable[int]
) -> dict[str, FloatArray]:
    """Return what attackers see of a history, a line for each seed, with real noise.

    Each sees its own part; the one called "releases" sees every noisy result, and has the
    logarithm of their likelihood ratio.

    Examples
    --------
    >>> seen = watch(histories()["DPLloyd"], 1.0, present=True, seeds=range(2))
    >>> {attacker: numbers.shape for attacker, numbers in seen.items()}
    {'model': (2, 6), 'releases': (2,)}
    """
    lines: dict[str, list[Any]] = {}
    for seed in seeds:
        absent, with_canary = FewRows(CROWD), FewRows(np.vstack([CROWD, CANARY]))
        fitted = with_canary if present else absent
        attack = LikelihoodRatioAttack(absent, with_canary, fitted, OpenDPNoise())
        with noise_from(attack), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that noise hides so small clusters
            observed = history.act(_PairedTable(attack, history), epsilon, seed)
        for attacker, numbers in observed.items():
            lines.setdefault(attacker, []).append(numbers)
        lines.setdefault("releases", []).append(attack.log_ratio)
    return {attacker: np.array(numbers) for attacker, numbers in lines.items()}


def model_numbers(model: PrivateClusterer) -> list[float]:
    """Return what may reveal the canary: numbers of rows, and what lies where it does."""
    distances = np.linalg.norm(model.cluster_centers_ - CANARY, axis=1)
    nearest = int(np.argmin(distances))
    sizes = model.cluster_sizes_
    return [
        float(model.n_rows_),
        float(sizes.sum()),
        float(sizes.max()),
        float(sizes[nearest]),
        float(distances[nearest]),
        float(sizes @ (model.cluster_centers_ @ CANARY[0])),
    ]


def profile_numbers(profile: Profile) -> list[float]:
    """Return what a profile alone reveals: sizes, and how many rows lie at the canary."""
    sizes = np.sort(profile.sizes.values)
    tallies = profile.releases[0].values.reshape(len(sizes), -1)
    highest = profile.columns[0].shares.values.shape[1] - 2  # the last place is for missing cells
    return [
        *map(float, sizes),
        float(tallies.sum()),
        float(tallies[:, highest].sum()),
        float(profile.releases[1].values.sum()),
    ]


def _fit(name: str, table: Any, epsilon: float, seed: int, **given: Any) -> Observed:
    return {"model": model_numbers(estimator(name, epsilon, seed, **given).fit(table))}


@cache
def _last_week() -> Any:
    """Return a model of other rows, which is public, and the same for all histories."""
    rows = np.random.default_rng(0).normal([[-0.5], [0.5]], 0.05, (2, 400)).ravel()
    with noise_from(SeededNoise(0)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that delta is large
        return estimator("PrivateKMeans", 4.0, 0).fit(pa.table({"x": rows}))


def _fit_twice(table: Any, epsilon: float, seed: int) -> Observed:
    first = estimator("PrivateKMeans", half_of(epsilon), seed).fit(table)
    second = estimator("PrivateKMeans", half_of(epsilon), seed, init=first).fit(table)
    return {"model": model_numbers(first) + model_numbers(second)}


def _fit_and_profile(table: Any, epsilon: float, seed: int) -> Observed:
    model = estimator("FedDPKMeans", half_of(epsilon), seed).fit(table)
    profile = model.profile(table, ["x"], bounds=BOUNDS, epsilon=half_of(epsilon))
    alone = profile_numbers(profile)
    return {"profile": alone, "model": model_numbers(model) + alone}


class _PairedTable(Table):
    """Two neighbouring tables that estimators read as one; all sums pass through an attack."""

    def __init__(self, attack: LikelihoodRatioAttack, history: History) -> None:
        self._attack = attack
        self._tables = (table_of(history.absent), table_of(history.present))

    @property
    def schema(self) -> Schema:
        return self._tables[0].schema

    def open_engine(
        self, columns: Sequence[str] | None, domain: Domain, unit: Unit
    ) -> PairedEngine:
        absent, present = (table.open_engine(columns, domain, unit) for table in self._tables)
        assert not isinstance(absent, NoisyEngine)
        assert not isinstance(present, NoisyEngine)
        return self._attack.paired(absent, present)

    def protected(self, unit: Unit) -> Unit:
        return self._tables[0].protected(unit)

    def clustered(
        self, unit: Unit, named: Collection[str] | None, uses: Mapping[str, Use] | None
    ) -> Schema:
        return self._tables[0].clustered(unit, named, uses)

    def profiled(self, unit: Unit, domain: ProfileDomain) -> Schema:
        return self._tables[0].profiled(unit, domain)
