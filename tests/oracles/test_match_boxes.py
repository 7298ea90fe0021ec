"""Boxes matched greedily, as COCO does, against loops that follow its rules box by box."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError


def iou_of(a, b):
    """Intersection over union of two boxes, and the intersection over the first one's area."""
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    high = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = wide * high
    own, its = (max(0.0, (c[2] - c[0]) * (c[3] - c[1])) for c in (a, b))
    union = own + its - both
    return (both / union if union > 0 else 0.0), (both / own if own > 0 else 0.0)


def looped(boxes, scores, true, images, true_images, labels, true_labels, crowd, threshold):
    """COCO's greedy matching, one box after another; scores differ."""
    taken, out = set(), {}
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        best, its = None, threshold
        crowds = 0.0
        for j in range(len(true)):
            if images[i] != true_images[j] or labels[i] != true_labels[j]:
                continue
            overlap, inside = iou_of(boxes[i], true[j])
            if crowd[j]:
                crowds = max(crowds, inside)
            elif j not in taken and overlap >= its and (best is None or overlap > its):
                best, its = j, overlap
        if best is not None:
            taken.add(best)
            out[i] = best
        else:
            out[i] = None if crowds >= threshold else -1
    missed = [j for j in range(len(true)) if j not in taken and not crowd[j]]
    return out, missed


def world(seed, n=40, m=30, n_images=6):
    """Boxes on a few images, many of them over each other, with scores that all differ."""
    rng = np.random.default_rng(seed)

    def some(k):
        corner = rng.uniform(0, 5, (k, 2))
        return np.hstack([corner, corner + rng.uniform(0.5, 3, (k, 2))])

    true = some(m)
    boxes = np.where(rng.random((n, 1)) < 0.7, true[rng.integers(0, m, n)], some(n))
    boxes[:, 2:] += rng.uniform(0, 0.6, (n, 2))
    return {
        "boxes": boxes,
        "scores": rng.permutation(n) / n,
        "true_boxes": true,
        "images": rng.integers(0, n_images, n),
        "true_images": rng.integers(0, n_images, m),
        "labels": rng.choice(["cat", "dog"], n),
        "true_labels": rng.choice(["cat", "dog"], m),
        "crowd": rng.random(m) < 0.15,
    }


@pytest.mark.parametrize("threshold", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(12))
def test_the_twin_by_loops(seed, threshold):
    given = world(seed, n_images=2)
    m = cal.match_boxes(**given, iou=threshold)
    names = ("boxes", "scores", "true_boxes", "images", "true_images", "labels", "true_labels")
    out, missed = looped(*(given[name] for name in names), given["crowd"], threshold)
    kept = sorted(i for i, found in out.items() if found is not None)
    assert m.rows.tolist() == kept
    assert m.matched.tolist() == [out[i] for i in kept]
    assert m.correct.tolist() == [int(out[i] >= 0) for i in kept]
    assert m.missed.tolist() == missed
    assert m.n_missed == len(missed) and m.n_true == int((~given["crowd"]).sum())
    assert m.n_ignored == len(out) - len(kept)
    for i, own, overlap in zip(m.rows, m.matched, m.iou, strict=True):
        if own >= 0:
            assert overlap == pytest.approx(iou_of(given["boxes"][i], given["true_boxes"][own])[0])
    np.testing.assert_array_equal(m.confidence, given["scores"][kept])
    np.testing.assert_array_equal(m.image, given["images"][kept])


def summary(m, given):
    """What a matching says, apart from the order of rows: rows by their own values."""
    rows = zip(m.confidence, m.correct, np.round(m.iou, 9), m.cx, m.w, m.image, strict=True)
    missed = np.asarray(given["true_boxes"])[m.missed]
    return sorted(rows), sorted(map(tuple, missed)), m.n_ignored


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_rows_does_not_matter_even_with_ties(seed):
    given = world(seed, n_images=2)
    given["scores"] = np.round(given["scores"], 1)  # many boxes have the same score
    given["boxes"][5:9] = given["boxes"][0]  # and some are the same box
    for name in ("images", "labels"):
        given[name][5:9] = given[name][0]
    before = summary(cal.match_boxes(**given), given)
    rng = np.random.default_rng(seed)
    own, true = rng.permutation(len(given["boxes"])), rng.permutation(len(given["true_boxes"]))
    moved = {
        name: values[true if name in ("true_boxes", "true_images", "true_labels", "crowd") else own]
        for name, values in given.items()
    }
    assert summary(cal.match_boxes(**moved), moved) == before


