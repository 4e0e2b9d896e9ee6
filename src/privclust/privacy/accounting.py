"""Gaussian-DP calculus: (epsilon, delta) to mu and back, and what releases cost.

Everything here is public arithmetic and errs on the safe side: a delta or an epsilon that
is reported is never smaller than the true one, a mu that is granted never larger.
The proofs are in docs/proofs/accounting.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from scipy.special import erfcx, log_ndtr, ndtri

from privclust.errors import Message, Parameter
from privclust.kernels.grid import UNIT

QUANTA = 2**50
"""One unit of mu², or of pure epsilon, in quanta: sums of integers are exact in any order."""

MU_MAX = 64
"""Largest mu a budget can be worth; keeps every sigma at or above 2^20 grid units."""

EPSILON_MIN, DELTA_MIN = 0.01, 1e-15
"""Smallest values for which the closed form was checked against 60-digit arithmetic."""

_SAFETY = 2.0**-34
"""Relative margin on each computed delta: twenty times the worst error seen against mpmath."""


@dataclass(frozen=True)
class Spend:
    """What releases cost: additive, so the cost of a transcript is a sum.

    Attributes
    ----------
    quanta : int
        mu² in units of 2^-50.
    slack : float
        H of the discrete-Gaussian lemma (docs/proofs/accounting.md).
    tail : float
        tau of the same lemma.
    pure : int or None
        Pure epsilon in units of 2^-50; None as soon as one release is Gaussian.

    Examples
    --------
    >>> (gaussian_spend(QUANTA, 1) + pure_spend(QUANTA)).mu2
    2.517...
    """

    quanta: int = 0
    slack: float = 0.0
    tail: float = 0.0
    pure: int | None = 0

    def __post_init__(self) -> None:
        if min(self.quanta, self.pure or 0) < 0 or not (self.slack >= 0 and self.tail >= 0):
            raise ValueError("no part of a cost can be negative.")

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.quanta + other.quanta,
            self.slack + other.slack,
            self.tail + other.tail,
            None if self.pure is None or other.pure is None else self.pure + other.pure,
        )

    def within(self, allowance: Spend) -> bool:
        """Tell whether no part of this cost exceeds the same part of `allowance`."""
        return (
            self.quanta <= allowance.quanta
            and self.slack <= allowance.slack
            and self.tail <= allowance.tail
            and (allowance.pure is None or (self.pure is not None and self.pure <= allowance.pure))
        )

    def left_of(self, allowance: Spend) -> Spend:
        """Return what remains of `allowance` after this cost; nothing goes below zero."""
        if allowance.pure is None:
            pure = None
        else:
            pure = 0 if self.pure is None else max(0, allowance.pure - self.pure)
        return Spend(
            max(0, allowance.quanta - self.quanta),
            max(0.0, allowance.slack - self.slack),
            max(0.0, allowance.tail - self.tail),
            pure,
        )

    @property
    def epsilon(self) -> float:
        """The pure epsilon as a number; infinite where a release was Gaussian."""
        return math.inf if self.pure is None else self.pure / QUANTA

    @property
    def mu2(self) -> float:
        """mu² as a number."""
        return self.quanta / QUANTA

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter."""
        return math.sqrt(self.mu2)


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) guarantee; ``delta=0`` means pure epsilon.

    Examples
    --------
    >>> Budget(1.0, 1e-6).admits(gaussian_spend(int(0.05 * QUANTA), 1))
    True
    >>> Budget(1.0, 1e-6).admits(gaussian_spend(int(0.06 * QUANTA), 1))
    False
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        # NumPy scalars would drag the whole calculus down to their own precision.
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))
        if not EPSILON_MIN <= self.epsilon <= MU_MAX:
            raise ValueError(
                Message(
                    Parameter("epsilon"),
                    f" must lie between {EPSILON_MIN} and {MU_MAX}, got {self.epsilon!r}. "
                    "Common choices lie between 0.25 and 4; smaller is stronger.",
                )
            )
        if not (self.delta == 0 or DELTA_MIN <= self.delta < 1):
            raise ValueError(
                Message(
                    Parameter("delta"),
                    f" must be at least {DELTA_MIN} and below 1 (or 0, where an algorithm can "
                    f"guarantee pure epsilon), got {self.delta!r}. "
                    "Type a value well below one over the number of rows, such as 1e-6.",
                )
            )

    @cached_property
    def pure(self) -> Spend:
        """The most that pure releases may cost together: their epsilons add up."""
        return Spend(MU_MAX**2 * QUANTA, pure=int(self.epsilon * QUANTA))

    @cached_property
    def capacity(self) -> Spend:
        """The most that any releases may cost together, part by part.

        The lemma wants its slack and tail to be constants, so small fixed parts of epsilon and
        delta are set aside for them and mu² is what the rest is worth.
        """
        if self.delta == 0:
            return self.pure
        slack, tail = self.epsilon * 2.0**-28, self.delta * 2.0**-20
        epsilon, delta = self.epsilon - 2 * slack, (self.delta - tail) * math.exp(-slack)
        low, high = 0, MU_MAX**2 * QUANTA
        while low < high:
            middle = (low + high + 1) // 2
            if delta_of(math.sqrt(middle / QUANTA), epsilon) <= delta:
                low = middle
            else:
                high = middle - 1
        return Spend(low, slack, tail, None)

    def admits(self, spend: Spend) -> bool:
        """Tell whether a transcript that cost `spend` keeps this guarantee."""
        return spend.within(self.pure) or spend.within(self.capacity)


