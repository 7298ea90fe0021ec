"""What other tools report as "ECE" for the same predictions and targets.

Each function follows one tool's rule for a scalar problem: predictions in [0, 1] (a probability of
the positive class, or a top-label confidence) compared with targets. The definition they are
compared with is the weighted mean gap over equal-width bins ``[(j-1)/m, j/m)``, the last one closed
at 1, in double precision. The tools differ from it, and from each other, in five ways only: where
the edges are, which side of a bin is closed, what happens to a prediction of exactly 1, the
precision of the sums, and how the gaps of the bins are averaged.

Every function but torchmetrics' gives the tool's answer for double-precision arrays. Several tools
answer differently for a single-precision array with the same values on bin edges.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._core.typing import Array, Index

Precision = type[np.float32] | type[np.float64]


class _BinSums(NamedTuple):
    """The number of rows of each bin, and the sums of their predictions and of their targets."""

    counts: Array
    predictions: Array
    targets: Array

    @property
    def gaps(self) -> Array:
        """The absolute difference |sum of predictions - sum of targets| of each bin: its mean gap
        times its number of rows.
        """
        return np.abs(self.predictions - self.targets)


def _bin_sums(
    bin_of_row: Index,
    n_bins: int,
    predictions: Array,
    targets: Array,
    precision: Precision = np.float64,
) -> _BinSums:
    """The sums of rows over their bins, added row by row and rounded to `precision` each time."""

    def summed(values: Array) -> Array:
        """The sums of values over the bins, (bins,)."""
        if precision is np.float64:
            return np.asarray(np.bincount(bin_of_row, values, n_bins), dtype=np.float64)
        # bincount always sums in double precision, and a tool that sums in single precision stops
        # counting at 2**24 rows in a bin.
        sums = np.zeros(n_bins, dtype=precision)
        np.add.at(sums, bin_of_row, values.astype(precision))
        return sums.astype(np.float64)

    return _BinSums(summed(np.ones_like(predictions)), summed(predictions), summed(targets))


def _sums_between(
    inner_edges: Array,
    closed: Literal["left", "right"],
    predictions: Array,
    targets: Array,
    precision: Precision = np.float64,
) -> _BinSums:
    """The sums of rows over the k + 1 bins between k inner edges; the first and last bin are
    unbounded.

    `closed` is the side of a bin whose edge belongs to it.
    """
    side: Literal["left", "right"] = "right" if closed == "left" else "left"
    bin_of_row = np.searchsorted(inner_edges, predictions, side=side)
    return _bin_sums(bin_of_row, inner_edges.size + 1, predictions, targets, precision)


def _ratio_edges(n_bins: int) -> Array:
    """Inner edges j/m of m equal bins, each the double nearest to the fraction: 3/10 is 0.3."""
    return np.arange(1, n_bins) / n_bins


def _product_edges(n_bins: int) -> Array:
    """Inner edges j * (1/m) as `numpy.linspace` rounds them: 3 * 0.1 is 0.30000000000000004."""
    return np.linspace(0.0, 1.0, n_bins + 1)[1:-1]


def _torch_edges(n_bins: int, precision: Precision) -> Array:
    """Inner edges of m bins, followed by 1, as `torch.linspace` rounds them on the CPU.

    It steps up from 0 to the middle and down from 1 above it. Going down, the multiplication and
    the subtraction are fused (one rounding, which exact fractions reproduce); torch built without
    fused operations may differ in the last bit of an edge.
    """
    step = precision(1) / precision(n_bins)
    going_up = [precision(j) * step for j in range(1, (n_bins + 1) // 2)]
    going_down = [
        precision(float(1 - (n_bins - j) * Fraction(float(step))))
        for j in range(max(1, (n_bins + 1) // 2), n_bins + 1)
    ]
    return np.array([*going_up, *going_down], dtype=np.float64)


def _equal_mass_edges(predictions: Array, n_bins: int) -> Array:
    """Inner edges of bins with nearly equal numbers of rows: midpoints between neighbouring runs of
    sorted predictions.

    Two edges may be equal; no row lies between them.
    """
    parts = np.array_split(np.sort(predictions), min(n_bins, predictions.size))
    midpoints = [(below[-1] + above[0]) / 2.0 for below, above in pairwise(parts)]
    return np.array(midpoints, dtype=np.float64)


def torchmetrics_ece(
    predictions: Array, targets: Array, n_bins: int, *, precision: Precision = np.float32
) -> float:
    """`BinaryCalibrationError` or `MulticlassCalibrationError` with norm "l1".

    The multiclass metric always works in single precision, the binary one in its tensor's: single
    unless the tensor was made from a double-precision array.
    """
    rounded = predictions.astype(precision).astype(np.float64)
    sums = _sums_between(_torch_edges(n_bins, precision), "left", rounded, targets, precision)
    # The tool divides by the sum of its bins' counts, which is below n once a count has saturated.
    return float(sums.gaps.sum() / sums.counts.sum())


def scikit_learn_gap(predictions: Array, targets: Array, n_bins: int) -> float:
    """The mean of |prob_true - prob_pred| over the bins that `calibration_curve` of scikit-learn
    returns (uniform strategy).
    """
    sums = _sums_between(_product_edges(n_bins), "right", predictions, targets)
    occupied = sums.counts > 0
    return float(np.mean(sums.gaps[occupied] / sums.counts[occupied]))


def netcal_ece(predictions: Array, targets: Array, n_bins: int) -> float:
    """`ECE(bins).measure` of netcal, for one column of predictions or the rows of a multiclass
    problem.
    """
    if np.unique(targets).size > 2:
        # More than two distinct targets are taken for class indices, and one column of predictions
        # for rows that all predict class 0: a row is "right" where its target is exactly 0.
        targets = (targets == 0.0).astype(np.float64)
    sums = _sums_between(_product_edges(n_bins), "left", predictions, targets)
    return float(sums.gaps.sum() / predictions.size)


def relplot_ece(predictions: Array, targets: Array, n_bins: int) -> float:
    """`binnedECE` of relplot: the bin of a prediction is the whole part of prediction / (1 / m)."""
    width = 1.0 / n_bins
    bin_of_row = (predictions / width).astype(np.intp)
    sums = _bin_sums(bin_of_row, int(1.0 / width) + 1, predictions, targets)
    return float(sums.gaps.sum() / predictions.size)


def uncertainty_calibration_ece(predictions: Array, targets: Array, n_bins: int) -> float:
    """`get_ece` of uncertainty-calibration: ECE in equal-width bins."""
    sums = _sums_between(_ratio_edges(n_bins), "right", predictions, targets)
    return float(sums.gaps.sum() / predictions.size)


def uncertainty_calibration_equal_mass_ece(
    predictions: Array, targets: Array, n_bins: int
) -> float:
    """`get_ece_em` of uncertainty-calibration: ECE in bins of nearly equal numbers of rows, equal
    predictions together.
    """
    sums = _sums_between(_equal_mass_edges(predictions, n_bins), "right", predictions, targets)
    return float(sums.gaps.sum() / predictions.size)


def uncertainty_calibration_debiased_l2(predictions: Array, targets: Array, n_bins: int) -> float:
    """`get_calibration_error` of uncertainty-calibration: the debiased root mean square gap of
    Kumar et al. (2019).
    """
    bins = None if _seems_binned(predictions) else n_bins
    return float(np.sqrt(_debiased_square(predictions, targets, bins)))


def uncertainty_calibration_marginal(rows: Array, labels: NDArray[Any], n_bins: int) -> float:
    """`get_calibration_error` of uncertainty-calibration for (n, k) predictions: the root of the
    mean square over classes.

    Each class is taken against the rest. All classes have bins of one kind.
    """
    columns = rows.T
    bins = None if all(map(_seems_binned, columns)) else n_bins
    squares = [
        _debiased_square(column, (labels == r).astype(np.float64), bins)
        for r, column in enumerate(columns)
    ]
    return float(np.sqrt(np.mean(squares)))


def _seems_binned(predictions: Array) -> bool:
    """Whether uncertainty-calibration takes the predictions for those of a binned model: there are
    fewer distinct ones than a quarter of the rows.
    """
    return bool(np.unique(predictions).size < predictions.size / 4)


def _debiased_square(predictions: Array, targets: Array, n_bins: int | None) -> float:
    """The mean squared gap over equal-mass bins less its sampling variance, or 0 if that is larger.

    With `n_bins` None there is a bin for each distinct prediction.
    """
    if n_bins is None:
        distinct = np.unique(predictions)
        edges = _equal_mass_edges(distinct, distinct.size)
    else:
        edges = _equal_mass_edges(predictions, n_bins)
    sums = _sums_between(edges, "right", predictions, targets)
    enough = sums.counts > 1  # a bin of one row has no variance estimate, and counts as no gap
    counts = sums.counts[enough]
    mean_targets = sums.targets[enough] / counts
    noise = mean_targets * (1.0 - mean_targets) / (counts - 1.0)
    squared = np.sum(counts * ((sums.gaps[enough] / counts) ** 2 - noise)) / predictions.size
    return float(max(squared, 0.0))


def mccaffrey_ece(predictions: Array, targets: Array, n_bins: int) -> float:
    """McCaffrey's tutorial: weighted mean gap in left-closed bins, the last one closed at 1 too."""
    sums = _sums_between(_ratio_edges(n_bins), "left", predictions, targets)
    return float(sums.gaps.sum() / predictions.size)


