"""Centred isotonic calibration against a slow twin and what the package cir-model gives."""

import numpy as np
import pytest
from scaling_problems import BINARY

from calibrant.scaling import CentredIsotonic, IsotonicCalibration

P = [0.05, 0.12, 0.12, 0.2, 0.28, 0.33, 0.41, 0.47, 0.47, 0.55, 0.62, 0.7, 0.78, 0.85, 0.91]
Y = [0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1]
BOUNDED = [0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1]
W = [1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 2, 1, 1, 3, 1]
NEW = [0.01, 0.05, 0.1, 0.12, 0.3, 0.47, 0.5, 0.66, 0.8, 0.91, 0.97]


def twin(p, z, w):
    """Pool the first pair that does not increase until there is none, as the paper has it; flat
    stretches inside too, those at 0 and 1 not.
    """
    levels = sorted({u for u, weight in zip(p, w, strict=True) if weight > 0})
    rows = []
    for level in levels:
        here = [i for i, u in enumerate(p) if u == level]
        mass = sum(w[i] for i in here)
        rows.append([level, sum(w[i] * z[i] for i in here) / mass, mass])

    def violates(a, b):
        return a[1] > b[1] or (a[1] == b[1] and 0 < a[1] < 1)

    while True:
        bad = [i for i in range(len(rows) - 1) if violates(rows[i], rows[i + 1])]
        if not bad:
            return [row[0] for row in rows], [row[1] for row in rows]
        (x, y, v), (s, t, m) = rows[bad[0]], rows[bad[0] + 1]
        both = v + m
        rows[bad[0] : bad[0] + 2] = [[(x * v + s * m) / both, (y * v + t * m) / both, both]]


@pytest.mark.parametrize("seed", range(12))
def test_the_centred_map_is_that_of_a_slow_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    p = rng.random(n).round(int(rng.integers(1, 4)))
    z = (rng.random(n) < p) * 1.0 if seed % 2 else np.clip(p + 0.3 * rng.normal(size=n), 0, 1)
    w = np.ones(n) if seed % 3 else rng.integers(0, 3, n) + np.eye(1, n)[0]
    new = np.concatenate([p, rng.random(30), [0, 1]])
    expected = np.interp(new, *twin(p.tolist(), z.tolist(), w.tolist()))
    with np.errstate(all="raise"):
        scaler = CentredIsotonic().fit(z, p, sample_weight=w)
    np.testing.assert_allclose(scaler._apply(scaler._predictions(new, None)), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "w", "expected"),
    [
        (Y, None, [0.0, 0.0, 0.09615384615384615, 0.13461538461538458, 0.35169491525423724,
                   0.4957627118644067, 0.5138121546961326, 0.6022099447513811, 0.725, 1.0, 1.0]),
        (Y, W, [0.0, 0.0, 0.05617977528089886, 0.0786516853932584, 0.25635103926096997,
                0.3530751708428246, 0.3599088838268793, 0.3963553530751709, 0.7179487179487181,
                1.0, 1.0]),
        (BOUNDED, None, [0.0, 0.0, 0.0, 0.0, 0.238095238095238, 0.5, 0.532608695652174,
                         0.7446808510638299, 1.0, 1.0, 1.0]),
    ],
)  # fmt: skip
def test_the_centred_map_is_what_cir_model_gives(y, w, expected):
    """Numbers of CenteredIsotonicRegression(out_of_bounds="clip") of cir-model 0.2.0."""
    scaler = CentredIsotonic().fit(y, P, sample_weight=w)
    np.testing.assert_allclose(scaler._apply(scaler._predictions(NEW, None)), expected, atol=1e-14)


def fitted_curve(y, p, w=None):
    scaler = CentredIsotonic().fit(y, p, sample_weight=w)
    return scaler._apply(scaler._predictions(np.linspace(0, 1, 201), None))


def rows_of_equal_blocks(seed):
    """Few values, so that blocks of equal means stand beside each other now and then."""
    rng = np.random.default_rng(seed)
    hard = seed % 2
    p = rng.random(30).round(1)
    return (rng.integers(0, 2, 30) if hard else rng.integers(0, 6, 30) / 5), p, rng.permutation(30)


@pytest.mark.parametrize("unit", [0.1, 0.3, 7.0])
def test_the_unit_of_weights_does_not_matter(unit):
    """Blocks of equal means are one block, although 0.1 + 0.1 + 0.1 is not 0.3."""
    for seed in range(150):
        y, p, _ = rows_of_equal_blocks(seed)
        plain, weighted = fitted_curve(y, p), fitted_curve(y, p, np.full(30, unit))
        np.testing.assert_allclose(weighted, plain, atol=1e-9, err_msg=f"seed {seed}")


def test_the_order_of_rows_does_not_matter():
    """Soft labels are summed in the order of rows, and sums differ in the last bit."""
    for seed in range(150):
        y, p, order = rows_of_equal_blocks(seed)
        again = fitted_curve(y[order], p[order])
        np.testing.assert_allclose(again, fitted_curve(y, p), atol=1e-9, err_msg=f"seed {seed}")


def test_small_means_that_differ_stay_apart():
    """Equal is meant of digits, not of distance: soft labels of rare events keep their points."""
    p = np.array([1e-9, 2e-9, 4e-9, 0.5])
    assert CentredIsotonic().fit(p, p).thresholds_[0].tolist() == p.tolist()


def test_the_centred_map_increases_strictly_where_isotonic_steps():
    p = np.linspace(0.001, 0.999, 400)
    rng = np.random.default_rng(2)
    soft = np.clip(p**2 + 0.05 * rng.normal(size=400), 0.01, 0.99)
    centred, plain = (kind().fit(soft, p) for kind in (CentredIsotonic, IsotonicCalibration))
    inside = np.linspace(*centred.thresholds_[0][[0, -1]], 1001)
    assert (np.diff(centred.transform(inside)) > 0).all()
    assert (np.diff(plain.transform(inside)) == 0).mean() > 0.2


def test_the_centred_map_keeps_the_order_of_rows_better_and_errs_less():
    """What the map is for: a smaller error than isotonic calibration on few rows."""
    errors = {CentredIsotonic: [], IsotonicCalibration: []}
    new = np.linspace(0.02, 0.98, 97)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.random(80)
        y = rng.random(80) < p
        for kind, found in errors.items():
            found.append(np.mean((kind().fit(y, p).transform(new) - new) ** 2))
    assert np.mean(errors[CentredIsotonic]) < 0.8 * np.mean(errors[IsotonicCalibration])


def test_one_row_one_level_and_one_class():
    assert CentredIsotonic().fit([1], [0.3]).transform([0.0, 0.9]).tolist() == [1.0, 1.0]
    assert CentredIsotonic().fit([1, 0], [0.3, 0.3]).transform([0.0, 0.9]).tolist() == [0.5, 0.5]
    turned = CentredIsotonic().fit(1 - BINARY.hard, BINARY.proba)  # the wrong way round
    assert (np.diff(turned.transform(np.linspace(0, 1, 101))) >= 0).all()
