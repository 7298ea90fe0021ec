"""threshold_loss: an average over thresholds of what decisions cost, in closed form."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

import calibrant as cal

RNG = np.random.default_rng(36)
N = 40
P = RNG.uniform(0.01, 0.99, N)
KINDS = {"hard": (RNG.random(N) < P).astype(float), "soft": RNG.random(N)}
WEIGHTS = RNG.random(N)
RANGES = [(0.0, 1.0), (0.05, 0.3), (0.4, 0.9)]


def cost(t: float, p: float, z: float) -> float:
    """Twice what acting from t on costs, if the event happens with probability z."""
    return 2 * (t * (p >= t) * (1 - z) + (1 - t) * (p < t) * z)


def twin(y, p, w, low, high, density, *, divided=True):
    """The definition, by quadrature: the integral of the cost, less that of the label's own."""
    total = 0.0
    for yi, pi, wi in zip(y, p, w, strict=True):
        ends = [low, *sorted(x for x in {pi, yi} if low < x < high), high]
        for a, b in pairwise(ends):
            excess = lambda t: density(t) * (cost(t, pi, yi) - cost(t, yi, yi))  # noqa: B023, E731
            total += wi * integrate.quad(excess, a, b, epsabs=1e-13, epsrel=1e-12)[0]
    scale = integrate.quad(density, low, high, epsabs=1e-13)[0] if divided else 1.0
    return total / math.fsum(w) / scale


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("weight", ["uniform", (2.0, 8.0), (3.0, 1.5)])
def test_it_agrees_with_quadrature(kind, low, high, weight):
    y = KINDS[kind]
    density = (lambda t: 1.0) if weight == "uniform" else stats.beta(*weight).pdf
    found = cal.threshold_loss(y, P, low=low, high=high, weight=weight, sample_weight=WEIGHTS)
    assert found == pytest.approx(twin(y, P, WEIGHTS, low, high, density), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("low", "high"), RANGES[1:])
def test_log_weights_agree_with_quadrature(kind, low, high):
    y = KINDS[kind]
    expected = twin(y, P, np.ones(N), low, high, lambda t: 0.5 / (t * (1 - t)), divided=False)
    assert cal.threshold_loss(y, P, low=low, high=high, weight="log") == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("w", [None, WEIGHTS])
def test_over_all_thresholds_they_are_the_proper_losses(kind, w):
    y = KINDS[kind]
    close = partial(pytest.approx, rel=1e-12)
    assert cal.threshold_loss(y, P, sample_weight=w) == close(
        cal.brier_score(y, P, sample_weight=w)
    )
    assert cal.threshold_loss(y, P, sample_weight=w, weight=(1, 1)) == close(
        cal.brier_score(y, P, sample_weight=w)
    )
    log = cal.log_loss if kind == "hard" else cal.kl
    assert cal.threshold_loss(y, P, sample_weight=w, weight="log") == close(
        log(y, P, sample_weight=w)
    )


def test_at_one_threshold_it_is_the_net_benefit():
    y, t, step = KINDS["hard"], 0.35, 1e-9
    curve = cal.decision_curve(y, P, thresholds=[t], recalibration=None)
    found = cal.threshold_loss(y, P, low=t - step, high=t + step)
    expected = 2 * (1 - t) * (y.mean() - curve.net_benefit("model")[0])
    assert found == pytest.approx(expected, abs=1e-6)


def test_differences_are_those_of_clipped_brier_scores():
    y, other, low, high = KINDS["hard"], P**1.5, 0.1, 0.4
    loss = partial(cal.threshold_loss, y, low=low, high=high)
    clipped = [cal.brier_score(y, np.clip(each, low, high)) for each in (P, other)]
    assert loss(P) - loss(other) == pytest.approx(
        (clipped[0] - clipped[1]) / (high - low), rel=1e-9
    )


def test_the_truth_has_the_lowest_expected_loss():
    true = np.array([0.12, 0.2, 0.33])
    for weight in ("uniform", "log", (2.0, 5.0)):
        expected = partial(cal.threshold_loss, true, low=0.1, high=0.4, weight=weight)
        for moved in (true + 0.03, true - 0.03):
            assert expected(true) == 0.0 < expected(moved)


def test_the_closest_prediction_to_the_range_is_all_that_counts():
    y = KINDS["hard"]
    loss = partial(cal.threshold_loss, y, low=0.2, high=0.5)
    assert loss(P) == pytest.approx(loss(np.clip(P, 0.2, 0.5)), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"low": 0.3, "high": 0.3}, "0 <= low < high <= 1; got 0.3 and 0.3"),
        ({"low": 5, "high": 30}, "If they are percentages, divide them by 100"),
        ({"weight": "brier"}, "weight must be 'uniform', 'log', or the two parameters"),
        ({"weight": (0, 1)}, "weight must be"),
        ({"weight": (500.0, 1.0), "high": 0.001}, "has no weight between 0 and 0.001"),
    ],
)
def test_what_makes_no_sense_is_an_error(options, said):
    with pytest.raises(cal.InputError, match=said.replace("(", r"\(")):
        cal.threshold_loss(KINDS["hard"], P, **options)
