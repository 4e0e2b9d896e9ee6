"""Tables of pages, from the results that are kept: ``python -m benchmarks pages`` writes them anew.

A page has a table between ``<!-- table: NAME -->`` and ``<!-- table end -->``. Single numbers in
sentences are facts; `tests/benchmarks/test_pages.py` names the sentences and compares.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import (
    audit,
    audit_histories,
    federated,
    rivals,
    scale,
    series,
    spark_cost,
    speed,
    thesis,
    utility,
)
from benchmarks.auc import losses_of, mean_loss
from benchmarks.figures import epsilon
from benchmarks.figures.headline import error
from benchmarks.figures.redraw import robust_fits, utility_losses
from benchmarks.pieces import load
from benchmarks.rivals import FLAGSHIP, REFERENCE, RIVALS, TABLES, geometric_mean, ratio
from benchmarks.robust.ratios import few_rows
from benchmarks.robust.report import print_ours
from benchmarks.robust.tables import DESIGN, HELD_OUT
from benchmarks.verdicts import BAD, share

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- table: ([\w -]+) -->\n).*?(<!-- table end -->)", re.DOTALL)


def _printed(part: Callable[..., Any], *given: Any) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        part(*given)
    return text.getvalue().strip() + "\n"


def speed_ratios() -> dict[int, list[tuple[float, float]]]:
    """Return CPU seconds over those of one start and of ten, of each table, by rows."""
    with contextlib.redirect_stdout(io.StringIO()):
        return speed.print_table(load("speed", speed.Timing))


def _speed_means() -> None:
    """Print CPU seconds over those of k-means, as means over all tables of as many rows."""
    print("| rows | over `KMeans(k)` | tables | target | over ten starts | tables | target |")
    print("|---" * 7 + "|")
    for n_rows, found in speed_ratios().items():
        if found:
            cells = [f"{n_rows:,}"]
            columns = speed.measured_ratios(found)
            for ratios, target in zip(columns, speed.TARGETS[n_rows], strict=True):
                cells += _mean_and_target(ratios, target)
            print(f"| {' | '.join(cells)} |")


def _mean_and_target(ratios: list[float], target: float | None) -> list[str]:
    if not ratios:
        return ["", "", "" if target is None else f"{target:g}"]
    mean = geometric_mean(ratios)
    missed = target is not None and mean > target
    return [
        f"{mean:.3g}",
        str(len(ratios)),
        "" if target is None else f"{target:g}{': **not met**' if missed else ''}",
    ]


PARTS: dict[str, Callable[[], str]] = {
    "methods": lambda: _printed(rivals.print_methods, utility_losses()),
    "areas": lambda: _printed(rivals.print_tables, utility_losses()),
    "flagship": lambda: _printed(utility.print_table, utility_losses()),
    "published": lambda: _printed(rivals.print_beside_published, utility_losses()),
    "thesis": lambda: _printed(thesis.print_tables, losses_of(load("thesis"))),
    "design half": lambda: _printed(print_ours, robust_fits(), DESIGN),
    "held-out half": lambda: _printed(print_ours, robust_fits(), HELD_OUT),
    "federated": lambda: _printed(federated.print_table, load("federated")),
    "epsilon": lambda: _printed(epsilon.print_table),
    "series": lambda: _printed(series.print_table, load("series", series.Year)),
    "scale": lambda: _printed(scale.print_table),
    "spark cost": lambda: _printed(spark_cost.print_table),
    "speed": lambda: _printed(speed.print_table, load("speed", speed.Timing)),
    "speed means": lambda: _printed(_speed_means),
    "attacks": lambda: _printed(audit.print_table, audit.refutations(stale=True)),
    "attacks on calls": lambda: _printed(
        audit_histories.print_table, audit_histories.refutations(stale=True)
    ),
}


@cache
def part(name: str) -> str:
    """Return a table as Markdown."""
    return PARTS[name]()


def renewed(text: str) -> str:
    """Return a page with all its tables as the results have them."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{part(found[2])}\n{found[3]}", text)


def pages() -> Iterator[Path]:
    """Give the pages that have such a table."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if "_build" not in page.parts and BLOCK.search(page.read_text()):
            yield page


def renew() -> None:
    """Write the tables of all pages anew."""
    for page in pages():
        page.write_text(renewed(page.read_text()))


@cache
def facts() -> dict[str, float]:
    """Return the numbers that sentences of README and pages give."""
    losses = utility_losses()
    areas = {
        method: [ratio(losses, method, name) for name in TABLES] for method in (FLAGSHIP, *RIVALS)
    }
    best = [min(values) for values in zip(*areas.values(), strict=True)]
    means = {method: geometric_mean(values) for method, values in areas.items()}
    fits = robust_fits()
    largest = max(scale.kept())
    enough = [name for name in (*DESIGN, *HELD_OUT) if not few_rows(name, 1.0)]
    held_out = fits.of(FLAGSHIP, HELD_OUT)
    return {
        "tables": len(TABLES),
        "over one start": geometric_mean(one for one, _ in speed_ratios()[100_000]),
        "over ten starts": geometric_mean(ten for _, ten in speed_ratios()[100_000]),
        "most rows": largest,
        "memory of most rows": scale.kept()[largest].gigabytes,
        "tables with enough rows": len(enough),
        "silent held out": 100 * share([not fit.warned for loss, fit in held_out if loss > BAD]),
        "suite at 1": geometric_mean(fits.means(FLAGSHIP, enough, 1.0).values()),
        "area": means[FLAGSHIP],
        "best rival's area": min(means[method] for method in RIVALS),
        "error at .25": error(losses, FLAGSHIP, 0.25),
        "error at 1": error(losses, FLAGSHIP, 1.0),
        "error at 4": error(losses, FLAGSHIP, 4.0),
        "best rival's error at .25": min(error(losses, method, 0.25) for method in RIVALS),
        "best rival's error at 4": min(error(losses, method, 4.0) for method in RIVALS),
        "uber at 1": mean_loss(losses, FLAGSHIP, "uber_pickups", 1.0)
        / mean_loss(losses, REFERENCE, "uber_pickups", 0.0),
        "tables won": sum(own == least for own, least in zip(areas[FLAGSHIP], best, strict=True)),
        "worst area": max(areas[FLAGSHIP]),
    }
