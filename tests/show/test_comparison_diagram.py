"""Comparisons, slices and rank robustness as rows of dots: what is drawn is the result."""

# ruff: noqa: N806 - X is the name that scikit-learn has for features.

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.plots import ComparisonDisplay, OverlaidReliabilityDisplay
from needs import need

need("matplotlib")
from matplotlib.colors import to_rgba  # noqa: E402

BLUE = "#0072B2"  # of the first series, where nothing else is asked for


def sample(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.2, n)
    y = (rng.random(n) < p).astype(int)
    noisy = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + 0.5 * rng.normal(size=n))))
    return y, {"right": p, "noisy": noisy, "squared": p**2, "flat": np.full(n, 0.4)}


@pytest.fixture(scope="module")
def found():
    y, models = sample()
    return cal.compare(y, models, measures=["ece", "brier", "log_loss"], n_resamples=100)


def rows_of(display, measure):
    """(value, low, high) of every row that is drawn."""
    values = display.dots_[measure].get_offsets()[:, 0]
    bars = np.array([segment[:, 0] for segment in display.bars_[measure].get_segments()])
    return np.column_stack([values, bars])


def filled(points):
    return [tuple(face) == to_rgba(BLUE) for face in points.get_facecolors()]


class TestComparisons:
    @pytest.mark.parametrize("measure", ["ece", "brier"])
    def test_values_of_predictors_are_drawn(self, found, measure):
        display = found.plot(measures=[measure])
        columns = found.intervals(measure)
        assert display.names_ == found.order(measure) == columns["predictor"]
        expected = np.column_stack([columns["estimate"], columns["low"], columns["high"]])
        np.testing.assert_array_equal(rows_of(display, measure), expected)
        # The value of the sample has a mark of its own, where it is another number.
        marks = display.samples_[measure]
        assert (marks is None) == (columns[measure] == columns["estimate"])
        if marks is not None:
            assert marks.get_offsets()[:, 0].tolist() == columns[measure]
        labels = [text.get_text() for text in display.axes_[0].get_yticklabels()]
        assert labels == display.names_

    def test_intervals_are_those_of_each_predictor(self, found):
        for measure in ("ece", "brier"):
            columns = found.intervals(measure)
            for i, name in enumerate(columns["predictor"]):
                assert columns[measure][i] == found.value(name, measure)
                assert columns["low"][i] < columns["high"][i]
        assert (
            columns["low"][0] < columns["estimate"][0] == columns["brier"][0] < columns["high"][0]
        )

    def test_ranks_of_a_comparison_are_drawn(self, found):
        display = found.plot(kind="ranks", measures=["log_loss"])
        ranking = found.ranking("log_loss")
        expected = np.column_stack([ranking[key] for key in ("rank", "rank_low", "rank_high")])
        np.testing.assert_array_equal(rows_of(display, "log_loss"), expected)
        assert display.axes_[0].get_xlim() == (0.5, 4.5)

    def test_differences_and_which_of_them_are_told_from_the_best(self, found):
        display = found.plot(kind="differences", measures=["brier"])
        differences = found.differences("brier")
        expected = [(0, 0, 0)] + [(d.estimate, d.low, d.high) for d in differences]
        np.testing.assert_allclose(rows_of(display, "brier"), expected)
        assert filled(display.dots_["brier"]) == [True] + [bool(d.better) for d in differences]
        best = found.order("brier")[0]
        assert display.axes_[0].get_xlabel() == f"Brier score minus that of\n{best}"

    def test_measures_side_by_side_are_in_the_order_of_the_first(self, found):
        display = found.plot(measures=["brier", "ece"], cap=3)
        assert display.names_ == found.order("brier")[:3]
        assert [ax.get_xlabel() for ax in display.axes_] == ["brier", "ece"]
        values = rows_of(display, "ece")[:, 0]
        columns = found.intervals("ece")
        by_name = dict(zip(columns["predictor"], columns["estimate"], strict=True))
        assert values.tolist() == [by_name[name] for name in display.names_]
        assert "The best 3 of 4 predictors are shown." in display.caption()

    def test_what_is_not_there_is_named(self, found):
        with pytest.raises(InputError, match="did you mean 'ranks'"):
            found.plot(kind="rank")
        with pytest.raises(InputError, match="did you mean 'brier'"):
            found.plot(measures=["bier"])
        with pytest.raises(InputError, match="one measure or more"):
            found.plot(measures=[])

    def test_predictions(self):
        y, models = sample(200)
        display = ComparisonDisplay.from_predictions(
            y, models, measures=["brier", "ece"], kind="ranks", n_resamples=50
        )
        assert list(display.dots_) == ["brier", "ece"]
        assert display.comparison.recipe["n_resamples"] == 50

    def test_classifiers(self):
        need("sklearn")
        from sklearn.datasets import load_iris
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB

        X, y = load_iris(return_X_y=True)
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        models = {
            "bayes": GaussianNB().fit(X, names),
            "logistic": LogisticRegression(max_iter=500).fit(X, names),
        }
        display = ComparisonDisplay.from_estimator(
            models, X, names, measures=["brier"], n_resamples=50
        )
        for name, model in models.items():
            expected = cal.brier_score(y, model.predict_proba(X))
            assert display.comparison.value(name, "brier") == pytest.approx(expected)
        two = GaussianNB().fit(X[y > 0], names[y > 0])
        with pytest.raises(InputError, match="'two' has other classes"):
            ComparisonDisplay.from_estimator({**models, "two": two}, X[y > 0], names[y > 0])
        with pytest.raises(InputError, match="map names to fitted classifiers"):
            ComparisonDisplay.from_estimator(two, X, y)

        over = OverlaidReliabilityDisplay.from_estimator(models, X, names, bins=3)
        assert list(over.tables) == ["bayes", "logistic"]
        expected = cal.reliability(y, models["bayes"].predict_proba(X), bins=3)
        np.testing.assert_equal(over.tables["bayes"].columns(), expected.columns())


