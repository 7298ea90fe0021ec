"""Bin tables of tensors: fixed bins block by block, bins of equal mass from a sorted column."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from calibrant._core.bin_tables import FIELDS, BinTable, ColumnTable
from calibrant._core.binning import Cuts, FixedRule, LevelSets, Quantile, Rule, fixed_cuts
from calibrant._core.errors import NO_WEIGHT, InputError
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Array
from calibrant._data.samples import Notion
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.arrays import engine as arrays
from calibrant._engines.arrays.counting import stack, without_dropped
from calibrant._engines.protocol import Findings
from calibrant._engines.tensors.blocks import Scalars, edges_of, scalar_blocks
from calibrant._engines.tensors.choice import has_kernels
from calibrant._engines.tensors.columns import class_columns, class_groups, column, rows_above
from calibrant._engines.tensors.quantiles import (
    level_order,
    quantile_edges,
    rank_order,
    ranked_bins,
)
from calibrant._engines.tensors.rows import plain_row_pass, row_findings, row_pass
from calibrant._engines.tensors.sums import BinSums, sums_of_columns
from calibrant._engines.tensors.tally import Tally, resolved


def scalar_sums(
    samples: TensorSamples, notion: Notion, cuts: Cuts, *, squares: bool = True
) -> tuple[Array, Findings]:
    """The sums (bins, fields) of the binary or the confidence problem in the bins between the cuts,
    and the findings.
    """
    if samples.multiclass:
        total = row_pass(samples, None, cuts, False)
        assert total.confidence is not None
        return total.confidence, total.findings
    if has_kernels(samples.predictions):
        from calibrant._engines.tensors import order, scalars

        fast = scalars.bin_sums(samples, notion, cuts, squares=squares)
        if fast is not None:
            return fast
        keys = order.order_of(samples, notion) if cuts.m > scalars.FEW_BINS else None
        if keys is not None:
            return keys.fixed_sums(cuts), keys.findings
    tally = Tally(samples.place)
    sums = BinSums(cuts.m, samples.place, weighted=samples.weighted, squares=squares)
    edges = edges_of(cuts, samples.place)
    for block in scalar_blocks(samples, notion, tally):
        sums.add(torch.bucketize(block.u, edges, right=True), block)
    findings, (out,) = resolved(tally, sums.result())
    return out, findings


def bin_table(
    samples: TensorSamples, notion: Notion, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Cuts, Findings]:
    """The bin sums of the binary or the confidence problem by any rule of bins, the cuts between
    the bins, and the findings.
    """
    if isinstance(rule, FixedRule):
        cuts = fixed_cuts(rule, samples.precision)
        sums, findings = scalar_sums(samples, notion, cuts, squares=squares)
        return without_dropped(sums[None], rule, squares), cuts, findings
    if samples.n == 0:
        raise InputError(NO_WEIGHT)
    if isinstance(rule, Cells):  # their names are on the host
        return arrays.bin_table(samples.in_memory(), notion, rule)
    if has_kernels(samples.predictions):
        fast = _table_from_keys(samples, notion, rule, squares)
        if fast is not None:
            return fast
    tally = Tally(samples.place)
    whole = column(samples, notion, tally)
    if isinstance(rule, LevelSets):
        return _level_sets(whole, tally)
    if rule.ties == "rank":
        return _rank_table(whole, rule.m, tally)
    edges = quantile_edges(whole.u[None], whole.w, rule.m)[0]
    sums_here = _sums_by_index(torch.bucketize(whole.u, edges, right=True), rule.m, whole)
    findings, (sums, inner) = resolved(tally, sums_here, edges)
    return BinTable(_check_weight(sums)[None]), Cuts(inner), findings


def _table_from_keys(
    samples: TensorSamples, notion: Notion, rule: Quantile | LevelSets, squares: bool
) -> tuple[BinTable, Cuts, Findings] | None:
    """The table, its cuts and the findings, from sorted keys (predictions with their targets) on
    the device; None where kernels cannot make them.
    """
    from calibrant._engines.tensors.column_quantiles import quantile_table
    from calibrant._engines.tensors.order import DeviceLevels, LevelCuts, order_of
    from calibrant._engines.tensors.scalars import column_of, shared_results

    if isinstance(rule, Quantile) and rule.ties == "rank":
        return None
    if isinstance(rule, Quantile) and not squares and notion not in shared_results(samples).orders:
        whole = column_of(samples, notion)
        found = None if whole is None else quantile_table(whole, rule.m)
        if found is not None:
            return found
    keys = order_of(samples, notion)
    if keys is None:
        return None
    if isinstance(rule, Quantile):
        return *keys.quantile_table(rule.m), keys.findings

    return DeviceLevels(keys), LevelCuts(keys), keys.findings


def _rank_table(whole: Scalars, m: int, tally: Tally) -> tuple[BinTable, Cuts, Findings]:
    """The table of m bins with equal shares of the ranks, where equal predictions may be in
    different bins; the cuts between them, for display only; and the findings.
    """
    ordered, index = rank_order(whole, m)
    firsts = torch.searchsorted(index, torch.arange(1, m, device=index.device))
    shown = torch.cat([ordered.u, ordered.u.new_ones(1)])[firsts]  # ties may straddle a cut
    findings, (sums, inner) = resolved(tally, _sums_by_index(index, m, ordered), shown)
    return BinTable(_check_weight(sums)[None]), Cuts(inner), findings


def _level_sets(whole: Scalars, tally: Tally) -> tuple[BinTable, Cuts, Findings]:
    """The table with a bin for each distinct prediction, the cuts between them, and the
    findings.
    """
    ordered, index, values = level_order(whole)
    sums_here = _sums_by_index(index, values.numel(), ordered)
    findings, (sums, levels) = resolved(tally, sums_here, values)
    if whole.w is not None:  # a level that only rows of weight 0 hold is not a level
        nonempty = sums[:, 0] > 0
        sums, levels = sums[nonempty], levels[nonempty]
    return BinTable(sums[None]), Cuts(levels[1:]), findings


def _sums_by_index(index: Tensor, m: int, whole: Scalars) -> Tensor:
    """The sums (m bins, fields) of a scalar problem, given the bin of each row."""
    sums = BinSums(m, index.device, weighted=whole.w is not None)
    sums.add(index, whole)
    return sums.result()


def _check_weight(sums: Array) -> Array:
    """Return the sums, or raise InputError if their total weight is 0: bins of equal mass then do
    not exist.
    """
    if not sums[..., 1].sum() > 0:
        raise InputError(NO_WEIGHT)
    return sums


def classwise_table(
    samples: TensorSamples, rule: Rule, *, squares: bool = True
) -> tuple[BinTable, Findings]:
    """One table with the bin sums of every class against the rest, each class with its own bins,
    and the findings.
    """
    if isinstance(rule, Cells):
        return arrays.classwise_table(samples.in_memory(), rule)
    if isinstance(rule, FixedRule):
        read = plain_row_pass if squares else row_pass  # fused kernels leave squares out
        total = read(samples, fixed_cuts(rule, samples.precision), None, False)
        assert total.classwise is not None
        return without_dropped(total.classwise, rule, squares), total.findings
    if isinstance(rule, Quantile) and rule.ties == "together" and has_kernels(samples.predictions):
        from calibrant._engines.tensors.fused import class_quantiles, fits_class_quantiles

        if fits_class_quantiles(samples, rule.m):
            sums, findings = class_quantiles(samples, rule.m, squares=squares)
            return BinTable(sums, has_squares=squares), findings
    # Rows are checked as rows before they are taken apart.
    findings = row_findings(samples)
    if isinstance(rule, Quantile) and samples.n:
        if rule.ties == "rank":
            return _class_ranks(samples, rule.m, squares=squares), findings
        return BinTable(_check_weight(_class_quantiles(samples, rule.m))), findings
    return stack([bin_table(c, "binary", rule)[0] for c in class_columns(samples)]), findings


def class_table_above(samples: TensorSamples, rule: Quantile, threshold: float) -> BinTable | None:
    """The table of the predictions above the threshold in bins of equal mass, with the classes that
    have any; None if no class has.
    """
    if rule.ties == "together" and has_kernels(samples.predictions):
        from calibrant._engines.tensors.fused import class_quantiles, fits_class_quantiles

        if fits_class_quantiles(samples, rule.m):
            # The threshold in the precision of the predictions, like an edge.
            own = float(np.asarray(threshold, samples.precision))
            sums, _ = class_quantiles(samples, rule.m, own)
            some = sums[:, :, 0].any(axis=1)
            return BinTable(sums[some]) if some.any() else None
    parts = (rows_above(column, threshold) for column in class_columns(samples))
    tables = [bin_table(part, "binary", rule)[0] for part in parts if part is not None]
    return stack(tables) if tables else None


def _class_ranks(samples: TensorSamples, m: int, *, squares: bool) -> BinTable:
    """The table of every class in m bins with equal shares of the ranks. As many classes as fit are
    sorted at a time.

    Without weights every class has as many rows in a bin; without `squares` the sums of predictions
    and of targets then leave the device, and nothing else.
    """
    w = samples.weight_block(0, samples.n)
    lean = w is None and not samples.soft_rows and not squares
    parts = []
    for first, predictions in class_groups(samples):
        g = len(predictions)
        u, order = predictions.double().clamp(0.0, 1.0).sort(dim=1, stable=True)
        z = _targets_of_classes(samples, first, g).gather(1, order)
        weights = None if w is None else w[order]
        index = ranked_bins(weights, samples.n, m, u.device)
        if lean:
            parts.append(sums_of_columns(torch.stack([u, z]), index, m))
            continue
        index = index + m * torch.arange(g, device=u.device)[:, None]
        block = Scalars(u.flatten(), z.flatten(), None if weights is None else weights.flatten())
        parts.append(_sums_by_index(index.flatten(), g * m, block).reshape(g, m, -1))
    if not lean:
        return BinTable(_check_weight(torch.cat(parts).cpu().numpy()))
    sum_u, sum_z = torch.cat(parts, dim=1).cpu().numpy()
    n = np.broadcast_to(np.diff(np.arange(m + 1) * samples.n // m).astype(np.float64), sum_u.shape)
    columns = {"n": n, "sum_w": n, "sum_w2": n, "sum_wu": sum_u}
    return ColumnTable(columns | dict.fromkeys(("sum_wz", "sum_wz2", "sum_w2z"), sum_z))


def _targets_of_classes(samples: TensorSamples, first: int, g: int) -> Tensor:
    """The targets of g classes from the class `first` on, (g, n)."""
    if samples.soft_rows:
        return samples.targets[:, first : first + g].T.double().clamp(0.0, 1.0)
    classes = torch.arange(first, first + g, device=samples.place)[:, None]
    return (samples.targets == classes).double()


def _class_quantiles(samples: TensorSamples, m: int) -> Array:
    """The sums of every class in its own m bins of equal mass, (classes, m, fields). As many
    classes as fit are sorted at a time.
    """
    w = samples.weight_block(0, samples.n)
    parts = []
    for first, predictions in class_groups(samples):
        g = len(predictions)
        u = predictions.double().clamp(0.0, 1.0)
        index = torch.searchsorted(quantile_edges(u, w, m), u, right=True)
        index += m * torch.arange(g, device=u.device)[:, None]
        z = _targets_of_classes(samples, first, g)
        weights = None if w is None else w.expand_as(u).reshape(-1)
        block = Scalars(u.reshape(-1), z.reshape(-1), weights)
        parts.append(_sums_by_index(index.reshape(-1), g * m, block))
    packed = torch.cat(parts).cpu().numpy()
    return packed.reshape(samples.n_classes, m, len(FIELDS))
