"""A scaler as a scikit-learn classifier, whose X are predictions. Needs scikit-learn."""

# ruff: noqa: N803, N806 - X is the name that scikit-learn calls these methods with.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._core.errors import InputError, MissingExtra
from calibrant.scaling._predictions import FloatArray

if TYPE_CHECKING:
    from calibrant.scaling._scaler import Scaler

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


class ScalingEstimator(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scaler in scikit-learn's order: ``fit(X, y)``, where X are predictions.

    X holds one column per class, in the order of `classes` (default: the sorted labels of y), or
    one column alone: the prediction of the second class. The scaler's ``from_logits`` says whether
    they are logits. The scaler given is cloned; ``scaler_`` is the fitted one.

    Examples
    --------
    >>> from calibrant.scaling import TemperatureScaling
    >>> X, y = [[2.0, -1.0], [0.5, 1.0], [-1.0, 1.0], [1.0, 0.5]], ["no", "yes", "yes", "yes"]
    >>> model = TemperatureScaling().as_estimator().fit(X, y)
    >>> model.predict([[0.0, 3.0]]).tolist()
    ['yes']
    """

    def __init__(self, scaler: Scaler, *, classes: Sequence[Any] | None = None) -> None:
        self.scaler = scaler
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScalingEstimator:
        """Fit the scaler to predictions X and labels y."""
        self._fit(X, y, sample_weight)
        return self

    def fit_transform(  # type: ignore[override, unused-ignore]
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> FloatArray:
        """Fit, and map the same rows; as a step of a pipeline does."""
        return _rows(self._fit(X, y, sample_weight))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> FloatArray:
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        found, codes = np.unique(y, return_inverse=True)
        self.classes_ = found if self.classes is None else np.asarray(self.classes)
        columns = max(2, X.shape[1])
        if len(self.classes_) != columns:
            raise InputError(
                f"X must have one column per class, or one for the second of two: it has "
                f"{X.shape[1]}, and there are {len(self.classes_)} classes. If y lacks some, say "
                "all of them with classes=[...]"
            )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        self.scaler_ = clone(self.scaler)
        labels = codes if self.classes is None else y
        out: FloatArray = self.scaler_.fit_transform(
            labels,
            _predictions(X),
            sample_weight=sample_weight,
            classes=None if self.classes is None else self.classes_,
        )
        return out

    def predict_proba(self, X: Any) -> FloatArray:
        """Recalibrated probabilities, one column per class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return _rows(self.scaler_.transform(_predictions(X)))

    def transform(self, X: Any) -> FloatArray:
        """The same as `predict_proba`, for use inside a pipeline."""
        return self.predict_proba(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest recalibrated probability."""
        proba = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[proba.argmax(axis=1)]
        return labels


def _predictions(X: FloatArray) -> FloatArray:
    return X[:, 0] if X.shape[1] == 1 else X


def _rows(proba: FloatArray) -> FloatArray:
    return proba if proba.ndim == 2 else np.stack([1.0 - proba, proba], axis=1)
