"""Slopes and intercepts in compare(): values, differences, and which model is closer to 1 or 0."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t as student

import calibrant as cal
from calibrant import InputError, NotDefined
from calibrant._inference.coefficients import distance_limits
from needs import need

NAMES = ("slope", "intercept", "intercept_in_the_large")
TARGETS = (1.0, 0.0, 0.0)


def world(n=600, slopes=(1.5, 1.2), noise=0.4, seed=0, shift=0.0):
    """Outcomes, and two models that read the true logit with errors of their own."""
    rng = np.random.default_rng((91, seed))
    h = rng.normal(0, 1.5, n)
    y = (rng.random(n) < expit(h)).astype(int)
    seen = h + noise * rng.normal(size=(2, n))
    return y, expit(slopes[0] * seen[0]), expit(slopes[1] * seen[1] + shift)


def compared(y, a, b, **options):
    return cal.compare(y, {"a": a, "b": b}, measures=NAMES, **options)


def options_of(kind, n=600):
    rng = np.random.default_rng(5)
    return {
        "plain": {},
        "weights": {"sample_weight": rng.lognormal(0, 0.7, n)},
        "clusters": {"groups": rng.integers(0, 60, n)},
    }[kind]


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters"])
def test_values_and_intervals_are_those_of_the_single_fit(kind):
    y, a, b = world()
    options = options_of(kind)
    found = compared(y, a, b, level=0.9, **options)
    for i, u in enumerate((a, b)):
        fit = cal.cox_calibration(y, u, level=0.9, **options)
        for j, name in enumerate(("slope", "intercept", "intercept_at_slope_1")):
            own = [getattr(fit, name + end) for end in ("_low", "_high", "")]
            np.testing.assert_allclose(found.limits[i, j], own, rtol=1e-12)
            assert found.values[i, j] == getattr(fit, name)
    assert found.measures == NAMES


def test_they_stand_where_they_were_named_and_by_their_other_names():
    y, a, b = world()
    models = {"a": a, "b": b}
    found = cal.compare(y, models, measures=["brier", "calibration_slope", "ece", "slope"])
    assert found.measures == ("brier", "slope", "ece")
    alone = cal.compare(y, models, measures=["brier", "ece"])
    np.testing.assert_array_equal(found.pairs[[0, 2]], alone.pairs)
    np.testing.assert_array_equal(found.limits[:, [0, 2]], alone.limits)
    assert found.difference("a", "b", "calibration_slope") == found.difference("a", "b", "slope")


def test_the_top_label_of_several_classes():
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1.2, (500, 4))
    y = (x + rng.gumbel(size=x.shape)).argmax(axis=1)
    u = [np.exp(t * x) / np.exp(t * x).sum(axis=1, keepdims=True) for t in (1.6, 1.1)]
    found = compared(y, *u)
    for i in range(2):
        assert found.values[i, 0] == cal.cox_calibration(y, u[i]).slope


def test_clipped_predictions_have_a_note():
    y, a, b = world()
    a = np.where(np.arange(a.size) < 3, y, a)
    assert "a: 3 predictions clipped to [1e-06, 1 - 1e-06] for slope and intercepts" in (
        compared(y, a, b).notes
    )


# --- differences: twins ---------------------------------------------------------------------------


def stacked_sandwich(y, us, w, groups, free):
    """Standard errors of a coefficient's difference: stacked equations, numeric derivatives."""
    logits = [np.log(u / (1 - u)) for u in us]
    size = 2 if free else 1

    def equations(theta):
        """The rows' estimating functions of both fits, (2 size, n)."""
        out = []
        for own, h in zip(np.split(theta, 2), logits, strict=True):
            slope = own[1] if free else 1.0
            residual = w * (y - expit(own[0] + slope * h))
            out += [residual, residual * h][:size]
        return np.array(out)

    theta = np.zeros(2 * size)
    for _ in range(60):  # Newton, with the numeric Jacobian
        steps = 1e-5 * np.eye(theta.size)
        jacobian = np.stack(
            [(equations(theta + s) - equations(theta - s)).sum(axis=1) / 2e-5 for s in steps], 1
        )
        theta = theta - np.linalg.solve(jacobian, equations(theta).sum(axis=1))
    scores = equations(theta)
    scores = np.stack([np.bincount(groups, row) for row in scores])
    bread = np.linalg.inv(jacobian)
    covariance = bread @ (scores @ scores.T) @ bread.T
    errors, values = [], []
    for row in range(size):
        pick = np.zeros(2 * size)
        pick[row], pick[size + row] = 1.0, -1.0
        errors.append(math.sqrt(pick @ covariance @ pick))
        values.append(pick @ theta)
    return values, errors


