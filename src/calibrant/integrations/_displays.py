"""The Display classes, with constructors for predictions and for fitted classifiers."""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from calibrant._api.bin_sensitivity import bin_sensitivity
from calibrant._api.compare import compare
from calibrant._api.metrics.ranking import risk_coverage
from calibrant._api.metrics.smooth import smooth_reliability
from calibrant._api.reliability import classwise_reliability, reliability
from calibrant._api.reliability_curve import reliability_curve
from calibrant._api.streaming.monitor import Monitor
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError
from calibrant.integrations._from_predictions import (
    FromPredictions,
    keywords_of,
    problem_of_estimator,
)
from calibrant.integrations._responses import Problem, classes_of
from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay as BinSensitivityDiagram
from calibrant.results._plots.classwise import ClasswiseDisplay as ClasswiseDiagram
from calibrant.results._plots.comparison import ComparisonDisplay as ComparisonDiagram
from calibrant.results._plots.overlay import (
    OverlaidReliabilityDisplay as OverlaidReliabilityDiagram,
)
from calibrant.results._plots.reliability import ReliabilityDisplay as ReliabilityDiagram
from calibrant.results._plots.reliability_curve import (
    ReliabilityCurveDisplay as ReliabilityCurveDiagram,
)
from calibrant.results._plots.risk_coverage import RiskCoverageDisplay as RiskCoverageDiagram
from calibrant.results._plots.risk_histogram import RiskHistogramDisplay as RiskHistogramDiagram
from calibrant.results._plots.smooth import SmoothReliabilityDisplay as SmoothReliabilityDiagram
from calibrant.results._plots.windows import WindowsDisplay as WindowsDiagram
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._windows import Windows


class ReliabilityDisplay(FromPredictions, ReliabilityDiagram):
    """A reliability diagram: the isotonic curve of the rows, and each bin's mean target.

    Use `from_predictions` or `from_estimator`, or `ReliabilityTable.plot`. Points above the
    diagonal are predictions that were too low, points below it predictions that were too high. Bars
    are intervals for the mean target (see `ReliabilityTable.intervals`), the grey band is where
    the curves of calibrated predictions would lie (see `reliability_curve`), and the strip on top
    shows where the predictions lie. Draw another on the same axes with ``ax=display.ax_``.

    Parameters
    ----------
    table : ReliabilityTable
        The bins to draw.
    name : str, optional
        The name of the predictor, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The points of bins; joined by a line where no curve is drawn.
    curve_ : matplotlib Line2D or None
        The curve of the rows.
    band_ : matplotlib PolyCollection or None
        The band of the curve.
    intervals_ : matplotlib LineCollection or None
        The bars.
    cutoff_ : matplotlib Rectangle or None
        The shaded interval of predictions.
    counts_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    >>> display.line_.get_ydata().tolist()
    [0.0, 1.0]
    """

    _function = staticmethod(reliability)


