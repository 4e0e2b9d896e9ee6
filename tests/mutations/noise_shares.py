"""Bugs of noise in shares: too little of it, and statements about whom it protects from."""

from __future__ import annotations

from mutations.base import Mutation

NOISE_SHARES = (
    Mutation(
        "a share for a cohort where nobody colludes",
        "privacy/noise_shares.py",
        "each = sigma / math.sqrt(self.honest) * _ROUND_UP",
        "each = sigma / math.sqrt(self.members) * _ROUND_UP",
        "tests/privacy/test_noise_shares.py::test_honest_shares_have_the_noise_that_was_charged_for_and_hardly_more",
    ),
    Mutation(
        "a share rounded down",
        "privacy/noise_shares.py",
        "_ROUND_UP = 1 + 2.0**-50",
        "_ROUND_UP = 1 - 2.0**-50",
        "tests/privacy/test_noise_shares.py::test_honest_shares_have_the_noise_that_was_charged_for_and_hardly_more",
    ),
    Mutation(
        "shares so large that 64 bits saturate",
        "privacy/noise_shares.py",
        "SHARE_SIGMA_MAX = 2.0**53",
        "SHARE_SIGMA_MAX = 2.0**61",
        "tests/privacy/test_noise_shares.py::test_no_share_saturates_and_no_sum_wraps",
    ),
    Mutation(
        "exact sums clamped as if there were one node",
        "privacy/noise_shares.py",
        "return 2**62 // self.members",
        "return 2**62",
        "tests/privacy/test_noise_shares.py::test_no_share_saturates_and_no_sum_wraps",
    ),
    Mutation(
        "shares of any size",
        "privacy/noise_shares.py",
        "if not SHARE_SIGMA_MIN <= each <= SHARE_SIGMA_MAX:",
        "if not each > 0:",
        "tests/privacy/test_noise_shares.py::test_shares_beyond_what_the_proof_allows_are_refused",
    ),
    Mutation(
        "ripple of the last share alone",
        "privacy/noise_shares.py",
        "for added in range(1, members):",
        "for added in range(members - 1, members):",
        "tests/privacy/test_noise_shares.py::test_kappa_is_rounded_up_and_by_little",
    ),
    Mutation(
        "all others collude and the guarantee stays",
        "privacy/noise_shares.py",
        "return Spend(spend.quanta * honest, spend.slack * honest**2, spend.tail, spend.pure)",
        "return spend",
        "tests/privacy/test_noise_share_costs.py::test_cost_against_all_others_is_that_of_one_share",
    ),
    Mutation(
        "somebody at several nodes for the sum of their ledgers",
        "privacy/noise_shares.py",
        "spend.quanta * nodes**2",
        "spend.quanta * nodes",
        "tests/privacy/test_noise_share_costs.py::test_somebody_at_several_nodes_is_stated_and_the_sum_of_ledgers_would_be_too_little",
    ),
)
