"""Fits to logits that are far out: the numbers are right, and nothing is said of overflows."""

import warnings

import numpy as np
import pytest

from calibrant._core.errors import CalibrantWarning
from calibrant.scaling import SCALERS


@pytest.mark.parametrize("name", SCALERS)
def test_large_logits_make_no_noise(name):
    rng = np.random.default_rng(0)
    some = rng.random(200) < 0.1
    wild = 1000 * rng.choice([-1, 1], size=200)
    for h in (1000 * rng.normal(size=200), wild, np.where(some, wild, 2 * rng.normal(size=200))):
        rows = np.stack([h, -h, rng.permutation(h)], axis=1)
        for x, y in ((h, h < 0), (h, rng.random(200) < 0.5), (h, h > 0),
                     (rows, rows.argmin(axis=1)), (rows, rng.integers(0, 3, 200))):  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", CalibrantWarning)
                out = SCALERS[name](from_logits=True).fit(y.astype(int), x).transform(x + 1.0)
            assert ((out >= 0) & (out <= 1)).all()
