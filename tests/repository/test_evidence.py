"""What documents name as evidence is there: tests, files, modules, mutations, commands, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from mutations import CATALOGUE

from benchmarks.__main__ import MEASUREMENTS
from fuzz.__main__ import TARGETS
from privclust.cli import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    "SECURITY.md",
    "docs/assurance.md",
    "docs/evidence.md",
    "docs/explanations/pitfalls.md",
    "docs/reference/queries.md",
    *(f"docs/proofs/{path.name}" for path in sorted((ROOT / "docs/proofs").glob("*.md"))),
]
MUTATIONS = {mutation.name for mutation in CATALOGUE}
FENCE = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
TOOLS = ("lint-imports", "mypy", "ruff check .")


def missing(text: str, place: str) -> list[str]:
    """Return all that a document names and that is not there."""
    fences = FENCE.findall(text)
    prose = FENCE.sub("", text)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]
    lines = [line.strip().removeprefix("$ ") for fence in fences for line in fence.splitlines()]
    commands = [span for span in (*spans, *lines) if span.split()[:1] and is_command(span)]
    base = re.search(r"names\s+are\s+relative\s+to\s+`(tests/\S*)`", text)
    folders = [ROOT, ROOT / "src", ROOT / "src/privclust", (ROOT / place).parent]
    folders += [ROOT / base[1]] if base else []
    found = [command for command in commands if not can_be_typed(command)]
    found += [test for test in named_tests(spans) if not is_test(test, folders)]
    found += [name for name in named_files(spans) if not any((f / name).exists() for f in folders)]
    modules = [name for name in spans if re.fullmatch(r"privclust(\.\w+)+", name)]
    found += [name for name in modules if find_spec(name) is None]
    found += set(re.findall(r"mutation\s+`([^`]+)`", prose)) - MUTATIONS
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", prose)
    return found + [link for link in links if not (ROOT / place).parent.joinpath(link).exists()]


def named_tests(spans: list[str]) -> Iterator[str]:
    """Give tests with their files: `::test` is one of the file that was named last."""
    file = ""
    for span in spans:
        if re.fullmatch(r"[\w/]*(\.py)?::\w+", span):
            file = span.partition("::")[0] or file
            yield f"{file}::{span.partition('::')[2]}"


def named_files(spans: list[str]) -> Iterator[str]:
    for span in spans:
        if re.fullmatch(r"[\w./{},-]+\.(py|md|toml)|(\w+/)+", span):
            before, _, rest = span.partition("{")
            inside, _, after = rest.partition("}")
            yield from (f"{before}{part}{after}" for part in inside.split(","))


def is_test(test: str, folders: list[Path]) -> bool:
    name, _, function = test.partition("::")
    files = [folder / name for folder in folders if (folder / name).is_file()]
    return any(re.search(rf"^def {function}\(", file.read_text(), re.MULTILINE) for file in files)


def is_command(span: str) -> bool:
    first = span.split()[0]
    return span in TOOLS or (first in ("pytest", "privclust", "python") and " " in span)


def can_be_typed(command: str) -> bool:
    words = shlex.split(command, comments=True)
    if words[0] == "pytest":
        named = [word for word in words[1:] if "/" in word]
        return all(
            is_test(word, [ROOT]) if "::" in word else (ROOT / word).exists() for word in named
        )
    if words[:3] == ["python", "-m", "benchmarks"]:
        return words[3] in MEASUREMENTS
    if words[:3] == ["python", "-m", "fuzz"]:
        return set(words[3:]) <= set(TARGETS)
    if words[0] == "privclust":
        return is_known_to(typer.main.get_command(app), words[1:])
    return command in TOOLS


def is_known_to(command: object, words: list[str]) -> bool:
    known = getattr(command, "commands", None)
    if known is None:
        return True
    return bool(words) and words[0] in known and is_known_to(known[words[0]], words[1:])


@pytest.mark.parametrize("place", DOCUMENTS)
def test_all_that_is_named_is_there(place: str) -> None:
    assert missing((ROOT / place).read_text(), place) == []


def test_every_proof_is_looked_at() -> None:
    proofs = {f"docs/proofs/{file.name}" for file in (ROOT / "docs/proofs").glob("*.md")}
    assert proofs <= set(DOCUMENTS)


def test_what_is_not_there_is_found() -> None:
    text = """
Test names are relative to `tests/`: `privacy/test_one_way_in.py::test_the_fence_works`,
`::test_no`, `test_no.py::test_no`, `privacy/no.py`, `kernels/{grid,no}.py`, `no/`, `privclust.no`,
the mutation `no`, `pytest tests/no.py -m attack`,
`pytest tests/privacy/test_one_way_in.py::test_no`, `mypy`,
`python -m benchmarks no`, `python -m fuzz no`, `privclust ledger no`,
`privclust plan --rows 5`, [no](no.md#a).
  ```console
  $ privclust no
  ```
"""
    assert sorted(missing(text, "docs/x.md")) == sorted(
        [
            *(
                "privacy/test_one_way_in.py::test_no",
                "test_no.py::test_no",
                "privacy/no.py",
                "kernels/no.py",
            ),
            *("no/", "privclust.no", "no", "pytest tests/no.py -m attack", "no.md"),
            *(
                "pytest tests/privacy/test_one_way_in.py::test_no",
                "python -m benchmarks no",
                "python -m fuzz no",
            ),
            *("privclust ledger no", "privclust no"),
        ]
    )


def test_the_test_beside_a_mutation_is_the_one_meant_for_it() -> None:
    """A row of the evidence says by which test a bug is caught; the catalogue says so, too."""
    text = (ROOT / "docs/evidence.md").read_text()
    rows = re.findall(r"\| mutation `([^`]+)` \| `([^`]+)` \|$", text, re.MULTILINE)
    meant = {mutation.name: mutation.test.partition("[")[0] for mutation in CATALOGUE}
    assert len(rows) > 50
    assert {name: f"tests/{test}" for name, test in rows} == {name: meant[name] for name, _ in rows}
