"""The architecture page lists the modules and shows the imports that there are."""

from __future__ import annotations

from pathlib import Path

from docs import packages


def test_picture_shows_the_imports_there_are() -> None:
    """If it does not, `python docs/packages.py` draws it anew."""
    drawn = packages.PICTURE.read_text().partition("<dc:description>")[2].partition("<")[0]
    assert drawn.replace("&gt;", ">").split("; ") == packages.arrows(packages.imports())


def test_page_lists_the_modules_there_are() -> None:
    """If it does not, `python docs/packages.py` writes the list anew."""
    text = packages.PAGE.read_text()
    found = text.partition(packages.BEGIN)[2].partition(packages.END)[0]
    assert found.strip() == packages.listed().strip()


def test_algorithms_and_models_have_no_way_to_rows() -> None:
    graph = packages.imports()
    assert graph["algorithms"].isdisjoint({"engines", "sources"})
    assert graph["models"].isdisjoint({"engines", "sources", packages.CURATOR})


def test_rows_know_nothing_of_privacy() -> None:
    graph = packages.imports()
    for part in ("kernels", "domains", "queries", "sources", "engines"):
        assert graph[part].isdisjoint({packages.CURATOR, packages.CALCULUS})


def test_picture_can_be_drawn(tmp_path: Path) -> None:
    packages.draw(tmp_path / "packages.svg")
    assert "cli -&gt; audit" in (tmp_path / "packages.svg").read_text()
