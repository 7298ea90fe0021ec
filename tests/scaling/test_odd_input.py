"""Logits that are far out, and no rows at all: right numbers, no noise, and plain errors."""

import warnings

import numpy as np
import pytest

from calibrant import CalibrantWarning, InputError
from calibrant.scaling import SCALERS


@pytest.mark.parametrize("name", SCALERS)
def test_large_logits_make_no_noise(name):
    rng = np.random.default_rng(0)
    some = rng.random(200) < 0.1
    wild = 1000 * rng.choice([-1, 1], size=200)
    turn = list(SCALERS).index(name)
    for h in (1000 * rng.normal(size=200), wild, np.where(some, wild, 2 * rng.normal(size=200))):
        rows = np.stack([h, -h, rng.permutation(h)], axis=1)
        for x, y in (
            (h, h < 0),
            (h, rng.random(200) < 0.5),
            (h, h > 0),
            (rows, rows.argmin(axis=1)),
            (rows, rng.integers(0, 3, 200)),
        ):
            turn += 1
            if turn % 2:  # every second: the next map has the others
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", CalibrantWarning)
                out = SCALERS[name](from_logits=True).fit(y.astype(int), x).transform(x + 1.0)
            assert ((out >= 0) & (out <= 1)).all()


@pytest.mark.parametrize("empty", [[], np.empty((0, 2))])
def test_no_rows_to_map_is_said_of_the_predictions_alone(empty):
    scaler = SCALERS["PlattScaling"]().fit([0, 1, 1, 0], [0.2, 0.9, 0.3, 0.4])
    for method in (scaler.transform, scaler.share_fitted):
        with pytest.raises(InputError, match=r"^y_proba must have at least one row; got none$"):
            method(empty)
    with pytest.raises(InputError, match=r"^y_true and y_proba must have at least one row"):
        scaler.fit([], empty)
