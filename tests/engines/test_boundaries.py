"""Every prediction lies in the bin that the edges, as doubles, say: on every engine and every
path.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant import Edges, EqualWidth, InputError, LevelSets, reliability
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Closed, Cuts, as_rule, fixed_cuts
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table, classwise_table
from every_engine import each_array_engine, engine

Array = NDArray[Any]

every_side = pytest.mark.parametrize("closed", ["left", "right"])


def ratio_edges(m: int) -> list[float]:
    """The inner edges j/m, each the double nearest to the fraction."""
    return [float(Fraction(j, m)) for j in range(1, m)]


def to_single(x: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", x))[0])


def to_half(x: float) -> float:
    return float(struct.unpack("<e", struct.pack("<e", x))[0])


def expected_bins(predictions: Array, inner_edges: Sequence[float], closed: Closed) -> list[int]:
    """The bin of each prediction by bisection of plain Python floats."""
    find = bisect_right if closed == "left" else bisect_left
    return [find(inner_edges, u) for u in predictions.astype(np.float64).tolist()]


def around(inner_edges: Sequence[float], dtype: Any = np.float64) -> Array:
    """0, 1, the smallest prediction above 0, each edge, and its neighbours one ulp away."""
    edges = np.array([0.0, 1.0, *inner_edges]).astype(dtype)
    smallest = np.array([np.finfo(dtype).smallest_subnormal, -0.0], dtype=dtype)
    below = np.nextafter(edges, np.array(-1, dtype=dtype))
    above = np.nextafter(edges, np.array(2, dtype=dtype))
    predictions = np.concatenate([edges, below, above, smallest])
    predictions = predictions[(predictions >= 0) & (predictions <= 1)]
    return np.random.default_rng(0).permutation(predictions)


def same_rows(table: BinTable, r: int, bins: list[int], u: Array, z: Array, w: Array) -> None:
    """The table holds these rows in these bins.

    Weights and labels are drawn at random, so rows that change places change some sum.
    """
    index, m = np.array(bins), table.n_bins
    found = np.stack([table.n[r], table.sum_w[r], table.sum_wz[r]])
    expected = np.stack([np.bincount(index, each, minlength=m) for each in (None, w, w * z)])
    np.testing.assert_array_equal(found, expected, "numbers, weights and targets of bins")
    np.testing.assert_allclose(
        table.sum_wu[r], np.bincount(index, w * u, minlength=m), rtol=1e-13, atol=0
    )


def variants(n: int) -> Iterator[tuple[Array, Array | None]]:
    """Targets and weights in the types that take different paths through the kernels."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, n)
    yield labels.astype(np.uint8), None
    yield labels.astype(np.int32), None
    yield labels.astype(np.int64), None
    yield labels.astype(np.float64), None
    yield labels.astype(np.uint8), rng.integers(1, 1000, n).astype(np.float64)
    yield rng.integers(0, 5, n) / 4, rng.integers(1, 1000, n).astype(np.float64)


def check_binary(
    rule: EqualWidth | Edges, predictions: Array, bins: list[int], nth: int | None = None
) -> None:
    """In every variant; or in one, where many rules in turn meet all of them."""
    every = list(variants(predictions.size))
    for targets, weights in every if nth is None else [every[nth % len(every)]]:
        samples = to_samples(targets, predictions, sample_weight=weights)
        table = bin_table(samples, "binary", rule)[0]
        ones = np.ones(predictions.size) if weights is None else weights
        same_rows(table, 0, bins, predictions.astype(np.float64), targets.astype(np.float64), ones)


def rows_from(predictions: Array, n_classes: int) -> Array:
    """Rows whose first entry is the prediction and whose other entries share what is left."""
    rest = (1 - predictions[:, None]) / np.array(n_classes - 1, dtype=predictions.dtype)
    return np.concatenate(
        [predictions[:, None], np.repeat(rest, n_classes - 1, axis=1)],
        axis=1,
        dtype=predictions.dtype,
    )


@each_array_engine
@every_side
def test_equal_width_table_of_a_binary_problem(engine_name: str, closed: Closed) -> None:
    with engine(engine_name):
        for m in range(1, 101):
            edges = ratio_edges(m)
            predictions = around(edges)
            bins = expected_bins(predictions, edges, closed)
            check_binary(EqualWidth(m, closed), predictions, bins, m)


