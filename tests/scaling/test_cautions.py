"""What a fit warns of, and what is refused: which argument, what came, what to do."""

import re
import warnings

import numpy as np
import pytest
from scaling_problems import BINARY, KINDS, MULTICLASS, PENALISED, SHAPES, TEMPERATURES, softmax

from calibrant import (
    CalibrantWarning,
    EqualWidth,
    InputError,
    LevelSets,
    Quantile,
    StateError,
    UnknownOption,
)
from calibrant.scaling import (
    SCALERS,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    LabelSmoothingTemperature,
    MatrixScaling,
    PlattScaling,
    SameRows,
    TemperatureScaling,
    VectorScaling,
)
from looped import looped

# Maps that take no logarithm of the predictions.
NOT_MISLED = ("IsotonicCalibration", "CentredIsotonic", "VennAbers", "HistogramBinning")
EASY = np.array([[4.0, 1, 0], [0, 3, 1], [1, 0, 2], [2, 1, 0], [0, 2, 1], [0, 1, 5]])
RIGHT = EASY.argmax(axis=1)


class TestWarnings:
    def test_separable_predictions_have_no_temperature(self):
        with pytest.warns(CalibrantWarning, match="lower end, 0.001.*right on every row") as caught:
            scaler = TemperatureScaling().fit(RIGHT, EASY)
        assert scaler.temperature_ == pytest.approx(1e-3)
        assert caught[0].filename == __file__

    def test_predictions_the_wrong_way_round(self):
        with pytest.warns(CalibrantWarning, match="upper end, 1000.*order of the rows"):
            TemperatureScaling().fit(EASY.argmin(axis=1), EASY)

    @pytest.mark.parametrize("kind", [VectorScaling, MatrixScaling, DirichletCalibration])
    def test_separable_predictions_have_no_linear_map(self, kind):
        with pytest.warns(CalibrantWarning, match="right on every row.*Fit on more rows, or use"):
            scaler = kind(from_logits=True).fit(RIGHT, EASY)
        assert np.isfinite(scaler.coef_).all()
        assert np.isfinite(scaler.transform(EASY[:2])).all()

    @pytest.mark.parametrize("kind", ["PlattScaling", "BetaCalibration"])
    def test_separable_predictions_have_no_curve(self, kind):
        with pytest.warns(CalibrantWarning, match="the map is right on every row"):
            scaler = SCALERS[kind]().fit([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.6])
        assert np.isfinite(scaler.transform([0.0, 0.5, 1.0])).all()
        with pytest.warns(CalibrantWarning, match="the maps of classes 0, 1, 2 are right"):
            SCALERS[kind](from_logits=True).fit(RIGHT, EASY * [[2, 2, 2]])

    @pytest.mark.parametrize("kind", SCALERS)
    def test_predictions_rounded_to_0_and_1_are_told(self, kind):
        rng = np.random.default_rng(0)
        h = 2 * rng.normal(size=600)
        y = (rng.random(600) < 1 / (1 + np.exp(-0.7 * h))).astype(int)
        p = 1 / (1 + np.exp(-h))
        rounded = np.where(abs(h) > 3, np.round(p), p)
        wrong = int((((rounded == 0) & (y == 1)) | ((rounded == 1) & (y == 0))).sum())
        misled = kind not in NOT_MISLED
        said = (
            rf"{wrong} rows had a prediction of 0 for the observed outcome.*makes \d\d% of the loss"
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SCALERS[kind](from_logits=False).fit(y, p)
            assert not caught
            SCALERS[kind](from_logits=False).fit(y, rounded)
        assert [bool(re.search(said, str(each.message))) for each in caught] == [True] * misled
        # One such row among many is no matter.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            many = np.append(np.tile(y, 10), 1), np.append(np.tile(p, 10), 0.0)
            SCALERS[kind](from_logits=False).fit(*many)

    def test_smoothing_and_penalties_help(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            PlattScaling(smooth_targets=True).fit([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.6])
            MatrixScaling(l2=0.1).fit(MULTICLASS.hard, MULTICLASS.logits)

    @pytest.mark.parametrize("kind", [k for k in KINDS if k not in TEMPERATURES])
    def test_a_class_that_was_never_seen_is_named(self, kind):
        rows = MULTICLASS.hard != 2
        scaler = SCALERS[kind](from_logits=True)
        with pytest.warns(CalibrantWarning, match="the fit had no target of class cat"):
            scaler.fit(
                MULTICLASS.hard[rows], MULTICLASS.logits[rows], classes=["a", "b", "cat", "d"]
            )
        out = scaler.transform(MULTICLASS.logits[:50])
        before = softmax(MULTICLASS.logits[:50])[:, 2]
        # A penalty lets it go a part of the way; Venn-Abers tries the label on the row itself, much
        # beyond all other rows.
        if kind in PENALISED:
            low = out[:, 2].mean() < 0.5 * before.mean()
        else:
            most = 1.0 if kind == "VennAbers" else 0.05
            low = out[:, 2].max() < most and out[:, 2].mean() < 0.05
        assert np.isfinite(out).all() and low

    @pytest.mark.parametrize("kind", TEMPERATURES)
    def test_temperature_needs_no_class_in_particular(self, kind):
        rows = MULTICLASS.hard != 2
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            SCALERS[kind]().fit(MULTICLASS.hard[rows], MULTICLASS.logits[rows])

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_rows_of_the_fit_are_recognised(self, kind, shape):
        made = SHAPES[shape]
        scaler = SCALERS[kind]()
        predictions = made.predictions(scaler.from_logits)
        scaler.fit(made.soft, predictions)
        with pytest.warns(
            SameRows, match="all of these rows were used to fit .*held-out"
        ) as caught:
            out = scaler.transform(predictions.copy(order="F"))
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(scaler.fit_transform(made.soft, predictions), out)
            warnings.simplefilter("ignore", SameRows)
            scaler.transform(predictions)


class TestRefusals:
    @pytest.mark.parametrize("kind", KINDS)
    def test_what_is_not_fitted(self, kind):
        with pytest.raises(StateError, match=rf"{kind} is not fitted: call fit\(y_true, y_proba\)"):
            SCALERS[kind]().transform([0.2, 0.7])
        with pytest.raises(StateError, match="not fitted"):
            SCALERS[kind]().to_json()

    @looped("kind", KINDS)
    @pytest.mark.parametrize(
        ("y", "p", "options", "message"),
        [
            ([0, 1], [0.2, np.nan], {}, r"y_proba\[1\] is nan"),
            ([0, 1], [0.2, 1.7], {}, r"y_proba\[1\] is 1.7.*from_logits=True"),
            ([0, 2], [0.2, 0.7], {}, r"y_true\[1\] is 2"),
            ([0, np.nan], [0.2, 0.7], {}, r"y_true\[1\] is nan"),
            ([0, 1, 1], [0.2, 0.7], {}, "same number of rows; got 3 and 2"),
            ([0, 1], [[0.2, 0.7], [0.5, 0.5]], {}, r"y_proba\[0\] sums to"),
            ([0, 5], [[0.2, 0.8], [0.5, 0.5]], {}, r"y_true\[1\] is 5"),
            ([0, 1], [[0.2], [0.8]], {}, "one column is one class, but"),
            ([], [], {}, "at least one row"),
            (["a", "b"], [0.2, 0.7], {}, r"classes=\[...\]"),
            ([0, 1], None, {}, "y_proba must be numbers; it is None"),
            ([0.3, 0.6], [0, 1], {}, "swapped"),
            ([0, 1], [0.2, 0.7], {"sample_weight": [1, -1]}, r"sample_weight\[1\] is -1"),
            ([0, 1], [0.2, 0.7], {"sample_weight": [0, 0]}, "sample_weight is 0 in every row"),
            ([0, 1], [0.2, 0.7], {"sample_weight": [1]}, r"one weight per row"),
        ],
    )
    def test_what_cannot_be_fitted(self, kind, y, p, options, message):
        with pytest.raises(InputError, match=message):
            SCALERS[kind](from_logits=False).fit(y, p, **options)

    def test_logits_must_be_finite(self):
        with pytest.raises(InputError, match=r"y_proba\[1, 0\] is inf"):
            TemperatureScaling().fit([0, 1], [[0.1, 2.0], [np.inf, 1.0]])

    @pytest.mark.parametrize(
        ("predictions", "message"),
        [
            ([0.2, 0.3], r"y_proba must have the shape \(n, 4\), as in fit; it is \(n,\)"),
            ([[0.5, 0.5]], r"it is \(n, 2\): give the same classes"),
            ([[0.1, 0.2, 0.3, np.nan]], r"y_proba\[0, 3\] is nan"),
            (None, "y_proba must be numbers"),
            ("p", "y_proba must be numbers"),
            (0.3, "it is a single number"),
        ],
    )
    def test_what_cannot_be_transformed(self, predictions, message):
        scaler = IsotonicCalibration().fit(MULTICLASS.hard, MULTICLASS.proba)
        with pytest.raises(InputError, match=message):
            scaler.transform(predictions)

    def test_a_failed_fit_changes_nothing(self):
        scaler = TemperatureScaling().fit(MULTICLASS.hard, MULTICLASS.logits)
        before = scaler.to_json()
        with pytest.raises(InputError):
            scaler.fit([0, 9], [[0.1, 0.2], [0.3, 0.4]])
        assert scaler.to_json() == before

    @pytest.mark.parametrize(
        ("scaler", "message"),
        [
            (TemperatureScaling(from_logits="yes"), "from_logits must be True or False; got 'yes'"),
            (MatrixScaling(l2=-1, from_logits=False), "l2 must be a finite number, at least 0"),
            (DirichletCalibration(l2="much"), "l2 must be .* got 'much'"),
            (DirichletCalibration(l2=np.nan), "l2 must be"),
            (PlattScaling(smooth_targets=1), "smooth_targets must be True or False; got 1"),
            (
                LabelSmoothingTemperature(smoothing=1.5, from_logits=False),
                r"smoothing must be a number in \[0, 1\] or None; got 1.5",
            ),
            (LabelSmoothingTemperature(smoothing=np.nan), "smoothing must be .* got nan"),
            (LabelSmoothingTemperature(smoothing=True), "smoothing must be .* got True"),
            (LabelSmoothingTemperature(smoothing="much"), "smoothing must be .* got 'much'"),
            (HistogramBinning(bins=0), "bins must be at least 1"),
            (HistogramBinning(bins="quantil"), "did you mean 'quantile'"),
            (HistogramBinning(bins=LevelSets()), "every new prediction into one bin"),
            (HistogramBinning(bins=Quantile(5, ties="rank")), "every new prediction into one bin"),
            (
                HistogramBinning(bins=EqualWidth(5, drop_one=True)),
                "every new prediction into one bin",
            ),
        ],
        ids=str,
    )
    def test_options_that_mean_nothing(self, scaler, message):
        with pytest.raises(InputError, match=message):
            scaler.fit(BINARY.hard, BINARY.proba)

    @pytest.mark.parametrize("kind", KINDS)
    def test_options_that_are_not_there(self, kind):
        with pytest.raises(UnknownOption, match="did you mean 'from_logits'"):
            SCALERS[kind](from_logit=True)
        with pytest.raises(UnknownOption, match="did you mean 'from_logits'"):
            SCALERS[kind]().set_params(from_logit=True)
        with pytest.raises(UnknownOption, match="did you mean 'sample_weight'"):
            SCALERS[kind]().fit([0, 1], [0.2, 0.7], sample_weights=[1, 1])
        with pytest.raises(TypeError):
            SCALERS[kind](True)


def test_a_map_that_turns_the_order_round_says_so():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    with pytest.warns(CalibrantWarning, match=r"the slope is negative \(-.*reverses"):
        PlattScaling().fit(rng.random(400) > p, p)
    rows = rng.dirichlet(np.ones(3), 400)
    y = (rng.random(400)[:, None] > rows[:, [1, 0, 2]].cumsum(axis=1)).sum(axis=1)
    with pytest.warns(CalibrantWarning, match="the slope of classes 0, 1 is negative"):
        PlattScaling().fit(y, rows)