def standard_error(difference, units):
    """The standard error of an interval, whose degrees of freedom are many."""
    return (difference.high - difference.low) / 2 / student.ppf(0.975, units)


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters"])
def test_differences_are_those_of_stacked_estimating_equations(kind):
    n = 6000
    y, a, b = world(n)
    options = options_of(kind, n)
    if kind == "clusters":
        options = {"groups": np.random.default_rng(5).integers(0, 900, n)}
    found = compared(y, a, b, **options)
    w, groups = options.get("sample_weight", np.ones(n)), options.get("groups", np.arange(n))
    values, errors = stacked_sandwich(y, (a, b), w, groups, free=True)
    large, large_error = stacked_sandwich(y, (a, b), w, groups, free=False)
    twins = [(values[1], errors[1]), (values[0], errors[0]), (large[0], large_error[0])]
    for name, (value, error) in zip(NAMES, twins, strict=True):
        difference = found.difference("a", "b", name)
        assert difference.value == pytest.approx(value, abs=1e-6)
        # HC3 and Student's quantile make an interval a little wider.
        assert standard_error(difference, 500) == pytest.approx(error, rel=0.02), name


def test_differences_are_those_of_the_jackknife():
    y, a, b = world(150)
    difference = compared(y, a, b).difference("a", "b", "slope")
    kept = [np.delete(np.arange(y.size), i) for i in range(y.size)]
    left = np.array(
        [
            cal.cox_calibration(y[i], a[i]).slope - cal.cox_calibration(y[i], b[i]).slope
            for i in kept
        ]
    )
    error = math.sqrt((y.size - 1) * left.var())
    assert standard_error(difference, 20) == pytest.approx(error, rel=0.05)


def test_p_values_belong_to_the_intervals():
    for seed in range(12):
        y, a, b = world(300, slopes=(1.2, 1.0), seed=seed)
        first = compared(y, a, b)
        for name in NAMES:
            p = first.difference("a", "b", name).p_value
            at = cal.compare(y, {"a": a, "b": b}, measures=[name], level=1 - p)
            edge = at.difference("a", "b", name)
            assert min(abs(edge.low), abs(edge.high)) < 1e-6 * (edge.high - edge.low)


# --- what is exactly 0 ----------------------------------------------------------------------------


def test_a_model_does_not_differ_from_itself():
    y, a, _ = world()
    found = compared(y, a, a)
    for name in NAMES:
        d = found.difference("a", "b", name)
        assert (d.low, d.value, d.high, d.farther_low, d.farther_high) == (0.0,) * 5
        assert d.p_value == 1.0 and d.better is None


def test_temperature_scaling_keeps_the_intercept():
    """Logits on one line have one intercept; the rest is rounding, and not significant."""
    for seed in range(5):
        y, a, _ = world(seed=seed)
        found = compared(y, a, expit(np.log(a / (1 - a)) / 1.37))
        d = found.difference("a", "b", "intercept")
        assert (d.low, d.value, d.high, d.p_value) == (0.0, 0.0, 0.0, 1.0)
        assert found.difference("a", "b", "slope").p_value < 1e-3


# --- closer to the target -------------------------------------------------------------------------


