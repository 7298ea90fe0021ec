"""The reliability diagram: what is drawn is the table, nothing more and nothing less."""

# ruff: noqa: N806 - X is the name that scikit-learn has for features.

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, UnknownOption, examples
from calibrant.plots import ReliabilityDisplay
from needs import need

matplotlib = need("matplotlib")

import matplotlib.pyplot as plt  # noqa: E402


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.2, n)
    return (rng.random(n) < p**1.5).astype(int), p, rng.random(n)


def bars_of(display):
    return np.array([segment[:, 1] for segment in display.intervals_.get_segments()])


def heights_of(strip):
    return [patch.get_data().values for patch in strip.patches[1::2]]


@pytest.mark.usefixtures("any_height")
class TestWhatIsDrawn:
    # Every two of the three meet.
    @pytest.mark.parametrize(
        ("bins", "soft", "weighted"),
        [
            (10, False, False),
            (10, True, True),
            (cal.Quantile(8), False, True),
            (cal.Quantile(8), True, False),
            (cal.Edges([0, 0.1, 0.5, 1]), False, False),
            (cal.Edges([0, 0.1, 0.5, 1]), True, True),
        ],
        ids=str,
    )
    def test_points_and_bars_are_those_of_the_table(self, bins, soft, weighted):
        y, p, w = sample()
        y = np.clip(p + 0.1 * (w - 0.5), 0, 1) if soft else y
        w = w if weighted else None
        display = ReliabilityDisplay.from_predictions(y, p, bins=bins, sample_weight=w, level=0.9)
        table = cal.reliability(y, p, bins=bins, sample_weight=w)
        columns = table.intervals(0.9)
        np.testing.assert_array_equal(display.line_.get_xdata(), columns["mean_predicted"])
        np.testing.assert_array_equal(display.line_.get_ydata(), columns["mean_target"])
        low_high = np.column_stack([columns["low"], columns["high"]])
        np.testing.assert_array_equal(bars_of(display), low_high)
        error = cal.ece(y, p, bins=bins, sample_weight=w)
        assert display.table.ece == pytest.approx(error, rel=1e-12)
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == [f"ECE {error:.3f}", "90% band if calibrated", "90% interval"]
        caption = display.caption()
        assert ("fewer than 30 rows are pale" in caption) == (min(columns["n"]) < 30)
        assert "isotonic (CORP;" in caption and "90% confidence interval" in caption
        assert str(table.rule) in caption and f"ECE {error:.3f}" in caption
        if soft:
            return  # of what is left out it is not asked what labels are
        bare = ReliabilityDisplay(table).plot(level=0.9, curve=None)
        assert bare.curve_ is bare.band_ is None and bare.line_.get_linestyle() == "-"
        texts = [text.get_text() for text in bare.ax_.get_legend().get_texts()]
        assert texts == [f"ECE {error:.3f}", "90% interval"]
        assert "isotonic" not in bare.caption()

    def test_bins_of_few_rows_are_paler(self):
        y, p, _ = sample()
        display = ReliabilityDisplay.from_predictions(y, p, bins=10)
        rows = np.array(display.table.columns()["n"])
        few = rows < 30
        assert few.any() and not few.all()
        np.testing.assert_array_equal(display.line_.get_markevery(), np.flatnonzero(~few))
        (points,) = (c for c in display.ax_.collections if "pale" in str(c.get_gid()))
        np.testing.assert_allclose(points.get_offsets()[:, 0], display.line_.get_xdata()[few])
        shown = 0.25 + 0.75 * np.minimum(rows, 30) / 30
        np.testing.assert_allclose(points.get_alpha(), shown[few])
        np.testing.assert_allclose(display.intervals_.get_alpha(), 0.45 * shown)
        # Where all bins have rows enough, nothing is pale and nothing is said of it.
        clear = ReliabilityDisplay.from_predictions(y, p, bins=[0, 0.2, 0.5, 1])
        assert clear.line_.get_markevery() is None

    def test_empty_bins_have_no_point_but_a_place_in_the_strip(self):
        display = ReliabilityDisplay.from_predictions([0, 1, 1], [0.05, 0.95, 0.92], bins=10)
        assert display.line_.get_xdata().tolist() == pytest.approx([0.05, 0.935])
        (heights,) = heights_of(display.counts_ax_)
        np.testing.assert_allclose(heights, [1 / 3, *[0] * 8, 2 / 3])

    def test_the_strip_shows_weights_where_there_are_any(self):
        y, p, w = sample()
        display = ReliabilityDisplay.from_predictions(y, p, bins=5, sample_weight=w)
        share = np.bincount(np.minimum((p * 5).astype(int), 4), weights=w) / w.sum()
        np.testing.assert_allclose(heights_of(display.counts_ax_)[0], share)
        assert display.counts_ax_.get_ylabel() == "weight"
        assert ReliabilityDisplay.from_predictions(y, p).counts_ax_.get_ylabel() == "rows"

    def test_axes_say_what_kind_of_labels_and_predictions_there_are(self):
        fashion = examples.load("fashion")
        y, p, w = sample()

        def labels(*arguments):
            ax = ReliabilityDisplay.from_predictions(*arguments).ax_
            return ax.get_xlabel(), ax.get_ylabel()

        rows = slice(0, 500)
        top = fashion.test_proba[rows]
        assert labels(y, p) == ("mean predicted probability", "observed frequency")
        assert labels(w, p) == ("mean predicted probability", "mean soft label")
        assert labels(fashion.test_labels[rows], top) == ("mean confidence", "accuracy")
        expected = ("mean confidence", "mean soft label of the top class")
        assert labels(fashion.test_soft_labels[rows], top) == expected

    def test_many_bins_are_dots_without_bars(self):
        y, p, _ = sample(300)
        display = ReliabilityDisplay.from_predictions(y, p, bins=cal.LevelSets())
        assert display.intervals_ is None
        assert display.line_.get_linestyle() == "None"
        assert len(display.line_.get_xdata()) == 300


