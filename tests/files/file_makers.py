"""The same rows in every format, and the kinds of rows that there are."""

from __future__ import annotations

import json

import numpy as np

from calibrant._data.answers import as_answers
from needs import need

FORMATS = ("parquet", "csv", "jsonl", "arrow", "stream", "feather", "npz", "packed-npz")
SUFFIX = {"stream": "arrows", "packed-npz": "npz"}

rng = np.random.default_rng(11)
N, K = 1250, 4
LOGITS = rng.normal(size=(N, K)) * 2
ROWS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = rng.integers(0, K, N)
REPORTS = rng.random(N)
OUTCOMES = (rng.random(N) < REPORTS**1.3).astype(np.int64)
WEIGHTS = rng.integers(0, 4, N).astype(np.float64)
NAMES = ["cat", "dog", "eel", "fox"]

# Whether an answer was right, as a column called so says.
RIGHT = as_answers(OUTCOMES)

# Columns to write, and what cal.evaluate is given for them.
KINDS = {
    "binary": ({"label": OUTCOMES, "p": REPORTS}, (OUTCOMES, REPORTS), {}),
    "truth values": ({"correct": OUTCOMES > 0, "p": REPORTS}, (RIGHT, REPORTS), {}),
    "soft": ({"label": REPORTS**1.3, "p": REPORTS}, (REPORTS**1.3, REPORTS), {}),
    "ties": (
        {"label": OUTCOMES, "p": np.round(REPORTS, 1)}, (OUTCOMES, np.round(REPORTS, 1)), {},
    ),
    "binary logits": (
        {"label": OUTCOMES, "logits": LOGITS[:, 0]}, (OUTCOMES, LOGITS[:, 0]),
        {"from_logits": True},
    ),
    "weights": (
        {"label": OUTCOMES, "p": REPORTS, "w": WEIGHTS}, (OUTCOMES, REPORTS, WEIGHTS), {},
    ),
    "multiclass": ({"label": LABELS, "probs": ROWS}, (LABELS, ROWS), {}),
    "soft rows": (
        {"y_true": ROWS[::-1].copy(), "y_proba": ROWS}, (ROWS[::-1].copy(), ROWS), {},
    ),
    "logits": ({"label": LABELS, "logits": LOGITS}, (LABELS, LOGITS), {"from_logits": True}),
    "class names": (
        {"label": np.array(NAMES)[LABELS], "probs": ROWS}, (np.array(NAMES)[LABELS], ROWS),
        {"classes": NAMES},
    ),
    "other numbers": (
        {"label": np.where(OUTCOMES > 0, 7, 3), "p": REPORTS},
        (np.where(OUTCOMES > 0, 7, 3), REPORTS), {"classes": [3, 7]},
    ),
    "titles": ({"label": LABELS, "probs": ROWS}, (LABELS, ROWS), {"classes": NAMES}),
}  # fmt: skip


def write(folder, format, columns, *, name="rows", group=300):
    """A file with these columns: its path, and the names that 2-D ones go by where lists cannot."""
    path = folder / f"{name}.{SUFFIX.get(format, format)}"
    if format == "npz":
        np.savez(path, **columns)
    elif format == "packed-npz":
        np.savez_compressed(path, **columns)
    elif format == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records(columns)))
    elif format == "csv":
        write_csv(path, flat(columns))
    else:
        write_arrow(path, format, columns, group)
    return path


def records(columns):
    lists = {name: values.tolist() for name, values in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def flat(columns):
    """Matrices as columns of their own: probs_0, probs_1, ..."""
    out = {}
    for name, values in columns.items():
        stem = {"probs": "prob"}.get(name, name)
        parts = (
            {f"{stem}_{j}": values[:, j] for j in range(values.shape[1])}
            if (values.ndim == 2)
            else {name: values}
        )
        out |= parts
    return out


def write_csv(path, columns):
    lines = [",".join(columns)]
    lists = [values.tolist() for values in columns.values()]
    lines += [",".join(map(str, row)) for row in zip(*lists, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def table_of(columns):
    pa = need("pyarrow")
    arrays = {
        name: pa.array(list(values)) if values.ndim == 2 else pa.array(values)
        for name, values in columns.items()
    }
    return pa.table(arrays)


def write_arrow(path, format, columns, group):
    pa = need("pyarrow")
    table = table_of(columns)
    if format == "parquet":
        need("pyarrow.parquet").write_table(table, path, row_group_size=group)
    elif format == "feather":
        need("pyarrow.feather").write_feather(table, path, chunksize=group)
    else:
        make = pa.ipc.new_file if format == "arrow" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=group)
