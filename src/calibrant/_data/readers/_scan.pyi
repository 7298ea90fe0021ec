import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Gaps = NDArray[np.bool_]

def decimal(text: bytes) -> float | None: ...
def count_lines(text: bytes) -> int: ...
def json_lines(
    text: bytes,
    start: int,
    most: int,
    tree: list[tuple[bytes, int, int, int, int]],
    widths: list[int],
) -> tuple[int, int, list[tuple[Numbers, Gaps, int]]] | None: ...
def csv_rows(
    text: bytes, delimiter: str, slots: NDArray[np.int32], n_wanted: int
) -> tuple[int, list[tuple[Numbers, Gaps | None]]] | None: ...
def last_row_end(text: bytes, delimiter: str, first: bool = False) -> tuple[int, bool]: ...