def leznik_ece(predictions: Array, targets: Array, n_bins: int) -> float:
    """Leznik's rule read literally: ECE in left-closed bins; a prediction of exactly 1 is in none,
    though n counts it.
    """
    edges_and_one = np.append(_ratio_edges(n_bins), 1.0)
    sums = _sums_between(edges_and_one, "left", predictions, targets)
    return float(sums.gaps[:-1].sum() / predictions.size)


@dataclass(frozen=True)
class PeerRule:
    """One tool's rule: how it bins, why its number differs, and a function that reproduces it.

    `soft_targets` says what the tool does with targets strictly between 0 and 1.
    """

    tool: str
    version: str
    default_bins: int
    rule: str
    why: str
    soft_targets: Literal["right", "refused", "wrong"]
    compute: Callable[[Array, Array, int], float]
    # From the number of rows to the number of bins; None where that is `default_bins`.
    bins_of_rows: Callable[[int], int] | None = None
    # With fewer rows than this the tool ends in an error.
    fewest_rows: int = 1
    # Whether its value depends on the order of the rows, as sums in single precision do.
    by_row: bool = False
    # Its rule for (n, k) predictions and labels; None where it takes the top label.
    of_classes: Callable[[Array, NDArray[Any], int], float] | None = None

    def bins_for(self, n: int) -> int:
        """The tool's default number of bins for n rows."""
        return self.default_bins if self.bins_of_rows is None else self.bins_of_rows(n)


