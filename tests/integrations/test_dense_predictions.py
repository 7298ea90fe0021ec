"""Maps of predictions in the torchmetrics metric: the numbers of the same rows laid out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from needs import need

torch = need("torch")


@pytest.fixture(scope="module", autouse=True)
def _late_imports():
    """Every process collects this file and one runs it: the package is imported then."""
    global CalibrationMetric
    need("torchmetrics")
    from calibrant.integrations.torchmetrics import CalibrationMetric


B, K, H, W = 3, 4, 5, 6
DRAW = torch.Generator().manual_seed(11)
LOGITS = 2 * torch.randn(B, K, H, W, generator=DRAW, dtype=torch.float64)
LABELS = torch.randint(0, K, (B, H, W), generator=DRAW)
SOFT = torch.randn(B, K, H, W, generator=DRAW, dtype=torch.float64).softmax(dim=1)
WEIGHTS = torch.rand(B, H, W, generator=DRAW, dtype=torch.float64)
MEASURES = ["ece", "classwise_ece", "log_loss", "brier"]
LOGIT = {"num_classes": K, "from_logits": True}


def rows(values: Any) -> Any:
    """One row a position, image by image, by a loop: no axis can be taken for another."""
    places = [(b, i, j) for b in range(B) for i in range(H) for j in range(W)]
    if values.ndim == 4:
        return np.array([[float(values[b, c, i, j]) for c in range(K)] for b, i, j in places])
    return np.array([values[place].item() for place in places])


def value(metric: Any) -> dict[str, float]:
    found = metric.compute()
    return {name: x.item() for name, x in found.items()}


def by_hand(preds: Any, target: Any, **options: Any) -> Any:
    return pytest.approx(
        cal.evaluate(target, preds, measures=MEASURES, **options).values, rel=1e-12
    )


@pytest.mark.parametrize("labels", [LABELS, SOFT], ids=["hard", "soft"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_map_is_its_positions(labels, weights):
    metric = CalibrationMetric(MEASURES, **LOGIT)
    for image in range(B):
        own = None if weights is None else weights[image : image + 1]
        metric.update(LOGITS[image : image + 1], labels[image : image + 1], sample_weight=own)
    weighted = {} if weights is None else {"sample_weight": rows(weights)}
    assert value(metric) == by_hand(rows(LOGITS), rows(labels), from_logits=True, **weighted)
    assert metric.accumulator().n_rows == B * H * W


def test_layouts_of_memory_and_numbers_of_dimensions_change_nothing():
    expected = by_hand(rows(LOGITS), rows(LABELS), from_logits=True)
    channels_last = LOGITS.to(memory_format=torch.channels_last)
    for preds, target in (
        (channels_last, LABELS),
        (LOGITS.flatten(2), LABELS.flatten(1)),  # tokens: (B, K, T)
        (LOGITS.unsqueeze(3), LABELS.unsqueeze(2)),  # volumes: (B, K, H, 1, W)
        (LOGITS.numpy(), LABELS.numpy()),
        (LOGITS.movedim(1, -1).flatten(0, 2), LABELS.flatten()),
    ):
        metric = CalibrationMetric(MEASURES, **LOGIT)
        metric.update(preds, target)
        assert value(metric) == expected


@pytest.mark.parametrize("ignored", [255, -100, 2])
def test_ignored_positions_are_left_out_before_they_are_looked_at(ignored):
    labels, preds = LABELS.clone(), LOGITS.clone()
    labels[:, ::2, 1] = ignored
    labels[1] = ignored  # a whole image
    out = labels == ignored
    preds.movedim(1, -1)[out] = torch.nan
    metric = CalibrationMetric(MEASURES, ignore_index=ignored, **LOGIT)
    for image in range(B):
        metric.update(
            preds[image : image + 1],
            labels[image : image + 1],
            sample_weight=WEIGHTS[image : image + 1],
        )
    kept = rows(~out)
    assert value(metric) == by_hand(
        rows(LOGITS)[kept], rows(LABELS)[kept], from_logits=True, sample_weight=rows(WEIGHTS)[kept]
    )
    assert metric.accumulator().n_rows == int(kept.sum())


def test_soft_labels_are_ignored_where_every_class_is():
    soft = SOFT.clone()
    soft.movedim(1, -1)[LABELS == 1] = -1.0
    kept = rows(LABELS) != 1
    metric = CalibrationMetric(MEASURES, ignore_index=-1, **LOGIT)
    metric.update(LOGITS, soft)
    expected = by_hand(rows(LOGITS)[kept], rows(SOFT)[kept], from_logits=True)
    assert value(metric) == expected
    flat = CalibrationMetric(MEASURES, ignore_index=-1, **LOGIT)  # and of plain rows
    flat.update(torch.tensor(rows(LOGITS)), torch.tensor(rows(soft)))
    assert value(flat) == expected


def test_soft_labels_that_hold_the_index_in_some_classes_stay():
    one_hot = torch.nn.functional.one_hot(LABELS, K).movedim(-1, 1).double()
    metric = CalibrationMetric(MEASURES, ignore_index=0, **LOGIT)
    metric.update(LOGITS, one_hot)
    assert metric.accumulator().n_rows == B * H * W
    assert value(metric) == by_hand(rows(LOGITS), rows(LABELS), from_logits=True)


@pytest.mark.parametrize("channel", [False, True], ids=["(B, H, W)", "(B, 1, H, W)"])
def test_binary_maps(channel):
    preds, labels = LOGITS[:, 0].sigmoid(), (LABELS > 1).long()
    labels[0, :2] = 255
    kept = rows(labels) != 255
    metric = CalibrationMetric(["ece", "log_loss"], num_classes=1, ignore_index=255)
    for first in range(2):  # both ways in which the channel is kept
        part = preds.unsqueeze(1) if channel else preds
        metric.update(part, labels.unsqueeze(1) if channel and first else labels)
    expected = cal.evaluate(
        np.tile(rows(labels)[kept], 2), np.tile(rows(preds)[kept], 2), measures=["ece", "log_loss"]
    )
    assert value(metric) == pytest.approx(expected.values, rel=1e-12)
    assert metric.higher_is_better is False
    single = CalibrationMetric("ece", num_classes=1)
    single.update(preds.flatten(), (LABELS > 1).flatten())
    assert single.compute().item() == pytest.approx(
        cal.ece(rows(LABELS) > 1, rows(preds)), rel=1e-12
    )


def test_parts_of_maps_add_up_as_ranks_do():
    one = CalibrationMetric(MEASURES, ignore_index=0, **LOGIT)
    one.update(LOGITS, LABELS)
    ranks = [CalibrationMetric(MEASURES, ignore_index=0, **LOGIT) for _ in range(2)]
    ranks[0].update(LOGITS[:1], LABELS[:1])
    ranks[1].update(LOGITS[1:], LABELS[1:])
    both = ranks[0].accumulator().merge(ranks[1].accumulator()).evaluate()
    assert both.values == pytest.approx(value(one), rel=1e-12)
    assert torch.equal(one.cells[..., 0], ranks[0].cells[..., 0] + ranks[1].cells[..., 0])


def test_a_batch_of_nothing_but_ignored_positions_adds_nothing():
    metric = CalibrationMetric("ece", ignore_index=255, **LOGIT)
    metric.update(LOGITS, torch.full_like(LABELS, 255))
    assert metric.accumulator().n_rows == 0 and metric.compute().isnan()


@pytest.mark.parametrize(
    ("options", "preds", "target", "weights", "match"),
    [
        (LOGIT, LOGITS[:, :3], LABELS, None, r"second dimension must be the 4 classes"),
        (LOGIT, LOGITS.movedim(1, -1), LABELS, None, r"give preds.movedim\(-1, 1\)"),
        (LOGIT, LOGITS, LABELS[:2], None, r"target must have the shape \(3, 5, 6\).*\(2, 5, 6\)"),
        (LOGIT, LOGITS, LABELS[:, None], None, r"target must have the shape \(3, 5, 6\)"),
        (LOGIT, LOGITS, LABELS, WEIGHTS[:, 0], r"sample_weight must have a weight for each pos"),
        ({}, SOFT[:, 0], LABELS, None, r"num_classes=1 for binary predictions of any shape"),
        ({}, SOFT[:, 0].tolist(), LABELS, None, r"has the shape \(3, 5, 6\).*num_classes=1"),
        ({"num_classes": 1}, SOFT, LABELS, None, r"target must have the same"),
        ({"num_classes": 1}, SOFT[:, 0], LABELS, None, r"target\[0\] is 3.*positions of preds"),
        ({"ignore_index": 9}, SOFT[0, 0, 0], LABELS[0, :, 0], None, "same number of rows; got 5"),
        ({"ignore_index": 9}, SOFT[0, 0, 0], 1, None, "got a single number and 6"),
    ],
)
def test_shapes_that_do_not_fit_are_named(options, preds, target, weights, match):
    if options == {"num_classes": 1} and preds.ndim == 3:
        target = torch.full_like(target, 3)
    metric = CalibrationMetric("ece", **options)
    with pytest.raises(InputError, match=match):
        metric.update(preds, target, sample_weight=weights)
    assert metric.accumulator().n_rows == 0


def test_a_bad_position_is_named_among_those_that_count():
    preds, labels = LOGITS.clone(), LABELS.clone()
    preds[0, 1, 0, 3] = torch.inf
    labels[0, 0, :2] = 255
    metric = CalibrationMetric("ece", ignore_index=255, **LOGIT)
    message = r"preds\[1, 1\] is inf.*positions of preds \(3, 4, 5, 6\) in order, without"
    with pytest.raises(InputError, match=message):
        metric.update(preds, labels)
