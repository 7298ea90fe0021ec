"""Constructors of Display classes in the style of scikit-learn.

A Display draws a result. Its constructors compute that result first: they take the options of the
function that computes it, and then those of `plot`.
"""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
from calibrant._core.validation import public
from calibrant.integrations._responses import Problem, classes_of, read_problem, resolve_methods
from calibrant.results._plots.bin_sensitivity import BinSensitivityDisplay
from calibrant.results._plots.canvas import DrawnFromPredictions
from calibrant.results._plots.classwise import ClasswiseDisplay
from calibrant.results._plots.comparison import ComparisonDisplay
from calibrant.results._plots.curves import ReliabilityCurveDisplay, SmoothReliabilityDisplay
from calibrant.results._plots.reliability import OverlaidReliabilityDisplay, ReliabilityDisplay
from calibrant.results._plots.risk_coverage import RiskCoverageDisplay
from calibrant.results._plots.risk_histogram import RiskHistogramDisplay
from calibrant.results._plots.windows import WindowsDisplay
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._windows import Windows

__all__ = [
    "BinSensitivityDisplay",
    "ClasswiseDisplay",
    "ComparisonDisplay",
    "OverlaidReliabilityDisplay",
    "ReliabilityCurveDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "RiskHistogramDisplay",
    "SmoothReliabilityDisplay",
    "WindowsDisplay",
]

Display = type[DrawnFromPredictions]
# Options of the functions that the estimator determines, so that `from_estimator` has none of them.
_SETTLED = {"classes", "data", "from_logits", "from_logprobs", "ids"}
# Arguments of `from_estimator` that are about the estimator: the first three are positional.
_OF_ESTIMATOR = ("estimator", "X", "y", "y_soft", "response_method", "from_logits", "pos_label")
_OF_ESTIMATORS = ("estimators", *_OF_ESTIMATOR[1:])
_RESPONSES = """\
estimator : fitted classifier
    Predicts probabilities or scores, and has `classes_`.
estimators : mapping of str to fitted classifiers
    Classifiers by name.
X : array-like of shape (n, n_features)
    Rows to predict.
y : array-like of shape (n,)
    Labels of the rows.
y_soft : array-like of shape (n,) or (n, k), optional
    Soft labels to measure against in place of `y`: the probability of the positive class, or of
    each class in the order of `classes_`.
response_method : {"predict_proba", "decision_function"} or tuple of both, default "predict_proba"
    The method that gives predictions; from a tuple, the first that the estimator has.
from_logits : bool, default False
    Whether scores of `decision_function` are logits.
pos_label : label, optional
    The class that is measured against the rest. Without it, two classes are measured by the
    probability of the second, and more all together.
"""


