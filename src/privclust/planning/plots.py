"""Pictures of public things."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from privclust.models._canvas import plain_texts
from privclust.planning.forecast import FOUND, Forecast, plan
from privclust.privacy.accounting import Spend
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import Run

TOP = 3.0
"""Of forecasts; beyond, it does not matter."""
SHOWN = 12
"""Fits drawn one by one; those before are drawn together."""
SET_ASIDE = "set aside, not asked"
PALETTE = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#996633",
    "#445566",
    "#ee8866",
    "#77aadd",
)


@plain_texts()
def draw_budget(ledger: Ledger, label: str, picture: Path) -> None:
    """Draw where a data set's budget went: all of it, fit by fit, and each fit by its questions.

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
    whole = _size(dataset.budget.capacity)
    bars = _bars(runs)
    figure = Figure(figsize=(8, 1.8 + 0.36 * len(bars)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    colors = _colors({part: None for bar in bars.values() for part in bar})
    used = 0.0
    for row, parts in enumerate(bars.values()):
        for name, size in parts.items():
            axes.barh(row, size / whole, left=used, color=colors[name], height=0.7)
            used += size / whole
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
    figure.savefig(picture, format="png", dpi=150)


def draw_forecast(forecast: Forecast, picture: Path) -> None:
    """Draw the loss to expect against epsilon, with the one that was asked for.

    Parameters
    ----------
    forecast : Forecast
        What `plan` returned.
    picture : str or Path
        A PNG to write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
    ...     draw_forecast(plan(20_000, 4, delta=1e-6), Path(file.name))
    """
    given = (forecast.n_rows, forecast.n_columns, forecast.n_clusters)
    tried = np.geomspace(0.01, 32, 200)
    ratios = np.array([plan(*given, epsilon=float(e), delta=forecast.delta).ratio for e in tried])
    seen = (ratios <= TOP) | (tried >= forecast.epsilon)
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot(tried[seen], ratios[seen], color=PALETTE[0])
    here = (forecast.epsilon, min(forecast.ratio, TOP))
    axes.plot(*here, "o", color=PALETTE[1])
    text = f"epsilon {forecast.epsilon:g}: {forecast.ratio:.3f}"
    axes.annotate(text, here, xytext=(0, 10), textcoords="offset points", ha="center")
    axes.axhspan(FOUND, TOP, color="#f3f4f6")
    axes.text(0.99, 0.95, "clusters are not found", transform=axes.transAxes, ha="right", va="top")
    axes.set_xscale("log")
    axes.set_ylim(0.95, TOP)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("epsilon (log scale); less is stronger")
    axes.set_ylabel("loss, over that of k-means")
    axes.set_title(
        f"{forecast.n_clusters} clusters, {forecast.n_rows:,} rows, {forecast.n_columns} columns",
        loc="left",
        fontsize=11,
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, format="png", dpi=150)


def _bars(runs: tuple[Run, ...]) -> dict[str, dict[str, float]]:
    """Return the parts of every bar: questions by their slots' first word, what is set aside."""
    bars: dict[str, dict[str, float]] = {}
    for number, run in enumerate(runs):
        early = number < len(runs) - SHOWN
        estimator = run.facts.get("estimator", "fit")
        about = f"{estimator}, {run.facts.get('n_clusters', '?')} clusters"
        name = "earlier fits" if early else f"{about}\n{run.name[:8]}, {run.state}"
        parts = bars.setdefault(name, {})
        for slot, charge in run.charges.items():
            question = slot.split(" ")[0]
            parts[question] = parts.get(question, 0.0) + _size(charge)
        if run.open:
            rest = _size(run.reserved) - _size(run.spent)
            parts[SET_ASIDE] = parts.get(SET_ASIDE, 0.0) + rest
    return bars


def _colors(parts: Iterable[str]) -> dict[str, str]:
    asked = [part for part in parts if part != SET_ASIDE]
    colors = {part: PALETTE[index % len(PALETTE)] for index, part in enumerate(asked)}
    return colors | ({SET_ASIDE: "#bbbbbb"} if SET_ASIDE in parts else {})


def _size(spend: Spend) -> float:
    return spend.mu2 if spend.pure is None else spend.epsilon
