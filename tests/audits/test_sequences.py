"""The audit's search for forecasters who see outcomes finds cheats, and none against losses."""

from itertools import product

import pytest

import calibrant as cal


def expected(value, truth, strategy):
    """The expectation of a strategy, outcome by outcome."""
    total = 0.0
    for y in product((0, 1), repeat=len(truth)):
        chance = 1.0
        for z, p in zip(y, truth, strict=True):
            chance *= p if z else 1 - p
        predictions = [strategy["".join(map(str, y[:i]))] for i in range(len(y))]
        total += chance * value(y, predictions)
    return total


@pytest.mark.parametrize("measure", ["ece", "rmsce", "lin_ce", "atb", "ks_error"])
def test_calibration_errors_are_cheated(measure):
    found = cal.audit(measure, shape="binary", properties=["sequential"])
    row = found.verdict(measure, "sequential")
    assert row.holds is False and row.claim is None
    assert row.evidence["cheat"] < 0.85 * row.evidence["truth"]
    assert found.replay(row) == pytest.approx(row.evidence)

    def value(y, p):
        return cal.evaluate(y, p, measures=[measure])[measure]

    known = expected(value, row.witness["truth"], row.witness["strategy"])
    assert row.evidence["cheat"] == pytest.approx(known)


@pytest.mark.parametrize("measure", ["brier", "log_loss", "spherical_loss"])
def test_proper_losses_are_not(measure):
    row = cal.audit(measure, shape="binary", properties=["sequential"]).rows[0]
    assert row.holds is True
    assert row.evidence["cheat"] == pytest.approx(row.evidence["truth"])


def test_own_measures_over_cells_are_searched():
    def rmse_over_one_cell(y_true, y_proba):
        return cal.ece(y_true, y_proba, norm="l2", bins=cal.Cells([0] * len(y_true)))

    row = cal.audit(rmse_over_one_cell, shape="binary", properties=["sequential"]).rows[0]
    assert row.evidence["cheat"] < 0.6 * row.evidence["truth"]
    assert "sees earlier outcomes" in row.sentence
    assert cal.audit("brier", properties=["sequential"], shape="multiclass").rows == ()
