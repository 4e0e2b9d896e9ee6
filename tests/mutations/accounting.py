"""Bugs of accounting: what is charged, stored, shared and guaranteed."""

from __future__ import annotations

from mutations.base import Mutation

ACCOUNTING = (
    Mutation(
        "swapped split",
        "privacy/curator.py",
        "scale = sigma_of(self._bounds(query), charge.quanta)",
        "others = self.plan.slots\n"
        "            other = others[-1 - others.index(slot)]\n"
        "            scale = sigma_of(self._bounds(query), self.plan.price(other).quanta)",
        "tests/privacy/test_curator.py::test_the_noise_that_was_added_pays_for_every_release",
    ),
    Mutation(
        "uncounted release",
        "privacy/ledger/ledger.py",
        'body = {"spend": asdict(charge), "fingerprint": hashed}',
        'body = {"spend": asdict(Spend()), "fingerprint": hashed}',
        "tests/privacy/ledger/test_ledger.py::test_slot_is_charged_once_before_its_result_and_the_first_result_stays",
    ),
    Mutation(
        "read before the charge",
        "privacy/curator.py",
        "result: StoredResult | str | None = self._ledger.claim(",
        "self._engine.aggregate(query)\n"
        "        result: StoredResult | str | None = self._ledger.claim(",
        "tests/privacy/test_curator_sample.py::test_rows_are_not_read_by_sampling_and_afterwards_not_before_the_charge",
    ),
    Mutation(
        "stored result ignored",
        "privacy/ledger/ledger.py",
        "if results:",
        "if results and not found.open:",
        "tests/privacy/test_curator.py::test_stored_results_are_replayed_with_the_noise_they_were_drawn_with",
    ),
    Mutation(
        "two results for one charge",
        "privacy/ledger/ledger.py",
        "return as_result(stored[0])",
        "return result",
        "tests/privacy/ledger/test_races.py::test_a_curator_that_lost_the_race_discards_its_noise",
    ),
    Mutation(
        "a budget for each fit",
        "privacy/ledger/_admission.py",
        "if not budget.admits(taken + total):\n        lines",
        "if not budget.admits(total):\n        lines",
        "tests/estimators/test_recording.py::test_fits_share_a_budget_until_it_refuses_and_then_nothing_is_read",
    ),
    Mutation(
        "noise for one row of a unit",
        "privacy/curator.py",
        "return self._engine.unit.sensitivity(query)",
        "return replace(query.sensitivity, l0=self._engine.unit.sensitivity(query).l0)",
        "tests/privacy/test_curator_units.py::test_the_noise_pays_for_as_many_rows_as_a_unit_counts",
    ),
    Mutation(
        "amplification claimed",
        "privacy/curator.py",
        "        self._report(slot, finished=False)\n",
        "        self._report(slot, finished=False)\n"
        "        rate = 4**self.sampling_exponent\n"
        "        charge = Spend(charge.quanta // rate, charge.slack, charge.tail, charge.pure)\n",
        "tests/privacy/test_curator_sample.py::test_a_sample_is_charged_and_noised_like_all_rows",
    ),
    Mutation(
        "one label for patients of one client and of several",
        "estimators/_recording.py",
        "protected, wanted = ledger.dataset(label).unit, unit.ledger_name",
        "protected, wanted = ledger.dataset(label).unit, unit.name",
        "tests/estimators/test_recording.py::test_a_label_has_one_unit",
    ),
    Mutation(
        "profile beside the account",
        "estimators/_profile.py",
        "Recording(ledger, label, recorded_facts, resume, ",
        "Recording(None, label, recorded_facts, resume, ",
        "tests/estimators/test_profile.py::test_a_profile_is_charged_to_the_account_of_the_fit",
    ),
    Mutation(
        "a guarantee built on exact centres",
        "estimators/_statement.py",
        "if not (statement.private or epsilon == math.inf or not noise_is_real()):",
        "if not (statement.private or epsilon > 0):",
        "tests/estimators/test_init.py::test_no_guarantee_is_built_on_a_model_without_noise",
    ),
    Mutation(
        "pure mu halved",
        "privacy/accounting.py",
        "mu = -2 * float(ndtri(1 / (1 + math.exp(pure / QUANTA))))",
        "mu = -float(ndtri(1 / (1 + math.exp(pure / QUANTA))))",
        "tests/privacy/test_accounting.py::test_pure_charge_is_the_least_mu_whose_trade_off_curve_lies_below",
    ),
    Mutation(
        "the dearest release stands for all",
        "privacy/accounting.py",
        "self.quanta + other.quanta,",
        "max(self.quanta, other.quanta),",
        "tests/privacy/test_accounting.py::test_spends_add_part_by_part_and_quanta_exactly",
    ),
    Mutation(
        "a refined plan beyond its reserve",
        "privacy/plan.py",
        "if not _total(plan.slots, self.budget, self.quanta).within(self.reserve):",
        "if False:",
        "tests/privacy/test_plan.py::test_refined_refuses_more_than_was_reserved",
    ),
    Mutation(
        "slack for fewer coordinates than change",
        "privacy/curator.py",
        "if bounds.l0 > slot.l0 or bounds.l2_squared < UNIT**2:",
        "if bounds.l2_squared < UNIT**2:",
        "tests/privacy/test_curator.py::test_slot_is_measured_once_and_as_planned",
    ),
    Mutation(
        "a fit without noise charged",
        "privacy/curator.py",
        "if noiseless and ledger is not None:",
        "if False:",
        "tests/estimators/test_recording.py::test_a_fit_without_noise_cannot_be_charged",
    ),
    Mutation(
        "max_rows_per_unit left out of facts",
        "estimators/_recording.py",
        '"unit", "init", "period")',
        '"unit", "max_rows_per_unit", "init", "period")',
        "tests/estimators/test_resume.py::test_a_run_is_not_resumed_with_more_rows_of_a_unit",
    ),
    Mutation(
        "start left out of facts",
        "estimators/_recording.py",
        '{"init": _fact(given["init"])}',
        '{"init": "some start"}',
        "tests/estimators/test_init.py::test_a_resumed_fit_must_start_where_it_started",
    ),
    Mutation(
        "profile of rows where people are protected",
        "estimators/_input.py",
        "return _opened(table, table.profiled(unit, domain), domain, origin, unit)",
        "return _opened(table, table.profiled(unit, domain), domain, origin, Unit())",
        "tests/estimators/test_profile.py::test_person_with_any_number_of_rows_moves_a_profile_no_more_than_guaranteed",
    ),
    Mutation(
        "another scale for other units",
        "privacy/curator.py",
        "if engine.unit != self._engine.unit or self.sampling_exponent:",
        "if self.sampling_exponent:",
        "tests/privacy/test_curator_units.py::test_another_scale_protects_the_same_unit",
    ),
    Mutation(
        "an attribute beside the list",
        "estimators/base.py",
        "        _fit.warn_of_large_delta(self.model_)\n",
        "        _fit.warn_of_large_delta(self.model_)\n"
        '        self.memory_ = __import__("resource").getrusage(0).ru_maxrss\n',
        "tests/estimators/test_released_results.py::test_a_fitted_estimator_holds_the_list_and_nothing_else",
    ),
)
