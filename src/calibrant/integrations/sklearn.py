"""scikit-learn: every measure as a scorer, and the reliability diagram as a Display."""

# ruff: noqa: N803 - X is the name that scikit-learn calls scorers with.

from __future__ import annotations

import ast
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from calibrant._api import metrics
from calibrant._core.errors import InputError, MissingExtra, UnknownOption, nearest
from calibrant._data.labels import checked_class_names
from calibrant._measures.catalogue import Measure, canonical, catalogue, find, nearest_measure
from calibrant.integrations._displays import ReliabilityDisplay
from calibrant.integrations._responses import (
    add_unseen_classes,
    available_method,
    check_seen,
    classes_of,
    problem_of,
    resolve_methods,
)

try:
    from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
    from sklearn.metrics._scorer import _BaseScorer  # type: ignore[import-untyped]
except ImportError as error:
    raise MissingExtra("scikit-learn", "sklearn", "scoring an estimator") from error

__all__ = ["MeasureScorer", "ReliabilityDisplay", "scorer", "scorer_names"]

# Options of the functions that a scorer does not take, since the estimator or scikit-learn's
# metadata determine them: by name, what to do instead.
_SETTLED = {
    "sample_weight": "pass it as metadata: cross_validate(..., params={'sample_weight': w})",
    "data": "scikit-learn hands the scorer its rows",
    "from_logprobs": "predict_proba gives probabilities, and decision_function logits",
}


def scorer_names() -> list[str]:
    """List the names that `scorer` knows: every measure of the catalogue.

    Returns
    -------
    list of str
        Names, in alphabetical order.

    Examples
    --------
    >>> from calibrant.integrations.sklearn import scorer_names
    >>> "ece" in scorer_names()
    True
    """
    return sorted({measure.name for measure in catalogue()})


def scorer(
    measure: str,
    *,
    response_method: str | tuple[str, ...] = "predict_proba",
    from_logits: bool = False,
    pos_label: Any = None,
    classes: Sequence[Any] | None = None,
    **options: Any,
) -> MeasureScorer:
    """Make a scorer of a measure, for `cross_validate`, `GridSearchCV` and similar functions.

    Greater is better, as everywhere in scikit-learn: errors and losses are negative. Labels may be
    of any type, because the estimator knows the classes.

    With metadata routing, ``set_score_request(sample_weight=True, y_soft=True)`` makes a scorer
    take weights and soft labels: (n, k) in the order of `classes_`, or (n,) of the positive class.

    Parameters
    ----------
    measure : str
        A name of `catalogue()`.
    response_method : {"predict_proba", "decision_function"} or tuple, default "predict_proba"
        The method that gives predictions; from a tuple, the first that the estimator has. Scores of
        `decision_function` are read as logits, which `from_logits` must confirm.
    from_logits : bool, default False
        Whether scores of `decision_function` are logits.
    pos_label : label, optional
        The class that is measured against the rest. Without it, two classes are measured by the
        probability of the second, and more all together.
    classes : sequence, optional
        All classes, if a training fold may lack some: every fold is measured on these, in this
        order, and a class that the estimator has not seen has the probability 0. By default the
        classes are `classes_` of the estimator, and other labels are an error.
    **options
        Options of the measure's function: ``scorer("ece", bins=10)``.

    Returns
    -------
    MeasureScorer
        Called as ``scorer(estimator, X, y)``.

    Raises
    ------
    InputError
        If the measure does not exist, or an option changes it into another one.
    UnknownOption
        If the measure's function does not have an option.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calibrant.integrations.sklearn import scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_val_score(GaussianNB(), X, y, scoring=scorer("brier"), cv=3).round(3).tolist()
    [-0.088, -0.11, -0.05]
    """
    entry = _find_measure(measure)
    function, fixed = _public_call(entry)
    methods = resolve_methods(response_method, from_logits)
    return MeasureScorer(
        entry,
        function,
        {**fixed, **_check_options(entry, function, fixed, options)},
        methods=methods,
        pos_label=pos_label,
        classes=None if classes is None else _all_classes(classes),
    )


def _all_classes(classes: Any) -> list[Any]:
    """Check the names of all classes, each named once, and return them as a list."""
    return checked_class_names(classes, len(classes) if hasattr(classes, "__len__") else 0, True)


class _UncheckedMethod(BaseEstimator):  # type: ignore[misc]
    """A wrapper with one method of an estimator, which scikit-learn takes for no classifier.

    For a classifier with two classes, scikit-learn would return one column without a check.
    """

    def __init__(self, method: str, call: Callable[..., Any]) -> None:
        setattr(self, method, call)


def _metadata_signature(
    y_true: Any, y_proba: Any, *, sample_weight: Any = None, y_soft: Any = None
) -> None:
    """Declare by its signature which metadata a scorer takes; scikit-learn never calls it."""


