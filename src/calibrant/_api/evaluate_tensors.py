"""evaluate(uncertainty=True) of tensors on an accelerator: rows are summed where they are, and
intervals come from the sums.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._api.infer_from_sums import infer_from_sums
from calibrant._core.binning import EqualWidth, FixedRule, both_rules
from calibrant._data.arrays import stays_on_device
from calibrant._data.tensor_samples import TensorSamples
from calibrant._engines.cells import Cells
from calibrant._engines.dispatch import engine_of
from calibrant._inference.budget import COPIED_ENTRIES
from calibrant._inference.pooled_rows import PooledSums
from calibrant._measures.catalogue import catalogue
from calibrant._summaries.stream import StreamSummary
from calibrant.results._evaluation import Evaluation


def is_summed_on_device(y_proba: Any) -> bool:
    """Whether intervals of predictions are computed from sums: those of large tensors on an
    accelerator, which take longer to copy than to sum.
    """
    if not stays_on_device(y_proba) or y_proba.device.type == "cpu":
        return False
    return int(y_proba.numel()) > COPIED_ENTRIES


def evaluate_on_device(samples: Any, options: Options) -> Evaluation:
    """The evaluation of tensors with intervals, noise floors and a verdict from their sums. Where
    these do not tell enough, for soft labels and named measures of classes, rows are copied to the
    host.
    """
    if not isinstance(samples, TensorSamples):  # the device has no float64
        return evaluate_samples(samples, options)
    rules = both_rules(options.bins, samples.n)
    cells = Cells(rules[0] if isinstance(rules[0], FixedRule) else EqualWidth(1))
    # The clinical summary reads losses too.
    wants_losses = options.clinical and options.measures is None and samples.n_columns == 1
    holds = frozenset({"cells", "losses"} if wants_losses else {"cells"})
    sums = engine_of(samples).stream_sums(samples, cells, holds)
    if sums.findings.soft:
        return evaluate_samples(samples.in_memory(), options)
    result = evaluate_samples(samples, replace(options, intervals="none", clinical=False))
    summary = StreamSummary(cells, sums.arrays, samples.n_columns, sums.findings)
    measures = tuple(m for m in catalogue(samples.shape) if m.name in result)
    pooled = PooledSums(summary, rules)
    if options.measures is not None and any(map(pooled.why_not, measures)):
        return evaluate_samples(samples.in_memory(), options)
    return infer_from_sums(result, pooled, measures, options)
