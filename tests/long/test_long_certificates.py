"""10^5 samples of populations that try to break a certificate: it fails no more than it may."""

import numpy as np
import pytest

from calibrant._inference.certificates import Units, upper_bound
from certificate_worlds import errors, worlds

ROWS, SAMPLES, LEVEL = (30, 300, 3000), 3100, 0.95
_FAILED: dict[str, float] = {}


@pytest.mark.parametrize("name", worlds(100))
def test_no_world_breaks_the_bound(name):
    for n in ROWS:  # 11 worlds, 3 numbers of rows, 3,100 samples each
        world = worlds(n)[name]
        residual, square = world.draw(n, SAMPLES, np.random.default_rng(n))
        found, truths = errors(residual), errors(world.residual)
        for measure, truth in truths.items():
            # Samples that agree to 12 digits have one bound.
            pairs = np.round(np.stack([found[measure], np.minimum(square, 1.0)], axis=1), 12)
            own, of = np.unique(pairs, axis=0, return_inverse=True)
            low = [upper_bound(e, Units(n, s), LEVEL) < truth - 1e-9 for e, s in own]
            failed = float(np.array(low)[of.ravel()].mean())
            print(f"{name:40s} n={n:5d} {measure:10s} {failed:.5f}")
            assert failed <= 1 - LEVEL


@pytest.mark.parametrize("n", [200, 2000])
def test_it_holds_at_all_looks_together(n):
    world, ever = worlds(n)["one bin, all too high"], 0
    for seed in range(300):
        z = np.random.default_rng(seed).random(20 * n) < world.chance[0]
        rows = np.unique(np.geomspace(20, 20 * n, 60).astype(int))
        e = np.abs(np.cumsum(0.9 - z))[rows - 1] / rows
        s = np.cumsum((0.9 - z) ** 2)[rows - 1] / rows
        units = map(Units, rows.tolist(), s.tolist())
        bounds = [upper_bound(a, u, 0.9, anytime=True) for a, u in zip(e, units, strict=True)]
        ever += min(bounds) < 0.1
    assert ever <= 0.1 * 300