def test_an_overlap_of_exactly_the_threshold_is_enough():
    for iou, width in ((0.5, 2.0), (0.6, 1 / 0.6), (0.3, 1 / 0.3), (1.0, 1.0)):
        m = cal.match_boxes([[0, 0, width, 1]], [0.9], [[0, 0, 1, 1]], iou=iou)
        assert m.correct.tolist() == [1] and m.iou[0] == pytest.approx(iou)
    assert cal.match_boxes([[0, 0, 2.001, 1]], [0.9], [[0, 0, 1, 1]]).correct.tolist() == [0]


def test_a_true_box_is_taken_once_by_the_highest_score():
    true = [[0, 0, 2, 2]]
    near, exact = [0, 0, 2, 1.8], [0, 0, 2, 2]
    m = cal.match_boxes([exact, near], [0.4, 0.9], true)
    assert m.correct.tolist() == [0, 1]
    # Of the same score, the one that overlaps more.
    assert cal.match_boxes([near, exact], [0.9, 0.9], true).correct.tolist() == [0, 1]
    # A box takes the true box that overlaps most, and leaves the other to the next.
    two = cal.match_boxes([exact, near], [0.9, 0.4], [near, exact])
    assert two.matched.tolist() == [1, 0]


def test_images_and_classes_are_matched_by_themselves():
    box = [[0, 0, 2, 2]]
    apart = cal.match_boxes(box, [0.9], box, images=["a"], true_images=["b"])
    assert apart.correct.tolist() == [0] and apart.n_missed == 1 and apart.n_images == 2
    other = cal.match_boxes(box, [0.9], box, labels=["cat"], true_labels=["dog"])
    assert other.correct.tolist() == [0]


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (3, 0)])
def test_images_without_boxes(n, m):
    boxes = [[0, 0, 1 + j, 1] for j in range(5)]
    got = cal.match_boxes(
        boxes[:n],
        [0.5] * n,
        boxes[:m],
        images=["a"] * n,
        true_images=["a"] * m,
        size={"a": (8, 8), "empty": (8, 8)},
    )
    assert got.correct.tolist() == [0] * n and got.missed.tolist() == list(range(m))
    assert got.n_images == 2 and got.weight.tolist() == pytest.approx([1 / 3] * n)
    assert "2 images" in got.title


def test_boxes_in_a_crowd_are_left_out_and_counted():
    true, crowd = [[0, 0, 2, 2], [4, 4, 9, 9]], [False, True]
    m = cal.match_boxes(
        [[0, 0, 2, 2], [5, 5, 6, 6], [3, 3, 4.5, 4.5]], [0.9, 0.8, 0.7], true, crowd=crowd
    )
    assert m.rows.tolist() == [0, 2] and m.correct.tolist() == [1, 0]
    assert m.n_ignored == 1 and m.n_missed == 0 and m.n_true == 1
    assert "1 box in crowd regions left out" in m.title


def test_formats_and_relative_places():
    true = [[1, 1, 3, 2]]
    for box_format, box in (
        ("xyxy", [1, 1, 3, 2]),
        ("xywh", [1, 1, 2, 1]),
        ("cxcywh", [2, 1.5, 2, 1]),
    ):
        given = {"xyxy": true, "xywh": [[1, 1, 2, 1]], "cxcywh": [[2, 1.5, 2, 1]]}[box_format]
        m = cal.match_boxes([box], [0.9], given, box_format=box_format, size=(4, 2))
        assert m.iou.tolist() == [1.0]
        assert [v.item() for v in (m.cx, m.cy, m.w, m.h)] == [0.5, 0.75, 0.5, 0.5]