def test_limits_of_distances_are_those_of_all_differences_and_totals():
    rng = np.random.default_rng(2)
    for _ in range(200):
        s, t = (np.sort(rng.normal(rng.normal(0, 1.5), 1, 2)) for _ in range(2))
        difference, total = np.meshgrid(np.linspace(*s, 201), np.linspace(*t, 201))
        distance = np.abs(total + difference) / 2 - np.abs(total - difference) / 2
        low, high = distance_limits(tuple(s), tuple(t))
        assert low == pytest.approx(distance.min(), abs=0.03)
        assert high == pytest.approx(distance.max(), abs=0.03)
        assert low <= distance.min() + 1e-12 and high >= distance.max() - 1e-12


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.9])
@pytest.mark.parametrize("first", [0.0, 1.0, 4.0])
def test_limits_of_distances_hold_near_the_target_too(first, rho):
    """Two normal estimates; the limits hold as often as they say, wherever the two are."""
    rng = np.random.default_rng(4)
    error = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 4000)
    for second in (-4.0, -1.0, 0.0, 1.0, 4.0):
        d = np.array([first, second]) + error
        halves = 1.96 * math.sqrt(2 - 2 * rho), 1.96 * math.sqrt(2 + 2 * rho)
        held = 0
        for one, other in d:
            s, t = one - other, one + other
            ends = distance_limits((s - halves[0], s + halves[0]), (t - halves[1], t + halves[1]))
            held += ends[0] <= abs(first) - abs(second) <= ends[1]
        assert held / len(d) >= 0.94


def test_equal_distances_on_two_sides_are_no_reason():
    """Slopes of 0.8 and 1.25 differ clearly, and neither is closer to 1."""
    rng = np.random.default_rng(8)
    h = rng.normal(0, 1.5, 4000)
    y = (rng.random(4000) < expit(h)).astype(int)
    found = compared(y, expit(h / 0.82), expit(h / 1.18))
    d = found.difference("a", "b", "slope")
    assert d.p_value < 1e-9 and d.high < 0
    assert d.better is None and d.farther_low < 0 < d.farther_high
    assert found.sentence("slope") == (
        "By calibration slope, neither a nor b is significantly closer to 1."
    )
    assert found.tied("slope") == [found.order("slope")[1]]


def test_everything_said_of_the_order_agrees():
    rng = np.random.default_rng(6)
    for seed in range(25):
        h = rng.normal(0, 1.5, 400)
        y = (rng.random(400) < expit(h)).astype(int)
        models = {
            name: expit(rng.uniform(0.7, 1.6) * (h + 0.5 * rng.normal(size=400))) for name in "abcd"
        }
        found = cal.compare(y, models, measures=NAMES)
        for name, target in zip(NAMES, TARGETS, strict=True):
            order, ranks = found.order(name), found.ranking(name)
            distance = {model: abs(found.value(model, name) - target) for model in models}
            assert order[0] == min(distance, key=distance.get), seed
            assert ranks["predictor"] == order and ranks["rank"] == [1, 2, 3, 4]
            assert [distance[each] for each in order] == sorted(distance.values())
            assert found.leaders(name) == [order[0]]
            for d in found.differences(name):
                assert (d.better is None) == (d.farther_low <= 0 <= d.farther_high)
                assert d.better in (None, order[0])
                assert d.farther == pytest.approx(distance[d.first] - distance[order[0]])
                if d.better is not None:  # whoever is closer has another value
                    assert d.p_value < 0.05
                mirror = found.difference(d.second, d.first, name)
                assert (mirror.low, mirror.farther_low) == (-d.high, -d.farther_high)
                assert (mirror.better, mirror.p_value) == (d.better, d.p_value)
            clear = len(found.tied(name)) == 0
            assert (ranks["rank_high"][0] == 1) == clear
            assert ("closest to" in found.sentence(name)) and (
                ("every other one is significantly farther" in found.sentence(name)) == clear
            )
            assert (ranks["best"][0] >= 0.975) == clear


