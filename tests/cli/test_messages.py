"""What Python calls a parameter is an option at a prompt."""

from __future__ import annotations

import warnings

import pytest
import typer

from privclust.cli.messages import show, told, warnings_told
from privclust.errors import ParameterError


@pytest.mark.parametrize(
    ("python", "prompt"),
    [
        ("n_clusters must be at least 1, got 0.", "--clusters must be at least 1, got 0."),
        ("Type n_rows=500, or max_clusters = 3.", "Type --rows 500, or --max-clusters 3."),
        ("epsilon=3.9 or unit_rows", "--epsilon 3.9 or --unit-rows"),
        ("epsilon must be above 0", "epsilon must be above 0"),
        ("Go on with fit(X, resume='ab12').", "Go on with --resume ab12."),
    ],
)
def test_parameters_are_named_as_options(
    python: str, prompt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit), told():
        raise ParameterError(python)
    assert capsys.readouterr().err == f"privclust: {prompt}\n"


def test_warnings_are_told_even_if_the_fit_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def fit() -> None:
        warnings.warn("n_rows is small.", stacklevel=1)
        raise ParameterError("wrong.")

    with pytest.raises(typer.Exit), told(), warnings_told():
        fit()
    assert capsys.readouterr().err == "privclust: --rows is small.\nprivclust: wrong.\n"


@pytest.mark.parametrize("kind", [RuntimeError, MemoryError, OverflowError, KeyError, UnicodeError])
def test_what_nobody_expected_says_nothing_of_the_data(
    kind: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, told():
        raise kind("73.192")
    assert ended.value.exit_code == 14
    assert "73.192" not in capsys.readouterr().err


def test_a_name_cannot_write_elsewhere_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[2J\x9b31m:warning:[red]ge"
    show(["", name], [[name, "1"]])
    with pytest.raises(typer.Exit), told():
        raise ParameterError(f"no column {name}.")
    printed = capsys.readouterr()
    assert not {"\x1b", "\x9b"} & {*printed.out, *printed.err}
    assert "a?[2J?31m:warning:[red]ge" in printed.out
