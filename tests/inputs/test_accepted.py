"""Every kind of input that is accepted gives the number that plain float64 NumPy gives."""

import array
import dataclasses
import functools
import inspect
import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant.results import ClinicalValue
from every_engine import array_engine, available, each_array_engine, engine
from needs import need

Array = NDArray[Any]


# Tests and resampling need outcomes and several rows; they have their own tests below.
INFERENCE = {
    "compare",
    "cox_calibration",
    "cutoff_test",
    "decompose",
    "hosmer_lemeshow",
    "interval",
    "noise_floor",
    "recommend",
    "spiegelhalter",
    "truthful_test",
    "verdict",
}


# Edges of every number of bins are near some prediction; limits must be given; a page takes
# seconds; of votes are some that hard labels are none of, and so of distributions; labels come in
# columns; confidences are texts; a figure has no numbers. They have tests of their own.
ELSEWHERE = {
    "bin_sensitivity",
    "check",
    "clinical_plot",
    "grouping_gap",
    "multilabel",
    "read_confidences",
    "report",
    "vote_noise",
    "vote_profile",
}


# What a kind of input cannot change, less often: resamples, thresholds, maps that are fitted, and
# measures.
BRIEF: dict[str, dict[str, Any]] = {
    "clinical_summary": {"n_resamples": 50},
    "compare": {"measures": ["ece", "ace", "brier"], "bin_counts": (5,)},
    "decision_curve": {"thresholds": (0.2, 0.5)},
    "recommend": {"maps": ("temperature", "isotonic")},
}


SLOW = {"clinical_summary", "decision_curve"}

# Where nothing but the kind of input differs: a band is drawn, and a bandwidth searched for, after
# all input has become sums. They take most of the time.
SUMS_ALONE: dict[str, dict[str, Any]] = {
    "reliability_curve": {"band": None},
    "smooth_reliability": {"sigma": 0.1},
}


def brief(name: str) -> Callable[..., Any]:
    """A public function that does less of what is the same for every kind of input."""
    return functools.partial(getattr(cal, name), **BRIEF.get(name, {}))


def public_functions() -> dict[str, Callable[..., Any]]:
    """Every public function that needs `y_true` and `y_proba` and nothing else."""
    found = {}
    for name in cal.__all__:
        function = getattr(cal, name)
        if not inspect.isfunction(function) or name in INFERENCE | ELSEWHERE:
            continue
        parameters = inspect.signature(function).parameters.values()
        needed = [p.name for p in parameters if p.default is p.empty]
        if needed == ["y_true", "y_proba"]:
            found[name] = brief(name)
    return found


FUNCTIONS = public_functions()

# Predictions are multiples of 1/256, which float16, float32, bfloat16 and float64 all hold exactly
# and none of which is near an edge of 15 bins: a kind of input cannot excuse itself with rounding.
RNG = np.random.default_rng(0)
N, K = 120, 4
BINARY = RNG.integers(0, 257, N) / 256
LABELS = (RNG.random(N) < BINARY).astype(np.int64)
SOFT = RNG.integers(0, 257, N) / 256
WEIGHTS = RNG.integers(1, 9, N) / 4
ROWS = RNG.multinomial(256, RNG.dirichlet(np.ones(K), N)) / 256
CLASSES = RNG.integers(0, K, N)
SOFT_ROWS = RNG.multinomial(256, RNG.dirichlet(np.ones(K), N)) / 256
for _array in (BINARY, LABELS, SOFT, WEIGHTS, ROWS, CLASSES, SOFT_ROWS):
    _array.setflags(write=False)


def flat(result: Any) -> list[float]:
    """Every number in a result, in a fixed order."""
    if isinstance(result, ClinicalValue):
        return [float(result), result.low, result.high]
    if isinstance(result, numbers.Real):
        return [float(result)]
    if isinstance(result, cal.Evaluation):
        return [*result.values.values(), *flat(result.reliability)]
    if isinstance(result, cal.ReliabilityTable):
        return flat(result.columns())
    if isinstance(result, dict):
        return [number for value in result.values() for number in flat(value)]
    if isinstance(result, list | tuple):
        return [number for value in result for number in flat(value)]
    if isinstance(result, np.ndarray):
        return flat(result.tolist())
    if dataclasses.is_dataclass(result):
        return flat([getattr(result, field.name) for field in dataclasses.fields(result)])
    return []


def takes_rows_only(name: str) -> bool:
    return name in ("classwise_ce", "classwise_ece", "classwise_reliability", "top_label_ece")


def takes_one_outcome_only(name: str) -> bool:
    return name in (
        "clinical_plot",
        "clinical_summary",
        "decision_curve",
        "e50",
        "e90",
        "emax",
        "ici",
        "threshold_loss",
    )


def takes(name: str, predictions: Any) -> bool:
    """Whether a function is about predictions of this shape; if not, it must say so."""
    if np.ndim(predictions) == 1:
        return not takes_rows_only(name)
    if takes_one_outcome_only(name):
        with pytest.raises(cal.InputError, match=r"needs one outcome, with .* of the shape \(n,\)"):
            FUNCTIONS[name](CLASSES, ROWS)
        return False
    return True


def ranks(name: str) -> bool:
    """Whether it is a measure of ranking, which labels of one kind may leave without a value."""
    return any(m.function == name and m.is_ranking for m in cal.catalogue())


def takes_weights(name: str) -> bool:
    return "sample_weight" in inspect.signature(FUNCTIONS[name]).parameters


