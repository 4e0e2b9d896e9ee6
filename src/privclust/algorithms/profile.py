"""What other columns are like in each cluster: means of numbers, shares of categories and ranges.

Two queries, both of every row. Tallies count, in each cluster, the rows of each level or range
of each column; sums add up the numbers and dates, beside a count. Each column's tally and each
column's sum gets the same part of mu². `privclust.models.profile` works out what they say.
"""

from __future__ import annotations

from dataclasses import dataclass

from privclust.algorithms._cost import Cost, Measured, total
from privclust.domains.base import Domain
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan, Slot, make_plan
from privclust.queries.profiles import ProfileSums, ProfileTallies

TALLIES, SUMS = "tallies", "sums"


@dataclass(frozen=True, eq=False)
class ProfilePlan:
    """The queries of a profile, and their slots."""

    tallies: ProfileTallies
    sums: ProfileSums | None
    spending: Plan

    def cost(self) -> Cost:
        """Return what a profile costs."""
        k, d = map(float, self.tallies.centers.shape)
        measured = [Measured(self.tallies.size, k, d + len(self.tallies.n_places))]
        if self.sums is not None:
            measured.append(Measured(self.sums.size, k, d + self.sums.n_values))
        return total(measured)


def plan(centers: FloatArray, domain: Domain, budget: Budget) -> ProfilePlan:
    """Share a budget among the queries of a profile: one part per tally, and one per sum."""
    tallied, summed = len(domain.noted), domain.n_numbers
    tallies = ProfileTallies(centers, domain.n_places)
    slots = [Slot(TALLIES, tallied / (tallied + summed), l0=tallied)]
    sums = None
    if summed:
        sums = ProfileSums(centers, tallied, summed)
        slots.append(Slot(SUMS, summed / (tallied + summed), l0=summed + 1))
    return ProfilePlan(tallies, sums, make_plan(budget, slots))


def run(curator: Curator, planned: ProfilePlan) -> None:
    """Make both queries, whatever the first result is."""
    curator.measure(TALLIES, planned.tallies)
    if planned.sums is not None:
        curator.measure(SUMS, planned.sums)
