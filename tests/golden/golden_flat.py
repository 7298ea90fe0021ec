"""A result as numbers with names: a path of fields, and of the names of a table's rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

Number = float | int | bool | str | None
Numbers = dict[str, Number]

# Columns with more entries than this are recorded by their length, mean, and the entry half-way.
LONGEST = 6
# Columns and fields that name a row of a table.
ROW_NAMES = (
    "predictor", "name", "measure", "class", "label", "labels", "slice", "segment", "tool", "map",
)  # fmt: skip
# Words that are a decision; sentences are not recorded, because they may be reworded.
WORDS = ("verdict", "better", "decided_by")
# What was asked for is no result, and titles, rules and versions are no numbers.
NOT_RECORDED = {
    "level", "tolerance", "seed", "n_draws", "n_resamples", "recipe", "glossary", "truthful",
    "higher_is_better", "exact_mean", "point", "n_iter_", "n_rows_", "loss_before_",
}  # fmt: skip
# How names of fields end that inference makes, in tables that are otherwise sums of the rows.
OF_INFERENCE = (
    "low",
    "high",
    "estimate",
    "standard_error",
    "limits",
    "noise_95",
    "p_value",
    "p_corrected",
    "verdict",
    "intervals",
)


def flat(path: str, found: Any) -> Iterator[tuple[str, Number]]:
    """Go through a result, number by number."""
    if hasattr(found, "to_dict"):
        found = found.to_dict()
    elif is_dataclass(found) and not isinstance(found, type):
        found = asdict(found)
    if isinstance(found, dict):
        names = _names_of_rows(found)
        for key, part in found.items():
            if key not in NOT_RECORDED and key not in ROW_NAMES:
                yield from _column(f"{path}/{key}", part, names if _is_column(part) else None)
    else:
        yield from _column(path, found, None)


def _column(path: str, found: Any, names: list[str] | None) -> Iterator[tuple[str, Number]]:
    if isinstance(found, np.ndarray):
        found = found.ravel().tolist()
    if isinstance(found, (list, tuple)):
        yield from _entries(path, list(found), names)
    elif isinstance(found, dict) or hasattr(found, "to_dict") or is_dataclass(found):
        yield from flat(path, found)
    elif isinstance(found, str):
        if path.rpartition("/")[2] in WORDS:
            yield path, found
    elif found is None or isinstance(found, (bool, int)):
        yield path, found
    else:
        yield path, float(found) if np.isfinite(found) else None


def _entries(path: str, found: list[Any], names: list[str] | None) -> Iterator[tuple[str, Number]]:
    if found and isinstance(found[0], dict):
        names = [_name_of_row(row) for row in found]
        names = names if all(names) and len(set(names)) == len(names) else None
    if names is not None or len(found) <= LONGEST:
        for name, part in zip(names or map(str, range(len(found))), found, strict=True):
            yield from _column(f"{path}/{name}", part, None)
    elif isinstance(found[0], dict):
        yield from flat(f"{path}/{len(found) // 2}", found[len(found) // 2])
    elif not any(isinstance(part, str) for part in found):
        if isinstance(found[0], (list, tuple)):
            found = [number for part in found for number in part]
        there = [part for part in found if part is not None]
        yield f"{path}/length", len(found)
        yield f"{path}/mean", float(np.mean(there)) if there else None
        yield from _column(f"{path}/{len(found) // 2}", found[len(found) // 2], None)


def _is_column(part: Any) -> bool:
    return isinstance(part, list) and not (part and isinstance(part[0], dict))


def _names_of_rows(table: dict[str, Any]) -> list[str] | None:
    """What names the rows of a table of columns, if it is one and is short."""
    columns = [part for part in table.values() if isinstance(part, list)]
    for name in ROW_NAMES:
        names = table.get(name)
        if isinstance(names, list) and len({len(column) for column in columns}) == 1:
            named = all(isinstance(entry, str) for entry in names)
            return names if named and len(set(names)) == len(names) else None
    return None


def _name_of_row(row: dict[str, Any]) -> str:
    if "first" in row and "second" in row:
        return f"{row['first']} less {row['second']}"
    names = [str(row[name]) for name in ROW_NAMES if row.get(name)]
    return ", ".join([*names, row["rule"]] if names and "rule" in row else names)


def split(sums: str, inferred: str, path: str, found: Any) -> Iterator[tuple[str, Number]]:
    """Numbers of two families: sums of the rows, and what inference makes."""
    for name, number in flat(path, found):
        is_inferred = any(part.endswith(OF_INFERENCE) for part in name.split("/"))
        yield f"{inferred if is_inferred else sums}/{name}", number


def fields(path: str, found: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Number]]:
    """Some attributes of a result, or nothing where there is none."""
    for name in names if found is not None else ():
        yield from _column(f"{path}/{name}", getattr(found, name), None)