_of_plain_arrays: dict[Any, list[float]] = {}


def of_plain_arrays(
    name: str, plain: tuple[Array, Array], weigh: bool, **options: Any
) -> list[float]:
    """What many kinds of input are compared with, found once for each engine."""
    contents = tuple((a.dtype.str, a.shape, a.tobytes()) for a in plain)
    key = (name, contents, weigh, array_engine(), *options)
    if key not in _of_plain_arrays:
        options |= {"sample_weight": WEIGHTS} if weigh else {}
        _of_plain_arrays[key] = flat(FUNCTIONS[name](*plain, **options))
    return _of_plain_arrays[key]


def assert_same_everywhere(
    given: tuple[Any, Any],
    plain: tuple[Array, Array],
    *,
    weights: Any = None,
    classes: Any = None,
    in_every_engine: bool = False,
    turn: int | None = None,
) -> None:
    """Every function on the given input and on plain arrays: equal to the last bit.

    With a `turn`, every second function: what a kind of input is, is decided before it matters
    whether its labels are hard or soft, so that a function has either, and the next kind the other.
    """
    # Limits that are searched for, and maps, are slow: types of numbers, which the tests of every
    # engine are about, are nothing to them, nor are soft labels of another kind. Of the kinds that
    # take turns they see every fourth: one of each library at least.
    in_full = not in_every_engine and plain[0] is not SOFT and (turn is None or turn % 4 == 0)
    # NumPy makes doubles of all types before any measure sees them.
    as_one = in_every_engine and array_engine() == "numpy"
    for nth, (name, function) in enumerate(FUNCTIONS.items()):
        if (not in_full) if name in SLOW else (turn is not None and (nth + turn) % 2):
            continue
        if not takes(name, plain[1]):
            continue
        if as_one and name not in ("evaluate", "ece", "classwise_ce"):
            continue
        weigh = weights is not None and takes_weights(name)
        options = SUMS_ALONE.get(name, {})
        weighted = options | ({"sample_weight": weights} if weigh else {})
        found = flat(function(*given, classes=classes, **weighted))
        expected = of_plain_arrays(name, plain, weigh, **options)
        assert expected, f"{name} gave no number"
        np.testing.assert_array_equal(found, expected, err_msg=name)


assert_same_in_an_engine = functools.partial(assert_same_everywhere, in_every_engine=True)


def test_the_list_of_functions_is_not_empty() -> None:
    assert {"ece", "lin_ce", "brier_score", "evaluate", "reliability"} <= FUNCTIONS.keys()


# --- NumPy ----------------------------------------------------------------------------------------


