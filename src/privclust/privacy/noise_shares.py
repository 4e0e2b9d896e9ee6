"""Noise in shares: each node of a cohort adds a part, so that nobody needs to be trusted with all.

With n members of which c may collude, each adds a discrete Gaussian of variance σ²/(n − c): what
colluders cannot subtract is at least the noise that was charged for. The proofs are in
docs/proofs/noise-shares.md.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from privclust.privacy.accounting import Spend

MEMBERS_MAX = 1000
"""Most nodes of a cohort."""

SHARE_SIGMA_MIN = 2.0**10
"""Least share: sums of such shares are one discrete Gaussian for all purposes (`kappa`).

The smallest that is ever needed, one vote at mu = 64 among 1000 nodes, is 33,159.
"""

SHARE_SIGMA_MAX = 2.0**53
"""Largest share: none saturates 64 bits, and no sum of 1000 wraps, but for less than e^-128."""

_ROUND_UP = 1 + 2.0**-50
_MARGIN = 1 + 2.0**-38


@dataclass(frozen=True)
class NoiseShare:
    """The part of a sum's noise that each node of a cohort adds.

    Attributes
    ----------
    members : int
        Nodes of the cohort, each of which adds one share; at most 1000.
    colluding : int
        So many of them may tell everything they know to one another and to the coordinator: at
        least 1, since every member knows its own share, and fewer than `members`.

    Examples
    --------
    >>> share = NoiseShare(members=3, colluding=1)
    >>> round(share.sigma(2.0**26) / 2**26, 4), round(share.total(2.0**26) / 2**26, 4)
    (0.7071, 1.2247)
    """

    members: int
    colluding: int

    def __post_init__(self) -> None:
        whole = type(self.members) is int and type(self.colluding) is int
        if not (whole and 1 <= self.colluding < self.members <= MEMBERS_MAX):
            raise ValueError(
                f"a cohort has at most {MEMBERS_MAX} members, of which at least 1 and not all may "
                f"collude, got members={self.members!r} and colluding={self.colluding!r}."
            )

    @property
    def honest(self) -> int:
        """Members whose shares nobody else knows, at least."""
        return self.members - self.colluding

    @property
    def ratio(self) -> float:
        """Noise of the whole sum over the noise that was charged for."""
        return math.sqrt(self.members / self.honest)

    @property
    def largest(self) -> int:
        """What exact sums are clamped to, up and down, before noise: together they fit 2^62."""
        return 2**62 // self.members

    def sigma(self, sigma: float) -> float:
        """Return a share's parameter, rounded up: `honest` shares have at least `sigma` together.

        Raises
        ------
        ValueError
            If the share would be smaller or larger than the proof allows.
        """
        each = sigma / math.sqrt(self.honest) * _ROUND_UP
        if not SHARE_SIGMA_MIN <= each <= SHARE_SIGMA_MAX:
            raise ValueError(
                f"a share of the noise must lie between {SHARE_SIGMA_MIN:.0f} and "
                f"{SHARE_SIGMA_MAX:.0f}, got {each!r} for {self.members} members of which "
                f"{self.colluding} may collude and sigma={sigma!r}."
            )
        return each

    def total(self, sigma: float) -> float:
        """Return the parameter of the noise that the whole sum has, where `sigma` was needed."""
        return self.sigma(sigma) * math.sqrt(self.members)


def kappa(members: int, sigma: float) -> float:
    """Bound by how much a sum of shares differs from one discrete Gaussian, rounded up.

    Parameters
    ----------
    members : int
        How many shares are added.
    sigma : float
        Parameter of each.

    Returns
    -------
    float
        A bound on the absolute logarithm of the ratio of the two mass functions, at every integer;
        infinite where shares are too small for the proof to give one.

    Examples
    --------
    >>> f"{kappa(3, 1.0):.1e}"
    '2.1e-04'
    >>> kappa(1000, SHARE_SIGMA_MIN) < 1e-300
    True
    """
    terms = []
    for added in range(1, members):
        # Not below the true value, which may be smaller than any float.
        first = math.exp(-2 * (math.pi * sigma) ** 2 * added / (added + 1))
        first = first * _MARGIN + sys.float_info.min
        if not first < 0.45:
            return math.inf
        ripple = 2 * first / (1 - first**3)  # below 1; the exponents 1, 4, 9, … are 1, 4, 7, … here
        terms.append(2 * math.atanh(ripple))
    return math.fsum(terms) * _MARGIN


def spend_against_all_others(spend: Spend, share: NoiseShare) -> Spend:
    """Return what a fit that reserved `spend` costs a node's rows if all other members collude.

    Only the node's own share is left then: mu is √(n − c) times as large. All releases must have
    noise in shares. Of cohorts of several sizes with the same `colluding`, give the largest.

    Examples
    --------
    >>> from privclust.privacy.accounting import Budget, epsilon_of_spend
    >>> reserved = Budget(1.0, 1e-6).capacity
    >>> alone = spend_against_all_others(reserved, NoiseShare(3, 1))
    >>> round(epsilon_of_spend(alone, 1e-6), 2)
    1.45
    """
    _check_gaussian(spend)
    honest = share.honest
    return Spend(spend.quanta * honest, spend.slack * honest**2, spend.tail, spend.pure)


def spend_of_outsiders(spend: Spend, share: NoiseShare) -> Spend:
    """Return what a fit that reserved `spend` costs against those whom no member tells anything.

    They see sums with the noise of all n shares, or less: mu² is (n − c)/n of what was reserved.
    All releases must have noise in shares. Of cohorts of several sizes with the same `colluding`,
    give the largest.

    Examples
    --------
    >>> spend_of_outsiders(Spend(10, pure=None), NoiseShare(3, 1)).quanta
    7
    """
    _check_gaussian(spend)
    quanta = -(-spend.quanta * share.honest // share.members)
    return Spend(quanta, spend.slack, spend.tail, spend.pure)


def spend_at_nodes(spend: Spend, nodes: int) -> Spend:
    """Return what a fit costs somebody with rows at so many nodes, each of which reserved `spend`.

    One reply then moves by up to so many sensitivities at once: mu is `nodes` times as large, and
    mu² more than the sum of the nodes' ledgers.

    Examples
    --------
    >>> spend_at_nodes(Spend(10, pure=None), 2).quanta
    40
    """
    _check_gaussian(spend)
    if not (type(nodes) is int and 1 <= nodes <= MEMBERS_MAX):
        raise ValueError(f"rows lie at 1 to {MEMBERS_MAX} nodes, got {nodes!r}.")
    return Spend(spend.quanta * nodes**2, spend.slack * nodes**3, spend.tail * nodes, spend.pure)


def _check_gaussian(spend: Spend) -> None:
    if spend.pure:
        raise ValueError("only Gaussian noise comes in shares, and this cost is a pure epsilon.")
