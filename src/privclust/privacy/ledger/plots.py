"""A picture of where a data set's budget went."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from privclust.models._canvas import PALETTE, new_figure, plain_texts, save_png
from privclust.privacy.accounting import Spend
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import Run, part_of, whole_of

NEWEST = 12
"""Fits drawn one by one; those before are drawn together."""
SET_ASIDE = "set aside, not measured"


@plain_texts()
def draw_budget(ledger: Ledger, label: str, picture: Path) -> None:
    """Draw where a data set's budget went: all of it, fit by fit, and each fit by its queries.

    Parameters
    ----------
    ledger : Ledger
        The one that has the account.
    label : str
        The data set's name there.
    picture : str or Path
        A PNG to write.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger.in_memory()
    >>> ledger.add("patients", epsilon=1.0, delta=1e-6)
    >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
    ...     draw_budget(ledger, "patients", Path(file.name))
    """
    dataset = ledger.dataset(label)
    runs = ledger.runs(label)
    taken = sum((run.committed for run in runs), Spend())
    bars = _bars(runs, whole_of(dataset.budget, taken))
    figure = new_figure(8, 1.8 + 0.36 * len(bars))
    axes = figure.subplots()
    colors = _colors({part: None for bar in bars.values() for part in bar})
    used = 0.0
    for row, parts in enumerate(bars.values()):
        for name, size in parts.items():
            axes.barh(row, size, left=used, color=colors[name], height=0.7)
            used += size
    axes.axvspan(used, 1, color="#e8f3e8", zorder=0)
    axes.set_yticks(range(len(bars)), bars, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel(f"of the budget, fit after fit; {1 - used:.0%} is left (shaded)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(
        f"{label}: epsilon {dataset.budget.epsilon:g}, delta {dataset.budget.delta:g} "
        f"for each {dataset.unit}",
        loc="left",
        fontsize=11,
    )
    handles = [axes.barh(0, 0, color=color, label=name) for name, color in colors.items()]
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=min(6, len(handles)), fontsize=8
        )
    save_png(figure, picture)


def _bars(runs: tuple[Run, ...], whole: Spend) -> dict[str, dict[str, float]]:
    """Return which part of the whole budget each part of every bar is.

    Parts are queries, by their slots' first word, and what is set aside.
    """
    bars: dict[str, dict[str, float]] = {}
    for number, run in enumerate(runs):
        early = number < len(runs) - NEWEST
        estimator = run.facts.get("estimator", "fit")
        about = f"{estimator}, {run.facts.get('n_clusters', '?')} clusters"
        name = "earlier fits" if early else f"{about}\n{run.name[:8]}, {run.state}"
        parts = bars.setdefault(name, {})
        for slot, charge in run.charges.items():
            query = slot.split(" ")[0]
            parts[query] = parts.get(query, 0.0) + part_of(charge, whole)
        if run.open:
            rest = part_of(run.spent.left_of(run.reserved), whole)
            parts[SET_ASIDE] = parts.get(SET_ASIDE, 0.0) + rest
    return bars


def _colors(parts: Iterable[str]) -> dict[str, str]:
    measured = [part for part in parts if part != SET_ASIDE]
    colors = {part: PALETTE[index % len(PALETTE)] for index, part in enumerate(measured)}
    return colors | ({SET_ASIDE: "#bbbbbb"} if SET_ASIDE in parts else {})
