"""A scaler as a scikit-learn classifier, whose X are predictions. Needs scikit-learn."""

# ruff: noqa: N803, N806 - X is the name that scikit-learn calls these methods with.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, MissingExtra
from calibrant._data.links import both_classes
from calibrant.scaling._predictions import FloatArray

try:
    from sklearn.base import (  # type: ignore[import-untyped]
        BaseEstimator,
        ClassifierMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.utils.multiclass import check_classification_targets  # type: ignore[import-untyped]
    from sklearn.utils.validation import (  # type: ignore[import-untyped]
        _check_sample_weight,
        check_is_fitted,
        validate_data,
    )
except ImportError as error:
    raise MissingExtra("scikit-learn", "sklearn", "a scaler as an estimator") from error


class FitsPredictions(Protocol):
    """The methods that `ScalingEstimator` requires of a scaler; `Scaler` has them."""

    def fit_transform(
        self, y_true: Any, y_proba: Any, *, sample_weight: Any, classes: Sequence[Any] | None
    ) -> FloatArray:
        """Fit the map to these rows, and return their recalibrated probabilities."""

    def transform(self, y_proba: Any) -> FloatArray:
        """The recalibrated probabilities of new predictions."""


class ScalingEstimator(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scaler in scikit-learn's order: ``fit(X, y)``, where X are predictions.

    X has one column per class, in the order of `classes`, or one column alone: the prediction of
    the second class. The scaler's ``from_logits`` says whether they are logits.

    Parameters
    ----------
    scaler : Scaler
        The map to fit; it is cloned and not changed.
    classes : sequence, optional
        The labels in the order of the columns of X; by default the sorted labels of y.

    Attributes
    ----------
    scaler_ : Scaler
        The fitted map.
    classes_ : ndarray of shape (k,)
        The labels in the order of the columns.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> from calibrant.scaling import TemperatureScaling
    >>> X, y = [[2.0, -1.0], [0.5, 1.0], [-1.0, 1.0], [1.0, 0.5]], ["no", "yes", "yes", "yes"]
    >>> model = TemperatureScaling().as_estimator().fit(X, y)
    >>> model.predict([[0.0, 3.0]]).tolist()
    ['yes']
    """

    def __init__(self, scaler: FitsPredictions, *, classes: Sequence[Any] | None = None) -> None:
        self.scaler = scaler
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScalingEstimator:
        """Fit the scaler to predictions and labels.

        Parameters
        ----------
        X : array-like of shape (n, k) or (n, 1)
            Predictions, one column per class, or that of the second class alone.
        y : array-like of shape (n,)
            The label of each row.
        sample_weight : array-like of shape (n,), optional
            Weight of each row; 1 by default.

        Returns
        -------
        ScalingEstimator
            The estimator itself, fitted.

        Examples
        --------
        >>> from calibrant.scaling import PlattScaling, ScalingEstimator
        >>> model = ScalingEstimator(PlattScaling()).fit([[0.2], [0.4], [0.3], [0.9]], [0, 1, 0, 0])
        >>> model.scaler_.n_rows_
        4
        """
        self._fit(X, y, sample_weight)
        return self

    def fit_transform(  # type: ignore[override, unused-ignore]
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> FloatArray:
        """Fit the scaler and recalibrate the same rows, as a step of a pipeline does.

        Parameters
        ----------
        X : array-like of shape (n, k) or (n, 1)
            Predictions, one column per class, or that of the second class alone.
        y : array-like of shape (n,)
            The label of each row.
        sample_weight : array-like of shape (n,), optional
            Weight of each row; 1 by default.

        Returns
        -------
        ndarray of shape (n, k)
            Recalibrated probabilities, one column per class.

        Examples
        --------
        >>> from calibrant.scaling import IsotonicCalibration
        >>> model = IsotonicCalibration().as_estimator()
        >>> model.fit_transform([[0.2], [0.9], [0.4]], [0, 1, 0]).tolist()
        [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
        """
        return both_classes(self._fit(X, y, sample_weight))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> FloatArray:
        """Fit a clone of the scaler, and return the recalibrated probabilities of the same rows:
        (n, k), or (n,) if X has one column.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        labels_of_y, codes = np.unique(y, return_inverse=True)
        self.classes_ = labels_of_y if self.classes is None else np.asarray(self.classes)
        columns = max(2, X.shape[1])
        if len(self.classes_) != columns:
            raise InputError(
                "X must have one column per class, or one column for the second of two classes: "
                f"it has {X.shape[1]}, and there are {len(self.classes_)} classes. If y lacks some "
                "classes, name all of them with classes=[...]"
            )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        self.scaler_ = clone(self.scaler)
        labels = codes if self.classes is None else y
        return self.scaler_.fit_transform(
            labels,
            _predictions(X),
            sample_weight=sample_weight,
            classes=None if self.classes is None else self.classes_,
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Recalibrated probabilities of new predictions.

        Parameters
        ----------
        X : array-like of shape (n, k) or (n, 1)
            Predictions, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, k)
            One column per class, in the order of ``classes_``.

        Examples
        --------
        >>> from calibrant.scaling import IsotonicCalibration
        >>> model = IsotonicCalibration().as_estimator().fit([[0.2], [0.8], [0.4]], [0, 1, 0])
        >>> model.predict_proba([[0.6]]).round(6).tolist()
        [[0.5, 0.5]]
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return both_classes(self.scaler_.transform(_predictions(X)))

    def transform(self, X: Any) -> FloatArray:
        """The same as `predict_proba`, for use inside a pipeline.

        Parameters
        ----------
        X : array-like of shape (n, k) or (n, 1)
            Predictions, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, k)
            One column per class, in the order of ``classes_``.

        Examples
        --------
        >>> from calibrant.scaling import IsotonicCalibration
        >>> model = IsotonicCalibration().as_estimator().fit([[0.2], [0.8], [0.4]], [0, 1, 0])
        >>> model.transform([[0.9]]).tolist()
        [[0.0, 1.0]]
        """
        return self.predict_proba(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest recalibrated probability.

        Parameters
        ----------
        X : array-like of shape (n, k) or (n, 1)
            Predictions, with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)
            The predicted label of each row.

        Examples
        --------
        >>> from calibrant.scaling import IsotonicCalibration
        >>> model = IsotonicCalibration().as_estimator().fit([[0.2], [0.8], [0.4]], [0, 1, 0])
        >>> model.predict([[0.9], [0.1]]).tolist()
        [1, 0]
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]


def _predictions(X: FloatArray) -> FloatArray:
    """The predictions X in the shape that a scaler takes: (n,) if there is one column, else (n,
    k).
    """
    return X[:, 0] if X.shape[1] == 1 else X
