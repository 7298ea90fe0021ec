"""McCaffrey's tutorial: the calibration error in ten bins, its table, and what its roundings do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.reliability import reliability
from calibrant._core.errors import InputError
from calibrant._core.progress import TaskProgress
from calibrant._core.typing import Array
from calibrant._research.papers.figures import COLOURS, MARKERS, new_figure
from calibrant._research.papers.folder import (
    Columns,
    Erratum,
    Figure,
    Reproduction,
    Section,
    Table,
    columns_of,
    versions,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


PAPER = "J. D. McCaffrey, a tutorial on the expected calibration error, on his web log."
# The table: the confidences of six items in the third bin with whether they are right; then, from
# the third bin on, how many items, their mean confidence and accuracy, and the gap between both.
ITEMS = ((0.24, 1), (0.28, 0), (0.22, 0), (0.24, 0), (0.25, 1), (0.27, 1))
COUNTS = (6, 12, 18, 10, 12, 14, 16, 12)
CONFIDENCES = (0.24, 0.36, 0.44, 0.52, 0.68, 0.74, 0.86, 0.92)
ACCURACIES = (0.50, 0.67, 0.56, 0.60, 0.58, 0.71, 0.75, 0.83)
GAPS = (0.26, 0.31, 0.12, 0.08, 0.10, 0.03, 0.11, 0.09)
PRINTED, FIRST_BIN, BINS = 0.1270, 2, 10
ERRATA = (
    Erratum(
        "1",
        "the table, third bin",
        "0.24",
        "The six items have a mean confidence of 0.25, as the text itself says. The gap is then "
        "0.25, and the error is 0.1264.",
    ),
)


def reproduce(
    *, seed: int | None = None, quick: bool = False, progress: TaskProgress
) -> Reproduction:
    """The tutorial's table from a hundred items, its error, and the errors that it has without each
    of its roundings. Nothing is drawn, so there is no seed, and ``quick`` changes nothing.
    """
    if seed is not None:
        raise InputError("seed: the tutorial has no random numbers; drop seed")
    bins, errors = _bin_table(), _error_table()
    title = "The calibration error in ten bins, reproduced"
    sections = (
        Section(
            "The table",
            (
                "A hundred items go into ten bins by the confidence of their predicted class. The "
                "error of a bin is the distance between its mean confidence and its share of "
                "correct items. The mean over bins, weighted by their numbers of items, is the "
                "calibration error.",
                "The tutorial gives counts, mean confidences and accuracies. They determine the "
                "hundred items except for single confidences: only one whole number of correct "
                "items per bin rounds to the printed accuracy.",
            ),
            (bins,),
            (Figure("bins", _CAPTION, partial(_draw, bins.columns), bins.columns),),
        ),
        Section(
            "Effect of rounding",
            (
                "The printed 0.1270 is exact for the printed digits. From the items themselves it "
                "is 0.1244. Rounding accuracies to two digits changes it by 0.0026, so only two "
                "of the four printed digits are reliable.",
            ),
            (errors,),
        ),
        Section(
            "The third bin",
            (
                "The tutorial lists its six items, with a mean confidence of 0.25, but the table "
                "has 0.24.",
            ),
            (_item_table(),),
        ),
    )
    recipe = {
        "command": "calibrant reproduce ten-bins",
        "measured with": f"calibrant.ece(right, confidence, bins={BINS})",
        **versions(),
    }
    return Reproduction("ten-bins", title, PAPER, sections, ERRATA, recipe)


_CAPTION = (
    "The ten bins: mean confidence and share correct. Bars to the diagonal are the gaps. Their "
    "mean, weighted by the items of each bin, is the calibration error."
)


def _n_right() -> Array:
    """How many items of each bin are right: the whole numbers that the accuracies allow."""
    return np.rint(np.array(ACCURACIES) * np.array(COUNTS))


def _hundred_items(confidences: Array) -> tuple[Array, Array]:
    """The hundred items: whether each is right, and its confidence, here its bin's mean."""
    right = [np.arange(n) < k for n, k in zip(COUNTS, _n_right(), strict=True)]
    return np.concatenate(right).astype(np.float64), np.repeat(confidences, COUNTS)


def _bin_table() -> Table:
    """The tutorial's table beside the library's."""
    right, confidence = _hundred_items(np.array(CONFIDENCES))
    found = reliability(right, confidence, bins=BINS).columns()
    means, shares = (found[name][FIRST_BIN:] for name in ("mean_predicted", "mean_target"))
    empty = [""] * FIRST_BIN
    columns: dict[str, list[Any]] = {
        "bin": list(range(BINS)),
        "confidences": [f"{j / BINS:.1f} to {(j + 1) / BINS:.1f}" for j in range(BINS)],
        "count": [0] * FIRST_BIN + list(COUNTS),
        "mean confidence": [*empty, *CONFIDENCES],
        "accuracy, printed": [*empty, *ACCURACIES],
        "accuracy": [*empty, *shares],
        "gap, printed": [*empty, *GAPS],
        "gap": [*empty, *(abs(u - z) for u, z in zip(means, shares, strict=True))],
    }
    return Table(
        "table",
        "The tutorial's table, and the library's values from the hundred items.",
        columns,
        marks={(FIRST_BIN, "mean confidence"): "1", (FIRST_BIN, "gap, printed"): "1"},
    )


def _error_table() -> Table:
    """The calibration error as printed, and without each of its roundings."""
    confidences = np.array(CONFIDENCES)
    corrected = np.where(np.arange(confidences.size) == 0, _mean_of_items(), confidences)
    right, rounded = _hundred_items(confidences)[0], np.repeat(ACCURACIES, COUNTS)
    cases = {
        "as printed": (rounded, confidences, PRINTED),
        "with the mean confidence of the six items": (rounded, corrected, None),
        "with accuracies that are not rounded": (right, confidences, None),
        "with both": (right, corrected, None),
    }
    columns = columns_of(
        {
            "calibration error": name,
            "printed": "" if printed is None else f"{printed:.4f}",
            "measured": f"{ece(targets, np.repeat(means, COUNTS), bins=BINS):.4f}",
        }
        for name, (targets, means, printed) in cases.items()
    )
    return Table("errors", "The calibration error, and the effect of rounding.", columns)


def _mean_of_items() -> float:
    """The mean confidence of the six items that are listed."""
    return sum(confidence for confidence, _ in ITEMS) / len(ITEMS)


def _item_table() -> Table:
    """The six items of the third bin."""
    columns: dict[str, list[Any]] = {
        "confidence": [confidence for confidence, _ in ITEMS],
        "right": [bool(right) for _, right in ITEMS],
    }
    caption = f"Six items: mean confidence {_mean_of_items():.2f}, three of them correct."
    return Table("items", caption, columns)


def _draw(bins: Columns) -> Drawing:
    """The reliability diagram of the table."""
    with new_figure(size=(4.0, 4.0)) as (figure, axes):
        axis = axes[0, 0]
        axis.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
        for confidence, accuracy in zip(bins["mean confidence"], bins["accuracy"], strict=True):
            if confidence != "":
                axis.plot([confidence] * 2, [confidence, accuracy], color=COLOURS[0], linewidth=1)
                axis.plot(confidence, accuracy, MARKERS[0], color=COLOURS[0], markersize=5)
        axis.set(
            xlabel="mean confidence", ylabel="share correct", xlim=(0, 1), ylim=(0, 1), aspect=1
        )
    return figure
