"""match_boxes(): which predicted boxes are correct; read_coco(): its arguments from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._core.errors import InputError
from calibrant._core.typing import Array
from calibrant._core.validation import is_number, public
from calibrant._data.boxes import (
    check_boxes,
    check_coco_rows,
    column_of,
    match,
    read_json,
    rows_by_code,
    shared_codes,
)
from calibrant.results._box_matches import BoxMatches


@public
def match_boxes(
    boxes: ArrayLike,
    scores: ArrayLike,
    true_boxes: ArrayLike,
    *,
    images: ArrayLike | None = None,
    true_images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    true_labels: ArrayLike | None = None,
    crowd: ArrayLike | None = None,
    iou: float = 0.5,
    box_format: str = "xyxy",
    size: Any = None,
) -> BoxMatches:
    """Match predicted boxes to true boxes: which are correct, and how confident each is.

    In each image and class, boxes take true boxes greedily, the highest score first, as COCO's
    evaluation does: each takes the true box that overlaps most (intersection over union) and is not
    taken yet, if the overlap is at least `iou`. A box that takes one is correct.

    Parameters
    ----------
    boxes : array-like of shape (n, 4)
        Predicted boxes, in the units of `box_format`.
    scores : array-like of shape (n,)
        Their scores, from 0 to 1.
    true_boxes : array-like of shape (m, 4)
        Boxes around the objects that are there.
    images, true_images : array-like of shape (n,) and (m,), optional
        The image of each box; left out, all are of one image.
    labels, true_labels : array-like of shape (n,) and (m,), optional
        The class of each box; left out, all are of one class.
    crowd : array-like of bool of shape (m,), optional
        True boxes that mark a crowd. A box that finds no true box and lies in one of them, by at
        least `iou` of its own area, is left out; crowds are never missed.
    iou : float in (0, 1], default 0.5
        The overlap from which a box matches; exactly this much is enough.
    box_format : {"xyxy", "xywh", "cxcywh"}, default "xyxy"
        Corners; left upper corner, width and height (COCO); or centre, width and height (YOLO).
    size : tuple of two floats or mapping, optional
        Width and height of all images, or of each by its name. Places and sizes of boxes are then
        relative to their image; left out, they are in the units of the boxes.

    Returns
    -------
    BoxMatches
        `correct`, `confidence` and `image` for other functions, `iou`, places and sizes, and the
        true boxes that were missed.

    Raises
    ------
    InputError
        If boxes have no shape (n, 4), scores are not from 0 to 1, or columns are not as long.

    Notes
    -----
    Calibration of a detector says nothing about the objects that it misses: `n_missed` does. Equal
    scores go by overlap, so the order of rows does not matter. COCO keeps at most 100 boxes per
    image; here all count.

    References
    ----------
    Küppers, Kronenberger, Shantia and Haselhoff (2020), Multivariate confidence calibration for
    object detection.

    Examples
    --------
    >>> import calibrant as cal
    >>> boxes = [[0, 0, 2, 2], [0, 0, 2, 1.8], [5, 5, 6, 6]]
    >>> m = cal.match_boxes(boxes, [0.9, 0.8, 0.4], [[0, 0, 2, 2], [8, 8, 9, 9]])
    >>> m.correct.tolist(), m.n_missed
    ([1, 0, 0], 1)
    >>> round(cal.brier_score(m.correct, m.confidence), 4)
    0.27
    """
    if not is_number(iou) or not 0.0 < iou <= 1.0:
        raise InputError(f"iou must be a number above 0 and at most 1; got {iou!r}")
    own = check_boxes("boxes", boxes, box_format)
    true = check_boxes("true_boxes", true_boxes, box_format)
    n, m = len(own), len(true)
    given = ("images", images, true_images), ("labels", labels, true_labels)
    for name, one, other in given:
        if (one is None) != (other is None):
            raise InputError(f"give both {name}= and true_{name}=, or neither")
    image, label = (column_of(name, one, n) for name, one, _ in given)
    true_image, true_label = (column_of(f"true_{name}", other, m) for name, _, other in given)
    confidence = _check_scores(scores, n)
    is_crowd = column_of("crowd", crowd, m).astype(bool)
    keys, true_keys = shared_codes((image, true_image), (label, true_label))
    matched, overlap = np.full(n, -1, dtype=np.intp), np.zeros(n)
    ignored = np.zeros(n, dtype=bool)
    for rows, its in rows_by_code(keys, true_keys):
        found, overlap[rows], ignored[rows] = match(
            own[rows], confidence[rows], true[its], is_crowd[its], float(iou)
        )
        matched[rows[found >= 0]] = its[found[found >= 0]]
    kept = np.flatnonzero(~ignored)
    taken = np.isin(np.arange(m), matched)
    width, height, known = _image_sizes(size, image)
    box = own / np.column_stack([width, height, width, height])
    seen = {*np.unique(image).tolist(), *np.unique(true_image).tolist(), *known}
    return BoxMatches(
        correct=(matched[kept] >= 0).astype(np.int64),
        confidence=confidence[kept],
        image=image[kept],
        label=label[kept],
        iou=overlap[kept],
        cx=(box[kept, 0] + box[kept, 2]) / 2,
        cy=(box[kept, 1] + box[kept, 3]) / 2,
        w=box[kept, 2] - box[kept, 0],
        h=box[kept, 3] - box[kept, 1],
        rows=kept,
        matched=matched[kept],
        missed=np.flatnonzero(~taken & ~is_crowd),
        n_true=int((~is_crowd).sum()),
        n_ignored=int(ignored.sum()),
        n_images=len(seen),
        threshold=float(iou),
    )


def _check_scores(scores: ArrayLike, n: int) -> Array:
    """Check the scores: n numbers from 0 to 1."""
    out = np.asarray(column_of("scores", scores, n), dtype=np.float64)
    wrong = ~((out >= 0.0) & (out <= 1.0))
    if wrong.any():
        i = int(wrong.argmax())
        raise InputError(f"scores[{i}] is {out[i]:g}: scores must lie in [0, 1]")
    return out


def _image_sizes(size: Any, image: NDArray[Any]) -> tuple[Array, Array, list[Any]]:
    """The width and height of each box's image, and the images that sizes are known of."""
    if size is None:
        return np.ones(image.size), np.ones(image.size), []
    if isinstance(size, Mapping):
        names, index = np.unique(image, return_inverse=True)
        gone = [name for name in names.tolist() if name not in size]
        if gone:
            raise InputError(f"size has no width and height of image {gone[0]!r}")
        pairs = np.array([size[name] for name in names.tolist()], dtype=np.float64).reshape(-1, 2)
        pairs = pairs[index.reshape(-1)]
        known = list(size)
    else:
        pairs = np.broadcast_to(np.asarray(size, dtype=np.float64), (image.size, 2))
        known = []
    if not (pairs > 0).all():
        raise InputError("size must have a positive width and height for each image")
    return pairs[:, 0], pairs[:, 1], known


