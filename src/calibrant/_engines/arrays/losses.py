"""Loss sums of samples, in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._core.distances import distances
from calibrant._core.loss_sums import FIELDS, N_PROPER, LossSums
from calibrant._core.typing import Array
from calibrant._data.links import LOG_FLOOR
from calibrant._data.samples import Samples
from calibrant._engines.arrays.numpy_kernels import one_hot
from calibrant._engines.arrays.passes import (
    Span,
    matrix_sums,
    raise_bad,
    sum_over_lanes,
    top_label_block,
    usual_block,
)
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import Findings, new_status


def loss_sums(
    samples: Samples,
    *,
    distribution: bool = False,
    only: str | None = None,
    spacing: Array | None = None,
    fields: tuple[int, ...] | None = None,
) -> tuple[LossSums, Findings]:
    """Sums of the proper losses, with `distribution` also of the distances between predicted and
    target distributions, and the findings.

    If `only` one loss is named the sums of others may be NaN, which is faster; so may those of
    proper losses that are not among `fields`, their positions, if these are given. `spacing` is the
    distance between neighbouring classes, 1 by default.
    """
    if samples.multiclass and not distribution:
        total = matrix_sums(samples, losses=True)
        assert total.losses is not None
        return LossSums(total.losses, samples.n_classes), total.findings
    wanted = LossRequest(distribution, only, spacing, fields)
    sums, findings = sum_over_lanes(
        samples,
        lambda spans: _lane_sums(samples, spans, wanted),
        block_rows=_block_rows(samples, distribution),
        entries_per_row=samples.n_classes,
    )
    sums[wanted.positions_left_out(samples.multiclass)] = np.nan
    return LossSums(sums, samples.n_classes, distribution), findings


@dataclass(frozen=True, eq=False)
class LossRequest:
    """Which losses to sum: all proper ones, with `distribution` also the distances between
    distributions; or `only` the one named. `spacing` is the distance between neighbouring classes
    (None: 1). `fields` are the positions of the proper losses to sum (None: all).
    """

    distribution: bool
    only: str | None
    spacing: Array | None
    fields: tuple[int, ...] | None = None

    @property
    def proper(self) -> tuple[int, ...]:
        """The proper losses to sum, as positions in FIELDS. If only a distance is wanted, it is the
        log loss, whose pass also counts the predictions raised to the floor of logarithms. Position
        0 asks that these are counted although the log loss is not among the `fields`.
        """
        if self.only is None:
            return tuple(range(N_PROPER)) if self.fields is None else (0, *self.fields)
        loss = FIELDS.index(self.only)
        return (loss if loss < N_PROPER else FIELDS.index("log"),)

    def positions_left_out(self, multiclass: bool) -> list[int]:
        """The positions in FIELDS of losses that are not summed and become NaN. For (n, k)
        predictions (`multiclass`) every proper loss is summed anyway.
        """
        if self.only is None and (self.fields is None or multiclass):
            return []
        if self.only is None:
            return [j for j in range(2, N_PROPER) if j not in (self.fields or ())]
        kept = {0, 1, FIELDS.index(self.only), *(range(N_PROPER) if multiclass else ())}
        last = len(FIELDS) if self.distribution else N_PROPER
        return [j for j in range(2, last) if j not in kept]


def _block_rows(samples: Samples, distribution: bool) -> int:
    """The number of rows to sum at once: all of them if the compiled kernel makes its own blocks,
    else the usual block size.
    """
    # The compiled kernel needs no blocks where nothing must be converted.
    compiled = kernels().name == "native" and not samples.multiclass and not distribution
    return max(1, samples.n) if compiled and samples.is_plain else usual_block(samples)


def _lane_sums(samples: Samples, spans: list[Span], wanted: LossRequest) -> tuple[Array, Findings]:
    """The sums of the wanted losses over some blocks of rows, by position in FIELDS, and the
    findings. `spans` are (first row, end) of each block.
    """
    sums, status = np.zeros(len(FIELDS)), new_status()
    for start, stop in spans:
        part = np.zeros(len(FIELDS))
        if samples.multiclass:
            block, _, _ = top_label_block(samples, start, stop, status, losses=part)
            p, q, w = block.predictions, block.targets, block.weights
        else:
            block = samples.block(start, stop)
            p, q, w = block.predictions, block.targets, block.weights
            kernels().add_losses(part, p, q, w, wanted.proper, status)
            raise_bad(status, start)
        if wanted.distribution and samples.multiclass:
            _add_distances(part, p, q, w, wanted)
        elif wanted.distribution:
            _add_distances(part, two_columns(p), two_columns(q), w, wanted)
        sums += part
    return sums, Findings.from_status(status)


def two_columns(class_one: NDArray[np.generic]) -> Array:
    """Rows (1 - p, p) of both classes' probabilities, (n, 2), from the probabilities p of class
    1.
    """
    one = np.clip(class_one.astype(np.float64), 0.0, 1.0)
    return np.stack([1.0 - one, one], axis=1)


def _add_distances(
    sums: Array, p: Array, q: NDArray[np.generic], weights: Array | None, wanted: LossRequest
) -> None:
    """Add the distances between the predictions p (n, k) and the targets q (labels, or rows of
    probabilities) to their fields of `sums`.
    """
    p = np.clip(p.astype(np.float64), 0.0, 1.0)
    hard = q.ndim == 1
    rows = one_hot(q.astype(np.int64), p.shape[1]) if hard else np.clip(q.astype(np.float64), 0, 1)
    w = np.ones(len(p)) if weights is None else weights
    values = distances(p, rows, floor=LOG_FLOOR, only=wanted.only, spacing=wanted.spacing)
    for name, value in values.items():
        sums[FIELDS.index(name)] += w @ value
