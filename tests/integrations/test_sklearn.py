"""scikit-learn: scorers, metadata, labels of every kind, and Array API inputs."""

# ruff: noqa: N803, N806 - X is the name that scikit-learn has for features.

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, UnknownOption
from needs import need

need("sklearn")

from sklearn import config_context  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.datasets import load_iris, make_classification  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression, Perceptron  # noqa: E402
from sklearn.metrics import make_scorer  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402

from calibrant.integrations.sklearn import scorer, scorer_names  # noqa: E402

CV = StratifiedKFold(3, shuffle=True, random_state=0)


def data(k: int, n: int = 300):
    X, y = make_classification(
        n, n_features=6, n_informative=5, n_redundant=0, n_classes=k, flip_y=0.2, random_state=k
    )
    return X, y


def predictions(model, X):
    proba = model.predict_proba(X)
    return proba[:, 1] if proba.shape[1] == 2 else proba


def fold_means(measure, X, y, targets, neighbours):
    """The mean over folds of a measure of nearest neighbours, by hand."""
    out = []
    for m in neighbours:
        values = []
        for train, test in CV.split(X, y):
            model = KNeighborsClassifier(m).fit(X[train], y[train])
            values.append(measure(targets[test], predictions(model, X[test])))
        out.append(float(np.mean(values)))
    return out


class TestEveryMeasure:
    @pytest.mark.parametrize(
        ("k", "entry"),
        [
            (k, m)
            for k, shape in ((2, "binary"), (3, "multiclass"))
            for m in cal.catalogue(shape)
            if m.parts is None  # what has parts refuses hard labels
        ],
        ids=lambda value: getattr(value, "name", value),
    )
    def test_scores_are_the_evaluation_with_its_sign(self, k, entry):
        X, y = data(k)
        model = GaussianNB().fit(X[:150], y[:150])
        value = cal.evaluate(y[150:], predictions(model, X[150:]), measures=[entry.name])[
            entry.name
        ]
        sign = 1 if entry.higher_is_better else -1
        assert scorer(entry.name)(model, X[150:], y[150:]) == sign * value

    def test_names_are_those_of_the_catalogue(self):
        assert set(scorer_names()) == {entry.name for entry in cal.catalogue()}
        assert {scorer(name).name for name in scorer_names()} == set(scorer_names())

    def test_greater_is_better_picks_the_best_calibrated(self):
        X, y = data(2, 600)
        grid = GridSearchCV(
            KNeighborsClassifier(), {"n_neighbors": [1, 5, 60]}, scoring=scorer("brier"), cv=CV
        ).fit(X, y)
        brier = fold_means(cal.brier_score, X, y, y, (1, 5, 60))
        assert grid.best_params_["n_neighbors"] == (1, 5, 60)[int(np.argmin(brier))]
        np.testing.assert_allclose(grid.cv_results_["mean_test_score"], -np.array(brier))


