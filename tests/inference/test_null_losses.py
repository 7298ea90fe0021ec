"""Losses under the reports: closed forms of many rows, beside draws of every one."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.inference import null_losses as module
from calibrant.inputs.accept import accept

LOSSES = ("brier", "log_loss", "spherical_loss", "classification_error", "confidence_loss")


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_and_scatter_are_those_of_drawn_outcomes(weighted):
    rng = np.random.default_rng(3)
    n, draws = 600, 3000
    p = rng.dirichlet([0.6, 1.0, 2.0, 0.3], n)
    w = rng.random(n) if weighted else None
    found = module.null_losses(accept(np.zeros(n, int), p, sample_weight=w), draws, 0)
    through = p.cumsum(axis=1)[:, :-1]
    functions = [cal.brier_score, cal.log_loss, cal.spherical_loss, cal.classification_error,
                 cal.confidence_loss]  # fmt: skip
    drawn = np.array([
        [function(y, p, sample_weight=w) for function in functions]
        for y in ((through < rng.random(n)[:, None]).sum(axis=1) for _ in range(draws // 5))
    ])  # fmt: skip
    for name, column in zip(LOSSES, drawn.T, strict=True):
        scatter = column.std(ddof=1)
        assert abs(found[name].mean() - column.mean()) < 5 * scatter / np.sqrt(draws // 5)
        assert found[name].std(ddof=1) == pytest.approx(scatter, rel=0.15)


def test_many_rows_take_the_closed_form():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(50), module.MANY_ENTRIES // 50 + 1)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random(len(p))[:, None]).sum(axis=1)
    floor = cal.noise_floor(y, p, measure="brier")
    assert floor.method == "mean and variance under the reports"
    assert floor.mean == pytest.approx(1 - (p**2).sum(axis=1).mean(), abs=1e-4)
    assert floor.p_value > 0.001
