"""What a command writes is there as a whole or not at all, and nothing else is touched."""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import typer

from privclust._files import FOR_THE_OWNER
from privclust.cli.atomic_write import replacing
from privclust.cli.messages import CANNOT_WRITE
from privclust.errors import ParameterError

SECONDS = 10


def write(path: Path, text: str = "new", reads: tuple[Path, ...] = ()) -> None:
    with replacing(path, "", reads) as file:
        file.write_text(text)


def refused(path: Path, reads: tuple[Path, ...] = ()) -> None:
    with pytest.raises(typer.Exit) as ended:
        write(path, reads=reads)
    assert ended.value.exit_code == CANNOT_WRITE


def test_a_file_appears_when_all_went_well(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with replacing(out, "") as file:
        file.write_text("new")
        assert not out.exists()
    assert out.read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, typer.Exit])
def test_what_was_there_stays_if_something_fails(
    failure: type[BaseException], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.write_text("old")
    with suppress(failure), replacing(out, "") as file:
        file.write_text("half")
        raise failure
    assert out.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_what_is_read_is_not_written_whatever_it_is_called(tmp_path: Path) -> None:
    table, link, other = (tmp_path / name for name in ("table", "link", "other"))
    table.write_text("rows")
    link.symlink_to(table)
    os.link(table, other)
    for out in (table, link, other, tmp_path / "." / "table", tmp_path / "x" / ".." / "table"):
        (tmp_path / "x").mkdir(exist_ok=True)
        refused(out, reads=(tmp_path / "not there", table))
    assert table.read_text() == other.read_text() == "rows"


def test_folder_that_is_read_is_known_in_capitals_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS and Windows, where capitals do not count in names of files."""
    folder, again = tmp_path / "visits", tmp_path / "VISITS"
    folder.mkdir()
    again.mkdir()
    look_up = os.stat

    def look_up_in_small_letters(path: str | Path | int, **others: Any) -> os.stat_result:
        if isinstance(path, str | Path) and Path(path).is_relative_to(tmp_path):
            path = tmp_path / str(Path(path).relative_to(tmp_path)).lower()
        return look_up(path, **others)

    monkeypatch.setattr(os, "stat", look_up_in_small_letters)
    refused(again / "labels", reads=(folder,))


def test_full_disk_is_noticed_first(tmp_path: Path) -> None:
    out = tmp_path / "full"
    out.symlink_to("/dev/full")
    begun = False
    with pytest.raises(typer.Exit), replacing(out, ""):
        begun = True
    assert not begun
    assert os.listdir(tmp_path) == ["full"]


def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path) -> None:
    """Root could otherwise replace /dev/null or /dev/stdout by a file."""
    out = tmp_path / "null"
    out.symlink_to("/dev/null")
    write(out)
    assert stat.S_ISCHR(out.stat().st_mode)
    assert os.listdir(tmp_path) == ["null"]


def test_a_pipe_receives_what_is_written_and_nothing_else(tmp_path: Path) -> None:
    """As in ``--out >(gzip > model.json.gz)``."""
    out = tmp_path / "pipe"
    os.mkfifo(out)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(out.read_bytes()), daemon=True)
    reader.start()
    write(out)
    reader.join(SECONDS)
    assert stat.S_ISFIFO(out.stat().st_mode)
    assert received == [b"new"]


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    target, out = tmp_path / "target", tmp_path / "out"
    target.write_text("old")
    out.symlink_to(target)
    write(out)
    assert out.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_file_keeps_the_rights_that_others_have_to_it(mode: int, tmp_path: Path) -> None:
    """Labels are protected data: whoever closed the file closed it for its next content too."""
    out = tmp_path / "out"
    out.touch()
    out.chmod(mode)
    write(out)
    assert stat.S_IMODE(out.stat().st_mode) == mode


@pytest.mark.attack
@pytest.mark.parametrize("mode", [0o666, 0o644, 0o600])
def test_labels_are_for_the_owner_whoever_might_read_what_was_there(
    mode: int, tmp_path: Path
) -> None:
    out = tmp_path / "labels"
    out.touch()
    out.chmod(mode)
    with replacing(out, "", rights=FOR_THE_OWNER) as file:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.write_text("labels")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_file_that_may_not_be_replaced_is_refused_before_anything_happens(tmp_path: Path) -> None:
    out, begun = tmp_path / "out", False
    out.write_text("paid for")
    with pytest.raises(typer.Exit) as ended, replacing(out, "", may_replace=False):
        begun = True
    assert not begun
    assert ended.value.exit_code == CANNOT_WRITE
    assert out.read_text() == "paid for"


def test_empty_file_is_nothing_to_lose(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.touch()
    with replacing(out, "", may_replace=False) as file:
        file.write_text("new")
    assert out.read_text() == "new"


def test_a_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_places_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path, tmp_path / "nowhere" / "out", tmp_path / "file" / "out"):
        refused(out)
    assert os.listdir(tmp_path) == ["file"]


def test_a_slip_of_the_hand_replaces_no_table(tmp_path: Path) -> None:
    table = tmp_path / "visits.parquet"
    table.write_text("rows")
    expected = pytest.raises(ParameterError, match=r"Name a file such as visits\.json")
    with expected, replacing(table, ".json"):
        pass
    assert table.read_text() == "rows"


def test_nothing_is_written_into_a_folder_that_is_read(tmp_path: Path) -> None:
    refused(tmp_path / "parts" / "out", reads=(tmp_path,))


def test_labels_are_for_their_owner(tmp_path: Path) -> None:
    with replacing(tmp_path / "out", "", rights=FOR_THE_OWNER) as file:
        file.write_text("labels")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600