class TestOptions:
    def test_options_reach_the_function(self):
        X, y = data(3)
        model = GaussianNB().fit(X, y)
        p = model.predict_proba(X)
        assert scorer("ece", bins=4, norm="max")(model, X, y) == -cal.ece(y, p, bins=4, norm="max")
        assert scorer("rmsce", bins=7)(model, X, y) == -cal.ece(y, p, bins=7, norm="l2")
        assert scorer("ls_ece", sigma=0.4)(model, X, y) == -cal.ls_ece(y, p, sigma=0.4)
        assert scorer("ece", notion="classwise")(model, X, y) == scorer("classwise_ece")(
            model, X, y
        )

    def test_what_is_refused_is_named(self):
        with pytest.raises(InputError, match="no measure is called 'ecee': did you mean 'ece'"):
            scorer("ecee")
        with pytest.raises(InputError, match=r"may be 'ece'.* or 'smooth_ece'"):
            scorer("smece")
        assert scorer("soft_ece").name == "ece"
        with pytest.raises(UnknownOption, match="no option 'bin': did you mean 'bins'"):
            scorer("ece", bin=3)
        with pytest.raises(InputError, match=r"'mce' calls ece\(norm='max'\)"):
            scorer("mce", norm="l1")
        with pytest.raises(UnknownOption, match="metadata"):
            scorer("ece", sample_weight=[1, 2])
        with pytest.raises(UnknownOption, match="hands the scorer its rows"):
            scorer("ece", data=[1, 2])

    def test_a_scorer_shows_how_it_was_made(self):
        assert (
            repr(scorer("ece", bins=3, pos_label="no")) == "scorer('ece', pos_label='no', bins=3)"
        )

    def test_copies_and_pickles_score_the_same(self):
        X, y = data(2)
        model = GaussianNB().fit(X, y)
        for one in (scorer("mce", bins=5), scorer("brier_discrimination")):
            for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
                assert other(model, X, y) == one(model, X, y)

    def test_a_scorer_travels_to_worker_processes(self):
        X, y = data(2)
        alone = cross_val_score(GaussianNB(), X, y, scoring=scorer("ece"), cv=CV)
        # One worker of those that n_jobs starts, each of which imports everything again.
        workers = need("joblib.externals.loky").get_reusable_executor(max_workers=1)
        spread = workers.submit(cross_val_score, GaussianNB(), X, y, scoring=scorer("ece"), cv=CV)
        np.testing.assert_array_equal(alone, spread.result())
        workers.shutdown()


