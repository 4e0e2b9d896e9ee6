"""How often 95 % intervals of profiles hold the truth, with real noise.

Each run fits a model to a made-up table, profiles four other columns and compares with the truth:
of the rows that `predict` puts into a cluster, the number, the means of clipped columns and the
shares, worked out here without privclust. One cluster is small, and cells are missing. Where a fit
leaves a cluster without a single row, only its size has a truth, and only that is counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from privclust import PrivateKMeans
from privclust.kernels.grid import FloatArray
from privclust.models.intervals import Intervals

RUNS, ROWS, BINS = 200, 20_000, 10
ALLOWED = 0.02
"""How far from 0.95 the covered part of any kind may be."""
MIDDLES = np.array([[20, 20], [20, 80], [80, 50], [60, 5]])
PARTS = (0.5, 0.3, 0.18, 0.02)
LEVELS = ("A", "B", "C", "other")
AGE, INCOME, DAYS = (0.0, 100.0), (1e2, 1e6), (0.0, 3650.0)
BOUNDS: dict[str, Any] = {
    "age": AGE,
    "income": {"type": "number", "lower": INCOME[0], "upper": INCOME[1], "transform": "log"},
    "day": DAYS,
    "ward": {"type": "category", "levels": list(LEVELS)},
}
Truth = dict[str, FloatArray]


def main(quick: bool) -> None:
    """Print how often intervals cover, for each kind of number, and the verdict."""
    held: dict[str, list[FloatArray]] = {}
    for seed in range(5 if quick else RUNS):
        for kind, covered in _covered(seed).items():
            held.setdefault(kind, []).append(covered.ravel().astype(float))
    worst = 0.0
    for kind, runs in held.items():
        cover = float(np.mean(np.concatenate(runs)))
        worst = max(worst, abs(cover - 0.95))
        print(f"{kind}: {cover:.4f} of {sum(map(len, runs)):,} intervals, {len(runs)} runs")
    if not quick:
        print(f"profiles {worst:.4f} {ALLOWED} {'PASS' if worst <= ALLOWED else 'NOT MET'}")


def _covered(seed: int) -> dict[str, Any]:
    """Fit and profile once; return whether each interval holds."""
    table = _table(seed)
    model = PrivateKMeans(
        len(MIDDLES), delta=1e-6, bounds={"x": (0, 100), "y": (0, 100)}, random_state=seed
    ).fit(table[["x", "y"]])
    profile = model.profile(table, list(BOUNDS), bounds=BOUNDS, epsilon=1.0)
    truths = [_truth(table[model.predict(table[["x", "y"]]) == k]) for k in range(len(MIDDLES))]
    held: dict[str, list[Any]] = {"sizes": [_holds(profile.sizes, truths, "size")]}
    for column in profile.columns:
        name = column.column.name
        kind = "shares" if column.means is None else "histograms"
        held.setdefault(kind, []).append(_holds(column.shares, truths, f"{name} shares").ravel())
        if column.means is not None:
            held.setdefault("means", []).append(_holds(column.means, truths, f"{name} mean"))
    return {kind: np.concatenate(parts) for kind, parts in held.items()}


def _holds(found: Intervals, truths: list[Truth], name: str) -> Any:
    truth = np.array([one[name] for one in truths])
    return ((found.lower <= truth) & (truth <= found.upper))[~np.isnan(truth)]


def _table(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([7, seed])
    group = rng.choice(len(PARTS), ROWS, p=PARTS)
    place = rng.normal(MIDDLES[group], 4.0)
    ward = np.array([*LEVELS, "unheard of"], dtype=object)
    # Frequent levels differ from group to group.
    chosen = (rng.choice(len(ward), ROWS, p=(0.5, 0.25, 0.15, 0.07, 0.03)) + group) % len(ward)
    table = pd.DataFrame(
        {
            "x": place[:, 0],
            "y": place[:, 1],
            "age": rng.normal(20.0 + 15.0 * group, 25.0),
            "income": np.exp(rng.normal(8.0 + group, 1.5)),
            "day": rng.uniform(-300.0, 3000.0, ROWS),
            "ward": ward[chosen],
        }
    )
    return table.mask(rng.random(table.shape) < [0, 0, 0.04, 0.04, 0.04, 0.04])


def _truth(rows: pd.DataFrame) -> Truth:
    """Work out what a profile is about, for the rows of one cluster; NaN if there are none."""
    n_rows = len(rows) or np.nan
    scales = {"age": AGE, "income": tuple(np.log10(INCOME)), "day": DAYS}
    found: Truth = {"size": np.float64(len(rows))}  # type: ignore[dict-item]
    for name, (low, high) in scales.items():
        cells = rows[name].to_numpy(dtype=float)
        cells = np.clip(np.log10(cells) if name == "income" else cells, low, high)
        missing = np.isnan(cells)
        mean = cells[~missing].sum() / ((~missing).sum() or np.nan)
        found[f"{name} mean"] = 10**mean if name == "income" else mean
        counts, _ = np.histogram(cells[~missing], BINS, (low, high))
        found[f"{name} shares"] = np.append(counts, missing.sum()) / n_rows
    ward = rows["ward"]
    known = ward.where(ward.isin(LEVELS) | ward.isna(), "other")
    levels = [int((known == level).sum()) for level in LEVELS]
    found["ward shares"] = np.append(levels, known.isna().sum()) / n_rows
    return found
