"""Scalers inside scikit-learn: clones, pipelines, searches, and its own estimator checks."""

import pickle

import numpy as np
import pytest
from scaling_problems import BINARY, KINDS, MULTICLASS, NEW

import calibrant as cal
from calibrant import InputError
from calibrant.scaling import (
    SCALERS,
    DirichletCalibration,
    HistogramBinning,
    MatrixScaling,
    PlattScaling,
    SameRows,
    TemperatureScaling,
)
from forks import answer
from needs import need

sklearn = need("sklearn")

from sklearn.base import clone, is_classifier  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from calibrant.scaling import Recalibrated, ScalingEstimator  # noqa: E402

ONE_COLUMN_PER_CLASS = (
    "X are predictions: a column per class, where the check brings other features"
)
EXPECTED = dict.fromkeys(
    [
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_all_zero_sample_weights_error",
        "check_sample_weight_equivalence_on_dense_data",
        "check_dtype_object",
        "check_pipeline_consistency",
        "check_estimators_nan_inf",
        "check_estimators_pickle",
        "check_classifiers_classes",
        "check_classifiers_train",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ],
    ONE_COLUMN_PER_CLASS,
)
ESTIMATORS = [
    Recalibrated(GaussianNB(), DirichletCalibration(), cv=2),
    Recalibrated(LogisticRegression(), TemperatureScaling(), cv=2),  # sparse X too
    TemperatureScaling().as_estimator(),
]


def expected_to_fail(estimator):
    return EXPECTED if isinstance(estimator, ScalingEstimator) else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_to_fail)
def test_estimator_checks(estimator, check, request):
    expected = request.node.get_closest_marker("xfail")
    try:
        check(estimator)
    except Exception:
        if expected is None:
            raise
    else:
        return
    # In a line: the traceback of each would have all of scikit-learn's checks parsed anew.
    pytest.xfail(expected.kwargs["reason"])


@pytest.mark.parametrize("kind", KINDS)
class TestScalers:
    def test_clones_are_unfitted_and_equal(self, kind):
        scaler = SCALERS[kind](from_logits=True).fit(MULTICLASS.hard, MULTICLASS.logits)
        copy = clone(scaler)
        assert copy.get_params() == scaler.get_params() and not hasattr(copy, "loss_")
        copy.set_params(from_logits=False)
        assert scaler.from_logits and not copy.from_logits

    def test_the_estimator_is_the_scaler(self, kind):
        scaler = SCALERS[kind](from_logits=True)
        names = np.array(["ant", "bee", "cat", "dog"])
        model = scaler.as_estimator().fit(MULTICLASS.logits, names[MULTICLASS.hard])
        assert is_classifier(model) and model.classes_.tolist() == names.tolist()
        new = NEW["multiclass"].logits
        expected = SCALERS[kind](from_logits=True).fit(MULTICLASS.hard, MULTICLASS.logits)
        np.testing.assert_array_equal(model.predict_proba(new), expected.transform(new))
        np.testing.assert_array_equal(model.transform(new), expected.transform(new))
        assert set(model.predict(new)) <= set(names)
        assert not hasattr(scaler, "loss_")  # what was given stays as it was
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(model.predict_proba(new), again.predict_proba(new))

    def test_one_column_is_the_second_class(self, kind):
        model = SCALERS[kind]().as_estimator()
        predictions = BINARY.predictions(model.scaler.from_logits)[:, None]
        weights = BINARY.weights.astype(float)
        out = model.fit_transform(predictions, BINARY.hard == 1, sample_weight=weights)
        assert out.shape == (400, 2)
        np.testing.assert_allclose(out.sum(axis=1), 1)
        assert model.classes_.tolist() == [False, True]


def test_a_pipeline_ends_in_a_scaler():
    train, test = slice(0, 250), slice(250, 400)
    to_logs = FunctionTransformer(lambda p: np.log(p))
    pipeline = make_pipeline(to_logs, TemperatureScaling().as_estimator())
    pipeline.fit(MULTICLASS.proba[train], MULTICLASS.hard[train])
    out = pipeline.predict_proba(MULTICLASS.proba[test])
    before = cal.log_loss(MULTICLASS.hard[test], MULTICLASS.proba[test])
    assert cal.log_loss(MULTICLASS.hard[test], out) < before
    inside = make_pipeline(TemperatureScaling().as_estimator(), LogisticRegression())
    inside.fit(MULTICLASS.logits, MULTICLASS.hard)


def test_options_can_be_searched():
    search = GridSearchCV(
        MatrixScaling().as_estimator(), {"scaler__l2": [0.01, 100.0]}, scoring="neg_log_loss", cv=3
    ).fit(MULTICLASS.logits, MULTICLASS.hard)
    assert search.best_params_["scaler__l2"] in (0.01, 100.0)


def test_columns_and_classes_must_agree():
    with pytest.raises(InputError, match=r"it has 4, and there are 2 classes.*classes=\[...\]"):
        TemperatureScaling().as_estimator().fit(MULTICLASS.logits, MULTICLASS.hard % 2)
    rows = MULTICLASS.hard != 1
    model = TemperatureScaling().as_estimator(classes=[0, 1, 2, 3])
    model.fit(MULTICLASS.logits[rows], MULTICLASS.hard[rows])
    assert model.classes_.tolist() == [0, 1, 2, 3]


