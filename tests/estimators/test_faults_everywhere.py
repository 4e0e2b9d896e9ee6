"""Whatever fails, wherever: no message, traceback, warning, log or file shows a cell."""

from __future__ import annotations

import logging
import struct
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import (
    CANARY,
    TRACES,
    assert_silent_about_cells,
    lay_out,
    privclust,
    visits,
)
from helpers.injected import failing, functions_called

from privclust import Ledger, PEMeans, PrivateKMeans
from privclust.engines import spilled
from privclust.testing import RepeatableNoise, noise_from

SECRET = f"{CANARY} Ada Canary"
PACKAGES = tuple(
    f"privclust.{package}"
    for package in (
        *("engines", "queries", "domains", "sources", "estimators._recording"),
        *("privacy.curator", "privacy.ledger", "privacy.noise"),
    )
)
BESIDE_ROWS = ("privclust.engines", "privclust.privacy.curator", "privclust.privacy.noise")
FAST = ("-k", 2, "--delta", 1e-6, "--seed", 0, "--max-clusters", 2, "--quiet")
PAID = ("--out", "out/model.json", "--ledger", "out/budget.db", "--dataset", "visits")
BY_IDS = ("--unit", "who", "--out", "out/model.json")
COMMANDS: dict[str, tuple[object, ...]] = {
    "fit": ("fit", "visits.parquet", "--bounds", "visits.toml", *FAST, *PAID),
    "fit by ids": ("fit", "visits.csv", "--bounds", "visits.toml", *FAST, *BY_IDS),
    "predict": ("predict", "model.json", "visits.csv", "-o", "out/labels.parquet"),
    "bounds": ("bounds", "init", "visits.csv", "-o", "out/bounds.toml"),
}
WHOLE_FITS = {"fit", "fit by ids", "by ids"}


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of fits: rows by ids lie in two files instead of 64."""
    monkeypatch.setattr(spilled, "PARTITIONS", 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = lay_out(tmp_path_factory.mktemp("tables"))
    made = privclust("fit", place / "visits.parquet", "--bounds", place / "visits.toml", *FAST)
    assert made.exit_code == 0
    out = ("--out", place / "model.json")
    privclust("fit", place / "visits.parquet", "--bounds", place / "visits.toml", *FAST, *out)
    return place


@pytest.fixture
def out(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where commands write, temporary files included; none of it may hold a cell in the end."""
    place = folder / "out"
    place.mkdir()
    Ledger.create(str(place / "budget.db"), "visits", epsilon=60.0, delta=1e-6)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    for file in place.iterdir():
        file.unlink()
    place.rmdir()


def assert_no_file_has_cells(place: Path) -> None:
    for file in place.iterdir():
        content = file.read_bytes()
        for trace in (*(text.encode() for text in TRACES), struct.pack("<d", CANARY)):
            assert trace not in content, file.name


def fits_later(names: Iterable[str]) -> list[Any]:
    """Return names, of which those of whole fits wait for `.ci/long`: they take minutes."""
    return [
        pytest.param(name, marks=pytest.mark.long) if name in WHOLE_FITS else name for name in names
    ]


@pytest.mark.parametrize("command", fits_later(COMMANDS))
def test_a_command_that_fails_anywhere_shows_no_cell(
    command: str, out: Path, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    words = COMMANDS[command]
    caplog.set_level(logging.DEBUG)
    names = functions_called(lambda: privclust(*words), PACKAGES)
    assert names
    for name in names:
        (out / "labels.parquet").unlink(missing_ok=True)
        (out / "bounds.toml").unlink(missing_ok=True)
        (out / "model.json").unlink(missing_ok=True)
        with failing(name, SECRET):
            result = privclust(*words)
        assert result.exit_code != 0 or not result.exception, name
        assert_silent_about_cells(result.output)
        assert "Traceback" not in result.output, name
        assert_no_file_has_cells(out)
    assert_silent_about_cells(caplog.text)
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--rows", 10_000, "--columns", 2, "--delta", 1e-6),
        ("report", "model.json", "-o", "out/report.html"),
        ("export", "model.json", "--sql", "duckdb"),
        ("ledger", "remaining", "out/budget.db"),
        ("ledger", "verify", "out/budget.db"),
    ],
)
def test_other_commands_are_never_beside_rows(words: tuple[object, ...], out: Path) -> None:
    results: list[Any] = []
    called = functions_called(lambda: results.append(privclust(*words)), BESIDE_ROWS)
    assert results[0].exit_code == 0, results[0].output
    assert not called


Fit = Callable[[], object]


def fits() -> dict[str, Fit]:
    """Return fits in Python of a table in memory and of one that is read by ids."""
    table = visits().select(["age", "weight"])
    people = visits().select(["age", "weight", "who"])
    bounds: Any = {"age": (0, 120), "weight": (0, 300)}
    flagship = PrivateKMeans(2, delta=1e-6, bounds=bounds, max_clusters=2, random_state=0)
    by_ids = PEMeans(2, delta=1e-6, bounds=bounds, unit="who", random_state=0)
    return {
        "in memory": lambda: flagship.fit(table.to_pandas()),
        "by ids": lambda: by_ids.fit(lambda: people),
    }


@pytest.mark.parametrize("call", ["first", pytest.param("last", marks=pytest.mark.long)])
@pytest.mark.parametrize("fit", fits_later(fits()))
def test_a_fit_that_fails_anywhere_holds_no_cell_in_its_traceback(fit: str, call: str) -> None:
    """Frames of this library are looked into; the caller's own hold what the caller put there."""
    work = fits()[fit]
    with noise_from(RepeatableNoise(0)), warnings.catch_warnings(record=True) as warned:
        calls = functions_called(work, PACKAGES)
        assert len(calls) > 50
        for name in calls:
            with failing(name, SECRET, 1 if call == "first" else calls[name]):
                text = failure_of(work)
            assert_silent_about_cells(text)
    assert_silent_about_cells(" ".join(str(warning.message) for warning in warned))


def failure_of(work: Fit) -> str:
    """Return all that a traceback shows of a failure, with the locals of our own frames."""
    try:
        work()
    except Exception as error:
        failure = traceback.TracebackException.from_exception(error, capture_locals=True)
        ours = [frame for frame in failure.stack if "privclust" in Path(frame.filename).parts]
        values = [text for frame in ours for text in (frame.locals or {}).values()]
        return "\n".join([*failure.format_exception_only(), *values])
    return ""
