"""An evaluation of all measures, with intervals for those that do not take long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from calibrant._api.evaluate import evaluate
from calibrant._inference.budget import quick_measures
from calibrant._measures.catalogue import catalogue
from calibrant.results._evaluation import Estimate, Evaluation


def evaluate_quickly(
    y_true: Any,
    y_proba: Any,
    *,
    measures: Sequence[str] | None = None,
    every: bool = False,
    bins: Any = 15,
    by: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[str] | None = None,
    tolerance: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """As `evaluate(uncertainty=True)`, but in seconds: measures that take long are judged only if
    they are named, or with `every`.
    """

    def evaluated(chosen: Sequence[str] | None, *, uncertainty: bool, by: Any) -> Evaluation:
        return evaluate(
            y_true, y_proba, measures=chosen, bins=bins, uncertainty=uncertainty, by=by,
            groups=groups if uncertainty else None, sample_weight=sample_weight,
            from_logits=from_logits, classes=classes, tolerance=tolerance, level=level, seed=seed,
        )  # fmt: skip

    if measures is not None or every:
        return evaluated(measures, uncertainty=True, by=by)
    plain = evaluated(None, uncertainty=False, by=None)
    judged = evaluated(_quick(y_proba, groups), uncertainty=True, by=by)
    return _put_together(plain, judged)


def _quick(y_proba: Any, groups: Any) -> tuple[str, ...]:
    multiclass = y_proba.ndim == 2
    known = catalogue("multiclass" if multiclass else "binary")
    in_rows = multiclass or groups is not None
    return tuple(m.name for m in quick_measures(known, y_proba.size if in_rows else 0))


def _put_together(plain: Evaluation, judged: Evaluation) -> Evaluation:
    """All values, with the intervals that there are."""

    def best(estimate: Estimate) -> Estimate:
        return judged.estimate(estimate.name) if estimate.name in judged else estimate

    without = [e.name for e in plain.estimates if e.name not in judged]
    note = (
        f"no intervals for {', '.join(without)}: they take longer; --measures asks for some, "
        "--all-intervals for all"
    )
    more = tuple(line for line in judged.notes if line not in plain.notes)
    return replace(
        plain,
        estimates=tuple(map(best, plain.estimates)),
        notes=(*plain.notes, *more, note),
        verdict=judged.verdict,
        slices=judged.slices,
        reliability=judged.reliability,
        recipe={**judged.recipe, **plain.recipe},
    )
