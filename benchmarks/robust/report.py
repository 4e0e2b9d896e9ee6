"""What the fits of the suite say: a table per half, all methods beside each other, verdicts.

Ratios are losses over that of k-means, best of 10. Those of tables with fewer rows per cluster than
a fit needs at that epsilon stand in brackets, and count apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product

from benchmarks.methods import EPSILONS
from benchmarks.pieces import Piece
from benchmarks.rivals import FLAGSHIP, MARKED, RIVALS, geometric_mean
from benchmarks.robust.fits import (
    EXACT,
    EXACT_EPSILON,
    FOR_MANY_COLUMNS,
    MAIN_EPSILON,
    ONE_START,
    method_on,
)
from benchmarks.robust.ratios import Fits, Ratio, few_rows, rows_per_cluster
from benchmarks.robust.tables import DESIGN, HELD_OUT, TABLES
from benchmarks.verdicts import judge, judge_warnings, share

HALVES = {"design": DESIGN, "held-out": HELD_OUT}
NEAR, FARTHEST, SHARE_FARTHER = 1.05, 1.15, 0.05
"""Without noise: what all but a share of tables, and what all of them stay below."""
SUITE_MEAN, HELD_OUT_MEAN = 1.10, 1.15
BETTER, CERTAIN = 0.05, 3.0
"""A rival is better on a table if by so much, and by so many standard errors."""
COLUMNS = ((EXACT, EXACT_EPSILON), *((FLAGSHIP, epsilon) for epsilon in EPSILONS))


def tell(fits: Fits) -> bool:
    """Print all tables, and return whether all targets are met."""
    for half, tables in HALVES.items():
        print(f"\n{half} half\n")
        print_ours(fits, tables)
        print()
        _best_rivals(fits, tables)
        print()
        _methods(fits, tables)
    print()
    return all([*_without_noise(fits), *_beside_k_means(fits), _unbeaten(fits), *_warned(fits)])


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def _head(*cells: str) -> None:
    _row(*cells)
    _row(*["---"] * len(cells))


def _cell(found: Ratio | None, table: str, epsilon: float) -> str:
    if found is None:
        return "-"
    error = "" if math.isnan(found.error) else f" ± {found.error:.2g}"
    text = f"{found.mean:.3f}{error}"
    return f"({text})" if few_rows(table, epsilon) else text


def print_ours(fits: Fits, tables: Iterable[str]) -> None:
    """Print PrivateKMeans on every table, and how many fits gave a warning."""
    at = [f"{epsilon:g}" for epsilon in EPSILONS]
    _head("table", "rows per cluster", "k-means, one start", "no noise", *at, "warned")
    for name in tables:
        one_start = fits.ratio(ONE_START, name, 0.0)
        judged = [fit.warned for _, fit in fits.of(FLAGSHIP, [name])]
        _row(
            name,
            f"{rows_per_cluster(name):.0f}",
            f"{one_start.mean:.3f}" if one_start else "-",
            *(_cell(fits.ratio(method, name, e), name, e) for method, e in COLUMNS),
            f"{sum(judged)} of {len(judged)}",
        )
    for few in (False, True):
        means = [_mean_text(fits, method, tables, e, few) for method, e in COLUMNS]
        _row(f"geometric mean, {'fewer' if few else 'enough'} rows", "", "", *means, "")


def _best_rivals(fits: Fits, tables: Iterable[str]) -> None:
    """Print who comes nearest to k-means beside PrivateKMeans."""
    _head("best rival", *(f"{epsilon:g}" for epsilon in EPSILONS))
    for name in tables:
        best = {epsilon: fits.best_rival(name, epsilon) for epsilon in EPSILONS}
        _row(
            name,
            *(
                f"{found[0]} {_cell(found[1], name, epsilon)}" if found else "-"
                for epsilon, found in best.items()
            ),
        )


def _methods(fits: Fits, tables: Iterable[str]) -> None:
    """Print geometric means over tables with enough rows; how many, where some are missing."""
    _head("method, enough rows", *(f"{epsilon:g}" for epsilon in EPSILONS))
    for method in (FLAGSHIP, *RIVALS, MARKED):
        _row(method, *(_mean_text(fits, method, tables, e, few=False) for e in EPSILONS))


def _mean_text(fits: Fits, method: str, tables: Iterable[str], epsilon: float, few: bool) -> str:
    asked = [name for name in tables if few_rows(name, epsilon) == few]
    found = fits.means(method, asked, epsilon)
    if not found:
        return "-"
    return f"{geometric_mean(found.values()):.3f} of {len(found)}"


def _without_noise(fits: Fits) -> Iterable[bool]:
    for what, tables in (("suite", tuple(TABLES)), ("held-out half", HELD_OUT)):
        asked = [name for name in tables if not few_rows(name, EXACT_EPSILON)]
        found = fits.means(EXACT, asked, EXACT_EPSILON)
        whole = fits.whole(_fits_of((EXACT,), asked))
        over = f"of {len(found)} tables, {what}"
        far = [ratio > NEAR for ratio in found.values()]
        yield judge(f"no noise, share above {NEAR} {over}", share(far), SHARE_FARTHER, whole)
        worst = max(found, key=lambda name: found[name], default="none")
        yield judge(
            f"no noise, worst {over} ({worst})", found.get(worst, math.nan), FARTHEST, whole
        )


def _beside_k_means(fits: Fits) -> Iterable[bool]:
    targets = (("suite", tuple(TABLES), SUITE_MEAN), ("held-out half", HELD_OUT, HELD_OUT_MEAN))
    for what, tables, target in targets:
        asked = [name for name in tables if not few_rows(name, MAIN_EPSILON)]
        found = fits.means(FLAGSHIP, asked, MAIN_EPSILON)
        whole = fits.whole(_fits_of((FLAGSHIP,), asked, (MAIN_EPSILON,)))
        mean = geometric_mean(found.values()) if found else math.nan
        yield judge(f"epsilon 1, mean of {len(found)} tables, {what}", mean, target, whole)


def _unbeaten(fits: Fits) -> bool:
    """Name tables on which a rival is better; those with few rows do not count."""
    lost = {False: 0, True: 0}
    for name in TABLES:
        ours = fits.ratio(FLAGSHIP, name, MAIN_EPSILON)
        for rival in RIVALS:
            theirs = fits.ratio(rival, name, MAIN_EPSILON)
            if ours is None or theirs is None or not _better(theirs, ours):
                continue
            few = few_rows(name, MAIN_EPSILON)
            lost[few] += 1
            by = f"by {1 - theirs.mean / ours.mean:.1%}{', fewer rows' if few else ''}"
            print(f"{method_on(rival, name)} on {name}, {by}")
    print(f"rivals that are better where rows are fewer than needed: {lost[True]}")
    compared = (FLAGSHIP, *RIVALS, FOR_MANY_COLUMNS)
    whole = fits.whole(_fits_of(compared, TABLES, (MAIN_EPSILON,)))
    return judge("epsilon 1, rivals that are better", lost[False], 0, whole)


def _better(theirs: Ratio, ours: Ratio) -> bool:
    apart = ours.mean - theirs.mean
    return apart > BETTER * ours.mean and apart > CERTAIN * math.hypot(theirs.error, ours.error)


def _warned(fits: Fits) -> Iterable[bool]:
    """Judge warnings of fits at all epsilons to all tables, whatever rows they have."""
    for half, tables in HALVES.items():
        whole = fits.whole(_fits_of((FLAGSHIP,), tables))
        judged = ((ratio, fit.warned) for ratio, fit in fits.of(FLAGSHIP, tables))
        yield from judge_warnings(f"{half} half", judged, whole)


def _fits_of(
    methods: Iterable[str], tables: Iterable[str], epsilons: Iterable[float] = EPSILONS
) -> Callable[[Piece], bool]:
    asked = frozenset(product(methods, tables, epsilons))
    return lambda piece: (piece.method, piece.dataset, piece.epsilon) in asked
