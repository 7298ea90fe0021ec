"""What the user gives is validated once, however many results are made of it."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant._data import array_input as validation
from cli.command import main

RNG = np.random.default_rng(13)
N = 120
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
SLICES, GROUPS = np.arange(N) % 2, np.arange(N) % 40
SOFT = np.clip(P + 0.1, 0.0, 1.0)
ROWS = np.stack([1 - P, P], axis=1)
# Of the intervals of all measures one way is enough; pages have more parts than those.
FEW = {"measures": ["ece", "brier"], "recalibrate": "temperature"}


@pytest.fixture
def validations(monkeypatch):
    """A list that grows by one whenever all rows are validated; the halves of them that a
    recalibration map is fitted to do not count.
    """
    times = []
    check = validation.checked_predictions

    def counted(predictions):
        if predictions.shape[0] == N:
            times.append(predictions.shape)
        return check(predictions)

    monkeypatch.setattr(validation, "checked_predictions", counted)
    return times


WAYS = {
    "evaluate": lambda: cal.evaluate(Y, P),
    "evaluate in full": lambda: cal.evaluate(
        Y, P, uncertainty=True, by=SLICES, groups=GROUPS, n_resamples=50
    ),
    "evaluate classes": lambda: cal.evaluate(Y, ROWS, by=SLICES),
    "report": lambda: cal.report(Y, P, by=SLICES, groups=GROUPS, **FEW),
    "report soft labels": lambda: cal.report(SOFT, P, **FEW),
    "report classes": lambda: cal.report(Y, ROWS, **FEW),
    "check": lambda: cal.check(
        Y, P, at_most={"ece": 0.5, "brier": 0.5}, by=SLICES, groups=GROUPS, n_resamples=50
    ),
    "reliability": lambda: cal.reliability(Y, P, groups=GROUPS),
    "bin_sensitivity": lambda: cal.bin_sensitivity(Y, P, bins=(5, 10)),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_rows_are_validated_once(validations, way):
    WAYS[way]()
    assert len(validations) == 1


def test_compare_validates_each_predictor_once(validations):
    cal.compare(Y, {"one": P, "other": P**2}, by=SLICES, n_resamples=50)
    assert len(validations) == 2


COMMANDS = {
    "cheap intervals": (),
    "all intervals": ("--all-intervals",),
    "some measures": ("--measures", "ece,brier"),
    "a page": ("-o", "page.html", "--measures", "ece,brier", "--recalibrate", "temperature"),
}


@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_command_validates_rows_once_more_than_the_reader(
    validations, tmp_path, monkeypatch, capsys, command
):
    """The reader checks each batch, to name the line of a bad row; then all rows are checked."""
    monkeypatch.chdir(tmp_path)
    np.savez("rows.npz", label=Y, p=P)
    assert main(["report", "rows.npz", *COMMANDS[command]]) == 0
    assert len(validations) == 2