class MeasureScorer(_BaseScorer):  # type: ignore[misc]
    """A measure that scores a fitted classifier: ``scorer(estimator, X, y)``.

    Use `scorer` to make one.

    Parameters
    ----------
    measure : Measure
        An entry of the catalogue.
    function : callable
        Its public function.
    options : dict
        Options of the function.
    methods : tuple of str
        The methods that give predictions, in order of preference.
    pos_label : label or None
        The class that is measured against the rest.
    classes : list, optional
        All classes, if an estimator may not have seen some.

    Examples
    --------
    >>> from calibrant.integrations.sklearn import scorer
    >>> scorer("ece", bins=10)
    scorer('ece', bins=10)
    """

    def __init__(
        self,
        measure: Measure,
        function: Callable[..., Any],
        options: dict[str, Any],
        *,
        methods: tuple[str, ...],
        pos_label: Any,
        classes: list[Any] | None = None,
    ) -> None:
        sign = 1 if measure.higher_is_better else -1
        super().__init__(_metadata_signature, sign, options, methods)
        self.name = measure.name
        self._attribute = measure.attribute
        self.function = function
        self.pos_label = pos_label
        self.classes = classes

    def _score(
        self,
        method_caller: Callable[..., Any],
        estimator: Any,
        X: Any,
        y_true: Any,
        *,
        sample_weight: Any = None,
        y_soft: Any = None,
    ) -> float:
        """Score a fitted classifier on rows X, with the sign that makes greater better.

        `method_caller` is scikit-learn's, which caches predictions for other scorers. With
        `y_soft`, soft labels replace `y_true`.
        """
        method = available_method(estimator, self._response_method)
        logits = method == "decision_function"
        known = classes_of(estimator, all_named=self.classes is not None)
        # scikit-learn is asked for the predictions, so that all scorers of a dict share them. It
        # keeps them under the given methods: the name twice is a key that no other scorer uses,
        # whose predictions may be those of another positive class.
        as_it_is = _UncheckedMethod(method, getattr(estimator, method))
        values = method_caller(as_it_is, (method, method), X)
        if self.classes is not None:
            values = add_unseen_classes(values, known, self.classes, logits)
            known = np.array(self.classes)
        elif y_soft is None:
            check_seen(y_true, known)
        problem = problem_of(values, known, y_true, y_soft, self.pos_label, logits)
        find(self.name, "binary" if np.ndim(problem.y_proba) == 1 else "multiclass")
        value = self.function(
            problem.y_true,
            problem.y_proba,
            sample_weight=sample_weight,
            classes=problem.classes,
            from_logits=problem.from_logits,
            **self._kwargs,
        )
        if self._attribute:  # a part of the decomposed Brier score
            value = getattr(value, self._attribute)
        return float(self._sign * value)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._kwargs.items())
        label = "" if self.pos_label is None else f", pos_label={self.pos_label!r}"
        named = "" if self.classes is None else f", classes={self.classes!r}"
        return f"scorer({self.name!r}{label}{named}{options})"


def _find_measure(name: str) -> Measure:
    """The first entry of the catalogue with this name; an error if there is none."""
    for entry in catalogue():
        if entry.name == canonical(name):
            return entry
    raise InputError(f"no measure is called {name!r}: {nearest_measure(name, scorer_names())}")


def _public_call(entry: Measure) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The public function that computes a measure, and the fixed options of that call.

    For ``ece(norm='l2')`` these are the function `ece` and ``{"norm": "l2"}``.
    """
    call = ast.parse(entry.function, mode="eval").body
    if isinstance(call, ast.Name):
        return _public_function(call.id), {}
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    fixed = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    return _public_function(call.func.id), fixed


@cache
def _public_function(name: str) -> Callable[..., Any]:
    """Find a public function by its name in the modules of `calibrant._api.metrics`."""
    for module in pkgutil.iter_modules(metrics.__path__, f"{metrics.__name__}."):
        functions = vars(import_module(module.name))
        if name in functions:
            function: Callable[..., Any] = functions[name]
            return function
    raise AssertionError(f"no public function is called {name!r}")


def _check_options(
    entry: Measure, function: Callable[..., Any], fixed: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Check the options of a scorer, and return them unchanged.

    An option that the function lacks, or that changes the measure, is an error. `fixed` are the
    options that make the function this measure; another value for one of them is an error unless
    the measure has the function's own name.
    """
    known = [name for name in inspect.signature(function).parameters if name not in _SETTLED][2:]
    for name, value in options.items():
        if name in _SETTLED:
            raise UnknownOption(f"scorer({entry.name!r}) does not take {name}=: {_SETTLED[name]}")
        if name not in known:
            raise UnknownOption(
                f"scorer({entry.name!r}) has no option {name!r}: {nearest(name, known)}"
            )
        if name in fixed and entry.name != function.__name__ and value != fixed[name]:
            raise InputError(
                f"the measure {entry.name!r} calls {entry.function}, so {name}={value!r} changes "
                f"the measure: use scorer({function.__name__!r}, {name}={value!r})"
            )
    return options
