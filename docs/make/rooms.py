"""The picture of the rooms, drawn from the code: floors from the contract, lines from imports.

python docs/make/rooms.py    # writes docs/assets/rooms.svg; a test holds it to the code
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "calibrant"
PICTURE = ROOT / "docs" / "assets" / "rooms.svg"

WIDTH, ROW, BOX, HEIGHT = 760, 74, 150, 34


def floors() -> list[list[str]]:
    """The rooms of every floor, the highest first, as the contract of imports has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        each["layers"]
        for each in contracts["tool"]["importlinter"]["contracts"]
        if each["type"] == "layers"
    )
    return [[room.strip() for room in layer.split(":")] for layer in layers[1:]]


def imports() -> set[tuple[str, str]]:
    """Rooms of which one imports something of the other. Stubs have imports that code makes by
    name.
    """
    found = set()
    for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")):
        room = path.relative_to(PACKAGE).parts[0].partition(".")[0]
        found.update((room, other) for other in _rooms_imported(path) - {room})
    return found


def _rooms_imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(each.name for each in node.names)
    parts = (name.split(".") for name in names)
    return {each[1] for each in parts if each[0] == "calibrant" and len(each) > 1}


def picture() -> str:
    """The picture as SVG: a box for each room, and a line for each pair of rooms that import."""
    rows = floors()
    places = {
        room: (WIDTH * (i + 1) / (len(rooms) + 1), ROW * (row + 0.5))
        for row, rooms in enumerate(rows)
        for i, room in enumerate(rooms)
    }
    lines = []
    for room, other in sorted(imports()):
        if room in places and other in places:
            (x, y), (there, below) = places[room], places[other]
            half = HEIGHT / 2 if below > y else 0.0  # rooms of one floor are joined at the side
            lines.append(f'<path d="M{x:.0f} {y + half:.0f} L{there:.0f} {below - half:.0f}"/>')
    boxes = [
        f'<rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" height="{HEIGHT}" '
        f'rx="6"/><text x="{x:.0f}" y="{y + 5:.0f}">{room}</text>'
        for room, (x, y) in places.items()
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {ROW * len(rows)}">',
            "<style>path{stroke:#5b7ea6;stroke-opacity:.4}"
            "rect{fill:#f4f6f8;stroke:#5b7ea6}"
            "text{font:14px sans-serif;fill:#1d2b3a;text-anchor:middle}</style>",
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
