"""Scaler: the methods that every recalibration map has, whatever its formula."""

from __future__ import annotations

import inspect
import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np

from calibrant._core.atomic_files import atomic_write
from calibrant._core.errors import (
    InputError,
    NeedsRows,
    StateError,
    UnknownOption,
    counted,
    nearest,
    warning_about,
)
from calibrant._core.validation import check_flag, have_no_index, is_number, public
from calibrant._data.columns import is_lazy
from calibrant._data.links import LOG_FLOOR
from calibrant._data.logprobs import LOGPROBS, Given, given_as
from calibrant._data.to_samples import to_source
from calibrant._engines.logit_cells import LogitCells, View
from calibrant.scaling._formula import Inputs, Node, to_python, to_sql
from calibrant.scaling._predictions import (
    FEW_ROWS,
    FloatArray,
    Predictions,
    to_few_predictions,
    to_predictions,
)
from calibrant.scaling._problem import (
    Problem,
    Solution,
    about_absent,
    about_ruled_out,
    brief_text,
    to_problem,
)
from calibrant.scaling._same_rows import (
    ADVICE,
    FittedRows,
    Hashes,
    Overlap,
    SameRows,
    fingerprint,
    identifies_rows,
    overlap_sentence,
    overlap_with_itself,
    remember,
    row_hashes,
)
from calibrant.scaling._saved import COUNTS, LOSSES, encode_learned, encode_option, to_text
from calibrant.scaling._summed_rows import MOST_VIEWS, RowsOfFrame, SummedRows, pooled_problem

if TYPE_CHECKING:
    from calibrant.scaling._estimator import ScalingEstimator

S = TypeVar("S", bound="Scaler")


def _lazy_frame(data: Any) -> Any:
    """The lazy frame that data is, or that of the Parquet file at a path; None for other data."""
    if isinstance(data, str | os.PathLike):
        from calibrant._data.columns import scan_if_path

        return scan_if_path(data)
    return data if is_lazy(data) else None


@cache
def _arguments(kind: type[Scaler]) -> Mapping[str, inspect.Parameter]:
    """The parameters of the constructor of a scaler class, cached because every call asks for
    them.
    """
    return inspect.signature(kind.__init__).parameters


# Why most maps that need their rows in memory do so.
NEEDS_MORE_THAN_SUMS = "its fit needs more than sums"
# Names of methods in other libraries, and what to use here.
_TRANSFORM = "transform(y_proba) gives the recalibrated probabilities"
_HINTS = {
    "predict": _TRANSFORM,
    "predict_proba": _TRANSFORM,
    "calibrate": _TRANSFORM,
    "score": "evaluate(y_true, scaler.transform(y_proba)) measures them",
    "load": "calibrant.scaling.load(path) reads a map",
}


