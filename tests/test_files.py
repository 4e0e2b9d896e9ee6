"""Paths that name no regular file are refused at once, wherever one is read as a whole."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command_line import lay_out, privclust

from privclust import Ledger, PrivateKMeans, load, load_profile, save, save_profile
from privclust._files import read_regular, write_text
from privclust.cli.messages import CANNOT_WRITE
from privclust.domains.bounds import read_bounds
from privclust.errors import BoundsError, ModelFileError, UnreadableFileError

SECONDS = 20
"""So long a refusal may take on a busy machine; a read of these would never end."""


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def link(folder: Path) -> Path:
    (folder / "link").symlink_to("/dev/zero")
    return folder / "link"


STRANGE: dict[str, Callable[[Path], Path]] = {
    "device": lambda folder: Path("/dev/zero"),
    "link to a device": link,
    "pipe": pipe,
    "folder": lambda folder: folder,
}


def at_once(work: Callable[[], object], *errors: type[Exception]) -> str:
    """Return what a refusal says; fail if there is none, or if it does not come at once."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "still waiting"
    assert caught, "not refused"
    assert isinstance(caught[0], errors), repr(caught[0])
    return str(caught[0])


READERS: dict[str, tuple[Callable[[Path], Any], tuple[type[Exception], ...]]] = {
    "model": (load, (ModelFileError,)),
    "profile": (load_profile, (ModelFileError,)),
    "bounds": (lambda path: read_bounds(path, None, 1), (BoundsError,)),
    "table": (
        lambda path: PrivateKMeans(2, delta=1e-6, bounds={"a": (0, 1)}).fit(str(path)),
        (FileNotFoundError, UnreadableFileError),
    ),
}


@pytest.mark.attack
@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("reader", READERS)
def test_path_that_is_not_a_regular_file_is_refused_at_once(
    reader: str, strange: str, tmp_path: Path
) -> None:
    read, errors = READERS[reader]
    path = STRANGE[strange](tmp_path)
    refusal = at_once(lambda: read(path), *errors)
    assert reader == "table" or "not a regular file" in refusal
    if reader in ("model", "profile"):
        assert refusal.startswith(f"{str(path)!r} cannot be read as a {reader}: ")


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize(
    "words",
    [
        ("fit", "{}", "--bounds", "b.toml", "--delta", 1e-6, "--out", "m.json"),
        ("fit", "t.csv", "--bounds", "{}", "--delta", 1e-6, "--out", "m.json"),
        ("fit", "t.csv", "--bounds", "b.toml", "--init", "{}", "--delta", 1e-6, "--out", "m.json"),
        ("predict", "{}", "t.csv", "-o", "l.parquet"),
        ("report", "{}", "-o", "r.html"),
        ("export", "{}", "--sql", "duckdb"),
        ("bounds", "init", "{}"),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_command_refuses_such_a_path_at_once(
    words: tuple[object, ...], strange: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "apart").mkdir()
    path = STRANGE[strange](tmp_path / "apart")

    def run() -> None:
        result = privclust(*(str(word).format(path) for word in words))
        assert result.exit_code in (4, 7, 12), result.output
        raise ValueError(result.stderr)

    assert at_once(run, ValueError).startswith("privclust: ")


def test_file_of_just_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_regular(file, 5) == b"12345"
    with pytest.raises(ValueError, match="more than 4 bytes"):
        read_regular(file, 4)


@pytest.fixture(scope="module")
def writers() -> dict[str, Callable[..., None]]:
    rows = pd.DataFrame(np.zeros((5000, 3)), columns=["a", "b", "c"])
    bounds: Any = {"a": (0, 1), "b": (0, 1)}
    model = PrivateKMeans(2, delta=1e-6, bounds=bounds, random_state=0).fit(rows[["a", "b"]])
    profile = model.profile(rows, ["c"], bounds={"c": (0, 1)}, epsilon=1.0)
    return {"model": partial(save, model), "profile": partial(save_profile, profile)}


@pytest.mark.attack
@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("kind", ["model", "profile"])
def test_paid_result_is_saved_in_regular_files_only(
    kind: str, strange: str, tmp_path: Path, writers: dict[str, Callable[..., None]]
) -> None:
    path = STRANGE[strange](tmp_path)
    for overwrite in (False, True):
        refusal = at_once(partial(writers[kind], path, overwrite=overwrite), OSError)
        assert (
            refusal == f"{path.name!r} could not be written: it is not a regular file. Name a file."
        )


@pytest.mark.attack
@pytest.mark.parametrize("strange", ["device", "pipe"])
def test_paid_result_is_not_written_into_a_pipe_or_device(
    strange: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lay_out(tmp_path))
    (tmp_path / "apart").mkdir()
    path = STRANGE[strange](tmp_path / "apart")
    privclust("ledger", "create", "b.db", "t", "--epsilon", 4, "--delta", 1e-5)
    words = ("fit", "visits.parquet", "--bounds", "visits.toml", "--delta", 1e-6, "--force")

    def run() -> None:
        paid = ("--ledger", "b.db", "--dataset", "t")
        result = privclust(*words, *paid, "--out", path)
        assert result.exit_code == CANNOT_WRITE, result.output
        raise ValueError(result.stderr)

    assert at_once(run, ValueError) == (
        f"privclust: {path.name} could not be written: it is not a regular file. Name another "
        "file.\n"
    )
    assert Ledger.open("b.db").runs("t") == ()


@contextmanager
def no_space_beyond(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a disk that is full."""
    import resource  # Windows has none

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("kind", ["model", "profile"])
def test_paid_result_stays_if_there_is_no_space_for_the_next(
    kind: str, tmp_path: Path, writers: dict[str, Callable[..., None]]
) -> None:
    """It was emptied first, so that neither the old result nor the new one was there."""
    out = tmp_path / "out.json"
    writers[kind](out)
    paid = out.read_bytes()
    with no_space_beyond(100), pytest.raises(OSError, match="File too large"):
        writers[kind](out, overwrite=True)
    assert out.read_bytes() == paid
    assert os.listdir(tmp_path) == ["out.json"]


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_file_that_is_overwritten_keeps_its_rights_and_its_links(mode: int, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(mode)
    link.symlink_to(target)
    write_text("new", link, overwrite=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_text("new", tmp_path / "out", overwrite=False)
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_link_to_a_folder_that_is_missing_names_the_folder(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "missing" / "out")
    with pytest.raises(FileNotFoundError, match=r"no folder '.*missing'"):
        write_text("new", link, overwrite=True)