class OnlyArray:
    """Something that is an array to those who ask for one."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.values if dtype is None else self.values.astype(dtype)


class OnlyDLPack:
    """Something that hands its memory over by DLPack and knows nothing of NumPy."""

    def __init__(self, values: Array) -> None:
        self.values = values.copy()  # read-only memory cannot be handed over

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def strided(values: Array) -> Array:
    wide = np.full((3 * len(values), *values.shape[1:]), -99, dtype=values.dtype)
    wide[1::3] = values
    return wide[1::3]


def reversed_view(values: Array) -> Array:
    return values[::-1].copy()[::-1]


def misaligned(values: Array) -> Array:
    """The same numbers at an address that is no multiple of their size."""
    raw = np.zeros(values.nbytes + 1, np.uint8)
    out = np.frombuffer(raw.data, dtype=values.dtype, offset=1, count=values.size)
    shifted = out.reshape(values.shape)
    shifted[...] = values
    return shifted


ANY_ARRAY: dict[str, Callable[[Array], Any]] = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "list of NumPy values": list,
    "strided view": strided,
    "reversed view": reversed_view,
    "misaligned memory": misaligned,
    "writeable copy": lambda a: a.copy(),
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "__array__": OnlyArray,
    "DLPack": OnlyDLPack,
    "masked array without a mask": np.ma.array,
}


@pytest.mark.parametrize("kind", [*ANY_ARRAY, "array module"])
def test_kinds_of_vectors(kind: str) -> None:
    kinds = {**ANY_ARRAY, "array module": lambda a: array.array("d", a.tolist())}
    convert = kinds[kind]
    given, turn = (convert(LABELS), convert(BINARY)), list(kinds).index(kind)
    assert_same_everywhere(given, (LABELS, BINARY), weights=convert(WEIGHTS), turn=turn)
    assert_same_everywhere((convert(SOFT), convert(BINARY)), (SOFT, BINARY), turn=turn + 1)


def test_other_byte_orders_keep_their_precision() -> None:
    """What is rounded as the predictions are, 1 - u and row sums, has the same numbers."""
    p = np.repeat(np.arange(1, 10) / 10, 10).astype(np.float32)
    y = (np.arange(90) % 10 < np.repeat([3, 1, 6, 2, 9, 5, 8, 4, 7], 10)).astype(int)
    swapped = p.astype(p.dtype.newbyteorder())
    confident = {"bins": 10, "notion": "confidence"}
    assert cal.ece(y, swapped, **confident) == cal.ece(y, p, **confident)
    assert cal.ece(y, swapped, **confident) != cal.ece(y, p.astype(np.float64), **confident)
    half = np.random.default_rng(0).dirichlet(np.ones(3), 200).astype(np.float16)
    labels = np.arange(200) % 3
    assert cal.ece(labels, half.astype(half.dtype.newbyteorder())) == cal.ece(labels, half)


@pytest.mark.parametrize("kind", [*ANY_ARRAY, "Fortran order", "transposed", "columns of a wider"])
def test_kinds_of_rows(kind: str) -> None:
    kinds: dict[str, Callable[[Array], Any]] = {
        **ANY_ARRAY,
        "Fortran order": np.asfortranarray,
        "transposed": lambda a: np.ascontiguousarray(a.T).T,
        "columns of a wider": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    }
    convert = kinds[kind]
    hard_kinds = convert if kind in ANY_ARRAY else (lambda a: a)
    turn = list(kinds).index(kind)
    assert_same_everywhere((hard_kinds(CLASSES), convert(ROWS)), (CLASSES, ROWS), turn=turn)
    assert_same_everywhere((convert(SOFT_ROWS), convert(ROWS)), (SOFT_ROWS, ROWS), turn=turn + 1)


REPORT_TYPES = ["f2", "f4", "f8", ">f2", ">f4", ">f8", np.longdouble]
LABEL_TYPES = ["?", "i1", "u1", "i2", "u4", "i4", "i8", "u8", ">i4", ">i8"]


@each_array_engine
@pytest.mark.parametrize("dtype", REPORT_TYPES)
def test_types_of_predictions(dtype: Any, engine_name: str) -> None:
    turn = REPORT_TYPES.index(dtype)
    with engine(engine_name):
        assert_same_in_an_engine((LABELS, BINARY.astype(dtype)), (LABELS, BINARY))
        assert_same_in_an_engine((CLASSES, ROWS.astype(dtype)), (CLASSES, ROWS), turn=turn)
        assert_same_in_an_engine(
            (SOFT_ROWS.astype(dtype), ROWS.astype(dtype)),
            (SOFT_ROWS, ROWS),
            weights=WEIGHTS.astype(dtype),
            turn=turn + 1,
        )


@each_array_engine
@pytest.mark.parametrize("dtype", LABEL_TYPES)
def test_types_of_labels(dtype: str, engine_name: str) -> None:
    turn = LABEL_TYPES.index(dtype)
    with engine(engine_name):
        assert_same_in_an_engine((LABELS.astype(dtype), BINARY), (LABELS, BINARY), turn=turn)
        if dtype != "?":
            given = (CLASSES.astype(dtype), ROWS)
            assert_same_in_an_engine(given, (CLASSES, ROWS), turn=turn + 1)


@each_array_engine
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", np.longdouble])
def test_hard_labels_as_floats(dtype: Any, engine_name: str) -> None:
    with engine(engine_name):
        assert_same_in_an_engine((LABELS.astype(dtype), BINARY), (LABELS, BINARY))
        assert_same_in_an_engine((CLASSES.astype(dtype), ROWS), (CLASSES, ROWS))


@each_array_engine
@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "i8", "f4", "f8"])
def test_one_hot_rows_are_their_labels(dtype: str, engine_name: str) -> None:
    one_hot = np.eye(K)[CLASSES].astype(dtype)
    with engine(engine_name):
        for name in ("ece", "classwise_ce", "lin_ce", "brier_score", "dist_ce"):
            found = flat(FUNCTIONS[name](one_hot, ROWS))
            assert found == pytest.approx(flat(FUNCTIONS[name](CLASSES, ROWS)), rel=1e-13)


@each_array_engine
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "i8", "u8"])
def test_predictions_of_0_and_1_as_integers(dtype: str, engine_name: str) -> None:
    sure = (BINARY > 0.5).astype(np.float64)
    with engine(engine_name):
        assert_same_in_an_engine((LABELS, sure.astype(dtype)), (LABELS, sure))
        sure_rows = np.eye(K)[ROWS.argmax(axis=1)]
        assert_same_in_an_engine((CLASSES, sure_rows.astype(dtype)), (CLASSES, sure_rows))


@pytest.mark.parametrize("dtype", ["?", "i2", "u8", "f2", "f4", ">f8", np.longdouble])
def test_types_of_weights(dtype: Any) -> None:
    weights = np.arange(N) % 3
    given = weights.astype(dtype)
    # All that a boolean weight can say is whether a row counts.
    weights = given.astype(np.float64)
    for name in ("ece", "ace", "lin_ce", "brier_score", "sweep_ece", "ks_error"):
        found = FUNCTIONS[name](LABELS, BINARY, sample_weight=given)
        assert found == FUNCTIONS[name](LABELS, BINARY, sample_weight=weights)


def test_labels_as_a_column() -> None:
    assert_same_everywhere((LABELS[:, None], BINARY), (LABELS, BINARY))
    assert_same_everywhere((CLASSES[:, None], ROWS), (CLASSES, ROWS))


@each_array_engine
def test_float32_and_float16_predictions_on_edges_lie_in_the_bin_of_the_edge(
    engine_name: str,
) -> None:
    tenths = np.tile(np.arange(11) / 10, 20)
    labels = np.random.default_rng(1).integers(0, 2, tenths.size)
    with engine(engine_name):
        expected = cal.reliability(labels, tenths, bins=10).columns()
        for dtype in (np.float32, np.float16):
            found = cal.reliability(labels, tenths.astype(dtype), bins=10).columns()
            assert found["n"] == expected["n"]
            assert found["mean_target"] == expected["mean_target"]
            error = cal.ece(labels, tenths.astype(dtype), bins=10)
            assert error == pytest.approx(cal.ece(labels, tenths, bins=10), abs=2e-4)


@each_array_engine
def test_half_precision_rows_may_sum_as_exactly_as_half_precision_can(engine_name: str) -> None:
    rng = np.random.default_rng(2)
    rows = rng.dirichlet(np.ones(10), 300).astype(np.float16)
    labels = rng.integers(0, 10, 300)
    assert np.abs(rows.astype(float).sum(axis=1) - 1).max() > 1e-4
    with engine(engine_name):
        found = cal.ece(labels, rows)
    confidences = rows.astype(np.float64).max(axis=1)
    hits = rows.argmax(axis=1) == labels
    assert found == pytest.approx(cal.ece(hits, confidences), abs=1e-12)


def test_nothing_that_came_in_is_changed() -> None:
    overshooting = np.array([1 + 5e-5, -5e-5, 0.5, 0.25])
    rows = np.array([[1 + 5e-5, -5e-5], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])
    labels, weights = np.array([1, 0, 1, 0]), np.array([1.0, 2.0, 0.0, 1.0])
    kept = [a.copy() for a in (overshooting, rows, labels, weights)]
    for name, function in FUNCTIONS.items():
        options = {"sample_weight": weights} if takes_weights(name) else {}
        for predictions in (rows, overshooting):
            if takes(name, predictions):
                function(labels, predictions, **options)
        for before, after in zip(kept, (overshooting, rows, labels, weights), strict=True):
            np.testing.assert_array_equal(before, after, err_msg=name)


# --- torch ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "requires_grad"),
    [("float64", False), ("float32", True), ("float16", False), ("bfloat16", True)],
)
def test_torch_predictions(dtype: str, requires_grad: bool) -> None:
    torch = need("torch")
    binary, rows = (
        torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=requires_grad)
        for values in (BINARY, ROWS)
    )
    labels, classes = torch.tensor(LABELS), torch.tensor(CLASSES, dtype=torch.int32)
    # Vectors of a wide type and rows of a narrow one, or the other way round; both with gradients.
    turn = int(dtype in ("float16", "bfloat16"))
    weights = torch.tensor(WEIGHTS)
    assert_same_everywhere((labels, binary), (LABELS, BINARY), weights=weights, turn=turn)
    assert_same_everywhere((classes, rows), (CLASSES, ROWS), turn=turn + 1)
    assert binary.requires_grad is requires_grad


def test_torch_parameters_views_and_booleans() -> None:
    torch = need("torch")
    parameter = torch.nn.Parameter(torch.tensor(ROWS))
    assert_same_everywhere((torch.tensor(CLASSES), parameter), (CLASSES, ROWS), turn=0)
    true = torch.tensor(LABELS == 1)
    assert_same_everywhere((true, torch.tensor(BINARY)), (LABELS, BINARY), turn=1)
    columns_first = torch.tensor(ROWS.T.copy()).T
    assert_same_everywhere((torch.tensor(CLASSES), columns_first), (CLASSES, ROWS), turn=1)
    assert_same_everywhere(
        (torch.tensor(LABELS.repeat(2))[::2], torch.tensor(BINARY.repeat(2))[::2]),
        (LABELS, BINARY),
        turn=0,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_softmax_in_half_precision_is_accepted(dtype: str) -> None:
    """Its rows sum to 1 only as well as its few digits allow."""
    torch = need("torch")
    torch.manual_seed(0)
    rows = torch.softmax(3 * torch.randn(200, 10), dim=1).to(getattr(torch, dtype))
    labels = torch.arange(200) % 10
    confidences, predicted = rows.double().max(dim=1)
    found = cal.ece(labels, rows)
    assert found == pytest.approx(cal.ece(predicted == labels, confidences), abs=0.02)


# --- frames ---------------------------------------------------------------------------------------


def pandas_series(dtype: str | None = None) -> Callable[[Array], Any]:
    return lambda a: need("pandas").Series(a, dtype=dtype)


def polars_series(a: Array) -> Any:
    return need("polars").Series(a)


def arrow_array(a: Array) -> Any:
    return need("pyarrow").array(a)


def arrow_chunks(a: Array) -> Any:
    return need("pyarrow").chunked_array([a[:7], a[7:7], a[7:]])


COLUMNS: dict[str, tuple[Callable[[Array], Any], Callable[[Array], Any]]] = {
    "pandas": (pandas_series(), pandas_series()),
    "pandas nullable": (pandas_series("Int64"), pandas_series("Float64")),
    "pandas nullable, small": (pandas_series("UInt8"), pandas_series("Float32")),
    "pandas boolean": (pandas_series("boolean"), pandas_series("Float64")),
    "pandas over pyarrow": (pandas_series("int64[pyarrow]"), pandas_series("double[pyarrow]")),
    "pandas extension array": (
        lambda a: need("pandas").array(a, dtype="Int64"),
        lambda a: need("pandas").array(a, dtype="Float64"),
    ),
    "pandas index": (lambda a: need("pandas").Index(a), lambda a: need("pandas").Index(a)),
    "polars": (polars_series, polars_series),
    "polars boolean": (lambda a: polars_series(a == 1), polars_series),
    "pyarrow array": (arrow_array, arrow_array),
    "pyarrow chunks": (arrow_chunks, arrow_chunks),
    "pyarrow boolean chunks": (lambda a: arrow_chunks(a == 1), arrow_chunks),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_library(kind: str) -> None:
    (label_column, number_column), turn = COLUMNS[kind], list(COLUMNS).index(kind)
    given = (label_column(LABELS), number_column(BINARY))
    weights = number_column(WEIGHTS)
    assert_same_everywhere(given, (LABELS, BINARY), weights=weights, turn=turn)
    given = (number_column(SOFT), number_column(BINARY))
    assert_same_everywhere(given, (SOFT, BINARY), turn=turn + 1)


def named(rows: Array) -> dict[str, Array]:
    return {f"p_{r}": rows[:, r].copy() for r in range(rows.shape[1])}


FRAMES: dict[str, Callable[[Array], Any]] = {
    "pandas": lambda rows: need("pandas").DataFrame(named(rows)),
    "pandas with numbered columns": lambda rows: need("pandas").DataFrame(rows),
    "pandas with equally named columns": lambda rows: need("pandas").DataFrame(
        rows, columns=["p"] * rows.shape[1]
    ),
    "pandas nullable": lambda rows: need("pandas").DataFrame(named(rows)).astype("Float64"),
    "polars": lambda rows: need("polars").DataFrame(named(rows)),
    "pyarrow": lambda rows: need("pyarrow").table(named(rows)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_class_probabilities(kind: str) -> None:
    frame, turn = FRAMES[kind], list(FRAMES).index(kind)
    assert_same_everywhere((CLASSES, frame(ROWS)), (CLASSES, ROWS), turn=turn)
    assert_same_everywhere((frame(SOFT_ROWS), frame(ROWS)), (SOFT_ROWS, ROWS), turn=turn + 1)


def test_pandas_indexes_that_agree_do_not_matter() -> None:
    """Rows go together by position: an index that all have changes nothing, whatever it is."""
    pandas = need("pandas")
    shuffled = np.random.default_rng(3).permutation(N)
    labels = pandas.Series(LABELS, index=shuffled)
    predictions = pandas.Series(BINARY, index=shuffled)
    weights = pandas.Series(WEIGHTS, index=shuffled)
    assert_same_everywhere((labels, predictions), (LABELS, BINARY), weights=weights)
    rows = pandas.DataFrame(named(ROWS), index=shuffled)
    assert_same_everywhere((pandas.Series(CLASSES, index=shuffled), rows), (CLASSES, ROWS))
    twice = {"index": ["same"] * N}
    pair = (pandas.Series(LABELS, **twice), pandas.Series(BINARY, **twice))
    assert cal.ece(*pair) == cal.ece(LABELS, BINARY)


WHOLE_FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": lambda columns: need("pandas").DataFrame(columns),
    "polars": lambda columns: need("polars").DataFrame(columns),
    "pyarrow": lambda columns: need("pyarrow").table(columns),
}


@pytest.mark.parametrize("kind", WHOLE_FRAMES)
def test_columns_by_name(kind: str) -> None:
    names = [f"p_{r}" for r in range(K)]
    columns = {"y": LABELS, "p": BINARY, "w": WEIGHTS, "class": CLASSES, **named(ROWS)}
    frame = WHOLE_FRAMES[kind](columns)
    turn = list(WHOLE_FRAMES).index(kind)
    for nth, (name, function) in enumerate(FUNCTIONS.items()):
        options = SUMS_ALONE.get(name, {})
        # Vectors of one frame and rows of the next; what takes one of them has it in every frame.
        if (
            takes_weights(name)
            and not takes_rows_only(name)
            and ((nth + turn) % 2 or takes_one_outcome_only(name))
        ):
            found = function("y", "p", sample_weight="w", data=frame, **options)
            expected = of_plain_arrays(name, (LABELS, BINARY), weigh=True, **options)
            np.testing.assert_array_equal(flat(found), expected, err_msg=name)
        if not takes(name, ROWS) or ((nth + turn) % 2 and not takes_rows_only(name)):
            continue
        found = function("class", names, data=frame, **options)
        expected = of_plain_arrays(name, (CLASSES, ROWS), weigh=False, **options)
        np.testing.assert_array_equal(flat(found), expected, err_msg=name)
    result = cal.evaluate("class", names, data=frame)
    assert result.classes is not None
    assert sorted(result.classes["class"]) == names


# --- labels with names ----------------------------------------------------------------------------

NAMES = ["ant", "bee", "cat", "dog"]
TEXT = np.array(NAMES)[CLASSES]

NAMED_LABELS: dict[str, Callable[[], Any]] = {
    "list": TEXT.tolist,
    "NumPy text": lambda: TEXT,
    "NumPy objects": lambda: TEXT.astype(object),
    "pandas": lambda: need("pandas").Series(TEXT),
    "pandas objects": lambda: need("pandas").Series(TEXT, dtype=object),
    "pandas categorical": lambda: need("pandas").Series(TEXT, dtype="category"),
    "pandas categories in another order": lambda: need("pandas").Categorical(TEXT, NAMES[::-1]),
    "polars": lambda: need("polars").Series(TEXT.tolist()),
    "polars categorical": lambda: need("polars").Series(
        TEXT.tolist(), dtype=need("polars").Categorical
    ),
    "polars enum": lambda: need("polars").Series(
        TEXT.tolist(), dtype=need("polars").Enum(NAMES[::-1])
    ),
    "pyarrow": lambda: need("pyarrow").chunked_array([TEXT.tolist()]),
    "pyarrow dictionary": lambda: (
        need("pyarrow").chunked_array([TEXT.tolist()]).dictionary_encode()
    ),
}


@pytest.mark.parametrize("kind", NAMED_LABELS)
def test_labels_with_names(kind: str) -> None:
    # Two kinds in a row are of one library: one of them has every function.
    turn = list(NAMED_LABELS).index(kind)
    assert_same_everywhere((NAMED_LABELS[kind](), ROWS), (CLASSES, ROWS), classes=NAMES, turn=turn)


@pytest.mark.parametrize("names", [NAMES, tuple(NAMES), np.array(NAMES)])
def test_names_may_come_in_any_sequence(names: Any) -> None:
    assert cal.ece(TEXT, ROWS, classes=names) == cal.ece(CLASSES, ROWS)


def test_two_names_stand_for_0_and_1() -> None:
    text = np.where(LABELS == 1, "ill", "well")
    assert_same_everywhere((text, BINARY), (LABELS, BINARY), classes=["well", "ill"])
    swapped = cal.ece(text, 1 - BINARY, classes=["ill", "well"])
    assert swapped == cal.ece(1 - LABELS, 1 - BINARY)


@pytest.mark.parametrize("kind", ["array", "list", "pandas", "pandas categorical"])
def test_labels_that_are_other_numbers(kind: str) -> None:
    labels = LABELS + 1
    given = {
        "array": lambda: labels,
        "list": labels.tolist,
        "pandas": lambda: need("pandas").Series(labels),
        "pandas categorical": lambda: need("pandas").Series(labels, dtype="category"),
    }[kind]()
    turn = ["array", "list", "pandas", "pandas categorical"].index(kind)
    assert_same_everywhere((given, BINARY), (LABELS, BINARY), classes=[1, 2], turn=turn)


def test_labels_that_are_booleans_by_name() -> None:
    given = (LABELS == 1, BINARY)
    assert_same_everywhere(given, (LABELS, BINARY), classes=[False, True], turn=1)


def test_a_class_that_never_comes_keeps_its_column() -> None:
    absent = np.where(CLASSES == 2, 1, CLASSES)
    text = np.array(NAMES)[absent]
    assert_same_everywhere((text, ROWS), (absent, ROWS), classes=NAMES)


def test_names_of_a_text_column_with_labels_as_a_column() -> None:
    assert cal.ece(TEXT[:, None], ROWS, classes=NAMES) == cal.ece(CLASSES, ROWS)


# --- logits ---------------------------------------------------------------------------------------


def sigmoid(h: float) -> float:
    return 1 / (1 + math.exp(-h)) if h >= 0 else math.exp(h) / (1 + math.exp(h))


def softmax(row: list[float]) -> list[float]:
    powers = [math.exp(h - max(row)) for h in row]
    return [power / math.fsum(powers) for power in powers]


@each_array_engine
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i4", np.longdouble])
def test_logits_of_any_type(dtype: Any, engine_name: str) -> None:
    rng = np.random.default_rng(4)
    if dtype == "i4":
        logits, row_logits = rng.integers(-30, 31, N), rng.integers(-9, 10, (N, K))
    else:  # numbers that half precision holds
        logits = (8 * rng.standard_normal(N)).astype(np.float16)
        row_logits = (4 * rng.standard_normal((N, K))).astype(np.float16)
    logits, row_logits = logits.astype(dtype), row_logits.astype(dtype)
    predictions = np.array([sigmoid(float(h)) for h in logits])
    rows = np.array([softmax([float(h) for h in row]) for row in row_logits])
    with engine(engine_name):
        for name in ("ece", "lin_ce", "brier_score", "log_loss", "confidence_ce", "tace"):
            function = FUNCTIONS[name]
            found = function(LABELS, logits, from_logits=True)
            assert found == pytest.approx(function(LABELS, predictions), rel=1e-9, abs=1e-12)
            if dtype == "i4" and name == "tace":
                continue  # integer logits make ties, which another rounding may tell apart
            found = function(CLASSES, row_logits, from_logits=True)
            assert found == pytest.approx(function(CLASSES, rows), rel=1e-9, abs=1e-12)
        if dtype != "i4":
            found = cal.classwise_ce(CLASSES, row_logits, from_logits=True)
            assert found == pytest.approx(cal.classwise_ce(CLASSES, rows), rel=1e-9)


@each_array_engine
@pytest.mark.parametrize("order", ["Fortran", "reversed", "strided"])
def test_logits_in_any_memory_order(order: str, engine_name: str) -> None:
    logits = np.random.default_rng(7).standard_normal((N, K))
    given = {
        "Fortran": np.asfortranarray(logits),
        "reversed": reversed_view(logits),
        "strided": strided(logits),
    }[order]
    with engine(engine_name):
        for name, function in FUNCTIONS.items():
            if not takes(name, logits):
                continue
            found = flat(function(CLASSES, given, from_logits=True, **SUMS_ALONE.get(name, {})))
            expected = of_logits(name, engine_name)
            np.testing.assert_array_equal(found, expected, err_msg=name)


@functools.cache
def of_logits(name: str, engine_name: str) -> list[float]:
    """Of those logits in one piece, in the engine in use."""
    logits = np.random.default_rng(7).standard_normal((N, K))
    return flat(FUNCTIONS[name](CLASSES, logits, from_logits=True, **SUMS_ALONE.get(name, {})))


@each_array_engine
@pytest.mark.parametrize("size", [40.0, 710.0, 1e5, 1e300, 1.7e308])
def test_extreme_logits_are_sure_predictions_and_raise_no_warning(
    size: float, engine_name: str
) -> None:
    with engine(engine_name), warnings.catch_warnings():
        warnings.simplefilter("error")
        binary = cal.reliability([0, 1, 1], [-size, size, 0.0], bins=10, from_logits=True)
        rows = [[size, -size, 0.0], [-size, size, 0.0], [0.0, 0.0, -size]]
        table = cal.reliability([0, 1, 0], rows, bins=10, from_logits=True)
        result = cal.evaluate([0, 1, 0], rows, from_logits=True)
    means = binary.columns()["mean_predicted"]
    assert (means[0], means[5], means[9]) == pytest.approx((0.0, 0.5, 1.0), abs=1e-15)
    assert table.columns()["n"] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert result["ece"] == pytest.approx(0.5 / 3)
    assert result["brier"] == pytest.approx(0.5 / 3)
    assert all(math.isfinite(value) for value in result.values.values())


@each_array_engine
def test_logits_are_unchanged_by_a_shift(engine_name: str) -> None:
    logits = np.random.default_rng(6).integers(-8, 9, (N, K)).astype(np.float64)
    with engine(engine_name):
        for shift in (-4096.0, 4096.0):
            found = cal.evaluate(CLASSES, logits + shift, from_logits=True)
            expected = cal.evaluate(CLASSES, logits, from_logits=True)
            assert flat(found.values) == pytest.approx(flat(expected.values), rel=1e-9, abs=1e-15)


def test_logits_are_never_guessed() -> None:
    """Logits that all lie in [0, 1] are what they are said to be."""
    values = np.array([0.2, 0.8, 0.4])
    assert cal.brier_score([0, 1, 1], values) == pytest.approx((0.04 + 0.04 + 0.36) / 3)
    predictions = [sigmoid(h) for h in values]
    expected = (predictions[0] ** 2 + (1 - predictions[1]) ** 2 + (1 - predictions[2]) ** 2) / 3
    assert cal.brier_score([0, 1, 1], values, from_logits=True) == pytest.approx(expected)


# --- the smallest problems ------------------------------------------------------------------------


@each_array_engine
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_single_row(name: str, engine_name: str) -> None:
    with engine(engine_name), warnings.catch_warnings():
        warnings.simplefilter("error")
        problems: list[tuple[Any, Any]] = [
            ([1], [[0.25, 0.75]]),
            ([[0.5, 0.5]], [[0.25, 0.75]]),
            ([1], [0.75]),
            ([0.5], [0.75]),
        ]
        for y_true, y_proba in problems:
            if not takes(name, y_proba):
                continue
            try:
                result = FUNCTIONS[name](y_true, y_proba)
            except cal.NotDefined:
                assert (ranks(name) and y_true == [1]) or name == "ece_kde"  # it has no other row
                continue
            values = result.values.values() if name == "evaluate" else flat(result)
            if isinstance(result, cal.ClinicalSummary):
                assert all(value.estimable or value.note for value in result.values())
                continue
            if "reliability" not in name:  # the means of its empty bins are NaN
                assert all(math.isfinite(value) for value in values)


def test_a_single_row_by_hand() -> None:
    assert cal.ece([1], [0.75]) == 0.25
    assert cal.ece([0.5], [0.75], bins=1) == 0.25
    assert cal.lin_ce([1], [0.75]) == 0.0625
    assert cal.brier_score([1], [0.75]) == 0.0625
    assert cal.ks_error([1], [0.75]) == cal.sweep_ece([1], [0.75]) == cal.ace([1], [0.75]) == 0.25
    assert cal.confidence_ce([1], [[0.25, 0.75]]) == 0.0625
    assert cal.debiased_l2([1], [0.75]) == 0.0  # one row says nothing about its variance


@each_array_engine
def test_labels_of_one_class_only(engine_name: str) -> None:
    with engine(engine_name), warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, function in FUNCTIONS.items():
            for predictions in (ROWS, BINARY):
                if not takes(name, predictions):
                    continue
                try:
                    assert flat(function(np.ones(N, int), predictions))
                except cal.NotDefined:
                    assert ranks(name)


@each_array_engine
def test_rows_of_no_weight_change_nothing(engine_name: str) -> None:
    weights = np.concatenate([WEIGHTS, np.zeros(7)])
    labels, predictions = np.append(LABELS, [1] * 7), np.append(BINARY, np.linspace(0, 1, 7))
    with engine(engine_name):
        for name, function in FUNCTIONS.items():
            if takes_rows_only(name) or not takes_weights(name):
                continue
            found = flat(function(labels, predictions, sample_weight=weights))
            expected = of_plain_arrays(name, (LABELS, BINARY), weigh=True)
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=name)


# --- tests and resampling -------------------------------------------------------------------------


def judged(name: str, labels: Any, predictions: Any, **options: Any) -> list[float]:
    """Every number of an inference function's result, with few resamples."""
    function = brief(name)
    if "n_resamples" in inspect.signature(function).parameters:
        options["n_resamples"] = 50
    if name == "compare":
        return flat(function(labels, {"a": predictions, "b": predictions}, **options).to_dict())
    return flat(function(labels, predictions, **options))


