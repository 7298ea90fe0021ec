"""evaluate(), compare() and check() of large tensors on an accelerator: rows are summed where they
are, and intervals come from the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from calibrant._api.baseline import paired_note
from calibrant._api.check_sums import SummedBaseline, check_sums
from calibrant._api.compare_sums import SummedComparison, SummedPredictor
from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._api.evaluate_uncertainty import infer_from_sums
from calibrant._api.limits import limits_of, measures_of
from calibrant._api.resampling import Resampling
from calibrant._api.rows import GivenRows, as_source, group_index
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Bins, Cuts, EqualWidth, FixedRule, Rule, both_rules
from calibrant._core.errors import errors_about
from calibrant._data.arrays import is_summed_on_device
from calibrant._data.checks import TWO_COLUMNS
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.cells import Cells
from calibrant._engines.dispatch import engine_of
from calibrant._inference.pooled_rows import PooledRows, PooledSums
from calibrant._measures.catalogue import catalogue, find
from calibrant._summaries.samples import Summary
from calibrant._summaries.stream import StreamSummary
from calibrant.results._check import Check
from calibrant.results._comparison import Comparison
from calibrant.results._evaluation import Evaluation


def read_on_device(
    y_true: Any, predictions: Mapping[str, Any], groups: Any, rows: Mapping[str, Any]
) -> tuple[dict[str, TensorSamples], Any] | None:
    """The samples of each predictor on its device, by name, and the number of each row's cluster
    there (None without clusters). `rows` are further options of rows.

    None where rows come to the host: small tensors and those on it, votes, columns of a frame,
    labels of each predictor's own, and devices without float64.
    """
    if rows.get("data") is not None or isinstance(y_true, Mapping):
        return None
    if not all(map(is_summed_on_device, predictions.values())):
        return None
    samples: dict[str, TensorSamples] = {}
    for name, y_proba in predictions.items():
        with errors_about(name) if len(predictions) > 1 else nullcontext():
            each = as_source(y_true, y_proba, **rows)
        if not isinstance(each, TensorSamples) or each.votes is not None:
            return None
        samples[name] = each
    first = next(iter(samples.values()))
    alike = {(each.n, each.n_columns, each.place, each.n_missing) for each in samples.values()}
    if len(alike) > 1 or (len(samples) > 1 and first.n_missing):
        return None
    return samples, None if groups is None else clusters_on_device(groups, first)


def clusters_on_device(groups: Any, samples: TensorSamples) -> Any:
    """The number of each row's cluster as a tensor beside the samples."""
    import torch

    here = isinstance(groups, torch.Tensor) and not groups.is_floating_point()
    if here and tuple(groups.shape) == (samples.n,) and samples.kept is None:
        index = torch.unique(groups.to(samples.place), return_inverse=True)[1]
        if bool(index.max() > 0):
            return index
    # Names that are no whole numbers, or that are wrong, are numbered, or refused, on the host.
    named = groups.cpu() if isinstance(groups, torch.Tensor) else groups
    return torch.from_numpy(group_index(named, samples, None)).to(samples.place)


def sums_on_device(
    samples: TensorSamples,
    rules: tuple[Rule, Rule],
    clusters: Any = None,
    holds: frozenset[str] = frozenset({"cells"}),
) -> PooledSums:
    """The sums of tensors for intervals. Soft labels and `clusters`, the number of each row's
    cluster, are pooled in cells on the device. `holds` names what else is summed.
    """
    cells = Cells(rules[0] if isinstance(rules[0], FixedRule) else EqualWidth(1))
    sums = engine_of(samples).stream_sums(samples, cells, holds)
    summary = StreamSummary(cells, sums.arrays, samples.n_columns, sums.findings)
    if clusters is None and not sums.findings.soft:
        return PooledSums(summary, rules)
    from calibrant._engines.tensors.pooled import pooled_columns

    columns = pooled_columns(samples, summary.scalar, cells, clusters)
    return PooledSums(summary, rules, PooledRows.from_columns(columns, columns.clusters))


@dataclass(eq=False)
class TensorPredictor(SummedPredictor):
    """One predictor in tensors: its samples, their statistics, and what intervals are computed
    from.
    """

    samples: TensorSamples
    summary: Summary

    @classmethod
    def of(cls, samples: TensorSamples, rules: tuple[Rule, Rule], clusters: Any) -> TensorPredictor:
        """One predictor, summed on its device."""
        sums = sums_on_device(samples, rules, clusters)
        return cls(samples, Summary(samples, *rules), sums, samples.n, samples.n_missing)

    @cached_property
    def table(self) -> tuple[BinTable, Cuts]:
        """The scalar problem in the ordinary bins, and the cuts between them."""
        return self.summary.table_with_cuts(self.summary.scalar, self.sums.rules[0])

    @cached_property
    def cuts(self) -> tuple[Cuts, Cuts]:
        """The cuts between the ordinary bins and between the bins of truthful measures."""
        of_truthful = self.summary.table_with_cuts(self.summary.scalar, self.sums.rules[1])
        return self.table[1], of_truthful[1]

    def joint_sums(
        self, other: TensorPredictor, rules: tuple[Rule, Rule], clusters: Any
    ) -> tuple[PooledSums, PooledSums]:
        """The sums of this predictor and of another on the same rows, pooled where both have the
        same cells.
        """
        from calibrant._engines.tensors.pooled import joint_columns

        pair = (self.samples, other.samples)
        columns = joint_columns(*pair, self.summary.scalar, (self.cuts, other.cuts), clusters)
        ours, theirs = (PooledRows.from_columns(each, each.clusters) for each in columns)
        return replace(self.sums, pooled=ours), replace(other.sums, pooled=theirs)


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
