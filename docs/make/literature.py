"""Write what `calibrant reproduce literature` shows without data.

    python docs/make/literature.py FOLDER

FOLDER has a checkout of each repository as OWNER+NAME (docs/research/literature.md).
"""

from __future__ import annotations

import csv
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from calibrant import reproduce

PRINTED = Path(__file__).parents[2] / "src/calibrant/_research/papers/printed"
SHIPPED = ("sources", "causes", "printed", "sets", "orders")


def main(folder: str) -> None:
    """Measure all that is in a folder, and write the tables into the package."""
    done = reproduce("literature", data=folder, progress=True)
    for name in SHIPPED:
        columns = done.tables[name].columns
        _write(name, list(columns), zip(*columns.values(), strict=True))
    recipe = {"measured": f"{datetime.now(UTC):%Y-%m-%d}", **done.recipe}
    del recipe["command"]
    _write("with", list(recipe), [recipe.values()])


def _write(name: str, head: list[str], rows: Any) -> None:
    """Write a table; numbers with six digits."""
    path = PRINTED / f"measured_{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([f"{c:.6g}" if isinstance(c, float) else c for c in row] for row in rows)


if __name__ == "__main__":
    main(sys.argv[1])
