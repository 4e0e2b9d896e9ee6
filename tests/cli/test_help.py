"""Help pages: every command has examples, all of which run, and types are said in words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from helpers.command_line import lay_out, privclust, visits
from helpers.databases import in_sqlite
from helpers.remote_stand_in import TOKEN, running
from typer.main import get_command

from privclust import Ledger
from privclust.cli import app
from privclust.cli.help import EXAMPLES

NODE = "https://node.example"
"""In place of it, examples are run on a node of this machine."""
NEED_A_POLICY = ("node init", "node check", "node serve", "node worker", "node status")
"""Of which tests/cli/test_node.py takes care."""
NAMES = """\
bounds_origin = "domain knowledge"

[columns.name]
type = "category"
levels = ["Ben", "other"]
"""


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


ALL = [*commands(get_command(app))]


def test_every_command_has_examples() -> None:
    assert {" ".join(command) for command in ALL} == set(EXAMPLES)


@pytest.mark.parametrize("command", [(), ("bounds",), ("ledger",), ("node",), *ALL], ids=" ".join)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_has_examples_and_no_type_of_python(command: tuple[str, ...], columns: str) -> None:
    shown = privclust(*command, "--help", env={"COLUMNS": columns}).stdout
    assert not re.search(r"<\w+(\[\w+\])?>|list\[", shown)
    assert max(map(len, shown.splitlines())) <= int(columns)
    for example in EXAMPLES.get(" ".join(command), ()):
        assert example in " ".join(shown.split())


def test_examples_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lay_out(tmp_path))
    Path("names.toml").write_text(NAMES, encoding="utf-8")
    Path("passphrase.txt").write_text("four words are enough\n", encoding="utf-8")
    Path("passphrase.txt").chmod(0o600)
    german = [";".join(visits().column_names)]
    german += [
        ";".join(str(cell).replace(".", ",") for cell in row.values())
        for row in visits().to_pylist()
    ]
    Path("german.csv").write_text("\n".join(german), encoding="utf-8")
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "2026"
    sheet.append(visits().column_names)
    for row in visits().to_pylist():
        sheet.append([*row.values()])
    book.save("visits.xlsx")
    in_sqlite(visits(), Path("clinic.db"), "visits")
    monkeypatch.setenv("PRIVCLUST_TOKEN", TOKEN)
    with running() as node:
        for command, examples in EXAMPLES.items():
            for example in examples:
                program, *words = shlex.split(example)
                assert (program, " ".join(words).startswith(command)) == ("privclust", True)
                if command in NEED_A_POLICY:
                    continue
                if "RUN" in words:
                    words[words.index("RUN")] = Ledger.open("budget.db").runs("visits")[0].name
                done = privclust(*(word.replace(NODE, node.address) for word in words))
                assert done.exit_code == 0, (example, done.output)


@pytest.mark.parametrize(
    ("words", "advised"),
    [
        (("fit", "x.csv", "--epsilon", "0,5"), "Type 0.5 instead of 0,5."),
        (("plan", "--delta", "1,5e-6"), "Type 1.5e-6 instead of 1,5e-6."),
        (("ledger", "create", "b.db", "visits", "--epsilon", "4,0"), "Type 4.0 instead of 4,0."),
        (("fit", "x.csv", "--epsilon", "1,000,000"), ""),
        (("fit", "x.csv", "--epsilon", "high"), ""),
        (("fit", "x.csv", "--clusters", "2,000"), ""),
    ],
)
def test_decimals_are_typed_with_a_point(words: tuple[str, ...], advised: str) -> None:
    found = privclust(*words)
    assert found.exit_code == 2
    assert ("a point marks decimals here" in found.output) == bool(advised)
    assert advised in found.output