class Scaler(ABC):
    """A map from predictions to recalibrated probabilities, fitted to held-out rows.

    The base class of every map in `calibrant.scaling`. The options ``from_logits`` and
    ``from_logprobs`` state whether predictions are logits or log-probabilities; this is never
    guessed.

    Attributes
    ----------
    from_logits : bool
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool
        Whether the predictions are log-probabilities.
    n_classes_ : int
        Number of classes in the fit; 2 for predictions (n,).
    n_rows_ : int
        Number of rows in the fit.
    n_iter_ : int
        Steps of the optimiser; 0 where the fit has a closed form.
    loss_before_ : float
        Log loss of the predictions before recalibration, on the rows of the fit.
    loss_ : float
        Log loss of the recalibrated predictions, on the rows of the fit.

    Examples
    --------
    >>> from calibrant.scaling import PlattScaling, Scaler
    >>> scaler = PlattScaling().fit([0, 1, 1, 0, 1, 0], [0.2, 0.9, 0.6, 0.7, 0.8, 0.1])
    >>> isinstance(scaler, Scaler), scaler.n_rows_, scaler.loss_ < scaler.loss_before_
    (True, 6, True)
    """

    from_logits: bool
    from_logprobs: bool = False
    n_classes_: int
    n_rows_: int
    n_iter_: int
    loss_before_: float
    loss_: float
    # The fitted attributes that the map consists of; they are what is saved.
    _learned: ClassVar[tuple[str, ...]]
    # Whether the map has parameters that only the rows of one class can determine, so that a class
    # without rows is worth a warning.
    _class_by_class: ClassVar[bool] = True
    # Whether the map is fitted to every vote on a row, where there are votes, or to its majority.
    _of_votes: ClassVar[bool] = True
    # The fitted attributes that may hold NaN.
    _may_be_unknown: ClassVar[tuple[str, ...]] = ()
    # The kinds of predictions for which the map is tried if the user names no map; for two classes
    # some maps equal others, and are left out.
    _tried_on: ClassVar[tuple[str, ...]] = ("binary", "multiclass")
    # Whether a penalty, which is stronger with fewer rows, restrains the parameters, so that their
    # number is never too large.
    _penalised: ClassVar[bool] = False
    # Whether the map may be fitted without labels, so that its losses are not known.
    _without_labels: ClassVar[bool] = False
    # Whether the map is fitted to logarithms of the predictions.
    _of_logarithms: ClassVar[bool] = True
    # Why the map cannot be fitted to rows that are only summed; None where it can.
    _needs_rows: ClassVar[str | None] = None
    # The options that a map has besides the two of every map, each with the function that raises an
    # InputError if the option is not what it must be.
    _option_checks: ClassVar[tuple[tuple[str, Callable[[str, Any], object]], ...]] = ()
    _columns: int | None
    # How the rows of the fit are recognised: a digest of all in order, and a hash of each.
    _fitted_on: str | None = None
    _fitted_rows: FittedRows | None = None
    # Whether the map serves predictions: then `transform` does not look for rows of the fit.
    _serving: bool = False

    @public
    def __init__(self, *, from_logits: bool = False, from_logprobs: bool = False) -> None:
        self.from_logits = from_logits
        self.from_logprobs = from_logprobs

    def __init_subclass__(cls, **options: Any) -> None:
        """Register that maps have no pandas index: `self` is the first argument of every call with
        rows.
        """
        super().__init_subclass__(**options)
        have_no_index(cls)  # `self` stands before the rows of every call

    if not TYPE_CHECKING:  # type checkers would accept every name

        def __getattr__(self, name: str) -> Any:
            """Raise an AttributeError; names that other libraries use get a hint."""
            hint = f": {_HINTS[name]}" if name in _HINTS else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    @abstractmethod
    def _solve(self, problem: Problem) -> Solution:
        """Fit the map to a checked problem, and return the fitted attributes with warnings; nothing
        is set on self.
        """

    @abstractmethod
    def _apply(self, predictions: Predictions) -> FloatArray:
        """Recalibrated probabilities, in the shape of the predictions."""

    @classmethod
    def _n_parameters(cls, k: int) -> float:
        """The number of fitted parameters for k classes; infinity where it depends on the rows."""
        return math.inf

    @property
    def _learns(self) -> bool:
        """Whether the fit takes anything from its rows; without that, no warning is due when the
        same rows are transformed.
        """
        return True

    def _check_options(self) -> None:
        """Raise an InputError if an option is invalid."""
        check_flag("from_logits", self.from_logits)
        _ = self._given
        for name, check in self._option_checks:
            check(name, getattr(self, name))

    @property
    def _given(self) -> Given:
        """The kind of predictions that the options state: True for logits, LOGPROBS for
        log-probabilities, False for probabilities.

        Where from_logits is True by default, from_logprobs=True overrides it; elsewhere both
        together are an InputError.
        """
        by_default = _arguments(type(self))["from_logits"].default
        logits = self.from_logits and not (by_default and self.from_logprobs is True)
        return given_as(logits, self.from_logprobs)

    def _check_learned(self) -> None:  # noqa: B027 - most maps need no check of their own
        """Raise a ValueError if the fitted attributes read from a file are inconsistent."""

    @public
    def fit(
        self: S,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: Any = None,
        votes: Any = None,
        classes: Sequence[Any] | None = None,
        data: Any = None,
    ) -> S:
        """Fit the map to rows that the predictor was not trained on.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, k)
            Targets: 0/1, class indices, labels named by `classes`, probabilities (soft labels), or
            vote counts (n, k): the map is fitted to their shares, and every vote counts.
        y_proba : array-like of shape (n,) or (n, k)
            Predictions: probabilities, logits if the scaler has ``from_logits=True``, or
            log-probabilities if it has ``from_logprobs=True``; (n,) is the prediction of class 1.
        sample_weight : array-like of shape (n,), optional
            Weight of each row; 1 by default. For vote counts, the weight of each vote in the row.
        votes : int or array-like of shape (n,), optional
            Number of votes of each soft label; vote counts include it.
        classes : sequence, optional
            The labels in the order of the columns of `y_proba`.
        data : frame, optional
            A frame, or the path of a Parquet file; `y_true`, `y_proba`, `sample_weight` and `votes`
            are then names of its columns. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and files
            are summed by their own engine.

        Returns
        -------
        Scaler
            The scaler itself, fitted.

        Raises
        ------
        InputError
            If the input cannot be read as targets and predictions; the message names the first bad
            row.

        Notes
        -----
        The fit weights each row by its number of votes, like the likelihood of the votes. If that
        number depends on how much people disagree, or the votes on a row depend on each other, give
        all rows the same weight: pass shares (``counts / counts.sum(axis=1, keepdims=True)``)
        without `votes`.

        Examples
        --------
        >>> from calibrant.scaling import TemperatureScaling
        >>> scaler = TemperatureScaling().fit([0, 1, 1, 0], [-2.0, 1.0, 3.0, 0.5])
        >>> round(scaler.temperature_, 2)
        0.69
        """
        rows = {"sample_weight": sample_weight, "classes": classes}
        if (source := _lazy_frame(data)) is not None:
            self._fit_summed(self._rows_of_frame(y_true, y_proba, votes=votes, data=source, **rows))
            return self
        in_memory = data is not None or votes is not None
        if in_memory or not self._fit_on_device(y_true, y_proba, **rows):
            self._fit(y_true, y_proba, votes=votes, data=data, **rows)
        return self

    @overload
    def transform(self, y_proba: float, *, data: None = None) -> float: ...

    @overload
    def transform(self, y_proba: Any, *, data: Any = None) -> FloatArray: ...

    @public
    def transform(self, y_proba: Any, *, data: Any = None) -> Any:
        """Recalibrate new predictions.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, k), or float
            Predictions of the kind that the map was fitted to. A number is one prediction of class
            1.
        data : frame, optional
            A frame; `y_proba` is then the name of its column, or a list of names, in the order of
            the classes in the fit: the map does not store the names of columns.

        Returns
        -------
        ndarray of shape (n,) or (n, k), or float
            Recalibrated probabilities, in the shape of `y_proba`.

        Raises
        ------
        StateError
            If the scaler is not fitted.
        InputError
            If the predictions are invalid or have another number of columns than those of the fit.

        Warns
        -----
        SameRows
            If some of at least 50 rows were used in the fit, in any order; see `share_fitted`.
            Fewer rows are not checked, and neither are rows of a map that was loaded with
            ``serving=True``.

        Examples
        --------
        >>> from calibrant.scaling import TemperatureScaling
        >>> scaler = TemperatureScaling().fit([0, 1, 1, 0], [-2.0, 1.0, 3.0, 0.5])
        >>> scaler.transform([0.0, 4.0]).round(3).tolist()
        [0.5, 0.997]
        >>> round(scaler.transform(4.0), 3)
        0.997
        """
        if data is None and is_number(y_proba):
            return self._transform_number(y_proba)
        predictions = self._predictions(y_proba, data)
        if self._serving or len(predictions.values) < FEW_ROWS or not self._learns:
            return self._apply(predictions)
        overlap = self._overlap(predictions)
        if overlap.share:
            message = f"{overlap_sentence(overlap.share, type(self).__name__)}: {ADVICE}"
            warnings.warn(message, SameRows, stacklevel=3)
        out = self._apply(predictions)
        remember(type(self).__name__, predictions.values, out, overlap)
        return out

    def _transform_number(self, number: Any) -> float:
        """The recalibrated probability of a single prediction of class 1; an InputError if the map
        was fitted to (n, k).
        """
        self._check_fitted()
        if self._columns is not None:
            raise InputError(
                f"y_proba must have the shape (n, {self._columns}), as in fit; it is a single "
                f"number: give a row of {self._columns} classes as [[...]]"
            )
        return float(self._apply(self._predictions([float(number)], None))[0])

    @public
    def share_fitted(self, y_proba: Any, *, data: Any = None) -> float | None:
        """The share of these rows that the map was fitted to, recognised by their predictions.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, k)
            Predictions of the kind that the map was fitted to.
        data : frame, optional
            A frame; `y_proba` is then the name of its column, or a list of names.

        Returns
        -------
        float or None
            A share in [0, 1]; an estimate if the fit had more than 4,096 rows. None if predictions
            repeat so much (rounded ones, for example) that the rows of the fit cannot be
            recognised. A share of a few rows may go unnoticed.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.scaling import PlattScaling
        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(200)
        >>> scaler = PlattScaling().fit(rng.random(200) < p, p)
        >>> scaler.share_fitted(p[:50]), scaler.share_fitted(rng.random(50))
        (1.0, 0.0)
        """
        return self._overlap(self._predictions(y_proba, data)).share

    def _overlap(self, predictions: Predictions) -> Overlap:
        """The overlap of these rows with the rows of the fit: which of them were among the rows of
        the fit.
        """
        hashes = row_hashes(predictions.values)
        if fingerprint(hashes, predictions.columns) == self._fitted_on and identifies_rows(hashes):
            return overlap_with_itself(len(predictions.values))
        if self._fitted_rows is None:  # a map that was saved without the hashes of its rows
            return Overlap(None, np.empty(0, np.intp), np.empty(0, np.bool_))
        return self._fitted_rows.overlap(hashes)

    def _predictions(self, y_proba: Any, data: Any) -> Predictions:
        """Checked new predictions; an InputError if they do not have the columns that
        the map was fitted to.
        """
        self._check_fitted()
        given = self._given
        few = to_few_predictions(y_proba, given, self._columns) if data is None else None
        if few is not None:
            return few
        predictions = to_predictions(y_proba, given=given, data=data)
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
        votes: Any = None,
        classes: Sequence[Any] | None = None,
        data: Any = None,
    ) -> FloatArray:
        """Fit the map and recalibrate the same rows, without the warning of `transform`.

        On the rows of the fit a map looks better than it is: pass the result on to later steps, and
        evaluate the map on held-out rows.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, k)
            Targets, as in `fit`.
        y_proba : array-like of shape (n,) or (n, k)
            Predictions, as in `fit`.
        sample_weight : array-like of shape (n,), optional
            Weight of each row; 1 by default.
        votes : int or array-like of shape (n,), optional
            Number of votes of each soft label, as in `fit`.
        classes : sequence, optional
            The labels in the order of the columns of `y_proba`.
        data : frame, optional
            A frame; the arguments are then names of its columns.

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            Recalibrated probabilities, in the shape of `y_proba`.

        Examples
        --------
        >>> from calibrant.scaling import IsotonicCalibration
        >>> IsotonicCalibration().fit_transform([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8]).tolist()
        [0.0, 0.5, 0.5, 1.0]
        """
        if _lazy_frame(data) is not None:
            raise InputError(
                "fit_transform returns a probability for each row, but the rows of a lazy frame "
                "are not in memory: use fit, then to_sql, or collect the frame"
            )
        predictions = self._fit(
            y_true, y_proba, sample_weight=sample_weight, votes=votes, classes=classes, data=data
        )
        out = self._apply(predictions)
        if self._learns:
            remember(type(self).__name__, predictions.values, out, overlap_with_itself(len(out)))
        return out

    def _fit(self, y_true: Any, y_proba: Any, **rows: Any) -> Predictions:
        """Fit the map to rows in memory, set the fitted attributes, and warn; returns the checked
        predictions.
        """
        self._check_options()
        problem = to_problem(y_true, y_proba, given=self._given, **rows)
        predictions = problem.predictions
        solution = self._solve(problem)
        self._set_fit(solution, predictions.columns, len(predictions.values))
        self._keep_hashes(row_hashes(predictions.values))
        self.loss_before_ = problem.loss_before
        self.loss_ = problem.log_loss(self._apply(predictions))
        mass = problem.weights @ problem.targets
        ruled_out = problem.ruled_out() if self._of_logarithms else (0, 0.0)
        self._warn(self._cautions(solution, problem.class_names, mass, *ruled_out))
        return predictions

    def _set_fit(self, solution: Solution, columns: int | None, n_rows: int) -> None:
        """Set the fitted attributes of a solution, but for the losses; `columns` is the number of
        columns of the predictions (None for (n,)). No row of the fit is recognised later.
        """
        self._set_learned(solution)
        self.n_classes_, self._columns = columns or 2, columns
        self.n_rows_, self.n_iter_ = n_rows, solution.n_iter
        self._fitted_on = self._fitted_rows = None

    def _keep_hashes(self, hashes: Hashes) -> None:
        """Keep what recognises the rows of the fit later, from the hash of each row."""
        self._fitted_on = fingerprint(hashes, self._columns)
        self._fitted_rows = FittedRows.from_hashes(hashes)

    def _set_learned(self, solution: Solution) -> None:
        """Set the fitted attributes that the map consists of."""
        for name, value in solution.learned.items():
            setattr(self, name, value)

    def _rows_of_frame(self, y_true: Any, y_proba: Any, **rows: Any) -> SummedRows:
        """The rows of a lazy frame, to be summed in its engine."""
        self._check_options()
        source: Any = to_source(y_true, y_proba, from_logits=self._given, **rows)
        return RowsOfFrame(source, self._given)

    def _fit_summed(self, rows: SummedRows) -> None:
        """Fit the map to rows that are summed where they are, set the fitted attributes, and
        warn.
        """
        self._check_options()
        if self._needs_rows is not None:
            raise self._rows_error(self._needs_rows)
        k = rows.columns
        if k is None:
            cells = rows.cells(View())
            problem = pooled_problem(rows, cells)
            mass, loss_before = problem.weights @ problem.targets, problem.loss_before
            n_rows, weight = int(cells.n.sum()), float(cells.w[:, 0].sum())
            n_out, out = (0, 0.0) if rows.given is True else cells.ruled_out()
            solution, loss = self._fit_cells(rows, cells)
        else:
            facts = rows.facts
            mass, loss_before = facts.mass, facts.loss
            n_rows, weight = facts.n_rows, facts.weight
            n_out, out = facts.ruled_out
            solution, loss = self._solve_sums(rows)
        self._set_fit(solution, k, n_rows)
        self._fitted_rows = rows.fitted_rows  # engines of frames have no hashes of rows
        self.loss_before_ = loss_before
        self.loss_ = rows.mean_loss(self) if loss is None else loss
        self._warn(self._cautions(solution, rows.class_names, mass, n_out, out / weight))

    def _cautions(
        self, solution: Solution, names: Sequence[str], mass: FloatArray, n_out: int, out: float
    ) -> Iterable[str]:
        """The warnings of a fit. `mass` is the weight of each class's targets; `n_out` rows, of the
        share `out` of the weight, had a class that happened predicted with probability 0.
        """
        if not self._learns:
            return []
        absent = [name for name, m in zip(names, mass, strict=True) if m == 0]
        lost = -math.log(LOG_FLOOR) * out / max(self.loss_before_, LOG_FLOOR)
        return (
            *about_absent(absent if self._class_by_class else []),
            *about_ruled_out(n_out, lost if self._of_logarithms else 0.0),
            *solution.cautions,
        )

    def _fit_cells(self, rows: SummedRows, cells: LogitCells) -> tuple[Solution, float | None]:
        """Fit the map of one logit to rows (n,) that are summed by cell; return it with its log
        loss. A steep map takes narrower cells.
        """
        for _ in range(MOST_VIEWS):
            problem, pooled = pooled_problem(rows, cells), cells.rows()
            solution = self._solve(problem)
            self._set_learned(solution)
            out = self._apply(problem.predictions)
            logits = Predictions(out, False, out.dtype).log_odds()
            view = pooled.finer(logits)
            if view is None:
                break
            cells = rows.cells(view)
        return solution, problem.log_loss(out)

    def _solve_sums(self, rows: SummedRows) -> tuple[Solution, float | None]:
        """Fit the map to rows (n, k) that are summed; return it with its log loss, None where that
        takes one more pass. An InputError for maps that need the rows.
        """
        raise self._rows_error(
            "for several classes it has too many parameters for sums of products"
        )

    def _rows_error(self, why: str) -> NeedsRows:
        """The error for rows that are only summed, where the map needs them in memory."""
        return NeedsRows(
            f"{type(self).__name__} needs the rows in memory ({why}): collect the frame or a "
            "sample of it, or fit TemperatureScaling, PlattScaling or IsotonicCalibration"
        )

    def _warn(self, cautions: Iterable[str]) -> None:
        """Issue the warnings of a fit, with the caller's own line as their place."""
        for caution in cautions:
            # The levels above are those of the fit and of the wrapper that checks its keywords.
            warnings.warn(warning_about(type(self).__name__, caution), stacklevel=5)

    def _fit_on_device(self, y_true: Any, y_proba: Any, **rows: Any) -> bool:
        """Fit the map to tensors on their device, and return True; False if the map cannot do that
        or the arguments are not tensors, so that `_fit` must read them.
        """
        return False

    def _check_fitted(self) -> None:
        """Raise a StateError if the map is not fitted."""
        if not hasattr(self, "loss_"):
            raise StateError(
                f"{type(self).__name__} is not fitted: call fit(y_true, y_proba) first"
            )

    # --- options, as scikit-learn asks for them ---------------------------------------------------

    @classmethod
    def _options(cls) -> tuple[str, ...]:
        """The names of the options of the constructor."""
        return tuple(_arguments(cls))[1:]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name, as scikit-learn requires.

        Parameters
        ----------
        deep : bool, default True
            Has no effect: no option of a scaler has options of its own.

        Returns
        -------
        dict
            The options of the constructor and their values.

        Examples
        --------
        >>> from calibrant.scaling import MatrixScaling
        >>> MatrixScaling(l2=0.1).get_params()
        {'l2': 0.1, 'from_logits': True, 'from_logprobs': False}
        """
        return {name: getattr(self, name) for name in self._options()}

    def _named_options(self) -> dict[str, Any]:
        """The options by name as printed and saved. from_logprobs is left out if it is
        False, so that these maps look the same as before the option existed.
        """
        options = self.get_params()
        return {n: v for n, v in options.items() if n != "from_logprobs" or v is not False}

    def set_params(self: S, **options: Any) -> S:
        """Set options by name, as scikit-learn does.

        Parameters
        ----------
        **options : Any
            Options of the constructor.

        Returns
        -------
        Scaler
            The scaler itself.

        Raises
        ------
        UnknownOption
            If the scaler has no option of a name.

        Examples
        --------
        >>> from calibrant.scaling import MatrixScaling
        >>> MatrixScaling().set_params(l2=0.5).l2
        0.5
        """
        for name, value in options.items():
            if name not in self._options():
                hint = nearest(name, self._options())
                raise UnknownOption(f"{type(self).__name__} has no option {name!r}: {hint}")
            setattr(self, name, value)
        return self

    def as_estimator(self, *, classes: Sequence[Any] | None = None) -> ScalingEstimator:
        """This map as a scikit-learn classifier: ``fit(X, y)``, where X are the predictions.

        Needs scikit-learn.

        Parameters
        ----------
        classes : sequence, optional
            The labels in the order of the columns of X; by default the sorted labels of y.

        Returns
        -------
        ScalingEstimator
            An unfitted estimator with this scaler as its option.

        Examples
        --------
        >>> from calibrant.scaling import TemperatureScaling
        >>> TemperatureScaling().as_estimator().fit([[2.0], [-1.0], [0.5]], [1, 0, 0]).classes_
        array([0, 1])
        """
        from calibrant.scaling._estimator import ScalingEstimator

        return ScalingEstimator(self, classes=classes)

    # --- saving and printing ----------------------------------------------------------------------

    def to_json(self, *, fitted_rows: bool = True) -> str:
        """The fitted map as JSON text, exact to the last bit.

        Parameters
        ----------
        fitted_rows : bool, default True
            Whether to write hashes of up to 4,096 rows of the fit too, by which `transform`
            recognises them. Without them a map of two parameters takes 400 bytes.

        Returns
        -------
        str
            A document that `calibrant.scaling.from_json` reads.

        Raises
        ------
        StateError
            If the scaler is not fitted.

        Examples
        --------
        >>> from calibrant.scaling import TemperatureScaling
        >>> scaler = TemperatureScaling().fit([0, 1, 1, 0], [-2.0, 1.0, 3.0, 0.5])
        >>> scaler.to_json()[:58]
        '{"format": "calibrant-scaler", "version": 1, "kind": "Temp'
        """
        self._check_fitted()
        check_flag("fitted_rows", fitted_rows)
        rows = self._fitted_rows if fitted_rows else None
        return to_text(
            {
                "kind": type(self).__name__,
                "options": {n: encode_option(v) for n, v in self._named_options().items()},
                "learned": {name: encode_learned(getattr(self, name)) for name in self._learned},
                "columns": self._columns,
                "fitted_on": self._fitted_on if fitted_rows else None,
                **{name: getattr(self, name) for name in COUNTS},
                **{name: encode_learned(getattr(self, name)) for name in LOSSES},
                # Last, since it is long and says nothing to a reader.
                "fitted_rows": None if rows is None else rows.to_dict(),
            }
        )

    def save(self, path: str | os.PathLike[str], *, fitted_rows: bool = True) -> None:
        """Write the fitted map to a file, as JSON; `calibrant.scaling.load` reads it.

        After a crash the file is the old one or the new one, never a part of either.

        Parameters
        ----------
        path : str or os.PathLike
            The file; an existing file is replaced.
        fitted_rows : bool, default True
            Whether to write hashes of rows of the fit too, as in `to_json`.

        Raises
        ------
        StateError
            If the scaler is not fitted.

        Examples
        --------
        >>> import tempfile
        >>> from calibrant.scaling import TemperatureScaling, load
        >>> scaler = TemperatureScaling().fit([0, 1, 1, 0], [-2.0, 1.0, 3.0, 0.5])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     scaler.save(f"{folder}/scaler.json")
        ...     load(f"{folder}/scaler.json").n_rows_
        4
        """
        text = self.to_json(fitted_rows=fitted_rows) + "\n"
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def to_python(self, name: str = "recalibrate") -> str:
        """The fitted map as Python source that needs only the standard library.

        For `TemperatureScaling`, `LabelSmoothingTemperature`, `VectorScaling`, `PlattScaling`,
        `QuadraticScaling`, `BetaCalibration` and `PriorShift`.

        Parameters
        ----------
        name : str, default "recalibrate"
            Name of the function in the source.

        Returns
        -------
        str
            A module with one function. It takes one prediction of class 1 and returns a number; for
            a map of (n, k) it takes a row of k predictions and returns a list. Numbers agree with
            `transform` to at least 14 digits, and invalid predictions raise a ValueError.

        Raises
        ------
        StateError
            If the scaler is not fitted.
        InputError
            If the map has more than a few parameters: save it as JSON.

        Examples
        --------
        >>> from calibrant.scaling import PriorShift
        >>> scaler = PriorShift(prior=0.02, source_prior=0.5).fit_unlabelled([0.1, 0.5])
        >>> source = scaler.to_python()
        >>> made = {}
        >>> exec(source, made)
        >>> round(made["recalibrate"](0.9), 6) == round(scaler.transform(0.9), 6)
        True
        """
        inputs, outputs = self._inputs_and_formula("to_python")
        read = "log-probabilities" if inputs.given == LOGPROBS else "probabilities"
        read = "logits" if inputs.given is True else read
        classes = f"{self.n_classes_} classes" if inputs.columns else "class 1"
        about = (
            f"{type(self).__name__}, fitted to {self.n_rows_:,} rows: {read} of {classes} become "
            "recalibrated probabilities."
        )
        return to_python(outputs, inputs, name, about)

    def to_sql(self, columns: str | Sequence[str]) -> Any:
        """The fitted map as an SQL expression.

        It is standard SQL (CASE, ABS) with the functions LN and EXP, which PostgreSQL, DuckDB,
        SQLite, Spark, BigQuery and Snowflake have; SQL Server calls LN LOG. It is available for the
        same maps as `to_python`. NULL stays NULL, and an invalid prediction (NaN, 1.5, a row that
        does not sum to 1) becomes NULL.

        Parameters
        ----------
        columns : str or sequence of str
            The column of predictions, as it is written in SQL; for a map of (n, k) the k columns in
            the order of the classes.

        Returns
        -------
        str or list of str
            The expression; for a map of (n, k) one for each class.

        Raises
        ------
        StateError
            If the scaler is not fitted.
        InputError
            If the map has more than a few parameters, or the number of columns differs from the
            fit.

        Examples
        --------
        >>> import math, sqlite3
        >>> from calibrant.scaling import PriorShift
        >>> scaler = PriorShift(prior=0.02, source_prior=0.5).fit_unlabelled([0.1, 0.5])
        >>> query = f"SELECT {scaler.to_sql('p')} FROM (SELECT 0.9 AS p)"
        >>> ((found,),) = sqlite3.connect(":memory:").execute(query)
        >>> round(found, 12) == round(scaler.transform(0.9), 12)
        True
        """
        inputs, outputs = self._inputs_and_formula("to_sql")
        one = isinstance(columns, str)
        names = [columns] if isinstance(columns, str) else list(columns)
        if one != (inputs.columns is None) or len(names) != len(inputs.raw):
            need = f"a list of {inputs.columns} columns" if inputs.columns else "one column's name"
            raise InputError(f"columns must be {need}, as in fit; got {columns!r}")
        if not all(isinstance(each, str) and each.strip() for each in names):
            raise InputError(f"columns must be valid SQL column names; got {columns!r}")
        written = to_sql(outputs, inputs, names)
        return written[0] if one else written

    def _inputs_and_formula(self, method: str) -> tuple[Inputs, list[Node]]:
        """The inputs of the map as nodes, and a node for each output; an InputError that names
        `method` if the map has no formula.
        """
        self._check_fitted()
        inputs = Inputs(self._given, self._columns)
        outputs = self._formula(inputs)
        if outputs is None:
            raise InputError(
                f"{method} writes only maps of few parameters, and {type(self).__name__} is not "
                "one. Save it as JSON (save), or fit TemperatureScaling, PlattScaling or "
                "BetaCalibration"
            )
        return inputs, outputs

    def _formula(self, inputs: Inputs) -> list[Node] | None:
        """The map as a formula of the inputs, a node for each output; None if it has
        too many parameters.
        """
        return None

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._named_options().items())
        call = f"{type(self).__name__}({options})"
        if not hasattr(self, "loss_"):
            return call
        learned = ", ".join(f"{name}={brief_text(getattr(self, name))}" for name in self._learned)
        if np.isnan(self.loss_before_):
            return f"<{call}: {learned}; from {self.n_rows_} rows without labels>"
        after = "" if np.isnan(self.loss_) else f" -> {self.loss_:.4f}"
        return (
            f"<{call}: {learned}; log loss {self.loss_before_:.4f}{after} on the "
            f"{self.n_rows_} rows of the fit>"
        )

    def _in_caption(self) -> str:
        """The fitted map as a sentence of a caption: its name, the numbers it learned, its rows."""
        from calibrant.results._report import method_in_words

        learned = {name: getattr(self, name) for name in self._learned}
        numbers = ", ".join(
            f"{name.strip('_').replace('_', ' ')} {value:.3g}"
            for name, value in learned.items()
            if isinstance(value, float)
        )
        beside = f" ({numbers})" if numbers else ""
        name = method_in_words(type(self).__name__)
        return f"{name}{beside} was fitted to {counted(self.n_rows_, 'row')}."

    def _in_words(self) -> str:
        """The fitted map as a sentence for people: its name, what it learned, its log loss."""
        from calibrant.results._report import method_in_words

        learned = ", ".join(
            f"{name.strip('_').replace('_', ' ')} {brief_text(getattr(self, name))}"
            for name in self._learned
        )
        text = f"{method_in_words(type(self).__name__)}: {learned}"
        if not hasattr(self, "loss_"):
            return text
        rows = counted(self.n_rows_, "row")
        if np.isnan(self.loss_before_):
            return f"{text}; from {rows} without labels"
        after = "" if np.isnan(self.loss_) else f" before, {self.loss_:.4f} after"
        return f"{text}; log loss {self.loss_before_:.4f}{after}, on the {rows} of the fit"