class TestOverlay:
    def test_one_curve_for_each(self):
        y, models = sample()
        display = OverlaidReliabilityDisplay.from_predictions(y, models, bins=8)
        assert len(display.displays_) == 4 and {d.ax_ for d in display.displays_} == {display.ax_}
        for each, predictions in zip(display.displays_, models.values(), strict=True):
            columns = cal.reliability(y, predictions, bins=8).columns()
            held = np.array(columns["weight"]) > 0
            np.testing.assert_array_equal(
                each.line_.get_ydata(), np.array(columns["mean_target"])[held]
            )
            assert each.intervals_ is None and each.counts_ax_ is None
        two = dict(list(models.items())[:2])
        with_bars = OverlaidReliabilityDisplay.from_predictions(y, two, level=0.9)
        assert all(each.intervals_ is not None for each in with_bars.displays_)
        assert with_bars.displays_[0].counts_ax_ is with_bars.displays_[1].counts_ax_ is not None

    def test_names_are_needed(self):
        with pytest.raises(InputError, match="must map names to predictions"):
            OverlaidReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7])
        with pytest.raises(InputError, match="one predictor or more"):
            OverlaidReliabilityDisplay({})


class TestSlices:
    def test_the_worst_first_with_what_chance_would_show(self):
        rng = np.random.default_rng(0)
        y, models = sample(1200)
        site = rng.choice(list("abcdef"), y.size)
        p = np.where(site == "c", models["right"] ** 3, models["right"])
        slices = cal.evaluate(y, p, measures=["ece"], by=site).slices
        display = slices.plot(cap=4)
        values, columns = display.dots_.get_offsets(), slices.columns()
        assert values[:, 0].tolist() == columns["ece"][:4]
        assert display.noise_.get_offsets()[:, 0].tolist() == columns["noise_95"][:4]
        assert filled(display.dots_) == [p < 0.05 for p in columns["p_corrected"][:4]]
        labels = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert labels == [f"{part.name} ({part.n})" for part in slices.rows[:4]]
        assert labels[0].startswith("c (")
        assert "The first 4 of 6 slices are shown." in display.caption()

    def test_dots_are_estimates_where_there_are_intervals(self):
        y, models = sample(600)
        slices = cal.evaluate(
            y,
            models["right"],
            measures=["ece"],
            by=np.arange(600) % 4,
            uncertainty=True,
            n_resamples=100,
        ).slices
        display, columns = slices.plot(), slices.columns()
        dots = display.dots_.get_offsets()[:, 0]
        assert dots.tolist() == columns["estimate"]
        bars = np.array([segment[:, 0] for segment in display.bars_.get_segments()])
        assert (bars[:, 0] <= dots).all() and (dots <= bars[:, 1]).all()
        assert display.samples_.get_offsets()[:, 0].tolist() == columns["ece"]

    def test_soft_labels_have_no_noise_floor(self):
        rng = np.random.default_rng(0)
        p = rng.random(60)
        slices = cal.evaluate(p**2, p, measures=["ece"], by=np.arange(60) % 3).slices
        display = slices.plot()
        assert (display.noise_ is None) == np.isnan(slices.columns()["noise_95"]).all()


@pytest.fixture(scope="module")
def many():
    """Enough predictors for rank correlations."""
    y, models = sample()
    base = models["right"]
    more = {f"m{j}": np.clip(base ** (1 + j / 8), 1e-6, 1 - 1e-6) for j in range(8)}
    return cal.compare(y, more, measures=["ece", "brier", "log_loss"], n_resamples=50)


class TestRobustness:
    def test_correlations_with_their_margins(self, many):
        for relation in ("bins", "loss", "dominance"):
            rows = [r for r in many.robustness.select(relation=relation) if r.value is not None]
            display = many.robustness.plot(relation=relation)
            assert display.dots_.get_offsets()[:, 0].tolist() == [row.value for row in rows]
            bars = np.array([segment[:, 0] for segment in display.bars_.get_segments()])
            low = [max(row.value - row.margin, -1) for row in rows]
            np.testing.assert_allclose(bars[:, 0], low)
        only = many.robustness.plot(measures=["ece"])
        assert len(only.dots_.get_offsets()) == 3

    def test_nothing_to_draw_is_told(self, many):
        with pytest.raises(InputError, match="no rank correlation"):
            many.robustness.plot(measures=["brier"])
        with pytest.raises(InputError, match="did you mean 'bins'"):
            many.robustness.plot(relation="bin")
