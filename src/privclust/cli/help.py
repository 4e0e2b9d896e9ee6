"""Help pages: what an option takes in words, and examples that run."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

EXAMPLES: dict[str, tuple[str, ...]] = {
    "plan": (
        "privclust plan --rows 20000 --columns 10 -k 6 --delta 1e-6",
        "privclust plan --rows 1e10 --columns 16 --delta 1e-12 --engine spark",
        "privclust plan https://node.example/tables/credit -k 2 --epsilon 1",
    ),
    "simulate": ("privclust simulate --rows 5000 --columns 2 -k 3 --delta 1e-6 --repeats 1",),
    "describe": ("privclust describe https://node.example/tables/credit --fits",),
    "bounds init": (
        "privclust bounds init visits.csv -o new.toml",
        "privclust bounds init visits.xlsx --sheet 2026 -o sheet.toml",
    ),
    "bounds check": (
        "privclust bounds check visits.toml",
        "privclust bounds check visits.toml visits.csv",
    ),
    "ledger create": (
        "privclust ledger create budget.db visits --epsilon 4 --delta 1e-6",
        "privclust ledger create weekly.db visits --epsilon 4 --delta 1e-6 --unit who --periods 52",
    ),
    "fit": (
        "privclust fit visits.csv --bounds visits.toml -k 3 --delta 1e-6 -o model.json",
        "privclust fit visits.csv --bounds visits.toml -k 3 --delta 1e-6 --ledger budget.db "
        "--dataset visits -o recorded.json",
        "privclust fit german.csv --decimal , --bounds visits.toml --delta 1e-6 -o german.json",
        "privclust fit sqlite:///clinic.db --query 'SELECT age, weight FROM visits' "
        "--bounds visits.toml --delta 1e-6 -o clinic.json",
        "privclust fit https://node.example/tables/credit -k 2 --epsilon 1 -o credit.json",
    ),
    "show": ("privclust show model.json", "privclust show model.json --json"),
    "k-path": ("privclust k-path model.json",),
    "refit": ("privclust refit model.json -k 2 -o two.json",),
    "compare": ("privclust compare model.json recorded.json",),
    "profile": (
        "privclust profile recorded.json visits.csv --columns name --bounds names.toml "
        "--epsilon 0.5 --ledger budget.db -o profile.json",
        "privclust profile credit.json https://node.example/tables/credit --columns ward "
        "--epsilon 0.5 -o wards.json",
    ),
    "statement": (
        "privclust statement model.json",
        "privclust statement recorded.json profile.json",
    ),
    "report": (
        "privclust report model.json -o report.html",
        "privclust report recorded.json --profile profile.json -o recorded.html",
    ),
    "approve": (
        "privclust approve recorded.json --purpose staffing --requested-by 'A. Ito, analyst' "
        "--approved-by 'B. Sow, privacy officer' --ledger budget.db",
    ),
    "keygen": ("privclust keygen officer.key --passphrase-file passphrase.txt",),
    "sign": (
        "privclust sign recorded.json approval.json approval.html --key officer.key "
        "--passphrase-file passphrase.txt --ledger budget.db",
    ),
    "verify": ("privclust verify signature.json --public-key officer.pub",),
    "predict": (
        "privclust predict model.json visits.csv -o labels.csv",
        "privclust predict model.json visits.xlsx -o labels.xlsx",
    ),
    "sample": (
        "privclust sample model.json --rows 1000 -o made-up.csv",
        "privclust sample model.json --rows 1000 --decimal , -o commas.csv",
    ),
    "export": ("privclust export model.json --sql duckdb --table visits",),
    "audit": ("privclust audit privclust.algorithms.dp_lloyd --fits 20",),
    "ledger remaining": ("privclust ledger remaining budget.db",),
    "ledger runs": ("privclust ledger runs budget.db visits",),
    "ledger lower": (
        "privclust ledger lower budget.db visits --epsilon 3",
        "privclust ledger lower budget.db visits --close",
    ),
    "ledger close": ("privclust ledger close budget.db RUN",),
    "ledger grant": ("privclust ledger grant analyst",),
    "ledger verify": ("privclust ledger verify budget.db --model recorded.json",),
    "ledger export": ("privclust ledger export budget.db --output budget.jsonl",),
    "ledger draw": ("privclust ledger draw budget.db visits budget.png",),
    "node init": ("privclust node init policy.toml",),
    "node grant": ("privclust node grant node",),
    "node check": ("privclust node check policy.toml",),
    "node serve": ("privclust node serve policy.toml --socket /run/privclust/node.sock",),
    "node worker": ("privclust node worker policy.toml",),
    "node status": ("privclust node status policy.toml",),
}
"""Of each command, in an order in which they can be typed one after the other."""
_WORDS = {"bool": "", "str": "TEXT", "int": "INTEGER", "float": "NUMBER", "path": "FILE"}
_MANY = re.compile(r"list\[(.*)\]")


def epilog(command: str) -> str:
    """Return the examples of a command, as its help page ends."""
    return "\n\n".join(["Examples:", *(f"  {example}" for example in EXAMPLES[command])])


class Command(TyperCommand):
    """A command whose help page says in words what its options take."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its arguments and options."""
        return _advising_points(_in_words(super().get_params(ctx)))


class Group(TyperGroup):
    """A group of commands whose help page says in words what its options take."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options."""
        return _in_words(super().get_params(ctx))


def _advising_points(parameters: list[Any]) -> list[Any]:
    """Let options that take numbers say how decimals are typed, where a comma marks them."""
    for parameter in parameters:

        def process(ctx: Any, value: Any, parameter: Any = parameter) -> Any:
            own = type(parameter).process_value
            try:
                return own(parameter, ctx, value)
            except typer.BadParameter:
                point = value.replace(",", ".") if isinstance(value, str) else value
                if point == value or not _is_decimal(lambda: own(parameter, ctx, point)):
                    raise
            raise typer.BadParameter(
                f"a point marks decimals here. Type {point} instead of {value}.", ctx, parameter
            )

        parameter.process_value = process
    return parameters


def _is_decimal(read: Callable[[], object]) -> bool:
    """Tell whether an option takes what `read` gives it as a number that may have decimals."""
    with suppress(typer.BadParameter):
        return isinstance(read(), float)
    return False


def _in_words(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        own = getattr(type(parameter), "display_type_rich", None)
        if own is None:  # an older Typer, which shows words by itself
            continue

        def display(ctx: Any, parameter: Any = parameter, own: Any = own) -> str:
            return _in_word(own(parameter, ctx) or "")

        parameter.display_type_rich = display
    return parameters


def _in_word(kind: str) -> str:
    """Return what a parameter takes, as people say it, from what Typer calls its type.

    Examples
    --------
    >>> _in_word("<list[str]>"), _in_word("<bool>"), _in_word("<spark>"), _in_word("INTEGER")
    ('TEXT', '', 'spark', 'INTEGER')
    """
    name = kind.strip("<>")
    many = _MANY.fullmatch(name)
    name = many[1] if many else name
    return _WORDS.get(name.lower(), name)
