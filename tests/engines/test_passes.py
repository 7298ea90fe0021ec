"""The same sums from one thread or many, from compiled kernels or NumPy, across block borders."""

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant import EqualWidth, Quantile
from calibrant._core.binning import Rule, fixed_cuts
from calibrant._core.short_rows import row_maxima, row_sums
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays import counting, ordering, passes, quantiles
from calibrant._engines.arrays.counting import bin_table, classwise_table
from calibrant._engines.arrays.losses import loss_sums
from calibrant._engines.arrays.passes import LANES_FROM, matrix_sums, row_block
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.protocol import BLOCK_ENTRIES, Findings
from every_engine import available, each_array_engine, engine
from needs import compiled_only
from pairs import pairs

Array = NDArray[Any]
Pass = Callable[[Samples], tuple[Array, Findings]]


# More than a table of 7 classes times 32, below which there are no lanes.
EARLY = 1 << 15


@pytest.fixture
def early_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have lanes in small samples, and share them out to threads as soon as there are lanes."""
    for module in (passes, ordering):
        monkeypatch.setattr(module, "LANES_FROM", EARLY)
    monkeypatch.setattr(quantiles, "SORT_BELOW", EARLY)
    for module in (passes, counting):
        monkeypatch.setattr(module, "THREADS_FROM", EARLY)


def softmax_rows(rng: np.random.Generator, n: int, k: int) -> Array:
    logits = 3 * rng.standard_normal((n, k))
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    softmax: Array = rows / rows.sum(axis=1, keepdims=True)
    return softmax


def problem(
    n: int,
    k: int = 1,
    *,
    dtype: Any = np.float64,
    order: str = "C",
    soft: bool = False,
    weighted: bool = False,
) -> Samples:
    """Random predictions, (n,) where k is 1 and (n, k) elsewhere, with targets and weights."""
    rng = np.random.default_rng([n, k, soft, weighted])
    if k == 1:
        predictions = rng.random(n).astype(dtype)
        targets: Array = rng.random(n) if soft else rng.integers(0, 2, n)
    else:
        predictions = np.asarray(softmax_rows(rng, n, k).astype(dtype), order=order)  # type: ignore[call-overload]
        targets = softmax_rows(rng, n, k) if soft else rng.integers(0, k, n)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else None
    return to_samples(targets, predictions, sample_weight=weights)


def scalar_pass(rule: Rule, notion: Any = "binary") -> Pass:
    def run(samples: Samples) -> tuple[Array, Findings]:
        table, _, findings = bin_table(samples, notion, rule)
        return table.sums, findings

    return run


def classwise_pass(rule: Rule) -> Pass:
    def run(samples: Samples) -> tuple[Array, Findings]:
        table, findings = classwise_table(samples, rule)
        return table.sums, findings

    return run


def loss_pass(distribution: bool = False) -> Pass:
    def run(samples: Samples) -> tuple[Array, Findings]:
        sums, findings = loss_sums(samples, distribution=distribution)
        return sums.sums, findings

    return run


def fused_pass(samples: Samples) -> tuple[Array, Findings]:
    """Everything from one read, as `evaluate` asks for it."""
    cuts = fixed_cuts(EqualWidth(15), samples.precision)
    total = matrix_sums(samples, classwise=cuts, confidence=cuts, losses=True)
    parts = (total.classwise, total.confidence, total.losses)
    return np.concatenate([np.ravel(part) for part in parts if part is not None]), total.findings


BINARY: dict[str, Pass] = {
    "binary, equal width": scalar_pass(EqualWidth(15)),
    "binary, quantile": scalar_pass(Quantile(15)),
    "folded to the top label": scalar_pass(EqualWidth(15), "confidence"),
    "losses": loss_pass(),
}
ROWS: dict[str, Pass] = {
    "confidence, equal width": scalar_pass(EqualWidth(15), "confidence"),
    "confidence, quantile": scalar_pass(Quantile(15), "confidence"),
    "classwise, equal width": classwise_pass(EqualWidth(15)),
    "classwise, quantile": classwise_pass(Quantile(7)),
    "losses of rows": loss_pass(),
    "losses and distributions of rows": loss_pass(distribution=True),
    "everything in one read": fused_pass,
}


def run_on(engine_name: str, work: Pass, samples: Samples) -> tuple[Array, Findings]:
    with engine(engine_name):
        return work(samples)


def assert_engines_agree(work: Pass, samples: Samples) -> None:
    sums, findings = run_on("native", work, samples)
    expected, expected_findings = run_on("numpy", work, samples)
    assert sums.shape == expected.shape
    assert findings == expected_findings
    # The sums' own magnitude is the scale of their rounding: an empty bin must be exactly empty.
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=0)
    if sums.ndim == 3:
        np.testing.assert_array_equal(sums[:, :, 0], expected[:, :, 0], err_msg="counts")


# --- threads --------------------------------------------------------------------------------------


@each_array_engine
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.usefixtures("early_threads")
def test_threads_do_not_change_a_bit_of_binary_sums(
    name: str, weighted: bool, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = problem(EARLY + 12_345, weighted=weighted)
    found = []
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        found.append(run_on(engine_name, BINARY[name], samples)[0].tobytes())
    assert found[0] == found[1] == found[2]


@each_array_engine
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.usefixtures("early_threads")
def test_threads_do_not_change_a_bit_of_sums_over_rows(
    name: str, soft: bool, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = problem(EARLY // 5 + 77, 7, dtype=np.float32, soft=soft)
    found = []
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        found.append(run_on(engine_name, ROWS[name], samples)[0].tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("early_threads")
@pytest.mark.parametrize("threads", ["0", "-1", "two", "1.5", ""])
def test_a_senseless_number_of_threads_is_refused(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_THREADS", threads)
    n = EARLY + 1
    with pytest.raises(cal.InputError, match=r"CALIBRANT_THREADS .*got"):
        cal.ece(np.zeros(n, int), np.full(n, 0.5))


# --- engines --------------------------------------------------------------------------------------


def binary_variants(n: int) -> Iterator[Samples]:
    for dtype in (np.float32, np.float64):
        for soft in (False, True):
            for weighted in (False, True):
                yield problem(n, dtype=dtype, soft=soft, weighted=weighted)


@compiled_only
@pytest.mark.parametrize("name", BINARY)
def test_engines_agree_on_binary_problems(name: str) -> None:
    for samples in binary_variants(20_011):
        assert_engines_agree(BINARY[name], samples)


@compiled_only
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("k", [2, 3, 8, 17])
@pytest.mark.parametrize("order", ["C", "F"])
def test_engines_agree_on_rows(name: str, k: int, order: str) -> None:
    for dtype, soft, weighted in pairs(product((np.float32, np.float64), *[(False, True)] * 2)):
        samples = problem(503, k, dtype=dtype, order=order, soft=soft, weighted=weighted)
        assert_engines_agree(ROWS[name], samples)


@compiled_only
@pytest.mark.parametrize("name", ROWS)
def test_engines_agree_on_long_rows(name: str) -> None:
    """Most entries of a row of 300 classes lie in the first bin, which has a loop of its own."""
    assert_engines_agree(ROWS[name], problem(300, 300, dtype=np.float32))


@compiled_only
@pytest.mark.parametrize("name", ROWS)
def test_engines_agree_on_rows_that_float32_pushed_past_an_end(name: str) -> None:
    rows = softmax_rows(np.random.default_rng(1), 500, 4)
    rows[::5] = [1.00008, -0.00003, -0.00005, 0.0]
    rows[1::5] = [-0.00009, 0.5, 0.50009, 0.0]
    samples = to_samples(np.arange(500) % 4, rows)
    assert run_on("native", ROWS[name], samples)[1].n_predictions_clipped == 400
    assert_engines_agree(ROWS[name], samples)


@compiled_only
@pytest.mark.parametrize("name", ROWS)
def test_engines_agree_on_rows_with_ties_zeros_and_ones(name: str) -> None:
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 0.5, 0.5]])
    samples = to_samples(np.arange(100) % 3, np.tile(rows, (20, 1)))
    assert_engines_agree(ROWS[name], samples)


@compiled_only
@pytest.mark.parametrize("name", [*BINARY, *ROWS])
@pytest.mark.usefixtures("early_threads")
def test_the_engine_asked_for_works_in_every_thread(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison of engines is void where a thread quietly uses the other one."""

    def must_not_run(*_: Any) -> None:
        raise AssertionError("the compiled kernels ran although NumPy was asked for")

    monkeypatch.setenv("CALIBRANT_THREADS", "2")
    monkeypatch.setattr("calibrant._engines.arrays.native.add_scalar", must_not_run)
    monkeypatch.setattr("calibrant._engines.arrays.native.add_rows", must_not_run)
    if name in BINARY:
        run_on("numpy", BINARY[name], problem(EARLY + 5))
    else:
        # Enough entries that also the classes are shared out to threads.
        run_on("numpy", ROWS[name], problem(EARLY // 10 + 5, 10, dtype=np.float32))


def test_the_engine_is_chosen_by_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernels().name == available()[0]
    monkeypatch.setenv("CALIBRANT_ENGINE", "numpy")
    assert kernels().name == "numpy"
    monkeypatch.setenv("CALIBRANT_ENGINE", "nump")
    with pytest.raises(cal.InputError, match="did you mean 'numpy'"):
        kernels()


@compiled_only
@pytest.mark.parametrize("labels", [np.uint8, np.int32, np.int64, np.int8, np.uint64, np.bool_])
def test_integer_and_float_labels_give_the_same_bits(labels: Any) -> None:
    rng = np.random.default_rng(2)
    predictions, targets = rng.random(5003), rng.integers(0, 2, 5003)
    by_label = bin_table(to_samples(targets.astype(labels), predictions), "binary", EqualWidth(15))[
        0
    ]
    by_number = bin_table(to_samples(targets * 1.0, predictions), "binary", EqualWidth(15))[0]
    assert by_label.sums.tobytes() == by_number.sums.tobytes()


def test_weights_of_one_are_no_weights() -> None:
    rng = np.random.default_rng(3)
    predictions, targets = rng.random(5003), rng.integers(0, 2, 5003)
    rows, labels = softmax_rows(rng, 503, 5), rng.integers(0, 5, 503)
    for work, y, p in ((BINARY, targets, predictions), (ROWS, labels, rows)):
        for run in work.values():
            plain = run(to_samples(y, p))[0]
            weighted = run(to_samples(y, p, sample_weight=np.ones(len(y))))[0]
            np.testing.assert_allclose(plain, weighted, rtol=1e-13)


# --- sums against sums without rounding -----------------------------------------------------------


@each_array_engine
def test_bin_sums_are_the_sums_of_their_rows(engine_name: str) -> None:
    samples = problem(3001, soft=True, weighted=True)
    assert samples.weights is not None
    sums = run_on(engine_name, BINARY["binary, equal width"], samples)[0][0]
    rows = list(
        zip(
            samples.predictions.tolist(),
            samples.targets.tolist(),
            samples.weights.tolist(),
            strict=True,
        )
    )
    for j in range(15):
        held = [(u, z, w) for u, z, w in rows if j / 15 <= u < (j + 1) / 15 and w > 0]
        expected = [
            len(held),
            math.fsum(w for _, _, w in held),
            math.fsum(w * w for _, _, w in held),
            math.fsum(w * u for u, _, w in held),
            math.fsum(w * z for _, z, w in held),
            math.fsum(w * u * u for u, _, w in held),
            math.fsum(w * u * z for u, z, w in held),
            math.fsum(w * z * z for _, z, w in held),
            math.fsum(w * w * z for _, z, w in held),
        ]
        assert sums[j].tolist() == pytest.approx(expected, rel=1e-12)


@each_array_engine
def test_losses_are_the_means_of_their_rows(engine_name: str) -> None:
    samples = problem(701, 4, soft=True, weighted=True)
    assert samples.weights is not None
    brier, log, spherical, wrong, confidence = [], [], [], [], []
    for p, q in zip(samples.predictions.tolist(), samples.targets.tolist(), strict=True):
        hit = q[p.index(max(p))]
        brier.append(math.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True)))
        log.append(-math.fsum(b * math.log(a) for a, b in zip(p, q, strict=True)))
        product = math.fsum(a * b for a, b in zip(p, q, strict=True))
        spherical.append(1 - product / math.hypot(*p))
        wrong.append(1 - hit)
        confidence.append(1 - hit + (max(p) - hit) ** 2)
    weights = samples.weights.tolist()
    sums = run_on(engine_name, ROWS["losses of rows"], samples)[0]
    for found, values in zip(sums[2:7], (brier, log, spherical, wrong, confidence), strict=True):
        expected = math.fsum(w * value for w, value in zip(weights, values, strict=True))
        assert found == pytest.approx(expected, rel=1e-12)


