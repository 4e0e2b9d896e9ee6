"""``privclust k-path``: what each number of clusters is like."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from privclust.cli._models import load_with_coreset
from privclust.cli._options import AsJson, Model
from privclust.cli.messages import reporting_errors, say
from privclust.cli.tables import print_table

if TYPE_CHECKING:
    from privclust.models.k_path import Choice

WIDTH = 24
"""Characters of the curve."""
EACH, SOME = 16, 4
"""Up to the first, all k are shown, and then those that the second divides."""
_LEAST = 1e-12
"""What a loss counts as that has no logarithm."""


def k_path(model: Model, as_json: AsJson = False) -> None:
    """Print what 1, 2, … clusters are like: loss, stability and silhouette.

    All follows from what the fit released: no row is read and nothing is spent. Which number is
    right, only you can say: for what the clusters are used, and how many of them people can tell
    apart. 'privclust refit' makes the model.
    """
    from privclust.models.formatting import with_error
    from privclust.models.k_path import HOW_TO_READ, ON_STABILITY
    from privclust.models.quality import NO_UNIT

    with reporting_errors():
        path = load_with_coreset(model).k_path()
        if as_json:
            choices = [asdict(choice) for choice in path.choices]
            content = {"is_capped": path.is_capped, "max_clusters": path.max_clusters}
            typer.echo(json.dumps({"choices": choices, **content}))
            return
        curve = _curve(path.choices)
        lines = [
            (
                str(choice.n_clusters),
                with_error(choice.loss, choice.stderr),
                drawn,
                f"{choice.stability:.2f}",
                f"{choice.silhouette:.2f}",
            )
            for place, (choice, drawn) in enumerate(zip(path.choices, curve, strict=True), 1)
            if place <= EACH or place % SOME == 0 or place == len(curve)
        ]
        loss = "capped loss" if path.is_capped else "loss"
        print_table(("k", f"{loss} ± error", "on a log scale", "stability", "silhouette"), lines)
        if len(lines) < len(curve):
            say(f"Above {EACH}, only some k are shown; --json has all.")
        if path.shortened is not None:
            say(path.shortened)
        say(
            f"{HOW_TO_READ}\n"
            "Loss is the mean squared distance of rows to their centre, estimated from the "
            f"coreset. {NO_UNIT} "
            "Most of its standard error is the same for all k: how losses compare is known better. "
            f"{ON_STABILITY} Silhouette is near 1 where clusters lie apart."
        )


def _curve(choices: Sequence[Choice]) -> list[str]:
    """Draw losses on a logarithmic scale: a point each, and a line of one standard error."""
    least = max(min(choice.loss for choice in choices), _LEAST)
    ends = [
        [math.log(max(loss, least)) for loss in (c.loss - c.stderr, c.loss, c.loss + c.stderr)]
        for c in choices
    ]
    low, high = math.log(least), max(end[2] for end in ends)
    step = max(high - low, 1e-9) / (WIDTH - 1)
    lines = []
    for end in ends:
        begin, middle, stop = (round((place - low) / step) for place in end)
        lines.append(" " * begin + "─" * (middle - begin) + "●" + "─" * (stop - middle))
    return lines
