"""Writes every command with its options, as the command line itself declares them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from typer.main import get_command

from privclust.cli import app as command_line
from privclust.cli.help import EXAMPLES

PLACE = Path("reference", "generated", "commands.md")


def described(command: Any, name: str) -> Iterator[str]:
    """Yield the Markdown of a command and, below it, of its own commands."""
    own = getattr(command, "commands", {})
    yield f"## `{name}`\n"
    yield f"{command.help or ''}\n"
    yield "```console"
    yield " ".join(["$", name, *_usage(command), *(["COMMAND"] if own else [])])
    yield "```\n"
    examples = EXAMPLES.get(name.removeprefix("privclust "), ())
    if examples:
        yield "```console"
        yield from (f"$ {example}" for example in examples)
        yield "```\n"
    rows = [_row(p) for p in command.params if p.name != "help" and not p.hidden]
    if rows:
        yield "| option or argument | meaning | default |\n|---|---|---|"
        yield from rows
        yield ""
    for word, below in own.items():
        yield from described(below, f"{name} {word}")


def _usage(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            word = parameter.name.upper()
            yield (word if parameter.required else f"[{word}]") + "…" * (parameter.nargs == -1)
    yield "[OPTIONS]"


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    else:
        names = ", ".join(f"`{o}`" for o in [*parameter.opts, *parameter.secondary_opts])
    cells = [names, f"{parameter.help or ''} {_allowed(parameter)}".strip(), _default(parameter)]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _allowed(parameter: Any) -> str:
    kind = parameter.type_descriptor.annotation
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        return ""
    return "One of " + ", ".join(f"`{choice.value}`" for choice in kind) + "."


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value in (None, "", (), []) or callable(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{getattr(value, 'value', value)}`"


def write(app: Sphinx) -> None:
    """Write the page's part if it changed, so that an unchanged page is not built again."""
    place = Path(app.srcdir) / PLACE
    text = "\n".join(described(get_command(command_line), "privclust")) + "\n"
    place.parent.mkdir(exist_ok=True)
    if not place.exists() or place.read_text() != text:
        place.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before Sphinx looks for pages."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
