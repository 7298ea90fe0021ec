"""What weights mean: shares of the whole, whose squares are what rows add to a variance."""

from __future__ import annotations

import functools
from itertools import product

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, catalogue
from every_engine import ENGINES, LAZY, call

K = 3
RNG = np.random.default_rng(5)
TRUTHS = {
    "[5, 1]": (np.array([5.0, 1.0]), np.array([[0.5, 0.3, 0.2], [0.2, 0.45, 0.35]])),
    "[4, 4]": (np.array([4.0, 4.0]), np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])),
    "[1e-3, 7, 1]": (np.array([1e-3, 7.0, 1.0]), RNG.dirichlet(np.ones(K), 3)),
}


def expected(function, truth, predictions, w) -> float:
    """The mean over every outcome of rows with these true probabilities."""
    total = 0.0
    for outcome in product(range(truth.shape[1]), repeat=len(truth)):
        chance = float(np.prod(truth[np.arange(len(truth)), list(outcome)]))
        if chance > 0:
            total += chance * function(np.array(outcome), predictions, sample_weight=w)
    return total


def misreports(truth):
    """Predictions that move the top label, draw rows together, or are anything at all."""
    rng = np.random.default_rng(1)
    yield np.full(truth.shape, 1 / K)
    yield np.repeat(truth.mean(axis=0)[None], len(truth), axis=0)
    for r in range(K):
        yield 0.9 * truth + 0.1 * np.eye(K)[r]
        yield np.where(np.arange(K) == r, 0.4, 0.3) * np.ones(truth.shape)
    for _ in range(15):
        yield rng.dirichlet(np.ones(K), len(truth))


@pytest.mark.parametrize("bins", [1, 2, cal.EqualWidth(4), cal.LevelSets()], ids=str)
@pytest.mark.parametrize("case", TRUTHS)
def test_the_truth_minimises_the_corrected_confidence_error(case, bins):
    w, truth = TRUTHS[case]

    def error(y, p, sample_weight):
        return cal.confidence_ce(y, p, bins=bins, sample_weight=sample_weight)

    best = expected(error, truth, truth, w)
    for prediction in misreports(truth):
        assert expected(error, truth, prediction, w) >= best * (1 - 1e-12)


@pytest.mark.parametrize(
    ("wrong", "best", "found"), [("none", 0.125, 0.045), ("of the total weight", 0.1875, 0.1575)]
)
def test_a_wrong_correction_is_beaten(wrong, best, found):
    """Example C.1 with two rows of weight 4: the test above can fail."""
    w, truth = np.array([4.0, 4.0]), np.tile([0.1, 0.5, 0.4] + [0.0] * 7, (2, 1))

    def error(y, p, sample_weight):
        plain = cal.confidence_ce(y, p, corrected=False, bins=1, sample_weight=sample_weight)
        if wrong == "none":
            return plain
        missed = cal.classification_error(y, p, sample_weight=sample_weight)
        return plain + missed / sample_weight.sum()

    assert expected(error, truth, truth, w) == pytest.approx(best)
    assert expected(error, truth, np.full((2, 10), 0.1), w) == pytest.approx(found)


def test_the_correction_is_that_of_the_specification():
    p, w = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1]], [5.0, 1.0]
    plain = cal.confidence_ce([1, 1], p, corrected=False, sample_weight=w)
    assert cal.confidence_ce([1, 1], p, sample_weight=w) == pytest.approx(plain + 25 / 36)


def test_the_debiased_error_counts_effective_rows():
    """One bin, gap 0.1: 36/26 rows are worth what 5 and 1 are."""
    found = cal.debiased_l2([1, 0], [0.9, 0.5 + 1 / 3], bins=1, sample_weight=[5, 1])
    gap = (5 * 0.9 + (0.5 + 1 / 3)) / 6 - 5 / 6
    variance = 5 / 6 * 1 / 6 / (36 / 26 - 1)
    assert found == pytest.approx(np.sqrt(max(0.0, gap**2 - variance)), abs=1e-12)
    alone = cal.debiased_l2([1, 0], [0.9, 0.4], bins=cal.LevelSets(), sample_weight=[0.3, 7])
    assert alone == 0.0  # a bin of one row says nothing, however much it weighs


@functools.cache
def rows_of(shape: str, *, soft: bool):
    """Columns with labels, predictions and weights, and the names of labels and predictions."""
    rng = np.random.default_rng(3)
    n = 200
    if shape == "binary":
        p = rng.random(n)
        y = rng.random(n) if soft else (rng.random(n) < p).astype(np.int64)
        return {"y": y, "p": p, "w": 3 * rng.random(n)}, "y", "p"
    p, q = rng.dirichlet(np.ones(K), n), rng.dirichlet(np.ones(K), n)
    columns = {f"p{r}": p[:, r] for r in range(K)} | {f"q{r}": q[:, r] for r in range(K)}
    columns |= {"y": rng.integers(0, K, n), "w": 3 * rng.random(n)}
    return columns, [f"q{r}" for r in range(K)] if soft else "y", [f"p{r}" for r in range(K)]


# A query takes these long to plan, or is the same as of another: soft labels of classes, for every
# evaluation of tests/engines has weights and soft labels of a binary problem.
SLOW = ("dask", "ibis", "spark", "polars in memory")
PROBLEMS = [
    pytest.param(engine, shape, soft, id=f"{engine}-{shape}-{'soft' if soft else 'hard'}")
    for engine in ENGINES
    for shape in ("binary", "multiclass")
    for soft in (False, True)
    if engine not in SLOW or (soft and shape == "multiclass")
]


