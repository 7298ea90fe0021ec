"""Sums per cell for vector predictions, in a frame's engine: the cell is which coordinate is
largest, and the bin of that coordinate.
"""

from __future__ import annotations

from dataclasses import replace

import narwhals as nw
import numpy as np

from calibrant._core.bin_tables import VectorTable
from calibrant._core.binning import Cuts, FixedRule, LevelSets, Quantile, Rule, fixed_cuts
from calibrant._core.errors import InputError
from calibrant._core.typing import Array
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.frames.collecting import collected
from calibrant._engines.frames.columns import has_weights
from calibrant._engines.frames.expressions import (
    Frame,
    clipped,
    col,
    exact,
    first_to_reach,
    largest,
    total,
)
from calibrant._engines.frames.keys import steps_of
from calibrant._engines.frames.losses import class_rows
from calibrant._engines.frames.problem import clean
from calibrant._engines.frames.query import check_samples
from calibrant._engines.frames.tables import bin_table, check_ranks, refuse_cells
from calibrant._engines.protocol import Findings


def vector_table(
    samples: FrameSamples, rule: Rule, phi: Array | None = None
) -> tuple[VectorTable, Findings]:
    """Sums by cell of vector predictions, for a linear property of the label, and the findings.

    `phi` (k, d) has the property's value for each class; None means the label itself, as a vector
    with a 1 for its class. A cell is which coordinate is largest and the bin of that coordinate.
    """
    if isinstance(rule, LevelSets):
        raise InputError(
            "a cell for every distinct vector of predictions would bring all rows into memory: "
            "use Quantile(m) or a number of bins, or collect the frame first"
        )
    refuse_cells(rule)
    if isinstance(rule, Quantile):
        check_ranks(rule)
    d = samples.n_classes if phi is None else phi.shape[1]
    frame = _with_vectors(samples, phi)
    cuts, steps = _cuts(samples, frame, rule, phi)
    findings = check_samples(samples)
    residuals = [f"d{j}" for j in range(d)]
    frame = frame.select("top", "u", "w", *residuals, key=steps)
    ends = [col("u").min().alias("low"), col("u").max().alias("high")]
    sums = [col(name).sum() for name in ("w", *residuals)]
    groups = collected(frame.group_by("top", "key").agg(*sums, *ends)).sort("top", "key")
    at = cuts.find(groups["low"].to_numpy())
    index = groups["top"].to_numpy().astype(np.intp) * cuts.m + at
    table = VectorTable(np.zeros(d * cuts.m), np.zeros((d * cuts.m, d)))
    np.add.at(table.sum_w, index, groups["w"].to_numpy())
    np.add.at(table.residual, index, groups.select(*residuals).to_numpy())
    if rule.drops_one:
        table.residual[cuts.m - 1 :: cuts.m] = 0.0  # in no bin, but of the weight
    return table, findings


def _with_vectors(samples: FrameSamples, phi: Array | None) -> Frame:
    """The valid rows with the columns `top` (the index of the largest coordinate of the vector
    prediction), `u` (its value), `w` (the weight) and `d0`, `d1`, ... (w times prediction less
    target in each coordinate).

    Coordinates are compared, and `u` is expressed, on the scale from 0 to 1 of their range over the
    classes in `phi`.
    """
    frame = clean(samples).filter(col("ok"))
    p, q = class_rows(samples)
    weight = col("w") if has_weights(samples) else nw.lit(1.0)
    if phi is None:
        vectors, targets = p, q
        low, span = np.zeros(len(p)), np.ones(len(p))
    else:
        means = {
            f"{kind}{j}": _mean(part, values)
            for kind, part in (("mean", p), ("target", q))
            for j, values in enumerate(phi.T)
        }
        frame = frame.with_columns(**means)
        vectors, targets = (
            [col(f"{kind}{j}") for j in range(phi.shape[1])] for kind in ("mean", "target")
        )
        low = phi.min(axis=0)
        span = phi.max(axis=0) - low
        span = np.where(span > 0, span, 1.0)
    units = {
        f"v{j}": v if phi is None else (v - exact(low[j])) / exact(span[j])
        for j, v in enumerate(vectors)
    }
    residuals = {
        f"d{j}": weight * (v - t) for j, (v, t) in enumerate(zip(vectors, targets, strict=True))
    }
    frame = frame.select(w=weight, **units, **residuals)
    frame = frame.with_columns(u=largest(list(units)))
    return frame.with_columns(top=first_to_reach(col("u"), list(units)), u=clipped(col("u")))


def _mean(probabilities: list[object], values: Array) -> object:
    """The expected value of one coordinate, as an expression: the sum over classes of probability
    times the class's value.
    """
    return total([p * exact(value) for p, value in zip(probabilities, values, strict=True)])


def _cuts(
    samples: FrameSamples, frame: Frame, rule: Rule, phi: Array | None
) -> tuple[Cuts, object]:
    """The cuts between the bins of the largest coordinate, and an expression that numbers these
    bins.
    """
    precision = samples.precision if phi is None else np.dtype(np.float64)
    if not isinstance(rule, Quantile):
        assert isinstance(rule, FixedRule)
        cuts = fixed_cuts(rule, precision)
    elif phi is None:
        cuts = bin_table(samples, "confidence", rule)[1]
    else:
        check_samples(samples)  # first, for below are only the rows that can be measured
        without_targets = frame.select("u", "w", z=nw.lit(0.0))
        binary = samples.as_binary(without_targets, weighted=True, hard=True)
        scalar = replace(binary, rounded_to="float64")
        cuts = bin_table(scalar, "binary", rule)[1]
    steps = steps_of(col("u"), cuts, precision)
    return cuts, nw.lit(0.0) if steps is None else steps
