"""compare() and check() of large tensors on an accelerator: rows are summed where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from calibrant._api.baseline import paired_note
from calibrant._api.check_sums import SummedBaseline, check_sums
from calibrant._api.compare_sums import SummedComparison
from calibrant._api.limits import limits_of, measures_of
from calibrant._api.resampling import Resampling
from calibrant._api.rows import GivenRows
from calibrant._api.tensor_predictor import TensorPredictor, read_on_device
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import errors_about
from calibrant._data.checks import TWO_COLUMNS
from calibrant._measures.catalogue import find
from calibrant.results._check import Check
from calibrant.results._comparison import Comparison


def compare_on_device(
    y_true: Any,
    y_proba: Mapping[str, Any],
    groups: Any,
    rows: Mapping[str, Any],
    measures: Iterable[str] | None,
    bins: Bins,
    **draws: Any,
) -> Comparison | None:
    """Compare predictors in tensors; None where rows must come to the host. `draws` are the level,
    the number of draws and the seed, `rows` further options of rows.
    """
    here = read_on_device(y_true, y_proba, groups, rows)
    if here is None:
        return None
    samples, clusters = here
    first = next(iter(samples.values()))
    rules = both_rules(bins, first.n)
    predictors = {}
    for name, each in samples.items():
        with errors_about(name):
            predictors[str(name)] = TensorPredictor.of(each, rules, clusters)
    if measures is not None:
        measures = tuple(measures)
        chosen = [find(name, first.shape) for name in measures]
        if any(each.sums.why_not(m) for each in predictors.values() for m in chosen):
            return None
    comparison = SummedComparison(measures=measures, resampling=Resampling(rules=rules, **draws))
    return comparison.compare(predictors, clusters)


def check_on_device(
    given: GivenRows,
    rows: Mapping[str, Any],
    baseline: Any,
    asked: tuple[Mapping[str, float] | None, ...],
    bins: Bins,
    **options: Any,
) -> Check | None:
    """Check limits, `asked` for as at most, at least, increase and decrease, of predictions in a
    tensor; None where rows must come to the host. `rows` are further options of rows, `baseline`
    has predictions for the same rows.
    """
    both = {"y_proba": given.y_proba} | ({} if baseline is None else {"baseline": baseline})
    here = read_on_device(given.y_true, both, given.groups, rows)
    if here is None:
        return None
    samples, clusters = here
    new = samples["y_proba"]
    limits = limits_of(asked[0], asked[1], new.shape, asked[2], asked[3])
    rules = both_rules(bins, new.n)
    predictors = {name: TensorPredictor.of(each, rules, clusters) for name, each in samples.items()}
    measures = measures_of(limits)
    if any(each.sums.why_not(m) for each in predictors.values() for m in measures):
        return None
    model, before = predictors["y_proba"], None
    if baseline is not None:
        old = predictors["baseline"]
        joint = model.joint_sums(old, rules, clusters)
        before = SummedBaseline(old.sums, joint, old.values(measures, asked=True))
    values = model.values(measures, asked=True)
    found = check_sums(model.sums, values, limits, new.n, new.n_missing, baseline=before, **options)
    notes = [] if before is None else [paired_note(new.n, "by order")]
    notes += [TWO_COLUMNS] if new.n_columns == 2 else []
    return replace(found, notes=tuple(notes))
