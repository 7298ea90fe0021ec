"""Bins of equal mass of every class, and cells of whole distributions: the compiled passes give
what sorting each class by itself gives, and count as the rule of the middle rank says.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant import EqualWidth, InputError, Quantile, ace, classwise_ce, lin_ce, tace
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Rule
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays import counting, vectors
from calibrant._engines.arrays.counting import class_tables, classwise_table
from calibrant._engines.arrays.vectors import vector_table
from every_engine import engine
from needs import compiled_only
from pairs import pairs

Array = NDArray[Any]

pytestmark = compiled_only


def softmax(rng: np.random.Generator, n: int, k: int, scale: float) -> Array:
    h = scale * rng.standard_normal((n, k))
    p = np.exp(h - h.max(axis=1, keepdims=True))
    rows: Array = p / p.sum(axis=1, keepdims=True)
    return rows


def overshooting(rng: np.random.Generator, n: int, k: int) -> Array:
    """Zeros and ones that rounding has pushed a little past either end."""
    p = np.eye(k)[rng.integers(0, k, n)]
    return p + 1e-7 * p * rng.random((n, k)) - 1e-9 * rng.random((n, k))


def levels(rng: np.random.Generator, n: int, k: int) -> Array:
    p = rng.integers(0, 4, (n, k)) + 0.0
    p[:, 0] += 1
    rows: Array = p / p.sum(axis=1, keepdims=True)
    return rows


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "softmax": lambda rng, n, k: softmax(rng, n, k, 2.0),
    "denormals and ones": lambda rng, n, k: softmax(rng, n, k, 60.0),
    "few levels": levels,
    "zeros and ones": lambda rng, n, k: np.eye(k)[rng.integers(0, k, n)],
    "all equal": lambda rng, n, k: np.full((n, k), 1 / k),
    "past the ends": overshooting,
}
every_shape = pytest.mark.parametrize("shape", SHAPES)
TYPES = [np.float16, np.float32, np.float64, "logits"]
every_type = pytest.mark.parametrize("kind", TYPES)


def problem(shape: str, kind: Any, n: int, k: int, **options: Any) -> Samples:
    rng = np.random.default_rng([n, k, list(SHAPES).index(shape)])
    p = SHAPES[shape](rng, n, k)
    # Every second class has no label: nothing of it may be read.
    labels = rng.integers(0, (k + 1) // 2, n) * 2
    if kind == "logits":
        p = np.log(np.maximum(p, 1e-300)) + rng.standard_normal((n, 1))
        return to_samples(labels, p, from_logits=True, **options)
    return to_samples(labels, p.astype(kind), **options)


def assert_same(compiled: BinTable | None, sorted_by_class: BinTable | None) -> None:
    assert (compiled is None) == (sorted_by_class is None)
    if compiled is None or sorted_by_class is None:
        return
    assert compiled.sums.shape == sorted_by_class.sums.shape
    counts = [0, 1, 2, 4, 7, 8]
    np.testing.assert_array_equal(
        compiled.sums[..., counts], sorted_by_class.sums[..., counts], err_msg="counts"
    )
    np.testing.assert_allclose(compiled.sums, sorted_by_class.sums, rtol=1e-12, atol=1e-300)


def assert_engines_agree(samples: Samples, m: int, threshold: float = 0.01) -> None:
    compiled = class_tables(samples, Quantile(m), threshold=threshold)
    with engine("numpy"):
        reference = class_tables(samples, Quantile(m), threshold=threshold)
    for a, b in zip(compiled, reference, strict=True):
        assert_same(a, b)


# --- bins of equal mass ---------------------------------------------------------------------------


SIZES = [(1, 2), (2, 3), (15, 2), (300, 7), (1500, 20)]


@pytest.mark.parametrize(("shape", "kind", "size"), pairs(product(SHAPES, TYPES, SIZES)))
def test_compiled_bins_are_those_of_sorting(shape: str, kind: Any, size: tuple[int, int]) -> None:
    samples = problem(shape, kind, *size)
    assert counting.is_compiled(samples, Quantile(15))
    for m in (1, 2, 15, 300):
        assert_engines_agree(samples, m)


@every_shape
@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5, 1.0])
def test_thresholds_cut_where_comparing_cuts(shape: str, threshold: float) -> None:
    for kind in (np.float32, np.float64):
        assert_engines_agree(problem(shape, kind, 500, 4), 5, threshold)


@every_shape
def test_counts_follow_the_middle_rank(shape: str) -> None:
    """Bins counted in exact fractions, by a search that knows nothing of cells."""
    samples = problem(shape, np.float32, 90, 3)
    m = 7
    table = class_tables(samples, Quantile(m))[0]
    assert table is not None
    for r in range(3):
        column = np.clip(samples.predictions[:, r].astype(np.float64), 0, 1)
        counts = np.zeros(m, dtype=int)
        for u in column:
            middle = int((column < u).sum()) + Fraction(int((column == u).sum()), 2)
            counts[max(ceil(middle * m / len(column)) - 1, 0)] += 1
        np.testing.assert_array_equal(table.n[r], counts)


def test_memory_order_does_not_matter() -> None:
    samples = problem("softmax", np.float32, 3000, 9)
    wanted = class_tables(samples, Quantile(15), threshold=0.01)
    p, y = samples.predictions, samples.targets
    wide, tall = np.zeros((3000, 18), np.float32), np.zeros((6000, 9), np.float32)
    wide[:, ::2], tall[::2] = p, p
    for other in (np.asfortranarray(p), wide[:, ::2], tall[::2], p[::-1][::-1]):
        found = class_tables(to_samples(y, other), Quantile(15), threshold=0.01)
        for a, b in zip(found, wanted, strict=True):
            assert a is not None and b is not None
            np.testing.assert_array_equal(a.sums, b.sums)


def test_groups_and_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = problem("softmax", np.float32, 3000, 150)
    wanted = class_tables(samples, Quantile(15))[0]
    monkeypatch.setattr(counting, "GROUP_BYTES", 1)
    monkeypatch.setattr(counting, "THREADS_FROM", 1)
    monkeypatch.setenv("CALIBRANT_THREADS", "3")
    found = class_tables(samples, Quantile(15))[0]
    assert wanted is not None and found is not None
    np.testing.assert_array_equal(found.sums, wanted.sums)


def test_labels_may_be_numbers_and_rows_may_be_dropped() -> None:
    rng = np.random.default_rng(0)
    p = softmax(rng, 400, 5, 2.0)
    y = rng.integers(0, 5, 400).astype(np.float64)
    y[::7] = np.nan
    samples = to_samples(y, p, missing="drop")
    assert samples.n_missing > 0
    assert_engines_agree(samples, 15)


WEIGHTS: dict[str, Callable[[np.random.Generator, int], Array | None]] = {
    "none": lambda rng, n: None,
    "whole, some 0": lambda rng, n: np.append(1.0, rng.integers(0, 4, n - 1)),
    "tenths": lambda rng, n: rng.integers(1, 9, n) / 10,  # ranks on a border but for rounding
    "far apart": lambda rng, n: 10.0 ** rng.uniform(-9, 3, n),
}


# Three at a time: each type has code of its own for weights and for soft labels.
@pytest.mark.parametrize(
    ("shape", "kind", "weights", "soft"),
    pairs(product(SHAPES, TYPES, WEIGHTS, (False, True)), strength=3),
)
def test_every_kind_of_target_and_weight_agrees(
    shape: str, kind: Any, weights: str, soft: bool
) -> None:
    rng = np.random.default_rng(1)
    for n, k in ((1, 2), (120, 5)):
        hard = problem(shape, kind, n, k)
        y = rng.dirichlet(np.ones(k), n) if soft else hard.targets
        samples = to_samples(
            y,
            hard.predictions,
            sample_weight=WEIGHTS[weights](rng, n),
            from_logits=hard.from_logits,
        )
        assert counting.is_compiled(samples, Quantile(15))
        bins = ((15, 0.1), (80, 0.5), (2, 1.0), (1, 0.0))
        for m, threshold in bins if n > 1 else bins[:1]:
            compiled = class_tables(samples, Quantile(m), threshold=threshold)
            with engine("numpy"):
                reference = class_tables(samples, Quantile(m), threshold=threshold)
            for a, b in zip(compiled, reference, strict=True):
                assert (a is None) == (b is None)
                if a is not None and b is not None:
                    np.testing.assert_array_equal(a.n, b.n)
                    np.testing.assert_allclose(a.sums, b.sums, rtol=1e-12, atol=1e-15)


def test_rows_without_any_weight_are_refused() -> None:
    samples = problem("softmax", np.float64, 30, 3)
    none = to_samples(samples.targets, samples.predictions, sample_weight=np.zeros(30))
    for name in ("native", "numpy"):
        with engine(name), pytest.raises(InputError, match="weight"):
            class_tables(none, Quantile(5))


def test_integer_weights_are_repetition() -> None:
    """The compiled path on repeated rows against the path of weights."""
    rng = np.random.default_rng(2)
    p, y, times = levels(rng, 200, 4), rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    weighted = class_tables(to_samples(y, p, sample_weight=times), Quantile(6), threshold=0.2)
    repeated = class_tables(
        to_samples(y.repeat(times), p.repeat(times, axis=0)), Quantile(6), threshold=0.2
    )
    for a, b in zip(weighted, repeated, strict=True):
        assert a is not None and b is not None
        np.testing.assert_allclose(a.sum_w, b.sum_w, rtol=1e-12)
        np.testing.assert_allclose(a.residual, b.residual, rtol=1e-9, atol=1e-12)


def test_a_bad_row_is_named_before_columns_are_taken_apart() -> None:
    samples = problem("softmax", np.float64, 300, 4)
    p = samples.predictions.copy()
    p[123, 2] = np.nan
    for measure in (classwise_ce, ace, tace, lin_ce):
        with pytest.raises(InputError, match=r"y_proba\[123"):
            measure(samples.targets, p)


def test_public_measures_agree_between_engines() -> None:
    rng = np.random.default_rng(3)
    p = softmax(rng, 2000, 11, 2.0).astype(np.float32)
    y = rng.integers(0, 11, 2000)
    for measure in (classwise_ce, ace, tace, lin_ce):
        compiled = measure(y, p)
        with engine("numpy"):
            assert measure(y, p) == pytest.approx(compiled, rel=1e-12)


def test_the_comparison_notices_a_prediction_in_the_next_bin() -> None:
    samples = problem("softmax", np.float32, 700, 7)
    table, _ = classwise_table(samples, Quantile(15))
    moved = table.sums.copy()
    moved[3, 5] -= [1, 1, 1, 0, 0, 0, 0, 0, 0]
    moved[3, 6] += [1, 1, 1, 0, 0, 0, 0, 0, 0]
    with pytest.raises(AssertionError, match="counts"):
        assert_same(table, BinTable(moved))


# --- the whole distribution -----------------------------------------------------------------------

RULES: list[Rule] = [
    Quantile(15),
    Quantile(4, ties="rank"),
    EqualWidth(10),
    EqualWidth(5, drop_one=True),
]


@pytest.mark.parametrize(
    ("shape", "kind", "soft", "weighted"),
    pairs(product(SHAPES, TYPES, (False, True), (False, True)), strength=3),
)
def test_cells_of_vectors_are_those_of_numpy(
    shape: str, kind: Any, soft: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "row_block", lambda k: 64)
    monkeypatch.setattr(vectors, "MANY_ROWS", 150)
    monkeypatch.setattr(vectors, "THREADS_FROM", 1)
    rng = np.random.default_rng(4)
    for n, k in ((1, 2), (200, 6)):
        hard = problem(shape, kind, n, k)
        y = rng.dirichlet(np.ones(k), n) if soft else hard.targets
        weights = rng.random(n) + 0.01 if weighted else None
        samples = to_samples(
            y, hard.predictions, sample_weight=weights, from_logits=hard.from_logits
        )
        for rule in RULES if n > 1 else RULES[1::2]:
            compiled, findings = vector_table(samples, rule)
            with engine("numpy"):
                reference, wanted = vector_table(samples, rule)
            assert findings == wanted
            np.testing.assert_allclose(compiled.sum_w, reference.sum_w, rtol=1e-12)
            np.testing.assert_allclose(
                compiled.residual, reference.residual, rtol=1e-12, atol=1e-13
            )
