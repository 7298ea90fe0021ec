"""An evaluation of everything reads rows once for what it can share: its numbers are those of the
measures asked for one by one, each of which reads for itself.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest

import calibrant as cal
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays import passes
from calibrant._measures.catalogue import find
from calibrant._summaries.samples import Summary
from pairs import pairs

RULES: list[Any] = [
    15,
    cal.Quantile(8),
    cal.Quantile(8, ties="rank"),
    cal.LevelSets(),
    [0, 0.2, 0.5, 1],
    cal.EqualWidth(7, drop_one=True),
]


# Three at a time: what is read together depends on the labels and weights, and on the rule.
@pytest.mark.parametrize(
    ("bins", "soft", "weighted", "from_logits"),
    pairs(product(RULES, (False, True), (False, True), (False, True)), strength=3),
    ids=str,
)
def test_everything_at_once_is_each_by_itself(
    bins: Any, soft: bool, weighted: bool, from_logits: bool
) -> None:
    rng = np.random.default_rng(0)
    h = 2 * rng.standard_normal((300, 5))
    p = (np.exp(h) / np.exp(h).sum(axis=1, keepdims=True)).astype(np.float32)
    y = rng.dirichlet(np.ones(5), 300) if soft else rng.integers(0, 5, 300)
    given = h.astype(np.float32) if from_logits else p
    options = {
        "bins": bins,
        "from_logits": from_logits,
        "sample_weight": rng.random(300) if weighted else None,
    }
    together = cal.evaluate(y, given, **options)
    names = [estimate.name for estimate in together.estimates]
    assert {"ks_error", "smooth_ece", "ls_ece", "tace", "classwise_ce"} <= set(names)
    alone = cal.evaluate(y, given, measures=names, **options)
    for name in names:
        assert together[name] == pytest.approx(alone[name], rel=1e-12, abs=1e-15), name


def test_rows_are_checked_twice_for_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for fixed bins and losses, once for the top label; columns are taken apart unchecked."""
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 4, 200), rng.dirichlet(np.ones(4), 200)
    reads = []
    engine = passes.kernels()

    def counted(*arguments: Any) -> None:
        reads.append(1)
        add_rows(*arguments)

    add_rows = engine.add_rows
    monkeypatch.setattr(engine, "add_rows", counted)
    summary = Summary(to_samples(y, p), together=True)
    for measure in ("ece", "classwise_ece", "log_loss", "ks_error", "ls_ece", "smooth_ece",
                    "confidence_ce", "classwise_ce", "ace", "tace"):  # fmt: skip
        find(measure, "multiclass").compute(summary)
    assert len(reads) == 2
