"""The picture of the rooms shows the imports that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import rooms


def test_the_picture_is_up_to_date() -> None:
    """If it is not, `python docs/rooms.py` draws it anew."""
    shown = rooms.PICTURE.read_text().partition("<dc:description>")[2].partition("<")[0]
    assert shown.replace("&gt;", ">").split("; ") == rooms.arrows(rooms.imports())


def test_algorithms_have_no_way_to_rows_but_the_door() -> None:
    graph = rooms.imports()
    assert "engines: the rows" not in graph["algorithms"]
    assert graph["postprocessing"].isdisjoint({"engines: the rows", "privacy: the door"})


def test_a_picture_can_be_drawn(tmp_path: Path) -> None:
    rooms.draw(tmp_path / "rooms.svg")
    assert "command line -&gt; audit" in (tmp_path / "rooms.svg").read_text()


def test_a_module_without_a_room_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cellar.py").write_text("")
    monkeypatch.setattr(rooms, "PACKAGE", tmp_path)
    with pytest.raises(ValueError, match="'cellar' is in no room"):
        rooms.imports()
