"""The page's recalibration chooses its map by data: none that makes predictions worse."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant._api.report import map_choice, recalibration
from calibrant._api.report.recalibration import (
    _halves,
    _learned,
    _still,
    before_after,
    side_by_side,
)
from calibrant._core.binning import both_rules
from calibrant._core.errors import InputError
from calibrant._core.map_names import METHODS
from calibrant._data.to_samples import to_samples
from calibrant.results._pages.report_page import _call
from calibrant.results._pages.rows import map_rows
from calibrant.results._report import BeforeAfter, Change, spoken
from calibrant.scaling import SCALERS, TemperatureScaling

RNG = np.random.default_rng(8)


@pytest.fixture(autouse=True, scope="module")
def _few_limits():
    """Errors before and after each map have limits, which no choice of a map looks at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            recalibration._HeldOut, "_of_error",
            lambda self, measure, now, own: Change(measure.name, self.values[measure.name], now),
        )  # fmt: skip
        yield


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


def test_a_simpler_map_is_given_up_for_a_clear_gain():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < np.where(p < 0.6, 0.12, 0.95)  # a step, which no line of logits follows
    found = map_choice.tried(to_samples(y, p), None)
    scores = found.scores
    assert scores["PlattScaling"] < scores["as they are"] - 0.01
    assert found.chosen == "IsotonicCalibration"


def test_a_map_that_raises_the_score_is_not_chosen_for_being_simple():
    rng = np.random.default_rng(104)
    p = rng.random(200)
    off = 0.2 * ((p > 0.3) & (p < 0.5)) - 0.2 * ((p > 0.5) & (p < 0.7))
    found = map_choice.tried(to_samples(rng.random(200) < np.clip(p + off, 0, 1), p), None)
    scores = found.scores
    assert scores["PlattScaling"] > scores["as they are"] > scores["IsotonicCalibration"]
    assert found.chosen == "IsotonicCalibration"


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
    assert "none of those tried is clearly better than the predictions as they are" in found
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
    assert "No map was chosen." in page and "suits best" not in page
    assert page.count("Beta calibration") >= 2


def reversed_order(n=600):
    rng = np.random.default_rng(4)
    p = rng.random(n)
    return (rng.random(n) < 1 - p).astype(int), p


def test_where_one_class_is_all_that_happens_no_map_is_fitted():
    p = RNG.random(300)
    for y in (np.zeros(300, int), np.ones(300, int)):
        report = cal.report(y, p, measures=["ece"])
        assert report.before_after is None and not report.recalibrations
        assert "y_true holds one class alone" in report.absent["before_after"]


def test_weight_on_one_row_is_a_sentence_and_no_warning():
    y, p = overconfident(200)
    weights = np.zeros(200)
    weights[3] = 1.0
    samples = to_samples(y, p, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = side_by_side(samples, *both_rules(15), groups=None, level=0.95, seed=0)
    assert found.absent == "All weight is on so few rows that one half of them has none."


def test_what_could_not_be_fitted_is_in_sentences(monkeypatch):
    def fails(*arguments):
        raise InputError("these rows are odd")

    monkeypatch.setattr("calibrant._api.report.recalibration._applied", fails)
    samples = to_samples(*overconfident(300))
    found = side_by_side(
        samples, *both_rules(15), groups=None, level=0.95, seed=0, names=("platt", "beta")
    )
    assert found.absent == (
        "No map could be fitted. Platt scaling could not be fitted: these rows are odd. Beta "
        "calibration could not be fitted: these rows are odd."
    )


@pytest.mark.parametrize(("k", "n", "why"), [(100, 600, "20 rows a class"), (120, 600, "at most")])
def test_maps_that_are_left_out_are_named(k, n, why):
    h = RNG.normal(size=(n, k))
    samples = to_samples((h + RNG.gumbel(size=h.shape)).argmax(axis=1), h, from_logits=True)
    found = side_by_side(samples, *both_rules(15), groups=None, level=0.95, seed=0)
    assert [each.method for each in found.maps] == ["TemperatureScaling"]
    assert "Vector scaling and Isotonic calibration were not tried" in found.failed
    assert why in found.failed
    asked = side_by_side(
        samples, *both_rules(15), groups=None, level=0.95, seed=0, names=("temperature",)
    )
    assert asked.failed is None


def test_a_temperature_of_1_changes_nothing():
    scaler = TemperatureScaling()
    scaler.temperature_ = 1.00001
    assert _learned(scaler) == "temperature 1: the predictions stay as they are"
    scaler.temperature_ = 0.99
    assert "surer" in _learned(scaler)


def test_a_choice_is_called_the_best_only_where_the_other_half_agrees():
    before = Change("brier", 0.2, 0.2, low=-0.01, high=0.01)
    table = tried_on(overconfident).before
    chosen = BeforeAfter("PlattScaling", "", "", 9, 9, (before,), table, table, chosen=True)
    clear = replace(chosen, changes=(replace(before, high=-0.001),))
    assert not chosen.helps and clear.helps
    flags = ["", "chosen on the other half", "suits best", "turns the order round"]
    rows = map_rows([chosen, clear, replace(clear, reverses=True)])
    assert [row["flag"] for row in rows] == flags
    text = _still([replace(clear, chosen=False)])
    assert "Platt scaling is clearly lower all the same" in text and _still([chosen]) == ""


def test_the_page_says_that_the_order_is_backwards():
    report = cal.report(*reversed_order(), measures=["ece", "auroc"])
    (said,) = [each for each in report.sentences if "backwards" in each]
    assert "AUROC is 0." in said and "swapped" in said
    platt = next(each for each in report.recalibrations if each.method == "PlattScaling")
    assert any(note.startswith("the slope is negative") for note in platt.notes)
    assert platt.reverses and "turns the order of the predictions round" in platt.outcome
    assert "suits best" not in report.to_html()
    usual = cal.report(*overconfident(300), measures=["ece", "auroc"], recalibrate="platt")
    assert not any("backwards" in each for each in usual.sentences)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(60), 5)])
def test_groups_are_asked_for_where_there_are_none(groups):
    page = cal.report(*overconfident(300), measures=["ece"], groups=groups).to_html()
    assert ("pass groups= so that" in page) == (groups is None)


def test_the_recipe_names_every_argument():
    y, p = overconfident(120)
    counts = np.stack([3 * (1 - y), 3 * y], axis=1)
    report = cal.report(
        counts, p, measures=["ece", "brier"], segments={"site": np.arange(120) % 2}, depth=1,
        resample="rows", recalibrate="platt",
    )  # fmt: skip
    report.recipe["options"]["annotators"] = True
    call = _call(report)
    assert "annotators=..." in call
    for argument in ("segments=...", "depth=1", "measures=['ece', 'brier']", "resample='rows'"):
        assert argument in call
    assert "votes=" not in call
    shares = cal.report(y / 1.0, p, votes=np.full(120, 3), measures=["ece"], recalibrate="platt")
    assert "votes=..." in _call(shares)
