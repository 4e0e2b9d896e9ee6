"""What tells the runs of a ledger apart, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from privclust.privacy.ledger.records import Run

_ALWAYS = {
    "estimator": "{}",
    "n_clusters": "{} clusters",
    "epsilon": "epsilon {}",
    "period": "period {}",
    "analyst": "analyst {}",
    "columns": "of {}",
    "follows_from": "after run {}",
}
_NEVER = ("seed", "clusters", "clustered_columns", "init")
"""Numbers and hashes that nobody knows a run by."""


def describe_runs(runs: Sequence[Run]) -> list[str]:
    """Return what each run is, and in what it differs from others of the same estimator.

    Examples
    --------
    >>> from privclust.privacy.accounting import Spend
    >>> facts = {"estimator": "DPLloyd", "n_clusters": "2", "scale": "None"}
    >>> other = {**facts, "scale": "'private'"}
    >>> one, two = (Run("", "visits", Spend(), {}, "open", item) for item in (facts, other))
    >>> describe_runs([one, two])
    ['DPLloyd, 2 clusters', "DPLloyd, 2 clusters, scale 'private'"]
    >>> profile = {"estimator": "profile", "n_clusters": "2", "analyst": "a7"}
    >>> describe_runs([Run("", "visits", Spend(), {}, "open", profile)])
    ['profile, 2 clusters, analyst a7']
    """
    names = sorted({name for run in runs for name in run.facts} - {*_ALWAYS, *_NEVER})
    values: dict[tuple[str | None, str], set[str | None]] = defaultdict(set)
    for run in runs:
        for name in names:
            values[run.facts.get("estimator"), name].add(run.facts.get(name))
    found = []
    for run in runs:
        facts = run.facts
        words = [text.format(facts[name]) for name, text in _ALWAYS.items() if name in facts]
        words += [
            f"{name} {facts[name]}"
            for name in names
            if facts.get(name, "None") != "None" and len(values[facts.get("estimator"), name]) > 1
        ]
        found.append(", ".join(words))
    return found
