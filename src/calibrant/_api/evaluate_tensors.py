"""evaluate(uncertainty=True) of tensors on an accelerator: rows are summed where they are, and
intervals come from the sums.
"""

from __future__ import annotations

from dataclasses import replace

from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._api.infer_from_sums import infer_from_sums
from calibrant._api.tensor_predictor import sums_on_device
from calibrant._core.binning import both_rules
from calibrant._data.tensor_samples import TensorSamples
from calibrant._measures.catalogue import catalogue
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
