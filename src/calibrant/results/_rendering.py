"""Values and tables as text, JSON values or a frame."""

from __future__ import annotations

import importlib
import importlib.util
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from calibrant._core.errors import InputError, MissingExtra, one_of

Columns = Mapping[str, Sequence[Any]]
_BACKENDS = ("pandas", "polars", "pyarrow")
# Names of columns of p-values, and the smallest p-value that is printed as a number.
_P_VALUES = re.compile(r"p_(?:value|change|(?:(?:agreement|calibration)(?:_corrected)?)|corrected)")
LEAST_P = 1e-12


class Evidence(float):
    """An e-value, which people read in one notation: 0.33, 18, 7.9e9."""

    def __str__(self) -> str:
        if not abs(self) >= 1000.0 or math.isinf(self):
            return "" if math.isnan(self) else f"{float(self):.3g}"
        digits, _, power = f"{float(self):.1e}".partition("e")
        return f"{digits}e{int(power)}"


def shown(value: Any) -> str:
    """A value as the text that people read.

    Numbers have four decimal places; below 0.01 they have three significant digits, from 100 on up
    to ten. Booleans are yes or no. A missing value (None, NaN) is an empty text.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Evidence):
        return str(value)
    if isinstance(value, float):
        if 0 < abs(value) < 0.01:  # small errors keep their digits: 0.000412, 3.1e-07
            return f"{value:.3g}"
        return f"{value:.4f}" if abs(value) < 100 else f"{value:.10g}"
    return str(value)


def shown_p(value: float, *, corrected: bool = False) -> str:
    """A p-value as text. Below 1e-12 its digits mean nothing: tails are fitted to draws.

    One that is `corrected` for the number of tests is a multiple; its digits end at 1e-9.
    """
    least = LEAST_P * 1000 if corrected else LEAST_P
    return f"<{least:g}" if value <= least else shown(value)


def p_words(value: float, digits: int | None = None) -> str:
    """A p-value in a sentence: p = 0.03, p < 1e-12; with as many significant digits, if given."""
    if value <= LEAST_P:
        return f"p < {LEAST_P:g}"
    return f"p = {shown(value) if digits is None else f'{value:.{digits}g}'}"


def shown_in(column: str, value: Any) -> str:
    """A value as text in the column of this name, which may have p-values."""
    if isinstance(value, float) and _P_VALUES.fullmatch(column):
        return shown_p(value, corrected=column.endswith("corrected"))
    return shown(value)


def distinct_numbers(
    values: Sequence[float], beside: Sequence[float] = (), places: int = 4
) -> list[str]:
    """The numbers of a sentence as texts that differ wherever the numbers differ.

    They also differ from the numbers `beside`, which the sentence prints with all digits
    (`in_full`), so that a reader sees on which side of a limit a value lies. There are `places`
    decimal places, or more if necessary; numbers below 0.01 get more digits only if that is not
    enough.
    """
    for more in range(15):
        for small in sorted({0, more}):
            texts = [_rounded(v, small if abs(v) < 0.01 else more, places) for v in values]
            pairs = [*zip(values, map(float, texts), strict=True), *((b, b) for b in beside)]
            if all(x < y for a, x in pairs for b, y in pairs if _is_below(a, b)):
                return texts
    return [in_full(value) for value in values]


def marked_numbers(values: Sequence[float], marked: Sequence[bool]) -> list[str]:
    """The numbers of a column as texts, in which no marked number prints like an unmarked one.

    `marked` says which numbers are marked (bold); digits are added until they differ.
    """
    texts = [shown(value) for value in values]
    for more in range(1, 12):
        cells = list(zip(texts, values, marked, strict=True))
        ours = {(text, value) for text, value, is_marked in cells if is_marked}
        others = [(text, value) for text, value, is_marked in cells if text and not is_marked]
        if not any(t == text and v != value for t, v in ours for text, value in others):
            break
        texts = ["" if v != v else _rounded(v, more, 4) for v in values]
    return texts


def _is_below(a: float, b: float) -> bool:
    """Whether `a` is below `b` by more than rounding errors."""
    return a < b - 1e-13 * max(abs(a), abs(b))


def with_ties_exact(value: float, others: Sequence[float]) -> list[float]:
    """A value followed by the others, where those equal up to rounding become exactly equal.

    Rounding is a relative difference of at most 1e-6 from `value`.
    """
    near = [value if abs(each - value) <= 1e-6 * abs(value) else each for each in others]
    return [value, *near]


def in_full(value: float) -> str:
    """A number as text with all its digits: 0.05, 5, 1e-06."""
    return repr(float(value)).removesuffix(".0")


def _rounded(value: float, more: int, places: int) -> str:
    """A number as text with `more` digits than usual; `places` decimal places are usual.

    Numbers below 0.01 usually have three significant digits, those from 100 on ten. Zero and
    numbers that are not finite are printed with all digits.
    """
    if value == 0 or not math.isfinite(value):
        return in_full(value)
    if abs(value) < 0.01:
        return f"{value:.{3 + more}g}"
    return f"{value:.{places + more}f}" if abs(value) < 100 else f"{value:.{10 + more}g}"


def percent(level: float) -> str:
    """A confidence level as a percentage: 95%, 99.975%."""
    return f"{100 * level:.6g}%"


def range_text(low: float, high: float) -> str:
    """Both limits of an interval as text: 0.0100 to 0.0400."""
    return f"{shown(low)} to {shown(high)}"


def interval_text(low: float, high: float, level: float) -> str:
    """A confidence interval as text: 95% CI 0.0100 to 0.0400."""
    return f"{percent(level)} CI {range_text(low, high)}"


def shortened(name: str, most: int = 60) -> str:
    """Cut a name for a sentence at `most` letters, with an ellipsis."""
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def as_markdown(columns: Columns) -> str:
    """A Markdown table of columns, numbers to the right; texts are escaped."""
    right = [any(isinstance(v, int | float) for v in values) for values in columns.values()]
    lines = [
        "| " + " | ".join(map(markdown_text, columns)) + " |",
        "|" + "".join("---:|" if numeric else "---|" for numeric in right),
    ]
    for row in zip(*columns.values(), strict=True):
        lines.append("| " + " | ".join(map(_markdown_cell, columns, row)) + " |")
    return "\n".join(lines)


# Characters that begin or end markup in a cell: code, emphasis, a link, HTML, the next cell. An
# underscore does so only at the edge of a word; inside names of measures it is harmless.
_MARKDOWN = re.compile(r"([\\`*\[\]<>|]|(?<![^\W_])_|_(?![^\W_]))")


def _markdown_cell(column: str, value: Any) -> str:
    """A value as a cell of a Markdown table: a text escaped, another value as `shown_in`."""
    return markdown_text(value) if isinstance(value, str) else shown_in(column, value)


def markdown_text(text: str) -> str:
    """Escape a text for Markdown, and put it on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


