"""Bugs in what is stated: a run left out, units mixed, figures on the wrong side."""

from __future__ import annotations

from mutations.base import Mutation

_COMPOSITION = "tests/models/test_composition.py"

STATEMENTS = (
    Mutation(
        "a profile that states its own epsilon alone",
        "estimators/_profile.py",
        'dependencies_of("clusters", statement),',
        "(),",
        "tests/audit/test_profile_attack.py::"
        "test_a_profile_alone_refutes_that_its_own_epsilon_is_all_and_not_what_is_stated",
    ),
    Mutation(
        "a start that the statement leaves out",
        "estimators/_statement.py",
        'runs += dependencies_of("start", model.privacy_statement)',
        "pass",
        f"{_COMPOSITION}::test_fit_states_the_run_it_started_from_and_what_that_started_from",
    ),
    Mutation(
        "only the last run of a series is stated",
        "estimators/_statement.py",
        "return (Dependency(role, statement.run), *statement.dependencies)",
        "return (Dependency(role, statement.run),)",
        f"{_COMPOSITION}::test_fit_states_the_run_it_started_from_and_what_that_started_from",
    ),
    Mutation(
        "a guarantee for one unit built on that for another",
        "estimators/_statement.py",
        "if not statement.run.unit.protects_same(unit):",
        "if False:",
        f"{_COMPOSITION}::test_model_of_another_unit_is_refused_before_anything_is_charged",
    ),
    Mutation(
        "units that are told apart by name alone",
        "queries/unit.py",
        "return self._kind == other._kind",
        "return self.ledger_name == other.ledger_name",
        f"{_COMPOSITION}::test_column_named_like_a_unit_of_federations_is_not_one",
    ),
    Mutation(
        "power for adding a row where one is replaced",
        "models/composition.py",
        "best_power(cost_of_replacing(self.cost) if self.typed_rows else self.cost)",
        "best_power(self.cost)",
        f"{_COMPOSITION}::test_typed_number_of_rows_counts_for_two_units",
    ),
    Mutation(
        "a profile without the run of its clusters",
        "models/statement.py",
        'if grouped != (self.kind == "profile"):',
        "if False:",
        f"{_COMPOSITION}::test_profile_without_the_run_of_its_clusters_cannot_be",
    ),
    Mutation(
        "epsilons that are read off the largest run",
        "models/composition.py",
        "return epsilon_together([run.reserved for run in self.runs], delta)",
        "return max(run.epsilon for run in self.runs)",
        f"{_COMPOSITION}::test_profile_states_its_own_run_and_the_fit_it_is_grouped_by",
    ),
    Mutation(
        "power of a test without its mu",
        "models/composition.py",
        "float(ndtr(ndtri(FALSE_ALARMS) + cost.mu))",
        "float(ndtr(ndtri(FALSE_ALARMS) + cost.mu / 2))",
        f"{_COMPOSITION}::test_power_is_that_of_the_best_test_and_never_below",
    ),
    Mutation(
        "losses rounded to nearest",
        "models/formatting.py",
        "return _rounded(value, digits, ROUND_CEILING)",
        'return _rounded(value, digits, "ROUND_HALF_EVEN")',
        "tests/models/test_formatting.py::test_findings_of_the_attackers_are_rounded_up",
    ),
    Mutation(
        "preprocessing that nobody mentions",
        "models/_statement_text.py",
        "    listed += ALWAYS_NOT_COVERED\n",
        "    listed += ALWAYS_NOT_COVERED[:3]\n",
        "tests/models/test_statement.py::"
        "test_preprocessing_and_unstated_bounds_are_listed_as_not_covered",
    ),
    Mutation(
        "a weak guarantee that says nothing of it",
        "models/composition.py",
        "WEAK = 8.0",
        "WEAK = 80.0",
        "tests/models/test_statement.py::test_weak_guarantee_says_how_little_it_means",
    ),
    Mutation(
        "a file whose noise is believed",
        "models/_release_file.py",
        "if run.noise != noise_of(releases):",
        "if False:",
        "tests/models/test_model_file_hostile.py::test_statement_that_its_results_contradict_is_refused",
    ),
    Mutation(
        "a file whose epsilon is believed",
        "models/statement.py",
        'if content["private"] != statement.private or not agrees:',
        'if content["private"] != statement.private:',
        "tests/models/test_model_file_hostile.py::test_statement_that_its_results_contradict_is_refused",
    ),
    Mutation(
        "own parameters that hold what nobody looks into",
        "estimators/_fit.py",
        "    check_own_parameters(estimator)\n",
        "",
        "tests/estimators/test_own_parameters.py::test_other_values_are_refused_before_the_charge",
    ),
    Mutation(
        "models in own parameters not checked",
        "estimators/_fit.py",
        "    check_models(estimator.get_params(deep=False), task.unit, estimator.epsilon)\n",
        "",
        "tests/estimators/test_own_parameters.py::"
        "test_models_that_guarantee_nothing_here_are_refused_before_the_charge",
    ),
    Mutation(
        "a plan for another budget",
        "estimators/_fit.py",
        "    task.check_spending(planned.spending)\n",
        "",
        "tests/estimators/test_own_parameters.py::"
        "test_plan_for_another_budget_is_refused_before_the_charge",
    ),
)
