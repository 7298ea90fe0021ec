"""`calibrant decide --range` and `report --table`: what they print is what the library says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import BETTER, OUTCOMES, REPORTS, binary, run

import calibrant as cal


def test_losses_over_a_range_with_intervals_of_their_differences(tmp_path):
    path, models = binary(tmp_path, q=BETTER), ["--models", "a=p", "b=q"]
    options = ["--thresholds", "0.2", "--recalibration", "none", "--range", "0.1:0.4"]
    found = json.loads(run("decide", path, *models, *options, "--json").stdout)["threshold_losses"]
    risks = {"a": REPORTS, "b": BETTER}
    losses = {m: cal.threshold_loss(OUTCOMES, p, low=0.1, high=0.4) for m, p in risks.items()}
    assert found["model"] == sorted(losses, key=losses.get)
    assert found["loss"] == [losses[name] for name in found["model"]]
    assert found["behind_best"][1] == pytest.approx(np.ptp(found["loss"]), rel=1e-9)
    assert found["low"][1] < found["behind_best"][1] < found["high"][1]
    alone = run("decide", path, "--proba", "p", *options)
    assert "Loss averaged over the thresholds 0.1 to 0.4" in alone.stdout
    assert "behind_best" not in alone.stdout
    wrong = run("decide", path, "--range", "20:5")
    assert wrong.returncode == 3 and "is not a range of thresholds" in wrong.stderr


def test_report_writes_a_table_of_one_model(tmp_path):
    path, table = binary(tmp_path), tmp_path / "one.tex"
    done = run("report", path, "--measures", "brier", "--table", table)
    assert done.returncode == 0, done.stderr
    assert "Brier score $\\downarrow$" in table.read_text(encoding="utf-8")
    wrong = run("report", path, "--table", tmp_path / "one.txt")
    assert wrong.returncode == 3 and "name it .tex or .md" in wrong.stderr
