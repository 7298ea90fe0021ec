"""Scaler: what every recalibration map can do, whatever its formula."""

from __future__ import annotations

import inspect
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from calibrant.errors import CalibrantWarning, InputError, StateError, UnknownOption, nearest
from calibrant.options import public
from calibrant.scaling.problem import Problem, accept_problem
from calibrant.scaling.reports import FloatArray, Reports, accept_reports
from calibrant.scaling.same_rows import SAME_ROWS, SameRows, fingerprint
from calibrant.scaling.solution import Solution, about_absent, about_ruled_out, short

if TYPE_CHECKING:
    from calibrant.scaling.estimator import ScalingEstimator

S = TypeVar("S", bound="Scaler")


class Scaler(ABC):
    """A map from reports to recalibrated probabilities, fitted to held-out rows.

    Every scaler has ``fit(y_true, y_proba)``, ``transform(y_proba)``, ``save(path)`` and
    ``as_estimator()``. ``from_logits`` says what the reports are; it is never guessed.
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
    # Whether the map is fitted to logarithms of the reports.
    _of_logarithms: ClassVar[bool] = True
    _columns: int | None
    _fitted_on: str | None = None

    @abstractmethod
    def _solve(self, problem: Problem) -> Solution:
        """The fitted attributes for a checked problem; nothing is kept on self."""

    @abstractmethod
    def _apply(self, reports: Reports) -> FloatArray:
        """Recalibrated probabilities, in the shape of the reports."""

    def _check_options(self) -> None:
        """An InputError if an option is not what it must be."""
        if not isinstance(self.from_logits, bool | np.bool_):
            raise InputError(f"from_logits must be True or False; got {self.from_logits!r}")

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
        """Recalibrated probabilities of new reports: (n,) for (n,), (n, k) for (n, k)."""
        self._check_fitted()
        reports = accept_reports(y_proba, from_logits=self.from_logits, data=data)
        if reports.columns != self._columns:
            fitted, came = (f"(n, {c})" if c else "(n,)" for c in (self._columns, reports.columns))
            raise InputError(
                f"y_proba must have the shape {fitted}, as in fit; it is {came}: give the same "
                "classes in the same order"
            )
        if fingerprint(reports) == self._fitted_on:
            warnings.warn(SAME_ROWS.format(name=type(self).__name__), SameRows, stacklevel=3)
        return self._apply(reports)

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
        return self._apply(self._fit(y_true, y_proba, sample_weight, classes, data))

    def _fit(
        self,
        y_true: Any,
        y_proba: Any,
        sample_weight: Any,
        classes: Sequence[Any] | None,
        data: Any,
    ) -> Reports:
        self._check_options()
        problem = accept_problem(
            y_true, y_proba, sample_weight=sample_weight, from_logits=self.from_logits,
            classes=classes, data=data,
        )  # fmt: skip
        solution = self._solve(problem)
        for name, value in solution.learned.items():
            setattr(self, name, value)
        self.n_classes_, self.n_rows_ = problem.n_classes, len(problem.weights)
        self.n_iter_, self.loss_before_ = solution.n_iter, problem.loss_before
        self._columns = problem.reports.columns
        self._fitted_on = fingerprint(problem.reports)
        self.loss_ = problem.log_loss(self._apply(problem.reports))
        absent = problem.absent() if self._class_by_class else []
        certain = problem.ruled_out() if self._of_logarithms else (0, 0.0)
        for caution in (*about_absent(absent), *about_ruled_out(*certain), *solution.cautions):
            # Past `fit` and the wrapper that checks its keywords: to the caller's own line.
            warnings.warn(f"{type(self).__name__}: {caution}", CalibrantWarning, stacklevel=4)
        return problem.reports

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
        """This map as a scikit-learn classifier: ``fit(X, y)``, where X are the reports."""
        from calibrant.scaling.estimator import ScalingEstimator

        return ScalingEstimator(self, classes=classes)

    # --- keeping and showing ----------------------------------------------------------------------

    def to_json(self) -> str:
        """The fitted map as JSON text, exact to the last bit."""
        from calibrant.scaling.saved import to_json

        self._check_fitted()
        return to_json(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file; a crash leaves the old file or the new one, whole."""
        from calibrant.scaling.saved import write

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