class TestLabels:
    @pytest.mark.parametrize(
        "names", [["no", "yes"], [False, True], [3, 7], [-1.0, 1.0]], ids=lambda n: str(n[0])
    )
    def test_binary_labels_of_any_kind(self, names):
        X, y = data(2)
        named = np.array(names)[y]
        plain = cross_val_score(GaussianNB(), X, y, scoring=scorer("ece"), cv=CV)
        found = cross_val_score(GaussianNB(), X, named, scoring=scorer("ece"), cv=CV)
        np.testing.assert_array_equal(found, plain)

    @pytest.mark.parametrize("names", [["b", "a", "c"], [10, 5, 20]])
    def test_multiclass_labels_of_any_kind(self, names):
        X, y = data(3)
        named = np.array(names)[y]
        model = GaussianNB().fit(X, named)
        p = model.predict_proba(X)  # its columns are in the order of sorted names
        codes = np.searchsorted(np.sort(names), named)
        assert scorer("ece")(model, X, named) == -cal.ece(codes, p)
        assert scorer("lin_ce")(model, X, named) == -cal.lin_ce(codes, p)

    def test_the_positive_label_can_be_chosen(self):
        X, y = data(2)
        named = np.array(["no", "yes"])[y]
        forest = RandomForestClassifier(20, random_state=0).fit(X[:200], named[:200])
        p = forest.predict_proba(X)
        for pos_label, column in (("no", 0), ("yes", 1)):
            found = scorer("ece", bins=10, pos_label=pos_label)(forest, X, named)
            assert found == -cal.ece(named == pos_label, p[:, column], bins=10)
        with pytest.raises(InputError, match="did you mean 'yes'"):
            scorer("ece", pos_label="yess")(forest, X, named)

    def test_one_class_against_the_rest(self):
        X, y = data(3)
        named = np.array(["a", "b", "c"])[y]
        model = GaussianNB().fit(X, named)
        found = scorer("smooth_ece", pos_label="c")(model, X, named)
        assert found == -cal.smooth_ece(y == 2, model.predict_proba(X)[:, 2])

    def test_a_label_that_the_estimator_has_not_seen_is_an_error(self):
        X, y = data(3)
        for k, one in ((2, scorer("ece")), (3, scorer("ece")), (3, scorer("ece", pos_label=1))):
            model = GaussianNB().fit(X[y < k], y[y < k])
            strange = np.where(np.arange(len(y)) == 4, 9, y % k)
            with pytest.raises(InputError, match=r"y_true\[4\] is 9"):
                one(model, X, strange)

    def test_a_class_that_a_fold_lacks_has_the_probability_0(self):
        X, y = load_iris(return_X_y=True)
        names = np.array(["a", "b", "c"])[y]
        one = scorer("brier", classes=["a", "b", "c"])
        found = cross_val_score(GaussianNB(), X, names, scoring=one, cv=KFold(3))
        # Each fold is one class, which no training rows have: what is predicted is never right.
        for fold, (train, test) in enumerate(KFold(3).split(X)):
            p = np.zeros((test.size, 3))
            p[:, np.unique(y[train])] = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
            assert found[fold] == pytest.approx(-cal.brier_score(y[test], p), rel=1e-12)
        rest = scorer("brier", classes=["a", "b", "c"], pos_label="a")
        model = GaussianNB().fit(X[y > 0], names[y > 0])
        assert rest(model, X, names) == -cal.brier_score((y == 0).astype(int), np.zeros(len(y)))
        alone = GaussianNB().fit(X[y == 0], names[y == 0])
        assert scorer("brier", classes=["a", "b"])(alone, X[y < 2], names[y < 2]) == -0.5
        assert repr(rest) == "scorer('brier', pos_label='a', classes=['a', 'b', 'c'])"

    def test_classes_that_do_not_fit_are_named(self):
        X, y = data(3)
        model = GaussianNB().fit(X, y)
        with pytest.raises(InputError, match="classes lacks the estimator's class 2"):
            scorer("ece", classes=[0, 1])(model, X, y)
        with pytest.raises(InputError, match="1 appears twice"):
            scorer("ece", classes=[0, 1, 1])
        two = LogisticRegression().fit(X[y < 2], y[y < 2])
        logits = {"response_method": "decision_function", "from_logits": True}
        with pytest.raises(InputError, match="which has no logit"):
            scorer("ece", classes=[0, 1, 2], **logits)(two, X, y)
        plain = scorer("ece", **logits)(two, X[y < 2], y[y < 2])
        assert scorer("ece", classes=[0, 1], **logits)(two, X[y < 2], y[y < 2]) == plain

    @pytest.mark.parametrize("name", [1, "1", 1.0])
    def test_a_number_and_its_text_are_one_positive_class(self, name):
        X, y = data(3)
        model = GaussianNB().fit(X, y)
        expected = -cal.ece((y == 1).astype(int), model.predict_proba(X)[:, 1])
        assert scorer("ece", pos_label=name)(model, X, y) == expected
        with pytest.raises(InputError, match="pos_label=7 is not a class: use one of 0, 1, 2"):
            scorer("ece", pos_label=7)(model, X, y)

    def test_a_measure_is_refused_where_evaluate_refuses_it(self):
        X, y = data(2)
        model = GaussianNB().fit(X, y)
        for name in ("confidence_ce_uncorrected", "classwise_ece"):
            with pytest.raises(InputError, match=f"{name}' is not defined for binary"):
                scorer(name)(model, X, y)
            with pytest.raises(InputError, match=f"{name}' is not defined for binary"):
                cal.evaluate(y, model.predict_proba(X)[:, 1], measures=[name])


class Fixed(ClassifierMixin, BaseEstimator):
    """Predictions as they were given, in any shape or type."""

    classes_ = np.array([0, 1])

    def __init__(self, values):
        self.values = values

    def predict_proba(self, X):
        return self.values


