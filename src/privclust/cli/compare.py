"""``privclust compare``: two models of the same columns beside each other."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from privclust.cli._options import AsJson
from privclust.cli.messages import INDENT, reporting_errors, say
from privclust.cli.tables import print_in_parts
from privclust.kernels.grid import FloatArray
from privclust.models._coordinates import format_shift

if TYPE_CHECKING:
    from privclust.models.compare import Comparison


BOTH_PUBLISHED = (
    "If both models are published and tell of the same people, what both come to together holds."
)


def compare(
    before: Annotated[Path, typer.Argument(help="A model file, such as last year's.")],
    after: Annotated[Path, typer.Argument(help="Another one, of the same columns.")],
    as_json: AsJson = False,
) -> None:
    """Match the clusters of two models, and say how far they moved and whether noise explains it.

    No row is read and nothing is spent. Models of the same people that are both published
    guarantee what both come to together.
    """
    from privclust.models.compare import compare as compared
    from privclust.models.model_file import read_model

    with reporting_errors():
        first, second = read_model(before), read_model(after)
        found = compared(first, second)
        if as_json:
            typer.echo(_as_json(found))
            return
        for sentence in found.differences:
            say(sentence)
        _show(found)
        counts = len(first.cluster_sizes), len(second.cluster_sizes)
        if counts[0] != counts[1]:
            say(_other_numbers(before, after, *counts))
        say(BOTH_PUBLISHED)


def _show(found: Comparison) -> None:
    """Print pairs of clusters side by side, and how far their columns moved below each other."""
    header = ["after less before", *(f"{one} -> {other}" for one, other in found.pairs)]
    sizes = zip(found.size_shifts, found.size_stderr, strict=True)
    rows = [["rows", *(format_shift("number", *size) for size in sizes)]]
    columns = zip(found.names, found.uses, found.shifts.T, found.errors.T, strict=True)
    for name, use, shifts, errors in columns:
        moves = zip(shifts, errors, strict=True)
        rows.append([name, *(format_shift(use, *move) for move in moves)])
    rows.append(["moved", *found.moves("yes", "no")])
    say(f"{found.title}:")
    print_in_parts(header, rows)
    for clusters, model in ((found.gone, "first"), (found.new, "second")):
        if clusters:
            listed = ", ".join(map(str, clusters))
            say(f"Without a counterpart: of the {model} model cluster {listed}.")
    say(
        "A cluster has moved if noise and the chance of which rows came do not explain it; where "
        "clusters lie apart, of a thousand comparisons in which none has about one says so. "
        "Columns are named that stand out by themselves. ± is of noise, and not of the chance "
        "which rows came."
    )
    if found.on_borders:
        say(found.on_borders)


def _other_numbers(before: Path, after: Path, first: int, second: int) -> str:
    """Say why clusters lack a counterpart where numbers differ, and how to have one number."""
    text = (
        f"The first model has {first} cluster(s) and the second {second}, so that some have no "
        "counterpart though nothing may have moved."
    )
    larger, fewer = (before, second) if first > second else (after, first)
    words = [
        "privclust",
        "refit",
        str(larger),
        "-k",
        str(fewer),
        "-o",
        f"{larger.stem}-{fewer}.json",
    ]
    remedy = "If 'privclust fit' made it, this brings both to one number at no cost:"
    return f"{text} {remedy}\n{INDENT}{shlex.join(words)}"


def _as_json(found: Comparison) -> str:
    content = {
        "names": list(found.names),
        "pairs": found.pairs.tolist(),
        "shifts": found.shifts.tolist(),
        "shift_stderr": _known(found.shift_stderr),
        "size_shifts": found.size_shifts.tolist(),
        "size_stderr": _known(found.size_stderr),
        "distances": found.distances.tolist(),
        "moved": found.moved.tolist(),
        "moved_columns": found.moved_columns.tolist(),
        "gone": list(found.gone),
        "new": list(found.new),
        "border_stderr": None if found.border_stderr is None else found.border_stderr.tolist(),
        "size_border_stderr": (
            None if found.size_border_stderr is None else found.size_border_stderr.tolist()
        ),
        "differences": list(found.differences),
    }
    return json.dumps(content, allow_nan=False)


def _known(errors: FloatArray) -> object:
    """Return errors as JSON has them; None of models that do not know theirs."""
    return None if np.isnan(errors).any() else errors.tolist()
