"""TensorBoard: what a real log holds after some epochs."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.integrations.tensorboard import log_calibration
from needs import need

need("torch")
need("matplotlib").use("Agg")
need("tensorboard")


def logged(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return events


def test_scalars_and_a_picture_of_every_epoch(tmp_path):
    import matplotlib.pyplot as plt
    from torch.utils.tensorboard import SummaryWriter

    random = np.random.default_rng(0)
    truth = random.integers(2, size=300)
    epochs = [random.random(300), random.random(300)]
    open_before = plt.get_fignums()
    with SummaryWriter(str(tmp_path)) as writer:
        for epoch, p in enumerate(epochs):
            log_calibration(writer, truth, p, step=epoch, measures=["ece", "brier"], bins=10)
    assert plt.get_fignums() == open_before
    events = logged(tmp_path)
    assert set(events.Tags()["scalars"]) == {"calibration/ece", "calibration/brier"}
    found = events.Scalars("calibration/ece")
    assert [each.step for each in found] == [0, 1]
    expected = [cal.ece(truth, p, bins=10) for p in epochs]
    assert [each.value for each in found] == pytest.approx(expected, rel=1e-6)  # float32
    pictures = events.Images("calibration/reliability")
    assert [each.step for each in pictures] == [0, 1]
    assert all(each.encoded_image_string.startswith(b"\x89PNG") for each in pictures)
    assert pictures[0].encoded_image_string != pictures[1].encoded_image_string


def test_logits_of_several_classes_without_a_picture(tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    logits, truth = np.random.default_rng(1).normal(size=(60, 3)), np.arange(60) % 3
    with SummaryWriter(str(tmp_path)) as writer:
        values = log_calibration(
            writer, truth, logits, tag="val", measures=["ece"], from_logits=True, figure=False
        )
    assert values == {"ece": cal.ece(truth, logits, from_logits=True)}
    assert logged(tmp_path).Tags()["scalars"] == ["val/ece"]
    assert not logged(tmp_path).Tags()["images"]
