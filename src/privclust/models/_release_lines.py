"""What a statement lists of releases."""

from __future__ import annotations

from privclust.kernels.grid import UNIT
from privclust.models.statement import ReleaseLine
from privclust.privacy.accounting import Spend
from privclust.privacy.release import Release


def noise_of(releases: tuple[Release, ...]) -> str:
    """Say where the noise of some releases came from."""
    return " and ".join(sorted({release.noise for release in releases}))


def lines_of(
    releases: tuple[Release, ...], reserved: Spend, noiseless: bool
) -> tuple[ReleaseLine, ...]:
    """Return what a statement lists of each release of a run that could cost what it reserved."""
    whole = max(reserved.mu2, sum(release.charge.mu2 for release in releases))
    return tuple(
        ReleaseLine(
            release.slot,
            release.query,
            release.mechanism,
            release.result.size,
            _sensitivity(release),
            0.0 if noiseless else release.sigma / 2**release.sampling_exponent,
            release.charge.mu2 / whole,
            2**release.sampling_exponent,
        )
        for release in releases
    )


def _sensitivity(release: Release) -> float:
    """Return the most one row can add to a result, in the norm that its noise is made for."""
    charge, needed = release.charge, release.scale / release.noise_ratio
    return needed / UNIT * (charge.mu if release.mechanism == "gaussian" else charge.epsilon)
