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
        raise InputError(f"{argument} must have a value for each of {counted(n, 'box')}; got "
                         f"shape {out.shape}")  # fmt: skip
    return out


def overlaps(boxes: Array, others: Array) -> tuple[Array, Array]:
    """The intersection over union of each box with each other, (n, m), and over the box's own area.

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

    Each takes the true box that overlaps most and is not taken yet, if the overlap reaches the
    threshold. A box that finds none and lies in a crowd region is ignored. Returns for each box the
    true box, -1 if none; its overlap, with any true box if it found none; and whether it is
    ignored. The order of rows does not matter: equal scores go by overlap and then by place.
    """
    iou, inside = overlaps(boxes, true_boxes)
    iou = np.where(crowd, 0.0, iou)
    best = iou.max(axis=1, initial=0.0)
    # Among equal overlaps, the true box that is first by its place is taken.
    by_place = np.lexsort(true_boxes.T[::-1])
    matched, overlap = np.full(len(boxes), -1, dtype=np.intp), best.copy()
    free = ~crowd
    for i in np.lexsort((*boxes.T[::-1], -best, -scores)):
        reach = np.where(free, iou[i], -1.0)[by_place]
        if reach.size and reach.max() >= threshold - ROUNDING:
            found = by_place[int(reach.argmax())]
            matched[i], overlap[i], free[found] = found, iou[i, found], False
    in_crowd = np.where(crowd, inside, 0.0).max(axis=1, initial=0.0) >= threshold - ROUNDING
    return matched, overlap, (matched < 0) & in_crowd


def groups_of(keys: Index, true_keys: Index) -> Iterator[tuple[Index, Index]]:
    """Yield the rows of boxes and of true boxes with the same key, for each key of a box."""
    if not keys.size:
        return
    order, true_order = (np.argsort(each, kind="stable") for each in (keys, true_keys))
    of, its = keys[order], true_keys[true_order]
    distinct, start = np.unique(of, return_index=True)
    for key, rows in zip(distinct, np.split(order, start[1:]), strict=True):
        first, last = np.searchsorted(its, key), np.searchsorted(its, key, side="right")
        yield rows, true_order[first:last]


def codes_of(*pairs: tuple[NDArray[Any], NDArray[Any]]) -> tuple[Index, Index]:
    """A number for each combination of values, of boxes and of true boxes."""
    n = len(pairs[0][0])
    code = np.zeros(n + len(pairs[0][1]), dtype=np.intp)
    for own, true in pairs:
        joined = np.concatenate([own, true]) if len(true) else own
        joined = true if not n else joined
        values, index = np.unique(joined, return_inverse=True)
        code = code * len(values) + index.reshape(-1)
    return code[:n], code[n:]


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


def entries(argument: str, rows: Any, keys: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """Check that rows of a COCO file are objects with these keys, and return them."""
    if not isinstance(rows, list):
        raise InputError(f"{argument} must be a list of objects, as COCO has it; got "
                         f"{type(rows).__name__}")  # fmt: skip
    for i, row in enumerate(rows):
        gone = [key for key in keys if not isinstance(row, Mapping) or key not in row]
        if gone:
            raise InputError(f"{argument}[{i}] has no {gone[0]!r}, which COCO's format has")
    return rows
