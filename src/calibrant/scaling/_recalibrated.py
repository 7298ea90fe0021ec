"""A classifier with its probabilities recalibrated. Needs scikit-learn."""

# ruff: noqa: N803, N806 - X is the name that scikit-learn calls these methods with.

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, MissingExtra
from calibrant._data.links import LOG_FLOOR, both_classes
from calibrant.scaling._predictions import FloatArray

if TYPE_CHECKING:
    from calibrant.scaling._scaler import Scaler

try:
    from sklearn.base import (  # type: ignore[import-untyped]
        BaseEstimator,
        ClassifierMixin,
        MetaEstimatorMixin,
        clone,
    )
    from sklearn.model_selection import check_cv  # type: ignore[import-untyped]
    from sklearn.utils import _safe_indexing, get_tags, indexable  # type: ignore[import-untyped]
    from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
    from sklearn.utils.validation import (  # type: ignore[import-untyped]
        _check_sample_weight,
        _num_samples,
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
    )
except ImportError as error:
    raise MissingExtra("scikit-learn", "sklearn", "recalibrating a classifier") from error


class Recalibrated(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier and a scaler as one classifier.

    With ``cv="prefit"`` the classifier is already fitted, and `fit` fits only the scaler: give it
    rows that the classifier has not seen. Otherwise the scaler is fitted to out-of-fold predictions
    (`cv` is a number of folds or a splitter), and the classifier to all rows.

    A scaler of logits reads ``decision_function``, or without one the logarithm of
    ``predict_proba``; a scaler of probabilities reads ``predict_proba``.

    Parameters
    ----------
    estimator : scikit-learn classifier
        The classifier whose probabilities are recalibrated.
    scaler : Scaler, optional
        The map; it is cloned. ``TemperatureScaling()`` by default.
    cv : int, splitter or "prefit", default 5
        Folds of the out-of-fold predictions, as in scikit-learn, or "prefit".

    Attributes
    ----------
    estimator_ : scikit-learn classifier
        The fitted classifier.
    scaler_ : Scaler
        The fitted map.
    classes_ : ndarray of shape (k,)
        The labels in the order of the columns of `predict_proba`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calibrant.scaling import DirichletCalibration, Recalibrated
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Recalibrated(GaussianNB(), DirichletCalibration(l2=0.01), cv=5).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    def __init__(self, estimator: Any, scaler: Scaler | None = None, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.scaler = scaler
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Recalibrated:
        """Fit the scaler and, unless ``cv="prefit"``, the classifier.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features, as the classifier takes them.
        y : array-like of shape (n,)
            The label of each row.
        sample_weight : array-like of shape (n,), optional
            Weight of each row, for the scaler and for the classifier if that takes weights.
        groups : array-like of shape (n,), optional
            Cluster of each row, for a splitter that keeps clusters together (``GroupKFold``).

        Returns
        -------
        Recalibrated
            The model itself, fitted.

        Raises
        ------
        InputError
            If the scaler, the classifier or `cv` is invalid, a fold lacks a class, or a row is in
            no test fold.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from calibrant.scaling import Recalibrated
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = GaussianNB().fit(X[::2], y[::2])
        >>> Recalibrated(classifier, cv="prefit").fit(X[1::2], y[1::2]).scaler_.n_rows_
        75
        """
        from calibrant.scaling._temperature import TemperatureScaling

        self._check_options()
        if groups is not None:
            groups = column_or_1d(groups)
        X, y, groups = indexable(X, y, groups)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        scaler: Any = TemperatureScaling() if self.scaler is None else clone(self.scaler)
        if getattr(scaler, "from_logprobs", False):
            raise InputError(
                "a classifier gives probabilities or logits: give a scaler without from_logprobs"
            )
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_, self.classes_ = self.estimator, np.asarray(self.estimator.classes_)
            predictions = _predict(self.estimator_, X, scaler.from_logits)
        else:
            self.classes_ = np.unique(y)
            if len(self.classes_) < 2:
                raise InputError("y holds 1 class only: a classifier needs rows of at least 2")
            predictions = self._out_of_fold(X, y, sample_weight, scaler.from_logits, groups)
            self.estimator_ = self._fit_clone(X, y, sample_weight)
        self.scaler_ = scaler.fit(
            y, predictions, sample_weight=sample_weight, classes=self.classes_
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Recalibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features, as the classifier takes them.

        Returns
        -------
        ndarray of shape (n, k)
            One column per class, in the order of ``classes_``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from calibrant.scaling import Recalibrated
        >>> X, y = load_iris(return_X_y=True)
        >>> Recalibrated(GaussianNB()).fit(X, y).predict_proba(X[:2]).shape
        (2, 3)
        """
        check_is_fitted(self)
        predictions = _predict(self.estimator_, X, self.scaler_.from_logits)
        return both_classes(self.scaler_.transform(predictions))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest recalibrated probability.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features, as the classifier takes them.

        Returns
        -------
        ndarray of shape (n,)
            The predicted label of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from calibrant.scaling import Recalibrated
        >>> X, y = load_iris(return_X_y=True)
        >>> Recalibrated(GaussianNB()).fit(X, y).predict(X[:2]).tolist()
        [0, 0]
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def _fit_clone(self, X: Any, y: NDArray[Any], weights: Any) -> Any:
        """A clone of the classifier, fitted to these rows; weights are passed on if it takes
        them.
        """
        if weights is None or not has_fit_parameter(self.estimator, "sample_weight"):
            return clone(self.estimator).fit(X, y)
        return clone(self.estimator).fit(X, y, sample_weight=weights)

    def _check_options(self) -> None:
        """Raise an InputError unless the options estimator, scaler and cv are valid."""
        from calibrant.scaling._scaler import Scaler

        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise InputError(
                "estimator must be a classifier of scikit-learn, such as LogisticRegression(); got "
                f"{_option_text(self.estimator)}"
            )
        if not any(
            hasattr(self.estimator, name) for name in ("predict_proba", "decision_function")
        ):
            raise InputError(
                f"{type(self.estimator).__name__} has neither predict_proba nor decision_function: "
                "only a classifier that gives probabilities or scores can be recalibrated"
            )
        if self.scaler is not None and not isinstance(self.scaler, Scaler):
            raise InputError(
                "scaler must be a map of calibrant.scaling, such as IsotonicCalibration(); got "
                f"{_option_text(self.scaler)}"
            )
        cv = self.cv
        if cv is None or (isinstance(cv, str) and cv == "prefit"):
            return
        folds = isinstance(cv, numbers.Integral) and not isinstance(cv, bool) and int(cv) >= 2
        splits = not isinstance(cv, str) and (hasattr(cv, "split") or hasattr(cv, "__iter__"))
        if not folds and not splits:
            raise InputError(
                f'cv must be 2 folds or more, a splitter, or "prefit"; got {_option_text(cv)}'
            )

    def _splits(self, X: Any, y: NDArray[Any], groups: Any) -> list[tuple[Any, Any]]:
        """The positions of the training rows and of the test rows of every fold; an InputError if
        the splitter cannot make them.
        """
        try:
            return list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        except (ValueError, TypeError) as error:
            hint = "" if groups is not None else " (clusters are given as fit(X, y, groups=...))"
            raise InputError(
                f"cv={_option_text(self.cv)} cannot split these rows: {error}{hint}"
            ) from error

    def _out_of_fold(
        self, X: Any, y: NDArray[Any], weights: Any, from_logits: bool, groups: Any
    ) -> FloatArray:
        """The prediction of each row by a classifier that was fitted without the row's fold: (n,)
        for two classes, else (n, k). An InputError if a fold lacks a class or a row is in no test
        fold.
        """
        k = len(self.classes_)
        out = np.full((_num_samples(X), k) if k > 2 else _num_samples(X), np.nan)
        for train, test in self._splits(X, y, groups):
            some = None if weights is None else weights[train]
            model = self._fit_clone(_safe_indexing(X, train), y[train], some)
            if not np.array_equal(model.classes_, self.classes_):
                raise InputError(
                    f"a fold of cv={_option_text(self.cv)} lacks a class of y: give more rows of "
                    "each class, or fewer folds"
                )
            out[test] = _predict(model, _safe_indexing(X, test), from_logits)
        if np.isnan(out).any():
            raise InputError(
                f"cv={_option_text(self.cv)} leaves rows out: every row must be in exactly one "
                "test fold"
            )
        return out

    def __sklearn_tags__(self) -> Any:
        """The tags by which scikit-learn learns what the classifier can do; sparse input is allowed
        if the classifier takes it.
        """
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _option_text(option: Any) -> str:
    """The value of an option as text for a message; a list of splits, which holds whole arrays, is
    only named as such.
    """
    if isinstance(option, type):
        return f"the class {option.__name__}: make one, {option.__name__}()"
    return "a list of splits" if isinstance(option, list | tuple) else repr(option)[:80]


def _predict(model: Any, X: Any, from_logits: bool) -> FloatArray:
    """A classifier's predictions: (n,) for two classes, (n, k) for more. They are probabilities or,
    with `from_logits`, its decision_function, or else logits made from its probabilities.
    """
    if from_logits and hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no predict_proba: give a scaler with from_logits=True, "
            "which reads decision_function"
        )
    proba = np.asarray(model.predict_proba(X), dtype=np.float64)
    if from_logits:
        logs: FloatArray = np.log(np.maximum(proba, LOG_FLOOR))
        return logs if proba.shape[1] > 2 else logs[:, 1] - logs[:, 0]
    return proba if proba.shape[1] > 2 else proba[:, 1]
