"""What every measure of the catalogue must hold to, whatever it measures."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import calibrant as cal
from calibrant._core.distances import entropy
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._engines.arrays.counting import bin_table, classwise_table
from calibrant._engines.arrays.losses import loss_sums
from calibrant._engines.arrays.vectors import vector_table
from calibrant._measures.catalogue import find
from every_engine import available, each_array_engine, engine

SHAPES = ("binary", "multiclass")
KINDS = ("hard", "soft")
# What refuses hard labels (it has parts) is held to these laws in tests/votes.
NAMES = {s: [m.name for m in cal.catalogue(s) if m.parts is None] for s in SHAPES}
# Each test goes through all measures: of each alone, most take less than a test's overhead.
every_way = pytest.mark.parametrize(
    ("shape", "kind"), [(shape, kind) for shape in SHAPES for kind in KINDS]
)
every_shape = pytest.mark.parametrize("shape", SHAPES)


@contextmanager
def about(name: str) -> Iterator[None]:
    """What fails in here says of which measure."""
    try:
        yield
    except Exception as error:
        error.add_note(f"for {name}")
        raise


# The same samples every time: a law that holds today holds tomorrow.
few = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

# --- samples --------------------------------------------------------------------------------------
# Sums of whole weights and of targets in sixteenths are exact. A rounding error can then not decide
# where a rank falls or whether a mean target falls: laws that rounding may break have tests of
# their own, at the end.

TENTHS = [j / 10 for j in range(11)]
REPORTS = [*TENTHS, 1 / 3, 2 / 15, 0.05, 0.55, *(math.nextafter(x, 0.5) for x in TENTHS)]
K = 3
# Tenths and sevenths on the simplex whose largest entry is alone: renaming classes cannot change
# which class is on top.
ROWS = [
    tuple(share / whole for share in shares)
    for whole in (7, 10)
    for shares in product(range(whole + 1), repeat=K)
    if sum(shares) == whole and sorted(shares)[-1] > sorted(shares)[-2]
]
SOFT_ROWS = [
    tuple(share / 16 for share in shares)
    for shares in product(range(0, 17, 2), repeat=K)
    if sum(shares) == 16
]
WEIGHTS = st.integers(0, 3)


@dataclass(frozen=True)
class Sample:
    """Targets, predictions and whole weights."""

    y: Any
    p: Any
    w: Any

    def take(self, rows: Any) -> Sample:
        w = None if self.w is None else self.w[rows]
        return Sample(self.y[rows], self.p[rows], w)


@cache
def samples_of(shape: str, kind: str) -> st.SearchStrategy[Sample]:
    if shape == "binary":
        prediction: st.SearchStrategy[Any] = st.sampled_from(REPORTS) | st.floats(0, 1)
        target: st.SearchStrategy[Any] = (
            st.integers(0, 1) if kind == "hard" else st.integers(0, 16).map(lambda j: j / 16)
        )
        first = (0.45, 1 if kind == "hard" else 0.25, 1)
    else:
        prediction = st.sampled_from(ROWS)
        target = st.integers(0, K - 1) if kind == "hard" else st.sampled_from(SOFT_ROWS)
        first = (ROWS[20], 1 if kind == "hard" else SOFT_ROWS[20], 1)

    def build(rows: list[tuple[Any, Any, int]]) -> Sample:
        p, y, w = zip(first, *rows, strict=True)  # one ordinary row, so that every measure applies
        return Sample(np.array(y), np.array(p, dtype=float), np.array(w))

    return st.lists(st.tuples(prediction, target, WEIGHTS), min_size=5, max_size=11).map(build)


def random_sample(shape: str, kind: str, n: int = 300, seed: int = 0) -> Sample:
    """Continuous predictions and targets, and weights with nothing whole about them."""
    rng = np.random.default_rng([seed, n, len(shape), len(kind)])
    if shape == "binary":
        p = rng.random(n)
        y: Any = rng.random(n) if kind == "soft" else (rng.random(n) < p).astype(np.int64)
    else:
        p = rng.dirichlet(np.ones(K), n)
        y = rng.dirichlet(np.ones(K), n) if kind == "soft" else rng.integers(0, K, n)
    return Sample(y, p, rng.random(n))


def value(name: str, y: Any, p: Any, w: Any = None, bins: Any = 5) -> float:
    """The measure; NaN where it has no value (a ranking of labels that are all alike)."""
    try:
        return cal.evaluate(y, p, measures=[name], bins=bins, sample_weight=w)[name]
    except cal.NotDefined:
        assert cal.evaluate(y, p, measures=["ece"], sample_weight=w)["ece"] >= 0
        return math.nan


def values(shape: str, sample: Sample, *, turn: int = 0) -> dict[str, float]:
    """All measures of a sample: most from one evaluation, every eighth alone, and in each turn and
    with each number of rows another eighth. So both ways to a number are held to a law, and often
    against each other.
    """
    y, p, w = sample.y, sample.p, sample.w
    turn += len(y)
    alone = {
        name
        for at, name in enumerate(NAMES[shape])
        if (at + turn) % 8 == 0 or find(name, shape).is_ranking  # type: ignore[arg-type]
    }  # (a ranking of labels that are all alike has no value, and all would have none)
    rest = [name for name in NAMES[shape] if name not in alone]
    found: dict[str, float] = {}
    if rest:
        found |= cal.evaluate(y, p, measures=rest, bins=5, sample_weight=w).values
    return found | {name: value(name, y, p, w) for name in alone}


def same(name: str, a: float, b: float) -> None:
    if name == "debiased_l2":  # the root blows up the rounding of the difference under it
        a, b = a**2, b**2
    assert a == pytest.approx(b, rel=1e-11, abs=1e-13, nan_ok=True), name


# --- rows and weights -----------------------------------------------------------------------------


@every_way
@few
@given(data=st.data())
def test_the_order_of_rows_does_not_matter(shape: str, kind: str, data: Any) -> None:
    sample = data.draw(samples_of(shape, kind))
    shuffled = sample.take(np.array(data.draw(st.permutations(range(len(sample.y))))))
    expected, found = values(shape, sample), values(shape, shuffled, turn=1)
    for name in NAMES[shape]:
        same(name, found[name], expected[name])


# What these take off or add is the noise of single rows: a row of weight 2 is one draw that counts
# twice, and noisier than two rows.
OF_ROWS = {"confidence_ce", "debiased_l2"}


@every_way
@few
@given(data=st.data())
def test_a_whole_weight_is_a_repetition(shape: str, kind: str, data: Any) -> None:
    sample = data.draw(samples_of(shape, kind))
    repeated = sample.take(np.repeat(np.arange(len(sample.y)), sample.w))
    expected = values(shape, Sample(repeated.y, repeated.p, None))
    found = values(shape, sample, turn=1)
    for name in (n for n in NAMES[shape] if n not in OF_ROWS):
        same(name, found[name], expected[name])


@every_way
@few
@given(data=st.data())
def test_a_row_of_no_weight_is_no_row(shape: str, kind: str, data: Any) -> None:
    sample = data.draw(samples_of(shape, kind))
    held = sample.take(sample.w > 0)
    expected, found = values(shape, held), values(shape, sample, turn=1)
    for name in NAMES[shape]:
        same(name, found[name], expected[name])


@every_way
@few
@given(data=st.data())
def test_no_weights_are_weights_of_one(shape: str, kind: str, data: Any) -> None:
    sample = data.draw(samples_of(shape, kind))
    ones = np.ones(len(sample.y))
    weighted = values(shape, Sample(sample.y, sample.p, ones))
    plain = values(shape, Sample(sample.y, sample.p, None), turn=1)
    for name in NAMES[shape]:
        same(name, plain[name], weighted[name])


@every_way
def test_only_shares_of_weight_matter(shape: str, kind: str) -> None:
    sample = random_sample(shape, kind)
    for name in NAMES[shape]:
        if find(name, shape).claims.weighted is False:  # type: ignore[arg-type]
            continue  # its weights count rows
        once = value(name, sample.y, sample.p, sample.w)
        for scale in (7e-3, 1e6):
            scaled = value(name, sample.y, sample.p, scale * sample.w)
            expected = pytest.approx(once, rel=1e-12, abs=0, nan_ok=True)
            assert scaled == expected, (name, scale)


# --- classes --------------------------------------------------------------------------------------


# Of classes on a scale, which may be read from either end and in no other order.
ORDERED = {"wasserstein"}


@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
def test_the_names_of_classes_do_not_matter(kind: str, data: Any) -> None:
    sample = data.draw(samples_of("multiclass", kind))
    order = data.draw(st.sampled_from(list(permutations(range(K)))))
    columns = np.array(order)
    y = sample.y[:, columns] if kind == "soft" else np.argsort(columns)[sample.y]
    expected = values("multiclass", sample)
    found = values("multiclass", Sample(y, sample.p[:, columns], sample.w), turn=1)
    for name in NAMES["multiclass"]:
        if name in ORDERED and order not in (tuple(range(K)), tuple(range(K))[::-1]):
            continue
        same(name, found[name], expected[name])


# Not the Kolmogorov-Smirnov error: partial sums from the other end differ by the total. Nor what
# calls y = 1 right, nor the distances to R's local regression, which cuts after the lower half;
# the error of Humanity's Last Exam leaves out the highest run.
ONE_SIDED = {"ks_error", "hle_rms", "aurc", "accuracy_at_coverage", "ici", "e50", "e90", "emax"}


@pytest.mark.parametrize("kind", KINDS)
def test_zero_and_one_may_be_exchanged(kind: str) -> None:
    sample = random_sample("binary", kind)
    # An even number of distinct predictions, none of them on an edge or at a threshold: mirrored
    # bins are bins.
    p = 0.02 + 0.96 * sample.p
    for name in (n for n in NAMES["binary"] if n not in ONE_SIDED):
        same(name, value(name, 1 - sample.y, 1 - p), value(name, sample.y, p))


# --- values ---------------------------------------------------------------------------------------


def in_range(name: str, shape: str, sample: Sample, w: Any, found: float | None = None) -> None:
    measure = find(name, shape)  # type: ignore[arg-type]
    # Bounds that depend on the sample are declared in words.
    k = 2 if shape == "binary" else K
    bounds = {"log k": math.log(k), "k - 1": k - 1}
    high = measure.high if math.isfinite(measure.high) else bounds[measure.high_text]
    # Parts that are differences of sums may miss an end by the sums' rounding.
    slack = 1e-13 * max(1.0, high)
    found = value(name, sample.y, sample.p, w) if found is None else found
    assert math.isnan(found) or measure.low - slack <= found <= high + slack, name


@every_way
@few
@given(data=st.data())
def test_values_lie_in_the_declared_range(shape: str, kind: str, data: Any) -> None:
    sample = data.draw(samples_of(shape, kind))
    for name, found in values(shape, sample).items():
        in_range(name, shape, sample, sample.w, found)


def extreme_samples(shape: str) -> list[Sample]:
    """As wrong and as right as can be, alone and in a crowd."""
    p = np.array([0.0, 1.0]) if shape == "binary" else np.eye(K)[:2]
    wrong, right = ([1, 0], [0, 1])
    return [
        Sample(np.array(y), p, None).take(rows)
        for y in (wrong, right)
        for rows in ([0], [1], [0, 1] * 20)
    ]


@every_shape
def test_the_extremes_lie_in_the_declared_range(shape: str) -> None:
    for sample, name in product(extreme_samples(shape), NAMES[shape]):
        if name == "tace" and (sample.p <= 0.01).all():
            continue  # nothing is above its threshold, and it says so
        with about(name):
            in_range(name, shape, sample, None)


@every_shape
def test_weights_of_less_than_one_in_all_keep_to_the_range(shape: str) -> None:
    sample = random_sample(shape, "hard", n=40)
    shares = sample.w / sample.w.sum() / 8
    for name in NAMES[shape]:
        in_range(name, shape, sample, shares)


def same_in_every_type(shape: str, y: Any, p: Any, w: Any, labels: list[Any]) -> None:
    """To the last bit, by the same way: the types take turns in which measures are alone."""
    expected = [values(shape, Sample(y, p, w), turn=turn) for turn in (0, 4)]
    for turn, each in enumerate(labels):
        found = values(shape, Sample(each, p, w), turn=4 * (turn % 2))
        assert found == expected[turn % 2], (each.dtype, each.shape)


@each_array_engine
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_labels_have_one_value_in_every_type(weighted: bool, engine_name: str) -> None:
    sample = random_sample("binary", "hard")
    w = sample.w if weighted else None
    kinds = (np.bool_, np.uint8, np.int8, np.int32, np.uint64, np.float32, np.float64)
    with engine(engine_name):
        same_in_every_type("binary", sample.y, sample.p, w, [sample.y.astype(k) for k in kinds])
        expected = values("binary", Sample(sample.y, sample.p, w))
        assert values("binary", Sample(sample.y.tolist(), sample.p.tolist(), w)) == expected


@each_array_engine
@pytest.mark.parametrize("weighted", [False, True])
def test_class_labels_have_one_value_in_every_type(weighted: bool, engine_name: str) -> None:
    sample = random_sample("multiclass", "hard")
    w = sample.w if weighted else None
    one_hot = np.eye(K)[sample.y]
    labels = [sample.y.astype(kind) for kind in (np.uint8, np.int32, np.float64)]
    labels += [one_hot.astype(kind) for kind in (np.int64, np.float32, np.float64)]
    with engine(engine_name):
        same_in_every_type("multiclass", sample.y, sample.p, w, labels)


# --- arrays ---------------------------------------------------------------------------------------


@every_way
def test_arrays_are_left_as_they_are(shape: str, kind: str) -> None:
    for name in NAMES[shape]:
        sample = random_sample(shape, kind, n=40)
        arrays = [sample.y, sample.p, sample.w]
        before = [array.copy() for array in arrays]
        written = value(name, *arrays)
        for array, copy in zip(arrays, before, strict=True):
            assert array.tobytes() == copy.tobytes(), name
            array.setflags(write=False)
        with about(name):
            assert value(name, *arrays) == written


@every_way
def test_the_layout_of_arrays_does_not_matter(shape: str, kind: str) -> None:
    sample = random_sample(shape, kind, n=40)
    for name in NAMES[shape]:
        expected = value(name, sample.y, sample.p, sample.w)
        for lay in (np.asfortranarray, spread_out, backwards):
            found = value(name, lay(sample.y), lay(sample.p), lay(sample.w))
            assert found == expected, (name, lay)


def spread_out(array: Any) -> Any:
    """The same numbers, each second one of a larger array."""
    wide = np.full((2 * len(array), *array.shape[1:]), 9, dtype=array.dtype)
    wide[::2] = array
    return wide[::2]


def backwards(array: Any) -> Any:
    """The same numbers, read from the end of memory to its start."""
    return array[::-1].copy()[::-1]


# --- ways to the same number ----------------------------------------------------------------------


def by_its_function(name: str, shape: str, y: Any, p: Any, w: Any, bins: Any) -> float:
    """The value as the catalogue says that users get it: ``ece(norm='l2')``."""
    written = find(name, shape).function  # type: ignore[arg-type]
    called, _, options = written.rstrip(")").partition("(")
    function = getattr(cal, called)
    takes_bins = "bins" in inspect.signature(function).parameters
    if called in ("ace", "tace") and isinstance(bins, cal.Edges | cal.LevelSets):
        # They are defined by bins of equal mass, and keep those whatever rule is given for all.
        with pytest.raises(cal.InputError, match="defined by bins of equal mass"):
            function(y, p, bins=bins)
        bins = cal.Quantile(bins.m if isinstance(bins, cal.Edges) else 15)
    keywords = eval(f"dict({options})") | ({"bins": bins} if takes_bins else {})
    result = function(y, p, sample_weight=w, **keywords)
    if called == "brier_decomposition":
        return float(getattr(result, name.removeprefix("brier_")))
    assert isinstance(result, float)
    return result


@each_array_engine
@every_way
def test_evaluate_gives_the_number_of_the_function(shape: str, kind: str, engine_name: str) -> None:
    sample = random_sample(shape, kind)
    edges = cal.Edges([0.0, 0.15, 0.4, 0.9, 1.0], closed="right")
    every_bins = (15, 4, edges, cal.Quantile(6), cal.LevelSets())
    # Every two of rule, engine, kind and weights meet; what has no bins, with four rules.
    nth = available().index(engine_name)
    for name in NAMES[shape]:
        some = every_bins if find(name, shape).is_binned else every_bins[:4]  # type: ignore[arg-type]
        for at, bins in enumerate(some):
            if (nth + (kind == "soft") + at) % 2:
                continue
            w = sample.w if (nth + at // 2) % 2 else None
            with engine(engine_name), about(name):
                whole = value(name, sample.y, sample.p, w, bins)
                assert whole == by_its_function(name, shape, sample.y, sample.p, w, bins), bins


def test_evaluate_gives_every_measure_that_applies() -> None:
    for shape in SHAPES:
        sample = random_sample(shape, "soft")
        on_request = [measure.name for measure in cal.catalogue(shape) if measure.on_request]
        together = cal.evaluate(sample.y, sample.p).values
        others = {measure.name for measure in cal.catalogue(shape)} - set(on_request)
        assert set(together) == others
        if on_request:
            together |= cal.evaluate(sample.y, sample.p, measures=on_request).values
        for name, whole in together.items():
            assert whole == value(name, sample.y, sample.p, bins=15), name


@pytest.mark.parametrize(
    "rule",
    [
        cal.EqualWidth(5, closed="right"),
        cal.EqualWidth(5, drop_one=True),
        cal.Quantile(5),
        cal.Quantile(5, ties="rank"),
        cal.Edges([0, 0.4, 1]),
        cal.LevelSets(),
    ],
    ids=str,
)
@pytest.mark.parametrize("shape", SHAPES)
def test_evaluate_takes_every_rule(shape: str, rule: Any) -> None:
    sample = random_sample(shape, "hard", n=31)
    together = cal.evaluate(sample.y, sample.p, bins=rule)
    assert together["ece"] == cal.ece(sample.y, sample.p, bins=rule)


@every_way
def test_engines_agree(shape: str, kind: str) -> None:
    sample = random_sample(shape, kind)
    for name in NAMES[shape]:
        values = []
        for name_of_engine in available():
            with engine(name_of_engine):
                values.append(value(name, sample.y, sample.p, sample.w))
        for other in values[1:]:
            same(name, other, values[0])


# --- tables of parts add up -----------------------------------------------------------------------

FIXED_RULES = {
    "left": cal.EqualWidth(10),
    "right": cal.EqualWidth(10, closed="right"),
    "dropping": cal.EqualWidth(10, drop_one=True),
    "edges": cal.Edges([0, 0.3, 0.31, 1]),
}
every_fixed_rule = pytest.mark.parametrize("rule", FIXED_RULES)
more = settings(few, max_examples=6)


def halves(data: Any, shape: str, kind: str) -> tuple[Samples, Samples, Samples]:
    one = data.draw(samples_of(shape, kind))
    other = data.draw(samples_of(shape, kind))
    weighted = data.draw(st.booleans())

    def accepted(sample: Sample) -> Samples:
        return to_samples(sample.y, sample.p, sample_weight=sample.w if weighted else None)

    both = Sample(*(np.concatenate([getattr(s, f) for s in (one, other)]) for f in ("y", "p", "w")))
    return accepted(one), accepted(other), accepted(both)


def equal_arrays(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-300)


@every_fixed_rule
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "notion"),
    [("binary", "binary"), ("binary", "confidence"), ("multiclass", "confidence")],
)
@more
@given(data=st.data())
def test_bin_tables_add_up(shape: str, notion: Any, kind: str, rule: str, data: Any) -> None:
    tables = [bin_table(s, notion, FIXED_RULES[rule])[0] for s in halves(data, shape, kind)]
    total = tables[0] + tables[1]
    equal_arrays(total.sums, tables[2].sums)
    equal_arrays(total.dropped, tables[2].dropped)


@every_fixed_rule
@pytest.mark.parametrize("kind", KINDS)
@more
@given(data=st.data())
def test_classwise_tables_add_up(kind: str, rule: str, data: Any) -> None:
    parts = halves(data, "multiclass", kind)
    tables = [classwise_table(s, FIXED_RULES[rule])[0] for s in parts]
    total = tables[0] + tables[1]
    equal_arrays(total.sums, tables[2].sums)
    equal_arrays(total.dropped, tables[2].dropped)


@pytest.mark.parametrize("distribution", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@more
@given(data=st.data())
def test_loss_sums_add_up(shape: str, kind: str, distribution: bool, data: Any) -> None:
    parts = halves(data, shape, kind)
    sums = [loss_sums(s, distribution=distribution)[0] for s in parts]
    total = sums[0] + sums[1]
    assert total.has_distribution == sums[2].has_distribution == distribution
    assert total.n_classes == sums[2].n_classes
    # Signed terms may cancel: what is left has the rounding of what went in.
    np.testing.assert_allclose(total.sums, sums[2].sums, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rule", ["left", "right", "edges"])
@pytest.mark.parametrize("phi", [None, np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]])])
@pytest.mark.parametrize("kind", KINDS)
@more
@given(data=st.data())
def test_vector_tables_add_up(kind: str, phi: Any, rule: str, data: Any) -> None:
    parts = halves(data, "multiclass", kind)
    tables = [vector_table(s, FIXED_RULES[rule], phi)[0] for s in parts]
    total = tables[0] + tables[1]
    equal_arrays(total.sum_w, tables[2].sum_w)
    # Residuals of both signs may cancel: what is left has the rounding of what went in.
    np.testing.assert_allclose(total.residual, tables[2].residual, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_of_different_bins_do_not_add_up(shape: str) -> None:
    sample = random_sample(shape, "hard", n=20)
    samples = to_samples(sample.y, sample.p)
    notion: Any = "binary" if shape == "binary" else "confidence"
    one = bin_table(samples, notion, cal.EqualWidth(10))[0]
    with pytest.raises(ValueError, match="shapes"):
        one + bin_table(samples, notion, cal.EqualWidth(9))[0]


@pytest.mark.parametrize(
    "rule",
    [*FIXED_RULES.values(), cal.Quantile(4), cal.Quantile(4, ties="rank"), cal.LevelSets()],
    ids=str,
)
@pytest.mark.parametrize("shape", SHAPES)
@more
@given(data=st.data())
def test_every_row_is_in_a_bin_or_counted_as_dropped(rule: Any, shape: str, data: Any) -> None:
    sample = data.draw(samples_of(shape, "hard"))
    table = cal.reliability(sample.y, sample.p, bins=rule)
    assert table.n + table.n_dropped == len(sample.y)
    top = sample.p if shape == "binary" else sample.p.max(axis=1)
    dropped = int((top == 1.0).sum()) if getattr(rule, "drop_one", False) else 0
    assert table.n_dropped == dropped


# --- where rounding must not decide ---------------------------------------------------------------


def test_weights_of_one_do_not_move_ranks() -> None:
    sample = random_sample("binary", "hard", n=30)
    rule = cal.Quantile(7, ties="rank")
    plain = cal.reliability(sample.y, sample.p, bins=rule).columns()["n"]
    ones = np.ones(len(sample.y))
    weighted = cal.reliability(sample.y, sample.p, bins=rule, sample_weight=ones).columns()["n"]
    assert weighted == plain


def test_a_sweep_goes_on_while_mean_targets_are_equal() -> None:
    # Equal targets have equal means, though sums of them may round apart: no mean ever falls, so
    # the sweep goes on to as many bins as there are distinct predictions.
    rng = np.random.default_rng(0)
    for target in (0.1, 0.3, 0.6, 0.7):
        for _ in range(15):
            levels = np.arange(1, 7) / 7
            p = np.concatenate([levels, rng.choice(levels, 8)])
            w = rng.integers(1, 4, p.size)
            y = np.full(p.size, target)
            expected = cal.ece(y, p, bins=cal.Quantile(6), sample_weight=w)
            assert cal.sweep_ece(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-9)


# --- labels as they come --------------------------------------------------------------------------


@each_array_engine
def test_rows_of_true_and_false_are_labels(engine_name: str) -> None:
    sample = random_sample("multiclass", "hard", n=20)
    rows = np.eye(K)[sample.y] == 1.0
    with engine(engine_name):
        expected = cal.evaluate(sample.y, sample.p, sample_weight=sample.w).values
        measured = cal.evaluate(rows, sample.p, sample_weight=sample.w).values
    assert measured == expected


def test_soft_labels_a_rounding_error_above_one_are_labels() -> None:
    # The largest entry of a softmax in single precision may come out as 1.0000001.
    p = np.array([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])
    y = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.1, 0.2, 0.7]], dtype=np.float32)
    above = y.copy()
    above[1, 0] = np.nextafter(np.float32(1), np.float32(2))
    expected = cal.evaluate(y, p).values
    assert cal.evaluate(above, p).values == pytest.approx(expected, rel=1e-5, abs=1e-6)


@each_array_engine
@pytest.mark.parametrize("shape", SHAPES)
def test_a_value_of_0_has_no_sign(shape: str, engine_name: str) -> None:
    """Of predictions that are sure and right, by hard labels and by shares."""
    sure = np.array([0.0, 1.0]) if shape == "binary" else np.eye(K)
    # (All tops are right, and there is nothing to be ranked.)
    names = [name for name in NAMES[shape] if not find(name, shape).is_ranking]  # type: ignore[arg-type]
    with engine(engine_name):
        for y in (np.arange(len(sure)), sure):
            found = cal.evaluate(y, sure, measures=names).values
            assert [n for n, v in found.items() if v == 0 and np.signbit(v)] == []
    assert not np.signbit(entropy(np.eye(K))).any()
