"""Every public name says what it is for, shows an example, and explains each parameter."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString

import privclust

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
RUN_ELSEWHERE = {
    "engines.federated.flower.client_app",
    "engines.federated.flower.flower_federation",
}
"""Their examples need Flower; examples/federation has them, and tests/deployments runs it."""
NO_DATA = {"__version__"}


def listed() -> list[str]:
    blocks = re.findall(r"\.\. autosummary::\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if _is_name(line)]


def _is_name(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith(":")


def found(name: str) -> Any:
    module, _, last = f"privclust.{name}".rpartition(".")
    return getattr(import_module(module), last)


def methods_of(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers(kind, callable):
        ours = (getattr(member, "__module__", None) or "").startswith("privclust")
        if ours and not name.startswith("_") and not isinstance(member, type):
            yield name, member


def callables() -> list[Any]:
    cases = []
    for name in listed():
        thing = found(name)
        cases.append(pytest.param(thing, id=name))
        if inspect.isclass(thing):
            cases += [pytest.param(method, id=f"{name}.{m}") for m, method in methods_of(thing)]
    return cases


def documented(thing: Any) -> dict[str, str]:
    """Return the type and text of each parameter that the docstring has a line for."""
    text = inspect.getdoc(thing) or ""
    lines = {}
    sections = NumpyDocString(text)
    for parameter in sections["Parameters"] or sections["Attributes"]:
        for name in parameter.name.split(","):
            lines[name.strip().lstrip("*")] = f"{parameter.type} {' '.join(parameter.desc)}"
    return lines


def parameters(thing: Any) -> list[inspect.Parameter]:
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return []  # raised by the library, caught by the user
    # Unwrapped, because a guard has args and kwargs, a method of a class then has its cls.
    named = inspect.signature(inspect.unwrap(thing)).parameters.values()
    return [p for p in named if p.name not in ("self", "cls", "args", "kwargs")]


def test_the_page_lists_every_name_of_the_package() -> None:
    assert set(privclust.__all__) - NO_DATA <= set(listed())
    assert set(import_module("privclust.testing").__all__) <= {
        name.removeprefix("testing.") for name in listed()
    }


def test_no_name_is_listed_twice() -> None:
    assert len(listed()) == len(set(listed()))


@pytest.mark.parametrize("name", [n for n in listed() if n not in RUN_ELSEWHERE])
def test_it_has_an_example(name: str) -> None:
    text = inspect.getdoc(found(name)) or ""
    elsewhere = re.search(r"`(\w+)` shows (both|one)", text)
    if elsewhere:
        shower = (
            privclust.PrivateClusterer.profile if elsewhere[1] == "profile" else found(elsewhere[1])
        )
        text = inspect.getdoc(shower) or ""
        assert elsewhere[2] == "one" or f"{name}(" in text
    assert ">>> " in text


@pytest.mark.parametrize("thing", callables())
def test_its_first_line_says_what_it_is_for(thing: Any) -> None:
    first, _, rest = (inspect.getdoc(thing) or "").partition("\n")
    assert first.endswith(".")
    assert not rest or rest.startswith("\n")


@pytest.mark.parametrize("name", listed())
def test_every_parameter_has_its_line(name: str) -> None:
    lines = documented(found(name))
    short = [p.name for p in parameters(found(name)) if len(lines.get(p.name, "").split()) < 3]
    assert short == []


@pytest.mark.parametrize("thing", callables())
def test_a_method_may_explain_its_parameters_in_a_sentence(thing: Any) -> None:
    known = documented(thing).keys() | set(re.findall(r"`(\w+)`", inspect.getdoc(thing) or ""))
    ignored = {"y"}  # scikit-learn passes it, and nothing reads it
    assert {p.name for p in parameters(thing)} - ignored <= known


@pytest.mark.parametrize("thing", callables())
def test_defaults_are_named_where_they_are_explained(thing: Any) -> None:
    lines = documented(thing)
    for parameter in parameters(thing):
        plain = isinstance(parameter.default, int | float | str)
        if plain and parameter.name in lines:
            value = re.escape(str(parameter.default)) or '""'
            assert re.search(rf'default="?{value}"?', lines[parameter.name]), parameter.name