# --- coverage -------------------------------------------------------------------------------------


def coverage(n, slopes, truth, samples, **options):
    held = 0
    for seed in range(samples):
        y, a, b = world(n, slopes, noise=0.0, seed=seed)
        d = cal.compare(y, {"a": a, "b": b}, measures=["slope"], **options)
        d = d.difference("a", "b", "slope")
        held += d.low <= truth <= d.high
    return held / samples


def test_intervals_hold_the_difference_of_few_rows():
    assert 0.9 <= coverage(300, (1.5, 1.0), 1 / 1.5 - 1, 120) <= 1.0


# --- labels, weights and rows of all kinds --------------------------------------------------------


def test_votes_count_as_their_shares():
    rng = np.random.default_rng(7)
    h = rng.normal(0, 1.5, 400)
    yes = rng.binomial(7, expit(h))
    a, b = expit(1.5 * h), expit(1.1 * h + 0.3 * rng.normal(size=400))
    counts = np.stack([7 - yes, yes], axis=1)
    found, shares = compared(counts, a, b), compared(yes / 7, a, b)
    np.testing.assert_allclose(found.pairs, shares.pairs, rtol=1e-12)
    single = cal.cox_calibration(yes / 7, a)
    assert found.limits[0, 0, 0] == pytest.approx(single.slope_low, rel=1e-12)
    with pytest.raises(InputError, match=r"resample=?.* and the measure slope cannot be combined"):
        compared(counts, a, b, resample="votes")


def test_each_model_may_have_its_own_labels():
    """Labels that have nothing in common: variances add."""
    y, a, b = world(4000)
    other, _, b = world(4000, seed=1)
    found = compared({"a": y, "b": other}, a, b).difference("a", "b", "slope")
    fits = cal.cox_calibration(y, a), cal.cox_calibration(other, b)
    halves = [(fit.slope_high - fit.slope_low) / 2 for fit in fits]
    assert (found.high - found.low) / 2 == pytest.approx(math.hypot(*halves), rel=0.05)


def test_changes_of_check_are_the_same_differences():
    y, a, b = world()
    d = compared(y, a, b).difference("a", "b", "slope")
    (row,) = cal.check(y, a, baseline=b, max_increase={"slope": 0.1}).rows
    assert (row.interval.low, row.interval.high) == (d.low, d.high)
    other = {"y_true": y[::-1], "y_proba": b[::-1]}
    (row,) = cal.check(y, a, baseline=other, paired=False, max_increase={"slope": 0.1}).rows
    fits = cal.cox_calibration(y, a), cal.cox_calibration(y, b)
    halves = [(fit.slope_high - fit.slope_low) / 2 for fit in fits]
    width = row.interval.high - row.interval.low
    assert width / 2 == pytest.approx(math.hypot(*halves), rel=0.1)


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters"])
def test_sums_of_a_lazy_frame_give_the_same(kind):
    polars = need("polars")
    n = 3000
    y, a, b = world(n)
    options = options_of(kind, n)
    columns = {"y": y, "a": a, "b": b, "c": expit(np.log(a / (1 - a)) / 1.4), **options}
    frame = polars.DataFrame(columns)
    named = {name: name for name in options}
    models = {"a": "a", "b": "b", "c": "c"}
    rows, sums = (
        cal.compare("y", models, measures=[*NAMES, "brier"], data=data, **named)
        for data in (frame, frame.lazy())
    )
    assert sums.measures == rows.measures
    np.testing.assert_allclose(sums.values, rows.values, rtol=1e-9)
    np.testing.assert_allclose(sums.limits[:, :3], rows.limits[:, :3], atol=1e-5)
    np.testing.assert_allclose(sums.pairs[:3], rows.pairs[:3], atol=1e-4)
    d = sums.difference("a", "c", "intercept")
    assert d.value == 0.0 and d.p_value == 1.0
    (row,) = cal.check(
        "y", "a", baseline="b", data=frame.lazy(), max_increase={"slope": 0.1}, **named
    ).rows
    expected = rows.difference("a", "b", "slope")
    assert row.interval.low == pytest.approx(expected.low, abs=1e-3)


