"""The command in this process or in one of its own, and small files to run it on."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from calibrant._cli import main as main
from shell_lines import run_main

INSTALLED = str(Path(sys.executable).with_name("calibrant"))

rng = np.random.default_rng(3)
N = 600
LOGITS = 2.0 * rng.normal(size=N)
# Overconfident, and the truth of it.
REPORTS = np.round(1 / (1 + np.exp(-LOGITS)), 6)
BETTER = np.round(1 / (1 + np.exp(-0.5 * LOGITS)), 6)
OUTCOMES = (rng.random(N) < 1 / (1 + np.exp(-0.5 * LOGITS))).astype(int)
SITES = rng.choice(["north", "south"], N)
CLASSES = ["cat", "dog", "eel"]
SCORES = 2.0 * rng.normal(size=(N, 3))
ROWS = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)
SOFTER = np.exp(0.5 * SCORES) / np.exp(0.5 * SCORES).sum(axis=1, keepdims=True)
LABELS = (rng.random(N)[:, None] > SOFTER.cumsum(axis=1)).sum(axis=1)


def run(*arguments, cwd="."):
    """The command in this process, to its end."""
    out, err = io.StringIO(), io.StringIO()
    code = run_main([*map(str, arguments)], cwd, out, err)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def run_installed(*arguments, cwd=None, **environment):
    """The installed command, to its end."""
    return subprocess.run(
        [INSTALLED, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **environment},
    )


def csv(path, columns):
    """A file with these columns."""
    # Numbers of Python are written sooner than those of NumPy.
    plain = (
        column.tolist() if hasattr(column, "tolist") else column for column in columns.values()
    )
    rows = zip(*plain, strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def binary(folder, name="rows.csv", **more):
    return csv(folder / name, {"label": OUTCOMES, "p": REPORTS, **more})


def named(folder, name="named.csv", order=(0, 1, 2), predictions=ROWS):
    """Predictions in columns named by the classes, in some order."""
    columns = {f"proba_{CLASSES[j]}": predictions[:, j].tolist() for j in order}
    return csv(folder / name, {"label": [CLASSES[y] for y in LABELS], **columns})