class ReliabilityCurveDisplay(FromPredictions, ReliabilityCurveDiagram):
    """A reliability diagram without bins, of a curve that follows the rows, with a band.

    Use `from_predictions` or `from_estimator`, or `ReliabilityCurve.plot`. The strip on top shows
    where the predictions lie. The curve may be drawn over a `ReliabilityDisplay`, with its
    ``ax_``.

    Parameters
    ----------
    curve : ReliabilityCurve
        The curve to draw.
    name : str, optional
        The name of the predictor, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band.
    counts_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import ReliabilityCurveDisplay
    >>> display = ReliabilityCurveDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> display.line_.get_ydata().tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    _function = staticmethod(reliability_curve)


class RiskCoverageDisplay(FromPredictions, RiskCoverageDiagram):
    """The risk of answering only what is surest, against the share that is answered.

    Use `from_predictions` or `from_estimator`, or `RiskCoverage.plot`. It shows ranking and
    accuracy together, not calibration. Draw another on the same axes with ``ax=display.ax_``.

    Parameters
    ----------
    curve : RiskCoverage
        The curve to draw.
    name : str, optional
        The name of the predictor, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The limits.

    Examples
    --------
    >>> from calibrant.plots import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay.from_predictions([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6])
    >>> display.line_.get_ydata().round(4).tolist()
    [0.0, 0.0, 0.3333, 0.5]
    """

    _function = staticmethod(risk_coverage)


class RiskHistogramDisplay(FromPredictions, RiskHistogramDiagram):
    """Where predictions lie, by outcome: rows with the event above a line, the others below it.

    Use `from_predictions` or `from_estimator`, or give a table. Heights are shares of the rows with
    the same outcome, or of all rows (`of`); a soft label is both outcomes in part. Of several
    classes it shows the top label's confidence where it is right, and where it is wrong.

    Parameters
    ----------
    table : ReliabilityTable
        The bins to draw.
    name : str, optional
        The name of the predictor, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the histogram is drawn.
    events_, rest_ : matplotlib BarContainer or LineCollection
        The bars of rows with the event, and of the others.

    Examples
    --------
    >>> from calibrant.plots import RiskHistogramDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> display = RiskHistogramDisplay.from_predictions(y, p, bins=2, of="rows")
    >>> [float(bar.get_height()) for bar in display.events_]
    [0.0, 0.5]
    >>> [float(bar.get_height()) for bar in display.rest_]
    [-0.5, 0.0]
    """

    _function = staticmethod(reliability)
    _defaults: ClassVar[Mapping[str, Any]] = {"bins": 40}


class SmoothReliabilityDisplay(FromPredictions, SmoothReliabilityDiagram):
    """The smoothed mean target against the prediction, without bins.

    Use `from_predictions` or `from_estimator`, or `SmoothCurve.plot`. The curve is an average over
    neighbouring predictions: it does not follow where the frequency changes within a bandwidth, and
    its band does not include that bias. Bins of the same rows that lie outside the band
    (`SmoothCurve.outside`) are drawn over it, as dots with their intervals.

    The curve is drawn where at least one row lies within about a bandwidth. The band is for one
    point at a time, and for the smoothed mean target (see `SmoothCurve.intervals`); soft labels
    have none. The strip on top shows the density of the predictions. The curve may be drawn over a
    `ReliabilityDisplay`, with its ``ax_``.

    Parameters
    ----------
    curve : SmoothCurve
        The curve to draw.
    name : str, optional
        The name of the predictor, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band.
    outside_ : matplotlib ErrorbarContainer or None
        The bins that lie outside the band.
    density_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import SmoothReliabilityDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> display = SmoothReliabilityDisplay.from_predictions(y, p, sigma=0.2)
    >>> display.line_.get_label()
    'smoothed, σ = 0.2'
    """

    _function = staticmethod(smooth_reliability)


class ClasswiseDisplay(FromPredictions, ClasswiseDiagram):
    """Small reliability diagrams of each class against the rest, the largest error first.

    Use `from_predictions` or `from_estimator`, or `ClasswiseReliability.plot`. Lines are isotonic
    curves of the rows, points are bins. Bars are intervals for the mean target; grey columns show
    the share of rows in each bin, the highest of a diagram at half of its height. The line below
    says how many classes are shown.

    Parameters
    ----------
    tables : ClasswiseReliability
        The tables to draw.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each class that is shown.
    figure_ : matplotlib Figure or SubFigure
        Where the diagrams are drawn.
    lines_ : list of matplotlib Line2D
        The points of the bins of each class.
    curves_ : list of matplotlib Line2D or None
        The curves of the rows.
    intervals_ : list of matplotlib LineCollection or None
        The bars of each class.
    note_ : matplotlib Text
        The line below.

    Examples
    --------
    >>> from calibrant.plots import ClasswiseDisplay
    >>> rows = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]]
    >>> display = ClasswiseDisplay.from_predictions([0, 1, 2, 1], rows, bins=2, cap=2)
    >>> display.note_.get_text()
    '2 of 3 classes, worst first; columns: share of rows'
    """

    _function = staticmethod(classwise_reliability)
    _defaults: ClassVar[Mapping[str, Any]] = {"bins": 10}
    _responses = FromPredictions._responses[:-1]  # all classes are drawn

    @classmethod
    def _classes(cls, problem: Problem, estimator: Any) -> Any:
        return classes_of(estimator) if problem.classes is None else problem.classes


class BinSensitivityDisplay(FromPredictions, BinSensitivityDiagram):
    """A line for each measure over all numbers of bins; a panel for each scale of values.

    Use `from_predictions` or `from_estimator`, or `BinSensitivity.plot`. A line that keeps rising
    adds the noise of ever smaller bins; a measure without bins is a level line. The thin upright
    line is at the usual number of bins.

    Parameters
    ----------
    sensitivity : BinSensitivity
        The values to draw.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each scale.
    figure_ : matplotlib Figure or SubFigure
        Where the lines are drawn.
    lines_ : dict of str to matplotlib Line2D
        The line of each measure.

    Examples
    --------
    >>> from calibrant.plots import BinSensitivityDisplay
    >>> y, p = [0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5
    >>> display = BinSensitivityDisplay.from_predictions(y, p, bins=[5, 10], measures=["ece"])
    >>> display.lines_["ece"].get_xdata().tolist()
    [5, 10]
    """

    _function = staticmethod(bin_sensitivity)


def windows_of(
    y_true: Any,
    y_proba: Any,
    *,
    time: Any,
    every: Any = "1d",
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    baseline: Any = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Windows:
    """Measure rows with times in windows, as a `Monitor` does.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k)
        Labels, hard or soft.
    y_proba : array-like of shape (n,) or (n, k)
        Predicted probabilities, (n,) of class 1.
    time : array-like of shape (n,), or one time
        When each row was observed: datetimes, ISO texts, or seconds since 1970.
    every : str or timedelta, default "1d"
        The width of a window.
    bins : int or rule of binning, default 15
        Bins that are fixed before data are seen: a count of equal width, `EqualWidth` or `Edges`.
    measures : iterable of str, optional
        Names of `catalogue()`; left out, those of `Monitor`.
    baseline : Accumulator or int, optional
        What changes are measured against: other rows, or as many windows before each.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.
    from_logits : bool, default False
        Whether `y_proba` holds logits.
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities.
    classes : sequence, optional
        Labels of the classes, in the order of the columns.
    data : frame, optional
        Where the other arguments name columns of.

    Returns
    -------
    Windows
        A row for each window.
    """
    monitor = Monitor(
        every=every, bins=bins, measures=measures, from_logits=from_logits,
        from_logprobs=from_logprobs, classes=classes,
    )  # fmt: skip
    monitor.update(y_true, y_proba, time=time, sample_weight=sample_weight, data=data)
    return monitor.evaluate(baseline=baseline)


class WindowsDisplay(FromPredictions, WindowsDiagram):
    """A measure over time, with its noise floor and the rows of each window.

    Use `Windows.plot`, or `from_predictions` and `from_estimator` for rows with times. Where the
    line leaves the grey area, a calibrated model would be above it in less than 5 of 100 windows;
    rings are windows within it. The line is broken where windows have no rows.

    Parameters
    ----------
    windows : Windows
        The windows to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.
    line_ : matplotlib Line2D
        The measure.
    noise_ : matplotlib PolyCollection or None
        The grey area; None for a measure without a noise floor.
    counts_ax_ : matplotlib Axes or None
        The strip on top.

    Examples
    --------
    >>> from calibrant.plots import WindowsDisplay
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> time = ["2026-01-05", "2026-01-05", "2026-01-06", "2026-01-06"]
    >>> display = WindowsDisplay.from_predictions(y, p, time=time, every="1d")
    >>> display.line_.get_ydata().tolist() == display.windows.columns()["ece"]
    True
    """

    _function = staticmethod(windows_of)


class _FromSeveral(FromPredictions):
    """Constructors for several predictors, each with a name."""

    _responses = ("estimators", *FromPredictions._responses[1:])


@functools.wraps(reliability)
def reliability_of_each(
    y_true: Any, y_proba: Mapping[str, Any], **options: Any
) -> dict[str, ReliabilityTable]:
    """The reliability table of each predictor, by name."""
    if not isinstance(y_proba, Mapping):
        raise InputError(
            "y_proba must map names to predictions, such as {'forest': p, 'boosting': q}; got "
            f"{type(y_proba).__name__}. For one predictor use ReliabilityDisplay"
        )
    return {
        str(name): reliability(y_true, predictions, **options)
        for name, predictions in y_proba.items()
    }


class OverlaidReliabilityDisplay(_FromSeveral, OverlaidReliabilityDiagram):
    """A curve for each of several predictors, in one reliability diagram.

    Use `from_predictions` or `from_estimator`, or give tables by name. Intervals of more than two
    curves hide one another: they are drawn only if `level` is given.

    Parameters
    ----------
    tables : mapping of str to ReliabilityTable
        The table of each predictor, by name.

    Attributes
    ----------
    displays_ : list of ReliabilityDisplay
        The display of each predictor.
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is drawn.

    Examples
    --------
    >>> from calibrant.plots import OverlaidReliabilityDisplay
    >>> models = {"first": [0.2, 0.7, 0.9, 0.4], "second": [0.1, 0.8, 0.8, 0.6]}
    >>> display = OverlaidReliabilityDisplay.from_predictions([0, 1, 1, 0], models, bins=2)
    >>> [each.line_.get_label() for each in display.displays_]
    ['first: ECE 0.250', 'second: ECE 0.075']
    """

    _function = staticmethod(reliability_of_each)

    @classmethod
    def _from_estimator(cls, estimators: Mapping[str, Any], X: Any, y: Any, **options: Any) -> Self:
        # Each estimator has classes of its own, so each is measured by itself.
        drawn = {name: options.pop(name) for name in keywords_of(cls.plot)}
        tables = {}
        for name, estimator in _named(estimators).items():
            computed = dict(options)
            problem = problem_of_estimator(estimator, X, y, computed)
            tables[str(name)] = reliability(
                problem.y_true, problem.y_proba, from_logits=problem.from_logits,
                classes=problem.classes, **computed,
            )  # fmt: skip
        return cls(tables).plot(**drawn)


class ComparisonDisplay(_FromSeveral, ComparisonDiagram):
    """Predictors from the best to the worst, with how sure that is.

    Use `from_predictions` or `from_estimator`, or `Comparison.plot`. A kind is "values"
    (dots: bias-corrected estimates; bars: confidence intervals), "ranks" (bars: confidence
    intervals of the ranks) or "differences" (from the best predictor; a ring: the interval includes
    0). A cross is the value of the sample, where it is another number: raw values of calibration
    errors are biased upwards. Several measures stand side by side, the rows in the order of the
    first.

    Parameters
    ----------
    comparison : Comparison
        The comparison to draw.

    Attributes
    ----------
    names_ : list of str
        The predictors that are shown, from the top.
    axes_ : list of matplotlib Axes
        One for each measure.
    figure_ : matplotlib Figure or SubFigure
        Where the dots are drawn.
    dots_, bars_ : dict of str to matplotlib collections
        Values and intervals, by measure.

    Examples
    --------
    >>> from calibrant.plots import ComparisonDisplay
    >>> y = [0, 1, 1, 0] * 25
    >>> models = {"good": [0.1, 0.8, 0.9, 0.2] * 25, "bad": [0.3, 0.5, 0.6, 0.6] * 25}
    >>> ComparisonDisplay.from_predictions(y, models, measures=["brier"]).names_
    ['good', 'bad']
    """

    _function = staticmethod(compare)
    _shared = ("measures",)

    @classmethod
    def _from_predictions(cls, y_true: Any, y_proba: Any, **options: Any) -> Self:
        if options["measures"] is not None:  # read twice
            options["measures"] = list(options["measures"])
        return super().from_predictions(y_true, y_proba, **options)

    @classmethod
    def _from_estimator(cls, estimators: Mapping[str, Any], X: Any, y: Any, **options: Any) -> Self:
        problems = {
            name: problem_of_estimator(each, X, y, dict(options))
            for name, each in _named(estimators).items()
        }
        first_name, first = next(iter(problems.items()))
        for name, problem in problems.items():
            if not _is_same(problem, first):
                raise InputError(
                    f"{name!r} has other classes or predictions of another kind than "
                    f"{first_name!r}: compare classifiers of the same classes"
                )
        kept = {name: options[name] for name in options if name not in cls._responses}
        return cls.from_predictions(
            first.y_true, {name: problem.y_proba for name, problem in problems.items()},
            from_logits=first.from_logits, classes=first.classes, **kept,
        )  # fmt: skip


def _named(estimators: Any) -> Mapping[str, Any]:
    if not isinstance(estimators, Mapping) or not estimators:
        raise InputError(
            "estimators must map names to fitted classifiers, such as {'forest': model}; got "
            f"{type(estimators).__name__}"
        )
    return estimators


def _is_same(problem: Problem, first: Problem) -> bool:
    """Whether two classifiers pose the same problem."""
    if problem.from_logits != first.from_logits:
        return False
    if (problem.classes is None) != (first.classes is None):
        return False
    if problem.classes is not None and list(problem.classes) != list(first.classes):
        return False
    return np.array_equal(np.asarray(problem.y_true), np.asarray(first.y_true))