def test_the_detection_error_in_cells_of_place_and_size():
    """D-ECE: gaps of mean confidence and precision in cells of confidence and box, by loops."""
    rng = np.random.default_rng(4)
    n, k = 600, 3
    corner = rng.uniform(0, 0.6, (n, 2))
    boxes = np.hstack([corner, corner + rng.uniform(0.05, 0.4, (n, 2))])
    right = rng.random(n) < 0.6
    m = cal.match_boxes(
        boxes,
        rng.random(n),
        boxes[right],
        images=np.arange(n),
        true_images=np.arange(n)[right],
        size=(1, 1),
    )
    assert m.correct.tolist() == right.astype(int).tolist()
    sums: dict[tuple[int, ...], list[float]] = {}
    for i in range(n):
        own = (m.confidence[i], m.cx[i], m.cy[i], m.w[i], m.h[i])
        cell = tuple(min(int(value * k), k - 1) for value in own)
        sums.setdefault(cell, [0.0])[0] += m.confidence[i] - m.correct[i]
    expected = sum(abs(total[0]) for total in sums.values()) / n
    assert cal.ece(m.correct, m.confidence, bins=m.cells(k)) == pytest.approx(expected, rel=1e-12)
    by_score = cal.ece(m.correct, m.confidence, bins=m.cells(10, of=["confidence"]))
    assert by_score == pytest.approx(cal.ece(m.correct, m.confidence, bins=10), rel=1e-12)


def test_arrays_go_straight_into_an_evaluation_of_clusters():
    given = world(3, n=200, m=150, n_images=40)
    m = cal.match_boxes(**given)
    found = cal.evaluate(
        m.correct,
        m.confidence,
        groups=m.image,
        sample_weight=m.weight,
        measures=["brier"],
        uncertainty=True,
        n_resamples=50,
    )
    per_image = [
        np.mean((m.correct - m.confidence)[m.image == image] ** 2) for image in np.unique(m.image)
    ]
    assert found["brier"] == pytest.approx(np.mean(per_image), rel=1e-12)
    columns = {key: values[0] for key, values in found.columns().items()}
    assert columns["low"] < found["brier"] < columns["high"]


def test_coco_files(tmp_path):
    truth = {
        "images": [{"id": 1, "width": 10, "height": 20}, {"id": 2, "width": 10, "height": 10}],
        "annotations": [
            {"image_id": 1, "category_id": 3, "bbox": [0, 0, 5, 10], "iscrowd": 0},
            {"image_id": 1, "category_id": 3, "bbox": [5, 10, 5, 10], "iscrowd": 1},
        ],
        "categories": [{"id": 3, "name": "cat"}],
    }
    found = [
        {"image_id": 1, "category_id": 3, "bbox": [0, 0, 5, 9], "score": 0.9},
        {"image_id": 1, "category_id": 3, "bbox": [6, 11, 2, 2], "score": 0.8},
        {"image_id": 1, "category_id": 4, "bbox": [0, 0, 5, 10], "score": 0.7},
    ]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "found.json").write_text(json.dumps(found))
    m = cal.match_boxes(**cal.read_coco(tmp_path / "truth.json", str(tmp_path / "found.json")))
    assert m.correct.tolist() == [1, 0] and m.label.tolist() == ["cat", "4"]
    assert m.n_ignored == 1 and m.n_missed == 0 and m.n_images == 2
    assert m.cx.tolist() == [0.25, 0.25] and m.h.tolist() == [0.45, 0.5]
    with pytest.raises(InputError, match=r"detections\[0\] has no 'score'"):
        cal.read_coco(truth, [{"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]}])
    with pytest.raises(InputError, match="'images' and 'annotations'"):
        cal.read_coco(found, found)
    with pytest.raises(InputError, match="cannot be read"):
        cal.read_coco(tmp_path / "no.json", found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes": [[0, 0, 1]]}, r"shape \(n, 4\)"),
        ({"boxes": [[2, 0, 1, 1]]}, r"boxes\[0\] is no box.*box_format='xywh'"),
        ({"boxes": [[0, 0, np.nan, 1]]}, r"boxes\[0\] is no box"),
        ({"scores": [1.5]}, r"scores\[0\] is 1.5"),
        ({"scores": [0.5, 0.5]}, "scores must have a value for each of 1 box"),
        ({"iou": 0}, "iou must be a number above 0"),
        ({"images": ["a"]}, "both images= and true_images="),
        ({"box_format": "xyx"}, "did you mean 'xyxy'"),
        ({"size": (0, 3)}, "positive width and height"),
        ({"size": {}}, "no width and height of image 0"),
    ],
)
def test_what_is_no_box_is_named(change, message):
    given = {"boxes": [[0, 0, 1, 1]], "scores": [0.5], "true_boxes": [[0, 0, 1, 1]]}
    with pytest.raises(InputError, match=message):
        cal.match_boxes(**{**given, **change})
    far = cal.match_boxes([[0, 0, 50, 50]], [0.5], [[0, 0, 1, 1]])
    with pytest.raises(InputError, match="relative to their images"):
        far.cells()
