"""Label-smoothing temperature scaling: its targets, its optimum, and when it is right."""

import math
import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, MULTICLASS, NEW, softmax
from scipy.optimize import minimize_scalar

from calibrant import CalibrantWarning, scaling
from calibrant.scaling import LabelSmoothingTemperature, TemperatureScaling


def twin(labels, logits, weights):
    """epsilon and T of Tao et al. (2026), equation by equation; labels are class indices."""
    k, total = len(logits[0]), math.fsum(weights)
    rows = [[math.exp(h - max(row)) for h in row] for row in logits]
    rows = [[e / math.fsum(row) for e in row] for row in rows]
    held = [w * (1 - p[y]) for y, p, w in zip(labels, rows, weights, strict=True)]
    epsilon = math.fsum(held) / total

    def loss(log_t):
        terms = []
        for y, row, w in zip(labels, logits, weights, strict=True):
            scaled = [h / math.exp(log_t) for h in row]
            top = max(scaled)
            norm = top + math.log(math.fsum(math.exp(h - top) for h in scaled))
            for r in range(k):
                target = epsilon / k + (1 - epsilon if r == y else 0.0)
                terms.append(-w * target * (scaled[r] - norm))
        return math.fsum(terms) / total

    best = minimize_scalar(loss, bounds=(-3, 4), method="bounded", options={"xatol": 1e-9})
    return epsilon, math.exp(best.x)


def test_label_smoothing_is_the_papers_formula():
    few = MULTICLASS.rows(slice(120))
    scaler = LabelSmoothingTemperature().fit(few.hard, few.logits, sample_weight=few.weights)
    epsilon, temperature = twin(few.hard.tolist(), few.logits.tolist(), few.weights.tolist())
    assert scaler.smoothing_ == pytest.approx(epsilon, rel=1e-12)
    assert scaler.temperature_ == pytest.approx(temperature, rel=1e-6)


def test_a_binary_prediction_is_two_classes():
    few = BINARY.rows(slice(120))
    pair = np.stack([-few.logits / 2, few.logits / 2], axis=1)
    scaler = LabelSmoothingTemperature().fit(few.hard, few.logits)
    epsilon, temperature = twin(few.hard.tolist(), pair.tolist(), [1.0] * 120)
    assert scaler.smoothing_ == pytest.approx(epsilon, rel=1e-12)
    assert scaler.temperature_ == pytest.approx(temperature, rel=1e-6)


def test_no_smoothing_is_temperature_scaling_to_the_majority():
    scaler = LabelSmoothingTemperature(smoothing=0).fit(MULTICLASS.soft, MULTICLASS.logits)
    plain = TemperatureScaling().fit(MULTICLASS.soft.argmax(axis=1), MULTICLASS.logits)
    assert scaler.temperature_ == plain.temperature_ and scaler.smoothing_ == 0.0


@pytest.mark.parametrize("smoothing", [None, 0.07])
def test_more_smoothing_is_a_higher_temperature(smoothing):
    plain = TemperatureScaling().fit(MULTICLASS.hard, MULTICLASS.logits)
    scaler = LabelSmoothingTemperature(smoothing=smoothing)
    assert scaler.fit(MULTICLASS.hard, MULTICLASS.logits).temperature_ > plain.temperature_


def test_soft_labels_are_read_as_their_majority():
    soft = LabelSmoothingTemperature().fit(MULTICLASS.soft, MULTICLASS.logits)
    hard = LabelSmoothingTemperature().fit(MULTICLASS.soft.argmax(axis=1), MULTICLASS.logits)
    assert soft.temperature_ == hard.temperature_ and soft.smoothing_ == hard.smoothing_
    assert soft.loss_before_ != hard.loss_before_  # losses are those of the targets as given


def test_classes_that_tie_share_the_majority():
    """So that the order of the columns does not matter."""
    z = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [1 / 3, 1 / 3, 1 / 3], [0, 1, 0]])
    h = np.array([[2.0, 1.0, 0.0], [0.0, -1.0, 1.5], [0.3, 0.1, 0.2], [-1.0, 2.0, 0.0]])
    scaler = LabelSmoothingTemperature().fit(z, h)
    for order in ([2, 0, 1], [1, 0, 2]):
        again = LabelSmoothingTemperature().fit(z[:, order], h[:, order])
        assert again.temperature_ == pytest.approx(scaler.temperature_, rel=1e-12)
    p = softmax(h)
    held = [1 - p[0, :2].mean(), 1 - p[1, 2], 1 - 1 / 3, 1 - p[3, 1]]
    assert scaler.smoothing_ == pytest.approx(np.mean(held), rel=1e-12)


def test_predictions_that_are_right_everywhere_have_a_temperature():
    h = np.array([[4.0, 1, 0], [0, 3, 1], [1, 0, 2], [2, 1, 0], [0, 2, 1], [0, 1, 5]])
    with pytest.warns(CalibrantWarning, match="lower end"):
        TemperatureScaling().fit(h.argmax(axis=1), h)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler = LabelSmoothingTemperature().fit(h.argmax(axis=1), h)
    assert 0.1 < scaler.temperature_ < 10


def test_label_smoothing_is_nearer_to_the_votes_than_a_temperature_of_the_majority():
    """Votes with true shares q, and a predictor that is q but three times as steep. Of the majority
    alone a temperature is far too low, and with smoothed labels it is too high, but costs less.
    """
    rng = np.random.default_rng(8)
    truth = rng.normal(size=(4000, 3)) * 1.6
    q = softmax(truth)
    votes = rng.multinomial(30, q)
    majority = (votes + 1e-3 * rng.random(votes.shape)).argmax(axis=1)
    fits = [
        TemperatureScaling().fit(majority, 3 * truth),
        TemperatureScaling().fit(votes / 30, 3 * truth),
        LabelSmoothingTemperature().fit(majority, 3 * truth),
    ]
    plain, shares, smoothed = (scaler.temperature_ for scaler in fits)
    assert plain < 1 < smoothed and shares == pytest.approx(3, rel=0.03)
    plain, shares, smoothed = (
        -(q * np.log(softmax(3 * truth / scaler.temperature_))).sum(axis=1).mean()
        for scaler in fits
    )
    assert shares < smoothed < plain - 0.5


def test_the_map_is_saved_with_its_smoothing():
    scaler = LabelSmoothingTemperature(smoothing=0.2).fit(MULTICLASS.hard, MULTICLASS.logits)
    again = scaling.from_json(scaler.to_json())
    assert isinstance(again, LabelSmoothingTemperature)
    assert (again.smoothing, again.smoothing_) == (0.2, 0.2)
    new = NEW["multiclass"].logits
    np.testing.assert_array_equal(again.transform(new), scaler.transform(new))
    assert "smoothing_=0.2" in repr(again)