@dataclass(frozen=True)
class Constructors:
    """The constructors of a Display: from labels and predictions, or from a fitted classifier.

    Attributes
    ----------
    function : callable
        Computes the result that the Display draws. Both constructors have all its options and those
        of `plot` in their signatures.
    defaults : mapping of str to object
        Defaults other than the function's.
    shared : tuple of str
        Options of the function that are passed to `plot` too.
    responses : tuple of str
        Arguments of `from_estimator` that are about the estimator.
    draws_every_class : bool
        Whether to match labels with all classes even if there are two.
    """

    function: Callable[..., Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    responses: tuple[str, ...] = _OF_ESTIMATOR
    draws_every_class: bool = False

    def from_predictions(self, cls: Display, y_true: Any, y_proba: Any, **options: Any) -> Any:
        """Draw the diagram of labels and predictions."""
        of_function = {name: options[name] for name in keywords_of(self.function)}
        of_display = {name: options[name] for name in keywords_of(cls)}
        of_plot = {
            name: value
            for name, value in options.items()
            if name in self.shared or name not in {**of_function, **of_display}
        }
        make: Any = cls
        return make(self.function(y_true, y_proba, **of_function), **of_display).plot(**of_plot)

    def from_estimator(self, cls: Display, estimator: Any, X: Any, y: Any, **options: Any) -> Any:
        """Draw the diagram of a fitted classifier."""
        problem = problem_of_estimator(estimator, X, y, options)
        classes = problem.classes
        if classes is None and self.draws_every_class:
            classes = classes_of(estimator)
        if "name" in options and options["name"] is None:
            options["name"] = type(estimator).__name__
        return cls.from_predictions(
            problem.y_true,
            problem.y_proba,
            classes=None if classes is None else [*classes],
            from_logits=problem.from_logits,
            **options,
        )

    def add_to(self, display: Display) -> None:
        """Set both constructors on a Display, as class methods."""
        for name in ("from_predictions", "from_estimator"):
            setattr(display, name, self._constructor(display, name))

    def _constructor(self, display: Display, name: str) -> Any:
        """Make the constructor of a Display that has this name, a class method.

        `name` is "from_predictions" or "from_estimator". The signature and the docstring of the
        constructor have all options.
        """
        signature, target = self._signature(display, name), getattr(self, name)

        def relay(*args: Any, **options: Any) -> Any:
            """Fill in the defaults of the signature, and call the constructor with all options."""
            bound = signature.bind(*args, **options)
            bound.apply_defaults()
            return target(*bound.args, **bound.kwargs)

        relay.__name__, relay.__qualname__ = name, f"{display.__name__}.{name}"
        relay.__module__ = display.__module__
        summary = str(getattr(Constructors, name).__doc__)
        relay.__doc__ = self._docstring(display, summary, signature)
        setattr(relay, "__signature__", signature)  # noqa: B010
        return classmethod(public(relay))

    def _signature(self, display: Any, name: str) -> inspect.Signature:
        """The signature of a Display's constructor: `cls`, the data, then all options by keyword.

        The options are those of the function that computes the result, of the Display, and of its
        `plot`. `from_estimator` has those about the estimator first, and none that the estimator
        determines.
        """
        of_display, of_plot = keywords_of(display), keywords_of(display.plot)
        of_function = {
            option: parameter.replace(default=self.defaults.get(option, parameter.default))
            for option, parameter in keywords_of(self.function).items()
        }
        first: tuple[str, ...] = ("y_true", "y_proba")
        if name == "from_estimator":
            first = self.responses[:3]
            usual = {"response_method": "predict_proba", "from_logits": False}
            asked = {
                option: inspect.Parameter(
                    option, inspect.Parameter.KEYWORD_ONLY, default=usual.get(option)
                )
                for option in self.responses[3:]
            }
            kept = {option: p for option, p in of_function.items() if option not in _SETTLED}
            of_function = {**asked, **kept}
        parameters = [
            inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for each in ("cls", *first)
        ]
        # Where both have an option, the function's default counts.
        keywords = {**of_plot, **of_display, **of_function}
        order = dict.fromkeys((*of_function, *of_display, *of_plot))
        parameters += [keywords[option] for option in order]
        return inspect.Signature(parameters, return_annotation=display.__name__)

    def _docstring(self, display: Any, summary: str, signature: inspect.Signature) -> str:
        """The docstring of a Display's constructor, which begins with `summary`.

        Entries of parameters are copied from the function that computes the result, the Display and
        `plot`.
        """
        known = {
            **_parameter_entries(str(inspect.getdoc(display.plot))),
            **_parameter_entries(str(inspect.getdoc(display))),
            **_parameter_entries(str(inspect.getdoc(self.function))),
        }
        if "X" in signature.parameters:
            known |= _parameter_entries(f"Parameters\n----------\n{_RESPONSES}")
        lines = [summary, "", "Parameters", "----------"]
        for name, parameter in list(signature.parameters.items())[1:]:
            entry = known.get(name, f"{name}\n    See `{self.function.__name__}`.")
            if name in self.defaults:
                entry = re.sub(r"default \S+", f"default {parameter.default!r}", entry, count=1)
            lines.append(entry)
        lines += ["", "Returns", "-------", display.__name__, "    The diagram, drawn."]
        return "\n".join(lines)


def problem_of_estimator(estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Problem:
    """Labels and predictions of an estimator on rows X, in the form that a measure takes.

    The options about its response (`response_method`, `from_logits`, `y_soft`, `pos_label`) are
    removed from `options`.
    """
    methods = resolve_methods(options.pop("response_method"), options.pop("from_logits"))
    y_soft, pos_label = options.pop("y_soft"), options.pop("pos_label", None)
    return read_problem(estimator, X, y, y_soft=y_soft, pos_label=pos_label, methods=methods)


def keywords_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a function or a class, by name."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}


def _parameter_entries(doc: str) -> dict[str, str]:
    """The entries of the section Parameters in a docstring, as texts by the parameter's name."""
    _, _, section = doc.partition("Parameters\n----------\n")
    section = re.split(r"\n\n(?=\S[^\n]*\n-{3,}\n)", section, maxsplit=1)[0]
    entries: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", section.strip("\n")):
        head = block.partition("\n")[0].partition(" :")[0]
        entries |= {name.strip(): block for name in head.split(",")}
    return entries


class OverlayConstructors(Constructors):
    """Constructors for several predictors by name: each has its own table and its own curve."""

    def from_estimator(self, cls: Display, estimator: Any, X: Any, y: Any, **options: Any) -> Any:
        """Draw the diagram of several fitted classifiers, which `estimator` maps names to."""
        # Each estimator has classes of its own, so each is measured by itself.
        of_plot = {name: options.pop(name) for name in keywords_of(OverlaidReliabilityDisplay.plot)}
        tables = {}
        for name, each in _check_estimators(estimator).items():
            of_function = dict(options)
            problem = problem_of_estimator(each, X, y, of_function)
            tables[str(name)] = reliability(
                problem.y_true,
                problem.y_proba,
                from_logits=problem.from_logits,
                classes=problem.classes,
                **of_function,
            )
        make: Any = cls
        return make(tables).plot(**of_plot)


class ComparisonConstructors(Constructors):
    """Constructors for several predictors by name, which are compared on the same labels."""

    def from_predictions(self, cls: Display, y_true: Any, y_proba: Any, **options: Any) -> Any:
        """Draw the diagram of several models; `y_proba` maps their names to predictions."""
        if options["measures"] is not None:  # an iterator would be used up by the first reading
            options["measures"] = list(options["measures"])
        return super().from_predictions(cls, y_true, y_proba, **options)

    def from_estimator(self, cls: Display, estimator: Any, X: Any, y: Any, **options: Any) -> Any:
        """Draw the diagram of several fitted classifiers, which `estimator` maps names to.

        Classifiers with other classes, or another kind of predictions, than the first are an error.
        """
        problems = {
            name: problem_of_estimator(each, X, y, dict(options))
            for name, each in _check_estimators(estimator).items()
        }
        first_name, first = next(iter(problems.items()))
        for name, problem in problems.items():
            if not _is_same_problem(problem, first):
                raise InputError(
                    f"{name!r} has other classes or another kind of predictions than "
                    f"{first_name!r}: compare classifiers of the same classes"
                )
        kept = {name: options[name] for name in options if name not in self.responses}
        return cls.from_predictions(
            first.y_true,
            {name: problem.y_proba for name, problem in problems.items()},
            from_logits=first.from_logits,
            classes=first.classes,
            **kept,
        )


def _check_estimators(estimators: Any) -> Mapping[str, Any]:
    """Check that estimators are a non-empty mapping of names to classifiers, and return them."""
    if not isinstance(estimators, Mapping) or not estimators:
        raise InputError(
            "estimators must map names to fitted classifiers, such as {'forest': model}; got "
            f"{type(estimators).__name__}"
        )
    return estimators


def _is_same_problem(problem: Problem, first: Problem) -> bool:
    """Whether two problems have the same labels, classes and kind of predictions."""
    classes = [None if each.classes is None else list(each.classes) for each in (problem, first)]
    same_kind = problem.from_logits == first.from_logits and classes[0] == classes[1]
    return same_kind and np.array_equal(np.asarray(problem.y_true), np.asarray(first.y_true))


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
        Bins that do not depend on the data: a number of equal-width bins, `EqualWidth` or `Edges`.
    measures : iterable of str, optional
        Names of `catalogue()`; by default those of `Monitor`.
    baseline : Accumulator or int, optional
        The baseline of changes: other rows, or the given number of windows before each.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.
    from_logits : bool, default False
        Whether `y_proba` holds logits.
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities.
    classes : sequence, optional
        Labels of the classes, in the order of the columns.
    data : frame, optional
        The frame whose columns the other arguments name.

    Returns
    -------
    Windows
        A row for each window.
    """
    monitor = Monitor(
        every=every,
        bins=bins,
        measures=measures,
        from_logits=from_logits,
        from_logprobs=from_logprobs,
        classes=classes,
    )
    monitor.update(y_true, y_proba, time=time, sample_weight=sample_weight, data=data)
    return monitor.evaluate(baseline=baseline)


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


Constructors(reliability).add_to(ReliabilityDisplay)
Constructors(reliability_curve).add_to(ReliabilityCurveDisplay)
Constructors(risk_coverage).add_to(RiskCoverageDisplay)
Constructors(reliability, defaults={"bins": 40}).add_to(RiskHistogramDisplay)
Constructors(smooth_reliability).add_to(SmoothReliabilityDisplay)
Constructors(bin_sensitivity).add_to(BinSensitivityDisplay)
Constructors(windows_of).add_to(WindowsDisplay)
# All classes are drawn, so that none can be asked for by `pos_label`.
Constructors(
    classwise_reliability,
    defaults={"bins": 10},
    responses=_OF_ESTIMATOR[:-1],
    draws_every_class=True,
).add_to(ClasswiseDisplay)
OverlayConstructors(reliability_of_each, responses=_OF_ESTIMATORS).add_to(
    OverlaidReliabilityDisplay
)
ComparisonConstructors(compare, shared=("measures",), responses=_OF_ESTIMATORS).add_to(
    ComparisonDisplay
)