@pytest.mark.usefixtures("any_height")
class TestTheCurve:
    def test_it_is_the_isotonic_curve_of_the_rows_with_its_band(self):
        y, p, w = sample()
        display = cal.reliability(y, p, sample_weight=w, bins=5).plot(level=0.8)
        curve = cal.reliability_curve(y, p, sample_weight=w, level=0.8)
        np.testing.assert_array_equal(display.curve_.get_xdata(), curve.points["prediction"])
        np.testing.assert_array_equal(display.curve_.get_ydata(), curve.points["mean_target"])
        corners = display.band_.get_paths()[0].vertices
        for limit in ("low", "high"):
            pairs = np.column_stack([curve.points["prediction"], curve.points[limit]])
            assert {*map(tuple, pairs)} <= {*map(tuple, corners)}

    def test_it_follows_rows_that_a_kernel_does_not(self):
        rng = np.random.default_rng(0)
        p = np.r_[rng.uniform(0.88, 0.92, 108), rng.uniform(0.94, 1, 9000)]
        y = np.r_[rng.random(108) < 0.58, rng.random(9000) < 0.97].astype(int)
        observed = y[:108].mean()
        for kind in ("isotonic", "local"):
            drawn = cal.evaluate(y, p, measures=["ece"]).plot(curve=kind).curve_
            at = np.interp(0.9, drawn.get_xdata(), drawn.get_ydata())
            assert abs(at - observed) < 0.06, kind
        smooth = cal.smooth_reliability(y, p, sigma=0.03).columns()
        assert np.interp(0.9, smooth["prediction"], smooth["mean_target"]) > observed + 0.06

    def test_clusters_widen_the_band(self):
        y, p, _ = sample(300)
        y, p, groups = (np.repeat(each, 10) for each in (y, p, np.arange(300)))
        alone, together = cal.reliability(y, p), cal.reliability(y, p, groups=groups)
        widths = []
        for points in (alone.curve().points, together.curve().points):
            # At either end a band has no room to be wider.
            inside = np.abs(points["prediction"] - 0.5) < 0.3
            widths.append(np.mean((points["high"] - points["low"])[inside]))
        assert widths[1] > 2 * widths[0]

    def test_classes_have_curves_of_their_own(self):
        fashion = examples.load("fashion")
        rows = slice(0, 800)
        y, z = fashion.test_labels[rows], fashion.test_logits[rows]
        tables = cal.classwise_reliability(y, z, from_logits=True, classes=range(10))
        display = tables.plot(cap=2)
        odds = np.exp(z.astype(float))
        for name, line in zip(tables.names, display.curves_, strict=False):
            column = (odds / odds.sum(axis=1, keepdims=True))[:, int(name)]
            curve = cal.reliability_curve((y == int(name)).astype(int), column, band=None)
            np.testing.assert_allclose(line.get_ydata(), curve.points["mean_target"], atol=1e-12)

    def test_without_rows_the_bins_are_joined(self):
        y, p, _ = sample()
        table = cal.Accumulator().update(y, p).evaluate().reliability
        assert table.curve() is None
        display = table.plot()
        assert display.curve_ is None and display.line_.get_linestyle() == "-"
        with pytest.raises(InputError, match="needs rows"):
            table.plot(curve="isotonic")
        with pytest.raises(InputError, match="curve='smooth' is not known"):
            table.plot(curve="smooth")

    def test_a_pickled_table_has_its_curve_and_not_its_rows(self):
        y, p, _ = sample(3000)
        table = cal.reliability(y, p)
        saved = pickle.dumps(table)
        again = pickle.loads(saved)
        curve = table.curve()
        assert again.curve().columns() == curve.columns() and again.curve().band == "consistency"
        assert again.curve(level=0.9).band is None
        assert again.curve("local") is None
        assert len(saved) < 8 * len(p)

    def test_many_rows_are_remembered_only_while_someone_keeps_them(self, set_limits):
        set_limits(kept_curve_rows=100)
        y, p, w = sample()
        table = cal.reliability(y, p, sample_weight=w)
        expected = cal.reliability_curve(y, p, sample_weight=w, band=None).columns()
        assert table.curve(band=False).columns() == expected
        other = cal.reliability(y, p, sample_weight=w)
        del y, p, w
        assert other.curve() is None and table.curve(level=0.7).columns() == expected
        assert other.plot().curve_ is None


