"""What holds for every Display: it draws where it is told, leaves settings alone, and is saved."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, UnknownOption, bin_sensitivity, classwise_reliability
from calibrant.plots import (
    BinSensitivityDisplay,
    ClasswiseDisplay,
    ComparisonDisplay,
    OverlaidReliabilityDisplay,
    RankRobustnessDisplay,
    ReliabilityDisplay,
    RiskHistogramDisplay,
    SlicesDisplay,
    SmoothReliabilityDisplay,
    WindowsDisplay,
)
from forks import answer
from needs import need

matplotlib = need("matplotlib")
import matplotlib.pyplot as plt  # noqa: E402

# Names that are markup, formulas, hidden labels, several lines, other scripts, and very long.
NASTY = ("<script>alert(1)</script>", "$x_{", "_hidden", "a\nb\tc", "Ünïcödé σ ждё", "w" * 300)


def binary(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.2, n)
    return (rng.random(n) < p**1.5).astype(int), p


def multiclass(n=300, k=6, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return rng.integers(0, k, n), p


def _comparison(more=(), measures=("ece", "brier")):
    y, p = binary()
    rng = np.random.default_rng(1)
    predictions = {
        name: np.clip(p + 0.05 * i * rng.normal(size=p.size), 0, 1)
        for i, name in enumerate((*NASTY, *more))
    }
    return cal.compare(y, predictions, measures=measures, n_resamples=60)


def _votes():
    item, who = np.divmod(np.arange(40 * len(NASTY)), len(NASTY))
    label = np.random.default_rng(3).integers(0, 3, item.size)
    long = {"item": item, "who": np.array(NASTY, dtype=object)[who], "vote": label}
    return cal.count_votes(long, item="item", label="vote", annotator="who")


@pytest.fixture(scope="module")
def results():
    """One result of each kind that can be drawn, with names that are hard to draw."""
    y, p = binary()
    by = np.array(NASTY, dtype=object)[np.arange(y.size) % len(NASTY)]
    time = np.datetime64("2026-01-01") + (np.arange(y.size) // 40).astype("timedelta64[D]")
    monitor = cal.Monitor(every="1d").update(y, p, time=time)
    rows = multiclass()
    titles = NASTY[1:4] + NASTY[-1:]  # all of them are names of models and of slices
    comparison = _comparison()
    return {
        "reliability": cal.reliability(y, p),
        "smooth": cal.smooth_reliability(y, p),
        "classwise": classwise_reliability(*multiclass(k=4), classes=list(titles), bins=5),
        "sensitivity": bin_sensitivity(y, p, bins=range(1, 30)),
        "comparison": comparison,
        "robustness": _comparison("abcdefgh", ["ece"]).robustness,  # it takes eight models
        "slices": cal.evaluate(y, p, measures=["ece"], by=by).slices,
        "windows": monitor.evaluate(baseline=3),
        "evaluation": cal.evaluate(y, p, measures=["ece"]),
        "annotators": cal.annotators(_votes()),
        "votes": cal.vote_profile(np.random.default_rng(2).multinomial(5, rows[1]), rows[1]),
    }


def displays(results):
    out = {name: result.plot for name, result in results.items()}
    tables = dict.fromkeys(NASTY, results["reliability"])
    out["histogram"] = RiskHistogramDisplay(results["reliability"], name=NASTY[0]).plot
    out["overlay"] = OverlaidReliabilityDisplay(tables).plot
    for kind in ("ranks", "differences"):
        out[kind] = lambda kind=kind, **where: results["comparison"].plot(kind=kind, **where)
    out["both"] = lambda **where: results["comparison"].plot(measures=["ece", "brier"], **where)
    return out


KINDS = (
    "reliability", "smooth", "classwise", "sensitivity", "comparison", "robustness", "slices",
    "windows", "evaluation", "votes", "overlay", "histogram", "ranks", "differences", "both",
)  # fmt: skip
# Of those that are drawn by the same lines, one: an evaluation is drawn as its reliability.
OF_THEIR_OWN = [kind for kind in KINDS if kind not in ("evaluation", "ranks", "both")]


@pytest.fixture(scope="module")
def drawn(results, tmp_path_factory):
    """A figure of each kind, drawn and saved once and without a warning; the settings that it
    changed; the figures that it opened; and its file.
    """
    made = {}
    folder = tmp_path_factory.mktemp("drawn")

    def of(kind):
        if kind not in made:
            before, open_before = dict(matplotlib.rcParams), set(plt.get_fignums())
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                display = displays(results)[kind]()
                file = display.save(folder / f"{kind}.svg")
            figure = display.figure_.figure
            changed = {k: v for k, v in matplotlib.rcParams.items() if v != before[k]}
            opened = set(plt.get_fignums()) - open_before
            made[kind] = figure, changed, opened, file
        return made[kind]

    return of


@pytest.mark.parametrize("kind", KINDS)
class TestEveryDisplay:
    def test_a_display_is_drawn_without_a_warning_and_changes_no_setting(self, drawn, kind):
        figure, changed, opened, _ = drawn(kind)
        assert not changed
        assert opened == {figure.number}

    def test_everything_is_within_the_picture(self, drawn, kind):
        figure = drawn(kind)[0]
        box = figure.get_tightbbox()
        assert box.x0 > -0.02 and box.x1 < figure.get_figwidth() + 0.02
        assert box.y0 > -0.01 and box.y1 < figure.get_figheight() + 0.01

    def test_a_display_is_as_wide_as_a_column(self, drawn, kind):
        assert drawn(kind)[0].get_figwidth() == pytest.approx(3.3)

    def test_axes_that_are_given_are_drawn_on_or_in_place_of(self, results, kind):
        plt.close("all")  # what other tests have left open
        figure, axes = plt.subplots(1, 2, figsize=(9, 5), layout="constrained")
        display = displays(results)[kind](ax=axes[1])
        figure.get_layout_engine().execute(figure)  # all gets its place, and nothing is drawn
        assert plt.get_fignums() == [figure.number]
        assert display.figure_.figure is figure
        assert not axes[0].lines and not axes[0].collections
        drawn = getattr(display, "axes_", None) or [display.ax_]
        left = axes[0].get_window_extent().x1
        assert all(ax.get_window_extent().x0 > left for ax in drawn)


@pytest.mark.parametrize("kind", OF_THEIR_OWN)
def test_a_display_is_saved_the_same_every_time(drawn, results, kind, tmp_path):
    once, again = drawn(kind)[-1], displays(results)[kind]()
    assert once.read_bytes().startswith(b"<?xml")
    assert again.save(tmp_path / "b.svg") == tmp_path / "b.svg"
    assert once.read_bytes() == (tmp_path / "b.svg").read_bytes()
    # All kinds are written by the same few lines.
    assert type(again).save is cal.plots.ReliabilityDisplay.save


# One kind, as fonts take long to write, with the names that are hard to write; all are written by
# the same few lines, and drawn anew a figure is the same: see above.
def test_a_pdf_has_whole_fonts_and_is_the_same_every_time(results, tmp_path):
    display = displays(results)["comparison"]()
    files = [display.save(tmp_path / f"{time}.pdf").read_bytes() for time in range(2)]
    assert files[0].startswith(b"%PDF")
    assert b"/Type3" not in files[0]  # no drawings of letters
    assert len(set(files)) == 1


@pytest.mark.parametrize(
    "cls",
    [ReliabilityDisplay, SmoothReliabilityDisplay, ClasswiseDisplay, BinSensitivityDisplay,
     ComparisonDisplay, OverlaidReliabilityDisplay, WindowsDisplay, RankRobustnessDisplay,
     SlicesDisplay, RiskHistogramDisplay],
)  # fmt: skip
class TestEveryClass:
    def test_options_are_keywords_and_typing_mistakes_are_caught(self, cls):
        for name in ("from_predictions", "from_estimator", "plot"):
            method = getattr(cls, name, None)
            if method is None:  # rankings and slices are drawn from their results alone
                assert cls in (RankRobustnessDisplay, SlicesDisplay)
                continue
            parameters = list(inspect.signature(method).parameters.values())
            start = {"from_predictions": 2, "from_estimator": 3, "plot": 1}[name]
            assert all(p.kind is p.KEYWORD_ONLY for p in parameters[start:])
            assert "ax" in [p.name for p in parameters]
            assert all(p.kind is not p.VAR_KEYWORD for p in parameters)
        with pytest.raises(UnknownOption, match="did you mean 'ax'"):
            cls.plot(None, axx=1)

    def test_nothing_can_be_saved_before_it_is_drawn(self, cls):
        with pytest.raises(InputError, match="call plot"):
            cls.save(cls.__new__(cls), "never.png")


def test_drawing_in_place_of_axes_needs_a_place():
    figure = plt.figure()
    ax = figure.add_axes((0.1, 0.1, 0.3, 0.3))
    with pytest.raises(InputError, match=r"plt\.subplots"):
        ClasswiseDisplay.from_predictions(*multiclass(), ax=ax)


def test_figures_of_others_are_saved_whole(tmp_path):
    _, ax = plt.subplots(figsize=(3, 3))
    display = cal.reliability(*binary()).plot(ax=ax)
    ax.figure.text(0.1, -0.4, "a text below the figure")
    out = io.BytesIO(display.save(tmp_path / "a.png", dpi=50).read_bytes())
    # What hangs below the figure is saved too: the picture is larger than 3 inches.
    assert plt.imread(out).shape[0] > 150


def everything_is_in_view(figure, legend, *, but):
    """Whether a legend of a figure that was drawn is wholly on it, and over no axes but these.

    Without room for one there is none.
    """
    if legend is None:
        return
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
    others = [ax for ax in figure.axes if ax not in but and ax.axison]
    assert not any(box.overlaps(ax.get_window_extent()) for ax in others)


class TestLegendsOnTheAxesOfOthers:
    """Nobody made room under them: what is below them is cut off, or over a neighbour."""

    def test_two_curves_beside_a_neighbour(self):
        figure, axes = plt.subplots(1, 2)
        y, p = binary()
        for name in ("the first model, as it is", "the second model, as it is"):
            cal.reliability(y, p).plot(ax=axes[0], name=name)
        figure.draw_without_rendering()
        everything_is_in_view(figure, axes[0].get_legend(), but=[axes[0]])

    @pytest.mark.parametrize("size", [(5, 5), (3, 3), (8, 4)])
    def test_one_square(self, size):
        figure, ax = plt.subplots(figsize=size)
        cal.reliability(*binary()).plot(ax=ax)
        figure.draw_without_rendering()
        everything_is_in_view(figure, ax.get_legend(), but=[ax])
        (strip,) = ax.child_axes
        assert strip.get_window_extent().y1 <= figure.bbox.y1

    def test_over_another_row(self):
        figure, axes = plt.subplots(2, 2, figsize=(7, 7))
        table = cal.reliability(*binary())
        for ax in axes.flat:
            table.plot(ax=ax)
        figure.draw_without_rendering()
        for ax in axes.flat:
            everything_is_in_view(figure, ax.get_legend(), but=[ax])

    def test_several_panels_in_the_place_of_one(self):
        figure, axes = plt.subplots(1, 2, figsize=(8, 4))
        display = cal.bin_sensitivity(*binary()).plot(ax=axes[1])
        assert len(display.axes_) > 1
        figure.draw_without_rendering()
        everything_is_in_view(figure, display.figure_.legends[0], but=[])

    def test_a_layout_makes_room_below(self):
        figure, axes = plt.subplots(1, 2, figsize=(8, 5), layout="constrained")
        display = cal.reliability(*binary()).plot(ax=axes[1])
        figure.draw_without_rendering()
        everything_is_in_view(figure, axes[1].get_legend(), but=[])
        assert axes[1].get_legend().get_window_extent().y1 < display.ax_.get_window_extent().y0


def test_importing_needs_no_drawing_package():
    modules = (
        "plots",
        "integrations._displays",
        "results",
        "results._plots.bin_sensitivity",
        "results._plots.classwise",
        "results._plots.comparison",
        "results._plots.reliability",
        "results._plots.robustness",
        "results._plots.slices",
        "results._plots.curves",
        "results._plots.windows",
        "results._plots.notebook_charts",
    )
    program = "import importlib, sys\n" + "".join(
        f"importlib.import_module('calibrant.{module}')\n"
        f"assert not {{'matplotlib', 'altair'}} & set(sys.modules), {module!r}\n"
        for module in modules
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_the_packages_one_is_told_how_to_get_them():
    program = (
        "import sys\nimport calibrant as cal\ntold = []\n"
        "sys.modules['matplotlib'] = sys.modules['altair'] = None\n"  # as if not installed
        "y, p = [0, 1, 1, 0] * 9, [0.2, 0.7, 0.9, 0.4] * 9\n"
        "models = {f'm{j}': [0.1, 0.9, 0.6, 0.05 * j] * 9 for j in range(8)}\n"
        "found = cal.compare(y, models, measures=['ece'], n_resamples=50)\n"
        "from calibrant._api.bin_sensitivity import bin_sensitivity\n"
        "time = ['2026-01-01', '2026-01-02'] * 18\n"
        "windows = cal.Monitor().update(y, p, time=time).evaluate()\n"
        "for show in (found.plot, found.robustness.plot, cal.smooth_reliability(y, p).plot,\n"
        "             bin_sensitivity(y, p, bins=[2]).plot, windows.plot, windows.chart,\n"
        "             cal.reliability(y, p).chart, found.chart,\n"
        "             cal.evaluate(y, p, measures=['ece']).chart):\n"
        "    try:\n        show()\n"
        "    except cal.MissingExtra as error:\n        told.append(str(error))\n"
        "say(told)\n"
    )
    told = "\n".join(answer(program))
    assert told.count("pip install matplotlib (the extra 'plot')") == 5, told
    assert told.count("(the extra 'report')") == 4, told