class TestTwoColumns:
    def test_rows_that_do_not_sum_to_1_are_refused(self):
        y = np.arange(40) % 2
        for pos_label in (None, 0):
            with pytest.raises(InputError, match=r"y_proba\[0\] sums to 0.8: rows must sum to 1"):
                scorer("ece", pos_label=pos_label)(Fixed(np.full((40, 2), 0.4)), y[:, None], y)
        with pytest.raises(InputError, match=r"y_proba\[3, 0\] is 5.0"):
            scorer("ece")(Fixed(np.insert(np.full((39, 2), 0.5), 3, [5, 0.4], axis=0)), y, y)

    def test_frames_and_lists_are_read(self):
        pandas = need("pandas")
        y = np.arange(40) % 2
        p = np.random.default_rng(0).random(40)
        rows = np.stack([1 - p, p], axis=1)
        expected = -cal.ece(y, p)
        for values in (rows, pandas.DataFrame(rows, columns=["no", "yes"]), rows.tolist()):
            assert scorer("ece")(Fixed(values), y[:, None], y) == expected


class TestSharedPredictions:
    def test_a_dict_of_scorers_predicts_once(self):
        class Counting(GaussianNB):
            calls = 0

            def predict_proba(self, X):
                Counting.calls += 1
                return super().predict_proba(X)

        X, y = data(2)
        cross_validate(
            Counting(),
            X,
            y,
            cv=CV,
            scoring={name: scorer(name) for name in ("ece", "brier", "mce")},
        )
        assert Counting.calls == 3  # one a fold

    def test_positive_labels_of_other_scorers_do_not_mix(self):
        X, y = data(2)
        named = np.array(["no", "yes"])[y]

        def share(y_true, y_proba, *, pos_label):
            return float(np.mean(y_proba))

        theirs = make_scorer(share, response_method="predict_proba", pos_label="no")
        ours = {"yes": scorer("ece"), "no": scorer("ece", pos_label="no")}
        found = cross_validate(GaussianNB(), X, named, cv=CV, scoring={"theirs": theirs, **ours})
        for name, one in ours.items():
            alone = cross_val_score(GaussianNB(), X, named, cv=CV, scoring=one)
            np.testing.assert_array_equal(found[f"test_{name}"], alone)


class TestLogits:
    @pytest.mark.parametrize("k", [2, 3])
    @pytest.mark.parametrize(
        "method", ["decision_function", ("decision_function", "predict_proba")]
    )
    def test_decision_functions_are_logits_if_that_is_said(self, k, method):
        X, y = data(k)
        model = LogisticRegression().fit(X, y)
        found = scorer("log_loss", response_method=method, from_logits=True)(model, X, y)
        assert found == pytest.approx(scorer("log_loss")(model, X, y), rel=1e-12)
        assert found == -cal.log_loss(y, model.decision_function(X), from_logits=True)

    def test_the_first_that_the_estimator_has_is_read(self):
        X, y = data(2)
        either = scorer(
            "ece", response_method=("predict_proba", "decision_function"), from_logits=True
        )
        bayes, perceptron = GaussianNB().fit(X, y), Perceptron().fit(X, y)
        assert either(bayes, X, y) == scorer("ece")(bayes, X, y)
        scores = perceptron.decision_function(X)
        assert either(perceptron, X, y) == -cal.ece(y, scores, from_logits=True)

    def test_pos_label_turns_logits_round(self):
        X, y = data(2)
        model = LogisticRegression().fit(X, y)
        one = scorer("ece", response_method="decision_function", from_logits=True, pos_label=0)
        assert one(model, X, y) == -cal.ece(y == 0, -model.decision_function(X), from_logits=True)

    def test_nothing_is_guessed(self):
        X, y = data(3)
        with pytest.raises(InputError, match="from_logits=True"):
            scorer("ece", response_method="decision_function")
        with pytest.raises(InputError, match="predict_proba gives probabilities"):
            scorer("ece", from_logits=True)
        with pytest.raises(InputError, match="response_method must be"):
            scorer("ece", response_method="predict")
        with pytest.raises(InputError, match=r"Perceptron has no predict_proba\. If its decision"):
            scorer("ece")(Perceptron().fit(X, y), X, y)
        one = scorer("ece", response_method="decision_function", from_logits=True, pos_label=1)
        with pytest.raises(InputError, match="pos_label needs probabilities"):
            one(LogisticRegression().fit(X, y), X, y)


