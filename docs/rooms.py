"""Draw the rooms of the package, and who imports whom, from the code itself.

``python docs/rooms.py`` writes docs/figures/rooms.svg; the build of the site draws it anew. The
picture's description lists the arrows, so that a test can tell whether it is up to date.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

Graph = Mapping[str, frozenset[str]]

PACKAGE = Path(__file__).parents[1] / "src" / "privclust"
PICTURE = Path(__file__).parent / "figures" / "rooms.svg"
ROOMS = {
    "command line": ("__main__", "cli"),
    "files and pictures": ("drawing", "exported_cells", "exporting", "reporting", "saving"),
    "audit": ("audit", "testing"),
    "planning": ("costing", "planning"),
    "estimators": ("estimators",),
    "fitting": (
        *("cost", "derived_cost", "fitting", "parameters", "profiling", "recording"),
        *("stating", "tables"),
    ),
    "statements": ("statements",),
    "algorithms": ("algorithms",),
    "privacy: the door": ("privacy",),
    "engines: the rows": ("engines",),
    "postprocessing": ("postprocessing",),
    "release": ("release",),
    "queries": (
        *("cell_queries", "column_queries", "cube_queries", "moment_queries"),
        *("profile_queries", "queries", "relative_queries"),
    ),
    "domain": (*("bounds", "declared", "domain", "mixed", "profiled", "scaled_domains", "sphere"),),
    "geometry": ("geometry",),
}
"""Each room, and the modules in it."""
UNDER_THE_STAIRS = (
    *("__init__", "canvas", "errors", "json_schema", "regular_files", "resources"),
    *("rounding", "tracebacks", "version"),
)
"""Small things that everybody may use, and the list of public names: not drawn."""
COLORS = {"privacy: the door": "#fff3d6", "engines: the rows": "#fbeeee"}
WIDTH, HEIGHT = 1.95, 0.42


def imports() -> Graph:
    """Return for each room the other rooms that it imports from.

    Raises
    ------
    ValueError
        If a module is in no room.
    """
    room_of = {module: room for room, modules in ROOMS.items() for module in modules}
    found: dict[str, set[str]] = {room: set() for room in ROOMS}
    for file in sorted(PACKAGE.rglob("*.py")):
        module = file.relative_to(PACKAGE).with_suffix("").parts[0]
        if module in UNDER_THE_STAIRS:
            continue
        if module not in room_of:
            raise ValueError(f"{module!r} is in no room. Name it in ROOMS of docs/rooms.py.")
        rooms = {room_of[name] for name in _imported(file) if name in room_of}
        found[room_of[module]] |= rooms - {room_of[module]}
    return {room: frozenset(others) for room, others in found.items()}


def arrows(graph: Graph) -> list[str]:
    """Return every arrow as a line of text."""
    return sorted(f"{room} -> {other}" for room, others in graph.items() for other in others)


def draw(path: Path = PICTURE) -> None:
    """Draw the rooms, the highest first; arrows point from who imports to what is imported."""
    graph = imports()
    places = _places(graph)
    figure = Figure(figsize=(7.6, 8.2), layout="tight")
    axes = figure.add_subplot()
    for room, others in graph.items():
        for other in sorted(others):
            _draw_arrow(axes, places[room], places[other], _is_roundabout(graph, room, other))
    for room, (x, y) in places.items():
        box = FancyBboxPatch(
            (x - WIDTH / 2, y - HEIGHT / 2),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0.04",
            facecolor=COLORS.get(room, "#ffffff"),
            edgecolor="#1f2933",
            zorder=3,
        )
        axes.add_patch(box)
        axes.text(x, y, room, ha="center", va="center", fontsize=10, zorder=4)
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.axis("off")
    _write(figure, path, arrows(graph))


def _imported(file: Path) -> Iterator[str]:
    """Give the first part of each name below privclust that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "privclust":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privclust."):
            yield str(node.module).split(".")[1]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            yield from (parts[1] for parts in names if parts[0] == "privclust" and parts[1:])


def _places(graph: Graph) -> dict[str, tuple[float, float]]:
    """Put each room one floor above the highest that it imports."""
    floors: dict[int, list[str]] = {}
    for room in graph:
        floors.setdefault(_floor(graph, room), []).append(room)
    return {
        room: ((place - (len(rooms) - 1) / 2) * 3.6 + 0.7 * (-1) ** floor, floor * 0.95)
        for floor, rooms in floors.items()
        for place, room in enumerate(rooms)
    }


def _floor(graph: Graph, room: str, above: tuple[str, ...] = ()) -> int:
    if room in above:
        raise ValueError(f"rooms import each other in a circle: {' -> '.join((*above, room))}.")
    return max((_floor(graph, other, (*above, room)) + 1 for other in graph[room]), default=0)


def _is_roundabout(graph: Graph, room: str, goal: str) -> bool:
    """Tell whether there is also a longer way, so that the arrow may be faint."""
    others = graph[room] - {goal}
    return any(goal in graph[other] or _is_roundabout(graph, other, goal) for other in others)


def _draw_arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], faint: bool
) -> None:
    arrow = FancyArrowPatch(
        (start[0], start[1] - HEIGHT / 2 - 0.04),
        (end[0], end[1] + HEIGHT / 2 + 0.05),
        arrowstyle="-|>",
        mutation_scale=8 if faint else 12,
        color="#c3cad3" if faint else "#1f2933",
        linewidth=0.7 if faint else 1.4,
        shrinkA=0,
        shrinkB=0,
        zorder=1 if faint else 2,
    )
    axes.add_patch(arrow)


def _write(figure: Figure, path: Path, lines: list[str]) -> None:
    """Write the same bytes for the same picture: no date, no random names."""
    with mpl.rc_context({"svg.hashsalt": "rooms"}):
        figure.savefig(path, metadata={"Date": None, "Description": "; ".join(lines)})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else PICTURE)
