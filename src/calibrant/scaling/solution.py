"""What a fit hands back, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.scaling.reports import FloatArray

Learned = float | FloatArray | tuple[FloatArray, ...]


@dataclass(frozen=True)
class Solution:
    """What a fit found: fitted attributes by name, and what the user should be warned of."""

    learned: dict[str, Learned]
    cautions: tuple[str, ...] = ()
    n_iter: int = 0


def about_absent(names: list[str]) -> list[str]:
    """The warning for classes without a target, if there are any."""
    if not names:
        return []
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return [
        f"no target of class {shown} was in the fit, so that its probability is driven towards 0: "
        "fit on rows of every class, or use TemperatureScaling"
    ]


def short(value: Learned) -> str:
    """A fitted attribute for a line of text."""
    if isinstance(value, tuple):
        return f"{len(value)} x {value[0].size}" if len(value) == 1 else f"{len(value)} arrays"
    array = np.asarray(value)
    if array.size > 12:
        return f"array of {' x '.join(str(size) for size in array.shape)}"
    return np.array2string(array, precision=4, separator=", ").replace("\n", "")