@each_array_engine
def test_float32_sums_do_not_saturate(engine_name: str) -> None:
    """A float32 count stops at 2**24; concentrated predictions reach that in one bin. (NumPy
    counts blocks, and a block's rows are fewer: there it is sums that would drift.)
    """
    n = 2**20 if engine_name == "numpy" else 2**24 + 2**20
    predictions = np.broadcast_to(np.float32(0.9), n)  # no memory: n views of one number
    targets = np.tile(np.array([0, 1, 1, 1, 1, 1, 1, 1], np.uint8), n // 8)
    with engine(engine_name):
        table = cal.reliability(targets, predictions, bins=15)
    columns = table.columns()
    occupied = columns["n"].index(n)
    assert columns["mean_predicted"][occupied] == pytest.approx(float(np.float32(0.9)), rel=1e-12)
    assert columns["mean_target"][occupied] == pytest.approx(0.875, rel=1e-12)


# --- borders --------------------------------------------------------------------------------------


@compiled_only
@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, 5, 7, 8, 9, LANES_FROM - 1, LANES_FROM, LANES_FROM + 1, 8 * BLOCK_ENTRIES + 9]
)
def test_every_row_is_counted_once_around_the_borders_of_blocks(n: int) -> None:
    samples = problem(n, dtype=np.float32)
    assert_engines_agree(BINARY["binary, equal width"], samples)
    assert run_on("native", BINARY["binary, equal width"], samples)[0][:, :, 0].sum() == n
    # A row moved across a border, or read twice, would change this sum.
    once = run_on("native", BINARY["binary, equal width"], samples)[0][:, :, 3].sum()
    assert once == pytest.approx(
        math.fsum(samples.predictions.astype(np.float64).tolist()), rel=1e-12
    )