# The smallest exponent of a scale: the reciprocal of a smaller power of ten may overflow.
SMALLEST = -300


def scale_of(values: Sequence[float], below: float = 1e-3) -> int:
    """The exponent of the power of ten as multiples of which small numbers are printed.

    It is a multiple of 3 (-6 if the largest number is from 1e-6 to 1e-3), and 0 if the largest
    number is not below `below`.
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    exponent = 3 * math.floor(math.log10(largest) / 3) if 0 < largest < below else 0
    return max(exponent, SMALLEST)  # so that the power stays finite


def scaled_columns(columns: Columns) -> dict[str, list[Any]]:
    """The columns of a table, with small numbers as multiples of a power of ten.

    The name of such a column then includes the power, as in "brier (1e-6)". Columns that are not
    all floats are unchanged.
    """
    out: dict[str, list[Any]] = {}
    for name, values in columns.items():
        numbers = [value for value in values if isinstance(value, float)]
        exponent = scale_of(numbers) if len(numbers) == len(values) else 0
        if not exponent:
            out[name] = list(values)
            continue
        out[f"{name} (1e{exponent})"] = [float(f"{v * 10.0**-exponent:.4g}") for v in values]
    return out


def as_records(columns: Columns) -> list[dict[str, Any]]:
    """The rows of a table, each a dict of column name to value."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def as_frame(columns: Columns, backend: str | None = None) -> Any:
    """The columns as a frame of `backend`: pandas, polars or pyarrow; None takes one installed."""
    if backend is None:
        installed = [name for name in _BACKENDS if importlib.util.find_spec(name) is not None]
        if not installed:
            raise MissingExtra("pandas", "formats", "to_frame()")
        backend = installed[0]
    one_of("backend", backend, _BACKENDS)
    try:
        library = importlib.import_module(backend)
    except ImportError:
        raise InputError(f"backend={backend!r} is not installed: pip install {backend}") from None
    data = {name: list(values) for name, values in columns.items()}
    if backend == "pyarrow":
        return library.table(data)
    return library.DataFrame(data)


def json_value(value: Any) -> Any:
    """Convert a value to what JSON can hold.

    Results become what `to_dict` gives, dataclasses their fields, arrays lists, times ISO texts.
    NaN and infinity become null.
    """
    if isinstance(value, list | tuple):
        kinds = set(map(type, value))
        if kinds == {float}:  # most of a report: a call for each number would take twice the time
            return [number if math.isfinite(number) else None for number in value]
        return list(value) if kinds <= {int, str} else [json_value(item) for item in value]
    if hasattr(value, "_content"):  # a result, without the header of its own JSON
        return value._content()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if is_dataclass(value):
        return {each.name: json_value(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return json_value(value.tolist())
    return value.isoformat() if hasattr(value, "isoformat") else value