@each_array_engine
@every_side
def test_equal_width_table_of_the_top_label(engine_name: str, closed: Closed) -> None:
    with engine(engine_name):
        for m in range(1, 101):
            edges = ratio_edges(m)
            rows = rows_from(around(edges), 3)
            labels = np.random.default_rng(2).integers(0, 3, len(rows))
            top = np.array([row.index(max(row)) for row in rows.tolist()])
            confidences = rows.max(axis=1)
            bins = expected_bins(confidences, edges, closed)
            ones = np.random.default_rng(3).integers(1, 99 if m % 2 else 2, len(rows)) * 1.0
            samples = to_samples(labels, rows, sample_weight=ones if m % 2 else None)
            table = bin_table(samples, "confidence", EqualWidth(m, closed))[0]
            same_rows(table, 0, bins, confidences, (labels == top) * 1.0, ones)


@each_array_engine
@every_side
def test_equal_width_table_of_the_folded_binary_problem(engine_name: str, closed: Closed) -> None:
    """(n,) predictions asked for their top label: the larger of u and 1 - u."""
    with engine(engine_name):
        for m in (1, 2, 3, 10, 15, 64, 100):
            edges = ratio_edges(m)
            predictions = around(edges)
            labels = np.random.default_rng(4).integers(0, 2, predictions.size)
            confidences = np.array([max(u, 1 - u) for u in predictions.tolist()])
            hits = np.array(
                [y if u > 0.5 else 1 - y for u, y in zip(predictions, labels, strict=True)],
                dtype=float,
            )
            table = bin_table(to_samples(labels, predictions), "confidence", EqualWidth(m, closed))[
                0
            ]
            bins = expected_bins(confidences, edges, closed)
            same_rows(table, 0, bins, confidences, hits, np.ones(predictions.size))


@each_array_engine
@every_side
@pytest.mark.parametrize("n_classes", [2, 9])
def test_equal_width_table_of_every_class(engine_name: str, closed: Closed, n_classes: int) -> None:
    """Hard unweighted rows, weighted rows and soft rows are summed by different loops."""
    rng = np.random.default_rng(5)
    with engine(engine_name):
        for m in [*range(1, 33), 50, 99, 100]:
            edges = ratio_edges(m)
            rows = rows_from(around(edges), n_classes)
            labels = rng.integers(0, n_classes, len(rows))
            one_hot = np.eye(n_classes)[labels]
            soft = np.roll(one_hot, 1, axis=1) / 4 + one_hot * 3 / 4
            weights = rng.integers(1, 99, len(rows)) * 1.0
            bins = [expected_bins(rows[:, r], edges, closed) for r in range(n_classes)]
            for targets, by_class, w in (
                (labels, one_hot, None),
                (labels, one_hot, weights) if m % 2 else (soft, soft, None),
            ):
                samples = to_samples(targets, rows, sample_weight=w)
                table = classwise_table(samples, EqualWidth(m, closed))[0]
                ones = np.ones(len(rows)) if w is None else w
                for r in range(n_classes):
                    same_rows(table, r, bins[r], rows[:, r], by_class[:, r], ones)


@each_array_engine
@every_side
@pytest.mark.parametrize(("dtype", "rounded"), [(np.float32, to_single), (np.float16, to_half)])
def test_low_precision_predictions_meet_edges_rounded_alike(
    engine_name: str, closed: Closed, dtype: Any, rounded: Any
) -> None:
    with engine(engine_name):
        for m in range(1, 101):
            edges = [rounded(edge) for edge in ratio_edges(m)]
            predictions = around(edges, dtype)
            bins = expected_bins(predictions, edges, closed)
            check_binary(EqualWidth(m, closed), predictions, bins, m)


@each_array_engine
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("m", [10, 15, 20, 100])
def test_the_prediction_k_over_m_opens_bin_k_in_every_precision(
    engine_name: str, m: int, dtype: Any
) -> None:
    predictions = (np.arange(m) / m).astype(dtype)
    with engine(engine_name):
        table = reliability(np.zeros(m, int), predictions, bins=m)
    assert table.columns()["n"] == [1] * m


