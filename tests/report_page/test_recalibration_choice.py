"""The page's recalibration chooses its map by data: none that makes predictions worse."""

import numpy as np
import pytest

import calibrant as cal
from calibrant._api.report.recalibration import before_after
from calibrant._core.binning import both_rules
from calibrant._data.to_samples import to_samples

RNG = np.random.default_rng(8)
N = 3000


def tried(y, p, *, groups=None, **options):
    samples = to_samples(y, p, **options)
    return before_after(samples, *both_rules(15), groups=groups, level=0.95, seed=0)


def overconfident(n=N):
    h = 2 * RNG.normal(size=n)
    return (RNG.random(n) < 1 / (1 + np.exp(-0.6 * h))).astype(int), 1 / (1 + np.exp(-h))


def rounded():
    y, p = overconfident()
    return y, p.round(1)  # 0 and 1 among them, and wrong in every tenth row


def verbal():
    words = np.array([0.8, 0.9, 0.95, 1.0])
    index = RNG.choice(4, N, p=[0.2, 0.3, 0.3, 0.2])
    return (RNG.random(N) < np.array([0.6, 0.75, 0.8, 0.9])[index]).astype(int), words[index]


def change(found, name):
    return next(each for each in found.changes if each.measure == name)


@pytest.mark.parametrize("make", [rounded, verbal, overconfident])
def test_no_kind_of_confidences_is_made_worse(make):
    found = tried(*make())
    for name in ("ece", "log_loss", "brier"):
        assert change(found, name).after < change(found, name).before
    assert change(found, "brier").high < 0 and "clearly better" in found.outcome


def test_wrong_certainties_are_not_left_to_logarithms():
    for make in (rounded, verbal):
        found = tried(*make())
        assert found.method in ("IsotonicCalibration", "HistogramBinning")
        assert found.tried[found.method] < found.tried["as they are"] and not found.notes
    # What was done before this choice: worse than nothing.
    y, p = rounded()
    scores = tried(y, p).tried
    assert scores["PlattScaling"] > scores["as they are"]


def test_ordinary_predictions_get_the_simplest_map():
    found = tried(*overconfident())
    assert found.method == "PlattScaling" and "simplest" in found.why
    assert "Brier score" in found.why and "as they are 0." in found.why
    h = 2 * RNG.normal(size=(N, 4))
    y = (0.6 * h + RNG.gumbel(size=h.shape)).argmax(axis=1)
    found = tried(y, h, from_logits=True)
    assert found.method == "TemperatureScaling"
    assert set(found.tried) > {"VectorScaling", "IsotonicCalibration"}


def test_rounded_rows_of_several_classes():
    h = 2 * RNG.normal(size=(N, 4))
    y = (0.6 * h + RNG.gumbel(size=h.shape)).argmax(axis=1)
    p = np.exp(h) / np.exp(h).sum(axis=1, keepdims=True)
    p = p.round(1) / p.round(1).sum(axis=1, keepdims=True)
    found = tried(y, p)
    assert found.method == "IsotonicCalibration"
    assert change(found, "brier").high < 0 and change(found, "ece").after < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_calibrated_predictions_need_none(seed):
    rng = np.random.default_rng(seed)
    p = rng.random(N)
    found = tried(rng.random(N) < p, p)
    assert "None of those tried is clearly better than the predictions as they are" in found
    assert "Platt scaling 0." in found


def test_soft_labels_weights_and_groups_are_taken():
    y, p = overconfident()
    soft = np.clip(y + RNG.normal(0, 0.1, N), 0, 1)
    groups = np.repeat(np.arange(N // 10), 10)
    found = tried(soft, p, sample_weight=RNG.random(N), groups=groups)
    assert found.method == "PlattScaling" and "whole groups" in found.split


def test_the_page_says_which_and_why():
    y, p = rounded()
    report = cal.report(y[:2000], p[:2000])
    page, change = report.to_html(), report.before_after
    assert "Isotonic calibration, an increasing curve" in page or "Histogram binning" in page
    assert change.why in page and change.outcome in page
    told = report.to_dict()["before_after"]
    assert told["why"] == change.why and told["tried"]["as they are"] > 0
