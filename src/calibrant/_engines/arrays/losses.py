"""Loss sums of samples, in blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def loss_sums(
    samples: Samples, *, distribution: bool = False, only: str | None = None
) -> tuple[LossSums, Findings]:
    """Sums of the proper losses; of the distances between distributions too, on request.

    Where `only` one loss is asked for the others may be NaN, which is faster.
    """
    if samples.multiclass and not distribution:
        total = matrix_sums(samples, losses=True)
        assert total.losses is not None
        return LossSums(total.losses, samples.n_classes), total.findings
    fields = tuple(range(N_PROPER)) if only is None else (FIELDS.index(only),)
    parts = in_lanes(
        samples.n,
        samples.n_classes,
        _block_rows(samples, distribution),
        lambda spans: _lane(samples, spans, fields, distribution),
    )
    sums, findings = parts[0]
    for more, more_findings in parts[1:]:
        sums, findings = sums + more, findings + more_findings
    if not samples.multiclass:
        sums[[j for j in range(2, N_PROPER) if j not in fields]] = np.nan
    return LossSums(sums, samples.n_classes, distribution), findings


def _block_rows(samples: Samples, distribution: bool) -> int:
    if samples.multiclass:
        return row_block(samples.n_classes)
    # The compiled kernel needs no blocks where nothing must be converted.
    whole_lanes = kernels().name == "native" and samples.is_plain and not distribution
    return max(1, samples.n) if whole_lanes else BLOCK_ENTRIES


def _lane(
    samples: Samples, spans: list[Span], fields: tuple[int, ...], distribution: bool
) -> tuple[NDArray[np.float64], Findings]:
    sums, status = np.zeros(len(FIELDS)), new_status()
    for start, stop in spans:
        block = samples.block(start, stop)
        p, q, w = block.predictions, block.targets, block.weights
        part = np.zeros(len(FIELDS))
        if samples.multiclass:
            u, z = np.empty(stop - start), np.empty(stop - start)
            kernels().add_rows(
                p, q, w, u, z, None, part, NO_CUTS,
                False, samples.row_sum_tolerance, samples.label_sum_tolerance, status,
            )  # fmt: skip
        else:
            kernels().add_losses(part, p, q, w, fields, status)
        raise_bad(status, start)
        if distribution and samples.multiclass:
            _add_distribution(part, p, q, w)
        elif distribution:
            _add_distribution(part, two_columns(p), two_columns(q), w)
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