@each_array_engine
@every_side
@pytest.mark.parametrize("m", [10, 30])
def test_low_precision_rows_meet_edges_rounded_alike(
    engine_name: str, closed: Closed, m: int
) -> None:
    edges = [to_single(edge) for edge in ratio_edges(m)]
    rows = rows_from(around(edges, np.float32), 2)
    labels = np.random.default_rng(6).integers(0, 2, len(rows))
    with engine(engine_name):
        samples = to_samples(labels, rows)
        top = bin_table(samples, "confidence", EqualWidth(m, closed))[0]
        classes = classwise_table(samples, EqualWidth(m, closed))[0]
    assert rows.dtype == np.float32
    as_doubles, ones = rows.astype(np.float64), np.ones(len(rows))
    for r in range(2):
        bins = expected_bins(rows[:, r], edges, closed)
        same_rows(classes, r, bins, as_doubles[:, r], (labels == r) * 1.0, ones)
    bins = expected_bins(rows.max(axis=1), edges, closed)
    hits = (labels == rows.argmax(axis=1)) * 1.0
    same_rows(top, 0, bins, as_doubles.max(axis=1), hits, ones)


CUSTOM_EDGES = {
    "uneven": [0.1, 0.25, 0.3, 0.9],
    "beyond both ends": [-0.5, -1e-300, 0.5, 1.5],
    "at the ends' neighbours": [5e-324, 0.5, float(np.nextafter(1.0, 0.0))],
    "a hair apart": [0.5, float(np.nextafter(0.5, 1.0)), 0.6, float(np.nextafter(0.6, 0.0)) + 0.1],
}


@each_array_engine
@every_side
@pytest.mark.parametrize("kind", CUSTOM_EDGES)
def test_custom_edges(engine_name: str, closed: Closed, kind: str) -> None:
    inner = CUSTOM_EDGES[kind]
    predictions = around([edge for edge in inner if 0 <= edge <= 1])
    rule = Edges([-1.0, *inner, 2.0], closed)
    with engine(engine_name):
        check_binary(rule, predictions, expected_bins(predictions, inner, closed))


@each_array_engine
@every_side
def test_edges_at_exactly_0_and_1_are_the_ends_and_hold_every_prediction(
    engine_name: str, closed: Closed
) -> None:
    predictions = np.array([0.0, 5e-324, 0.5, np.nextafter(1.0, 0.0), 1.0])
    with engine(engine_name):
        check_binary(
            Edges([0.0, 0.5, 1.0], closed), predictions, [0, 0, int(closed == "left"), 1, 1]
        )


@each_array_engine
@every_side
def test_five_thousand_bins(engine_name: str, closed: Closed) -> None:
    edges = ratio_edges(5000)
    predictions = around(edges)
    with engine(engine_name):
        check_binary(
            EqualWidth(5000, closed), predictions, expected_bins(predictions, edges, closed)
        )
        rows = rows_from(predictions, 2)
        labels = np.zeros(len(rows), int)
        table = classwise_table(to_samples(labels, rows), EqualWidth(5000, closed))[0]
    for r in range(2):
        bins = expected_bins(rows[:, r], edges, closed)
        same_rows(table, r, bins, rows[:, r], (labels == r) * 1.0, np.ones(len(rows)))


def crowd(around_what: float, size: int) -> list[float]:
    """Neighbouring doubles: no table of cells can tell their bins apart."""
    chain = [around_what]
    for _ in range(size - 1):
        chain.append(float(np.nextafter(chain[-1], 1.0)))
    return chain


@each_array_engine
@every_side
def test_edges_too_crowded_for_the_look_up_table(engine_name: str, closed: Closed) -> None:
    inner = [*crowd(1e-310, 7), *crowd(0.3, 40), 0.4, *crowd(0.5, 200), *crowd(1 - 1e-15, 5)]
    rule = Edges([0.0, *inner, 1.0], closed)
    cuts = fixed_cuts(rule, np.dtype(np.float64))
    assert cuts.crowded, "these edges must take the path that searches"
    predictions = around(inner)
    with engine(engine_name):
        check_binary(rule, predictions, expected_bins(predictions, inner, closed))
        rows = rows_from(predictions, 2)
        table = classwise_table(to_samples(np.zeros(len(rows), int), rows), rule)[0]
    for r in range(2):
        bins = expected_bins(rows[:, r], inner, closed)
        same_rows(table, r, bins, rows[:, r], np.full(len(rows), 1.0 - r), np.ones(len(rows)))


