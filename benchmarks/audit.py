"""Attacks on ourselves: what they refute of our guarantees, and which tests notice planted bugs.

Empirical epsilon: every algorithm is fitted with and without a canary, with real noise, and two
attackers guess which it was: one sees the model, one all releases. What they refute must stay below
the guarantee; of a plain count they must refute nearly all, or the attack has no teeth. The same of
calls as people make them (`audit_histories`). Mutations (`audit_mutations`): planted bugs, most of
them of published implementations, each of which the test meant for it must catch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from helpers.histories import histories, watch
from mutations import CATALOGUE

from benchmarks import audit_histories, audit_mutations, federated, methods
from benchmarks.audit_histories import Cell
from benchmarks.digest import code_digest
from benchmarks.figures import audit as picture
from benchmarks.figures.style import PLACE, save
from benchmarks.pieces import Piece, load, run
from privclust.audit.canaries import (
    DELTA,
    PLAIN_COUNT,
    AlgorithmFunctions,
    Sightings,
    attacks,
    exported,
    sightings,
)
from privclust.audit.epsilon_bound import Scores, refuted
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
FITS, BATCH = 500, 50
"""Of each algorithm at each epsilon, on either side."""
COUNT_FITS, COUNT_BATCH = 40_000, 2000
COUNTS = {"count, Gaussian noise": DELTA, "count, Laplace noise": 0.0}
TEETH = 0.8
"""The part of its guarantee that a plain count must be seen to use."""
SIDES = ("absent", "present")
ATTACKERS = ("model", "releases")
MODEL_NUMBERS = 6
"""Numbers that an attacker takes from a model."""


@dataclass(frozen=True)
class Seen:
    """What a batch of fits showed, as 32-bit numbers, and the digest of the code that made them."""

    releases: bytes
    models: bytes
    cpu_seconds: float
    code: str


def main(quick: bool) -> None:
    """Make the fits and plant the mutations that are missing; `quick` makes a few fits."""
    if quick:
        _try_out()
        return
    run("audit", pieces(), measure, code_of, kind=Seen)
    audit_histories.watch_missing()
    audit_mutations.plant_missing()
    report()


def pieces() -> list[Piece]:
    """Return all batches of fits; the first few cover every guarantee already, if roughly."""
    counts = [
        Piece(method, side, 1.0, batch)
        for batch in range(COUNT_FITS // COUNT_BATCH)
        for method in COUNTS
        for side in SIDES
    ]
    batches = [
        Piece(method, side, epsilon, batch)
        for batch in range(FITS // BATCH)
        for method in exported()
        for epsilon in EPSILONS
        for side in SIDES
    ]
    return [*counts, *batches]


def measure(piece: Piece) -> Seen:
    """Make a batch of fits of one table."""
    start = time.process_time()
    algorithm, budget = _target(piece.method, piece.epsilon)
    batch = COUNT_BATCH if piece.method in COUNTS else BATCH
    seeds = range(piece.seed * batch, (piece.seed + 1) * batch)
    seen = sightings(algorithm, budget, piece.dataset == "present", seeds)
    return Seen(
        _packed(seen.releases),
        b"" if piece.method in COUNTS else _packed(seen.models),
        time.process_time() - start,
        code_of(piece.method),
    )


def code_of(method: str) -> str:
    """Return the digest of the code that figures of a method depend on."""
    if method in COUNTS:
        return code_digest()
    if method in methods.METHODS:
        return methods.code_of(method)
    return federated.code_of(method)


def report() -> bool:
    """Print what is kept, draw it, and return whether all of it is there."""
    cells = refutations()
    print_table(cells)
    whole = audit_histories.refutations()
    audit_histories.print_table(whole)
    audit_mutations.print_table()
    draw()
    caught = audit_mutations.current().values()
    below = sum(cell.measured <= cell.guarantee for cell in cells)
    held = sum(cell.measured <= cell.guarantee for cell in whole)
    sharp = sum(c.measured >= TEETH * c.guarantee for c in cells if c.method in COUNTS)
    wanted, watched = len(pieces()), len(audit_histories.pieces())
    guarantees = len(ATTACKERS) * len(exported()) * len(EPSILONS) + len(COUNTS)
    kept = sum(seen.code == code_of(piece.method) for piece, seen in load("audit", Seen).items())
    for name, value, target in (
        ("fits", kept, wanted),
        ("guarantees", below, guarantees),
        ("teeth", sharp, len(COUNTS)),
        ("histories", audit_histories.kept(), watched),
        ("guarantees of histories", held, audit_histories.count_guarantees()),
        ("mutations", sum(one.test is not None for one in caught), len(CATALOGUE)),
    ):
        print(f"audit {name} {value} {target} {'PASS' if value == target else 'NOT MET'}")
    return bool(kept == wanted and audit_histories.kept() == watched)


def draw(place: Path = PLACE) -> None:
    """Draw what all fits that are kept refute, those of earlier code too."""
    cells, whole = refutations(stale=True), audit_histories.refutations(stale=True)
    save(partial(picture.draw, cells, whole), "audit", place)


def refutations(stale: bool = False) -> list[Cell]:
    """Return what the fits that are kept refute, guarantee by guarantee; `stale` ones if asked."""
    sides: dict[tuple[str, float], dict[str, list[Seen]]] = {}
    for piece, seen in load("audit", Seen).items():
        if stale or seen.code == code_of(piece.method):
            both = sides.setdefault((piece.method, piece.epsilon), {side: [] for side in SIDES})
            both[piece.dataset].append(seen)
    cells = []
    for (method, epsilon), seen in sides.items():
        if all(seen.values()):
            cells += _cells(method, epsilon, *(_unpacked(seen[side]) for side in SIDES))
    return cells


def _cells(method: str, epsilon: float, absent: Sightings, present: Sightings) -> list[Cell]:
    _, budget = _target(method, epsilon)
    fits = min(len(absent.releases), len(present.releases))
    found = {"releases": Scores(absent.releases, present.releases)}
    if method not in COUNTS:  # there the one release is all that a model shows
        found = attacks(absent, present)
    return [
        Cell(
            method, attacker, epsilon, refuted(scores, budget.delta).epsilon_at(budget.delta), fits
        )
        for attacker, scores in found.items()
    ]


def print_table(cells: list[Cell]) -> None:
    """Print what was refuted of each algorithm, by each attacker."""
    print(
        "| algorithm | attacker sees | fits |", *(f" {epsilon:g} |" for epsilon in EPSILONS), sep=""
    )
    print("|---" * (3 + len(EPSILONS)) + "|")
    for method in (*COUNTS, *exported()):
        for attacker in ATTACKERS:
            line = [cell for cell in cells if (cell.method, cell.attacker) == (method, attacker)]
            if not line:
                continue
            found = {cell.guarantee: f"{cell.measured:.2f}" for cell in line}
            figures = " | ".join(found.get(epsilon, "") for epsilon in EPSILONS)
            fits = min(cell.fits for cell in line)
            print(f"| {method} | {attacker} | {fits:,} | {figures} |")
    print()


def _try_out() -> None:
    """Attack the fastest algorithm a little, bare and as people call it."""
    seen = [sightings(*_target("DPLloyd", 4.0), side == "present", range(60)) for side in SIDES]
    for cell in _cells("DPLloyd", 4.0, *seen):
        print(f"{cell.method} at 4, by its {cell.attacker}: {cell.measured:.2f} after 60 fits each")
    for side in SIDES:
        found = watch(histories()["DPLloyd"], 4.0, side == "present", range(20))["releases"]
        print(f"DPLloyd.fit, canary {side}: log likelihood ratio {found.mean():.2f} in the mean")


def _target(method: str, epsilon: float) -> tuple[AlgorithmFunctions, Budget]:
    if method in COUNTS:
        return PLAIN_COUNT, Budget(epsilon, COUNTS[method])
    return exported()[method], Budget(epsilon, DELTA)


def _packed(numbers: FloatArray) -> bytes:
    return numbers.astype("<f4").tobytes()


def _unpacked(batches: list[Seen]) -> Sightings:
    releases = np.frombuffer(b"".join(seen.releases for seen in batches), "<f4")
    models = np.frombuffer(b"".join(seen.models for seen in batches), "<f4").reshape(
        -1, MODEL_NUMBERS
    )
    return Sightings(releases.astype(np.float64), models.astype(np.float64))