class TestStrangeEstimators:
    def test_several_outputs_are_refused(self):
        X, y = data(2)
        model = RandomForestClassifier(3).fit(X, np.column_stack([y, 1 - y]))
        with pytest.raises(InputError, match="several outputs"):
            scorer("ece")(model, X, y)

    def test_one_class_is_refused(self):
        X, _ = data(2)
        with pytest.raises(InputError, match="only 1 class"):
            scorer("ece")(GaussianNB().fit(X, np.zeros(len(X))), X, np.zeros(len(X)))

    def test_an_estimator_without_classes_is_refused(self):
        class Bare(ClassifierMixin, BaseEstimator):
            def predict_proba(self, X):
                return np.full((len(X), 2), 0.5)

        X, y = data(2)
        with pytest.raises(InputError, match="Bare has no classes_"):
            scorer("ece")(Bare(), X, y)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def soft_labels(y, k):
    rng = np.random.default_rng(5)
    return 0.6 * np.eye(k)[y] + 0.4 * rng.dirichlet(np.ones(k), len(y))


@pytest.mark.usefixtures("routing")
class TestMetadata:
    @pytest.mark.parametrize("k", [2, 3])
    def test_weights_and_soft_labels_in_cross_validate(self, k):
        X, y = data(k)
        w, soft = np.random.default_rng(0).random(len(y)), soft_labels(y, k)
        names = np.array(["a", "b", "c"])[y]
        asked = {
            "plain": scorer("ece"),
            "weighted": scorer("ece").set_score_request(sample_weight=True, y_soft=False),
            "both": scorer("ece").set_score_request(sample_weight=True, y_soft=True),
        }
        asked["plain"].set_score_request(sample_weight=False, y_soft=False)
        model = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_validate(
            model, X, names, cv=CV, scoring=asked, params={"sample_weight": w, "y_soft": soft}
        )
        for fold, (train, test) in enumerate(CV.split(X, names)):
            p = predictions(GaussianNB().fit(X[train], names[train]), X[test])
            z = soft[test, 1] if k == 2 else soft[test]
            assert found["test_plain"][fold] == -cal.ece(y[test], p)
            assert found["test_weighted"][fold] == -cal.ece(y[test], p, sample_weight=w[test])
            assert found["test_both"][fold] == -cal.ece(z, p, sample_weight=w[test])

    def test_soft_labels_choose_in_a_grid_search(self):
        X, y = data(3)
        soft = soft_labels(y, 3)
        one = scorer("dist_ce").set_score_request(y_soft="votes")
        grid = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 30]}, scoring=one, cv=CV)
        grid.fit(X, y, votes=soft)
        expected = [-value for value in fold_means(cal.dist_ce, X, y, soft, (3, 30))]
        np.testing.assert_allclose(grid.cv_results_["mean_test_score"], expected, rtol=1e-12)

    def test_soft_labels_of_one_class(self):
        X, y = data(2)
        model = GaussianNB().fit(X, y)
        p, soft = model.predict_proba(X), soft_labels(y, 2)
        one = scorer("ece").set_score_request(y_soft=True)
        assert one(model, X, y, y_soft=soft[:, 1]) == -cal.ece(soft[:, 1], p[:, 1])
        other = scorer("ece", pos_label=0).set_score_request(y_soft=True)
        assert other(model, X, y, y_soft=soft[:, 0]) == -cal.ece(soft[:, 0], p[:, 0])
        assert other(model, X, y, y_soft=soft) == -cal.ece(soft[:, 0], p[:, 0])

    def test_counts_of_votes_stay_counts(self):
        X, y = data(2)
        model = GaussianNB().fit(X, y)
        p = model.predict_proba(X)
        counts = np.random.default_rng(3).multinomial(5, [0.4, 0.6], len(y))
        for votes in (counts, np.minimum(counts, 1), np.ones_like(counts)):
            votes = np.where(votes.sum(axis=1, keepdims=True) == 0, 1, votes)
            one = scorer("ece").set_score_request(y_soft=True)
            assert one(model, X, y, y_soft=votes) == -cal.ece(votes, p[:, 1])
            other = scorer("ece", pos_label=0).set_score_request(y_soft=True)
            assert other(model, X, y, y_soft=votes) == -cal.ece(votes[:, ::-1], p[:, 0])

    @pytest.mark.parametrize("k", [2, 3])
    def test_rows_of_soft_labels_must_sum_to_1(self, k):
        X, y = data(k)
        soft = soft_labels(y, k)
        soft[7] *= 0.5
        for pos_label in (None, 1):
            one = scorer("ece", pos_label=pos_label).set_score_request(y_soft=True)
            with pytest.raises(InputError, match=r"y_true\[7\] sums to 0.5"):
                one(GaussianNB().fit(X, y), X, y, y_soft=soft)

    def test_counts_of_one_class_against_the_rest(self):
        X, y = data(3)
        model = GaussianNB().fit(X, y)
        counts = np.random.default_rng(3).multinomial(4, [0.3, 0.3, 0.4], len(y))
        one = scorer("ece", pos_label=2).set_score_request(y_soft=True)
        expected = -cal.ece(counts[:, 2], model.predict_proba(X)[:, 2], votes=4)
        assert one(model, X, y, y_soft=counts) == expected

    def test_metadata_that_nobody_asked_for_is_an_error(self):
        X, y = data(2)
        with pytest.raises(Exception, match="y_soft"):
            cross_validate(GaussianNB(), X, y, scoring=scorer("ece"), params={"y_soft": y * 0.5})

    def test_soft_labels_of_the_wrong_shape(self):
        X, y = data(3)
        one = scorer("ece").set_score_request(y_soft=True)
        with pytest.raises(InputError, match=r"one column per class of the estimator \(3\)"):
            one(GaussianNB().fit(X, y), X, y, y_soft=np.ones((len(y), 2)) / 2)

    def test_soft_labels_as_a_frame(self):
        pandas = need("pandas")
        X, y = data(3)
        soft = soft_labels(y, 3)
        one = scorer("ece").set_score_request(y_soft=True)
        found = [
            cross_validate(GaussianNB(), X, y, cv=CV, scoring=one, params={"y_soft": z})[
                "test_score"
            ]
            for z in (soft, pandas.DataFrame(soft, index=range(5, len(y) + 5)))
        ]
        np.testing.assert_array_equal(*found)


