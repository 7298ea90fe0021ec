"""One predictor in tensors on an accelerator: sums are taken where its rows are, and intervals,
checks and comparisons come from the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from calibrant._api.rows import as_source, group_index
from calibrant._api.summed_predictor import SummedPredictor
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Cuts, EqualWidth, FixedRule, Rule
from calibrant._core.errors import errors_about
from calibrant._data.arrays import is_summed_on_device
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.cells import Cells
from calibrant._engines.dispatch import engine_of
from calibrant._inference.pooled_rows import PooledRows, PooledSums
from calibrant._summaries.samples import Summary
from calibrant._summaries.stream import StreamSummary


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
