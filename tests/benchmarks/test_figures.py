"""Figures of measurements: readable for everybody, and drawn from the results that are kept."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from helpers.colour_vision import VISION, contrast, difference
from PIL import Image

from benchmarks.figures import gallery, style
from benchmarks.figures.card import CARD
from benchmarks.figures.redraw import redraw
from benchmarks.figures.style import DARK, DARK_GROUND, GROUND, METHODS, PLACE, for_dark_pages

APART, VISIBLE = 20.0, 3.0
"""In CIELAB, ten times what is just noticeable; and WCAG's contrast of what is no text."""
OWN_COLORS = {style.color: style.dark for style in METHODS.values()}
DESCRIPTION = re.compile(r"<dc:description>(\w+)</dc:description>")


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colors", [[*OWN_COLORS, style.INK], [*OWN_COLORS.values(), "#e6e6e6"]])
def test_methods_are_told_apart_by_colour(vision: str, colors: list[str]) -> None:
    assert len(set(colors)) == len(OWN_COLORS) + 1
    for one, other in combinations(colors, 2):
        assert difference(one, other, vision) >= APART, (one, other)


def test_methods_are_told_apart_without_colour() -> None:
    assert len({style.marker for style in METHODS.values()}) == len(METHODS)
    assert len({style.dash for style in METHODS.values()}) == len(METHODS)


def test_lines_stand_out_from_the_page() -> None:
    for light, dark in OWN_COLORS.items():
        assert contrast(light, GROUND) >= VISIBLE
        assert contrast(dark, DARK_GROUND) >= VISIBLE


def test_letters_can_be_read() -> None:
    for color in (style.INK, style.MUTED):
        assert contrast(color, GROUND) >= 4.5
        assert contrast(DARK[color], DARK_GROUND) >= 4.5


def test_a_colour_that_only_red_and_green_tell_apart_is_noticed() -> None:
    assert difference("#d62728", "#2ca02c", "normal") > 100
    assert difference("#c08000", "#a09000", "deuteranopia") < APART


def test_a_dark_page_has_its_own_colours_only() -> None:
    svg = "".join(f'<path style="fill: {color}"/>' for color in DARK)
    assert not any(color in for_dark_pages(svg) for color in DARK)


def test_figures_show_the_results_that_are_kept(tmp_path: Path) -> None:
    """``python -m benchmarks figures`` draws them again."""
    redraw(tmp_path)
    drawn = {file.name: DESCRIPTION.findall(file.read_text()) for file in tmp_path.glob("*.svg")}
    assert len(drawn) == 30
    animated = {"steps_animated.svg", "steps_animated-dark.svg"}
    assert {name for name, found in drawn.items() if len(found) != 1} == animated
    for name, found in drawn.items():
        kept = (PLACE / name).read_text()
        if name in animated:
            assert kept == (tmp_path / name).read_text()
        assert DESCRIPTION.findall(kept) == found
    with Image.open(tmp_path / "card.png") as drawn_now, Image.open(CARD) as card:
        assert drawn_now.info["Description"] == card.info["Description"]


def test_figures_of_the_gallery_are_those_of_its_scripts(tmp_path: Path) -> None:
    """``python -m benchmarks.figures.gallery`` draws them again."""
    gallery.draw(tmp_path)
    for name in gallery.SHOWN:
        for file in (f"{name}.svg", f"{name}-dark.svg"):
            kept, drawn = ((place / file).read_text() for place in (PLACE, tmp_path))
            assert len(DESCRIPTION.findall(drawn)) == 1
            assert DESCRIPTION.findall(kept) == DESCRIPTION.findall(drawn)