class TestPlainFunctions:
    """Without an adapter, as make_scorer(cal.ece, ...): labels must be what the function takes."""

    @pytest.mark.parametrize("k", [2, 3])
    def test_make_scorer_takes_them_as_they_are(self, k):
        X, y = data(k)
        for function, name in (
            (cal.ece, "ece"),
            (cal.log_loss, "log_loss"),
            (cal.lin_ce, "lin_ce"),
        ):
            one = make_scorer(function, response_method="predict_proba", greater_is_better=False)
            np.testing.assert_array_equal(
                cross_val_score(GaussianNB(), X, y, cv=CV, scoring=one),
                cross_val_score(GaussianNB(), X, y, cv=CV, scoring=scorer(name)),
            )

    @pytest.mark.parametrize("k", [2, 3])
    def test_names_of_labels_have_to_be_told(self, k):
        X, y = data(k)
        names = ["a", "b", "c"][:k]
        kwargs = {"response_method": "predict_proba", "greater_is_better": False}
        model = GaussianNB().fit(X, np.array(names)[y])
        told = make_scorer(cal.ece, classes=names, **kwargs)
        assert told(model, X, np.array(names)[y]) == scorer("ece")(model, X, np.array(names)[y])
        with pytest.raises(InputError, match=r"classes=\[...\]"):
            make_scorer(cal.ece, **kwargs)(model, X, np.array(names)[y])

    @pytest.mark.usefixtures("routing")
    def test_their_weights_are_routed(self):
        X, y = data(2)
        w = np.random.default_rng(0).random(len(y))
        kwargs = {"response_method": "predict_proba", "greater_is_better": False}
        one = make_scorer(cal.ece, **kwargs).set_score_request(sample_weight=True)
        ours = scorer("ece").set_score_request(sample_weight=True)
        model = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_validate(
            model, X, y, cv=CV, scoring={"a": one, "b": ours}, params={"sample_weight": w}
        )
        np.testing.assert_array_equal(found["test_a"], found["test_b"])