@public
def read_coco(annotations: Any, detections: Any) -> dict[str, Any]:
    """Read COCO's JSON files of true boxes and of detections, as arguments of `match_boxes`.

    Parameters
    ----------
    annotations : str, path or dict
        The file of annotations (``instances_val2017.json``), or its content.
    detections : str, path or list
        The file of detections, a list of objects with ``image_id``, ``category_id``, ``bbox`` and
        ``score``, or its content.

    Returns
    -------
    dict
        Arguments: ``cal.match_boxes(**cal.read_coco(annotations, detections))``.

    Raises
    ------
    InputError
        If a file cannot be read, or lacks a key of COCO's format.

    Examples
    --------
    >>> import calibrant as cal
    >>> box = {"image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 2]}
    >>> truth = {"images": [{"id": 7, "width": 8, "height": 8}], "annotations": [box],
    ...          "categories": [{"id": 1, "name": "cat"}]}
    >>> m = cal.match_boxes(**cal.read_coco(truth, [{**box, "score": 0.8}]))
    >>> m.correct.tolist(), m.label.tolist(), m.cx.tolist()
    ([1], ['cat'], [0.25])
    """
    truth = read_json("annotations", annotations)
    if not isinstance(truth, Mapping) or not {"images", "annotations"} <= set(truth):
        raise InputError("annotations must be COCO's object with 'images' and 'annotations'")
    keys = ("image_id", "category_id", "bbox")
    found = check_coco_rows("detections", read_json("detections", detections), (*keys, "score"))
    true = check_coco_rows("annotations", truth["annotations"], keys)
    pictures = check_coco_rows("images", truth["images"], ("id", "width", "height"))
    names = {each["id"]: str(each["name"]) for each in truth.get("categories", ())}
    return {
        "boxes": [each["bbox"] for each in found],
        "scores": [each["score"] for each in found],
        "true_boxes": [each["bbox"] for each in true],
        "images": [each["image_id"] for each in found],
        "true_images": [each["image_id"] for each in true],
        "labels": [names.get(each["category_id"], str(each["category_id"])) for each in found],
        "true_labels": [names.get(each["category_id"], str(each["category_id"])) for each in true],
        "crowd": [bool(each.get("iscrowd", 0)) for each in true],
        "box_format": "xywh",
        "size": {each["id"]: (each["width"], each["height"]) for each in pictures},
    }
