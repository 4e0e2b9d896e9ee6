"""Attacks on all that a coordinator and its colluders see of fits, with and without a canary."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from helpers.cohort_view import ATTACKERS, Setting, planted, scores

from benchmarks.digest import code_digest, definitions_of
from benchmarks.pieces import Piece, load, run
from privclust.audit.canaries import DELTA
from privclust.audit.epsilon_bound import Scores, refuted

EPSILON, BATCH = 4.0, 25
SIDES = ("absent", "present")


@dataclass(frozen=True)
class Case:
    """Fits that are attacked, so many on either side, with a planted bug or without."""

    fit: str
    setting: Setting
    fits: int = 500
    bug: str | None = None


CASES = {
    "votes, 1 of 3": Case("votes", Setting(3, 1, EPSILON)),
    "votes, 4 of 5": Case("votes", Setting(5, 4, EPSILON)),
    "votes, 4 of 5, small shares": Case(
        "votes", Setting(5, 4, EPSILON), 200, "shares of sigma/sqrt(n)"
    ),
    "votes, 1 of 5, one mask": Case(
        "votes", Setting(5, 1, EPSILON), 200, "one mask for all requests"
    ),
    "PrivateKMeans, 1 of 3": Case("PrivateKMeans", Setting(3, 1, EPSILON)),
}


@dataclass(frozen=True)
class Seen:
    """Log likelihood ratios of a batch for each attacker, and the digest of the code."""

    ratios: bytes
    cpu_seconds: float
    code: str


def pieces() -> list[Piece]:
    """Return all batches."""
    return [
        Piece(name, side, EPSILON, batch)
        for name, case in CASES.items()
        for batch in range(case.fits // BATCH)
        for side in SIDES
    ]


def watch_missing() -> None:
    """Make the batches that are missing or stale."""
    run("cohort_views", pieces(), measure, code_of, kind=Seen)


def measure(piece: Piece) -> Seen:
    """Make a batch of fits of one table, with real noise."""
    case, start = CASES[piece.method], time.process_time()
    seeds = range(piece.seed * BATCH, (piece.seed + 1) * BATCH)
    with planted(case.bug):
        found = scores(case.fit, case.setting, piece.dataset == "present", seeds)
    ratios = np.array([found[name] for name in ATTACKERS]).astype("<f4")
    return Seen(ratios.tobytes(), time.process_time() - start, code_of(piece.method))


def code_of(name: str) -> str:
    """Return the digest of the code that decides what is seen."""
    around = definitions_of("helpers.cohort_view")
    for module in ("cohorts.masks", "cohorts.member", "privacy.node_curator"):
        around += definitions_of(f"privclust.{module}")
    algorithms = ("private_kmeans", "_locate", "_split", "_merge", "_refine")
    return code_digest(*(() if "votes" in name else algorithms), more=around)


def report() -> bool:
    """Print what each attacker refutes; nothing above the statement, and more with a bug."""
    kept = {p: s for p, s in load("cohort_views", Seen).items() if s.code == code_of(p.method)}
    complete = met = len(kept) == len(pieces())
    print("\n| fit, colluding | fits a side | stated | attacker | refutes epsilons below |")
    print("|---|---|---|---|---|")
    for name, case in CASES.items():
        both = [_ratios(kept, name, side) for side in SIDES]
        if not all(part.size for part in both):
            continue
        best = 0.0
        for place, attacker in enumerate(ATTACKERS):
            found = refuted(Scores(both[0][place], both[1][place]), DELTA).epsilon_at(DELTA)
            best = max(best, found)
            fits = min(part.shape[1] for part in both)
            print(f"| {name} | {fits} | {EPSILON:g} | {attacker} | {found:.2f} |")
        met &= (best > EPSILON) == (case.bug is not None)
    print(f"\ncohort views {len(kept)} {len(pieces())} {'PASS' if met else 'NOT MET'}")
    return complete and met


def _ratios(
    kept: dict[Piece, Seen], name: str, side: str
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    batches = [
        np.frombuffer(seen.ratios, "<f4").reshape(len(ATTACKERS), -1)
        for piece, seen in sorted(kept.items(), key=lambda item: item[0].seed)
        if (piece.method, piece.dataset) == (name, side)
    ]
    return np.concatenate([np.empty((len(ATTACKERS), 0)), *batches], axis=1)
