"""What a new run says of runs that have not ended: their budget is set aside still."""

from __future__ import annotations

from collections.abc import Sequence

from privclust.errors import Message, Parameter
from privclust.privacy.ledger.records import Run

_KNOWN_BY = {"estimator": "{}", "n_clusters": "{} clusters", "epsilon": "epsilon {}"}
"""Facts by which people know a run again."""


def open_runs_message(label: str, runs: Sequence[Run]) -> Message | None:
    """Say which run of a data set has not ended and how to go on with it, if there is one.

    Examples
    --------
    >>> from privclust.privacy.accounting import Spend
    >>> facts = {"estimator": "DPLloyd", "epsilon": "1"}
    >>> runs = [Run("c716", "visits", Spend(), {}, "open", facts)]
    >>> print(open_runs_message("visits", runs)[:70])
    data set 'visits' has an open run, c716 (run 1 of 1: DPLloyd, epsilon
    """
    opened = [(number, run) for number, run in enumerate(runs, 1) if run.open]
    if not opened:
        return None
    number, run = opened[-1]
    known = ", ".join(
        text.format(run.facts[one]) for one, text in _KNOWN_BY.items() if one in run.facts
    )
    count = (
        "an open run," if len(opened) == 1 else f"{len(opened):,} open runs, the last of which is"
    )
    place = f"run {number:,} of {len(runs):,}{f': {known}' if known else ''}"
    return Message(
        f"data set {label!r} has {count} {run.name} ({place}). It keeps the budget that it set "
        "aside, and what begins now is a new run that is charged beside it. If the open one was "
        "interrupted, stop this one and go on with that at no further cost by ",
        Parameter("resume", run.name, f"resume={run.name!r}"),
        ". If nobody wants it, 'privclust ledger close' with its name frees what it did not use.",
    )
