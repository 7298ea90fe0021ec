"""evaluate(), compare() and check() of large tensors on an accelerator: rows are summed where they
are, and intervals come from the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from calibrant._api.baseline import paired_note
from calibrant._api.check_sums import SummedBaseline, check_sums
from calibrant._api.compare_sums import SummedComparison
from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._api.infer_from_sums import infer_from_sums
from calibrant._api.limits import limits_of, measures_of
from calibrant._api.resampling import Resampling
from calibrant._api.rows import GivenRows
from calibrant._api.tensor_predictor import TensorPredictor, read_on_device, sums_on_device
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import errors_about
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.tensor_samples import TensorSamples
from calibrant._measures.catalogue import catalogue, find
from calibrant.results._check import Check
from calibrant.results._comparison import Comparison
from calibrant.results._evaluation import Evaluation


def evaluate_on_device(samples: TensorSamples, options: Options) -> Evaluation:
    """The evaluation of tensors with intervals, noise floors and a verdict from their sums. Where
    these do not tell enough of measures that were named, rows are copied to the host.
    ``options.groups`` has the number of each row's cluster, on the device.
    """
    # The clinical summary reads losses too.
    wants_losses = options.clinical and options.measures is None and samples.n_columns == 1
    holds = frozenset({"cells", "losses"} if wants_losses else {"cells"})
    clusters = options.groups
    pooled = sums_on_device(samples, both_rules(options.bins, samples.n), clusters, holds)
    plain = replace(options, intervals="none", clinical=False, groups=None)
    result = evaluate_samples(samples, plain)
    measures = tuple(m for m in catalogue(samples.shape) if m.name in result)
    if options.measures is not None and any(map(pooled.why_not, measures)):
        here = None if clusters is None else clusters.cpu().numpy()
        return evaluate_samples(samples.in_memory(), replace(options, groups=here))
    return infer_from_sums(result, pooled, measures, options)


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
    limits = limits_of(new.shape, *asked)
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
