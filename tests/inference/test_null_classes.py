"""Labels drawn for all classes at once give what whole samples with those labels give."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.binning import both_rules
from calibrant.inference.null import drawn_samples
from calibrant.inference.worth import Worth
from calibrant.inputs.accept import accept
from calibrant.measures.catalogue import find
from calibrant.summary import Summary

NAMES = ("classwise_ece", "ace", "classwise_ce", "tace")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("from_logits", [False, True])
def test_draws_are_those_of_whole_samples(weighted, from_logits):
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.3, 1.0, 2.0, 0.2], 300)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random(300)[:, None]).sum(axis=1)
    w = rng.random(300) if weighted else None
    reports = np.log(p + 1e-9) if from_logits else p
    samples = accept(y, reports, sample_weight=w, from_logits=from_logits)
    fixed, quantile = both_rules(7)
    measures = tuple(find(name, "multiclass") for name in NAMES)
    worth = Worth(samples, fixed, quantile, measures, n_resamples=250)
    whole = drawn_samples(samples, 50, np.random.default_rng((0, 6)))
    slow = np.array([
        [m.compute(Summary(each, fixed, quantile)) for m in measures] for each in whole
    ])  # fmt: skip
    for j, measure in enumerate(measures):
        fast, _ = worth._null_values(measure)
        np.testing.assert_allclose(fast, slow[:, j], rtol=1e-9, atol=1e-15)


def test_a_class_that_no_report_is_about_is_left_out_as_before():
    rng = np.random.default_rng(6)
    p = np.concatenate([rng.dirichlet([1.0, 1.0], 200), np.zeros((200, 1))], axis=1)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random(200)[:, None]).sum(axis=1)
    samples = accept(y, p)
    fixed, quantile = both_rules(5)
    tace = find("tace", "multiclass")
    worth = Worth(samples, fixed, quantile, (tace,), n_resamples=250)
    value = tace.compute(Summary(samples, fixed, quantile))
    floor = worth.noise_floor(tace, value)
    assert floor is not None and floor.p_value > 0.02 and floor.n_draws == 50