@functools.cache
def judged_plainly(name: str) -> list[float]:
    """Of plain arrays, on the engine that is taken unasked."""
    return judged(name, LABELS, BINARY)


@pytest.mark.parametrize("name", sorted(INFERENCE))
def test_inference_on_any_kind_of_input(name: str) -> None:
    pandas = need("pandas")
    kinds: dict[str, Callable[[Array], Any]] = {
        "list": lambda a: a.tolist(),
        "single precision": lambda a: a.astype(np.float32),
        "strided": strided,
    }
    expected = judged_plainly(name)
    assert expected
    # All are read by the same lines: each function has one of the kinds, a frame, and rows.
    kind = list(kinds)[sorted(INFERENCE).index(name) % len(kinds)]
    found = judged(name, kinds[kind](LABELS), kinds[kind](BINARY))
    np.testing.assert_array_equal(found, expected, err_msg=kind)
    frame = pandas.DataFrame({"y": LABELS, "p": BINARY})
    if name != "compare":
        np.testing.assert_array_equal(judged(name, "y", "p", data=frame), expected)
    # Rows are taken as vectors are, above; here once in a kind of both.
    given = (CLASSES.tolist(), strided(ROWS.astype(np.float32)))
    np.testing.assert_array_equal(judged(name, *given), judged(name, CLASSES, ROWS))


