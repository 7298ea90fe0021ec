"""The page's recalibration chooses its map by data: none that makes predictions worse."""

from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant._api.report.recalibration import _halves, before_after, side_by_side
from calibrant._core.binning import both_rules
from calibrant._core.errors import InputError
from calibrant._core.map_names import METHODS
from calibrant._data.to_samples import to_samples
from calibrant.results._report import spoken
from calibrant.scaling import SCALERS

RNG = np.random.default_rng(8)
N = 3000


def tried(y, p, *, groups=None, **options):
    samples = to_samples(y, p, **options)
    return before_after(samples, *both_rules(15), groups=groups, level=0.95, seed=0)


def overconfident(n=N):
    rng = np.random.default_rng(1)
    h = 2 * rng.normal(size=n)
    return (rng.random(n) < 1 / (1 + np.exp(-0.6 * h))).astype(int), 1 / (1 + np.exp(-h))


def rounded():
    y, p = overconfident()
    return y, p.round(1)  # 0 and 1 among them, and wrong in every tenth row


def verbal():
    words = np.array([0.8, 0.9, 0.95, 1.0])
    index = RNG.choice(4, N, p=[0.2, 0.3, 0.3, 0.2])
    return (RNG.random(N) < np.array([0.6, 0.75, 0.8, 0.9])[index]).astype(int), words[index]


def change(found, name):
    return next(each for each in found.changes if each.measure == name)


@cache
def tried_on(make):
    return tried(*make())


@pytest.mark.parametrize("make", [rounded, verbal, overconfident])
def test_no_kind_of_confidences_is_made_worse(make):
    found = tried_on(make)
    for name in ("ece", "log_loss", "brier"):
        assert change(found, name).after < change(found, name).before
    assert change(found, "brier").high < 0 and "clearly better" in found.outcome


def test_wrong_certainties_are_not_left_to_logarithms():
    for make in (rounded, verbal):
        found = tried_on(make)
        assert found.method in ("IsotonicCalibration", "HistogramBinning")
        assert found.tried[found.method] < found.tried["as they are"] and not found.notes
    # What was done before this choice: worse than nothing.
    scores = tried_on(rounded).tried
    assert scores["PlattScaling"] > scores["as they are"]


def test_ordinary_predictions_get_the_simplest_map():
    found = tried_on(overconfident)
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


@pytest.mark.parametrize("seed", range(2))
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
    report = cal.report(y[:2000], p[:2000], measures=["ece"])
    page, change = report.to_html(), report.before_after
    assert f"<b>{change.method_name}</b>, {change.learned}" in page
    assert change.why in page and change.outcome in page
    assert "predictions of exactly 0 or 1" in change.why
    told = report.to_dict()["before_after"]
    assert told["why"] == change.why and told["tried"]["as they are"] > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_maps_side_by_side_are_those_of_the_scalers_on_rows_not_fitted(weighted):
    y, p = overconfident(900)
    w = np.linspace(0.5, 2, 900) if weighted else None
    samples = to_samples(y, p, sample_weight=w)
    found = side_by_side(samples, *both_rules(15), groups=None, level=0.9, seed=3)
    assert [each.method for each in found.maps] == [
        METHODS[name] for name in ("platt", "beta", "isotonic", "histogram")
    ]
    assert sum(each.chosen for each in found.maps) == 1 and found.chosen in found.maps
    fitted, rest, _ = _halves(samples, None, 3)
    own = {"sample_weight": None if w is None else w[fitted]}
    held = {"sample_weight": None if w is None else w[rest]}
    after = {
        each.method: SCALERS[each.method]().fit(y[fitted], p[fitted], **own).transform(p[rest])
        for each in found.maps
    }
    measures = ["ece", "log_loss", "brier"]
    compared = cal.compare(
        y[rest], {"before": p[rest], **after}, measures=measures, level=0.9, n_resamples=50, **held
    )
    for each in found.maps:
        for name in measures:
            row = change(each, name)
            assert row.before == pytest.approx(compared.value("before", name))
            assert row.after == pytest.approx(compared.value(each.method, name))
        for name in ("log_loss", "brier"):
            row, apart = change(each, name), compared.difference(each.method, "before", name)
            assert (row.low, row.high) == pytest.approx((apart.low, apart.high))


def test_changes_of_losses_have_room_where_hardly_a_row_is_wrong():
    """Of rows that are all right the losses change by one number: limits were a point."""
    y = np.arange(200) % 2
    p = np.where(y, 0.8, 0.2)
    samples = to_samples(y, p)
    found = side_by_side(samples, *both_rules(15), groups=None, level=0.95, seed=3)
    _, rest, _ = _halves(samples, None, 3)
    platt = found.maps[0]
    for name in ("log_loss", "brier"):
        row = change(platt, name)
        assert row.low == pytest.approx(row.after - row.before)
        # A miss costs more after it, and 3.69 of them are possible.
        assert row.high > row.low + 3.6 * 0.3 / len(y[rest])


def test_maps_can_be_named():
    y, p = overconfident(600)
    report = cal.report(y, p, measures=["ece"], recalibrate=["isotonic", "temperature", "isotonic"])
    assert [each.method_name for each in report.recalibrations] == [
        "Isotonic calibration", "Temperature scaling"
    ]  # fmt: skip
    assert report.recipe["options"]["recalibrate"] == "isotonic, temperature"
    page = report.to_html()
    assert "recalibrate=[&#39;isotonic&#39;, &#39;temperature&#39;]" in page
    told = report.to_dict()["recalibrations"]
    assert [each["chosen"] for each in told].count(True) == 1
    alone = cal.report(y, p, measures=["ece"], recalibrate="beta")
    assert [each.method for each in alone.recalibrations] == ["BetaCalibration"]


@pytest.mark.parametrize(
    ("names", "said"),
    [("betta", "did you mean 'beta'"), ([], "one map or more"), (3, "one map or more"),
     (["beta", None], "no map")],
)  # fmt: skip
def test_names_of_maps_are_checked(names, said):
    with pytest.raises(InputError, match=said):
        cal.report([0, 1] * 60, [0.2, 0.7] * 60, recalibrate=names)


def test_every_map_has_a_name_and_goes_on_a_page():
    assert set(METHODS.values()) == set(SCALERS)
    h = 2 * RNG.normal(size=(200, 3))
    y = (0.6 * h + RNG.gumbel(size=h.shape)).argmax(axis=1)
    samples = to_samples(y, h, from_logits=True)
    found = side_by_side(
        samples, *both_rules(5), groups=None, level=0.95, seed=0, names=tuple(METHODS)
    )
    done = {each.method for each in found.maps}
    assert done | {m for m in SCALERS if spoken(m) in (found.failed or "")} == set(SCALERS)
    assert all(each.learned for each in found.maps) and len(done) >= 6
    words = {each.method: each.learned for each in found.maps}
    for kind, said in {
        "SplineScaling": "an increasing spline for each class over the logit, with",
        "VennAbers": "two increasing staircases for each class, through",
        "PriorShift": "from class shares of 0.",
        "CentredIsotonic": "an increasing curve for each class",
    }.items():
        assert words[kind].startswith(said)


def test_where_none_helps_all_are_shown():
    rng = np.random.default_rng(0)
    p = rng.random(800)
    report = cal.report(rng.random(800) < p, p, measures=["ece"])
    assert report.before_after is None and len(report.recalibrations) == 4
    page = report.to_html()
    assert "No map helps enough." in page and "suits best" not in page
    assert page.count("Beta calibration") >= 2