class OnlyDLPack:
    """An array that speaks nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def array_kinds():
    return {
        "strict": lambda a: need("array_api_strict").asarray(a),
        "torch": lambda a: need("torch").from_numpy(a),
        "dlpack": OnlyDLPack,
        "dlpack-torch": lambda a: OnlyDLPack(need("torch").from_numpy(a)),
    }


class TestArrays:
    @pytest.mark.parametrize("kind", array_kinds())
    def test_measures_take_them(self, kind):
        convert = array_kinds()[kind]
        rng = np.random.default_rng(2)
        p, w = rng.random(200), rng.random(200)
        y = (rng.random(200) < p).astype(np.int64)
        rows, labels = rng.dirichlet(np.ones(4), 200), rng.integers(0, 4, 200)
        logits = rng.normal(size=(200, 4)).astype(np.float32)
        for arguments, options in (
            ((y, p), {"sample_weight": w}),
            ((w, p), {}),
            ((labels, rows), {}),
            ((rows[::-1].copy(), rows), {}),
            ((labels, logits), {"from_logits": True}),
        ):
            given = {key: convert(v) if key == "sample_weight" else v for key, v in options.items()}
            for measure in (cal.ece, cal.smooth_ece, cal.brier_score, cal.lin_ce):
                assert measure(*map(convert, arguments), **given) == measure(*arguments, **options)

    def test_what_cannot_be_brought_here_is_told(self):
        xp = need("array_api_strict")
        torch = need("torch")
        away = xp.asarray([0.2, 0.7], device=xp.Device("device1"))
        with pytest.raises(InputError, match=r"y_proba cannot be read here.*bring it to the CPU"):
            cal.ece([0, 1], away)
        half = OnlyDLPack(torch.tensor([0.25, 0.75], dtype=torch.bfloat16))
        with pytest.raises(InputError, match="y_proba cannot be read here"):
            cal.ece([0, 1], half)

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    @pytest.mark.parametrize("k", [2, 3])
    def test_scikit_learn_passes_them_on(self, library, k, monkeypatch):
        """Through array_api_dispatch, for which scikit-learn asks the environment."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        convert = need(library).asarray
        monkeypatch.setenv("SCIPY_ARRAY_API", "1")
        seen = []

        def told(y_true, y_proba):
            seen.append(type(y_proba).__module__.partition(".")[0])
            return cal.ece(y_true, y_proba)

        X, y = make_classification(200, n_informative=5, n_classes=k, random_state=0)
        model = LinearDiscriminantAnalysis()
        options = {"cv": 2, "error_score": "raise"}
        plain = cross_val_score(model, X, y, scoring=scorer("ece"), **options)
        with config_context(array_api_dispatch=True):
            given = model, convert(X), convert(y)
            ours = cross_val_score(*given, scoring=scorer("ece"), **options)
            theirs = make_scorer(told, response_method="predict_proba", greater_is_better=False)
            other = cross_val_score(*given, scoring=theirs, **options)
        np.testing.assert_allclose(ours, plain, rtol=1e-9)
        np.testing.assert_array_equal(ours, other)
        assert seen == [library] * 2
