"""Say of figures whether they meet their targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BAD, GOOD = 1.5, 1.1
"""Losses, over that of k-means, of fits that should and should not give a warning."""
SILENT, FALSE_ALARMS = 0.10, 0.05
"""Shares: of bad fits that give no warning, and of good ones that give one."""


def judge(what: str, value: float, target: float, whole: bool = True) -> bool:
    """Print a verdict; a target that is met as far as was measured stays open."""
    passed = "PASS" if whole else "OPEN"
    print(f"{what}: {value:.4g} {target} {'NOT MET' if value > target else passed}")
    return value <= target and whole


def judge_warnings(on: str, fits: Iterable[tuple[float, bool]], whole: bool = True) -> list[bool]:
    """Print how many bad fits gave no warning, and how many good ones did.

    Each fit is its loss over that of k-means, and whether it gave a warning.
    """
    judged = list(fits)
    silent = [not warned for ratio, warned in judged if ratio > BAD]
    alarmed = [warned for ratio, warned in judged if ratio < GOOD]
    return [
        judge(f"no warning, of {len(silent)} fits above {BAD}, {on}", share(silent), SILENT, whole),
        judge(
            f"warning, of {len(alarmed)} fits below {GOOD}, {on}",
            share(alarmed),
            FALSE_ALARMS,
            whole,
        ),
    ]


def share(found: Sequence[bool]) -> float:
    """Return which part is true; 0 of none."""
    return sum(found) / max(len(found), 1)
