"""What every page about a release shows: its guarantee, its results, its clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privclust.domains.bounds import UNSTATED
from privclust.models import _statement_text
from privclust.models._border_note import border_note
from privclust.models._cluster_table import ClusterTable
from privclust.models._cohort_text import PROTECTED, cohort_text
from privclust.models._fit_notes import columns_of
from privclust.models._missing_cells import declared_missing
from privclust.models.cluster_model import ClusterModel
from privclust.models.compose import compose
from privclust.models.composition import describe_run
from privclust.models.profile import Profile
from privclust.models.report._guarantees import chosen_later
from privclust.models.report._release_groups import groups_of
from privclust.models.report._release_meaning import meaning
from privclust.models.report._wide_table import table_of_clusters
from privclust.models.verdict import verdict
from privclust.privacy.accounting import Budget, epsilon_of

LARGE_DELTA = 0.1
"""Of delta times the number of rows: above, pages say that it is large."""
GROUP = 4
"""People of a household: what the guarantee comes to for so many units together is said."""


def release_context(
    model: ClusterModel,
    profiles: Sequence[Profile],
    table: ClusterTable,
    lowered: Budget | None = None,
    first: Budget | None = None,
) -> dict[str, Any]:
    """Return what the parts of pages need that are common to all pages.

    `lowered` is what the ledger admits now, if that is known to be less than at `first`.
    """
    statement = model.privacy_statement
    composed = compose(model, *profiles)
    later = chosen_later(composed, first)
    remainder = composed.delta * model.n_rows
    statements = [statement, *(profile.privacy_statement for profile in profiles)]
    return {
        "statement": statement,
        "composed": composed,
        "lowered": lowered,
        "chosen_later": later,
        "factor": _statement_text.factor(composed.epsilon),
        "n_rows_note": _statement_text.n_rows(statement)
        if len(composed.runs) == 1
        else composed.n_rows,
        "unstated": [one for one in statements if one.bounds_origin == UNSTATED],
        "not_covered": composed.not_covered,
        "nodes": cohort_text(statement.run),
        "protected": PROTECTED,
        "unrecorded": not all(run.is_recorded for run in composed.runs),
        "releases": [(one, line) for one in statements for line in one.releases],
        "release_groups": [groups_of(one) for one in statements],
        "describe_run": describe_run,
        "meaning": meaning,
        "roles": _statement_text.ROLES,
        "table": table,
        "clusters": table_of_clusters(table.headers, table.rows()),
        "n_rows": f"{model.n_rows:,}",
        "declared_missing": declared_missing(columns_of(model)),
        "verdict": verdict(model),
        "on_borders": border_note(model),
        "quality": model.quality_sentences,
        "unmeasured": model.quality is None and not model.measured_quality,
        "warning": model.fit_warning,
        "group": GROUP,
        "group_epsilon": _group_epsilon(composed.private, composed.mu, composed.delta),
        "group_later": None
        if later is None
        else _group_epsilon(True, later.mu, later.budget.delta),
        "too_large": remainder > 1,
        "large_delta": remainder if remainder > LARGE_DELTA else None,
    }


def _group_epsilon(private: bool, mu: float, delta: float) -> float | None:
    """Return at which epsilon a group is protected; None if that is not stated."""
    return epsilon_of(GROUP * mu, delta) if private and delta > 0 else None
