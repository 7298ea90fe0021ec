"""Tensors summed by torch give what arrays give: counts to the last one, sums to 1e-12.

Everything runs on tensors in memory, and on a GPU too where there is one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
from calibrant import Edges, EqualWidth, InputError, LevelSets, Quantile
from calibrant._core.binning import fixed_cuts
from calibrant._data.samples import BadRow
from calibrant._data.to_samples import to_samples, to_source
from calibrant._engines.arrays import engine as array_engine
from calibrant._engines.arrays.selection import kernels
from calibrant._engines.cells import Cells
from calibrant._engines.dispatch import Engine, engine_of
from calibrant._measures.catalogue import entry_of
from calibrant._summaries.requirements import holdings
from every_engine import available, engine
from needs import need

torch = need("torch")

from calibrant._data.tensor_input import TensorInput  # noqa: E402
from calibrant._data.tensor_samples import TensorSamples  # noqa: E402
from calibrant._engines import tensors as tensor_engine  # noqa: E402
from calibrant._engines.tensors import blocks  # noqa: E402

Array = NDArray[Any]
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
every_device = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture(autouse=True)
def plain_reads(monkeypatch):
    """Plain torch on a GPU too: the fused kernels are compared with it elsewhere."""
    monkeypatch.setenv("CALIBRANT_FUSED", "0")


N, K = 1500, 6  # two blocks of 700 rows, and some more
RNG = np.random.default_rng(8)
REPORTS = RNG.random(N) ** 2
OUTCOMES = (RNG.random(N) < REPORTS).astype(np.int64)
FRACTIONS = np.clip(REPORTS + 0.1 * RNG.standard_normal(N), 0, 1)
LOGITS_OF_ONE = 3 * RNG.standard_normal(N)
LOGITS = 2 * RNG.standard_normal((N, K))
ROWS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = np.array([RNG.choice(K, p=row) for row in ROWS])
SOFT_ROWS = (ROWS + RNG.dirichlet(np.ones(K), N)) / 2
WEIGHTS = RNG.exponential(size=N) * (RNG.random(N) < 0.9)
WHOLE_WEIGHTS = RNG.integers(0, 4, N)
# Tied predictions, many of them on an edge of ten bins.
TIED = np.round(REPORTS, 1)
TIED_ROWS = np.eye(K)[LABELS] * 0.5 + np.full((N, K), 0.5 / K)
OVER = REPORTS.copy()
OVER[:50] = 1 + 5e-5
OVER[50:80] = -3e-5
OVER_FRACTIONS = FRACTIONS.copy()
OVER_FRACTIONS[10:40] = 1 + 4e-5
OVER_ROWS = ROWS.copy()
OVER_ROWS[:40] = [1 + 4e-5, -2e-5, -2e-5, 0, 0, 0]
OFF_ROWS = ROWS * (1 + 5e-5 * RNG.random((N, 1)))

Problem = tuple[Any, Any, dict[str, Any]]
HALVES = ("float16", "bfloat16", "float32")
BINARY: dict[str, Problem] = {
    "binary": (OUTCOMES, REPORTS, {}),
    "boolean labels": (OUTCOMES == 1, REPORTS, {}),
    "int8 labels": (OUTCOMES.astype(np.int8), REPORTS, {}),
    "uint8 labels": (OUTCOMES.astype(np.uint8), REPORTS, {}),
    "float32 labels": (OUTCOMES.astype(np.float32), REPORTS, {}),
    "a column of labels": (OUTCOMES[:, None], REPORTS, {}),
    "fractions": (FRACTIONS, REPORTS, {}),
    "weights": (OUTCOMES, REPORTS, {"sample_weight": WEIGHTS}),
    "whole weights": (OUTCOMES, TIED, {"sample_weight": WHOLE_WEIGHTS}),
    "ties": (OUTCOMES, TIED, {}),
    "weighted ties": (FRACTIONS, TIED, {"sample_weight": WEIGHTS}),
    "all predictions equal": (OUTCOMES, np.full(N, 0.3), {}),
    "predictions of 0 and 1": (OUTCOMES, (REPORTS > 0.4).astype(np.int64), {}),
    "overshoot": (OVER_FRACTIONS, OVER, {}),
    "binary logits": (OUTCOMES, LOGITS_OF_ONE, {"from_logits": True}),
    "large binary logits": (OUTCOMES, 20 * LOGITS_OF_ONE, {"from_logits": True}),
    "weighted logits": (FRACTIONS, LOGITS_OF_ONE, {"from_logits": True, "sample_weight": WEIGHTS}),
}
MULTICLASS: dict[str, Problem] = {
    "rows": (LABELS, ROWS, {}),
    "uint8 classes": (LABELS.astype(np.uint8), ROWS, {}),
    "float classes": (LABELS.astype(np.float64), ROWS, {}),
    "one-hot rows": (np.eye(K)[LABELS], ROWS, {}),
    "whole one-hot rows": (np.eye(K, dtype=np.int64)[LABELS], ROWS, {}),
    "soft rows": (SOFT_ROWS, ROWS, {}),
    "weighted rows": (LABELS, ROWS, {"sample_weight": WEIGHTS}),
    "weighted soft rows": (SOFT_ROWS, ROWS, {"sample_weight": WEIGHTS}),
    "tied rows": (LABELS, TIED_ROWS, {}),
    "certain rows": (LABELS, np.eye(K)[np.roll(LABELS, 1)], {}),
    "overshooting rows": (SOFT_ROWS, OVER_ROWS, {}),
    "rows that sum to less than exactly 1": (LABELS, OFF_ROWS, {}),
    "logits": (LABELS, LOGITS, {"from_logits": True}),
    "large logits": (LABELS, 40 * LOGITS, {"from_logits": True}),
    "weighted soft logits": (
        SOFT_ROWS,
        LOGITS,
        {"from_logits": True, "sample_weight": WEIGHTS},
    ),
}
for dtype in HALVES:
    BINARY[f"{dtype} predictions"] = (OUTCOMES, (REPORTS, dtype), {})
    BINARY[f"{dtype} ties"] = (OUTCOMES, (TIED, dtype), {"sample_weight": WEIGHTS})
    BINARY[f"{dtype} logits"] = (OUTCOMES, (LOGITS_OF_ONE, dtype), {"from_logits": True})
    MULTICLASS[f"{dtype} rows"] = (LABELS, (ROWS, dtype), {})
    MULTICLASS[f"{dtype} soft rows"] = (SOFT_ROWS.astype(np.float32), (ROWS, dtype), {})
    MULTICLASS[f"{dtype} logits"] = (LABELS, (LOGITS, dtype), {"from_logits": True})
PROBLEMS = {**BINARY, **MULTICLASS}
every_problem = pytest.mark.parametrize("name", PROBLEMS)

RULES: dict[str, Any] = {
    "equal width": EqualWidth(15),
    "right-closed": EqualWidth(10, "right"),
    "one dropped": EqualWidth(10, drop_one=True),
    "edges": Edges([0, 0.05, 0.3, 0.31, 1]),
    "one bin": EqualWidth(1),
    "quantile": Quantile(15),
    "one quantile": Quantile(1),
    "many quantiles": Quantile(500),
    "by rank": Quantile(7, "rank"),
    "level sets": LevelSets(),
}


BY_ORDER = ("quantile", "many quantiles", "by rank", "level sets")
# Each kind of prediction and target has every rule; a type or a shape of theirs has some of them.
EVERY_RULE = (
    "fractions",
    "weighted ties",
    "overshoot",
    "weighted logits",
    "tied rows",
    "weighted soft rows",
    "overshooting rows",
    "logits",
    "float16 ties",
    "bfloat16 rows",
)


def tensor(values: Any, device: str = "cpu") -> Any:
    if isinstance(values, tuple):
        values, dtype = values
        return torch.tensor(values, dtype=getattr(torch, dtype), device=device)
    return torch.tensor(values, device=device)


def both(problem: Problem, device: str) -> tuple[Any, Any]:
    """The same samples as arrays and as tensors on a device."""
    y, p, options = problem
    here = to_samples(tensor(y), tensor(p), **options)
    if "sample_weight" in options:
        options = options | {"sample_weight": tensor(options["sample_weight"], device)}
    return here, TensorInput().build(tensor(y, device), tensor(p, device), **options)


def assert_sums(found: Array, expected: Array, message: str = "", atol: float = 0.0) -> None:
    """Tables (..., fields): counts to the last one, sums to 1e-12."""
    assert found.shape == expected.shape, message
    np.testing.assert_array_equal(found[..., 0], expected[..., 0], message)
    scale = np.abs(expected).max() if expected.size else 1.0
    np.testing.assert_allclose(found, expected, 1e-12, max(1e-15, atol) * scale, err_msg=message)


def assert_grids(found: Array, expected: Array, message: str = "", near_one: bool = False) -> None:
    """Grids: a place among 80,000 nodes is rounded to 1e-11 of a node, and so are its shares; near
    1 a prediction's last bit is more of its logit. What the shares add up to is exact in any case.
    """
    scale = np.abs(expected).max()
    close = 1e-6 if near_one else 1e-10
    np.testing.assert_allclose(found, expected, close, close * scale, err_msg=message)
    np.testing.assert_allclose(found.sum(), expected.sum(), 1e-12, 1e-13 * scale, err_msg=message)


def of_arrays(call: Callable[[Any, Any], Any], here: Any, there: Any) -> tuple[Any, Any]:
    """What the array engine and the torch engine make of the samples."""
    return call(array_engine, here), call(tensor_engine, there)


def test_every_name_of_the_protocol_is_there():
    wanted = {name for name in vars(Engine) if not name.startswith("_")}
    assert set(tensor_engine.__all__) == wanted == set(array_engine.__all__)


@every_device
@every_problem
def test_samples_tell_the_same_of_themselves(name, device):
    here, there = both(PROBLEMS[name], device)
    told = ("n", "multiclass", "n_classes", "from_logits", "class_names", "inferred", "precision")
    told += ("weighted", "soft_rows", "n_missing", "row_sum_tolerance")
    for what in told:
        assert getattr(here, what) == getattr(there, what), what
    assert here.every_prediction_is_zero_or_one() == there.every_prediction_is_zero_or_one()
    assert engine_of(there) is tensor_engine
    row, twin = there.row(7), here.row(7)
    np.testing.assert_array_equal(row.predictions, twin.predictions)
    np.testing.assert_array_equal(row.targets, twin.targets)


@every_device
@every_problem
def test_tables_of_every_rule(name, device):
    here, there = both(PROBLEMS[name], device)
    nth = list(PROBLEMS).index(name)
    for j, rule in enumerate(RULES):
        # The last bit of many predictions near 1 decides their order.
        unsure = name == "large logits" and rule in BY_ORDER
        if not unsure and (name in EVERY_RULE or (nth + j) % 3 == 0):
            assert_tables(here, there, rule)


def assert_tables(here: Any, there: Any, rule: str) -> None:
    for notion in ("confidence",) if here.multiclass else ("binary", "confidence"):
        mine, theirs = of_arrays(lambda e, s: e.bin_table(s, notion, RULES[rule]), here, there)  # noqa: B023
        assert_sums(theirs[0].sums, mine[0].sums, f"{rule}, {notion}")
        assert_sums(theirs[0].dropped, mine[0].dropped, rule)
        np.testing.assert_allclose(theirs[1].inner, mine[1].inner, rtol=1e-14, err_msg=rule)
        assert theirs[2] == mine[2], rule
    if here.multiclass:
        mine, theirs = of_arrays(lambda e, s: e.classwise_table(s, RULES[rule]), here, there)
        assert_sums(theirs[0].sums, mine[0].sums, f"{rule}, classwise")
        assert_sums(theirs[0].dropped, mine[0].dropped, rule)
        assert theirs[1] == mine[1], rule


@every_device
@every_problem
def test_sums_grids_and_losses(name, device):
    here, there = both(PROBLEMS[name], device)
    cuts = fixed_cuts(EqualWidth(12), here.precision)
    notion: Any = "confidence" if here.multiclass else "binary"
    for call in (
        lambda e, s: e.scalar_sums(s, notion, cuts),
        lambda e, s: e.scalar_sums(s, notion, cuts, squares=False),
    ):
        (mine, found), (theirs, found_too) = of_arrays(call, here, there)
        unsquared = [0, 1, 2, 3, 4, 6, 7]
        assert_sums(theirs[:, unsquared], mine[:, unsquared])
        assert found == found_too
    for distribution in (False, True):
        (mine, found), (theirs, found_too) = of_arrays(
            lambda e, s: e.loss_sums(s, distribution=distribution),  # noqa: B023
            here,
            there,
        )
        assert theirs.n_classes == mine.n_classes
        assert theirs.has_distribution == mine.has_distribution == distribution
        assert_sums(theirs.sums, mine.sums, atol=1e-13)
        assert found == found_too


@every_device
@every_problem
def test_smoothing_grids(name, device):
    here, there = both(PROBLEMS[name], device)
    notions = ("confidence", "classwise") if here.multiclass else ("binary", "confidence")
    for notion in notions:
        mine, theirs = of_arrays(lambda e, s: e.logit_grid(s, notion, 2**-6, 1e-6), here, there)  # noqa: B023
        for side in ("plus", "minus"):
            assert_grids(getattr(theirs[0], side), getattr(mine[0], side), notion)
        assert mine[1:] == theirs[1:]
        for alone in (True, False):
            mine, theirs = of_arrays(
                lambda e, s: e.unit_grid(s, notion, 512, residual_only=alone),  # noqa: B023
                here,
                there,
            )
            assert_grids(theirs[0].sums, mine[0].sums, notion)
            assert mine[1] == theirs[1]


PHI = np.array([[0.0, -3.0], [1.0, 2.0], [4.0, 0.5], [2.0, 2.5], [-1.0, 1.0], [0.3, 0.7]])


VECTOR_RULES = ("equal width", "one dropped", "edges", "quantile", "level sets")


@every_device
@pytest.mark.parametrize("name", MULTICLASS)
def test_vector_tables(name, device):
    here, there = both(PROBLEMS[name], device)
    for rule in VECTOR_RULES:
        for of, phi in (("labels", None), ("a property", PHI)):
            try:
                same_vector_tables(here, there, rule, phi)
            except AssertionError as error:
                error.add_note(f"of {of} in {rule}")
                raise


def same_vector_tables(here, there, rule, phi):
    (mine, found), (theirs, found_too) = of_arrays(
        lambda e, s: e.vector_table(s, RULES[rule], phi), here, there
    )
    assert found == found_too
    if rule != "level sets":
        np.testing.assert_allclose(theirs.sum_w, mine.sum_w, rtol=1e-12)
        np.testing.assert_allclose(theirs.residual, mine.residual, rtol=1e-9, atol=1e-11)
    elif here.from_logits or phi is not None:
        # Rounding decides which vectors are equal; the sums over all do not depend on it.
        assert theirs.sum_w.sum() == pytest.approx(mine.sum_w.sum(), rel=1e-12)
    else:  # levels come in another order
        assert len(theirs.sum_w) == len(mine.sum_w)
        np.testing.assert_allclose(np.sort(theirs.sum_w), np.sort(mine.sum_w), rtol=1e-12)
        lengths = [np.sort((table.residual**2).sum(axis=1)) for table in (theirs, mine)]
        np.testing.assert_allclose(lengths[0], lengths[1], rtol=1e-9, atol=1e-12)


@every_device
@every_problem
def test_whole_problems_columns_and_rows_above(name, device):
    here, there = both(PROBLEMS[name], device)
    notion: Any = "confidence" if here.multiclass else "binary"
    mine, theirs = of_arrays(lambda e, s: e.whole_problem(s, notion), here, there)
    for a, b in zip(mine[:3], theirs[:3], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-13, atol=1e-300)
    assert mine[3] == theirs[3]
    if here.multiclass:
        columns = zip(*of_arrays(lambda e, s: e.class_columns(s), here, there), strict=True)
    else:
        columns = iter([(here, there)])
    for a, b in columns:
        above, too = array_engine.rows_above(a, 0.1), tensor_engine.rows_above(b, 0.1)
        assert (above is None) == (too is None)
        if above is not None:
            back = too.in_memory()
            np.testing.assert_allclose(back.predictions, above.predictions, rtol=1e-13)
            np.testing.assert_array_equal(back.targets, above.targets)
    assert tensor_engine.rows_above(b, 1.5) is None


@every_device
@every_problem
def test_streams_of_tensors(name, device):
    here, there = both(PROBLEMS[name], device)
    every = (None, ("ece", "classwise_ece", "log_loss", "jsd"), ("smooth_ece",))
    nth = list(PROBLEMS).index(name) % 3
    for measures in every if name in EVERY_RULE else every[nth : nth + 1]:
        try:
            same_streams(name, here, there, measures)
        except AssertionError as error:
            error.add_note(f"of {measures}")
            raise


def same_streams(name, here, there, measures):
    cells = Cells(EqualWidth(15, "right"))
    names = None if measures is None else tuple(m for m in measures if _applies(m, here.multiclass))
    holds = holdings(names, here.multiclass)
    mine, theirs = of_arrays(lambda e, s: e.stream_sums(s, cells, holds), here, there)
    assert mine.arrays.keys() == theirs.arrays.keys()
    for part, expected in mine.arrays.items():
        if part in ("logits", "residuals"):
            assert_grids(theirs.arrays[part], expected, part, name == "large logits")
        elif part == "distribution_weight":
            np.testing.assert_allclose(theirs.arrays[part], expected, 1e-12)
        else:
            assert_sums(theirs.arrays[part], expected, part, atol=1e-13)
    assert mine.findings == theirs.findings
    assert (mine.n_rows, mine.n_missing) == (theirs.n_rows, theirs.n_missing)


def _applies(measure: str, multiclass: bool) -> bool:
    shape: Any = "multiclass" if multiclass else "binary"
    return measure in {m.name for m in cal.catalogue(shape)}


THREE_RULES = [15, cal.Quantile(10), cal.LevelSets()]


@every_device
@pytest.mark.parametrize(
    ("name", "bins"),
    [
        (name, rule)
        for j, name in enumerate(PROBLEMS)
        for k, rule in enumerate(THREE_RULES)
        # The last bit of many large logits' predictions, near 1, decides their order.
        if (k == 0 if name == "large logits" else name in EVERY_RULE[1::2] or j % 3 == k)
    ],
    ids=str,
)
def test_every_measure_of_the_catalogue(name, bins, device):
    y, p, options = PROBLEMS[name]
    expected = cal.evaluate(tensor(y), tensor(p), bins=bins, **options)
    with engine("torch"):
        found = cal.evaluate(tensor(y, device), tensor(p, device), bins=bins, **options)
    assert found.values.keys() == expected.values.keys()
    for measure, value in expected.values.items():
        # The last bit of predictions near 1 decides which of them are tied.
        ties = name == "large logits" and entry_of(measure).is_ranking
        # Two rows in another order are 4 / N^2 of an AUROC.
        near = {"rel": 0, "abs": 8 / N**2} if ties else {"rel": 1e-11, "abs": 1e-14}
        assert found[measure] == pytest.approx(value, **near), measure
    assert found.notes == expected.notes
    assert found.inferred == expected.inferred
    assert found.recipe == expected.recipe
    assert found.reliability.columns()["n"] == expected.reliability.columns()["n"]
    if expected.classes is not None:
        np.testing.assert_allclose(
            sorted(found.classes["ece"]), sorted(expected.classes["ece"]), 1e-11, 1e-14
        )


@every_device
@pytest.mark.parametrize("name", ["binary logits", "large binary logits", "weights", "logits"])
@pytest.mark.parametrize("notion", ["usual", "confidence", "classwise"])
def test_smoothing_that_needs_every_row(name, notion, device):
    y, p, options = PROBLEMS[name]
    if notion == "classwise" and p.ndim == 1:
        pytest.skip("one column has no classes")
    chosen = None if notion == "usual" else notion

    def values(where: str) -> list[float]:
        a, b = tensor(y, where), tensor(p, where)
        rest = {"sigma": 0.1, "notion": chosen, **options}
        return [
            cal.ls_ece(a, b, noise="uniform", **rest),
            cal.ls_ece(
                a, b, method="monte-carlo", n_draws=50, rng=np.random.default_rng(1), **rest
            ),
            cal.ls_ece(a, b, **rest),
            cal.smooth_ece(a, b, notion=chosen, **options),
        ]

    expected = values("cpu")
    with engine("torch"):
        assert values(device) == pytest.approx(expected, rel=1e-11)


# --- the interval rule ---------------------------------------------------------------------------


def around(edges: list[float], dtype: Any) -> Array:
    """0, 1, each edge, and its neighbours one ulp away, in one precision."""
    at = np.array([0.0, 1.0, *edges]).astype(dtype)
    near = [np.nextafter(at, np.array(-1, dtype)), at, np.nextafter(at, np.array(2, dtype))]
    predictions = np.concatenate([*near, np.array([np.finfo(dtype).smallest_subnormal], dtype)])
    return predictions[(predictions >= 0) & (predictions <= 1)]


@every_device
@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_predictions_one_ulp_from_an_edge(dtype, closed, device):
    find = bisect_right if closed == "left" else bisect_left
    for m in [*range(1, 40), 64, 99, 100]:
        edges = [float(np.asarray(j / m, dtype)) for j in range(1, m)]
        predictions = around(edges, dtype)
        bins = [find(edges, u) for u in predictions.astype(np.float64).tolist()]
        samples = TensorInput().build(torch.zeros(len(predictions)), tensor(predictions, device))
        table = tensor_engine.bin_table(samples, "binary", EqualWidth(m, closed))[0]
        np.testing.assert_array_equal(table.n[0], np.bincount(bins, minlength=m))
        rest = (1 - predictions[:, None]) / np.array(2, dtype)
        rows = np.concatenate([predictions[:, None], rest, rest], axis=1, dtype=dtype)
        samples = TensorInput().build([0] * len(rows), tensor(rows, device))
        table = tensor_engine.classwise_table(samples, EqualWidth(m, closed))[0]
        np.testing.assert_array_equal(table.n[0], np.bincount(bins, minlength=m))


@every_device
def test_bfloat16_predictions_meet_edges_as_float32(device):
    predictions = torch.tensor([0.1, 0.2, 0.3, 0.7, 0.9], dtype=torch.bfloat16)
    expected = cal.reliability([0] * 5, predictions, bins=10).columns()["n"]
    with engine("torch"):
        found = cal.reliability([0] * 5, predictions.to(device), bins=10).columns()["n"]
    assert found == expected


@every_device
@pytest.mark.parametrize("k", [2, 3, 1000])
def test_the_lowest_class_wins_a_tie(k, device):
    """Equal probabilities: class 0 is predicted, wherever the others lie."""
    rows = torch.full((50, k), 1 / k, device=device, dtype=torch.float64)
    labels = torch.arange(50, device=device) % k
    samples = TensorInput().build(labels, rows)
    table = tensor_engine.bin_table(samples, "confidence", EqualWidth(1))[0]
    assert table.sum_wz[0, 0] == int((labels == 0).sum())
    rows = torch.zeros((50, k), device=device)
    rows[:, k // 2 :] = 5.0
    samples = TensorInput().build(torch.full((50,), k // 2), rows, from_logits=True)
    table = tensor_engine.bin_table(samples, "confidence", EqualWidth(1))[0]
    assert table.sum_wz[0, 0] == 50


# --- blocks, and what is not done on the way ------------------------------------------------------


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "HOST_ENTRIES", 700)
    monkeypatch.setattr(blocks, "DEVICE_ENTRIES", 700)


@every_device
@pytest.mark.parametrize(
    "name", ["weighted ties", "weighted logits", "weighted soft logits", "rows"]
)
def test_blocks_add_up(name, device, small_blocks):
    test_every_measure_of_the_catalogue(name, 15, device)
    test_streams_of_tensors(name, device)
    test_vectors = name in MULTICLASS
    if test_vectors:
        test_vector_tables(name, device)


@every_device
@pytest.mark.parametrize("row", [5, 699, 700, N - 1])
@pytest.mark.parametrize("name", ["binary", "rows", "logits", "binary logits"])
def test_the_first_bad_row_is_named(name, row, device, small_blocks):
    y, p, options = PROBLEMS[name]
    bad = p.copy()
    bad[row] = np.nan
    bad[row + 1 :: 17] = np.inf
    samples = TensorInput().build(tensor(y, device), tensor(bad, device), **options)
    notion: Any = "confidence" if samples.multiclass else "binary"
    for rule in (EqualWidth(15), Quantile(5), LevelSets(), Quantile(5, "rank")):
        with pytest.raises(BadRow) as caught:
            tensor_engine.bin_table(samples, notion, rule)
        assert caught.value.row == row
    for grid in (
        lambda: tensor_engine.logit_grid(samples, notion, 0.01, 1e-6),
        lambda: tensor_engine.unit_grid(samples, notion, 64),
        lambda: tensor_engine.loss_sums(samples, distribution=True),
        lambda: tensor_engine.whole_problem(samples, notion),
    ):
        with pytest.raises(BadRow) as caught:
            grid()
        assert caught.value.row == row


@pytest.mark.parametrize("name", ["weighted ties", "weighted soft rows", "logits", "binary logits"])
def test_a_pass_never_waits_for_its_device(name, monkeypatch):
    """No number is asked for, and no result has a size that only the device knows."""
    monkeypatch.setattr(blocks, "HOST_ENTRIES", 350)
    y, p, options = PROBLEMS[name]
    n = 500 // p[0].size  # two blocks: what is done is written down at every step
    options = {key: v if v is True else v[:n] for key, v in options.items()}
    _, there = both((y[:n], p[:n], options), "cpu")
    cuts = fixed_cuts(EqualWidth(15), there.precision)
    with torch.autograd.profiler.profile() as watch:
        if there.multiclass:
            tensor_engine.matrix_sums(there, classwise=cuts, confidence=cuts, losses=True)
            tensor_engine.bin_table(there, "confidence", Quantile(15))
            tensor_engine.classwise_table(there, Quantile(15))
            tensor_engine.vector_table(there, Quantile(15))
            tensor_engine.loss_sums(there, distribution=True)
        else:
            tensor_engine.scalar_sums(there, "binary", cuts)
            tensor_engine.bin_table(there, "binary", Quantile(15))
            tensor_engine.bin_table(there, "confidence", Quantile(15, "rank"))
            tensor_engine.unit_grid(there, "binary", 64)
    waits = ("_local_scalar_dense", "nonzero", "unique", "masked_select", "bincount", "is_nonzero")
    # As they were written down: to put them in their order takes longer than all else.
    seen = [event.name() for event in watch.kineto_results.events()]
    assert len(seen) > 100 and "aten::add" in seen
    assert not [call for call in seen if any(wait in call for wait in waits)]


@every_device
def test_tensors_are_left_as_they_were(device):
    for name in ("overshoot", "overshooting rows", "weighted soft logits"):
        y, p, options = PROBLEMS[name]
        a, b = tensor(y, device), tensor(p, device).requires_grad_()
        before = a.clone(), b.detach().clone()
        with engine("torch"):
            cal.evaluate(a, b, **options)
        assert torch.equal(a, before[0]) and torch.equal(b, before[1]) and b.grad is None


# --- the gate -------------------------------------------------------------------------------------


@every_device
@pytest.mark.parametrize("form", [lambda y: y, list, lambda y: torch.tensor(y)])
def test_labels_and_weights_of_any_form(form, device):
    p = tensor(ROWS, device)
    expected = cal.ece(LABELS, ROWS, sample_weight=WEIGHTS)
    with engine("torch"):
        found = cal.ece(form(LABELS), p, sample_weight=form(WEIGHTS))
    assert found == pytest.approx(expected, rel=1e-13)


@every_device
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint16", "uint32", "uint64", "bool"])
def test_label_types(dtype, device):
    labels = tensor((OUTCOMES, dtype)).to(device)
    expected = cal.ece(OUTCOMES, REPORTS)
    with engine("torch"):
        assert cal.ece(labels, tensor(REPORTS, device)) == pytest.approx(expected, rel=1e-13)


def test_read_only_labels_come_without_a_warning():
    labels = OUTCOMES.copy()
    labels.flags.writeable = False
    with engine("torch"):
        assert cal.ece(labels[::-1], torch.tensor(REPORTS[::-1].copy())) > 0


@every_device
@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array(list("abcdef"))[LABELS], list("abcdef")),
        (LABELS, list("abcdef")),
        (LABELS + 10, list(range(10, 16))),
        (LABELS * 0.5, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]),
        (SOFT_ROWS, list("abcdef")),
    ],
)
def test_tensors_take_named_classes(labels, classes, device):
    expected = cal.evaluate(labels, ROWS, classes=classes)
    given = labels if labels.dtype.kind == "U" else tensor(labels, device)
    with engine("torch"):
        found = cal.evaluate(given, tensor(ROWS, device), classes=classes)
    assert found["ece"] == pytest.approx(expected["ece"], rel=1e-13)
    assert found.classes is not None and expected.classes is not None
    assert found.classes["class"] == expected.classes["class"]


def holes(values: Array, *rows: int) -> Array:
    out = values.astype(np.float64)
    out[list(rows)] = np.nan
    return out


@every_device
@pytest.mark.parametrize(
    ("y", "p", "weights"),
    [
        (OUTCOMES, holes(REPORTS, 3, 8), None),
        (holes(OUTCOMES, 0, 8), holes(REPORTS, 3, 8), None),
        (OUTCOMES, holes(REPORTS, 3), holes(WEIGHTS, 5, 9)),
        (LABELS, holes(ROWS, 3, N - 1), None),
        (holes(LABELS, 7), ROWS, holes(WEIGHTS, 7, 8)),
        (OUTCOMES, REPORTS, None),
    ],
)
def test_missing_rows(y, p, weights, device):
    options = {"missing": "drop", "measures": ["ece", "brier", "lin_ce"]}
    expected = cal.evaluate(y, p, sample_weight=weights, **options)
    w = None if weights is None else tensor(weights, device)
    with engine("torch"):
        found = cal.evaluate(tensor(y, device), tensor(p, device), sample_weight=w, **options)
        of_arrays = cal.evaluate(y, tensor(p, device), sample_weight=weights, **options)
    for each in (found, of_arrays):
        assert each.values == pytest.approx(expected.values, rel=1e-12)
        assert each.recipe == expected.recipe and each.notes == expected.notes


def test_half_precision_rows_keep_their_tolerance_when_some_are_missing():
    rows = torch.tensor(ROWS, dtype=torch.bfloat16)
    rows[5, 2] = torch.nan
    expected = cal.evaluate(torch.tensor(LABELS), rows, missing="drop", measures=["ece"])
    with engine("torch"):
        found = cal.evaluate(torch.tensor(LABELS), rows, missing="drop", measures=["ece"])
    assert found["ece"] == pytest.approx(expected["ece"], rel=1e-12)
    assert found.recipe["n_missing"] == 1


NAN, INF = float("nan"), float("inf")
Y, P = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
L3 = [0, 1, 2, 0]
R3 = [[0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2], [0.3, 0.3, 0.4]]
REFUSED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "prediction above 1": (Y, [0.2, 0.7, 1.2, 0.4], {}),
    "negative prediction": (Y, [0.2, -0.7, 0.2, 0.4], {}),
    "NaN prediction": (Y, [0.2, 0.7, NAN, NAN], {}),
    "infinite logit": (Y, [0.2, INF, 0.2, 3.0], {"from_logits": True}),
    "infinite logit of a row": (
        L3,
        [[0.0, 1, 2], [3, 4, 5], [6, -INF, 8], [0, 0, 0]],
        {"from_logits": True},
    ),
    "label 2": ([0, 1, 2, 0], P, {}),
    "label -1": ([0, -1, 1, 0], P, {}),
    "NaN label": ([0.0, NAN, 1.0, 0.0], P, {}),
    "row of 1.1": (L3, [[0.2, 0.5, 0.3], [0.1, 0.2, 0.8], *R3[2:]], {}),
    "class 3": ([0, 3, 2, 0], R3, {}),
    "class -1": ([0, 1, -1, 0], R3, {}),
    "class 1/2": ([0.0, 0.5, 1.0, 2.0], R3, {}),
    "NaN class": ([0.0, NAN, 1.0, 2.0], R3, {}),
    "huge class": ([0.0, 1e300, 1.0, 2.0], R3, {}),
    "soft row of 2": ([[1.0, 1.0, 0.0], *R3[1:]], R3, {}),
    "negative soft label": ([*R3[:3], [1.5, -0.5, 0.0]], R3, {}),
    "negative weight": (Y, P, {"sample_weight": [1.0, -1.0, 1.0, 1.0]}),
    "NaN weight": (L3, R3, {"sample_weight": [1.0, 1.0, 1.0, NAN]}),
    "no weight": (Y, P, {"sample_weight": [0.0, 0.0, 0.0, 0.0]}),
    "too few weights": (Y, P, {"sample_weight": [1.0, 2.0]}),
    "too few labels": ([0, 1], P, {}),
    "one label": (1, P, {}),
    "no rows": ([], [], {}),
    "three dimensions": (Y, [[[0.5]], [[0.5]], [[0.5]], [[0.5]]], {}),
    "one column": (Y, [[0.5], [0.5], [0.5], [0.5]], {}),
    "no columns": (Y, [[], [], [], []], {}),
    "rows of labels for a column": (R3, P, {}),
    "rows of other classes": ([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], R3, {}),
    "labels that are not in classes": ([5, 6, 9, 5], P, {"classes": [5, 6]}),
    "NaN among labels of classes": ([5.0, 6.0, NAN, 5.0], P, {"classes": [5, 6]}),
    "too few classes": (L3, R3, {"classes": ["a", "b"]}),
    "classes twice": (L3, R3, {"classes": ["a", "b", "a"]}),
    "swapped": (P, Y, {}),
    "a flag that is none": (Y, P, {"from_logits": "yes"}),
    "complex predictions": (Y, [0.2 + 0j, 0.7, 0.9, 0.4], {}),
    "missing in no known way": (Y, P, {"missing": "fill"}),
}


def refusal(y: Any, p: Any, options: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        cal.evaluate(y, p, **options)
    return str(caught.value)


@every_device
@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_arrays_are(name, device):
    y, p, options = REFUSED[name]
    expected = refusal(tensor(y), tensor(p), options)
    with engine("torch"):
        assert refusal(tensor(y, device), tensor(p, device), options) == expected
        assert refusal(y, tensor(p, device), options) == refusal(y, tensor(p), options)


def test_texts_and_nothing_are_refused():
    with engine("torch"):
        for y in (None, "label", ["a", "b", "a", "b"]):
            assert "y_true" in refusal(y, torch.tensor(P), {})


# --- how it is chosen -----------------------------------------------------------------------------


ODD_TENSORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "sparse": (lambda t: t.to_sparse(), "y_proba is a sparse tensor"),
    "compressed": (lambda t: t[:, None].to_sparse_csr(), "y_proba is a sparse tensor"),
    "meta": (lambda t: t.to("meta"), "y_proba is a tensor on the meta device"),
    "quantized": (
        lambda t: torch.quantize_per_tensor(t.float(), 0.01, 0, torch.quint8),
        "y_proba is a quantized tensor",
    ),
    "nested": (lambda t: torch.nested.nested_tensor([t, t[:3]]), "y_proba is a nested tensor"),
}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ODD_TENSORS)
@pytest.mark.parametrize("chosen", ["torch", *available()])
def test_tensors_that_are_no_plain_numbers_are_refused_in_a_sentence(name, chosen):
    make, said = ODD_TENSORS[name]
    odd = make(torch.tensor(REPORTS))
    with engine(chosen), pytest.raises(InputError, match=said):
        cal.ece(OUTCOMES, odd)


@pytest.mark.parametrize("chosen", ["torch", *available()])
def test_views_and_numbers_of_eight_bits_are_read(chosen):
    predictions = torch.tensor(REPORTS)
    coarse = predictions.to(torch.float8_e4m3fn)
    with engine(chosen):
        assert cal.ece(OUTCOMES, (-predictions)._neg_view()) == cal.ece(OUTCOMES, predictions)
        assert cal.ece(OUTCOMES, coarse) == cal.ece(OUTCOMES, coarse.float())


def test_tensors_in_memory_are_arrays_unless_torch_is_asked_for():
    given = torch.tensor(Y), torch.tensor(P)
    assert not isinstance(to_source(*given), TensorSamples)
    with engine("torch"):
        assert isinstance(to_source(*given), TensorSamples)
        assert kernels().name == available()[0]  # arrays have what they always have
        assert not isinstance(to_source(Y, P), TensorSamples)
    with pytest.raises(InputError, match="did you mean 'torch'"), engine("torhc"):
        pass


def test_the_environment_chooses_too(monkeypatch):
    monkeypatch.setenv("CALIBRANT_ENGINE", "torch")
    y, p = torch.tensor([0, 1]), torch.tensor([0.2, 0.7])
    assert isinstance(to_source(y, p), TensorSamples)
    assert cal.ece(y, p) == cal.ece([0, 1], p.numpy())


@every_device
@pytest.mark.parametrize("name", ["binary", "weighted soft rows", "logits", "bfloat16 logits"])
def test_an_accumulator_takes_tensors(name, device):
    y, p, options = PROBLEMS[name]
    weights = options.get("sample_weight")
    y, p = tensor(y), tensor(p)
    streams = [cal.Accumulator(from_logits="from_logits" in options) for _ in range(2)]
    for rows in (slice(0, 100), slice(100, 101), slice(101, N)):
        w = None if weights is None else weights[rows]
        streams[0].update(y[rows], p[rows], sample_weight=w)
        with engine("torch"):
            streams[1].update(y[rows].to(device), p[rows].to(device), sample_weight=w)
    expected, found = (stream.evaluate() for stream in streams)
    assert found.values == pytest.approx(expected.values, rel=1e-10, abs=1e-13)
    assert found.reliability.columns()["n"] == expected.reliability.columns()["n"]


@every_device
def test_no_rows_left_is_told(device):
    with engine("torch"), pytest.raises(InputError, match="sample_weight is 0 in every row"):
        cal.lin_ce(Y, torch.full((4,), 0.5, device=device), sample_weight=[0.0] * 4)
