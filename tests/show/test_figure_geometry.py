"""Nothing in a figure is in the way of anything else: every plot method, at three kinds of place.

On a figure of its own, on one as large as a column of a paper, and in a grid of subplots.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, plots, results
from calibrant.plots import (
    BeforeAfterDisplay,
    OverlaidReliabilityDisplay,
    ReliabilityDisplay,
    RiskHistogramDisplay,
)
from needs import need

need("matplotlib")
import matplotlib.pyplot as plt  # noqa: E402

import figure_geometry as geometry  # noqa: E402

LONG = [f"a fairly long name of a model, version {i}, recalibrated" for i in range(8)]
RNG = np.random.default_rng(0)
P = RNG.beta(0.7, 1.2, 400)
Y = (RNG.random(400) < P**1.5).astype(int)
ROWS = RNG.dirichlet(np.ones(14), 500)
LABELS = RNG.integers(0, 14, 500)
MODELS = {name: np.clip(P + 0.04 * i * RNG.normal(size=400), 0, 1) for i, name in enumerate(LONG)}
FORTY = {f"network {i}": P ** (1 + i / 40) for i in range(40)}
CLASSES = [f"{LONG[0]} {j}" for j in range(14)]
MEASURES = ["ece", "ace", "debiased_l2", "brier"]
WARDS = np.array(LONG)[np.arange(400) % 8]


def annotated():
    item, who = np.divmod(np.arange(200), 5)
    long = {"item": item, "who": np.array(LONG)[who], "vote": RNG.integers(0, 3, 200)}
    return cal.annotators(cal.count_votes(long, item="item", label="vote", annotator="who"))


def windows():
    time = np.datetime64("2026-01-01") + (np.arange(400) // 20).astype("timedelta64[D]")
    return cal.Monitor(every="1d").update(Y, P, time=time).evaluate()


def pair(**options):
    tables = cal.reliability(Y, P), cal.reliability(Y, np.clip(P**1.4, 0, 1))
    return plots.before_after(*tables, names=(LONG[0], "after"), **options)


MADE = {
    "table": lambda: cal.reliability(Y, P),
    "two rows": lambda: cal.reliability([0, 1], [0.2, 0.7], bins=10),
    "one bin": lambda: cal.reliability([0, 1, 1] * 30, [0.51] * 90),
    "quantiles": lambda: cal.reliability(Y, P, bins=cal.Quantile(8)),
    "evaluation": lambda: cal.evaluate(Y, P, measures=["ece"]),
    "curve": lambda: cal.reliability_curve(Y, P),
    "smooth": lambda: cal.smooth_reliability(Y, P),
    "classes": lambda: cal.classwise_reliability(LABELS, ROWS, classes=CLASSES, bins=8),
    "bins": lambda: cal.bin_sensitivity(Y, P, bins=range(1, 40, 3), measures=MEASURES),
    "comparison": lambda: cal.compare(Y, MODELS, measures=["ece", "brier", "aurc"], n_resamples=50),
    "forty": lambda: cal.compare(Y, FORTY, measures=["brier"], n_resamples=50),
    "slices": lambda: cal.evaluate(Y, P, measures=["ece"], by=WARDS).slices,
    "windows": windows,
    "annotators": annotated,
    "votes": lambda: cal.vote_profile(RNG.multinomial(5, ROWS), ROWS),
    "decisions": lambda: cal.decision_curve(Y, MODELS, thresholds=np.linspace(0.05, 0.6, 8)),
    "risk": lambda: cal.risk_coverage(Y, P),
    "centres": lambda: cal.centres(Y, P, by=np.array(LONG[:4])[np.arange(400) % 4]),
    "bounds": lambda: cal.evaluate(cal.Between(0.8 * P, np.minimum(1.1 * P, 1)), P),
}


@pytest.fixture(scope="module")
def result():
    made = {}

    def of(name):
        if name not in made:
            made[name] = MADE[name]()
        return made[name]

    return of


# A name, and how it is drawn: a result, and options for the place.
DRAWN = {
    "reliability": lambda of, **o: of("table").plot(**o),
    "two rows": lambda of, **o: of("two rows").plot(**o),
    "one bin": lambda of, **o: of("one bin").plot(**o),
    "bars": lambda of, **o: of("table").plot(style="bars", **o),
    "bars of quantiles": lambda of, **o: of("quantiles").plot(style="bars", name=LONG[0], **o),
    "bars, one bin": lambda of, **o: of("one bin").plot(style="bars", **o),
    "without a strip": lambda of, **o: of("table").plot(counts=False, name=LONG[0], **o),
    "evaluation": lambda of, **o: of("evaluation").plot(style="bars", counts=False, **o),
    "overlaid": lambda of, **o: OverlaidReliabilityDisplay(dict.fromkeys(LONG, of("table"))).plot(
        **o
    ),
    "pair": lambda of, **o: pair(**o),
    "pair of bars": lambda of, **o: pair(style="bars", **o),
    "curve": lambda of, **o: of("curve").plot(**o),
    "smooth": lambda of, **o: of("smooth").plot(**o),
    "classes": lambda of, **o: of("classes").plot(**o),
    "bins": lambda of, **o: of("bins").plot(**o),
    "comparison": lambda of, **o: of("comparison").plot(**o),
    "ranks": lambda of, **o: of("comparison").plot(kind="ranks", **o),
    "differences": lambda of, **o: of("comparison").plot(kind="differences", **o),
    "two measures": lambda of, **o: of("comparison").plot(measures=["ece", "brier"], **o),
    "forty": lambda of, **o: of("forty").plot(**o),
    "risks": lambda of, **o: of("comparison").plot_risk(**o),
    "robustness": lambda of, **o: of("comparison").robustness.plot(**o),
    "slices": lambda of, **o: of("slices").plot(**o),
    "windows": lambda of, **o: of("windows").plot(**o),
    "annotators": lambda of, **o: of("annotators").plot(**o),
    "votes": lambda of, **o: of("votes").plot(**o),
    "votes, bands": lambda of, **o: of("votes").plot(kind="bands", **o),
    "histogram": lambda of, **o: RiskHistogramDisplay(of("table"), name=LONG[0]).plot(**o),
    "decisions": lambda of, **o: of("decisions").plot(**o),
    "risk": lambda of, **o: of("risk").plot(**o),
    "clinical": lambda of, **o: cal.clinical_plot(Y, P, n_resamples=50, **o),
    "forest": lambda of, **o: of("centres").plot(**o),
    "mean curve": lambda of, **o: of("centres").plot_curve(**o),
    "bounds": lambda of, **o: of("bounds").plot(**o),
}
# What has nothing to put into a legend.
NO_LEGEND = {"classes", "robustness"}


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", DRAWN)
class TestEveryFigure:
    def test_by_itself(self, result, name):
        display = DRAWN[name](result)
        assert geometry.problems(display.figure_.figure) == []

    def test_in_one_column_of_a_paper(self, result, name):
        figure = DRAWN[name](result, size="column").figure_.figure
        assert tuple(figure.get_size_inches()) == pytest.approx((3.3, 2.6))
        assert geometry.problems(figure) == []
        assert tuple(figure.get_size_inches()) == pytest.approx((3.3, 2.6))

    def test_in_a_grid_of_subplots(self, result, name):
        figure, axes = plt.subplots(2, 3, figsize=(12, 7.5))
        for i, ax in enumerate(axes.flat):
            ax.set_title(f"title {i}")
        # Between two, with a third below or above it.
        DRAWN[name](result, ax=axes[list(DRAWN).index(name) % 2, 1])
        assert geometry.problems(figure) == []
        assert tuple(figure.get_size_inches()) == pytest.approx((12, 7.5))


# How the place is found there is the same for all: a few stand for them.
@pytest.mark.parametrize("name", ["reliability", "bars of quantiles", "comparison", "windows"])
def test_in_a_grid_with_a_layout(result, name):
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
    for ax in axes.flat:
        ax.set_title("a title")
    for ax in (axes[0, 0], axes[1, 1]):
        DRAWN[name](result, ax=ax)
    assert geometry.problems(figure) == []


@pytest.mark.parametrize("name", sorted(DRAWN.keys() - NO_LEGEND))
def test_a_legend_is_left_out_or_where_it_is_asked_for(result, name):
    figure = DRAWN[name](result, legend=False).figure_.figure
    assert geometry.legends(figure) == []
    placed = DRAWN[name](result, legend="upper left").figure_.figure
    placed.draw_without_rendering()
    ((_, box),) = geometry.legends(placed)
    inside = [ax.get_window_extent() for ax in placed.axes if ax.axison]
    assert any(abs(box.y1 - ax.y1) < 12 and abs(box.x0 - ax.x0) < 12 for ax in inside)


@pytest.mark.parametrize("name", DRAWN)
def test_a_caption_explains_the_figure(result, name):
    caption = DRAWN[name](result).caption()
    assert caption.endswith((".", ")")) and len(caption.split()) >= 12
    assert "  " not in caption and "\n" not in caption


def test_every_plot_method_is_drawn_here():
    """A new plot method, or a new class of diagrams, is drawn by these tests too."""
    drawn = set()
    for name in results.__all__:
        for method in ("plot", "plot_curve", "plot_risk"):
            if callable(getattr(getattr(results, name), method, None)):
                drawn.add(f"{name}.{method}")
    assert drawn == {
        "Annotators.plot", "BinSensitivity.plot", "Bounds.plot", "Centres.plot",
        "Centres.plot_curve", "ClasswiseReliability.plot", "Comparison.plot",
        "Comparison.plot_risk", "DecisionCurve.plot", "Evaluation.plot", "RankRobustness.plot",
        "ReliabilityBounds.plot", "ReliabilityCurve.plot", "ReliabilityTable.plot",
        "RiskCoverage.plot", "Slices.plot", "SmoothCurve.plot", "VoteProfile.plot", "Windows.plot",
    }  # fmt: skip
    for name in plots.__all__:
        plot = getattr(getattr(plots, name), "plot", getattr(plots, name))
        options = inspect.signature(plot).parameters
        assert {"ax", "size"} <= set(options), name
        assert "legend" in options or name in ("ClasswiseDisplay", "RankRobustnessDisplay"), name


class TestBars:
    def test_bars_are_the_bins_and_gaps_reach_to_the_mean_prediction(self, result):
        display = result("table").plot(style="bars")
        cells = {key: np.array(v) for key, v in result("table").columns().items()}
        kept = cells["weight"] > 0
        for name, bar in (("lower", "get_x"), ("mean_target", "get_height")):
            drawn = [getattr(each, bar)() for each in display.bars_]
            np.testing.assert_allclose(drawn, cells[name][kept])
        ends = np.array([[each.get_y(), each.get_height()] for each in display.gaps_])
        np.testing.assert_allclose(ends.sum(axis=1), cells["mean_predicted"][kept])
        shares = cells["weight"][kept] / cells["weight"].sum()
        error = cal.ece(Y, P)
        assert np.sum(shares * np.abs(ends[:, 1])) == pytest.approx(error, rel=1e-12)
        assert display.curve_ is None
        assert result("table").plot(style="bars", curve="isotonic").curve_ is not None

    def test_bars_need_a_width_and_axes_of_their_own(self, result):
        with pytest.raises(InputError, match="bins with a width"):
            cal.reliability([0, 1], [0.2, 0.7], bins=cal.LevelSets()).plot(style="bars")
        first = result("table").plot()
        with pytest.raises(InputError, match="before_after"):
            result("table").plot(style="bars", ax=first.ax_)
        with pytest.raises(InputError, match="did you mean 'bars'"):
            result("table").plot(style="bar")


def test_a_pair_has_the_same_axes(result):
    display = pair(size=(6, 4))
    first, second = display.axes_
    assert first.get_xlim() == second.get_xlim() and first.get_shared_y_axes().joined(first, second)
    assert [each.table.ece for each in display.displays_] == [
        pytest.approx(cal.ece(Y, p), rel=1e-12) for p in (P, np.clip(P**1.4, 0, 1))
    ]
    assert LONG[0] in display.caption() and "after (400 rows" in display.caption()
    evaluation = result("evaluation")
    same = plots.before_after(evaluation, evaluation.reliability)
    assert isinstance(same, BeforeAfterDisplay)
    with pytest.raises(InputError, match=r"after must be the result of reliability\(\)"):
        plots.before_after(evaluation, P)
    with pytest.raises(InputError, match="names must be two names"):
        plots.before_after(evaluation, evaluation, names="ab")


def test_the_caption_of_a_pair_names_the_map():
    scaler = cal.TemperatureScaling(from_logits=False).fit(Y, P)
    table, after = cal.reliability(Y, P), cal.reliability(Y, np.clip(P**1.4, 0, 1))
    caption = plots.before_after(table, after, scaler=scaler).caption()
    named = f"Temperature scaling (temperature {scaler.temperature_:.3g}) was fitted to 400 rows."
    assert named in caption and "ECE is the value in the sample" in caption
    assert "pointwise" in caption and "Dimitriadis, Gneiting and Jordan, 2021" in caption
    several = cal.PlattScaling().fit(Y, P)
    assert "Platt scaling" in plots.before_after(table, after, scaler=several).caption()
    assert "scaling" not in plots.before_after(table, after).caption()
    with pytest.raises(InputError, match="scaler must be a fitted map"):
        plots.before_after(table, after, scaler="temperature")
    with pytest.raises(InputError, match="scaler must be a fitted map"):
        plots.before_after(table, after, scaler=cal.PlattScaling())


def test_a_display_on_axes_of_another_explains_its_own_curve():
    first = cal.reliability(Y, P).plot(name="as trained")
    second = cal.reliability(Y, np.clip(P**1.4, 0, 1)).plot(name="after", ax=first.ax_)
    assert "of as trained (" in first.caption() and "after" not in first.caption()
    assert "of after (" in second.caption() and "as trained" not in second.caption()


def test_a_pair_in_one_column_names_its_strips_and_has_no_empty_band():
    display = pair(size="column")
    figure = display.figure_
    figure.canvas.draw()
    strip = display.axes_[0].child_axes[0]
    ticks = [each.get_text() for each in strip.get_yticklabels() if each.get_visible()]
    assert strip.yaxis.label.get_visible() or ticks[0].endswith("\nrows")
    labels = min(ax.xaxis.label.get_window_extent().y0 for ax in display.axes_)
    gap = labels - figure.legends[0].get_window_extent().y1
    assert 0 <= gap / figure.dpi < 0.15
    assert figure.get_size_inches().tolist() == [3.3, 2.6]


def test_sizes_and_legends_that_cannot_be_are_named(result):
    table = result("table")
    _, ax = plt.subplots()
    with pytest.raises(InputError, match="size= or ax="):
        table.plot(ax=ax, size="column")
    for size in ("colum", (3, 0), (1, 2, 3)):
        with pytest.raises(InputError, match="size must be 'column'"):
            table.plot(size=size)
    with pytest.raises(InputError, match="did you mean 'upper left'"):
        table.plot(legend="uper left")
    with pytest.raises(InputError, match="legend must be True, False"):
        table.plot(legend=3)
    with pytest.raises(InputError, match="nothing has been drawn yet"):
        ReliabilityDisplay(table).caption()


def test_the_checks_see_what_is_wrong():
    """The geometry is checked itself: each fault is seen in a figure that has it."""
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="a line")
    assert geometry.problems(figure) == []
    ax.legend(loc="center")
    assert any("legend over data" in each for each in geometry.problems(figure))
    ax.get_legend().remove()
    ax.text(0.5, 0.9, "one text")
    other = ax.text(0.5, 0.905, "over another")
    assert any("over each other" in each for each in geometry.problems(figure))
    other.set_position((0.9, 0.2))
    assert not any("cut" in each for each in geometry.problems(figure))
    other.set_position((1.2, 0.2))
    assert any("cut" in each for each in geometry.problems(figure))
    other.set(position=(0.2, 0.7), fontsize=4)
    assert any("4.0 pt" in each for each in geometry.problems(figure))
