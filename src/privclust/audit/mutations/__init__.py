"""Bugs to plant in a copy of this package: of published implementations, or easy to make.

Each mutation is one replacement of source text, and names the test that is meant to catch it. That
test must turn red; a test suite that stays green with a bug of this list planted proves nothing.
"""

from privclust.audit.mutations.accounting import ACCOUNTING
from privclust.audit.mutations.algorithms import ALGORITHMS
from privclust.audit.mutations.base import Mutation, plant
from privclust.audit.mutations.cost import COST
from privclust.audit.mutations.engines import ENGINES
from privclust.audit.mutations.federation import FEDERATION
from privclust.audit.mutations.ledger import LEDGER
from privclust.audit.mutations.noise import NOISE
from privclust.audit.mutations.queries import QUERIES
from privclust.audit.mutations.refusals import REFUSALS
from privclust.audit.mutations.sampling import SAMPLING
from privclust.audit.mutations.statements import STATEMENTS
from privclust.audit.mutations.trial import Trial, attack, attack_files, caught_by, try_out
from privclust.audit.mutations.wire import WIRE

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
    *ACCOUNTING,
    *QUERIES,
    *ENGINES,
    *SAMPLING,
    *FEDERATION,
    *ALGORITHMS,
    *STATEMENTS,
    *WIRE,
    *COST,
    *REFUSALS,
    *LEDGER,
)
