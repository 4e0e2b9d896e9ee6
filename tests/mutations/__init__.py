"""Bugs to plant in a copy of this package: of published implementations, or easy to make.

Each mutation is one replacement of source text, and names the test that is meant to catch it. That
test must turn red; a test suite that stays green with a bug of this list planted proves nothing.
"""

from mutations.accounting import ACCOUNTING
from mutations.algorithms import ALGORITHMS
from mutations.base import Mutation, plant
from mutations.cohorts import COHORTS
from mutations.cost import COST
from mutations.engines import ENGINES
from mutations.federation import FEDERATION
from mutations.kernels import KERNELS
from mutations.ledger import LEDGER
from mutations.node import NODE
from mutations.noise import NOISE
from mutations.noise_shares import NOISE_SHARES
from mutations.queries import QUERIES
from mutations.refusals import REFUSALS
from mutations.sampling import SAMPLING
from mutations.statements import STATEMENTS
from mutations.trial import Trial, attack, attack_files, caught_by, try_out
from mutations.wire import WIRE

__all__ = [
    "CATALOGUE",
    "Mutation",
    "Trial",
    "attack",
    "attack_files",
    "caught_by",
    "plant",
    "try_out",
]

CATALOGUE = (
    *NOISE,
    *NOISE_SHARES,
    *ACCOUNTING,
    *QUERIES,
    *KERNELS,
    *ENGINES,
    *SAMPLING,
    *FEDERATION,
    *ALGORITHMS,
    *STATEMENTS,
    *WIRE,
    *COST,
    *REFUSALS,
    *LEDGER,
    *NODE,
    *COHORTS,
)
