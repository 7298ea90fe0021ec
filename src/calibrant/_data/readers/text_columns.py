"""Columns of files as text, where none of them is a prediction: answers, verdicts, questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError
from calibrant._core.messages import name_of
from calibrant._data.readers.chunks import Column, Field, Names
from calibrant._data.readers.columns import require
from calibrant._data.readers.recognise import find_files
from calibrant._data.readers.source import CHUNK, open_reader

# How texts say yes and no, and that there is no value.
YES_AND_NO = {
    **dict.fromkeys(("true", "yes", "y", "correct"), 1.0),
    **dict.fromkeys(("false", "no", "n", "incorrect"), 0.0),
}
GAPS = frozenset(("", "na", "nan", "null", "none"))


def read_texts(
    paths: Sequence[str],
    columns: Mapping[str, str],
    format: str | None = None,
    *,
    optional: str | None = None,
) -> dict[str, NDArray[Any]]:
    """Read columns of files as text, (n,) objects each, None where there is no value.

    `columns` has the argument by which the user named each column. The column `optional` has no
    values in a file that lacks it, if another file has it.
    """
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in columns}
    readers = [open_reader(file) for file in find_files(list(paths), format)]
    readers = [reader for reader in readers if reader.names]
    known = any(reader.has(optional) for reader in readers) if optional is not None else False
    for reader in readers:
        lacking = known and optional is not None and not reader.has(optional)
        fields = {name: Field(name, "text") for name in columns if not lacking or name != optional}
        for name in fields:
            require(reader, columns[name], name)
        for chunk in reader.all_chunks(list(fields.values()), CHUNK):
            for name, field in fields.items():
                parts[name].append(_texts(chunk.columns[field]))
            if lacking and optional is not None:
                parts[optional].append(np.full(chunk.n_rows, None, dtype=object))
    if not any(map(len, parts.values())):
        raise InputError("the files hold no rows: there is nothing to measure")
    return {name: np.concatenate(texts) for name, texts in parts.items()}


def _texts(column: Column | Names) -> NDArray[Any]:
    """The values of a chunk's column as objects; None where there is none."""
    if isinstance(column, Names):
        return column.of_rows()
    out = column.values.astype(object)
    if column.gaps is not None:
        out[column.gaps] = None
    return out


def numbers_of_texts(
    option: str, name: str, texts: NDArray[Any], *, percent: bool = False
) -> NDArray[Any]:
    """A column of texts as numbers: yes, true and correct are 1, their opposites 0; NaN where there
    is no value. With `percent`, 85 and "85%" are 0.85. `option` is the argument that named the
    column, for the error.
    """
    out = np.full(texts.shape, np.nan)
    for row, value in enumerate(texts.tolist()):
        text = "" if value is None or value != value else str(value).strip().lower()
        if text in GAPS:
            continue
        try:
            if percent:
                out[row] = float(text.removesuffix("%")) / 100.0
            else:
                out[row] = YES_AND_NO[text] if text in YES_AND_NO else float(text)
        except ValueError:
            raise InputError(
                f"{name_of(option)} names the column {name!r}, whose row {row} is {value!r}: "
                "values must be "
                + ("percentages" if percent else "0, 1 or a number between, or yes and no")
                + "; leave the field empty if there is none"
            ) from None
    return out
