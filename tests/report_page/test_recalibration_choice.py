"""The page's recalibration chooses its map by data: none that makes predictions worse."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant._api.report import recalibration
from calibrant._api.report.recalibration import (
    _describe_map,
    _halves,
    _note_on_held_out,
    side_by_side,
)
from calibrant._core.binning import both_rules
from calibrant._core.map_names import METHODS
from calibrant._data.to_samples import to_samples
from calibrant.results import BeforeAfter, Change
from calibrant.results._pages.report_page import _python_call
from calibrant.results._pages.rows import map_rows
from calibrant.results._report import method_in_words
from calibrant.scaling import SCALERS, TemperatureScaling
from calibrant.scaling._load import new_scaler

RNG = np.random.default_rng(8)


@pytest.fixture(autouse=True, scope="module")
def _few_limits():
    """Errors before and after each map have limits, which no choice of a map looks at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            recalibration._HeldOut,
            "_error_change",
            lambda self, measure, now, own: Change(measure.name, self.values[measure.name], now),
        )
        yield


N = 3000


def tried(y, p, *, groups=None, **options):
    samples = to_samples(y, p, **options)
    found = side_by_side(samples, *both_rules(15), groups=groups, level=0.95, seed=0)
    return found.chosen or found.absent or ""


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
    assert change(found, "brier").high < 0 and "significantly improves" in found.outcome


def test_the_reason_is_that_of_recommend():
    for make in (rounded, overconfident):
        found, best = tried_on(make), cal.recommend(*make())
        assert METHODS[best.best] == found.method and found.why.endswith(best.why)
        assert found.tried == {METHODS.get(row.map, row.map): row.loss for row in best}


def several_classes(k=4, n=N, temperature=0.6):
    rng = np.random.default_rng(5)
    h = 2 * rng.normal(size=(n, k))
    return (temperature * h + rng.gumbel(size=h.shape)).argmax(axis=1), h


@pytest.mark.parametrize("case", ["binary", "calibrated", "step", "groups", "classes", "weights"])
def test_the_page_and_recommend_choose_one_map(case):
    """The page chose by another rule (Brier score, two errors, few maps), and contradicted it."""
    rng = np.random.default_rng(0)
    (y, p), options, groups = overconfident(1200), {}, None
    if case == "calibrated":
        y, p = rng.random(1200) < p, p
    elif case == "step":
        y = rng.random(1200) < np.where(p < 0.6, 0.12, 0.95)
    elif case == "groups":
        groups = np.arange(1200) // 20
    elif case == "weights":
        options = {"sample_weight": rng.random(1200)}
    elif case == "classes":
        (y, p), options = several_classes(n=800), {"from_logits": True}
    best = cal.recommend(y, p, groups=groups, **options)
    found = tried(y, p, groups=groups, **options)
    if best.helps:
        assert found.method == METHODS[best.best] and found.chosen
    else:
        assert found.startswith("No map was chosen.") and best.why in found
    assert best.helps == (case != "calibrated")


def test_the_chosen_map_is_shown_among_those_that_readers_know():
    samples = to_samples(*overconfident(1200))
    found = side_by_side(samples, *both_rules(15), groups=None, level=0.95, seed=0)
    assert [each.method for each in found.maps] == [
        METHODS[name] for name in ("temperature", "platt", "beta", "isotonic", "histogram")
    ]
    assert found.chosen.method == "TemperatureScaling"


