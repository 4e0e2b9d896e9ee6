"""What users rely on, as lines of text; `python tests/helpers/public_api.py` stores them anew."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import privclust
from privclust import errors, testing
from privclust.__main__ import MISSING_EXTRA
from privclust.cli import app
from privclust.cli.messages import CANNOT_WRITE, EXIT_CODES
from privclust.estimators._sklearn_names import Absent

STORED = Path(__file__).parents[1] / "repository" / "public_api.txt"
IN_PACKAGES = (
    "privclust.engines.federated.client.Client",
    "privclust.engines.federated.flower.client_app",
    "privclust.engines.federated.flower.flower_federation",
)
"""What documents import from packages."""


def lines() -> list[str]:
    """Return one line for each name, signature, attribute, option and exit code."""
    names = [f"privclust.{name}" for name in privclust.__all__ if name != "__version__"]
    names += [f"privclust.testing.{name}" for name in testing.__all__]
    names += [f"privclust.errors.{name}" for name in vars(errors) if name.endswith("Error")]
    found = [line for name in sorted([*names, *IN_PACKAGES]) for line in _described(name)]
    command = typer.main.get_command(app)
    found += _typed(command, "privclust")
    codes = {kind.__name__: code for kind, code in EXIT_CODES.items()}
    codes |= {"output that cannot be written": CANNOT_WRITE, "no extra": MISSING_EXTRA}
    return found + [f"exit code {code}: {cause}" for cause, code in codes.items()]


def _described(name: str) -> Iterator[str]:
    module, _, last = name.rpartition(".")
    thing: Any = getattr(import_module(module), last)
    if not inspect.isclass(thing):
        yield f"{name}{_signature(thing)}"
        return
    if issubclass(thing, Exception):
        yield f"{name}({thing.__bases__[0].__name__})"
        return
    yield f"{name}{_signature(thing)}"
    ours = [kind for kind in thing.__mro__ if kind.__module__.startswith("privclust")]
    for member in sorted({member for kind in ours for member in vars(kind) if member[0] != "_"}):
        if member == "set_fit_request" or member in getattr(thing, "__dataclass_fields__", {}):
            continue  # scikit-learn puts it there; the signature has it
        value = getattr(thing, member)
        if isinstance(value, Absent):
            continue
        yield f"{name}.{member}{_signature(value) if callable(value) else ''}"
    for attribute in _attributes(thing):
        yield f"{name}.{attribute}"


def _signature(thing: Any) -> str:
    """Return names and defaults without types, which may be written in other words."""
    taken = [
        parameter.replace(
            annotation=inspect.Parameter.empty,
            default="a function" if inspect.isfunction(parameter.default) else parameter.default,
        )
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.name != "self"
    ]
    return str(inspect.Signature(taken))


def _attributes(thing: type) -> list[str]:
    """Return the attributes that a docstring names and the class does not have itself."""
    text = inspect.getdoc(thing) or ""
    section = re.search(r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)", text, re.M | re.S)
    heads = re.findall(r"^(\w[\w, ]*) :", section[1], re.M) if section else []
    found = {name.strip() for head in heads for name in head.split(",")}
    return sorted(found - set(dir(thing)))


def _typed(command: Any, words: str) -> Iterator[str]:
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from _typed(below, f"{words} {name}")
    for parameter in command.params:
        flags = "/".join(parameter.opts) if parameter.opts[0][0] == "-" else parameter.name.upper()
        needed = "required" if parameter.required else f"= {parameter.default}"
        yield f"$ {words} {flags} {needed}"


if __name__ == "__main__":
    STORED.write_text("\n".join(lines()) + "\n")
