"""Bins of equal mass in every class, on a CUDA device, without a sort. The memory that this takes
beyond the input is two numbers a row.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors import fused
from calibrant._engines.tensors.class_bins import MOST_BINS, NOTHING, Entries


def fits(samples: TensorSamples, m: int) -> bool:
    """Whether the kernels can read these."""
    short = samples.n_classes <= fused.LONGEST_IN_REGISTERS and samples.n <= fused.ROWS
    return m <= MOST_BINS and short and fused.fits(samples, None)


def class_quantiles(
    samples: TensorSamples, m: int, above: float | None = None, *, squares: bool = True
) -> tuple[Array, Findings]:
    """Sums (classes, m, fields) of each class in m bins of equal mass; only of the entries above a
    number, if one is given.
    """
    top, share, findings = fused.norms(samples)
    low = NOTHING if above is None else bits_of(above)
    x, y = samples.predictions, samples.targets.long()
    entries = Entries(x, y, samples.from_logits, top, share, low)
    found: Array = entries.in_equal_mass(m, squares=squares).cpu().numpy()
    return found, findings


def bits_of(number: float) -> int:
    """The bits of the largest single number at or below one of [0, 1]."""
    single = np.float32(number)
    if float(single) > number:
        single = np.nextafter(single, np.float32(0))
    return int(single.view(np.int32))
