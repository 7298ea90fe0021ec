"""Quantile cuts: the compiled selection finds what sorting finds, and both follow the rule of the
middle rank.
"""

import math
import tracemalloc
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrant import Quantile, ace, reliability
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays import passes, quantiles
from calibrant._engines.arrays.counting import bin_table
from calibrant._engines.arrays.quantiles import quantile_cuts
from every_engine import available, each_array_engine, engine
from needs import compiled_only
from pairs import pairs

Array = NDArray[Any]


@pytest.fixture
def always_select(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the compiled engine select in samples that are small enough to be sorted, too."""
    monkeypatch.setattr(quantiles, "SORT_BELOW", 0)


def softmax_confidences(rng: np.random.Generator, n: int) -> Array:
    """Top-label confidences of a sure network in float32: most of them crowd just below 1."""
    logits = 12 * rng.standard_normal((n, 4)).astype(np.float32)
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    confidences: Array = (rows / rows.sum(axis=1, keepdims=True)).max(axis=1)
    return confidences


SHAPES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "uniform": lambda rng, n: rng.random(n),
    "crowded at 0": lambda rng, n: rng.random(n) ** 8,
    "crowded at 1": lambda rng, n: 1 - rng.random(n) ** 8,
    "all equal": lambda rng, n: np.full(n, 0.3),
    "two values": lambda rng, n: rng.choice([0.2, 0.7], n, p=[0.31, 0.69]),
    "ties at 0 and 1": lambda rng, n: np.clip(3 * rng.random(n) - 1, 0, 1),
    "few levels": lambda rng, n: rng.integers(0, 21, n) / 20,
    "denormals": lambda rng, n: rng.integers(0, 10**6, n) * 5e-324,
    "neighbouring doubles": lambda rng, n: 0.5 + rng.integers(0, 9, n) * 2.0**-53,
    "float32": lambda rng, n: rng.random(n, dtype=np.float32),
    "float32 confidences": softmax_confidences,
}
every_shape = pytest.mark.parametrize("shape", SHAPES)

WEIGHTS: dict[str, Callable[[np.random.Generator, int], Array | None]] = {
    "no weights": lambda rng, n: None,
    "integer weights": lambda rng, n: rng.integers(0, 6, n).astype(np.float64),
    "random weights": lambda rng, n: rng.random(n),
    "weights over many magnitudes": lambda rng, n: np.exp(8 * rng.standard_normal(n)),
}
every_weighting = pytest.mark.parametrize("weighting", WEIGHTS)


def pairs_of_shapes() -> list[tuple[str, ...]]:
    """Each shape with two weightings, none of them always the same."""
    names = list(WEIGHTS)
    return [(s, names[(j + k) % 4]) for j, s in enumerate(SHAPES) for k in (0, 2)]


def problem(shape: str, weighting: str, n: int) -> Samples:
    rng = np.random.default_rng([n, list(SHAPES).index(shape), list(WEIGHTS).index(weighting)])
    predictions = SHAPES[shape](rng, n)
    weights = WEIGHTS[weighting](rng, n)
    if weights is not None and not weights.any():
        weights[0] = 1.0
    return to_samples(np.zeros(n, np.uint8), predictions, sample_weight=weights)


def cuts_by(engine_name: str, samples: Samples, m: int) -> Array:
    with engine(engine_name):
        return quantile_cuts(samples, "binary", m).inner


def assert_engines_agree(samples: Samples, m: int) -> None:
    compiled, reference = cuts_by("native", samples, m), cuts_by("numpy", samples, m)
    np.testing.assert_array_equal(compiled, reference, err_msg=f"{m} bins of {samples.n} rows")


def slow_bins(predictions: Array, weights: Array | None, m: int) -> list[int]:
    """Bins by the middle of the ranks that equal predictions occupy, in exact fractions."""
    values = predictions.astype(np.float64).tolist()
    masses = [1.0] * len(values) if weights is None else weights.tolist()
    mass_at: Counter[float] = Counter()
    for value, mass in zip(values, masses, strict=True):
        mass_at[value] += Fraction(mass)  # type: ignore[assignment]
    total = sum(mass_at.values())
    bin_at, below = {}, Fraction(0)
    for value in sorted(mass_at):
        middle = below + Fraction(mass_at[value]) / 2
        bin_at[value] = max(math.ceil(middle * m / total) - 1, 0)
        below += Fraction(mass_at[value])
    return [bin_at[value] for value in values]


# --- the two engines ------------------------------------------------------------------------------


@compiled_only
@every_shape
@every_weighting
@pytest.mark.usefixtures("always_select")
def test_engines_agree_on_small_samples(shape: str, weighting: str) -> None:
    for n in (1, 3, 4_096):
        samples = problem(shape, weighting, n)
        for m in (1, 15):
            assert_engines_agree(samples, m)


@compiled_only
@every_weighting
@pytest.mark.parametrize("beyond", [-1, 0])
def test_engines_agree_around_the_size_where_sorting_stops(weighting: str, beyond: int) -> None:
    assert_engines_agree(problem("uniform", weighting, quantiles.SORT_BELOW + beyond), 15)


@compiled_only
@every_shape
@pytest.mark.usefixtures("always_select")
def test_engines_agree_for_every_number_of_bins(shape: str) -> None:
    samples = problem(shape, "no weights", 2_500)
    for m in (*range(1 + list(SHAPES).index(shape) % 5, 51, 5), 2000):
        assert_engines_agree(samples, m)


@compiled_only
@pytest.mark.parametrize(("shape", "weighting"), pairs_of_shapes())
def test_engines_agree_on_large_samples(
    shape: str, weighting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In lanes, whose counts are added."""
    monkeypatch.setattr(passes, "LANES_FROM", 20_000)
    monkeypatch.setattr(quantiles, "SORT_BELOW", 20_000)
    assert_engines_agree(problem(shape, weighting, 29_000), 15)


@compiled_only
@every_shape
@every_weighting
def test_selection_agrees_with_sorting_on_samples_it_would_sort(
    shape: str, weighting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small samples, and little room for sorting, so that every refinement step is taken."""
    for n, m in ((2, 2), (7, 15), (1500, 2), (1500, 15)):
        samples = problem(shape, weighting, n)
        expected = cuts_by("native", samples, m)
        for room in (0, 1 << 18):
            with monkeypatch.context() as patch:
                patch.setattr(quantiles, "SORT_BELOW", 0)
                patch.setattr(quantiles, "GATHER", room)
                found = cuts_by("native", samples, m)
            np.testing.assert_array_equal(found, expected, err_msg=f"{m} bins of {n}, room {room}")


@compiled_only
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("always_select")
def test_engines_agree_on_the_top_label_of_rows(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    logits = 6 * rng.standard_normal((9_000, 5))
    rows = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows = (rows / rows.sum(axis=1, keepdims=True)).astype(dtype)
    samples = to_samples(rng.integers(0, 5, 9_000), rows)
    for m in (2, 15, 50, 2000):
        found = []
        for name in ("native", "numpy"):
            with engine(name):
                found.append(quantile_cuts(samples, "confidence", m).inner)
        np.testing.assert_array_equal(*found)


@compiled_only
@pytest.mark.usefixtures("always_select")
def test_overshoot_is_brought_back_before_it_is_ranked() -> None:
    rng = np.random.default_rng(4)
    predictions = np.where(rng.random(9_000) < 0.3, 1 + 5e-5, rng.random(9_000))
    predictions[::7] = -3e-5
    for m in (2, 15, 200):
        assert_engines_agree(to_samples(np.zeros(9_000, int), predictions), m)


# --- the rule -------------------------------------------------------------------------------------


@every_shape
@every_weighting
@pytest.mark.usefixtures("always_select")
def test_equal_predictions_go_to_the_bin_of_their_middle_rank(shape: str, weighting: str) -> None:
    for n, m in ((1, 15), (5, 2), (40, 7), (90, 300)):
        samples = problem(shape, weighting, n)
        weighed = np.ones(n, bool) if samples.weights is None else samples.weights > 0
        expected = np.array(slow_bins(samples.predictions, samples.weights, m))
        for engine_name in available():
            with engine(engine_name):
                cuts = quantile_cuts(samples, "binary", m)
            case = f"{m} bins of {n} rows by {engine_name}"
            assert cuts.m == m, case
            found = cuts.find(samples.predictions)
            np.testing.assert_array_equal(found[weighed], expected[weighed], err_msg=case)


levels = st.integers(0, 6).map(lambda j: j / 6)


@given(
    rows=st.lists(st.tuples(levels, st.integers(0, 4)), min_size=1, max_size=40).filter(
        lambda rows: any(weight for _, weight in rows)
    ),
    m=st.integers(1, 12),
)
@settings(max_examples=40, deadline=None)
def test_an_integer_weight_is_a_repetition(rows: list[tuple[float, int]], m: int) -> None:
    predictions = np.array([prediction for prediction, _ in rows])
    weights = np.array([weight for _, weight in rows])
    repeated = np.repeat(predictions, weights)
    for name in available():
        with engine(name), pytest.MonkeyPatch.context() as patch:
            patch.setattr(quantiles, "SORT_BELOW", 0)
            weighted = quantile_cuts(
                to_samples(np.zeros(predictions.size, int), predictions, sample_weight=weights),
                "binary",
                m,
            )
            plain = quantile_cuts(to_samples(np.zeros(repeated.size, int), repeated), "binary", m)
        np.testing.assert_array_equal(weighted.inner, plain.inner)
        assert plain.find(repeated).tolist() == slow_bins(repeated, None, m)


@each_array_engine
@pytest.mark.parametrize("shape", ["uniform", "few levels", "ties at 0 and 1", "crowded at 1"])
@pytest.mark.usefixtures("always_select")
def test_an_integer_weight_is_a_repetition_in_large_samples(shape: str, engine_name: str) -> None:
    samples = problem(shape, "integer weights", 9_000)
    assert samples.weights is not None
    repeated = np.repeat(samples.predictions, samples.weights.astype(int))
    plain = to_samples(np.zeros(repeated.size, int), repeated)
    for m in (2, 15, 50):
        np.testing.assert_array_equal(
            cuts_by(engine_name, samples, m), cuts_by(engine_name, plain, m)
        )


@pytest.mark.parametrize(
    ("shape", "weighting", "n", "engine_name"),
    pairs(product(SHAPES, ("no weights", "integer weights"), (500, 20_000), available())),
)
def test_the_order_of_rows_does_not_matter(
    shape: str, weighting: str, n: int, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "LANES_FROM", 10_000)
    monkeypatch.setattr(quantiles, "SORT_BELOW", 10_000)
    samples = problem(shape, weighting, n)
    order = np.random.default_rng(5).permutation(n)
    weights = None if samples.weights is None else samples.weights[order]
    shuffled = to_samples(samples.targets[order], samples.predictions[order], sample_weight=weights)
    np.testing.assert_array_equal(
        cuts_by(engine_name, samples, 15), cuts_by(engine_name, shuffled, 15)
    )


@each_array_engine
@pytest.mark.usefixtures("always_select")
def test_the_scale_of_weights_does_not_matter(engine_name: str) -> None:
    samples = problem("few levels", "integer weights", 9_000)
    assert samples.weights is not None
    for scale in (2.0**-40, 2.0**30):
        scaled = to_samples(
            samples.targets, samples.predictions, sample_weight=samples.weights * scale
        )
        np.testing.assert_array_equal(
            cuts_by(engine_name, samples, 15), cuts_by(engine_name, scaled, 15)
        )


@each_array_engine
@pytest.mark.parametrize("weight", [0.1, 1 / 3, 3.7])
def test_a_weight_that_all_rows_share_does_not_matter(weight: float, engine_name: str) -> None:
    """Where a middle rank lies exactly on a border, rounding must not decide."""
    rng = np.random.default_rng(11)
    different = []
    for _ in range(50):
        n, m = int(rng.integers(1, 200)), int(rng.integers(2, 40))
        predictions = rng.integers(0, 6, n) / 5
        labels = np.zeros(n, int)
        with engine(engine_name):
            plain = quantile_cuts(to_samples(labels, predictions), "binary", m)
            shared = to_samples(labels, predictions, sample_weight=np.full(n, weight))
            weighted = quantile_cuts(shared, "binary", m)
        if plain.find(predictions).tolist() != weighted.find(predictions).tolist():
            different.append((n, m))
    assert not different, f"{len(different)} of 50 samples, such as (n, bins) {different[0]}"


@compiled_only
@pytest.mark.usefixtures("always_select")
@pytest.mark.parametrize("room", [0, 1 << 18])
def test_selection_survives_weights_that_doubles_do_not_hold(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of tenths in another order differ in the last bit, and ranks lie on borders."""
    monkeypatch.setattr(quantiles, "GATHER", room)
    rng = np.random.default_rng(12)
    different = []
    for _ in range(60):
        n, m = int(rng.integers(1, 200)), int(rng.integers(2, 40))
        weights = rng.integers(0, 3, n) * 0.1
        weights[0] = 0.1
        predictions = rng.random(n)
        samples = to_samples(np.zeros(n, int), predictions, sample_weight=weights)
        found = []
        for name in ("native", "numpy"):
            with engine(name):
                found.append(quantile_cuts(samples, "binary", m).find(predictions)[weights > 0])
        if found[0].tolist() != found[1].tolist():
            different.append((n, m))
    assert not different, f"{len(different)} of 60 samples, such as (n, bins) {different[0]}"


@each_array_engine
@pytest.mark.parametrize("n", [100, 20_000])
def test_distinct_predictions_fill_the_bins_evenly(
    n: int, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "LANES_FROM", 10_000)
    monkeypatch.setattr(quantiles, "SORT_BELOW", 10_000)
    predictions = np.random.default_rng(6).permutation(n) / n
    with engine(engine_name):
        for m in (1, 3, 7, 15, 50):
            counts = reliability(np.zeros(n, int), predictions, bins=Quantile(m)).columns()["n"]
            assert sum(counts) == n
            assert max(counts) - min(counts) <= 1


@each_array_engine
def test_more_bins_than_rows_leaves_bins_empty_and_loses_no_row(engine_name: str) -> None:
    with engine(engine_name):
        columns = reliability([0, 1, 1], [0.2, 0.7, 0.9], bins=Quantile(2000)).columns()
    assert len(columns["n"]) == 2000
    assert sum(columns["n"]) == 3
    assert max(columns["n"]) == 1


@each_array_engine
@pytest.mark.parametrize("n", [7, 20, 101])
def test_by_rank_bins_hold_the_ranks_that_the_definition_says(n: int, engine_name: str) -> None:
    """Bin j holds the ranks (j-1)n/m < i <= jn/m of a stable sort, ties or not."""
    predictions = np.random.default_rng(7).integers(0, 4, n) / 4
    labels = np.random.default_rng(8).integers(0, 2, n)
    order = np.argsort(predictions, kind="stable")
    for m in (1, 2, 3, 6, 20):
        with engine(engine_name):
            table = bin_table(to_samples(labels, predictions), "binary", Quantile(m, ties="rank"))[
                0
            ]
        expected = [
            [i for i in range(1, n + 1) if Fraction((j - 1) * n, m) < i <= Fraction(j * n, m)]
            for j in range(1, m + 1)
        ]
        assert table.n[0].tolist() == [len(ranks) for ranks in expected]
        for ranks, hits in zip(expected, table.sum_wz[0].tolist(), strict=True):
            assert hits == labels[order[[i - 1 for i in ranks]]].sum() if ranks else hits == 0


# --- what it costs --------------------------------------------------------------------------------

N_LARGE = 2_500_000
# Bytes for the blocks in work and for the rows that may be sorted. A copy of the predictions is 20
# MB.
FIXED_AMOUNT = 16e6


def peak_of_selection(samples: Samples) -> int:
    tracemalloc.start()
    try:
        cuts_by("native", samples, 50)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@compiled_only
@pytest.mark.parametrize(
    ("shape", "weighting"),
    [
        ("uniform", "no weights"),
        ("uniform", "random weights"),
        ("crowded at 1", "no weights"),
        ("all equal", "random weights"),
    ],
)
def test_selection_needs_little_memory_whatever_n_is(shape: str, weighting: str) -> None:
    assert peak_of_selection(problem(shape, weighting, N_LARGE)) < FIXED_AMOUNT


@compiled_only
def test_rows_of_no_weight_do_not_fill_the_memory() -> None:
    """Mass alone does not tell how many rows a range holds: most rows here weigh nothing."""
    n = N_LARGE
    rng = np.random.default_rng(9)
    predictions = np.where(rng.random(n) < 0.01, rng.random(n), 0.5 + 1e-5 * rng.random(n))
    weights = (np.abs(predictions - 0.5) > 2e-5).astype(np.float64)
    # One row among the weightless ones holds 1/25 of all weight, so a sought rank is there.
    weights[np.argmin(np.abs(predictions - 0.500005))] = weights.sum() / 24
    samples = to_samples(np.zeros(n, np.uint8), predictions, sample_weight=weights)
    assert peak_of_selection(samples) < FIXED_AMOUNT


@pytest.mark.usefixtures("always_select")
def test_adaptive_error_is_the_same_number_from_both_engines() -> None:
    rng = np.random.default_rng(10)
    predictions = rng.random(9_000)
    labels = (rng.random(9_000) < predictions**1.3).astype(int)
    found = []
    for name in available():
        with engine(name):
            found.append(ace(labels, predictions, bins=15))
    assert found == pytest.approx([found[0]] * len(found), rel=1e-13)
    assert found[0] > 0.01
