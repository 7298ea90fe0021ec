"""Sums of many slices in one read are those of each slice's rows by themselves, of every kind of
row: labels of any type, soft ones, weights, logits, classes, and values that overshoot.
"""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import EqualWidth
from calibrant._core.bin_tables import FIELDS
from calibrant._core.loss_sums import FIELDS as LOSS_FIELDS
from calibrant._core.loss_sums import N_PROPER
from calibrant._data.samples import BadRow
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.selection import engine
from calibrant._engines.arrays.slices import SliceArrays
from calibrant._engines.arrays.streams import stream_sums
from calibrant._engines.cells import Cells
from every_engine import each_array_engine

rng = np.random.default_rng(7)
N, SLICES = 3000, 7
SLICE = rng.choice(SLICES, N, p=np.arange(1, SLICES + 1) / 28).astype(np.int32)
U = np.round(rng.beta(1, 2, N), 3)
U[:6] = 0.0, 1.0, -0.0, 1 + 5e-5, -5e-5, 0.5
Y = (rng.random(N) < U).astype(np.int64)
SOFT = np.where(rng.random(N) < 0.3, np.round(rng.random(N), 2), Y)
WEIGHTS = np.round(rng.gamma(2.0, 1.0, N), 2) * (rng.random(N) < 0.9)
CLASSES = rng.dirichlet([2, 1, 1], N)
CLASS = (rng.random(N)[:, None] > CLASSES.cumsum(axis=1)).sum(axis=1)
CASES = {
    "int64": (Y, U, None, False),
    "bool": (Y.astype(bool), U, None, False),
    "int32, float32": (Y.astype(np.int32), U.astype(np.float32), None, False),
    "doubles": (Y.astype(float), U, None, False),
    "half": (Y, U.astype(np.float16), None, False),
    "soft": (SOFT, U, None, False),
    "soft in the end": (np.where(np.arange(N) < 2000, Y, SOFT), U.astype(np.float32), None, False),
    "weights": (Y, U, WEIGHTS, False),
    "soft weights": (SOFT, U.astype(np.float32), WEIGHTS, False),
    "logits": (Y, np.round(rng.normal(size=N), 2), None, True),
    "classes": (CLASS, CLASSES, None, False),
    "weighted classes": (CLASS, CLASSES.astype(np.float32), WEIGHTS, False),
}
LOSSES = {
    "no loss": (),
    "brier": (LOSS_FIELDS.index("brier"),),
    "every loss": tuple(range(2, N_PROPER)),
}


@each_array_engine
@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("case", CASES)
def test_each_slice_has_the_sums_of_its_rows(case, losses, fine, engine_name):
    y, u, w, logits = CASES[case]
    samples, cells, wanted = (
        to_samples(y, u, w, logits),
        Cells(EqualWidth(10), fine),
        LOSSES[losses],
    )
    with engine(engine_name):
        found = _in_three_batches(samples, cells, wanted)
        for slot in range(SLICES):
            rows = samples.take(slot == SLICE)
            expected = stream_sums(rows, cells, frozenset({"cells", "losses"})).arrays
            mine = found.sums_of(slot)
            assert mine["cells"][:, 0].tolist() == expected["cells"][:, 0].tolist()
            np.testing.assert_allclose(mine["cells"], expected["cells"], rtol=1e-12, atol=1e-12)
            for field in (0, 1, *wanted) if wanted else ():
                assert mine["losses"][field] == pytest.approx(expected["losses"][field], rel=1e-12)
    assert set(found.sums_of(0)) - {"distribution_weight"} == {"cells"} | (
        {"losses"} if wanted else set()
    )


def _in_three_batches(samples, cells, losses):
    """The sums of three runs of rows, the last of which is merged from elsewhere with its slices in
    another order.
    """
    found, other = SliceArrays(cells, losses), SliceArrays(cells, losses)
    for start, stop in ((0, 700), (700, 1500)):
        own = SLICE[start:stop]
        found.add(samples.take(slice(start, stop)), own, int(own.max()) + 1)
    order = np.array([3, 1, 0, 2, 6, 5, 4])
    other.add(samples.take(slice(1500, N)), order.astype(np.int32)[SLICE[1500:]], SLICES)
    found.merge(other, np.argsort(order), SLICES)
    return found


def test_a_perfect_slice_has_no_gap_and_no_loss():
    u = np.where(SLICE == 2, Y, U)
    found = SliceArrays(Cells(EqualWidth(10), False), LOSSES["brier"])
    found.add(to_samples(Y, u), SLICE, SLICES)
    sums = found.sums_of(2)
    cells = sums["cells"]
    assert (cells[:, FIELDS.index("sum_wu")] == cells[:, FIELDS.index("sum_wz")]).all()
    assert sums["losses"][LOSS_FIELDS.index("brier")] == 0.0
    assert found.sums_of(1)["losses"][LOSS_FIELDS.index("brier")] > 0.0


@each_array_engine
@pytest.mark.parametrize("bad", [np.nan, 1.1, -0.1])
@pytest.mark.parametrize("losses", LOSSES)
def test_a_bad_row_is_named(bad, losses, engine_name):
    u = U.copy()
    u[1234] = bad
    found = SliceArrays(Cells(EqualWidth(10), False), LOSSES[losses])
    samples = to_samples(Y, U)
    object.__setattr__(samples, "predictions", u)
    with engine(engine_name), pytest.raises(BadRow) as raised:
        found.add(samples, SLICE, SLICES)
    assert raised.value.row == 1234