@compiled_only
@pytest.mark.parametrize("k", [3, 200])
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_every_row_is_counted_once_around_the_borders_of_blocks_of_rows(
    k: int, offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "row_block", lambda n_classes: 300)
    n = 300 + offset
    rng = np.random.default_rng(k)
    top = rng.uniform(0.5, 1, n)
    rows = np.zeros((n, k), np.float32)
    rows[:, 0], rows[:, k - 1] = top, 1 - top
    labels = rng.integers(0, 2, n) * (k - 1)
    samples = to_samples(labels, rows)
    for name in ("confidence, equal width", "classwise, equal width", "losses of rows"):
        assert_engines_agree(ROWS[name], samples)
    sums = run_on("native", ROWS["classwise, equal width"], samples)[0]
    assert (sums[:, :, 0].sum(axis=1) == n).all()
    assert sums[:, :, 4].sum(axis=1)[[0, k - 1]].tolist() == [
        (labels == 0).sum(),
        (labels == k - 1).sum(),
    ]


@compiled_only
def test_blocks_shrink_to_no_less_than_what_makes_them_worth_while() -> None:
    """Very long rows still go through whole blocks, and the last one is a short one."""
    k = 40_000
    n = row_block(k) + 3
    rows = np.zeros((n, k), np.float32)
    rows[np.arange(n), np.arange(n)] = 0.75
    rows[:, k - 1] = 0.25
    samples = to_samples(np.arange(n), rows)
    assert_engines_agree(ROWS["confidence, equal width"], samples)
    assert cal.ece(np.arange(n), rows) == pytest.approx(0.25, rel=1e-6)


@pytest.mark.parametrize("k", range(1, 11))
def test_rows_of_few_classes_are_reduced_as_those_of_many(k):
    rows = np.random.default_rng(k).normal(size=(500, k)) * 10.0 ** np.arange(k)
    assert np.array_equal(row_maxima(rows), rows.max(axis=1))
    assert np.array_equal(row_sums(rows), rows.sum(axis=1))
