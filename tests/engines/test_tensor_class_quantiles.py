"""Bins of equal mass in every class from counts of bits: those of a sort, of the same single
numbers to the last one.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calibrant import Quantile
from calibrant._data.samples import BadRow
from interpreter import prepare_once
from needs import need
from pairs import pairs

torch = need("torch")
need("triton")
prepare_once()

from calibrant._data.tensor_samples import TensorSamples  # noqa: E402
from calibrant._engines import tensors as plain  # noqa: E402
from calibrant._engines.tensors import class_bins  # noqa: E402
from calibrant._engines.tensors import fused as fast  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
N = 30


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    """Several rows and several blocks of classes, though there are few; and plain torch."""
    monkeypatch.setattr(class_bins, "LANES", 64)
    monkeypatch.setattr(class_bins, "PROGRAMS", 2)
    monkeypatch.setattr(class_bins, "DEPTH", 2)
    monkeypatch.setattr(class_bins, "RUN", 4)
    monkeypatch.setenv("CALIBRANT_FUSED", "0")


def rows_of(kind, k):
    generator = torch.Generator().manual_seed(k)
    x = torch.randn(N, k, generator=generator) * 2.5
    p = torch.softmax(x.double(), 1)
    if kind == "tied":
        p = torch.softmax(x.round().double(), 1)
    if kind == "certain":
        p = torch.eye(k, dtype=torch.float64)[x.argmax(1)]
    if kind == "crowded":
        p[: N // 2] = 1 / k
    if kind == "overshooting":
        p[:5] = torch.tensor([1 + 4e-5, -4e-5, *[0.0] * (k - 2)])
    return p.float(), torch.randint(0, k, (N,), generator=generator)


def samples_of(kind, k):
    p, y = rows_of(kind, k)
    return TensorSamples(p.to(DEVICE), y.to(DEVICE))


KINDS = ("plain", "tied", "certain", "crowded", "overshooting")


# As many bins as there may be, a number that fills no block, and one.
WITH_BINS = [*pairs(product(KINDS, (2, 11), (3, 16))), ("crowded", 11, 1)]


@pytest.mark.parametrize(("kind", "k", "m"), WITH_BINS)
def test_sums_are_those_of_a_sort(kind, k, m):
    samples = samples_of(kind, k)
    expected, findings = plain.classwise_table(samples, Quantile(m))
    found, found_too = fast.class_quantiles(samples, m)
    np.testing.assert_array_equal(found[..., 0], expected.sums[..., 0])
    np.testing.assert_allclose(found, expected.sums, rtol=1e-12, atol=1e-15)
    assert found_too == findings


@pytest.mark.parametrize(
    ("sure", "threshold"), [(7.0, None), (0.5, None), (0.5, 0.25), (-9.0, 0.25)]
)
def test_a_part_of_the_rows_tells_where_to_look(sure, threshold, monkeypatch):
    """Whether it is right or misleads: with few rows of a part and less slack it does."""
    samples = samples_of("tied", 4)
    expected, _ = fast.class_quantiles(samples, 5, threshold)
    monkeypatch.setattr(class_bins, "MANY_ROWS", 1)
    monkeypatch.setattr(class_bins, "ONE_OF", 3)
    monkeypatch.setattr(class_bins, "SURE", sure)
    found, _ = fast.class_quantiles(samples, 5, threshold)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_class_quantiles_of_logits(dtype):
    x = (torch.randn(N, 5, generator=torch.Generator().manual_seed(1)) * 3).to(
        getattr(torch, dtype)
    )
    y = torch.arange(N) % 5
    samples = TensorSamples(x.to(DEVICE), y.to(DEVICE), None, True)
    expected, _ = plain.classwise_table(samples, Quantile(7))
    found, _ = fast.class_quantiles(samples, 7)
    np.testing.assert_array_equal(found[..., 0], expected.sums[..., 0])
    np.testing.assert_allclose(found, expected.sums, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "tied", "certain", "crowded"])
@pytest.mark.parametrize("threshold", [0.25, 0.0])
def test_entries_above_a_threshold(kind, threshold):
    samples = samples_of(kind, 4)
    found, _ = fast.class_quantiles(samples, 3, threshold)
    for r, column in enumerate(plain.class_columns(samples)):
        above = plain.rows_above(column, threshold)
        if above is None:
            assert found[r, :, 0].sum() == 0
            continue
        expected = plain.bin_table(above, "binary", Quantile(3))[0].sums[0]
        np.testing.assert_array_equal(found[r, :, 0], expected[:, 0])
        np.testing.assert_allclose(found[r], expected, rtol=1e-12, atol=1e-15)


def test_a_bad_row_is_named():
    samples = samples_of("plain", 4)
    samples.predictions[17] *= 2
    with pytest.raises(BadRow) as caught:
        fast.class_quantiles(samples, 15)
    assert caught.value.row == 17


def test_what_the_kernels_do_not_read():
    assert fast.fits_class_quantiles(samples_of("plain", 4), 15) == (DEVICE == "cuda")
    assert not fast.fits_class_quantiles(samples_of("plain", 4), 17)
