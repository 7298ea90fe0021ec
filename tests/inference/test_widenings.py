"""Widenings: each acts where it should, says so, and nowhere else."""

import numpy as np
import pytest

import calibrant as cal
from calibrant._inference.uncertainty import FEW_CLUSTERS, WIDENINGS


def sure(n=200, wrong=0):
    """Rows of three classes that are nearly all right."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([60.0, 1.0, 1.0], n)
    y = np.zeros(n, int)
    y[:wrong] = 1
    return y, p


def plain(n=400):
    rng = np.random.default_rng(1)
    u = rng.random(n)
    return (rng.random(n) < u).astype(int), u


def test_plain_rows_have_none():
    y, u = plain()
    for measure in ("ece", "smooth_ece", "lin_ce", "brier", "auroc"):
        assert cal.interval(y, u, measure=measure).widened_by == (), measure


def test_few_misses_of_losses():
    y, p = sure()
    assert "few events" in cal.interval(y, p, measure="log_loss").widened_by
    y, p = sure(wrong=60)
    assert "few events" not in cal.interval(y, p, measure="log_loss").widened_by


def test_misses_that_were_not_seen():
    y, p = sure()
    found = cal.interval(y, p, measure="classwise_ece")
    assert "unseen misses" in found.widened_by
    assert "unseen misses" not in cal.interval(*sure(wrong=60), measure="ece").widened_by


def test_ranks_of_rows_that_were_not_seen():
    u = np.linspace(0.01, 0.99, 40)
    y = (u > 0.5).astype(int)
    found = cal.interval(y, u, measure="auroc")
    assert "unseen kinds" in found.widened_by
    # Of 20 events the largest share of another kind that may well not show: 1 - .025 ** (1 / 20).
    assert found.low == pytest.approx(0.025 ** (1 / 20), rel=1e-9) and found.high == 1.0


def test_rows_that_are_all_alike():
    y, u = np.zeros(50, int), np.zeros(50)
    found = cal.interval(y, u, measure="brier_miscalibration")
    assert found.low == 0.0 < found.high


def test_few_clusters_are_named():
    y, u = plain()
    assert cal.interval(y, u, groups=np.arange(400) % 6).widened_by == (FEW_CLUSTERS,)
    assert cal.interval(y, u, groups=np.arange(400) % 200).widened_by == ()


def test_each_has_a_reason_a_source_and_a_command():
    names = [each.name for each in WIDENINGS]
    assert len(set(names)) == len(names) and FEW_CLUSTERS not in names
    for each in WIDENINGS:
        assert each.reason and each.reference and "benchmarks/coverage.py" in each.command


def test_widenings_are_written():
    y, p = sure()
    found = cal.interval(y, p, measure="classwise_ece")
    assert list(found.to_dict()["widened_by"]) == list(found.widened_by)
    assert '"unseen misses"' in found.to_json()