PEER_RULES: tuple[PeerRule, ...] = (
    PeerRule(
        tool="torchmetrics",
        version="1.9.0",
        default_bins=15,
        rule="equal width, left-closed; 0 in the first bin, 1 in a bin of its own; float32",
        why=(
            "Predictions of exactly 1 have a bin of their own, so gaps that would cancel in the "
            "top bin add up. Sums are rounded to single precision."
        ),
        soft_targets="refused",
        compute=torchmetrics_ece,
        by_row=True,
    ),
    PeerRule(
        tool="scikit-learn calibration_curve",
        version="1.9.1",
        default_bins=5,
        rule="equal width, right-closed; 0 in the first bin, 1 in the last; plain mean over the "
        "non-empty bins; float64",
        why="The curve comes without counts, so a bin of three rows weighs as much as a bin of "
        "three thousand.",
        soft_targets="refused",
        compute=scikit_learn_gap,
    ),
    PeerRule(
        tool="netcal ECE",
        version="1.4.0",
        default_bins=10,
        rule="equal width, left-closed; 0 in the first bin, 1 in the last; edges j * (1/m); "
        "precision of the input",
        why=(
            "Its edges are rounded multiples of the bin width (0.30000000000000004 for 0.3), so a "
            "prediction on an edge may be counted one bin lower."
        ),
        soft_targets="wrong",
        compute=netcal_ece,
    ),
    PeerRule(
        tool="relplot binnedECE",
        version="1.0.3",
        default_bins=10,
        rule="whole part of prediction / (1/m), so left-closed; 0 in the first bin, 1 in a bin of "
        "its "
        "own; precision of the input",
        why=(
            "Predictions of exactly 1 have a bin of their own, apart from the top bin. The "
            "division may also round a prediction on an edge into the bin below."
        ),
        soft_targets="right",
        compute=relplot_ece,
    ),
    PeerRule(
        tool="uncertainty-calibration get_ece",
        version="0.1.4",
        default_bins=15,
        rule="equal width, right-closed; 0 in the first bin, 1 in the last; float64",
        why="Bins are closed on the right, so a prediction on an edge is counted one bin lower.",
        soft_targets="refused",
        compute=uncertainty_calibration_ece,
    ),
    PeerRule(
        tool="uncertainty-calibration get_ece_em",
        version="0.1.4",
        default_bins=15,
        rule="equal mass, right-closed at midpoints between neighbouring predictions, ties "
        "together; "
        "float64",
        why="Bins hold equally many rows instead of being equally wide, so gaps are averaged "
        "over different groups of rows.",
        soft_targets="refused",
        compute=uncertainty_calibration_equal_mass_ece,
    ),
    PeerRule(
        tool="uncertainty-calibration get_calibration_error",
        version="0.1.4",
        default_bins=15,
        rule="equal mass, right-closed at midpoints, or one bin per distinct prediction where "
        "those "
        "are fewer than n/4; root mean square less sampling variance; of several classes that of "
        "each against the rest; float64",
        why=(
            "It is another quantity: the root mean square gap over equally filled bins, minus the "
            "part that chance alone would produce. With several classes it covers all of them "
            "(mode='marginal'), not the top label."
        ),
        soft_targets="refused",
        compute=uncertainty_calibration_debiased_l2,
        of_classes=uncertainty_calibration_marginal,
    ),
    PeerRule(
        tool="McCaffrey's tutorial",
        version="updated post",
        default_bins=10,
        rule="equal width, left-closed; 0 in the first bin, 1 in the last; float64",
        why="It is the definition itself, so only another number of bins can make it differ.",
        soft_targets="right",
        compute=mccaffrey_ece,
    ),
    PeerRule(
        tool="Leznik's SMECE as printed",
        version="arXiv:2603.14092",
        default_bins=10,
        rule="equal width, left-closed; 0 in the first bin, 1 in no bin; float64",
        why="Predictions of exactly 1 fall in no bin, so their gap is lost while n still counts "
        "them.",
        soft_targets="right",
        compute=leznik_ece,
    ),
)