class TestRecalibrated:
    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, random_state=0, test_size=0.6)
    X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, random_state=0, test_size=0.5)

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_estimator_fitted_before_is_not_fitted_again(self, kind):
        model = GaussianNB().fit(self.X_train, self.y_train)
        before = cal.log_loss(self.y_test, model.predict_proba(self.X_test))
        scaler = SCALERS[kind](from_logits=False)
        if "l2" in scaler.get_params():
            scaler.set_params(l2=0.1)
        calibrated = Recalibrated(model, scaler, cv="prefit").fit(self.X_val, self.y_val)
        assert calibrated.estimator_ is model
        out = calibrated.predict_proba(self.X_test)
        np.testing.assert_allclose(out.sum(axis=1), 1)
        assert cal.log_loss(self.y_test, out) < before

    @pytest.mark.parametrize(
        ("of", "cv"),
        [(RandomForestClassifier(30, random_state=0), 3), (LinearSVC(C=1e-3), StratifiedKFold(4))],
        ids=["forest", "SVC"],
    )
    def test_cross_validated(self, of, cv):
        model = Recalibrated(of, TemperatureScaling(), cv=cv).fit(self.X_train, self.y_train)
        out = model.predict_proba(self.X_test)
        assert cal.ece(self.y_test, out) < 0.1
        assert (model.predict(self.X_test) == self.y_test).mean() > 0.9
        assert model.n_features_in_ == 64 and is_classifier(model)
        clone(model)

    def test_frozen_classifiers_are_not_fitted_again(self):
        model = GaussianNB().fit(self.X_train, self.y_train)
        frozen = Recalibrated(FrozenEstimator(model)).fit(self.X_val, self.y_val)
        prefit = Recalibrated(model, cv="prefit").fit(self.X_val, self.y_val)
        assert frozen.scaler_.temperature_ == pytest.approx(prefit.scaler_.temperature_)

    def test_rows_of_the_fit_are_recognised(self):
        model = GaussianNB().fit(self.X_train, self.y_train)
        calibrated = Recalibrated(model, cv="prefit").fit(self.X_val, self.y_val)
        with pytest.warns(SameRows):
            calibrated.predict_proba(self.X_val)

    def test_labels_by_name_and_weights(self):
        y = np.where(self.y_train == 8, "eight", "other")
        weights = np.ones(len(y))
        plain = Recalibrated(GaussianNB(), cv=3).fit(self.X_train, y)
        model = clone(plain).fit(self.X_train, y, sample_weight=weights)
        assert model.classes_.tolist() == ["eight", "other"]
        assert model.scaler_.temperature_ == pytest.approx(plain.scaler_.temperature_)

    def test_clusters_reach_the_splitter(self):
        groups = np.arange(len(self.X_train)) // 3
        found = Recalibrated(GaussianNB(), cv=GroupKFold(3)).fit(
            self.X_train, self.y_train, groups=groups
        )
        splits = list(GroupKFold(3).split(self.X_train, self.y_train, groups))
        same = Recalibrated(GaussianNB(), cv=splits).fit(self.X_train, self.y_train)
        assert found.scaler_.temperature_ == same.scaler_.temperature_
        with pytest.raises(InputError, match=r"GroupKFold.*fit\(X, y, groups=\.\.\.\)"):
            Recalibrated(GaussianNB(), cv=GroupKFold(3)).fit(self.X_train, self.y_train)

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            ((GaussianNB(), "isotonic"), {}, "scaler must be a map.*got 'isotonic'"),
            ((GaussianNB(), PlattScaling), {}, r"got the class PlattScaling: make one, Platt"),
            ((GaussianNB,), {}, "estimator must be a classifier.*got the class GaussianNB"),
            ((LinearRegression(),), {}, "LinearRegression has neither predict_proba nor"),
            (("model",), {}, "estimator must be a classifier.*got 'model'"),
            ((GaussianNB(),), {"cv": 1}, "cv must be 2 folds or more.*got 1"),
            ((GaussianNB(),), {"cv": True}, "cv must be 2 folds or more.*got True"),
            ((GaussianNB(),), {"cv": "prefitted"}, "cv must be 2 folds or more.*got 'prefitted'"),
            ((GaussianNB(),), {"cv": 2.5}, "cv must be 2 folds or more.*got 2.5"),
            (
                (GaussianNB(),),
                {"cv": [(np.arange(50), np.arange(50, 60))]},
                "^cv=a list of splits leaves rows out: every row must be in exactly one test fold$",
            ),
        ],
    )
    def test_what_is_none_is_said_in_words(self, arguments, options, message):
        with pytest.raises(InputError, match=message):
            Recalibrated(*arguments, **options).fit(self.X_train, self.y_train)

    def test_what_cannot_be(self):
        with pytest.raises(InputError, match="no predict_proba: give a scaler with from_logits"):
            Recalibrated(LinearSVC(), HistogramBinning()).fit(self.X_train, self.y_train)
        with pytest.raises(InputError, match="y holds 1 class only"):
            Recalibrated(GaussianNB()).fit(self.X_train, np.zeros(len(self.X_train)))
        first = np.r_[True, np.zeros(len(self.y_train) - 1, dtype=bool)]
        alone = np.where(first, 77, self.y_train % 3)
        rare = pytest.warns(UserWarning, match="least populated")
        with rare, pytest.raises(InputError, match="lacks a class of y"):
            Recalibrated(GaussianNB(), cv=3).fit(self.X_train, alone)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            Recalibrated(GaussianNB(), cv="prefit").fit(self.X_train, self.y_train)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            TemperatureScaling().as_estimator().predict_proba([[0.1, 0.2]])


def test_without_scikit_learn_the_extra_is_named():
    program = (
        "import sys; assert 'sklearn' not in sys.modules\n"
        "sys.modules['sklearn'] = sys.modules['sklearn.base'] = None\n"
        "from calibrant import MissingExtra, scaling\n"
        "scaler = scaling.PlattScaling().fit([0, 1, 0, 1], [0.2, 0.7, 0.6, 0.5])\n"
        "try: scaler.as_estimator()\n"
        "except MissingExtra as error: say(str(error))"
    )
    assert "needs the package 'scikit-learn'" in answer(program)
