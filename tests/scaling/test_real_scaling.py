"""Recalibration of a real network, against published numbers. Skipped where it is not at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.scaling import TemperatureScaling, VectorScaling

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CALIBRANT_DATA") or REPOSITORY.parent / "shared" / "data")


@pytest.fixture(scope="module")
def densenet():
    path = FOLDER / "cifar10_densenet40_val_test.npz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not at hand: CALIBRANT_DATA names the folder to look in")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def test_temperature_of_densenet(densenet):
    y, logits = densenet["test_labels"], densenet["test_logits"]
    scaler = TemperatureScaling().fit(densenet["val_labels"], densenet["val_logits"])
    proba = scaler.transform(logits)
    assert scaler.temperature_ == pytest.approx(2.883, abs=1e-3)
    assert cal.ece(y, logits, from_logits=True) == pytest.approx(0.0550, abs=5e-5)
    assert cal.ece(y, proba) == pytest.approx(0.0095, abs=5e-5)
    assert cal.log_loss(y, logits, from_logits=True) == pytest.approx(0.4275, abs=5e-5)
    assert cal.log_loss(y, proba) == pytest.approx(0.2251, abs=5e-5)


def test_losses_told_are_those_of_the_measure(densenet):
    y, logits = densenet["val_labels"], densenet["val_logits"]
    scaler = TemperatureScaling().fit(y, logits)
    assert scaler.loss_before_ == cal.log_loss(y, logits, from_logits=True)
    divided = logits / scaler.temperature_
    assert scaler.loss_ == pytest.approx(cal.log_loss(y, divided, from_logits=True), rel=1e-7)


def test_more_parameters_fit_no_worse(densenet):
    y, logits = densenet["val_labels"], densenet["val_logits"]
    assert VectorScaling().fit(y, logits).loss_ < TemperatureScaling().fit(y, logits).loss_
