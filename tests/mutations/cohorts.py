"""Bugs of nodes that trust nobody: masks, shares of noise, keys, charges and hostile requests."""

from __future__ import annotations

from mutations.base import Mutation

_MEMBER = "tests/cohorts/test_member.py"
_MEMBERSHIP = "tests/cohorts/test_membership.py"
_TERMS = "tests/cohorts/test_terms.py"
_ENGINE = "tests/cohorts/test_engine.py"
_CURATOR = "tests/privacy/test_node_curator.py"
_CONTEXT = "context = length_prefixed(content, sigma.hex()"

COHORTS = (
    Mutation(
        "one mask for every attempt",
        "cohorts/member.py",
        _CONTEXT,
        "content = content.replace(b'\"attempt\":2', b'\"attempt\":1')\n        " + _CONTEXT,
        f"{_MEMBER}::test_masks_of_different_requests_do_not_vanish[attempt]",
    ),
    Mutation(
        "a mask that does not know its cohort",
        "cohorts/member.py",
        _CONTEXT,
        _CONTEXT.replace("content", "encode((request.agreement, request.ledger_slot))"),
        f"{_MEMBER}::test_masks_of_cohorts_that_overlap_do_not_vanish",
    ),
    Mutation(
        "one mask with all members",
        "cohorts/masks.py",
        "length_prefixed(context, *first.parts, *second.parts)",
        "length_prefixed(context)",
        "tests/cohorts/test_masks.py::test_mask_is_of_one_context_and_one_pair",
    ),
    Mutation(
        "a smaller cohort with the shares of a larger one",
        "cohorts/member.py",
        "terms.share(len(request.cohort))",
        "terms.share(len(self._agreement.terms.members))",
        f"{_MEMBER}::test_noise_of_the_sum_has_the_variance_that_the_cohort_owes",
    ),
    Mutation(
        "shares for the whole noise over all members",
        "privacy/node_curator.py",
        "return request.share.sigma(sigma_of(bounds, request.quanta))",
        "share = request.share\n"
        "        return sigma_of(bounds, request.quanta) / float(share.members) ** 0.5",
        f"{_CURATOR}::test_share_is_that_of_the_members_who_do_not_collude",
    ),
    Mutation(
        "noise clamped after it was added",
        "privacy/node_curator.py",
        "mask(self._noise.gaussian(np.clip(exact, -largest, largest), scale))",
        "mask(np.clip(self._noise.gaussian(exact, scale), -largest, largest))",
        f"{_CURATOR}::test_sums_are_clamped_before_noise_and_never_after",
    ),
    Mutation(
        "a node that reads before its charge",
        "privacy/node_curator.py",
        "        charge = gaussian_spend(request.quanta, request.l0)\n",
        "        charge = gaussian_spend(request.quanta, request.l0)\n"
        "        self._engine.aggregate(request.query)\n",
        f"{_CURATOR}::test_order_is_charge_read_noise_mask_store",
    ),
    Mutation(
        "a node that charges when it has replied",
        "privacy/node_curator.py",
        "        found: StoredResult | str | None = self._ledger.claim(\n"
        "            self._run, request.slot, charge, request.context\n"
        "        )\n",
        "        found: StoredResult | str | None = None\n"
        "        keep, store_later = store, lambda masked: (\n"
        "            self._ledger.claim(self._run, request.slot, charge, request.context)\n"
        "            or keep(masked)\n"
        "        )\n"
        "        store = store_later\n",
        f"{_MEMBER}::test_node_charges_before_it_reads_and_stores_before_it_sends",
    ),
    Mutation(
        "a stored reply ignored",
        "privacy/node_curator.py",
        "        if found is None:\n",
        "        if found is None or found.noise:\n",
        f"{_CURATOR}::test_order_is_charge_read_noise_mask_store",
    ),
    Mutation(
        "a second reply under one mask",
        "privacy/node_curator.py",
        "            return self._ledger.record(self._run, request.slot, result)\n",
        "            self._ledger.record(self._run, request.slot, result)\n"
        "            return result\n",
        f"{_MEMBER}::test_two_workers_that_read_at_once_give_the_same_bytes",
    ),
    Mutation(
        "a used slot for another request",
        "cohorts/member.py",
        "            share,\n            content,\n",
        '            share,\n            b"request",\n',
        f"{_MEMBER}::test_changed_request_in_a_used_slot_is_refused[cohort]",
    ),
    Mutation(
        "a node's sample by a key that all know",
        "privacy/node_curator.py",
        "self._key = self._noise.key()",
        "self._key = bytes(32)",
        f"{_CURATOR}::test_each_curator_has_a_key_of_its_own_and_one_sample",
    ),
    Mutation(
        "a key in a request",
        "cohorts/sum_request.py",
        "    size: int\n\n    def __post_init__",
        "    size: int\n    key: bytes = bytes(32)\n\n    def __post_init__",
        "tests/cohorts/test_sum_request.py::test_request_has_no_place_for_a_key_a_unit_or_a_sigma",
    ),
    Mutation(
        "a request's query rebuilt without its constructors",
        "engines/federated/wire.py",
        "    made = kind(**sent)\n",
        "    made = object.__new__(kind)\n"
        "    for name, value in sent.items():\n"
        "        object.__setattr__(made, name, value)\n",
        f"{_MEMBERSHIP}::test_request_that_fails_with_one_row_only_is_refused",
    ),
    Mutation(
        "a request's points not on the grid",
        "engines/federated/wire.py",
        "            if not is_on_grid(value):\n",
        "            if not np.isfinite(value).all():\n",
        f"{_MEMBERSHIP}::test_request_with_points_off_the_grid_is_refused",
    ),
    Mutation(
        "a request whose cohort is too small",
        "cohorts/sum_request.py",
        "if not terms.minimum <= len(self.cohort) or not",
        "if not",
        f"{_MEMBERSHIP}::test_request_that_does_not_keep_to_the_agreement_is_refused",
    ),
    Mutation(
        "members of any key",
        "cohorts/membership.py",
        "if known.get(name) != key)",
        "if name not in known)",
        f"{_MEMBERSHIP}::test_key_that_is_not_pinned_is_refused",
    ),
    Mutation(
        "offers that nobody signed",
        "cohorts/terms.py",
        "if not valid or not is_signed(member.identity, offer.signature, offer.signed):",
        "if not valid:",
        f"{_TERMS}::test_agreement_needs_the_signed_offer_of_every_member",
    ),
    Mutation(
        "a signature that serves under other terms",
        "cohorts/terms.py",
        "length_prefixed(_PURPOSE, self.terms, self.name.encode(), self.key)",
        "length_prefixed(_PURPOSE, self.name.encode(), self.key)",
        f"{_TERMS}::test_offer_for_other_terms_does_not_serve_again",
    ),
    Mutation(
        "a key from which no secret follows",
        "cohorts/terms.py",
        "if not shares_secrets(offer.key):",
        "if not offer.key:",
        f"{_TERMS}::test_key_by_which_no_secret_is_shared_is_refused_in_an_offer",
    ),
    Mutation(
        "a cohort that may collude as a whole",
        "cohorts/terms.py",
        "if not 1 <= self.colluding < self.minimum <= len(names):",
        "if not 1 <= self.minimum <= len(names):",
        f"{_TERMS}::test_terms_whose_parts_do_not_agree_are_refused",
    ),
    Mutation(
        "fewer colluders than the owner fears",
        "cohorts/membership.py",
        "if terms.minimum < self.minimum or terms.colluding < self.colluding:",
        "if terms.minimum < self.minimum:",
        f"{_MEMBERSHIP}::test_policy_refuses_what_it_does_not_allow",
    ),
    Mutation(
        "a unit that the owner does not name",
        "cohorts/differences.py",
        "encode((one.columns, one.domain, one.unit))",
        "encode((one.columns, one.domain))",
        f"{_MEMBERSHIP}::test_policy_refuses_what_it_does_not_allow",
    ),
    Mutation(
        "a node's ledger of another unit",
        "cohorts/membership.py",
        "if account.unit != terms.unit.ledger_name:",
        "if not account.unit:",
        f"{_MEMBERSHIP}::test_ledger_of_another_unit_is_not_charged",
    ),
    Mutation(
        "an analyst charged whom a coordinator names",
        "cohorts/membership.py",
        ' if name != "analyst"}',
        "}",
        f"{_MEMBERSHIP}::test_facts_of_a_coordinator_replace_none_of_the_nodes_own",
    ),
    Mutation(
        "a smaller cohort at no charge",
        "privacy/curator.py",
        "            self._ledger.claim(self._run, name, charge, self._fingerprint(query))\n",
        "",
        f"{_ENGINE}::test_smaller_cohort_measures_again_and_is_charged_again",
    ),
    Mutation(
        "measured again without a reserve",
        "privacy/noisy_fit.py",
        "if again > plan.reserve.quanta - plan.quanta:",
        "if again < 0:",
        f"{_ENGINE}::test_nothing_is_measured_again_beyond_the_reserve",
    ),
    Mutation(
        "replies that fill a ledger",
        "node/federations/sum_requests.py",
        "if written + more > most:",
        "if more > most:",
        "tests/node/web/test_federation_endpoints.py::test_fit_writes_no_more_into_a_ledger_than_its_owner_allows",
    ),
    Mutation(
        "a secret kept after its fit",
        "cohorts/membership.py",
        "            self.store.forget(agreement)\n",
        "",
        f"{_MEMBERSHIP}::test_request_of_no_agreement_or_an_ended_one_is_refused",
    ),
)
