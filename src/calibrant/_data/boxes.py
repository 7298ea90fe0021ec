"""Boxes around objects: how they are read, checked, and matched to the true ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, counted, one_of
from calibrant._core.typing import Array, Index, Mask

# Overlaps below the threshold by less than this are rounding, and count as at it.
ROUNDING = 1e-9
FORMATS = ("xyxy", "xywh", "cxcywh")


def check_boxes(argument: str, boxes: Any, box_format: str) -> Array:
    """Boxes (n, 4) as left, top, right and bottom; an error names the first that is none."""
    one_of("box_format", box_format, FORMATS)
    out = np.asarray(boxes, dtype=np.float64)
    out = out.reshape(0, 4) if out.size == 0 else out
    if out.ndim != 2 or out.shape[1] != 4:
        raise InputError(f"{argument} must have shape (n, 4), a box a row; got {out.shape}")
    out = out.copy()
    if box_format == "xywh":
        out[:, 2:] += out[:, :2]
    elif box_format == "cxcywh":
        half = out[:, 2:] / 2
        out[:, 2:] = out[:, :2] + half
        out[:, :2] -= half
    wrong = ~(np.isfinite(out).all(axis=1) & (out[:, 2:] >= out[:, :2]).all(axis=1))
    if wrong.any():
        i = int(wrong.argmax())
        raise InputError(
            f"{argument}[{i}] is no box in the format {box_format!r}: its right or lower edge is "
            "before its left or upper one, or a number is missing. Pass box_format='xywh' for COCO"
        )
    return out


def column_of(argument: str, values: Any, n: int) -> NDArray[Any]:
    """A column with a value for each of n boxes; zeros if `values` is None."""
    out = np.zeros(n, dtype=np.int64) if values is None else np.asarray(values)
    if out.shape != (n,):
        raise InputError(
            f"{argument} must have a value for each of {counted(n, 'box')}; got shape {out.shape}"
        )
    return out


def overlaps(boxes: Array, others: Array) -> tuple[Array, Array]:
    """The overlap of each of n boxes with each of m others: the area of their intersection, as a
    share of the area of their union, and as a share of the area of the box, both (n, m).

    Boxes without an area overlap with nothing.
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    both = np.prod(np.maximum(high - low, 0.0), axis=2)
    own, its = (np.prod(each[:, 2:] - each[:, :2], axis=1) for each in (boxes, others))
    union = own[:, None] + its[None, :] - both
    return _ratio(both, union), _ratio(both, np.broadcast_to(own[:, None], both.shape))


def _ratio(part: Array, whole: Array) -> Array:
    """Part over whole; 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def match(
    boxes: Array, scores: Array, true_boxes: Array, crowd: Mask, threshold: float
) -> tuple[Index, Array, Mask]:
    """Match the boxes of one image and class to true boxes, the highest score first.

    Each box takes the true box that overlaps most and is not taken yet, if the overlap reaches the
    threshold. A box without a match that lies in a crowd region (`crowd` masks these true boxes) is
    ignored.

    Returns three arrays with an entry for each box: the row of its true box, -1 if it has no match;
    its overlap with that true box, or its largest overlap with any if it has no match; and whether
    it is ignored. The order of rows does not matter: equal scores are sorted by overlap, then by
    the corners of the boxes.
    """
    iou, inside = overlaps(boxes, true_boxes)
    iou = np.where(crowd, 0.0, iou)
    best = iou.max(axis=1, initial=0.0)
    # Of true boxes with equal overlaps, the first by its corners is taken.
    by_corners = np.lexsort(true_boxes.T[::-1])
    matched, overlap = np.full(len(boxes), -1, dtype=np.intp), best.copy()
    free = ~crowd
    for i in np.lexsort((*boxes.T[::-1], -best, -scores)):
        reach = np.where(free, iou[i], -1.0)[by_corners]
        if reach.size and reach.max() >= threshold - ROUNDING:
            found = by_corners[int(reach.argmax())]
            matched[i], overlap[i], free[found] = found, iou[i, found], False
    in_crowd = np.where(crowd, inside, 0.0).max(axis=1, initial=0.0) >= threshold - ROUNDING
    return matched, overlap, (matched < 0) & in_crowd


def rows_by_code(codes: Index, true_codes: Index) -> Iterator[tuple[Index, Index]]:
    """Yield the rows of the boxes and of the true boxes that have the same code (number of their
    image and class), for each code of a box.
    """
    if not codes.size:
        return
    order, true_order = (np.argsort(each, kind="stable") for each in (codes, true_codes))
    true_sorted = true_codes[true_order]
    distinct, start = np.unique(codes[order], return_index=True)
    for code, rows in zip(distinct, np.split(order, start[1:]), strict=True):
        first, last = (np.searchsorted(true_sorted, code, side=side) for side in ("left", "right"))
        yield rows, true_order[first:last]


def shared_codes(*columns: tuple[NDArray[Any], NDArray[Any]]) -> tuple[Index, Index]:
    """Number the combinations of values in some columns: the number of each box, and that of each
    true box. A column is a pair: its values for the boxes, and its values for the true boxes.
    """
    n, m = map(len, columns[0])
    codes = np.zeros(n + m, dtype=np.intp)
    for values, true_values in columns:
        # An empty part has no type of its own, which would turn the other part's values into text.
        parts = [part for part in (values, true_values) if len(part)] or [values]
        distinct, index = np.unique(np.concatenate(parts), return_inverse=True)
        codes = codes * len(distinct) + index.reshape(-1)
    return codes[:n], codes[n:]


def read_json(argument: str, source: Any) -> Any:
    """The content of a JSON file, or `source` itself if it is no path."""
    if not isinstance(source, str | Path):
        return source
    try:
        return json.loads(Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{argument} cannot be read: {error}") from None
    except ValueError as error:
        raise InputError(f"{argument} is no JSON: {error}") from None


def check_coco_rows(argument: str, rows: Any, keys: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The rows of a COCO file; raise InputError unless they are a list of objects with these
    keys.
    """
    if not isinstance(rows, list):
        raise InputError(
            f"{argument} must be a list of objects, as COCO has it; got {type(rows).__name__}"
        )
    for i, row in enumerate(rows):
        gone = [key for key in keys if not isinstance(row, Mapping) or key not in row]
        if gone:
            raise InputError(f"{argument}[{i}] has no {gone[0]!r}, which COCO's format has")
    return rows
