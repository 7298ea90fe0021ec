"""The kernels over scalar problems give what plain torch and arrays give: counts to the last one,
sums to 1e-12. Triton's interpreter runs them here, on the host; on a GPU they run there.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibrant as cal
from calibrant import Edges, EqualWidth, LevelSets, NotDefined, Quantile
from calibrant._core.bin_tables import table_has_squares
from calibrant._core.binning import fixed_cuts
from calibrant._data.samples import BadRow
from calibrant._measures.cutoffs import averaged_two_bin_error, cutoff_error
from calibrant._measures.decomposition import decompose_isotonic
from calibrant._measures.ordered import ks_error, sweep_bins
from calibrant._measures.ranking import accuracy_at, aurc, auroc
from calibrant._measures.smooth_ece import smooth_ece_of_grid
from interpreter import prepare_once
from needs import need

torch = need("torch")
need("triton")
prepare_once()

from calibrant._data.tensor_input import TensorInput  # noqa: E402
from calibrant._engines import tensors as plain  # noqa: E402
from calibrant._engines.tensors import (  # noqa: E402
    choice,
    column_quantiles,
    order,
    scalars,
    unit_grids,
)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
DEVICE_NODES = scalars.NODES
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RNG = np.random.default_rng(4)
N = 90
U = RNG.random(N) ** 2
Y = (RNG.random(N) < U).astype(np.int8)
# Values that a kernel may take for others, in one column: ties, -0, 0 and 1, what is beyond them.
ODD = np.where(U < 0.2, np.round(U, 1), U)
ODD[:9], ODD[9:30], ODD[30:34], ODD[34:38] = 1 + 5e-5, -3e-5, -0.0, 1.0
CASES = {
    "float32": (U.astype(np.float32), Y),
    "float64": (U, Y.astype(np.int64)),
    "float16": (U.astype(np.float16), Y == 1),
    "odd values": (ODD.astype(np.float32), Y.astype(np.float32)),
    "odd values in double precision": (ODD, Y),
    "two rows": (np.array([0.5, 0.25], np.float32), np.array([1, 0], np.int8)),
    "not side by side": (np.stack([U, U], 1).astype(np.float32)[:, 0], np.stack([Y, Y], 1)[:, 1]),
    "one row": (U[:1].astype(np.float32), Y[:1].astype(np.uint8)),
}
# What matters where rows are in order, or crowd in a bin.
IN_ORDER = {
    "ties": (np.round(U, 1).astype(np.float32), Y.astype(np.uint8)),
    "all predictions equal": (np.full(N, 0.3, np.float32), Y),
    "zeros and ones": ((U > 0.4).astype(np.float32), Y),
    "labels of one class": (np.repeat(U.astype(np.float32), 2)[::2], np.zeros(2 * N, np.int8)[::2]),
    "labels the wrong way round": (U.astype(np.float32), (U < 0.3).astype(np.int8)),
    "labels in order": (U, (U > 0.3).astype(np.int8)),
    "close to 0": ((U * 1e-30).astype(np.float32), Y),
}


def folded(cases):
    """Cases with a notion. The larger of u and 1 - u is another number in each precision, at the
    ends and beyond them; else a case is the same to either notion, and has one of them.
    """
    both = ("float32", "odd values", "odd values in double precision", "two rows")
    return [
        (name, notion)
        for j, name in enumerate(cases)
        for k, notion in enumerate(("binary", "confidence"))
        if name in both or j % 2 == k
    ]


every_fold = pytest.mark.parametrize(("name", "notion"), folded(CASES))
every_fold_in_order = pytest.mark.parametrize(("name", "notion"), folded(CASES | IN_ORDER))


def samples_of(name):
    u, y = (CASES | IN_ORDER)[name]
    return TensorInput().build(torch.from_numpy(y).to(DEVICE), torch.from_numpy(u).to(DEVICE))


@pytest.fixture
def small_programs(monkeypatch):
    """Loops, chunks and copies of more than one, though there are few rows."""
    monkeypatch.setattr(scalars, "PROGRAMS", 2)
    monkeypatch.setattr(scalars, "WARPS", 2)
    monkeypatch.setattr(scalars, "NODES", 4096)
    for module in (scalars, column_quantiles):
        monkeypatch.setattr(module, "DEPTH", 1)
    monkeypatch.setattr(order, "CHUNK", 64)
    monkeypatch.setattr(order, "BLOCK", 32)
    monkeypatch.setattr(order, "PROGRAMS", 8)
    monkeypatch.setattr(order, "FEW_POINTS", 4)


def same_sums(found, expected, *, squares=True):
    keep = [0, 1, 2, 3, 4, 7, 8] + ([5, 6] if squares else [])
    np.testing.assert_array_equal(found[..., 0], expected[..., 0])
    np.testing.assert_allclose(found[..., keep], expected[..., keep], rtol=1e-12, atol=1e-300)


@pytest.fixture
def plain_torch(monkeypatch):
    monkeypatch.setenv("CALIBRANT_FUSED", "0")


# Odd values lie on edges of these, which are no numbers of either precision.
RULES = [EqualWidth(5), EqualWidth(5, "right"), EqualWidth(1), Edges([0, 0.1, 0.3, 1])]
# A rule is edges: each meets either precision, either notion and odd values.
WITH_RULES = [(*fold, RULES[j % 4]) for j, fold in enumerate(folded(CASES))]
WITH_RULES += [("odd values in double precision", "binary", rule) for rule in RULES[:2]]
WITH_RULES += [("odd values", "confidence", RULES[3])]


@pytest.mark.parametrize(("name", "notion", "rule"), WITH_RULES, ids=str)
def test_few_bins(name, notion, rule, plain_torch, small_programs):
    samples = samples_of(name)
    cuts = fixed_cuts(rule, samples.precision)
    expected, findings = plain.scalar_sums(samples, notion, cuts)
    for squares in (True, False)[: 2 if rule in RULES[:2] else 1]:
        column = scalars.binary_column(samples, notion)
        found, found_too = scalars.few_bins(column, cuts, squares=squares)
        same_sums(found, expected, squares=squares)
        assert table_has_squares(found) == squares, "what is left out says NaN"
        assert found_too == findings


@pytest.mark.parametrize("name", CASES)
def test_losses_of_compiled_programs(name, plain_torch, small_programs):
    samples = samples_of(name)
    expected, findings = plain.loss_sums(samples)
    found, found_too = scalars.losses_of(scalars.binary_column(samples, "binary"))
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12, atol=1e-13)
    assert found_too == findings and found.n_classes == 2


@every_fold
def test_scalar_kernels_sum_grids(name, notion, plain_torch, small_programs, monkeypatch):
    if name == "float32":  # as many nodes at a time as on a device
        monkeypatch.setattr(scalars, "NODES", DEVICE_NODES)
    samples, column = samples_of(name), scalars.binary_column(samples_of(name), notion)
    grid, findings, n_clipped = plain.logit_grid(samples, notion, 2**-4, 1e-6)
    found, *told = scalars.logit_masses(column, 2**-4, 1e-6, grid.plus.shape[1])
    for side, sums in zip((grid.plus, grid.minus), found, strict=True):
        np.testing.assert_allclose(sums, side[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(sums.sum(), side.sum(), rtol=1e-12, atol=1e-12)
    assert told == [findings, n_clipped]
    units, findings = plain.unit_grid(samples, notion, 512)
    for many in (N + 1, 1):  # as they are asked for, and from finer cells
        column = scalars.binary_column(samples, notion)
        monkeypatch.setattr(unit_grids, "MANY_ROWS", many)
        monkeypatch.setattr(unit_grids, "FINE_CELLS", 2048)
        for _ in range(2):
            found, told = unit_grids.unit_grid(column, 512)
            np.testing.assert_allclose(found.sums, units.sums, rtol=1e-10, atol=1e-10)
            assert told == findings
    if name not in ("float32", "odd values in double precision", "one row"):
        return
    # Where it lies it is smoothed as on the host; at a fixed point many times.
    for sigma in (1e-3, 0.05, 2.0) if notion == "confidence" else (0.05, None):
        error = smooth_ece_of_grid(found, N, sigma)
        assert error == pytest.approx(smooth_ece_of_grid(units, N, sigma), rel=1e-10, abs=1e-13)


@every_fold_in_order
def test_tables_in_order(name, notion, plain_torch, small_programs):
    samples = samples_of(name)
    keys = order.sorted_keys(scalars.binary_column(samples, notion))
    for m in (1, 5):
        expected, cuts, findings = plain.bin_table(samples, notion, Quantile(m))
        found, inner = keys.quantile_table(m)
        same_sums(found.sums, expected.sums)
        np.testing.assert_array_equal(inner.inner, cuts.inner)
        assert keys.findings == findings
    for rule in (RULES[1], RULES[3]):
        cuts = fixed_cuts(rule, samples.precision)
        same_sums(keys.fixed_sums(cuts), plain.scalar_sums(samples, notion, cuts)[0])
    expected, cuts, _ = plain.bin_table(samples, notion, LevelSets())
    levels = order.DeviceLevels(keys)
    same_sums(levels.sums, expected.sums)
    np.testing.assert_array_equal(order.LevelCuts(keys).inner, cuts.inner)


SOME_CASES = ("float32", "float16", "ties", "odd values", "close to 0")


@pytest.mark.parametrize(("name", "notion"), folded(SOME_CASES))
def test_quantiles_without_a_sort(name, notion, plain_torch, small_programs, monkeypatch):
    """From windows that some rows tell."""
    for constant, value in {"MANY_ROWS": 1, "SOME_ROWS": 9}.items():
        monkeypatch.setattr(column_quantiles, constant, value)
    for module in (scalars, column_quantiles):  # several rows of a thread in each of several steps
        monkeypatch.setattr(module, "DEPTH", 2)
        monkeypatch.setattr(module, "WARP", 16)
    samples = samples_of(name)
    column = scalars.binary_column(samples, notion)
    expected, cuts, findings = plain.bin_table(samples, notion, Quantile(4))
    found = column_quantiles.quantile_table(column, 4)
    assert not found[0].has_squares
    same_sums(found[0].sums, expected.sums, squares=False)
    np.testing.assert_array_equal(found[1].inner, cuts.inner)
    assert found[2] == findings


def test_windows_that_mislead_or_overflow_are_noticed(small_programs, monkeypatch):
    """The first nine rows hold only small predictions; or all are equal, and have no room."""
    for constant, value in {"MANY_ROWS": 1, "SOME_ROWS": 9, "SURE": 0.1}.items():
        monkeypatch.setattr(column_quantiles, constant, value)
    u = np.sort(U.astype(np.float32))
    u[::10] = 1e-3
    found = column_quantiles.quantile_table(
        scalars.Column(torch.from_numpy(u), torch.from_numpy(Y)), 4
    )
    assert found is None
    equal = scalars.Column(torch.full((N,), 0.3), torch.from_numpy(Y))
    monkeypatch.setattr(column_quantiles, "ROOM", 0.0)
    for module in (scalars, column_quantiles):
        monkeypatch.setattr(module, "WARP", 8)
    assert column_quantiles.quantile_table(equal, 4) is None


@every_fold_in_order
def test_ordered_measures(name, notion, plain_torch, small_programs):
    samples = samples_of(name)
    expected = plain.bin_table(samples, notion, LevelSets())[0]
    levels = order.DeviceLevels(order.sorted_keys(scalars.binary_column(samples, notion)))
    assert levels.total_weight == expected.total_weight
    assert levels.n_levels == expected.n_bins
    for formula in (
        ks_error,
        cutoff_error,
        averaged_two_bin_error,
        partial(averaged_two_bin_error, norm="l1"),
        aurc,
        accuracy_at,
        partial(accuracy_at, coverage=0.3),
    ):
        assert formula(levels) == pytest.approx(formula(expected), rel=1e-12, abs=1e-15), formula
    if 0 < levels.totals[1] < levels.totals[0]:
        assert auroc(levels) == pytest.approx(auroc(expected), rel=1e-12)
    else:
        with pytest.raises(NotDefined, match="needs both outcomes"):
            auroc(levels)
    found, bins = sweep_bins(levels), sweep_bins(expected)
    for name_of_sum in ("sum_w", "sum_wu", "sum_wz"):
        sums = getattr(found, name_of_sum), getattr(bins, name_of_sum)
        np.testing.assert_allclose(*sums, rtol=1e-12, atol=1e-300)
    mine, theirs = decompose_isotonic(levels), decompose_isotonic(expected)
    for part in ("brier", "miscalibration", "discrimination", "uncertainty"):
        assert getattr(mine, part) == pytest.approx(getattr(theirs, part), rel=1e-10, abs=1e-13)
    assert "sums" not in vars(levels)  # no level was brought here


def test_levels_are_pooled_before_they_are_brought():
    """Of thousands of levels some blocks are left, and far fewer than all of them."""
    rng = np.random.default_rng(7)
    u = rng.random(20_000)
    y = (rng.random(u.size) < u).astype(np.int8)
    samples = TensorInput().build(torch.from_numpy(y).to(DEVICE), torch.from_numpy(u).to(DEVICE))
    keys = order.sorted_keys(scalars.binary_column(samples, "binary"))
    assert keys.hull().numel() > 20_000  # few enough as they are
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "FEW_POINTS", 100)
        assert keys.hull().numel() < 1000


@pytest.mark.parametrize("bad", [1.2, -0.3, float("nan"), float("inf")])
def test_the_first_bad_row_is_named(bad, small_programs):
    u = U.astype(np.float32)
    u[[80, 77]] = bad
    samples = TensorInput().build(torch.from_numpy(Y).to(DEVICE), torch.from_numpy(u).to(DEVICE))
    column = scalars.binary_column(samples, "binary")
    for call in (
        lambda: scalars.few_bins(column, fixed_cuts(EqualWidth(2), samples.precision)),
        lambda: scalars.losses_of(column),
        lambda: scalars.logit_masses(column, 0.1, 1e-6, 501),
        lambda: unit_grids.unit_grid(column, 64),
        lambda: order.sorted_keys(column),
    ):
        with pytest.raises(BadRow) as caught:
            call()
        assert caught.value.row == 77


@pytest.mark.parametrize("target", [2, -1, 0.5, float("nan")])
def test_other_targets_are_left_to_plain_torch(target):
    y = (
        Y.astype(np.float32 if target != int(target or 2) else np.int64)
        if target == target
        else (Y.astype(np.float32))
    )
    y[5] = target
    samples = TensorInput().build(torch.from_numpy(y).to(DEVICE), torch.from_numpy(U).to(DEVICE))
    column = scalars.binary_column(samples, "binary")
    assert scalars.few_bins(column, fixed_cuts(EqualWidth(2), samples.precision)) is None
    assert scalars.losses_of(column) is None
    assert unit_grids.unit_grid(column, 64) is None
    assert order.sorted_keys(column) is None


def test_what_the_kernels_do_not_read():
    there = torch.from_numpy(U).to(DEVICE)
    labels = torch.from_numpy(Y).to(DEVICE)
    weighted = TensorInput().build(labels, there, sample_weight=there)
    assert scalars._column(weighted, "binary") is None
    logits = TensorInput().build(labels, 4 * there - 2, from_logits=True)
    assert scalars._column(logits, "binary") is None
    whole = TensorInput().build(labels, labels)
    assert scalars._column(whole, "binary") is None
    assert choice.has_kernels(there) == (DEVICE == "cuda")


# Each kernel has every case above; here is what may be done wrong between them: each precision,
# kind of label and finding, what has no AUROC, and rows that are not side by side.
FOR_EVALUATION = (
    "float16",
    "odd values in double precision",
    "one row",
    "labels of one class",
    "odd values",
)


@pytest.mark.parametrize("name", FOR_EVALUATION)
def test_an_evaluation_is_that_of_arrays(name, monkeypatch, request):
    """The kernels behind the public functions, every one of them, in large programs and small; few
    bins will do for those, because each bin has a program.
    """
    bins = 15
    if name not in ("odd values in double precision", "one row"):
        request.getfixturevalue("small_programs")
        bins = 4
    # A fine grid has a program for every 128 nodes on a device, which the interpreter runs in turn.
    monkeypatch.setattr(scalars, "NODES", 4096)
    from calibrant._engines.tensors import grids, losses, tables
    from every_engine import engine

    u, y = (CASES | IN_ORDER)[name]
    names = None
    if name == "odd values":  # a smoothing's width is sought in many steps: others do
        names = [m.name for m in cal.catalogue("binary") if not m.on_request and not m.soft_only]
        names.remove("smooth_ece")
    for module in (grids, losses, tables, scalars):
        monkeypatch.setattr(module, "has_kernels", lambda predictions: predictions.ndim == 1)
    expected = cal.evaluate(y, u, bins=bins, measures=names)
    with engine("torch"):
        tensors = torch.from_numpy(y).to(DEVICE), torch.from_numpy(u).to(DEVICE)
        found = cal.evaluate(*tensors, bins=bins, measures=names)
    assert found.values.keys() == expected.values.keys()
    for measure, value in expected.values.items():
        assert found[measure] == pytest.approx(value, rel=1e-10, abs=1e-13), measure
    assert found.notes == expected.notes
    assert found.reliability.columns()["n"] == expected.reliability.columns()["n"]
