"""report(): everything about some predictions, as data and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calibrant._api.conventions import conventions_of
from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._api.metrics.uncertainty import group_index
from calibrant._api.report.bins import NOT_OVER_CLASSES, bin_views, over_classes, sensitivity
from calibrant._api.report.recalibration import before_after
from calibrant._api.report.text import answer, grouped, headlines, sentences
from calibrant._core.binning import Bins, EqualWidth, Quantile, Rule, both_rules
from calibrant._core.validation import N_RESAMPLES, public
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._measures.catalogue import HEADLINE
from calibrant._summaries.samples import resolve_notion
from calibrant.results._conventions import Conventions
from calibrant.results._glossary import entry
from calibrant.results._pages.provenance import checked_name, checked_source, versions
from calibrant.results._report import BeforeAfter, Report


@public
def report(
    y_true: Any,
    y_proba: Any,
    *,
    name: str | None = None,
    measures: Iterable[str] | None = None,
    bins: Bins = 15,
    by: Any = None,
    groups: Any = None,
    votes: Any = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    tolerance: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    source: Mapping[str, Any] | str | None = None,
) -> Report:
    """Everything worth knowing about some predictions, as data and as a page.

    The page answers in words, shows every measure with its interval and noise floor, and has an
    interactive reliability diagram, the classes, the slices (`by`), what recalibration would do,
    what other tools would say, and the recipe. ``report(...).save("page.html")`` writes it as one
    file that needs no network. Options are those of `evaluate` (the answer goes by ECE, which
    `measures` need not name); `name` is the page's title, `source` tells where the rows come from:
    a text, or names with values (file, columns, command).

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.report([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50, name="a toy")
    >>> found.answer
    'No: they are miscalibrated.'
    >>> found.evaluation["ece"] == cal.ece([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50)
    True
    """
    title, origin = checked_name(name, "Predictions"), checked_source(source)
    samples = to_samples(y_true, y_proba, sample_weight, from_logits, classes, data, missing)
    index = group_index(groups, samples, data)
    evaluation = evaluate_samples(
        samples,
        Options(
            bins=bins, measures=_with_ece(measures), intervals="all", tolerance=tolerance,
            level=level, groups=index, votes=votes, seed=seed, by=by, data=data,
        ),
    )  # fmt: skip
    shape = samples.shape
    fixed, quantile = both_rules(bins)
    views = bin_views(samples, resolve_notion(samples, None), _count(fixed), quantile, index)
    change = before_after(
        samples, fixed, quantile, groups=index, level=float(level), seed=int(seed)
    )
    tools = _tools(samples, fixed)
    left_out = None if over_classes(samples) or not samples.multiclass else NOT_OVER_CLASSES
    absent = {"sensitivity": left_out, "before_after": change, "conventions": tools}
    options = {
        "bins": repr(bins), "tolerance": float(tolerance), "level": float(level), "seed": int(seed),
        "from_logits": bool(from_logits), "missing": missing, "n_resamples": N_RESAMPLES,
        "weighted": sample_weight is not None, "grouped": groups is not None,
        "votes": votes is not None, "sliced": by is not None, "classes": classes is not None,
    }  # fmt: skip
    return Report(
        title,
        answer(evaluation.verdict),
        sentences(evaluation),
        evaluation,
        headlines(evaluation, shape),
        grouped(evaluation, shape),
        views,
        sensitivity(samples, views[0]),
        change if isinstance(change, BeforeAfter) else None,
        tools if isinstance(tools, Conventions) else None,
        tuple(entry(e.name, shape) for e in evaluation.estimates),
        {section: why for section, why in absent.items() if isinstance(why, str)},
        {"options": options, "source": origin, "versions": versions()},
    )


def _with_ece(measures: Iterable[str] | None) -> list[str] | None:
    """The measures asked for, and the one that the answer and the diagram go by."""
    if measures is None or isinstance(measures, str):
        return measures  # type: ignore[return-value] # a text is an error of choose()
    return list(dict.fromkeys([HEADLINE, *measures]))


def _count(rule: Rule) -> int | None:
    """The number of bins, where the page's own rules have such bins."""
    if isinstance(rule, EqualWidth) and rule == EqualWidth(rule.m):
        return rule.m
    return rule.m if isinstance(rule, Quantile) and rule == Quantile(rule.m) else None


def _tools(samples: Samples, rule: Rule) -> Conventions | str:
    if samples.weights is not None:
        return "The rows have weights, which most other tools do not take."
    return conventions_of(samples, EqualWidth(_count(rule) or 15), resolve_notion(samples, None))
