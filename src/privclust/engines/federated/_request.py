"""What a client of a federation is to measure: parts that agree with each other."""

from __future__ import annotations

from dataclasses import dataclass

from privclust._version import __version__
from privclust.domains.base import Domain
from privclust.engines.sampling import SAMPLING_EXPONENT_MAX
from privclust.queries.base import Count, Query, Sensitivity
from privclust.queries.profiles import ProfileSums, ProfileTallies
from privclust.queries.unit import Unit

NONCE_BYTES = 16
SIZE_MAX = 2**24
"""Coordinates of a response, which then has 128 MiB."""
WIDTH_MAX = 2**16
"""Coordinates of a row."""
INTEGER_MAX, SQUARE_MAX = 2**63 - 1, 2**127 - 1
"""Integers of a request, and the bound on squares: those of wide rows outgrow 64 bits."""
Columns = tuple[str, ...] | int
"""Names of columns, or how many there are if they have none."""


@dataclass(frozen=True, eq=False)
class QueryRequest:
    """What one client is to measure.

    Attributes
    ----------
    nonce : bytes
        Names the request; the response begins with it.
    fit : bytes
        Names the fit, at whose end its samples are forgotten.
    columns : tuple of str, or int
        The columns to cluster, in the order of the domain, or how many there are.
    domain : Domain
        What the user declares about the values.
    unit : Unit
        Whose rows count as one, among this client's.
    sampling_exponent : int
        0 for all rows; otherwise a sample, which the client draws by a key of its own.
    query : Query
        What to sum.
    sensitivity : Sensitivity
        What the server takes one row's contribution to be at most, by which it sizes noise.
    size : int
        How many coordinates it takes the result to have. A client whose own query declares
        another size or sensitivity gives no response: the two have different code.
    version : str
        Of privclust; a client of another gives no response.
    """

    nonce: bytes
    fit: bytes
    columns: Columns
    domain: Domain
    unit: Unit
    sampling_exponent: int
    query: Query
    sensitivity: Sensitivity
    size: int
    version: str = __version__

    def __post_init__(self) -> None:
        named = len(self.nonce) == len(self.fit) == NONCE_BYTES
        if not named or not 0 <= self.sampling_exponent <= SAMPLING_EXPONENT_MAX:
            raise ValueError(
                f"a request and its fit have names of {NONCE_BYTES} bytes, and the sampling "
                f"exponent is 0 to {SAMPLING_EXPONENT_MAX}."
            )
        if self.unit.clients:
            raise ValueError("a client counts its own rows alone.")
        clustered = self.columns if isinstance(self.columns, tuple) else ()
        if not self.domain.fits(self.columns) or (
            self.unit.column in clustered and not self.unit.whole
        ):
            raise ValueError("columns must be those of the domain, without the column of ids.")
        if self.domain.center.size > WIDTH_MAX:
            raise ValueError(f"a row has at most {WIDTH_MAX} coordinates.")
        # 64 bits hold the length of what a unit adds to so many coordinates and no more.
        most = self.unit.l0 or SIZE_MAX
        if not 1 <= self.query.size <= most or not _belong_together(self.query, self.domain):
            raise ValueError(
                f"a query has 1 to {most} coordinates, and one of a profile its domain."
            )
        if not 1 <= self.size <= SIZE_MAX or not _are_bounds(self.sensitivity):
            raise ValueError(
                f"a server must assume 1 to {SIZE_MAX} coordinates, and bounds of at least 1 that "
                "64 bits hold, or 128 that on squares."
            )


def _are_bounds(assumed: Sensitivity) -> bool:
    smallest = min(assumed.l1, assumed.l2_squared, assumed.linf, assumed.l0)
    largest = max(assumed.l1, assumed.linf, assumed.l0)
    return smallest >= 1 and largest <= INTEGER_MAX and assumed.l2_squared <= SQUARE_MAX


def _belong_together(query: Query, domain: Domain) -> bool:
    """Tell whether a query reads rows as the domain makes them: others leave the unit ball."""
    width, noted = domain.model_domain.center.size, len(domain.noted)
    if isinstance(query, ProfileTallies):
        return noted > 0 and (query.centers.shape[1], query.n_places) == (width, domain.n_places)
    if isinstance(query, ProfileSums):
        shape = (query.centers.shape[1], query.skipped, query.n_values)
        return noted > 0 and shape == (width, noted, domain.n_numbers)
    return noted == 0 or isinstance(query, Count)
