"""Attacks on calls as people make them: estimators with a start, a scale, units, a profile."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from helpers.histories import histories, watch

from benchmarks import federated, methods
from benchmarks.digest import Definition, code_digest, definitions_of
from benchmarks.pieces import Piece, load, run
from privclust import estimators
from privclust.audit.canaries import DELTA
from privclust.audit.epsilon_bound import Scores, linear_scores, refuted
from privclust.kernels.grid import FloatArray

EPSILONS = (4.0, 8.0)
"""With so few fits no attack refutes anything of smaller ones."""
FITS, BATCH = 200, 25
"""Of each history at each epsilon, on either side."""
ALONE_EPSILON, ALONE_FITS = 4.0, 100
"""Of an estimator by itself, whose algorithm is attacked more often without it."""
SIDES = ("absent", "present")
ATTACKERS = ("profile", "model", "releases")

KEEP: Definition = ("privclust.estimators._fit", "cluster_fields")
"""Puts what was found into the user's units. How a fit is recorded and stated decides no figure."""
AROUND: dict[str, tuple[tuple[str, ...], tuple[Definition, ...]]] = {
    "start": (("seeded_kmeans",), (("privclust.estimators._init", "start_of"),)),
    "scale": (
        ("_scale",),
        (("privclust.estimators._fit", "_rescaled"), ("privclust.domains.box", "Box.rescaled")),
    ),
    "profile": (
        ("profile",),
        (
            ("privclust.models.profile", "found_in"),
            ("privclust.queries.profiles", "ProfileSums"),
            ("privclust.queries.profiles", "ProfileTallies"),
            ("privclust.domains.profiled", "ProfileDomain"),
            ("privclust.domains._number_column", "OrderedColumn"),
            ("privclust.domains._category_column", "CategoryColumn"),
        ),
    ),
}
"""What words in a history's name add to its estimator's code: algorithms, and what is around."""


@dataclass(frozen=True)
class Watched:
    """What attackers saw of a batch, as 32-bit numbers, and the digest of the code behind it."""

    profile: bytes
    model: bytes
    releases: bytes
    cpu_seconds: float
    code: str


@dataclass(frozen=True)
class Cell:
    """What was refuted of one guarantee by one attacker, after so many fits on either side."""

    method: str
    attacker: str
    guarantee: float
    measured: float
    fits: int


def pieces() -> list[Piece]:
    """Return all batches: histories at each epsilon, then estimators alone."""
    more = [
        Piece(name, side, epsilon, batch)
        for batch in range(FITS // BATCH)
        for name in histories()
        if name not in estimators.__all__
        for epsilon in EPSILONS
        for side in SIDES
    ]
    alone = [
        Piece(name, side, ALONE_EPSILON, batch)
        for batch in range(ALONE_FITS // BATCH)
        for name in estimators.__all__
        for side in SIDES
    ]
    return more + alone


def watch_missing(workers: int = 2) -> None:
    """Make the batches that are missing or stale."""
    run("histories", pieces(), measure, code_of, workers=workers, kind=Watched)


def measure(piece: Piece) -> Watched:
    """Make a batch of one history on one table."""
    start = time.process_time()
    seeds = range(piece.seed * BATCH, (piece.seed + 1) * BATCH)
    seen = watch(histories()[piece.method], piece.epsilon, piece.dataset == "present", seeds)
    packed = {name: numbers.astype("<f4").tobytes() for name, numbers in seen.items()}
    return Watched(
        packed.get("profile", b""),
        packed["model"],
        packed["releases"],
        time.process_time() - start,
        code_of(piece.method),
    )


def code_of(name: str) -> str:
    """Return the digest of the code that figures of a history depend on."""
    kind = next(kind for kind in estimators.__all__ if name.startswith(kind))
    table = methods.METHODS.get(kind)
    algorithms = federated.METHODS[kind][1] if table is None else table.algorithms
    added = [more for word, more in AROUND.items() if word in name]
    algorithms += tuple(one for more, _ in added for one in more)
    around = tuple(one for _, more in added for one in more)
    own = definitions_of("helpers.histories")
    return code_digest(*algorithms, more=(KEEP, *around, *own))


def count_guarantees() -> int:
    """Return how many figures there are in all: one for each history, epsilon and attacker."""
    wanted = {(piece.method, piece.epsilon) for piece in pieces()}
    return sum(len(ATTACKERS) - ("profile" not in name) for name, _ in wanted)


def kept() -> int:
    """Return how many batches are kept and current."""
    found = load("histories", Watched)
    return sum(piece in found and found[piece].code == code_of(piece.method) for piece in pieces())


def refutations(stale: bool = False) -> list[Cell]:
    """Return what batches that are kept refute, guarantee by guarantee; `stale` ones if asked."""
    found = load("histories", Watched)
    sides: dict[tuple[str, float], dict[str, list[Watched]]] = {}
    for piece in pieces():
        if piece in found and (stale or found[piece].code == code_of(piece.method)):
            both = sides.setdefault((piece.method, piece.epsilon), {side: [] for side in SIDES})
            both[piece.dataset].append(found[piece])
    cells = []
    for (name, epsilon), seen in sides.items():
        for attacker in ATTACKERS if all(seen.values()) else ():
            absent, present = (_numbers(seen[side], attacker) for side in SIDES)
            if absent.size:
                fits = min(len(absent), len(present))
                worst = refuted(_scores(attacker, absent, present), DELTA).epsilon_at(DELTA)
                cells.append(Cell(name, attacker, epsilon, worst, fits))
    return cells


def print_table(cells: list[Cell]) -> None:
    """Print what was refuted of each guarantee, by each attacker."""
    print("| calls | attacker sees | fits |", *(f" {epsilon:g} |" for epsilon in EPSILONS), sep="")
    print("|---" * (3 + len(EPSILONS)) + "|")
    for method, attacker in dict.fromkeys((cell.method, cell.attacker) for cell in cells):
        line = [cell for cell in cells if (cell.method, cell.attacker) == (method, attacker)]
        found = {cell.guarantee: f"{cell.measured:.2f}" for cell in line}
        figures = " | ".join(found.get(epsilon, "") for epsilon in EPSILONS)
        print(f"| {method} | {attacker} | {min(cell.fits for cell in line):,} | {figures} |")
    print()


def _numbers(batches: list[Watched], attacker: str) -> FloatArray:
    numbers = np.frombuffer(b"".join(getattr(seen, attacker) for seen in batches), "<f4")
    fits = len(batches) * BATCH
    return numbers.astype(np.float64).reshape(fits, -1) if numbers.size else np.empty((0, 0))


def _scores(attacker: str, absent: FloatArray, present: FloatArray) -> Scores:
    if attacker == "releases":  # a likelihood ratio is a score already
        return Scores(absent[:, 0], present[:, 0])
    return linear_scores(absent, present)