@each_array_engine
@pytest.mark.parametrize("name", sorted(INFERENCE))
def test_inference_is_the_same_on_every_engine(name: str, engine_name: str) -> None:
    expected = judged_plainly(name)
    with engine(engine_name):
        found = judged(name, LABELS, BINARY)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# --- what comes with the rows, where rows are left out --------------------------------------------


def with_a_gap() -> dict[str, Any]:
    """Columns of a frame, the fourth row without a prediction."""
    rng = np.random.default_rng(3)
    p = rng.random(200)
    columns = {"y": (rng.random(200) < p).astype(int), "p": p, "g": np.arange(200) % 10}
    columns["by"], columns["votes"] = np.arange(200) % 2, np.arange(200) % 7 + 3
    columns["p"][3] = np.nan
    return columns


def whole(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns without the row that has a gap."""
    return {name: np.delete(column, 3) for name, column in columns.items()}


def asked(columns: dict[str, Any], library: str | None, **options: Any) -> Any:
    """An evaluation of columns by groups, slices and votes, of arrays or of a frame's columns."""
    data = None if library is None else need(library).DataFrame(columns)
    named = {name: name if library else columns[name] for name in ("y", "p", "g", "by")}
    return cal.evaluate(
        named["y"],
        named["p"],
        data=data,
        groups=named["g"],
        by=named["by"],
        votes=columns["votes"],
        uncertainty=True,
        measures=["ece"],
        **options,
    )


@pytest.mark.parametrize("library", [None, "pandas", "polars"])
def test_groups_slices_and_votes_stay_with_the_rows_that_stay(library: str | None) -> None:
    found = asked(with_a_gap(), library, missing="drop")
    expected = asked(whole(with_a_gap()), library)
    assert found.recipe["n_missing"] == 1
    assert found.estimates == expected.estimates
    assert repr(list(found.slices)) == repr(list(expected.slices))
    # Those that are of the rows that stay already are taken as they are.
    rows = with_a_gap()
    short = cal.evaluate(
        rows["y"], rows["p"], by=whole(rows)["by"], missing="drop", measures=["ece"]
    )
    assert [part.n for part in short.slices] == [part.n for part in found.slices]


def test_a_prediction_and_a_check_of_rows_that_stay() -> None:
    rows = with_a_gap()
    options = {"groups": rows["g"], "by": rows["by"], "missing": "drop"}
    few = {"votes": rows["votes"], "measures": ["ece"], "recalibrate": "platt"}
    page = cal.report(rows["y"], rows["p"], **few, **options)
    assert page.evaluation.recipe["n_missing"] == 1 and len(page.evaluation.slices) == 2
    assert cal.check(rows["y"], rows["p"], at_most={"ece": 0.3}, **options).n == 199


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_in_half_precision_sum_to_1_as_well_as_they_can(library: str) -> None:
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.ones(3), 500).astype(np.float16)
    labels = rng.integers(0, 3, 500)
    assert np.abs(rows.astype(float).sum(axis=1) - 1).max() > 1e-4
    columns = {"y": labels} | {f"p{r}": rows[:, r].copy() for r in range(3)}
    make = need("pyarrow").table if library == "pyarrow" else need(library).DataFrame
    names = [f"p{r}" for r in range(3)]
    for missing in ("error", "drop"):
        found = cal.evaluate("y", names, data=make(columns), measures=["ece"], missing=missing)
        assert found["ece"] == cal.ece(labels, rows)