def test_soft_labels_weights_and_groups_are_taken():
    y, p = overconfident()
    soft = np.clip(y + RNG.normal(0, 0.1, N), 0, 1)
    groups = np.repeat(np.arange(N // 10), 10)
    found = tried(soft, p, sample_weight=RNG.random(N), groups=groups)
    assert found.method == "TemperatureScaling" and "whole groups" in found.split


def test_the_page_says_which_and_why():
    y, p = rounded()
    report = cal.report(y[:2000], p[:2000], measures=["ece"])
    page, change = report.to_html(), report.before_after
    assert f"<b>{change.method_name}</b>, {change.learned}" in page
    assert change.why in page and change.outcome in page
    assert "The rule of cal.recommend and calibrant scale --map auto" in change.why
    told = report.to_dict()["before_after"]
    assert told["why"] == change.why and told["tried"]["unchanged"] > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_maps_side_by_side_are_those_of_the_scalers_on_rows_not_fitted(weighted):
    y, p = overconfident(900)
    w = np.linspace(0.5, 2, 900) if weighted else None
    samples = to_samples(y, p, sample_weight=w)
    found = side_by_side(samples, *both_rules(15), groups=None, level=0.9, seed=3)
    assert [each.method for each in found.maps] == [
        METHODS[name] for name in ("temperature", "platt", "beta", "isotonic", "histogram")
    ]
    assert sum(each.chosen for each in found.maps) == 1 and found.chosen in found.maps
    fitted, rest, _ = _halves(samples, None, 3)
    own = {"sample_weight": None if w is None else w[fitted]}
    held = {"sample_weight": None if w is None else w[rest]}
    after = {
        each.method: new_scaler(each.method).fit(y[fitted], p[fitted], **own).transform(p[rest])
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
        "Isotonic calibration",
        "Temperature scaling",
    ]
    assert report.recipe["options"]["recalibrate"] == "isotonic, temperature"
    page = report.to_html()
    assert "recalibrate=[&#39;isotonic&#39;, &#39;temperature&#39;]" in page
    told = report.to_dict()["recalibrations"]
    assert [each["chosen"] for each in told].count(True) == 1
    alone = cal.report(y, p, measures=["ece"], recalibrate="beta")
    assert [each.method for each in alone.recalibrations] == ["BetaCalibration"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("betta", "did you mean 'beta'"),
        ([], "at least one map"),
        (3, "at least one map"),
        (["beta", None], "not a map"),
    ],
)
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
    failed = {m for m in SCALERS if method_in_words(m) in (found.failed or "")}
    assert done | failed == set(SCALERS)
    assert all(each.learned for each in found.maps) and len(done) >= 6
    words = {each.method: each.learned for each in found.maps}
    for kind, said in {
        "SplineScaling": "an increasing spline of the logit for each class, with",
        "VennAbers": "two increasing step functions for each class, with",
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
        assert "y_true holds only one class" in report.absent["before_after"]


def test_weight_on_one_row_is_a_sentence_and_no_warning():
    y, p = overconfident(200)
    weights = np.zeros(200)
    weights[3] = 1.0
    samples = to_samples(y, p, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = side_by_side(samples, *both_rules(15), groups=None, level=0.95, seed=0)
    assert found.absent == "All weight is on a few rows, so one half has no weight."


def test_what_could_not_be_fitted_is_in_sentences(monkeypatch):
    def fails(*arguments):
        raise InputError("these rows are odd")

    monkeypatch.setattr("calibrant._api.report.recalibration._fit_and_measure", fails)
    samples = to_samples(*overconfident(300))
    found = side_by_side(
        samples, *both_rules(15), groups=None, level=0.95, seed=0, names=("platt", "beta")
    )
    assert found.absent == (
        "No map could be fitted. Platt scaling could not be fitted: these rows are odd. Beta "
        "calibration could not be fitted: these rows are odd."
    )


def test_maps_that_are_left_out_are_named():
    y, h = several_classes(100, 600)
    samples = to_samples(y, h, from_logits=True)
    found = side_by_side(samples, *both_rules(15), groups=None, level=0.95, seed=0)
    assert [each.method for each in found.maps] == ["TemperatureScaling"]
    assert "Not tried: platt, quadratic, " in found.failed and "20 rows per class" in found.failed
    asked = side_by_side(
        samples, *both_rules(15), groups=None, level=0.95, seed=0, names=("temperature",)
    )
    assert asked.failed is None


def test_a_temperature_of_1_changes_nothing():
    scaler = TemperatureScaling()
    scaler.temperature_ = 1.00001
    assert _describe_map(scaler) == "temperature 1: the predictions are unchanged"
    scaler.temperature_ = 0.99
    assert "more confident" in _describe_map(scaler)


def test_parameters_of_a_map_are_told_without_dust():
    scaler = cal.PlattScaling()
    scaler.slope_, scaler.intercept_ = [1.811e-16], [0.5]
    assert _describe_map(scaler) == "slope 0 and intercept 0.5 on the logit scale"
    flat = cal.IsotonicCalibration().fit([0, 1, 0, 1], [0.4, 0.4, 0.6, 0.6])
    assert _describe_map(flat) == "an increasing curve through 1 value"


def test_a_choice_is_called_the_best_only_where_the_other_half_agrees():
    before = Change("brier", 0.2, 0.2, low=-0.01, high=0.01)
    table = tried_on(overconfident).before
    chosen = BeforeAfter(
        method="PlattScaling",
        learned="",
        split="",
        n_fitted=9,
        n_measured=9,
        changes=(before,),
        before=table,
        after=table,
        chosen=True,
    )
    clear = replace(chosen, changes=(replace(before, high=-0.001),))
    assert not chosen.helps and clear.helps
    flags = ["", "chosen, no clear gain here", "suits best", "reverses the order"]
    rows = map_rows([chosen, clear, replace(clear, reverses=True)])
    assert [row["flag"] for row in rows] == flags
    text = _note_on_held_out([replace(clear, chosen=False)])
    assert (
        "Platt scaling significantly lowers the Brier score; with 1 maps" in text
        and _note_on_held_out([chosen]) == ""
    )


def test_the_page_says_that_the_order_is_backwards():
    report = cal.report(*reversed_order(), measures=["ece", "auroc"])
    (said,) = [each for each in report.sentences if "reversed" in each]
    assert "AUROC is 0." in said and "swapped" in said
    platt = next(each for each in report.recalibrations if each.method == "PlattScaling")
    assert any(note.startswith("the slope is negative") for note in platt.notes)
    assert platt.reverses and "reverses the order of the predictions" in platt.outcome
    assert "suits best" not in report.to_html()
    usual = cal.report(*overconfident(300), measures=["ece", "auroc"], recalibrate="platt")
    assert not any("reversed" in each for each in usual.sentences)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(60), 5)])