@functools.cache
def value_of_arrays(function, shape, soft, weighted):
    columns, y, p = rows_of(shape, soft=soft)
    return call("numpy", function, columns, y, p, **({"sample_weight": "w"} if weighted else {}))


@pytest.mark.parametrize(("engine", "shape", "soft"), PROBLEMS)
def test_squares_of_weights_in_every_engine(engine, shape, soft):
    """The truthful confidence error and the debiased one are those that read them."""
    columns, y, p = rows_of(shape, soft=soft)
    for weighted in (True,) if engine in LAZY else (False, True):
        options = {"sample_weight": "w"} if weighted else {}
        # Both read the same sums: each engine that takes long to plan has one of them, and the
        # other lazy ones either with each shape and with each kind of labels.
        functions = (cal.confidence_ce, cal.debiased_l2)
        if engine in SLOW:
            functions = functions[SLOW.index(engine) % 2 :][:1]
        elif engine in LAZY:
            functions = functions[int((shape == "binary") == soft) :][:1]
        for function in functions:
            expected = value_of_arrays(function, shape, soft, weighted)
            found = call(engine, function, columns, y, p, **options)
            assert found == pytest.approx(expected, rel=1e-11)


def test_streams_sum_the_squares_of_weights():
    """What a stream's cells leave to chance is the bins, not the correction."""
    columns, y, p = rows_of("multiclass", soft=True)
    y, p, w = (np.stack([columns[c] for c in names], 1) for names in (y, p, ["w"]))
    stream = cal.Accumulator(approximate=True)
    for part in np.array_split(np.arange(200), 7):
        stream.update(y[part], p[part], sample_weight=w[part, 0])
    found, whole = stream.evaluate(), cal.evaluate(y, p, sample_weight=w[:, 0])
    correction = [e["confidence_ce"] - e["confidence_ce_uncorrected"] for e in (found, whole)]
    assert correction[0] == pytest.approx(correction[1], rel=1e-12)


class TestNames:
    """One name has one value, and other people's names find it."""

    def test_the_catalogue_and_the_function_agree(self):
        rng = np.random.default_rng(0)
        p, y = rng.dirichlet(np.ones(K), 100), rng.integers(0, K, 100)
        found = cal.evaluate(y, p, sample_weight=np.arange(100.0))
        assert found["confidence_ce"] == cal.confidence_ce(y, p, sample_weight=np.arange(100.0))
        assert found["confidence_ce_corrected"] == found["confidence_ce"]
        plain = cal.confidence_ce(y, p, corrected=False, sample_weight=np.arange(100.0))
        assert found["confidence_ce_uncorrected"] == plain != found["confidence_ce"]
        assert "confidence_ce_corrected" in found and "confidence_ce_corrected" not in found.values

    @pytest.mark.parametrize(
        ("asked", "name"),
        [
            ("ECE", "ece"),
            ("SMECE", "ece"),
            ("soft_ece", "ece"),
            ("smECE", "smooth_ece"),
            ("Soft-ECE", "ece"),
            ("LS-ECE", "ls_ece"),
            ("LinCE", "lin_ce"),
            ("confidence_ce_corrected", "confidence_ce"),
            ("brier_score", "brier"),
            ("Confidence_CE_Corrected", "confidence_ce"),
        ],
    )
    def test_aliases_name_the_same_measure(self, asked, name):
        y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
        found = cal.evaluate(y, p, measures=[asked])
        assert found[asked] == found[name]
        assert cal.noise_floor(y, p, measure=asked).measure == name
        stream = cal.Accumulator(measures=[asked], approximate=True).update(y, p)
        assert stream.evaluate()[asked] == pytest.approx(found[name], rel=1e-4)
        checked = cal.check(y, p, at_most={asked: 0.5}, point=True)
        assert checked.rows[0].limit.measure == name
        compared = cal.compare(y, {"a": p, "b": p}, measures=[asked], n_resamples=50)
        assert compared.value("a", asked) == compared.value("a", name)
        assert compared.difference("a", "b", asked).measure == name

    def test_a_name_that_may_be_two(self):
        with pytest.raises(InputError, match=r"'ece' \(written SMECE\) or 'smooth_ece'"):
            cal.evaluate([0, 1], [0.2, 0.7], measures=["smece"])
        with pytest.raises(InputError, match=r"written smECE"):
            cal.Accumulator(measures=["smece"])

    @pytest.mark.parametrize("name", ["auc", "AUROC", "roc_auc"])
    def test_names_of_auroc(self, name):
        assert cal.evaluate([0, 1], [0.2, 0.7], measures=[name])["auroc"] == 1

    @pytest.mark.parametrize("name", ["auprc", "Average_Precision", "gini"])
    def test_what_measures_ranking(self, name):
        with pytest.raises(InputError, match="ranking, not calibration, and is not available"):
            cal.evaluate([0, 1], [0.2, 0.7], measures=[name])

    @pytest.mark.parametrize("shape", ["binary", "multiclass"])
    def test_no_alias_hides_another_measure(self, shape):
        names = {measure.name for measure in catalogue()}
        rng = np.random.default_rng(0)
        p = rng.random(40) if shape == "binary" else rng.dirichlet(np.ones(K), 40)
        y = rng.integers(0, 2 if shape == "binary" else K, 40)
        for measure in catalogue(shape):
            assert not names & set(measure.aliases)
            if measure.parts is not None:  # it refuses hard labels
                continue
            for name in (measure.name, *measure.aliases):
                assert list(cal.evaluate(y, p, measures=[name]).values) == [measure.name]
