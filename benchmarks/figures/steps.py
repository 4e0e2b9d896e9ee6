"""One seeded fit of PrivateKMeans, step by step: six stills, and the same as an animation.

Noise is that of `privclust.testing`, so that the pictures are the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from benchmarks.figures.style import GROUND, INK, METHODS, MUTED, PLACE, new_figure, save
from benchmarks.figures.style import for_dark_pages as dark
from benchmarks.rivals import FLAGSHIP
from privclust import PrivateKMeans
from privclust.algorithms import _split, private_kmeans
from privclust.kernels.grid import FloatArray
from privclust.testing import SeededNoise, noise_from

ROWS, CLUSTERS, WIDTH = 6000, 6, 1.5
"""Bounds are wider than what rows fill."""
PIXELS = 200 / WIDTH
SHOWN = 250
"""Rows that are drawn."""
OWN = METHODS[FLAGSHIP].color
BLUE = METHODS["LSHCoreset"].color
SECONDS = 3
CAPTIONS = (
    "Bounds and rows: no later step sees a row.",
    "Locate: a noisy mean and radius of all rows.",
    "Split, measure: noisy counts and means of four cells.",
    "Split again: many small cells, the coreset.",
    "Merge: weighted k-means on the cells, at no cost.",
    "Refine: noisy means and sizes of the clusters. Released.",
)


@dataclass(frozen=True)
class Frame:
    """What is known after a step: points, their weights, and radii if they are drawn as circles."""

    caption: str
    points: FloatArray
    weights: FloatArray
    radii: FloatArray | None
    final: bool = False


def made_up() -> FloatArray:
    """Return rows in six clusters of different sizes, between -1 and 1."""
    rng = np.random.default_rng(4)
    turn = np.arange(CLUSTERS) * 2 * np.pi / CLUSTERS
    middles = 0.72 * np.column_stack([np.cos(turn), np.sin(turn)])
    which = rng.choice(CLUSTERS, ROWS, p=[0.3, 0.22, 0.18, 0.14, 0.1, 0.06])
    return np.asarray(middles[which] + rng.normal(0, 0.11, (ROWS, 2)))


@cache
def frames() -> list[Frame]:
    """Fit once, and return what was known after each step, in the units of the rows."""
    with _watched() as seen, noise_from(SeededNoise(3)):
        model = PrivateKMeans(CLUSTERS, delta=1e-6, bounds=(-WIDTH, WIDTH), random_state=1).fit(
            made_up()
        )
    scale = WIDTH * np.sqrt(2)  # corners of the box lie on the unit sphere
    whole, cells, merged = seen["locate"][0], seen["cells"], seen["merge"][0]
    early = next(one for one in cells if len(one.centers) >= 4)
    last = cells[-1]
    none = np.empty((0, 2))
    return [
        Frame(CAPTIONS[0], none, np.empty(0), None),
        Frame(CAPTIONS[1], whole.points * scale, np.ones(1), whole.radii * scale),
        Frame(CAPTIONS[2], early.centers * scale, early.counts, early.radii * scale),
        Frame(CAPTIONS[3], last.centers * scale, last.counts, last.radii * scale),
        Frame(CAPTIONS[4], merged.centers * scale, merged.sizes, None),
        Frame(CAPTIONS[5], model.cluster_centers_, model.cluster_sizes_, None, final=True),
    ]


@contextmanager
def _watched() -> Iterator[dict[str, list[Any]]]:
    """Keep what the steps of a fit return; all of it follows from noisy results."""
    seen: dict[str, list[Any]] = {"locate": [], "cells": [], "merge": []}

    def keep(module: Any, name: str, kind: str) -> Any:
        step = getattr(module, name)

        def kept(*given: Any, **named: Any) -> Any:
            found = step(*given, **named)
            seen[kind].append(found)
            return found

        return patch.object(module, name, kept)

    with (
        keep(private_kmeans, "locate", "locate"),
        keep(_split, "measure_cells", "cells"),
        keep(private_kmeans, "settled", "cells"),
        keep(private_kmeans, "merge", "merge"),
    ):
        yield seen


def draw(place: Path = PLACE) -> None:
    """Draw the stills and write the animation."""
    found = frames()
    save(lambda: stills(found), "steps", place)
    save(lambda: before_and_after(found), "before_after", place)
    svg = animation(found)
    (place / "steps_animated.svg").write_text(svg)
    (place / "steps_animated-dark.svg").write_text(dark(svg))


def before_and_after(found: list[Frame]) -> Figure:
    """Draw rows that stay inside, and what is released of them."""
    figure = new_figure(7.0, 3.5)
    inside, outside = figure.subplots(1, 2)
    draw_release(inside, outside, found[-1])
    return figure


def draw_release(inside: Axes, outside: Axes, released: Frame) -> None:
    """Draw some rows, and centres with their sizes beside them."""
    x, y = made_up()[:SHOWN].T
    inside.scatter(x, y, s=9, color=MUTED, linewidth=0)
    inside.set_title("rows: they stay inside", weight="bold")
    _draw_frame(outside, released)
    outside.set_title("released: noisy centres and sizes", weight="bold")
    for axes in (inside, outside):
        axes.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=(), yticks=())
        axes.spines[:].set_color(MUTED)
        axes.spines[:].set_visible(True)


def stills(found: list[Frame]) -> Figure:
    """Draw six panels."""
    figure = new_figure(8.4, 6.2)
    rows = made_up()[:SHOWN]
    for number, (axes, frame) in enumerate(zip(figure.subplots(2, 3).flat, found, strict=True), 1):
        axes.scatter(*rows.T, s=4, color=MUTED, alpha=0.6 if number == 1 else 0.25, linewidth=0)
        _draw_frame(axes, frame)
        title = frame.caption.partition(":")[0]
        axes.set_title(f"{number}. {title}", weight="bold")
        axes.set(aspect="equal", xlim=(-WIDTH, WIDTH), ylim=(-WIDTH, WIDTH), xticks=(), yticks=())
        axes.spines[:].set_visible(True)
    return figure


def _draw_frame(axes: Axes, frame: Frame) -> None:
    share = np.maximum(frame.weights, 0) / max(1.0, float(frame.weights.sum()))
    x, y = frame.points.T
    if frame.radii is not None:
        for point, radius in zip(frame.points, frame.radii, strict=True):
            axes.add_patch(Circle(tuple(point), float(radius), fill=False, color=BLUE, lw=0.9))
        axes.scatter(x, y, s=8 + 300 * share, color=BLUE, alpha=0.7, linewidth=0)
    elif len(frame.points):
        size = 20 + 500 * share
        axes.scatter(x, y, s=size, color=OWN, edgecolor=GROUND, marker="o")
    if frame.final:
        for point, weight in zip(frame.points, frame.weights, strict=True):
            axes.annotate(f"{weight:.0f}", point, (0, 11), textcoords="offset points", ha="center")


def animation(found: list[Frame]) -> str:
    """Return an SVG whose layers appear one after another; still for whoever wants no motion."""
    part = 100 / len(found)
    length = SECONDS * len(found)
    style = (
        f"text{{font:15px sans-serif;fill:{INK}}}.s{{opacity:0;animation:s {length}s infinite}}"
        f"@keyframes s{{0%{{opacity:0}}2%,{part:.2f}%{{opacity:1}}{part + 2:.2f}%{{opacity:0}}}}"
        "@media(prefers-reduced-motion:reduce){.s{animation:none}.s:last-of-type{opacity:1}}"
    )
    dots = "".join(f'<circle cx="{_x(x)}" cy="{_y(y)}" r="1"/>' for x, y in made_up()[:500])
    layers = "".join(
        f'<g class="s" style="animation-delay:{SECONDS * number}s">{_layer(frame)}</g>'
        for number, frame in enumerate(found)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 450" role="img">'
        "<title>A fit of PrivateKMeans in six steps</title>"
        f'<style>{style}</style><rect x="40" y="5" width="400" height="400" fill="none" '
        f'stroke="{MUTED}"/><g fill="{MUTED}" opacity=".3">{dots}</g>{layers}</svg>\n'
    )


def _layer(frame: Frame) -> str:
    share = np.maximum(frame.weights, 0) / max(1.0, float(frame.weights.sum()))
    shapes = [f'<text x="240" y="432" text-anchor="middle">{frame.caption}</text>']
    for place, ((x, y), part) in enumerate(zip(frame.points, share, strict=True)):
        color = OWN if frame.radii is None else BLUE
        size = 3 + 22 * float(np.sqrt(part)) * (0.6 if frame.radii is not None else 1)
        shapes.append(f'<circle cx="{_x(x)}" cy="{_y(y)}" r="{size:.1f}" fill="{color}"/>')
        if frame.radii is not None:
            radius = PIXELS * float(frame.radii[place])
            shapes.append(
                f'<circle cx="{_x(x)}" cy="{_y(y)}" r="{radius:.1f}" fill="none" stroke="{BLUE}"/>'
            )
    return "".join(shapes)


def _x(value: float) -> str:
    return f"{240 + PIXELS * value:.1f}"


def _y(value: float) -> str:
    return f"{205 - PIXELS * value:.1f}"