@each_array_engine
def test_more_bins_than_half_precision_has_numbers(engine_name: str) -> None:
    """Edges that round to the same number leave the bins between them empty."""
    edges = [to_half(edge) for edge in ratio_edges(20_000)]
    predictions = around(edges, np.float16)
    with engine(engine_name):
        table = bin_table(
            to_samples(np.ones(predictions.size, int), predictions), "binary", EqualWidth(20_000)
        )
    bins = expected_bins(predictions, edges, "left")
    same_rows(
        table[0],
        0,
        bins,
        predictions.astype(np.float64),
        np.ones(predictions.size),
        np.ones(predictions.size),
    )


@each_array_engine
@every_side
def test_overshoot_is_binned_where_it_is_brought_back_to(engine_name: str, closed: Closed) -> None:
    predictions = np.array([-9e-5, -1e-12, 1 + 1e-12, 1 + 9e-5])
    with engine(engine_name):
        table = reliability([0, 0, 1, 1], predictions, bins=EqualWidth(10, closed))
    columns = table.columns()
    assert columns["n"] == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert (columns["mean_predicted"][0], columns["mean_predicted"][-1]) == (0.0, 1.0)


@each_array_engine
def test_one_is_dropped_only_on_request_and_counted(engine_name: str) -> None:
    predictions = np.array([0.0, 0.95, np.nextafter(1.0, 0.0), 1.0, 1.0])
    with engine(engine_name):
        kept = reliability([0, 1, 1, 1, 1], predictions, bins=10)
        dropped = reliability([0, 1, 1, 1, 1], predictions, bins=EqualWidth(10, drop_one=True))
    assert (kept.n, kept.n_dropped, kept.columns()["n"][-1]) == (5, 0, 4)
    assert (dropped.n, dropped.n_dropped, dropped.columns()["n"][-1]) == (3, 2, 2)


@each_array_engine
def test_level_sets_tell_neighbouring_doubles_apart(engine_name: str) -> None:
    predictions = np.array([0.5, np.nextafter(0.5, 1.0), 0.5, 0.0, -0.0, 1.0])
    with engine(engine_name):
        table = bin_table(to_samples(np.zeros(6, int), predictions), "binary", LevelSets())[0]
    assert table.n.tolist() == [[2, 2, 1, 1]]


@pytest.mark.parametrize("m", range(1, 101))
def test_the_edges_shown_are_the_edges_used(m: int) -> None:
    columns = reliability([0, 1], [0.0, 1.0], bins=m).columns()
    assert columns["lower"][1:] == columns["upper"][:-1] == ratio_edges(m)
    assert (columns["lower"][0], columns["upper"][-1]) == (0.0, 1.0)


@pytest.mark.parametrize("bins", [[0.0, 0.5, 1.0], (0, 0.5, 1), np.array([0, 0.5, 1])])
def test_edges_may_come_as_any_sequence(bins: Any) -> None:
    assert as_rule(bins) == Edges([0.0, 0.5, 1.0])


def test_a_rule_does_not_take_a_side_it_does_not_know() -> None:
    with pytest.raises(InputError, match="did you mean 'left'"):
        EqualWidth(10, "leftt")  # type: ignore[arg-type]


@pytest.mark.parametrize("inner", [[0.1], [0.1, 0.1000001, 0.1000002, 0.1000003], [1e-9]])
def test_the_table_of_edges_has_a_cell_for_1_and_one_more(inner):
    """However low the last edge is: kernels read a cell's end without a check."""
    cuts = Cuts(np.array(inner))
    cells = cuts.start.size - 2
    assert cells >= 1024 and cells & (cells - 1) == 0
    assert cuts.start[-2:].tolist() == [len(inner), len(inner)]
