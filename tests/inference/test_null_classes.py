"""Errors over all classes: labels drawn for all classes at once give what whole samples give."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant._core.binning import both_rules
from calibrant._data.to_samples import to_samples
from calibrant._inference.null import drawn_samples
from calibrant._inference.uncertainty import Uncertainty
from calibrant._measures.catalogue import find
from calibrant._summaries.samples import Summary

NAMES = ("classwise_ece", "ace", "classwise_ce", "tace", "lin_ce")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("from_logits", [False, True])
def test_draws_are_those_of_whole_samples(weighted, from_logits):
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.3, 1.0, 2.0, 0.2], 300)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random(300)[:, None]).sum(axis=1)
    w = rng.random(300) if weighted else None
    predictions = np.log(p + 1e-9) if from_logits else p
    samples = to_samples(y, predictions, sample_weight=w, from_logits=from_logits)
    fixed, quantile = both_rules(7)
    measures = tuple(find(name, "multiclass") for name in NAMES)
    worth = Uncertainty(samples, fixed, quantile, measures, n_resamples=1000)
    n_slow = 90
    whole = drawn_samples(samples, n_slow, np.random.default_rng((0, 6)))
    slow = np.array(
        [[m.compute(Summary(each, fixed, quantile)) for m in measures] for each in whole]
    )
    for j, measure in enumerate(measures):
        fast, _ = worth.null_values(measure)
        error = slow[:, j].std() * np.sqrt(1 / n_slow + 1 / fast.size)
        assert abs(fast.mean() - slow[:, j].mean()) < 4 * error, measure.name
        assert fast.std() == pytest.approx(slow[:, j].std(), rel=0.25), measure.name


def test_a_class_that_no_prediction_is_about_is_not_in_the_mean():
    rng = np.random.default_rng(6)
    p = np.concatenate([rng.dirichlet([1.0, 1.0], 200), np.zeros((200, 1))], axis=1)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random(200)[:, None]).sum(axis=1)
    samples = to_samples(y, p)
    fixed, quantile = both_rules(5)
    tace = find("tace", "multiclass")
    worth = Uncertainty(samples, fixed, quantile, (tace,), n_resamples=250)
    value = tace.compute(Summary(samples, fixed, quantile))
    floor = worth.noise_floor(tace, value)
    assert floor is not None and floor.p_value > 0.02
    found = worth.interval(tace, value)
    assert found.low <= found.estimate <= found.high