# --- refusals -------------------------------------------------------------------------------------


def test_what_cannot_be_fitted_names_the_model():
    y, a, b = world(100)
    with pytest.raises(NotDefined, match="b: slope not estimable: the predictions do not vary"):
        compared(y, a, np.full(100, 0.5))
    with pytest.raises(NotDefined, match=r"a: .*the predictions separate the outcomes"):
        cal.compare((a > 0.5) * 1, {"a": a, "b": b}, measures=["slope"])


def test_what_has_no_slope_is_refused_in_a_line():
    y, a, b = world(100)
    with pytest.raises(InputError, match=r"by and the measure slope cannot be combined: clinical"):
        compared(y, a, b, by=np.arange(100) % 3)
    with pytest.raises(InputError, match="ceiling and the measure slope cannot be combined"):
        compared(np.stack([y, 1 - y], axis=1), a, b, ceiling=True)
    with pytest.raises(InputError, match="compare compares models by it"):
        cal.evaluate(y, a, measures=["slope"])


@pytest.mark.parametrize(("given", "own"), [("slop", "slope"), ("Intercepts", "intercept")])
def test_a_misspelt_coefficient_is_named(given, own):
    y, a, b = world(100)
    with pytest.raises(InputError, match=f"called '{given}': did you mean '{own}'"):
        cal.compare(y, {"a": a, "b": b}, measures=[given])


def test_names_of_coefficients_may_be_in_capitals():
    y, a, b = world(100)
    found = cal.compare(y, {"a": a, "b": b}, measures=["Slope", "BRIER"])
    assert found.value("a", "slope") == cal.cox_calibration(y, a).slope


# --- what is shown --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown():
    y, a, b = world(2000, slopes=(1.6, 1.2))
    return cal.compare(y, {"a": a, "b": b}, measures=["slope", "brier"])


def test_the_text_says_which_is_closer(shown):
    text = repr(shown)
    assert "By calibration slope, b is closer to 1: a is significantly farther away." in text
    ranked = shown.ranked("slope")
    d = shown.difference("a", "b", "slope")
    assert ranked["behind_best"][1] == d.farther > 0 > d.value == ranked["difference"][1]
    assert ranked["p_value"][1] == d.p_value
    assert "difference" not in shown.ranked("brier")


def test_tables_for_papers_say_what_is_best(shown):
    head, _, first, second, *notes = shown.to_markdown().splitlines()
    assert "| calibration slope → 1 | Brier score ↓ |" in head
    assert "**" in second.split("|")[2] and "**" not in first.split("|")[2]
    assert any(note.startswith("→: better the closer to this number") for note in notes)
    assert r"calibration slope $\to 1$" in shown.to_latex() and "→" not in shown.to_latex()
    assert "→" not in shown.to_markdown(measures=["brier"])


def test_the_page_and_the_json_have_the_distances(shown, tmp_path):
    page = shown.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "how much farther from 1 or 0" in page and "better the closer to 1" in page
    (entry,) = shown.to_dict()["differences"]["slope"]
    assert entry["farther"] > 0 > entry["value"] and entry["better"] == "b"
    (other,) = shown.to_dict()["differences"]["brier"]
    assert "farther" not in other


def test_the_diagram_of_differences_has_the_distances(shown):
    need("matplotlib")
    drawn = shown.plot(kind="differences", measures=["slope"])
    dots = np.asarray(drawn.dots_["slope"].get_offsets())[:, 0]
    assert sorted(dots) == [0.0, shown.difference("a", "b", "slope").farther]
    assert drawn.axes_[0].get_xlabel().startswith("|slope \N{MINUS SIGN} 1| minus that of")
    assert "differences in |slope \N{MINUS SIGN} 1|" in drawn.caption()
