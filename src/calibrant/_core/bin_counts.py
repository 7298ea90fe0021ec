"""Numbers of bins that follow from the number of rows, by name: ``bins="cbrt"``, ``bins="auto"``.

The error of a binned estimate has two parts: too few bins hide gaps that cancel within a bin, too
many leave each with so few rows that chance alone makes gaps. Bins in the order of the cube root of
the rows balance the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from calibrant._core.errors import InputError

# A number of rows, or a function that counts them where that takes a pass over all of them.
RowCount: TypeAlias = int | Callable[[], int]

# Fewer bins than this hide most of a curve; more are not read by anyone.
AUTO_LEAST, AUTO_MOST = 5, 100


def cube_root_bins(n: int) -> int:
    """The cube root of the number of rows, rounded up; exact for every n."""
    root = max(1, round(math.cbrt(n)))
    while root**3 < n:
        root += 1
    while root > 1 and (root - 1) ** 3 >= n:
        root -= 1
    return root


def auto_bins(n: int) -> int:
    """The cube root of the number of rows, rounded up, but at least 5 and at most 100."""
    return min(AUTO_MOST, max(AUTO_LEAST, cube_root_bins(n)))


BY_ROWS: dict[str, Callable[[int], int]] = {"cbrt": cube_root_bins, "auto": auto_bins}
_WORDS = {
    "cbrt": "cube root of",
    "auto": f"cube root, {AUTO_LEAST} to {AUTO_MOST}, of",
}


def is_by_rows(bins: object) -> bool:
    """Whether `bins` is "cbrt" or "auto", a name for a number of bins that follows from the number
    of rows.
    """
    return isinstance(bins, str) and bins in BY_ROWS


def bins_by_rows(name: str, n: RowCount | None) -> tuple[int, str]:
    """The number of bins that `name` ("cbrt" or "auto") stands for with n rows, and its origin in
    words ("cube root of 1,000 rows"). Raise InputError if n is None, because rows are not counted
    yet.
    """
    if n is None:
        raise InputError(
            f"bins={name!r} follows from the number of rows, which is unknown until all rows are "
            "read: give a number of bins"
        )
    rows = n() if callable(n) else n
    return BY_ROWS[name](rows), f"{_WORDS[name]} {rows:,} rows"
