"""Files of every kind that the page that measures reads, with their labels and predictions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# How labels, predictions and texts vary; a file takes the next of each, so that pairs meet.
SIZES = (3, 17, 120, 900, 4000)
SHARPNESS = (1.0, 0.5, 1.7, -0.4, 1.0)
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Written:
    """A file, and what it holds."""

    path: Path
    y: Any
    p: Any


def predictions(rng: Any, n: int, number: int) -> Any:
    """Probabilities of an event: spread, rounded to ties, rare, or with 0 and 1 among them."""
    kind = number % 5
    p = rng.beta(*((1, 1), (2, 5), (0.3, 0.3), (0.05, 3), (1, 30))[kind], n)
    if kind == 1:
        p = np.round(p, 2)
    if kind == 2 and n > 20:
        p[:3], p[3:6] = 0.0, 1.0
    if number % 11 == 0:
        p = np.round(p * 15) / 15  # on the edges of bins
    return p


def outcomes(rng: Any, p: Any, number: int) -> Any:
    """Labels of these predictions, calibrated or not; every third time soft ones."""
    q = np.clip(p, 1e-9, 1 - 1e-9)
    true = 1 / (1 + np.exp(-SHARPNESS[number % 5] * np.log(q / (1 - q))))
    if number % 3 == 2:
        votes = (3, 10, 7)[number % 2]
        return rng.binomial(votes, true) / votes
    y = (rng.random(p.size) < true).astype(int)
    y[0], y[-1] = 0, 1  # both outcomes are there
    return y


def write_files(folder: Path, n_files: int) -> list[Written]:
    """So many files, three of four binary ones and one of several classes."""
    return [_write(folder, number) for number in range(n_files)]


def _write(folder: Path, number: int) -> Written:
    rng = np.random.default_rng(number)
    n = SIZES[number % len(SIZES)]
    if number % 4 == 3:
        return _multiclass(folder, number, rng, n)
    p = predictions(rng, n, number)
    y = outcomes(rng, p, number)
    names = (("y_true", "y_proba"), ("Label", "Prob"), ("outcome", "risk"))[number % 3]
    if number % 4 == 2:
        inner = number % 3 < 2  # less usual names are not looked for in records
        records = [
            {"id": i, names[0]: a, **({"m": {names[1]: b}} if inner else {names[1]: b})}
            for i, (a, b) in _pairs(y, p)
        ]
        return Written(_jsonl(folder / f"{number}.jsonl", records), y, p)
    mark = DELIMITERS[number // 4 % 4]
    rows = [["note", *names]] + [[f'"a{mark} ""b"""', a, b] for _, (a, b) in _pairs(y, p)]
    return Written(_csv(folder / f"{number}.csv", rows, mark), y, p)


def _multiclass(folder: Path, number: int, rng: Any, n: int) -> Written:
    k = 2 + number % 4
    p = rng.dirichlet(np.full(k, 0.7), n)
    y: Any = np.array([rng.choice(k, p=row) for row in p])
    y[0] = p[0].argmin()
    if number % 3 == 0:
        shares = np.stack([rng.multinomial(8, row) / 8 for row in p])
        header = [f"y_true{r}" for r in range(k)] + [f"p{r}" for r in range(k)]
        rows = [header, *np.hstack([shares, p]).tolist()]
        return Written(_csv(folder / f"{number}.csv", rows, ","), shares, p)
    if number % 3 == 1:
        records = [{"target": int(a), "probs": b} for a, b in zip(y, p.tolist(), strict=True)]
        return Written(_jsonl(folder / f"{number}.jsonl", records), y, p)
    classes = ("ant", "bee", "cow", "dog", "eel")[:k]
    rows = [["label", *(f"proba_{name}" for name in classes)]]
    rows += [[classes[a], *b] for a, b in zip(y, p.tolist(), strict=True)]
    return Written(_csv(folder / f"{number}.csv", rows, ","), y, p)


def _pairs(y: Any, p: Any) -> Any:
    return enumerate(zip(y.tolist(), p.tolist(), strict=True))


def _csv(path: Path, rows: list[Any], mark: str) -> Path:
    path.write_text("".join(mark.join(map(str, row)) + "\n" for row in rows))
    return path


def _jsonl(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
