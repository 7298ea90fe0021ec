"""Loss sums of samples, in blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._core.bin_tables import FIELDS as BIN_FIELDS
from calibrant._core.distances import entropy, same_ranking, total_variation
from calibrant._core.loss_sums import FIELDS, N_PROPER, LossSums
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import (
    NO_CUTS,
    Span,
    in_lanes,
    matrix_sums,
    raise_bad,
    row_block,
)
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import BLOCK_ENTRIES, Findings, new_status


def loss_sums(samples: Samples, *, distribution: bool = False) -> tuple[LossSums, Findings]:
    """Sums of the proper losses; of the distances between distributions too, on request."""
    if samples.multiclass and not distribution:
        total = matrix_sums(samples, losses=True)
        assert total.losses is not None
        return LossSums(total.losses, samples.n_classes), total.findings
    parts = in_lanes(
        samples.n,
        samples.n_classes,
        row_block(samples.n_classes) if samples.multiclass else BLOCK_ENTRIES,
        lambda spans: _lane(samples, spans, distribution),
    )
    sums, findings = parts[0]
    for more, more_findings in parts[1:]:
        sums, findings = sums + more, findings + more_findings
    return LossSums(sums, samples.n_classes, distribution), findings


def _lane(
    samples: Samples, spans: list[Span], distribution: bool
) -> tuple[NDArray[np.float64], Findings]:
    engine = kernels()
    sums, status = np.zeros(len(FIELDS)), new_status()
    for start, stop in spans:
        block = samples.block(start, stop)
        p, q = block.predictions, block.targets
        if not samples.multiclass:
            # The kernel for rows assumes rows: check the scalars first.
            scratch = np.zeros((1, len(BIN_FIELDS)))
            engine.add_scalar(scratch, p, q, block.weights, NO_CUTS, False, status)
            raise_bad(status, start)
            p, q = two_columns(p), two_columns(q)
        part = np.zeros(len(FIELDS))
        u, z = np.empty(stop - start), np.empty(stop - start)
        engine.add_rows(
            p, q, block.weights, u, z, None, part, NO_CUTS,
            False, samples.row_sum_tolerance, samples.label_sum_tolerance, status,
        )  # fmt: skip
        raise_bad(status, start)
        if not samples.multiclass:
            part[FIELDS.index("brier")] /= 2  # one class's square, not both
        if distribution:
            _add_distribution(part, p, q, block.weights)
        sums += part
    return sums, Findings.from_status(status)


def two_columns(class_one: NDArray[np.generic]) -> NDArray[np.float64]:
    """The probability of class 1 as a row of two classes."""
    one = np.clip(class_one.astype(np.float64), 0.0, 1.0)
    return np.stack([1.0 - one, one], axis=1)


def _add_distribution(
    sums: NDArray[np.float64],
    p: NDArray[np.float64],
    q: NDArray[np.generic],
    weights: NDArray[np.float64] | None,
) -> None:
    p = np.clip(p.astype(np.float64), 0.0, 1.0)
    if q.ndim == 1:
        rows = np.zeros(p.shape)
        rows[np.arange(len(p)), q.astype(np.int64)] = 1.0
    else:
        rows = np.clip(q.astype(np.float64), 0.0, 1.0)
    w = np.ones(len(p)) if weights is None else weights
    difference = entropy(p) - entropy(rows)
    values = (total_variation(p, rows), np.abs(difference), difference, same_ranking(p, rows))
    for j, value in enumerate(values, start=N_PROPER):
        sums[j] += w @ value
