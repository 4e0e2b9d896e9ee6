"""All that a coordinator and colluding nodes see of a fit, and the best attack on it.

The canary is a row of one honest node. Colluders know their own rows and shares of the noise; from
honest nodes the coordinator has masked sums. Attackers know both tables and see every query.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from privclust.audit.canaries import CANARY, CROWD, DELTA, N_CLUSTERS, exported, planned_by
from privclust.cohorts import masks, member
from privclust.cohorts.federation import NodeFederation
from privclust.cohorts.masks import MaskKey
from privclust.cohorts.member import RehearsedNode
from privclust.cohorts.sum_request import Reply, SumRequest
from privclust.domains.box import Box
from privclust.engines.federated.wire import decode
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray, IntArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.measurement import sigma_of
from privclust.privacy.noise import NoiseSource, OpenDPNoise
from privclust.privacy.noise_shares import NoiseShare
from privclust.privacy.plan import Slot, make_plan, numbered
from privclust.queries import ROW, NearestVotes, Query
from privclust.testing import SeededNoise, noise_from

DOMAIN = Box([-1.0], [1.0])
ATTACKERS = ("sums", "repeated masks")
ROUNDS = 4


class Told:
    """A noise source that tells whoever holds it what it drew."""

    def __init__(self, source: NoiseSource) -> None:
        self.name = source.name
        self.drawn: list[IntArray] = []
        self._source = source

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        """Draw noise, and note it."""
        noisy = self._source.gaussian(exact, sigma)
        self.drawn.append(noisy - exact)
        return noisy

    def key(self) -> bytes:
        """Return a key as the source draws it."""
        return self._source.key()

    def laplace(self, exact: IntArray, scale: float) -> IntArray:
        """Fail: cohorts have Gaussian noise alone."""
        raise AssertionError

    def permute_and_flip(self, scores: IntArray, scale: float) -> int:
        """Fail: cohorts have Gaussian noise alone."""
        raise AssertionError


class Overheard(RehearsedNode):
    """A node of whose messages the coordinator keeps all, with noise of its own."""

    def __init__(self, name: str, table: FloatArray, noise: NoiseSource) -> None:
        super().__init__(name, table)
        self.rows, self.noise = table, Told(noise)
        self.requests: list[SumRequest] = []
        self.replies: list[IntArray] = []

    def submit(self, message: bytes) -> None:
        """Take a request, and keep it."""
        with noise_from(self.noise):
            super().submit(message)
        request = decode(message, SumRequest)
        given = self.reply(request.agreement, request.digest)
        assert given is not None
        self.requests.append(request)
        self.replies.append(decode(given, Reply).integers())


@dataclass(frozen=True)
class Setting:
    """A cohort: how many nodes, how many of them collude, and the guarantee of a fit."""

    members: int
    colluding: int
    epsilon: float

    @property
    def budget(self) -> Budget:
        """The guarantee that is stated."""
        return Budget(self.epsilon, DELTA)


@dataclass(frozen=True, eq=False)
class View:
    """One fit as the attackers see it: honest nodes first, the one with the canary before all."""

    honest: list[Overheard]
    colluding: list[Overheard]

    @property
    def scales(self) -> list[float]:
        """The noise that each honest node owes, by request."""
        return [
            sigma_of(request.query.sensitivity, request.quanta) / len(self.honest) ** 0.5
            for request in self.honest[0].requests
        ]


def votes(curator: Curator) -> None:
    """Let rows vote a few times, so that the canary is alone with its vote, for changing places."""
    points = np.array([[-0.5], [1.0], [0.0], [-0.9]])
    for number, name in enumerate(numbered("votes", ROUNDS)):
        curator.measure(name, NearestVotes(np.roll(points, number, axis=0)))


@contextmanager
def planted(bug: str | None) -> Iterator[None]:
    """Make all nodes have a bug of `BUGS`, or none."""
    with ExitStack() as stack:
        if bug is not None:
            stack.enter_context(BUGS[bug]())
        yield


def _one_mask() -> Any:
    honest = masks.masked

    def masked(
        values: IntArray, secret: bytes, own: MaskKey, others: Iterable[MaskKey], context: bytes
    ) -> IntArray:
        return honest(values, secret, own, others, b"")

    return patch.object(member, "masked", masked)


def _small_shares() -> Any:
    return patch.object(NoiseShare, "honest", property(lambda share: share.members))


BUGS: dict[str, Callable[[], Any]] = {
    "one mask for all requests": _one_mask,
    "shares of sigma/sqrt(n)": _small_shares,
}
"""What the attacks must find."""


def watch(method: str, setting: Setting, present: bool, seed: int, seeded: bool = False) -> View:
    """Make one fit, with real noise unless it is `seeded`, and return what attackers see of it."""
    budget = setting.budget
    nodes = []
    for place in range(setting.members):
        rows = CROWD[place :: setting.members]
        rows = np.vstack([rows, CANARY]) if present and place == 0 else rows
        noise = SeededNoise(1000 * seed + 2 * place + present) if seeded else OpenDPNoise()
        nodes.append(Overheard(f"node {place:02}", rows, noise))
    federation = NodeFederation(tuple(nodes), CANARY.size, "eve", setting.colluding)
    engine = federation.open_engine(None, DOMAIN, ROW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that noise hides so small clusters
        if method == "votes":
            slots = [Slot(name, 1 / ROUNDS) for name in numbered("votes", ROUNDS)]
            votes(Curator.open(engine, make_plan(budget, slots)))
        else:
            algorithm = exported()[method]
            planned = planned_by(algorithm, N_CLUSTERS, CANARY.size, budget)
            curator = Curator.open(engine, planned.spending)
            algorithm.run(curator, planned, np.random.default_rng(seed))
    n_honest = setting.members - setting.colluding
    return View(nodes[:n_honest], nodes[n_honest:])


def log_ratios(view: View) -> dict[str, float]:
    """Return how much likelier it is, for each attacker, that the canary is there.

    One adds up each request's replies and takes away what colluders added: honest sums, with the
    noise of honest nodes. If masks hide all else, that is all there is, and no attacker can do
    better. The other takes the masks of one node to be the same for all requests of a fit, and
    compares its replies with each other.
    """
    requests = view.honest[0].requests
    sums, scales = 0.0, view.scales
    totals = [_honest_total(view, number) for number in range(len(requests))]
    exact = [_exact_sums(view, request.query) for request in requests]
    for number, total in enumerate(totals):
        variance = scales[number] ** 2 * len(view.honest)
        known = exact[number][0].sum(axis=0)
        sums += _ratio(total - known, exact[number][1] - exact[number][0][0], variance)
    size = min(len(total) for total in totals)
    replies = np.array(
        [[node.replies[number][:size] for node in view.honest] for number in range(len(requests))]
    )
    # Masks that are the same cancel; what is left of the first is spread over the nodes.
    apart = (replies - replies[:1]).astype(float) + totals[0][:size] / len(view.honest)
    scale = np.array(scales)[:, None, None]
    absent = apart - np.array([one[0][:, :size] for one in exact])
    moved = np.zeros_like(absent)
    moved[:, 0] = [one[1][:size] - one[0][0, :size] for one in exact]
    first, second = (_without_masks(part, scale) for part in (absent, absent - moved))
    return {"sums": sums, "repeated masks": float((first**2).sum() - (second**2).sum()) / 2}


def _honest_total(view: View, number: int) -> FloatArray:
    """Return the noisy sums of honest nodes, from what the coordinator and colluders have."""
    total = np.zeros(view.honest[0].requests[number].size, dtype=np.uint64)
    for node in (*view.honest, *view.colluding):
        total += node.replies[number].view(np.uint64)
    for node in view.colluding:
        query = node.requests[number].query
        added = np.array(list(NumpyEngine(node.rows, DOMAIN).aggregate(query)))
        total -= (added + node.noise.drawn[number]).view(np.uint64)
    return total.view(np.int64).astype(float)


def _exact_sums(view: View, query: Query) -> tuple[FloatArray, FloatArray]:
    """Return the sums of honest nodes without the canary, and those of its node with it."""
    first = view.honest[0].rows
    without = first[~(first == CANARY).all(axis=1)]
    tables = [without, *(node.rows for node in view.honest[1:]), np.vstack([without, CANARY])]
    found = [np.array(list(NumpyEngine(rows, DOMAIN).aggregate(query))) for rows in tables]
    return np.array(found[:-1], dtype=float), found[-1].astype(float)


def _ratio(absent: FloatArray, moved: FloatArray, variance: float) -> float:
    return float((absent**2).sum() - ((absent - moved) ** 2).sum()) / (2 * variance)


def _without_masks(values: FloatArray, scale: FloatArray) -> FloatArray:
    """Take away what one mask for each node explains best, where all masks add up to nothing."""
    weights = 1 / scale**2
    means = (values * weights).sum(axis=0, keepdims=True) / weights.sum(axis=0, keepdims=True)
    masks = means - means.mean(axis=1, keepdims=True)
    left: FloatArray = (values - masks) / scale
    return left


def scores(
    method: str, setting: Setting, present: bool, seeds: Iterable[int], seeded: bool = False
) -> dict[str, FloatArray]:
    """Make a fit for each seed and return the log likelihood ratios of each attacker."""
    found: list[Any] = [log_ratios(watch(method, setting, present, seed, seeded)) for seed in seeds]
    return {name: np.array([one[name] for one in found]) for name in ATTACKERS}