def delta_of(mu: float, epsilon: float) -> float:
    """Return the delta at which mu-GDP is (epsilon, delta)-DP, rounded up.

    With a = epsilon/mu − mu/2 and b = epsilon/mu + mu/2 it is Φ(−a) − e^epsilon·Φ(−b). Both
    terms share the factor exp(−a²/2), which is taken out so that small deltas keep their digits.

    Examples
    --------
    >>> f"{delta_of(0.2367, 1.0):.2e}"
    '1.00e-06'
    """
    if mu == 0:
        return 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a > 0:
        root2 = math.sqrt(2)
        delta = 0.5 * math.exp(-a * a / 2) * float(erfcx(a / root2) - erfcx(b / root2))
    else:
        delta = math.exp(log_ndtr(-a)) - math.exp(epsilon + log_ndtr(-b))
    return min(1.0, delta * (1 + _SAFETY))


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest mu whose guarantee at `epsilon` is no weaker than `delta`, rounded down.

    Examples
    --------
    >>> round(1 / mu_of(1.0, 1e-6), 4)
    4.2247
    """
    if not delta > 0:
        raise ValueError(f"only a delta above 0 has a mu, got {delta!r}.")
    low, high = 0.0, float(MU_MAX)
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest epsilon at which mu-GDP is (epsilon, delta)-DP, rounded up.

    Examples
    --------
    >>> round(epsilon_of(mu_of(1.0, 1e-6), 1e-6), 9)
    1.0
    """
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(mu, high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(mu, middle) <= delta else (middle, high)
    return high


def epsilon_of_spend(spend: Spend, delta: float) -> float:
    """Return the smallest epsilon at which what cost `spend` is (epsilon, delta)-DP, rounded up.

    Examples
    --------
    >>> one = Budget(1.0, 1e-6).capacity
    >>> round(epsilon_of_spend(one, 1e-6), 6), round(epsilon_of_spend(one + one, 1e-6), 2)
    (1.0, 1.45)
    """
    rest = (delta - spend.tail) * math.exp(-spend.slack)
    gaussian = epsilon_of(spend.mu, rest) + 2 * spend.slack if rest > 0 else math.inf
    return min(gaussian, spend.epsilon)


def gaussian_spend(quanta: int, l0: int) -> Spend:
    """Price a discrete-Gaussian release of mu² = `quanta` and its lemma slack.

    Parameters
    ----------
    quanta : int
        (sensitivity / sigma)² in units of 2^-50.
    l0 : int
        Coordinates of the result that one unit can change.

    Notes
    -----
    The slack uses the release's own mu, not the transcript's: one unit moves this result by no
    more than that many sigmas, and a charge stays a function of its slot alone. The sensitivity
    is taken as `UNIT`, the least the Curator accepts, where the slack is largest.
    """
    mu2 = quanta / QUANTA
    variance = UNIT**2 / mu2 if mu2 else math.inf
    slack = 1.01 * l0 * (1 + (12 + math.sqrt(mu2)) ** 2) / (24 * variance)
    return Spend(quanta, slack, 2 * l0 * math.exp(-72), None)


def pure_spend(pure: int) -> Spend:
    """Price a pure release of epsilon = `pure` quanta: the least mu whose curve lies below its own.

    Examples
    --------
    >>> round(pure_spend(QUANTA).mu, 4)
    1.232...
    """
    if pure > MU_MAX * QUANTA:
        return Spend(MU_MAX**2 * QUANTA + 1, pure=pure)  # more than any budget admits
    mu = -2 * float(ndtri(1 / (1 + math.exp(pure / QUANTA))))
    return Spend(math.ceil(mu * mu * (1 + _SAFETY) * QUANTA), pure=pure)


def pure_epsilon_of(quanta: int) -> int:
    """Return the largest pure epsilon, in quanta, that costs at most `quanta`, rounded down."""
    mu = math.sqrt(quanta / QUANTA)
    epsilon = float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))
    return max(0, int(epsilon * (1 - 2 * _SAFETY) * QUANTA) - 2)
