"""The fused kernels give the sums of the plain read. Triton's interpreter runs them here, on the
host (see conftest.py); benchmarks/gpu.py checks and times the same on a GPU.
"""

from itertools import product

import numpy as np
import pytest

from interpreter import prepare_once
from needs import need
from pairs import pairs

torch = need("torch")
need("triton")
prepare_once()

from calibrant import Edges, EqualWidth  # noqa: E402
from calibrant._core.bin_tables import FIELDS  # noqa: E402
from calibrant._core.binning import fixed_cuts  # noqa: E402
from calibrant._data.samples import BadRow  # noqa: E402
from calibrant._data.tensor_samples import TensorSamples  # noqa: E402
from calibrant._engines.cells import Cells  # noqa: E402
from calibrant._engines.tensors import class_bins, fused  # noqa: E402
from calibrant._engines.tensors.rows import plain_row_pass  # noqa: E402

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter is for the host"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning:triton"),
]


@pytest.fixture(autouse=True)
def few_programs(monkeypatch):
    """More than one, but not as many as a large device has room for."""
    monkeypatch.setattr(fused, "REFINERS", 3)


DTYPES = {"bfloat16": 4e-2, "float16": 5e-3, "float32": 1e-4}
SQUARES = FIELDS.index("sum_wu2")


@pytest.fixture(autouse=True)
def few_rows_at_once(monkeypatch):
    """Several steps, though there are few rows."""
    monkeypatch.setattr(class_bins, "DEPTH", 2)
    monkeypatch.setattr(class_bins, "RUN", 4)
    monkeypatch.setattr(class_bins, "PROGRAMS", 2)


def samples_of(n, k, dtype, logits, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, k, generator=generator) * 2.5
    other = torch.randint(0, k, (n,), generator=generator)
    y = torch.where(torch.rand(n, generator=generator) < 0.5, x.argmax(1), other)
    if not logits:
        x = torch.softmax(x.double(), 1)
    x = x.to(getattr(torch, dtype))
    return TensorSamples(x, y, None, logits, row_sum_tolerance=DTYPES[dtype])


def same(found, expected):
    np.testing.assert_array_equal(found.confidence[:, 0], expected.confidence[:, 0])
    np.testing.assert_allclose(found.confidence, expected.confidence, rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-6)
    assert found.findings == expected.findings
    if expected.classwise is not None:
        a, b = found.classwise, expected.classwise
        np.testing.assert_array_equal(a[:, :, 0], b[:, :, 0])
        assert np.isnan(a[:, :, SQUARES]).all()
        a, b = np.delete(a, SQUARES, axis=2), np.delete(b, SQUARES, axis=2)
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "k", "logits"), pairs(product(DTYPES, (2, 37, 1000), (True, False)))
)
def test_sums_are_those_of_the_plain_read(dtype, k, logits):
    samples = samples_of(10 if k == 1000 else 40, k, dtype, logits)
    cuts = fixed_cuts(EqualWidth(6), samples.precision)
    same(fused.row_pass(samples, cuts, cuts, True), plain_row_pass(samples, cuts, cuts, True))


@pytest.mark.parametrize("logits", [True, False])
@pytest.mark.parametrize(("dtype", "k"), [("bfloat16", 10), ("float16", 3), ("float32", 36)])
def test_rows_that_a_thread_reads_by_itself(dtype, k, logits):
    samples = samples_of(70, k, dtype, logits)
    cuts = fixed_cuts(EqualWidth(5, "right"), samples.precision)
    same(fused.row_pass(samples, None, cuts, True), plain_row_pass(samples, None, cuts, True))
    top, share, _ = fused.norms(samples)
    if logits:
        expected = torch.softmax(samples.predictions.double(), 1).amax(1)
        np.testing.assert_allclose(share, expected, rtol=1e-6)
        assert torch.equal(top, samples.predictions.float().amax(1))


