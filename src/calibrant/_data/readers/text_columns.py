"""Text of tables in memory: numbers where all of it is, as a CSV has them, or else names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from calibrant._data.readers.chunks import (
    Column,
    Field,
    Location,
    Names,
    not_a_number,
    plain_number,
)
from calibrant._data.readers.csv_errors import EMPTY, TRUTHS

Kind: TypeAlias = Literal["number", "truth", "name"]


def kind_of(texts: Iterable[str | None]) -> Kind:
    """What the labels of a column are, by all that it holds."""
    some = {text.strip() for text in texts if text is not None} - EMPTY
    if all(plain_number(text) is not None for text in some):
        return "number"
    return "truth" if some <= TRUTHS else "name"


def column_of(texts: Names, kind: Kind, field: Field, location: Location) -> Column | Names:
    """A column of text as what it is taken for; an error where it must be numbers and is not."""
    if kind == "name":
        known = [text if text and text.strip() else None for text in texts.known]
        return Names(texts.codes, known)
    values = np.zeros(len(texts.known))
    gone = np.zeros(len(texts.known), dtype=np.bool_)
    faults = np.zeros(len(texts.known), dtype=np.bool_)
    for code, text in enumerate(texts.known):
        if text is None or text.strip() in EMPTY:
            gone[code] = True
            continue
        number = plain_number(text)
        if kind == "truth":
            number = float(text.strip().lower() in ("true", "1"))
        # Names that no row has may be among the known ones: levels of a factor.
        faults[code] = number is None
        values[code] = 0.0 if number is None else number
    rows = np.flatnonzero(faults[texts.codes])
    if rows.size:
        row = int(rows[0])
        raise not_a_number(location.row(row), field, texts.known[texts.codes[row]])
    values = values != 0 if kind == "truth" else values
    return Column(values[texts.codes], gone[texts.codes] if gone.any() else None)
