"""BoxMatches: which predicted boxes are correct, with their confidence, image and place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted, one_of
from calibrant._core.given_cells import Cells
from calibrant._core.validation import check_count
from calibrant.results._base import Result

# The most boxes that are printed.
_SHOWN = 10
FEATURES = ("confidence", "cx", "cy", "w", "h")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BoxMatches(Result):
    """Predicted boxes and whether each is correct: rows for every other function.

    Made by `match_boxes`. ``cal.evaluate(m.correct, m.confidence, groups=m.image)`` measures the
    calibration of the scores, with images as clusters.

    Attributes
    ----------
    correct : ndarray of int
        1 if the box matches a true box, else 0.
    confidence : ndarray
        The score of the box.
    image, label : ndarray
        The image and the class of the box.
    iou : ndarray
        Overlap with the true box that it matches; of a wrong box, with the nearest of its class.
    cx, cy, w, h : ndarray
        Centre, width and height of the box, relative to its image if sizes are known.
    rows : ndarray of int
        The row of the box in what was given.
    matched : ndarray of int
        The row of the true box that it matches, -1 if none.
    missed : ndarray of int
        Rows of true boxes that no box matches.
    n_true, n_missed, n_ignored : int
        True boxes, missed ones, and boxes in crowd regions, which are left out.
    n_images : int
        Images with a box, predicted or true, or with a size.
    threshold : float
        The overlap from which a box matches.

    Examples
    --------
    >>> import calibrant as cal
    >>> m = cal.match_boxes([[0, 0, 2, 2], [5, 5, 6, 6]], [0.9, 0.4], [[0, 0, 2, 1.5]])
    >>> m.correct.tolist(), m.n_missed
    ([1, 0], 0)
    """

    _json_keys = "n_true n_missed n_ignored n_images threshold boxes"
    _table_key = "boxes"

    correct: NDArray[np.int64]
    confidence: NDArray[np.float64]
    image: NDArray[Any]
    label: NDArray[Any]
    iou: NDArray[np.float64]
    cx: NDArray[np.float64]
    cy: NDArray[np.float64]
    w: NDArray[np.float64]
    h: NDArray[np.float64]
    rows: NDArray[np.intp]
    matched: NDArray[np.intp]
    missed: NDArray[np.intp]
    n_true: int
    n_ignored: int
    n_images: int
    threshold: float

    @property
    def n_missed(self) -> int:
        """The number of true boxes that no box matches."""
        return int(self.missed.size)

    @property
    def weight(self) -> NDArray[np.float64]:
        """A weight for each box with which every image with boxes counts the same."""
        _, index, counts = np.unique(self.image, return_inverse=True, return_counts=True)
        return np.asarray(1.0 / counts[index.reshape(-1)], dtype=np.float64)

    def cells(
        self, bins: int = 5, *, of: Sequence[str] = ("confidence", "cx", "cy", "w", "h")
    ) -> Cells:
        """Give cells of confidence, place and size: the bins of the detection ECE (D-ECE).

        Parameters
        ----------
        bins : int, default 5
            Bins of equal width on [0, 1] of each.
        of : sequence of str, default ('confidence', 'cx', 'cy', 'w', 'h')
            What cells are of.

        Returns
        -------
        Cells
            For ``bins=`` of `ece`, `reliability` and other functions.

        Examples
        --------
        >>> import calibrant as cal
        >>> boxes = [[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]
        >>> m = cal.match_boxes(boxes, [0.9, 0.6], boxes[:1])
        >>> cal.ece(m.correct, m.confidence, bins=m.cells(2))
        0.35
        """
        m = check_count("bins", bins, 1)
        for name in of:
            one_of("of", name, FEATURES)
        values = [getattr(self, name) for name in of]
        if not values:
            raise InputError(f"of must name one or more of {', '.join(FEATURES)}")
        if any(v.size and (v.min() < -1e-6 or v.max() > 1.0 + 1e-6) for v in values):
            raise InputError(
                "cells need boxes relative to their images: give match_boxes(size=...) the width "
                "and height of images, and boxes that lie in them"
            )
        return Cells(*(np.clip((v * m).astype(np.intp), 0, m - 1) for v in values))

    def columns(self) -> dict[str, list[Any]]:
        """Give a row per box.

        Returns
        -------
        dict of str to list
            `row`, `image`, `label`, `confidence`, `correct`, `iou`, `cx`, `cy`, `w` and `h`.
        """
        names = ("image", "label", "confidence", "correct", "iou", "cx", "cy", "w", "h")
        return {"row": self.rows.tolist(), **{name: getattr(self, name).tolist() for name in names}}

    @property
    def _printed_rows(self) -> slice:
        return slice(_SHOWN)

    @property
    def title(self) -> str:
        """How many boxes are correct, and how many true boxes are missed, in one line."""
        ignored = ""
        if self.n_ignored:
            ignored = f"; {counted(self.n_ignored, 'box')} in crowd regions left out"
        n, right = self.correct.size, int(self.correct.sum())
        images = "1 image" if self.n_images == 1 else f"{self.n_images:,} images"
        return (
            f"{n:,} predicted boxes in {images} at IoU {self.threshold:g}: {right:,} correct; "
            f"{self.n_missed:,} of {self.n_true:,} true boxes missed{ignored}"
        )