@pytest.mark.usefixtures("any_height")
class TestAxes:
    def test_a_second_curve_has_its_own_colour_and_shares_the_strip(self):
        y, p, _ = sample()
        first = ReliabilityDisplay.from_predictions(y, p, name="raw", bins=10)
        second = ReliabilityDisplay.from_predictions(y, p**1.5, name="new", bins=10, ax=first.ax_)
        assert second.ax_ is first.ax_ and second.figure_ is first.figure_
        assert second.counts_ax_ is first.counts_ax_
        assert [d.line_.get_color() for d in (first, second)] == ["#0072B2", "#D55E00"]
        assert first.line_.get_marker() != second.line_.get_marker()
        assert len(first.ax_.child_axes) == 1
        texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
        others = ["95% band if calibrated", "95% interval"]
        assert [text.partition(":")[0] for text in texts] == ["raw", "new", *others]
        assert [d.curve_.get_color() for d in (first, second)] == ["#0072B2", "#D55E00"]
        peak = max(heights.max() for heights in heights_of(first.counts_ax_))
        assert first.counts_ax_.get_ylim()[1] == peak

    def test_axes_that_are_given_are_drawn_on(self):
        y, p, _ = sample()
        figure, axes = plt.subplots(1, 2)
        before = plt.get_fignums()
        display = cal.reliability(y, p).plot(ax=axes[1], name="one")
        assert plt.get_fignums() == before
        assert display.ax_ is axes[1] and display.figure_ is figure
        assert not axes[0].lines

    def test_parts_can_be_left_out_and_coloured(self):
        y, p, _ = sample()
        display = ReliabilityDisplay(cal.reliability(y, p)).plot(
            level=None, counts=False, ref_line=False, color="black", line_kwargs={"linestyle": ":"}
        )
        assert display.intervals_ is None and display.counts_ax_ is None
        assert len(display.ax_.lines) == 2 and not display.ax_.texts and display.band_ is None
        assert display.line_.get_color() == display.curve_.get_color() == "black"
        assert display.curve_.get_linestyle() == ":" and display.line_.get_linestyle() == "None"
        plain = ReliabilityDisplay(cal.reliability(y, p)).plot(
            curve=None, line_kwargs={"linestyle": ":"}
        )
        assert plain.line_.get_linestyle() == ":"

    def test_names_are_shown_as_they_are_but_short(self):
        y, p, _ = sample(60)
        for name, expected in (
            ("_hidden", " _hidden: ECE"),
            ("$a_{b", r"\$a_{b: ECE"),
            ("one\ntwo", "one two: ECE"),
            ("start" + "x" * 300 + "end", "startxxxxxxxxxxxxxx…xxxxxxxend: ECE"),
        ):
            ax = ReliabilityDisplay.from_predictions(y, p, name=name).ax_
            assert ax.get_legend().get_texts()[0].get_text().startswith(expected)


class TestLooks:
    def test_the_legend_is_clear_of_the_data(self):
        y, p, _ = sample()
        display = ReliabilityDisplay.from_predictions(y, p, name="a model")
        display.figure_.draw_without_rendering()
        box = display.ax_.get_legend().get_window_extent()
        label = display.ax_.xaxis.label.get_window_extent()
        assert box.y1 < label.y0 < display.ax_.get_window_extent().y0

    def test_the_figure_is_as_high_as_what_is_on_it(self):
        y, p, _ = sample()
        for table in (cal.reliability(y, p), cal.smooth_reliability(y, p)):
            figure = table.plot().figure_
            figure.draw_without_rendering()
            assert 0 < figure.get_figheight() - figure.get_tightbbox().height < 0.2, type(table)

    def test_settings_stay_as_they_were_and_pictures_can_be_saved(self):
        y, p, _ = sample()
        before = dict(matplotlib.rcParams)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            display = ReliabilityDisplay.from_predictions(y, p, name="model")
            for kind in ("png", "svg", "pdf"):
                out = io.BytesIO()
                display.figure_.savefig(out, format=kind)
                assert out.getvalue()
        assert dict(matplotlib.rcParams) == before


