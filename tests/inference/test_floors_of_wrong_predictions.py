"""A noise floor is that of right predictions, however wrong those at hand are."""

import numpy as np
import pytest

import calibrant as cal
from needs import need

MEASURES = ("ece", "smooth_ece", "lin_ce", "ks_error")


def wrong_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, n)
    return p, (rng.random(n) < p**2).astype(int), np.clip(p**2 + 0.1 * rng.normal(size=n), 0, 1)


def wrong_classes(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 1.0], n)
    sharper = p**0.3 / (p**0.3).sum(axis=1, keepdims=True)
    return p, (sharper.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 2)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n", [2_000, 60_000])
def test_a_cluster_for_each_row_leaves_the_floor(measure, n):
    p, y, _ = wrong_rows(n)
    alone = cal.noise_floor(y, p, measure=measure)
    clusters = cal.noise_floor(y, p, measure=measure, groups=np.arange(n))
    assert clusters.upper == pytest.approx(alone.upper, rel=0.1)


@pytest.mark.parametrize("measure", ["classwise_ece", "classwise_ce", "confidence_ce"])
def test_a_cluster_for_each_row_leaves_the_floor_of_several_classes(measure):
    n = 30_000
    p, y = wrong_classes(n)
    alone = cal.noise_floor(y, p, measure=measure)
    clusters = cal.noise_floor(y, p, measure=measure, groups=np.arange(n))
    assert clusters.upper == pytest.approx(alone.upper, rel=0.1)


@pytest.mark.parametrize(("measure", "power"), [("ece", 0.5), ("smooth_ece", 0.4), ("lin_ce", 1.0)])
def test_the_floor_of_soft_labels_falls_with_the_rows(measure, power):
    few, many = (
        cal.noise_floor(z, p, measure=measure).upper
        for p, _, z in map(wrong_rows, (2_000, 128_000))
    )
    assert many < few * 64**-power * 1.3


def test_the_floor_of_hle_rms_falls_with_the_rows_of_soft_labels_too():
    """A variance taken for z (1 - z) in place of that of soft labels would keep it from falling."""
    for n, most in ((2_000, 0.0125), (50_000, 0.0095)):
        p, _, z = wrong_rows(n)
        assert cal.noise_floor(z, p, measure="hle_rms").upper < most


def test_the_floor_of_clusters_is_that_of_their_sizes_and_not_of_the_error():
    """Fifty clusters of 2,000 independent rows: rows vary as if there were no clusters."""
    n = 100_000
    p, y, _ = wrong_rows(n)
    alone = cal.noise_floor(y, p)
    clusters = cal.noise_floor(y, p, groups=np.arange(n) % 50)
    assert clusters.upper == pytest.approx(alone.upper, rel=0.25)


def test_the_floor_of_a_frame_with_clusters_does_not_grow_with_the_error():
    duckdb, n = need("duckdb"), 60_000
    p, y, _ = wrong_rows(n)
    frame = need("pandas").DataFrame({"y": y, "p": p, "user": np.arange(n)})
    connection = duckdb.connect()
    rows = connection.from_df(frame)
    found = cal.noise_floor("y", "p", data=rows, groups="user")
    assert found.upper == pytest.approx(cal.noise_floor(y, p).upper, rel=0.1)
