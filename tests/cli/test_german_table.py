"""A table as Excel writes it in Germany: decimal commas, days such as 31.12.2025, people twice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from helpers.command_line import error_message, privclust

from privclust import Files, PrivateKMeans

BOUNDS = """bounds_origin = "domain knowledge"
[columns.nights]
type = "number"
lower = 0
upper = 40
[columns.day]
type = "date"
lower = 2025-01-01
upper = 2025-12-31
{format}
"""
FORMAT = 'format = "DD.MM.YYYY"'
FIT = ("-k", 2, "--epsilon", 4, "--delta", 1e-6, "--seed", 0)
FIT_TYPO = ("fit", "stays.csv", "--decimal", ".", "--bounds", "typo.toml", *FIT, "-o", "t.json")


@pytest.fixture(autouse=True)
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = np.tile([0, 1], 4000)
    nights = np.round(5.0 + 20.0 * kind + rng.uniform(-1, 1, kind.size), 1)
    lines = ["patient;nights;day"]
    for number, (night, one) in enumerate(zip(nights, kind, strict=True)):
        day = "14.02.2025" if one == 0 else "3.10.2025"
        lines.append(f"P{number // 2};{str(night).replace('.', ',')};{day}")
    Path("stays.csv").write_text("\n".join(lines), encoding="utf-8")
    Path("right.toml").write_text(BOUNDS.format(format=FORMAT), encoding="utf-8")
    Path("naive.toml").write_text(BOUNDS.format(format=""), encoding="utf-8")


def done(*words: object) -> str:
    """Return what is printed, warnings too."""
    found = privclust(*words)
    assert found.exit_code == 0, found.output
    return " ".join(found.output.split())


def test_columns_that_were_not_read_are_named() -> None:
    shown = done(
        "fit", "stays.csv", "--decimal", ".", "--bounds", "naive.toml", *FIT, "-o", "naive.json"
    )
    assert "All centres lie at the middle of 'nights', 'day'." in shown
    right = done(
        "fit", "stays.csv", "--decimal", ",", "--bounds", "right.toml", *FIT, "-o", "r.json"
    )
    assert "All centres lie at the middle" not in right
    assert "2025-02-1" in right


def test_check_says_which_days_are_read_beside_the_declared_format() -> None:
    checked = done("bounds", "check", "right.toml", "stays.csv", "--decimal", ",")
    assert "will count as missing, but for days that are written as YYYY-MM-DD," in checked
    checked = done("bounds", "check", "naive.toml", "stays.csv", "--decimal", ",")
    assert "will count as missing. Next:" in checked


def test_misspelt_bounds_are_answered_with_the_names_of_the_file() -> None:
    columns = "".join(
        f'[columns.{name}]\ntype = "number"\nlower = 0\nupper = 9\n'
        for name in ("patient", "nights", "dai")
    )
    Path("typo.toml").write_text(f'bounds_origin = "domain knowledge"\n{columns}', "utf-8")
    check = ("bounds", "check", "typo.toml", "stays.csv", "--decimal", ".")
    for words in (check, FIT_TYPO):
        refused = privclust(*words)
        message = " ".join(refused.stderr.split())  # after what is said of the file
        assert refused.exit_code == 5
        assert "does not have these columns: 'dai'." in message
        assert "It has 'patient', 'nights', 'day'. Did you mean 'day' instead of 'dai'?" in message


def test_a_model_remembers_decimals_and_days() -> None:
    done("fit", "stays.csv", "--decimal", ",", "--bounds", "right.toml", *FIT, "-o", "right.json")
    assert json.loads(Path("right.json").read_text(encoding="utf-8"))["decimal"] == ","
    said = done("predict", "right.json", "stays.csv", "-o", "labels.csv")
    assert "a blank line is a row without values" in said
    assert "Excel" not in said
    labels = pyarrow.csv.read_csv("labels.csv")["cluster"].to_numpy()
    assert len(set(labels[::2])) == len(set(labels[1::2])) == 1
    assert labels[0] != labels[1]
    done("refit", "right.json", "-k", 1, "-o", "one.json")
    assert json.loads(Path("one.json").read_text(encoding="utf-8"))["decimal"] == ","


@pytest.mark.parametrize("typed", [(), ("--delimiter", ",")])
def test_a_table_that_is_written_otherwise_than_that_of_the_fit(typed: tuple[str, ...]) -> None:
    done("fit", "stays.csv", "--decimal", ",", "--bounds", "right.toml", *FIT, "-o", "right.json")
    Path("new.csv").write_text("patient,nights,day\nP1,4.5,14.02.2025\n", encoding="utf-8")
    wanted = ("--columns", "nights", "--epsilon", 1)
    profile = ("profile", "right.json", "new.csv", "--bounds", "right.toml", *wanted)
    for words in (("predict", "right.json", "new.csv", "-o", "new.parquet"), profile):
        message = error_message(privclust(*words, *typed), 3, "fitted with decimal commas; ")
        assert message.endswith(
            "separated by commas. Type --decimal . if points mark its decimals."
        )
        assert typed or "the cells of 'new.csv' are" in message
    done("predict", "right.json", "new.csv", "--decimal", ".", *typed, "-o", "new.parquet")


def test_a_mark_that_separates_cells_is_explained() -> None:
    words = ("bounds", "check", "right.toml", "stays.csv", "--decimal")
    said = "privclust: --decimal {} marks no decimals: it must be one of '.', ','."
    message = error_message(privclust(*words, ";"), 3)
    meant = " What separates cells is said by --delimiter ';'."
    assert message == said.format("';'") + meant
    assert error_message(privclust(*words, "comma"), 3) == said.format("comma")


def test_labels_are_written_for_the_same_programs_as_the_table() -> None:
    done("fit", "stays.csv", "--decimal", ",", "--bounds", "right.toml", *FIT, "-o", "right.json")
    labels = ("predict", "right.json", "stays.csv", "--keep", "patient", "-o", "labels.csv")
    done(*labels)
    assert Path("labels.csv").read_text(encoding="utf-8").splitlines()[0] == '"patient";"cluster"'
    done(*labels, "--delimiter", ";", "--decimal", ".", "--force")
    assert Path("labels.csv").read_text(encoding="utf-8").splitlines()[0] == '"patient";"cluster"'


def test_bounds_of_a_table_with_semicolons_ask_what_marks_decimals() -> None:
    """The fit that they suggested asked again."""
    for words in (("init", "stays.csv", "-o", "asked.toml"), ("check", "right.toml", "stays.csv")):
        asked = privclust("bounds", *words)
        error_message(asked, 3, "cells by semicolons", "Type --decimal , if")
        shown = done("bounds", *words, "--decimal", ",")
        assert "privclust fit stays.csv --decimal , --bounds" in shown
    shown = done("bounds", "check", "right.toml", "stays.csv", "--decimal", ".")
    assert "privclust fit stays.csv --decimal . --bounds" in shown


def test_a_fit_of_a_table_with_semicolons_asks_what_marks_decimals() -> None:
    """Without a mark no cost was read, and the fit was paid for."""
    words = ("fit", "stays.csv", "--bounds", "right.toml", *FIT, "-o", "asked.json")
    error_message(privclust(*words), 3, "cells by semicolons", "Type --decimal , if")
    assert not Path("asked.json").exists()


def test_a_day_that_toml_does_not_know_is_explained() -> None:
    Path("naive.toml").write_text(
        BOUNDS.replace("2025-01-01", "01.01.2025").format(format=""), encoding="utf-8"
    )
    error_message(privclust("bounds", "check", "naive.toml"), 4, "not valid TOML", "2025-12-31")


def test_a_model_that_python_fitted_remembers_decimals() -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds="right.toml")
    assert model.fit(Files("stays.csv", decimal=",")).model_.decimal == ","
    assert model.fit("stays.csv").model_.decimal == "."


def test_a_refit_has_as_many_people_as_its_fit() -> None:
    """Everybody is in both clusters: cells count them otherwise than clusters do."""
    words = ("--decimal", ",", "--bounds", "right.toml", "--unit", "patient", *FIT)
    done("fit", "stays.csv", *words, "-o", "right.json")
    fitted = sum(json.loads(Path("right.json").read_text(encoding="utf-8"))["cluster_sizes"])
    for k in (1, 3):
        done("refit", "right.json", "-k", k, "-o", f"{k}.json")
        refit = sum(json.loads(Path(f"{k}.json").read_text(encoding="utf-8"))["cluster_sizes"])
        assert refit == pytest.approx(fitted, rel=1e-9)


def test_made_up_rows_are_written_as_the_table_of_the_fit() -> None:
    words = ("--decimal", ",", "--bounds", "right.toml", *FIT)
    done("fit", "stays.csv", *words, "-o", "right.json")
    done("sample", "right.json", "--rows", 4000, "--seed", 0, "-o", "drawn.csv")
    names, first = Path("drawn.csv").read_text(encoding="utf-8").splitlines()[:2]
    assert names == '"nights";"day"'
    assert re.fullmatch(r'"\d+,\d+";"\d\d\.\d\d\.2025"', first)
    again = done("fit", "drawn.csv", *words, "-o", "again.json")
    assert "All centres lie at the middle" not in again
    assert "2025-02-1" in again


def test_made_up_rows_are_written_as_the_user_says() -> None:
    done("fit", "stays.csv", "--decimal", ",", "--bounds", "right.toml", *FIT, "-o", "right.json")
    drawn = ("sample", "right.json", "--rows", 5, "--seed", 0, "-o", "drawn.csv", "--force")
    done(*drawn, "--delimiter", "tab")
    tabs = Path("drawn.csv").read_text(encoding="utf-8")
    assert tabs.startswith('"nights"\t"day"\n')
    done(*drawn, "--decimal", ".")
    points = Path("drawn.csv").read_text(encoding="utf-8")
    assert points.startswith('"nights","day"\n')
    first = tabs.splitlines()[1].split("\t")[0].strip('"')
    assert points.splitlines()[1].split(",")[0] == first.replace(",", ".")
    message = error_message(privclust(*drawn, "--delimiter", ","), 3)
    assert "--delimiter ';', or --decimal ." in message


def test_a_model_is_shown_with_its_quality_and_unit_also_if_it_is_a_refit() -> None:
    words = ("--decimal", ",", "--bounds", "right.toml", "--unit", "patient", *FIT)
    fitted = done("fit", "stays.csv", *words, "-o", "right.json")
    refit = done("refit", "right.json", "-k", 1, "-o", "one.json")
    shown, shown_refit = done("show", "right.json"), done("show", "one.json")
    loss = "Mean squared distance of rows to their centre"
    of_refit = "Quality: not measured for these clusters. The fit measured that of its own 2"
    unit = "The protected unit is all rows of one 'patient'."
    for text in (fitted, refit, shown, shown_refit):
        is_refit = text in (refit, shown_refit)
        assert unit in text
        assert (loss in text) != is_refit  # that of another model would mislead
        assert (of_refit in text) == is_refit
        assert (
            "Quality: good. That means: clusters explain half of the variance" in text
        ) != is_refit
    assert "privclust k-path one.json" in refit
    done("k-path", "one.json")
