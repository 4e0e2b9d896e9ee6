"""Who took part when a query was measured in a federation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryParticipation:
    """How many clients responded to one query, of how many that were invited."""

    responded: int
    invited: int
