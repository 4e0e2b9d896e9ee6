"""List the packages and draw who imports whom, from the code itself.

``python docs/packages.py`` draws docs/figures/packages.svg and writes the list of modules into
docs/architecture.md. The picture's description names the arrows, so that a test can tell whether it
is up to date.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

Graph = Mapping[str, frozenset[str]]

PACKAGE = Path(__file__).parents[1] / "src" / "privclust"
PICTURE = Path(__file__).parent / "figures" / "packages.svg"
PAGE = Path(__file__).parent / "architecture.md"
BEGIN, END = "<!-- packages: made by docs/packages.py -->\n", "<!-- packages: end -->\n"
BELOW_MODELS = frozenset({"accounting", "fingerprint", "noise_shares", "plan", "release"})
"""Modules of `privacy` that models build on; the others build on models."""
CURATOR, CALCULUS = "privacy: Curator, ledger", "privacy: accounting"
COLORS = {CURATOR: "#fff3d6", CALCULUS: "#fff3d6", "engines": "#fbeeee", "sources": "#fbeeee"}
WIDTH, HEIGHT = 2.1, 0.42


def imports() -> Graph:
    """Return for each package the others that it imports from."""
    found: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        part = _part_of(file.relative_to(PACKAGE).with_suffix("").parts)
        if part is not None:
            others = {_part_of(name) for name in _imported(file)} - {part, None}
            found.setdefault(part, set()).update(other for other in others if other is not None)
    return {part: frozenset(others) for part, others in found.items()}


def arrows(graph: Graph) -> list[str]:
    """Return every arrow as a line of text."""
    return sorted(f"{part} -> {other}" for part, others in graph.items() for other in others)


def listed() -> str:
    """Return what each package and each of its modules holds, as Markdown."""
    lines = []
    for folder in sorted(path.parent for path in PACKAGE.rglob("__init__.py")):
        name = folder.relative_to(PACKAGE.parent).as_posix()
        lines += [f"**`{name}/`** {_summary(folder / '__init__.py')}", ""]
        lines += ["| module | what it holds |", "|---|---|"]
        lines += [
            f"| `{file.stem}` | {_summary(file)} |"
            for file in sorted(folder.glob("*.py"), key=lambda file: file.stem.lstrip("_"))
            if not file.stem.startswith("__")
        ]
        lines += [""]
    return "\n".join(lines)


def write_list() -> None:
    """Write the list of modules into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + listed() + "\n" + END + rest.partition(END)[2])


def draw(path: Path = PICTURE) -> None:
    """Draw the packages, the highest first; arrows point from who imports to what is imported."""
    graph = imports()
    places = _places(graph)
    figure = Figure(figsize=(7.6, 9.2), layout="tight")
    axes = figure.add_subplot()
    for part, others in graph.items():
        for other in sorted(others):
            _draw_arrow(axes, places[part], places[other], _is_roundabout(graph, part, other))
    for part, (x, y) in places.items():
        box = FancyBboxPatch(
            (x - WIDTH / 2, y - HEIGHT / 2),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0.04",
            facecolor=COLORS.get(part, "#ffffff"),
            edgecolor="#1f2933",
            zorder=3,
        )
        axes.add_patch(box)
        axes.text(x, y, part, ha="center", va="center", fontsize=10, zorder=4)
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.axis("off")
    _write(figure, path, arrows(graph))


def _part_of(name: tuple[str, ...]) -> str | None:
    """Return which box a module is drawn in; None for modules at the root."""
    if not (PACKAGE / name[0]).is_dir():
        return None
    if name[0] != "privacy":
        return name[0]
    return CALCULUS if name[1:2] and name[1] in BELOW_MODELS else CURATOR


def _imported(file: Path) -> Iterator[tuple[str, ...]]:
    """Give the name of each module below privclust that a file imports, in its parts."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "privclust":
            module = str(node.module).split(".")[1:]
            yield from ((*module, alias.name) for alias in node.names)


def _summary(file: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _places(graph: Graph) -> dict[str, tuple[float, float]]:
    """Put each package one level above the highest that it imports."""
    levels: dict[int, list[str]] = {}
    for part in graph:
        levels.setdefault(_level(graph, part), []).append(part)
    return {
        part: ((place - (len(parts) - 1) / 2) * 3.6 + 0.7 * (-1) ** level, level * 0.95)
        for level, parts in levels.items()
        for place, part in enumerate(parts)
    }


def _level(graph: Graph, part: str, above: tuple[str, ...] = ()) -> int:
    if part in above:
        raise ValueError(f"packages import each other in a circle: {' -> '.join((*above, part))}.")
    return max((_level(graph, other, (*above, part)) + 1 for other in graph[part]), default=0)


def _is_roundabout(graph: Graph, part: str, goal: str) -> bool:
    """Tell whether there is also a longer way, so that the arrow may be faint."""
    others = graph[part] - {goal}
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
    with mpl.rc_context({"svg.hashsalt": "packages"}):
        figure.savefig(path, metadata={"Date": None, "Description": "; ".join(lines)})


if __name__ == "__main__":
    draw()
    write_list()