def test_an_edge_closed_on_the_right_is_met_in_single_precision():
    p = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9], [0.2, 0.8]])
    samples = TensorSamples(p, torch.tensor([0, 1, 0, 1]))
    for m in (2, 4, 10):
        cuts = fixed_cuts(EqualWidth(m, "right"), samples.precision)
        same(fused.row_pass(samples, cuts, cuts, True), plain_row_pass(samples, cuts, cuts, True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_rows_too_long_for_registers(dtype):
    samples = samples_of(5, 5000, dtype, True)
    cuts = fixed_cuts(EqualWidth(15), samples.precision)
    same(fused.row_pass(samples, None, cuts, True), plain_row_pass(samples, None, cuts, True))


@pytest.mark.parametrize("rule", [EqualWidth(1), EqualWidth(10, "right"), Edges([0, 0.01, 0.3, 1])])
def test_other_bins_and_fine_cells(rule):
    samples = samples_of(70, 12, "bfloat16", True)
    cuts, cells = fixed_cuts(rule, samples.precision), Cells(rule).cuts(samples.precision)
    same(fused.row_pass(samples, cuts, cells, True), plain_row_pass(samples, cuts, cells, True))


def test_a_confidence_beside_an_edge_is_counted_as_in_float64():
    # Half-precision logits of two classes whose softmax is within float32's rounding of 1/2.
    x = torch.zeros(64, 2, dtype=torch.float16)
    x[:, 1] = torch.linspace(-2e-7, 2e-7, 64).half()
    samples = TensorSamples(x, torch.ones(64, dtype=torch.int64), None, True)
    cuts = fixed_cuts(Edges([0, 0.5, 0.5 + 3e-8, 1]), samples.precision)
    same(fused.row_pass(samples, None, cuts, True), plain_row_pass(samples, None, cuts, True))


@pytest.mark.parametrize("logits", [True, False])
def test_equal_largest_entries_are_the_lowest_class(logits):
    x = torch.tensor([[2.0, 2.0, 0.0], [0.0, 2.0, 2.0], [2.0, 0.0, 2.0], [1.0, 1.0, 1.0]])
    if not logits:
        x = x / x.sum(1, keepdim=True)
    for label in range(3):
        samples = TensorSamples(x, torch.full((4,), label), None, logits)
        cuts = fixed_cuts(EqualWidth(5), samples.precision)
        same(fused.row_pass(samples, cuts, cuts, True), plain_row_pass(samples, cuts, cuts, True))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_the_first_bad_row_is_named(bad):
    samples = samples_of(40, 40, "bfloat16", True)
    samples.predictions[[35, 31], 3] = bad
    cuts = fixed_cuts(EqualWidth(3), samples.precision)
    with pytest.raises(BadRow) as caught:
        fused.row_pass(samples, cuts, cuts, True)
    assert caught.value.row == 31


@pytest.mark.parametrize("label", [-1, 40])
def test_a_label_that_is_no_class_is_a_bad_row(label):
    samples = samples_of(50, 40, "float32", True)
    samples.targets[9] = label
    with pytest.raises(BadRow) as caught:
        fused.row_pass(samples, None, fixed_cuts(EqualWidth(15), samples.precision), True)
    assert caught.value.row == 9


def test_probabilities_off_the_simplex_are_a_bad_row():
    samples = samples_of(50, 8, "float32", False)
    samples.predictions[31] *= 1.5
    with pytest.raises(BadRow) as caught:
        fused.row_pass(samples, None, fixed_cuts(EqualWidth(15), samples.precision), True)
    assert caught.value.row == 31


def test_what_the_kernels_do_not_read():
    hard = samples_of(10, 4, "float32", True)
    assert not fused.can_read(hard, None)  # not on a CUDA device


def test_several_launches_add_up(monkeypatch):
    """Two whole ones and a short one."""
    samples = samples_of(15, 5, "bfloat16", True)
    cuts = fixed_cuts(EqualWidth(4), samples.precision)
    whole = fused.row_pass(samples, cuts, cuts, True)
    monkeypatch.setattr(fused, "MOST_SHORT_ROWS", 6)
    parts = fused.row_pass(samples, cuts, cuts, True)
    same(parts, plain_row_pass(samples, cuts, cuts, True))
    same(fused.row_pass(samples, None, cuts, True), plain_row_pass(samples, None, cuts, True))
    assert whole.findings == parts.findings
