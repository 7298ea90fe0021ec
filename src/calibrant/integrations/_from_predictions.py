"""Constructors of Display classes in the style of scikit-learn, in one mixin.

A diagram draws a result. `FromPredictions` computes that result first: its constructors take the
options of the function that computes it, and then those of `plot`.
"""

# ruff: noqa: N803 - X is the name that scikit-learn has for features.

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from calibrant._core.validation import public
from calibrant.integrations._responses import Problem, read_problem, resolve_methods

# Options of the functions that an estimator settles.
_SETTLED = {"classes", "data", "from_logits", "from_logprobs", "ids"}
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
    The method that gives predictions; of a tuple the first that the estimator has.
from_logits : bool, default False
    Whether scores of `decision_function` are logits.
pos_label : label, optional
    The class that is measured against the rest. Without it, two classes are measured by the
    probability of the second, and more all together.
"""


class FromPredictions:
    """Constructors of a Display: from labels and predictions, or from a fitted classifier.

    A subclass names in `_function` what computes the result that it draws. Both constructors then
    have all options of that function and of `plot` in their signatures.
    """

    _function: ClassVar[Callable[..., Any]]
    # Defaults other than the function's.
    _defaults: ClassVar[Mapping[str, Any]] = {}
    # Options of the function that `plot` is given too.
    _shared: ClassVar[tuple[str, ...]] = ()
    # Arguments of `from_estimator` that are about the estimator.
    _responses: ClassVar[tuple[str, ...]] = (
        "estimator", "X", "y", "y_soft", "response_method", "from_logits", "pos_label",
    )  # fmt: skip

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_function" in vars(cls):
            setattr(cls, "from_predictions", _constructor(cls, "from_predictions"))  # noqa: B010
            setattr(cls, "from_estimator", _constructor(cls, "from_estimator"))  # noqa: B010

    @classmethod
    def from_predictions(cls, y_true: Any, y_proba: Any, **options: Any) -> Self:
        """Draw the diagram of labels and predictions."""
        computed = {name: options[name] for name in options if name in keywords_of(cls._function)}
        made = {name: options[name] for name in options if name in keywords_of(cls)}
        drawn = {
            name: value
            for name, value in options.items()
            if name in cls._shared or not (name in computed or name in made)
        }
        result = cls._function(y_true, y_proba, **computed)
        display: Any = cls(result, **made)  # type: ignore[call-arg]
        return display.plot(**drawn)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw the diagram of a fitted classifier."""
        problem = problem_of_estimator(estimator, X, y, options)
        classes = cls._classes(problem, estimator)
        if "name" in options and options["name"] is None:
            options["name"] = type(estimator).__name__
        return cls.from_predictions(
            problem.y_true, problem.y_proba, classes=None if classes is None else [*classes],
            from_logits=problem.from_logits, **options,
        )  # fmt: skip

    @classmethod
    def _classes(cls, problem: Problem, estimator: Any) -> Any:
        """The classes that labels are matched with."""
        return problem.classes


def problem_of_estimator(estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Problem:
    """Labels and predictions of an estimator; its response options are taken out of `options`."""
    methods = resolve_methods(options.pop("response_method"), options.pop("from_logits"))
    return read_problem(
        estimator, X, y, y_soft=options.pop("y_soft"), pos_label=options.pop("pos_label", None),
        methods=methods,
    )  # fmt: skip


def keywords_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a function or a class."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}


def _constructor(cls: type[FromPredictions], name: str) -> Any:
    """A constructor with every option in its signature and its docstring."""
    signature = _signature(cls, name)
    general = vars(FromPredictions)[name]
    target = vars(cls).get(f"_{name}", general).__func__

    def relay(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        return target(*bound.args, **bound.kwargs)

    relay.__name__, relay.__qualname__ = name, f"{cls.__name__}.{name}"
    relay.__module__ = cls.__module__
    relay.__doc__ = _docstring(cls, str(general.__doc__), signature)
    setattr(relay, "__signature__", signature)  # noqa: B010
    return classmethod(public(relay))


def _signature(cls: type[FromPredictions], name: str) -> inspect.Signature:
    made, drawn = keywords_of(cls), keywords_of(cls.plot)  # type: ignore[attr-defined]
    computed = {
        option: parameter.replace(default=cls._defaults.get(option, parameter.default))
        for option, parameter in keywords_of(cls._function).items()
    }
    first: tuple[str, ...] = ("y_true", "y_proba")
    if name == "from_estimator":
        first = cls._responses[:3]
        usual = {"response_method": "predict_proba", "from_logits": False}
        asked = {
            option: inspect.Parameter(
                option, inspect.Parameter.KEYWORD_ONLY, default=usual.get(option)
            )
            for option in cls._responses[3:]
        }
        kept = {option: p for option, p in computed.items() if option not in _SETTLED}
        computed = {**asked, **kept}
    parameters = [
        inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in ("cls", *first)
    ]
    keywords = {**drawn, **made, **computed}  # an option of two is as the function has it
    order = dict.fromkeys((*computed, *made, *drawn))
    parameters += [keywords[option] for option in order]
    return inspect.Signature(parameters, return_annotation=cls.__name__)


def _docstring(cls: type[FromPredictions], summary: str, signature: inspect.Signature) -> str:
    """The docstring of a constructor, with what the function and `plot` say of their options."""
    known = {
        **_entries(str(inspect.getdoc(cls.plot))),  # type: ignore[attr-defined]
        **_entries(str(inspect.getdoc(cls))),
        **_entries(str(inspect.getdoc(cls._function))),
    }
    if "X" in signature.parameters:
        known |= _entries(f"Parameters\n----------\n{_RESPONSES}")
    lines = [summary, "", "Parameters", "----------"]
    for name, parameter in list(signature.parameters.items())[1:]:
        entry = known.get(name, f"{name}\n    See `{cls._function.__name__}`.")
        if name in cls._defaults:
            entry = re.sub(r"default \S+", f"default {parameter.default!r}", entry, count=1)
        lines.append(entry)
    lines += ["", "Returns", "-------", cls.__name__, "    The diagram, drawn."]
    return "\n".join(lines)


def _entries(doc: str) -> dict[str, str]:
    """The entries of a docstring's Parameters section, by name."""
    _, _, section = doc.partition("Parameters\n----------\n")
    section = re.split(r"\n\n(?=\S[^\n]*\n-{3,}\n)", section, maxsplit=1)[0]
    entries: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", section.strip("\n")):
        head = block.partition("\n")[0].partition(" :")[0]
        entries |= {name.strip(): block for name in head.split(",")}
    return entries