def in_half_precision(rows: Array, kind: str) -> Any:
    """Rows as an array or a tensor, in half precision."""
    if kind == "float16":
        return rows.astype(np.float16)
    return need("torch").tensor(rows).bfloat16()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("engine_name", [*available(), "torch"])
def test_soft_labels_in_half_precision_sum_to_1_as_well_as_they_can(
    engine_name: str, kind: str
) -> None:
    torch = need("torch")
    rows = np.random.default_rng(5).dirichlet(np.ones(3) / 2, 500)
    labels = in_half_precision(rows, kind)
    predictions = torch.tensor(rows) if engine_name == "torch" else rows
    as_doubles = torch.as_tensor(labels).double().numpy()
    assert np.abs(as_doubles.sum(axis=1) - 1).max() > 1e-4
    with engine(engine_name):
        assert 0 < cal.soft_ece(labels, predictions) < 1e-3
        # A prediction that is its label is right to the last bit.
        itself = torch.as_tensor(labels) if engine_name == "torch" else labels
        assert cal.soft_ece(labels, itself) == 0.0
        too_far = in_half_precision(rows * 1.2, kind)
        with pytest.raises(cal.InputError, match="y_true"):
            cal.soft_ece(too_far, predictions)
        with pytest.raises(cal.InputError, match=r"y_true\[\d+\] sums to"):
            cal.soft_ece(as_doubles, predictions)
