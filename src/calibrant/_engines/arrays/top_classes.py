"""The top label's problem given its class: rows by the class that they predict, then by bin.

Calibration of the confidence given the predicted class (Gupta and Ramdas, 2021) asks of every class
alone what confidence calibration asks of all together.
"""

from __future__ import annotations

import numpy as np

from calibrant._core.bin_tables import FIELDS, BinTable
from calibrant._core.binning import Cuts, FixedRule, LevelSets, Quantile, Rule, fixed_cuts
from calibrant._core.typing import Array, Counts, Index
from calibrant._data.samples import Samples
from calibrant._engines.arrays.counting import has_row_bins, row_bins, without_dropped
from calibrant._engines.arrays.numpy_kernels import sums_by_index
from calibrant._engines.arrays.passes import (
    Span,
    in_lanes,
    row_block,
    sum_over_lanes,
    top_label_block,
)
from calibrant._engines.arrays.quantiles import quantile_cuts
from calibrant._engines.protocol import Findings, new_status


def top_class_table(samples: Samples, rule: Rule) -> tuple[BinTable, Findings]:
    """The table of the confidence problem with the rows of each predicted class as a class of the
    table, and the findings.

    All classes share the bins of the confidence. For level sets the table has one class, with a bin
    for each pair of predicted class and distinct confidence.
    """
    if isinstance(rule, LevelSets) or has_row_bins(rule):
        top, u, z, findings = top_classes(samples)
        w = None if samples.weights is None else samples.weights.astype(np.float64)
        if isinstance(rule, LevelSets):
            index, m = level_index(top, u)
            return BinTable(sums_by_index(index, m, u, z, w)[None]), findings
        bins, m = row_bins(samples, rule, u, w)
        sums = sums_by_index(top * m + bins, samples.n_classes * m, u, z, w)
        return BinTable(_split_by_class(sums, m)), findings
    if isinstance(rule, Quantile):
        cuts = quantile_cuts(samples, "confidence", rule.m)
    else:
        assert isinstance(rule, FixedRule)
        cuts = fixed_cuts(rule, samples.precision)
    sums, findings = top_class_sums(samples, cuts)
    return without_dropped(sums, rule, True), findings


def top_class_sums(samples: Samples, cuts: Cuts) -> tuple[Array, Findings]:
    """The bin sums of the rows of each predicted class, (classes, bins, fields), in bins of the
    confidence between the cuts, and the findings.
    """
    cells = samples.n_classes * cuts.m

    def work(spans: list[Span]) -> tuple[Array, Findings]:
        """The sums (classes times bins, fields) and the findings of some blocks of rows, each
        (first row, end).
        """
        out, status = np.zeros((cells, len(FIELDS))), new_status()
        for start, stop in spans:
            top, u, z, w = _top_block(samples, start, stop, status)
            out += sums_by_index(top * cuts.m + cuts.find(u), cells, u, z, w)
        return out, Findings.from_status(status)

    sums, findings = sum_over_lanes(samples, work, state_size=cells * len(FIELDS))
    return _split_by_class(sums, cuts.m), findings


def top_classes(
    samples: Samples, start: int = 0, stop: int | None = None
) -> tuple[Index, Array, Array, Findings]:
    """The predicted class of every row (or of the rows from `start` to `stop`), its probability,
    its target, and the findings.
    """
    n, k = (samples.n if stop is None else stop) - start, samples.n_classes
    top, u, z = np.empty(n, np.intp), np.empty(n), np.empty(n)

    def work(spans: list[Span]) -> Findings:
        """Write the classes, probabilities and targets of some blocks of rows to the result, and
        return the findings.
        """
        status = new_status()
        for i, j in spans:
            rows = slice(i, j)
            top[rows], u[rows], z[rows], _ = _top_block(samples, start + i, start + j, status)
        return Findings.from_status(status)

    return top, u, z, sum(in_lanes(n, k, row_block(k), work), Findings())


def level_index(top: Index, u: Array) -> tuple[Index, int]:
    """Number the distinct pairs of predicted class and confidence u: the number of each row's pair,
    (n,), and how many pairs there are.
    """
    pairs = np.stack([top.astype(np.float64), u], axis=1)
    distinct, index = np.unique(pairs, axis=0, return_inverse=True)
    return index.reshape(-1).astype(np.intp), len(distinct)


def _top_block(
    samples: Samples, start: int, stop: int, status: Counts
) -> tuple[Index, Array, Array, Array | None]:
    """The predicted class, its probability, its target and the weight (or None) of the rows from
    `start` to `stop`, all checked. `status` counts clipped values and other findings.
    """
    block, u, z = top_label_block(samples, start, stop, status)
    top = block.predictions.argmax(axis=1)  # the first of equals
    return top, np.clip(u, 0.0, 1.0), np.clip(z, 0.0, 1.0), block.weights


def _split_by_class(sums: Array, m: int) -> Array:
    """The same sums with classes and bins on two axes: (classes times m bins, fields) becomes
    (classes, bins, fields).
    """
    return sums.reshape(-1, m, len(FIELDS))
