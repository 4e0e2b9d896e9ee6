"""What Python calls a parameter is an option at a prompt."""

from __future__ import annotations

import shlex
import warnings

import pytest
import typer

from privclust.cli._options import column_names
from privclust.cli.messages import option_of, reporting_errors, reporting_warnings
from privclust.cli.tables import print_table
from privclust.errors import Message, Parameter, ParameterError


@pytest.mark.parametrize(
    ("parts", "python", "prompt"),
    [
        (
            [Parameter("n_clusters"), " must be at least 1, got 0."],
            "n_clusters must be at least 1, got 0.",
            "--clusters must be at least 1, got 0.",
        ),
        (
            ["Type ", Parameter("n_rows", 500), ", or ", Parameter("max_clusters", 3), "."],
            "Type n_rows=500, or max_clusters=3.",
            "Type --rows 500, or --max-clusters 3.",
        ),
        (
            [Parameter("epsilon", 3.9), " or ", Parameter("max_rows_per_unit")],
            "epsilon=3.9 or max_rows_per_unit",
            "--epsilon 3.9 or --max-rows-per-unit",
        ),
        (
            [Parameter("epsilon"), " must be above 0"],
            "epsilon must be above 0",
            "epsilon must be above 0",
        ),
        (
            ["Go on with ", Parameter("resume", "ab12", "fit(X, resume='ab12')"), "."],
            "Go on with fit(X, resume='ab12').",
            "Go on with --resume ab12.",
        ),
        (
            ["n_clusters={x} is a column."],
            "n_clusters={x} is a column.",
            "n_clusters={x} is a column.",
        ),
    ],
)
def test_parameters_are_named_as_options(
    parts: list[str | Parameter], python: str, prompt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = Message(*parts)
    assert str(message) == str(ParameterError(message)) == python
    with pytest.raises(typer.Exit), reporting_errors():
        raise ParameterError(message)
    assert capsys.readouterr().err == f"privclust: {prompt}\n"


def test_notes_name_options_too(capsys: pytest.CaptureFixture[str]) -> None:
    def fit() -> None:
        error = ParameterError("wrong.")
        error.add_note(Message("privclust: go on with ", Parameter("resume", "ab12"), "."))
        raise error

    with pytest.raises(typer.Exit), reporting_errors():
        fit()
    assert capsys.readouterr().err == "privclust: wrong. go on with --resume ab12.\n"


def test_warnings_are_reported_even_if_the_fit_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def fit() -> None:
        warnings.warn(Message(Parameter("n_rows"), " is small."), stacklevel=1)
        raise ParameterError("wrong.")

    with pytest.raises(typer.Exit), reporting_errors(), reporting_warnings():
        fit()
    assert capsys.readouterr().err == "privclust: --rows is small.\nprivclust: wrong.\n"


@pytest.mark.parametrize("kind", [RuntimeError, MemoryError, OverflowError, KeyError, UnicodeError])
def test_what_nobody_expected_says_nothing_of_the_data(
    kind: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, reporting_errors():
        raise kind("73.192")
    assert ended.value.exit_code == 14
    assert "73.192" not in capsys.readouterr().err


def test_name_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[2J\x9b31m:warning:[red]ge"
    print_table(["", name], [[name, "1"]])
    with pytest.raises(typer.Exit), reporting_errors():
        raise ParameterError(f"no column {name}.")
    printed = capsys.readouterr()
    assert not {"\x1b", "\x9b"} & {*printed.out, *printed.err}
    assert "a?[2J?31m:warning:[red]ge" in printed.out


@pytest.mark.parametrize("names", [["age"], ["age", "income"], ["income, net", 'the "age"', "a b"]])
def test_list_of_columns_is_shown_as_it_is_typed(names: list[str]) -> None:
    option, typed = shlex.split(option_of(Parameter("columns", names)))
    assert (option, column_names(typed)) == ("--columns", names)
