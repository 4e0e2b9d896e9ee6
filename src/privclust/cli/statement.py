"""``privclust statement``: what models and profiles guarantee, alone and together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privclust.cli._options import AsJson
from privclust.cli.messages import print_error, reporting_errors, say
from privclust.errors import safe_repr
from privclust.models.formatting import rounded_up
from privclust.privacy.accounting import Budget

if TYPE_CHECKING:
    from privclust.models.composition import Composition
    from privclust.models.statement import Statement


def statement(
    files: Annotated[
        list[Path],
        typer.Argument(help="A model file or a profile, or several of the same rows."),
    ],
    as_json: AsJson = False,
) -> None:
    """Print the privacy guarantee of a model or a profile; of several, what they come to together.

    No row is read.
    """
    from privclust.models.compose import compose

    with reporting_errors():
        statements = [_statement_in(file) for file in files]
        together = compose(*statements)
        if as_json:
            typer.echo(_as_json(statements, together))
        elif len(statements) == 1:
            say(str(statements[0]))
        else:
            say(str(together))
        for sentence in _beyond_totals(together):
            print_error(sentence)


def _statement_in(file: Path) -> Statement:
    """Return the statement of a model file or of a profile's."""
    from privclust.models._json_file import kind_of_file
    from privclust.models.model_file import read_model
    from privclust.models.profile_file import load_profile

    if kind_of_file(file) == "profile":
        return load_profile(file).privacy_statement
    return read_model(file).privacy_statement


def _beyond_totals(together: Composition) -> list[str]:
    """Return for which data sets the runs come to more than their ledger admits, in words."""
    records = dict.fromkeys(run.record for run in together.runs if run.record is not None)
    totals = dict.fromkeys((one.dataset, one.epsilon, one.delta) for one in records)
    if not together.private:
        return []
    return [
        f"that is more than the ledger of data set {safe_repr(name)} admits for all runs: epsilon "
        f"= {rounded_up(epsilon)}, delta = {rounded_up(delta)}. At that delta, these runs come to "
        f"epsilon = {rounded_up(together.epsilon_at(delta))}. 'privclust ledger runs' lists those "
        "that it paid for; ask who paid for the others."
        for name, epsilon, delta in totals
        if together.epsilon_at(delta) > epsilon and not Budget(epsilon, delta).admits(together.cost)
    ]


def _as_json(statements: list[Statement], together: Composition) -> str:
    if len(statements) == 1:
        return statements[0].to_json()
    content: dict[str, Any] = {
        "private": together.private,
        "epsilon": together.epsilon if together.private else None,
        "delta": together.delta,
        "not_covered": list(together.not_covered),
        "runs": [run.to_dict() for run in together.runs],
        "statements": [json.loads(one.to_json()) for one in statements],
    }
    return json.dumps(content, indent=2)