@pytest.mark.usefixtures("any_height")
class TestEstimators:
    def test_the_diagram_of_a_classifier(self):
        need("sklearn")
        from sklearn.datasets import load_iris
        from sklearn.naive_bayes import GaussianNB

        from calibrant.integrations import sklearn as theirs

        assert theirs.ReliabilityDisplay is ReliabilityDisplay
        X, y = load_iris(return_X_y=True)
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        model = GaussianNB().fit(X, names)
        proba = model.predict_proba(X)

        whole = ReliabilityDisplay.from_estimator(model, X, names, bins=4)
        expected = cal.reliability(y, proba, bins=4).columns()
        found = whole.table.columns()
        np.testing.assert_equal(found, expected)
        assert whole.name == "GaussianNB"

        one = ReliabilityDisplay.from_estimator(model, X, names, bins=4, pos_label="virginica")
        expected = cal.reliability(y == 2, proba[:, 2], bins=4).columns()
        np.testing.assert_equal(one.table.columns(), expected)

        soft = 0.9 * np.eye(3)[y] + 0.1 / 3
        two = ReliabilityDisplay.from_estimator(model, X, names, y_soft=soft, bins=4)
        np.testing.assert_equal(two.table.columns(), cal.reliability(soft, proba, bins=4).columns())
        with pytest.raises(InputError, match="from_logits=True"):
            ReliabilityDisplay.from_estimator(model, X, y, response_method="decision_function")


class TestErrors:
    def test_typing_mistakes_are_caught(self):
        with pytest.raises(UnknownOption, match="did you mean 'bins'"):
            ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], bin=3)
        with pytest.raises(UnknownOption, match="did you mean 'level'"):
            ReliabilityDisplay(cal.reliability([0, 1], [0.2, 0.7])).plot(levels=0.9)

    def test_bad_input_is_told_before_anything_is_drawn(self):
        with pytest.raises(InputError, match="predictions must lie in"):
            ReliabilityDisplay.from_predictions([0, 1], [0.2, 70])
        with pytest.raises(InputError, match="notion='classwise' does not allow"):
            ReliabilityDisplay.from_predictions([0, 1], [[0.2, 0.8], [1, 0]], notion="classwise")
        assert plt.get_fignums() == []

    def test_importing_it_needs_no_matplotlib_and_drawing_says_how_to_get_it(self):
        program = (
            "import sys\n"
            "import calibrant as cal, calibrant.plots\n"
            "assert 'matplotlib' not in sys.modules\n"
            "sys.modules['matplotlib'] = None\n"  # as if it were not installed
            "try:\n    cal.reliability([0, 1], [0.2, 0.7]).plot()\n"
            "except cal.MissingExtra as error:\n    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "pip install matplotlib (the extra 'plot')" in done.stdout, done.stderr


def test_one_soft_label_alone_says_nothing_of_its_bin():
    y, p = [0.2, 0.0, 1.0, 0.5, 0.6, 0.7], [0.1, 0.3, 0.5, 0.9, 0.9, 0.9]
    for method in ("beta", "normal"):
        found = cal.reliability(y, p, bins=5).intervals(method=method)
        alone = np.array(found["n"]) == 1
        assert np.array(found["low"])[alone].tolist() == [0, 0, 0]
        assert np.array(found["high"])[alone].tolist() == [1, 1, 1]
        assert 0 < found["low"][4] < 0.6 < found["high"][4] < 1


def test_labels_that_scatter_as_outcomes_do_have_no_narrow_limits():
    """Two rows of 0 and 1 among soft ones: no beta distribution is as wide, so nothing is known."""
    found = cal.reliability([0.0, 1.0, 0.5, 0.4], [0.1, 0.1, 0.9, 0.9], bins=2).intervals()
    assert (found["low"][0], found["high"][0]) == (0, 1)


@pytest.mark.parametrize("make", ["local", "isotonic", "smooth"])
def test_the_legend_has_the_colour_of_the_band(make):
    rng = np.random.default_rng(0)
    u = rng.random(300)
    y = (rng.random(300) < u).astype(int)
    if make == "smooth":
        display = cal.smooth_reliability(y, u).plot()
    else:
        display = cal.reliability_curve(y, u, method=make).plot()
    ax = display.figure_.axes[0]
    (band,) = [each for each in ax.collections if each.get_gid()]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    patch = ax.get_legend().legend_handles[texts.index(band.get_gid())]
    assert patch.get_facecolor() == pytest.approx(tuple(band.get_facecolor()[0]))