def test_groups_are_asked_for_where_there_are_none(groups):
    page = cal.report(*overconfident(300), measures=["ece"], groups=groups).to_html()
    assert ("pass groups= so that" in page) == (groups is None)


def test_the_recipe_names_every_argument():
    y, p = overconfident(120)
    counts = np.stack([3 * (1 - y), 3 * y], axis=1)
    report = cal.report(
        counts,
        p,
        measures=["ece", "brier"],
        segments={"site": np.arange(120) % 2},
        depth=1,
        resample="rows",
        recalibrate="platt",
    )
    report.recipe["options"]["annotators"] = True
    call = _python_call(report)
    assert "annotators=..." in call
    for argument in ("segments=...", "depth=1", "measures=['ece', 'brier']", "resample='rows'"):
        assert argument in call
    assert "votes=" not in call
    shares = cal.report(y / 1.0, p, votes=np.full(120, 3), measures=["ece"], recalibrate="platt")
    assert "votes=..." in _python_call(shares)


def test_distances_to_votes_stand_beside_the_error_of_means():
    """Fitted to votes, a map lowers the ECE against them and may raise the distance of rows."""
    rng = np.random.default_rng(1)
    people = rng.dirichlet([0.1, 0.1, 0.1], 1200)
    h = 1.5 * np.log(people + 0.001) + 2 * rng.normal(size=(1200, 3))
    samples = to_samples(rng.multinomial(10, people), h, from_logits=True)
    found = side_by_side(
        samples, *both_rules(15), groups=None, level=0.95, seed=0, names=("temperature",)
    )
    (one,) = found.maps
    assert change(one, "ece").after < 0.5 * change(one, "ece").before
    apart = change(one, "dist_ce")
    assert apart.after > apart.before and apart.low < apart.estimate < apart.high
    _, rest, _ = _halves(samples, None, 0)
    own = to_samples(samples.targets[rest], h[rest], from_logits=True)
    assert apart.before == pytest.approx(cal.dist_ce(own.targets, h[rest], from_logits=True))
    hard = side_by_side(
        to_samples(*overconfident(300)), *both_rules(15), groups=None, level=0.95, seed=0
    )
    assert "dist_ce" not in [each.measure for each in hard.maps[0].changes]
