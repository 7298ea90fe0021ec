"""What a fit hands back, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.scaling._predictions import FloatArray

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


def about_ruled_out(n: int, part: float) -> list[str]:
    """The warning for predictions of exactly 0 or 1 that turned out wrong, if they weigh
    anything.
    """
    if part < 0.01:
        return []
    rows = "1 row" if n == 1 else f"{n:,} rows"
    return [
        f"{rows} had a prediction of 0 for what happened. Its logarithm is taken at 1e-12, which "
        f"makes "
        f"{part:.0%} of the loss, and bends the map for all rows. If the predictions were "
        f"rounded, fit "
        "to unrounded ones or to logits; IsotonicCalibration and HistogramBinning are not misled"
    ]


def short(value: Learned) -> str:
    """A fitted attribute for a line of text."""
    if isinstance(value, tuple):
        return f"{len(value)} x {value[0].size}" if len(value) == 1 else f"{len(value)} arrays"
    array = np.asarray(value)
    if array.size > 12:
        return f"array of {' x '.join(str(size) for size in array.shape)}"
    return np.array2string(array, precision=4, separator=", ").replace("\n", "")
