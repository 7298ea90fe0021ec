"""Scaler: what every recalibration map can do, whatever its formula."""

from __future__ import annotations

import inspect
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from calibrant._core.errors import CalibrantWarning, InputError, StateError, UnknownOption, nearest
from calibrant._core.validation import public
from calibrant.scaling._predictions import FloatArray, Predictions, to_predictions
from calibrant.scaling._problem import Problem, to_problem
from calibrant.scaling._same_rows import (
    ADVICE,
    FittedRows,
    Overlap,
    SameRows,
    all_of,
    among,
    fingerprint,
    remember,
)
from calibrant.scaling._solution import Solution, about_absent, about_ruled_out, short

if TYPE_CHECKING:
    from calibrant.scaling._estimator import ScalingEstimator

S = TypeVar("S", bound="Scaler")


class Scaler(ABC):
    """A map from predictions to recalibrated probabilities, fitted to held-out rows.

    Every scaler has ``fit(y_true, y_proba)``, ``transform(y_proba)``, ``save(path)`` and
    ``as_estimator()``. ``from_logits`` says what the predictions are; it is never guessed.
    """

    from_logits: bool
    n_classes_: int
    n_rows_: int
    n_iter_: int
    loss_before_: float
    loss_: float
    # The fitted attributes that the map consists of; they are what is saved.
    _learned: ClassVar[tuple[str, ...]]
    # Whether the map has parts that only one class's rows can settle.
    _class_by_class: ClassVar[bool] = True
    # Whether the map is fitted to logarithms of the predictions.
    _of_logarithms: ClassVar[bool] = True
    _columns: int | None
    # What the rows of the fit are recognised by: a digest of all in order, and hashes of each.
    _fitted_on: str | None = None
    _fitted_rows: FittedRows | None = None

    @abstractmethod
    def _solve(self, problem: Problem) -> Solution:
        """The fitted attributes for a checked problem; nothing is kept on self."""

    @abstractmethod
    def _apply(self, predictions: Predictions) -> FloatArray:
        """Recalibrated probabilities, in the shape of the predictions."""

    def _check_options(self) -> None:
        """An InputError if an option is not what it must be."""
        if not isinstance(self.from_logits, bool | np.bool_):
            raise InputError(f"from_logits must be True or False; got {self.from_logits!r}")

    def _check_learned(self) -> None:  # noqa: B027 - most maps are tried with a row, and no more
        """A ValueError if fitted attributes that were read do not go together."""

    @public
    def fit(
        self: S,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: Any = None,
        classes: Sequence[Any] | None = None,
        data: Any = None,
    ) -> S:
        """Fit the map to rows that the predictor was not trained on.

        Targets may be 0/1, class indices, labels named by `classes`, or probabilities. With
        ``data=frame`` the arguments are names of its columns.
        """
        self._fit(y_true, y_proba, sample_weight, classes, data)
        return self

    @public
    def transform(self, y_proba: Any, *, data: Any = None) -> FloatArray:
        """Recalibrated probabilities of new predictions: (n,) for (n,), (n, k) for (n, k).

        A `SameRows` warning says which share of the rows was among those of the fit, in whatever
        order they come; see `share_fitted`.
        """
        predictions = self._predictions(y_proba, data)
        overlap = self._overlap(predictions)
        if overlap.share:
            said = f"{among(overlap.share, type(self).__name__)}: {ADVICE}"
            warnings.warn(said, SameRows, stacklevel=3)
        out = self._apply(predictions)
        remember(type(self).__name__, predictions.values, out, overlap)
        return out

    @public
    def share_fitted(self, y_proba: Any, *, data: Any = None) -> float | None:
        """The share of these rows that the map was fitted to, recognised by their predictions.

        It is an estimate where the fit had more than 4,096 rows, for no more are remembered. Rows
        that are equal by chance do not count: where predictions repeat so much (rounded ones, a few
        words) that rows of the fit could not be told from others, the answer is None. Shares of a
        few rows may go unnoticed.
        """
        return self._overlap(self._predictions(y_proba, data)).share

    def _overlap(self, predictions: Predictions) -> Overlap:
        if fingerprint(predictions) == self._fitted_on:
            return all_of(len(predictions.values))
        if self._fitted_rows is None:  # a map that was saved before rows were remembered
            return Overlap(None, np.empty(0, np.intp), np.empty(0, np.bool_))
        return self._fitted_rows.overlap(predictions.values)

    def _predictions(self, y_proba: Any, data: Any) -> Predictions:
        """New predictions, if they are of the kind that the map was fitted to."""
        self._check_fitted()
        predictions = to_predictions(y_proba, from_logits=self.from_logits, data=data)
        if predictions.columns != self._columns:
            fitted, came = (
                f"(n, {c})" if c else "(n,)" for c in (self._columns, predictions.columns)
            )
            raise InputError(
                f"y_proba must have the shape {fitted}, as in fit; it is {came}: give the same "
                "classes in the same order"
            )
        return predictions

    @public
    def fit_transform(
        self,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: Any = None,
        classes: Sequence[Any] | None = None,
        data: Any = None,
    ) -> FloatArray:
        """Fit, and map the same rows. To be passed on, not to be judged: no warning is given."""
        predictions = self._fit(y_true, y_proba, sample_weight, classes, data)
        out = self._apply(predictions)
        remember(type(self).__name__, predictions.values, out, all_of(len(out)))
        return out

    def _fit(
        self,
        y_true: Any,
        y_proba: Any,
        sample_weight: Any,
        classes: Sequence[Any] | None,
        data: Any,
    ) -> Predictions:
        self._check_options()
        problem = to_problem(
            y_true, y_proba, sample_weight=sample_weight, from_logits=self.from_logits,
            classes=classes, data=data,
        )  # fmt: skip
        solution = self._solve(problem)
        for name, value in solution.learned.items():
            setattr(self, name, value)
        self.n_classes_, self.n_rows_ = problem.n_classes, len(problem.weights)
        self.n_iter_, self.loss_before_ = solution.n_iter, problem.loss_before
        self._columns = problem.predictions.columns
        self._fitted_on = fingerprint(problem.predictions)
        self._fitted_rows = FittedRows.of(problem.predictions.values)
        self.loss_ = problem.log_loss(self._apply(problem.predictions))
        absent = problem.absent() if self._class_by_class else []
        certain = problem.ruled_out() if self._of_logarithms else (0, 0.0)
        for caution in (*about_absent(absent), *about_ruled_out(*certain), *solution.cautions):
            # Past `fit` and the wrapper that checks its keywords: to the caller's own line.
            warnings.warn(f"{type(self).__name__}: {caution}", CalibrantWarning, stacklevel=4)
        return problem.predictions

    def _check_fitted(self) -> None:
        if not hasattr(self, "loss_"):
            raise StateError(
                f"{type(self).__name__} is not fitted: call fit(y_true, y_proba) first"
            )

    # --- options, as scikit-learn asks for them ---------------------------------------------------

    @classmethod
    def _options(cls) -> tuple[str, ...]:
        return tuple(inspect.signature(cls.__init__).parameters)[1:]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name."""
        return {name: getattr(self, name) for name in self._options()}

    def set_params(self: S, **options: Any) -> S:
        """Set options by name."""
        for name, value in options.items():
            if name not in self._options():
                hint = nearest(name, self._options())
                raise UnknownOption(f"{type(self).__name__} has no option {name!r}: {hint}")
            setattr(self, name, value)
        return self

    def as_estimator(self, *, classes: Sequence[Any] | None = None) -> ScalingEstimator:
        """This map as a scikit-learn classifier: ``fit(X, y)``, where X are the predictions."""
        from calibrant.scaling._estimator import ScalingEstimator

        return ScalingEstimator(self, classes=classes)

    # --- keeping and showing ----------------------------------------------------------------------

    def to_json(self) -> str:
        """The fitted map as JSON text, exact to the last bit."""
        from calibrant.scaling._saved import to_json

        self._check_fitted()
        return to_json(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file; a crash leaves the old file or the new one, whole."""
        from calibrant.scaling._saved import write

        write(path, self.to_json() + "\n")

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        said = f"{type(self).__name__}({options})"
        if not hasattr(self, "loss_"):
            return said
        learned = ", ".join(f"{name}={short(getattr(self, name))}" for name in self._learned)
        return (
            f"<{said}: {learned}; log loss {self.loss_before_:.4f} -> {self.loss_:.4f} on the "
            f"{self.n_rows_} rows of the fit>"
        )
