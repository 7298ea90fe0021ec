"""Record numbers, and say what has moved since they were recorded.

python tests/golden/golden_record.py                  # what has moved
python tests/golden/golden_record.py --record         # record families that may move
python tests/golden/golden_record.py --record values  # record a family that should not have
"""

from __future__ import annotations

import json
import math
import platform
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from golden_flat import Number, Numbers
from golden_numbers import MAY_MOVE, MUST_STAY, numbers
from threadpoolctl import threadpool_info

FILE = Path(__file__).with_name("golden.json")
# Relative moves that are none. Two runs with one thread are equal to the last bit. A second thread
# and NumPy's sums in place of the compiled ones (CALIBRANT_ENGINE=numpy) move numbers by 6e-13 at
# most but for matrices.
TOLERANCE = dict.fromkeys(MUST_STAY, 1e-12) | dict.fromkeys(MAY_MOVE, 1e-9)
# Matrices are fitted until the loss is flat: OpenBLAS's kernels move their entries by up to 7e-7,
# and the loss, which is held like every other number, by less than 1e-12.
FLAT = re.compile(r"scaling/.*/(\w*MatrixScaling|DirichletCalibration)/(coef_|intercept_|mapped)")
FLAT_TOLERANCE = 1e-5
# Absolute moves that are none: rounding of sums that cancel.
SMALLEST = 2e-14
# With other versions or on another processor this much is allowed. OpenBLAS's kernels for six
# processors (OPENBLAS_CORETYPE) moved values by 2e-10, and what is drawn by 1.4e-2 where a draw
# falls on the other side of a step.
ELSEWHERE = dict.fromkeys(MUST_STAY, 1e-8) | dict.fromkeys(MAY_MOVE, 5e-2)


class Move(NamedTuple):
    """A number that is no longer what was recorded."""

    name: str
    old: Number
    new: Number

    @property
    def relative(self) -> float:
        """The size of the move; infinite from a number to a word or to nothing."""
        if not (_is_number(self.old) and _is_number(self.new)):
            return math.inf
        return abs(self.new - self.old) / max(abs(self.new), abs(self.old), SMALLEST)

    def __str__(self) -> str:
        return f"{self.name}: {self.old!r} -> {self.new!r} ({self.relative:.1e})"


def made_with() -> dict[str, str]:
    """Versions and system that the last digits depend on."""
    versions = {module.__name__: module.__version__ for module in (np, scipy)}
    minor = {name: ".".join(full.split(".")[:2]) for name, full in versions.items()}
    kernels = {each["architecture"] for each in threadpool_info() if each.get("user_api") == "blas"}
    system = f"{platform.system()} {platform.machine()}"
    return minor | {"system": system, "kernels": " ".join(sorted(kernels))}


def recorded() -> tuple[dict[str, str], Numbers]:
    """What the file's numbers were made with, and the numbers by name."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return found.pop("made with"), dict(_flat("", found))


def family(name: str) -> str:
    return name.partition("/")[0]


def moves(old: Numbers, new: Numbers, least: float = 0.0) -> list[Move]:
    """Recorded numbers that are others now, or gone, the largest move of a family first.

    Numbers that were not recorded are no moves: a new measure, or a new field of a result. Moves
    below `least` are none either.
    """
    found = [Move(name, number, new.get(name, "gone")) for name, number in old.items()]
    moved = [move for move in found if _has_moved(move, least)]
    return sorted(moved, key=lambda move: (family(move.name), -move.relative, move.name))


def _has_moved(move: Move, least: float) -> bool:
    if _is_number(move.old) and _is_number(move.new):
        usual = FLAT_TOLERANCE if FLAT.match(move.name) else TOLERANCE[family(move.name)]
        relative = max(usual, least)
        room = max(relative * max(abs(move.old), abs(move.new)), SMALLEST, least / 1000)
        return abs(move.new - move.old) > room
    return type(move.old) is not type(move.new) or move.old != move.new


def _is_number(number: Number) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool)


def summary(old: Numbers, new: Numbers, examples: int = 10) -> str:
    """How many numbers of each family moved, how far, and the largest of these moves."""
    found = moves(old, new)
    lines = []
    for name in (*MUST_STAY, *MAY_MOVE):
        moved = [move for move in found if family(move.name) == name]
        total = sum(family(key) == name for key in old)
        added = sum(family(key) == name for key in new.keys() - old.keys())
        furthest = f", by up to {moved[0].relative:.1e}" if moved else ""
        lines.append(f"{name}: {len(moved)} of {total} moved{furthest}; {added} not recorded yet")
        lines += [f"    {move}" for move in moved[:examples]]
    return "\n".join(lines)


def record(old: Numbers, new: Numbers, families: tuple[str, ...]) -> None:
    """Write the numbers of some families anew, and the others as they were recorded."""
    kept = {name: number for name, number in old.items() if family(name) not in families}
    taken = {name: number for name, number in new.items() if family(name) in families}
    nested: dict[str, Any] = {"made with": made_with()}
    for name, number in sorted((kept | taken).items()):
        *folders, last = name.split("/")
        inside = nested
        for folder in folders:
            inside = inside.setdefault(folder, {})
        inside[last] = number
    # One number a line, so that a commit shows which ones it moves. Floats are written so that they
    # are read as the same floats.
    FILE.write_text(json.dumps(nested, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def _flat(path: str, found: Any) -> list[tuple[str, Number]]:
    if not isinstance(found, dict):
        return [(path, found)]
    inside = ((f"{path}/{key}" if path else key, part) for key, part in found.items())
    return [number for name, part in inside for number in _flat(name, part)]


def main(arguments: list[str]) -> int:
    families = tuple(arguments[1:]) or MAY_MOVE
    if arguments and (arguments[0] != "--record" or not {*families} <= {*MUST_STAY, *MAY_MOVE}):
        print(__doc__, file=sys.stderr)
        return 2
    (before, old), new = recorded() if FILE.exists() else ({}, {}), numbers()
    if before != made_with():
        print(f"recorded with {before}, and computed with {made_with()}")
    print(summary(old, new))
    if arguments:
        record(old, new, families)
        print(f"recorded: {', '.join(families)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
