"""What the papers prove or print about binned errors, held to exactly where it is exact.

Leznik (2026), soft labels; McCaffrey, a tutorial on the calibration error; Chidambaram, Lee,
McSwiggen and Rezchikov (2024), continuity of the calibration error; Lu, Wu, Hartline and Hu,
truthful calibration errors.

Expectations are sums over every outcome of a small world, so nothing here is up to chance but what
is said to be drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import calibrant as cal
import twins
from every_engine import available, engine
from limits import SetLimits

Array = NDArray[np.float64]

RULES: dict[str, tuple[Any, twins.Rule]] = {
    "one bin": (cal.EqualWidth(1), twins.equal_width(1)),
    "equal width": (cal.EqualWidth(3), twins.equal_width(3)),
    "right-closed": (cal.EqualWidth(4, closed="right"), twins.equal_width(4, "right")),
    "dropping": (cal.EqualWidth(2, drop_one=True), twins.equal_width(2, drop_one=True)),
    "quantile": (cal.Quantile(2), twins.quantile_ties_together(2)),
    "rank": (cal.Quantile(3, ties="rank"), twins.quantile_by_rank(3)),
    "edges": (cal.Edges([0, 0.25, 0.6, 1]), twins.edges([0, 0.25, 0.6, 1])),
    "level sets": (cal.LevelSets(), twins.level_sets()),
}
every_rule = pytest.mark.parametrize("rule", RULES)
# Rules that put every prediction into a bin, for whole distributions too.
every_vector_rule = pytest.mark.parametrize(
    "rule", ["one bin", "equal width", "right-closed", "quantile", "edges", "level sets"]
)
# Rules that do not ask in which order the rows come.
FEW_RULES = [cal.EqualWidth(2), cal.Quantile(2), cal.LevelSets()]
few_rules = pytest.mark.parametrize("rule", FEW_RULES, ids=str)


@pytest.fixture(params=available())
def on_each_engine(request: pytest.FixtureRequest, set_limits: SetLimits) -> Iterator[None]:
    """For facts about the last bit, which summing in another order could change: also where rows
    are shared out to lanes, which those of a few thousand here are.
    """
    set_limits(rows_for_lanes=4096)
    with engine(request.param):
        yield


to_the_last_bit = pytest.mark.usefixtures("on_each_engine")


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


# --- Leznik (2026): soft labels -------------------------------------------------------------------

# One row, few of them, and many.
N_ROWS = (1, 37, 5000)


@to_the_last_bit
@every_rule
def test_soft_error_is_the_hard_one_to_the_last_bit_on_hard_labels(rule: str) -> None:
    """Proposition 1."""
    bins = RULES[rule][0]
    for n in N_ROWS:
        rng = np.random.default_rng(n)
        p = np.round(rng.random(n), 3)
        y = (rng.random(n) < p).astype(np.int64)
        for norm in ("l1", "l2", "max"):
            hard = cal.ece(y, p, bins=bins, norm=norm)
            assert cal.soft_ece(y.astype(np.float64), p, bins=bins, norm=norm) == hard, (n, norm)


@to_the_last_bit
@every_rule
def test_a_prediction_of_the_soft_label_itself_has_no_error_at_all(rule: str) -> None:
    """Proposition 2."""
    for n in N_ROWS:
        rng = np.random.default_rng(n)
        p = np.round(rng.random(n), 3) if n % 2 else rng.random(n)
        for w in (None, rng.random(n) + 0.1):
            given: dict[str, Any] = {"bins": RULES[rule][0], "sample_weight": w}
            for norm in ("l1", "l2", "max"):
                assert cal.soft_ece(p, p.copy(), norm=norm, **given) == 0.0, (n, norm)
            assert cal.lin_ce(p, p.copy(), **given) == 0.0, n


@to_the_last_bit
@every_vector_rule
def test_rows_that_prediction_the_soft_label_have_no_error_at_all(rule: str) -> None:
    """Proposition 2, of whole distributions."""
    bins = RULES[rule][0]
    for n in N_ROWS:
        p = np.random.default_rng(n).dirichlet(np.ones(4), n)
        assert cal.soft_ece(p, p.copy(), bins=bins) == 0.0, n
        assert cal.soft_ece(p, p.copy(), bins=bins, notion="classwise") == 0.0, n
        assert cal.classwise_ce(p, p.copy(), bins=bins) == 0.0, n
        if n < 1000 or rule != "level sets":
            assert cal.lin_ce(p, p.copy(), bins=bins) == 0.0, n


def test_thresholded_labels_set_a_floor_that_does_not_sink() -> None:
    """Proposition 3."""
    # x uniform on (-3, 3), prediction sigmoid(2x), label 1 where x >= 0. An edge lies at 1/2, so no
    # bin holds labels of both kinds and the floor is the mean distance, (1/3) int_0^3 sigmoid(-2x)
    # dx.
    floor = (math.log(2.0) - math.log1p(math.exp(-6.0))) / 6.0
    assert floor == pytest.approx(0.1151, abs=5e-5)
    rng = np.random.default_rng(7)
    for n in (500, 5_000, 50_000):
        x = rng.uniform(-3, 3, n)
        p = sigmoid(2 * x)
        # The error is a mean of n numbers with standard deviation 0.139.
        assert cal.ece(x >= 0, p, bins=10) == pytest.approx(floor, abs=5 * 0.139 / math.sqrt(n))
        assert cal.soft_ece(p, p, bins=10) == 0.0


def experiment_one() -> tuple[Array, Array, dict[str, Array]]:
    """Posterior, thresholded labels and the five models of Leznik's first experiment."""
    rng = np.random.default_rng(42)
    x = rng.uniform(-3, 3, 5000)
    posterior = sigmoid(2 * x)
    models = {
        "A": posterior,
        "B": sigmoid(6 * x),
        "C": sigmoid(0.8 * x),
        "D": np.minimum(posterior + 0.15, 1.0),
        "E": rng.uniform(0, 1, 5000),
    }
    return posterior, (x >= 0).astype(np.int64), models


def test_table_2_of_leznik_digit_for_digit() -> None:
    posterior, labels, models = experiment_one()
    printed = {
        "A": ("0.0000", "0.1159"),
        "B": ("0.0759", "0.0401"),
        "C": ("0.1369", "0.2529"),
        "D": ("0.0977", "0.1461"),
        "E": ("0.2409", "0.2398"),
    }
    as_printed = cal.EqualWidth(10, drop_one=True)
    for name, model in models.items():
        soft = cal.soft_ece(posterior, model, bins=as_printed)
        hard = cal.ece(labels, model, bins=as_printed)
        assert (f"{soft:.4f}", f"{hard:.4f}") == printed[name], name


def test_model_d_loses_its_predictions_of_one_in_table_2() -> None:
    posterior, _, models = experiment_one()
    table = cal.reliability(posterior, models["D"], bins=cal.EqualWidth(10, drop_one=True))
    assert table.n_dropped == int((models["D"] == 1.0).sum()) == 1743
    assert f"{cal.soft_ece(posterior, models['D'], bins=10):.4f}" == "0.1107"
    # No other model predicts a 1, so theirs do not change.
    for name in "ABCE":
        dropping = cal.soft_ece(posterior, models[name], bins=cal.EqualWidth(10, drop_one=True))
        assert cal.soft_ece(posterior, models[name], bins=10) == dropping


# --- McCaffrey: the worked table ------------------------------------------------------------------

COUNTS = np.array([6, 12, 18, 10, 12, 14, 16, 12])
MEAN_REPORTS = np.array([0.24, 0.36, 0.44, 0.52, 0.68, 0.74, 0.86, 0.92])
CORRECT = np.array([3, 8, 10, 6, 7, 10, 12, 10])
PRINTED_ACCURACIES = np.array([0.50, 0.67, 0.56, 0.60, 0.58, 0.71, 0.75, 0.83])


def test_mccaffreys_table_as_printed() -> None:
    # The accuracies of the table, rounded as they are printed, taken as the targets.
    p, z = np.repeat(MEAN_REPORTS, COUNTS), np.repeat(PRINTED_ACCURACIES, COUNTS)
    assert cal.ece(z, p, bins=10) == pytest.approx(0.1270, rel=0, abs=1e-14)


def test_mccaffreys_table_from_a_hundred_items() -> None:
    # Items that are right or wrong, as many as the accuracies allow: 8 of 12 are 0.67 when printed.
    assert np.array_equal(np.round(CORRECT / COUNTS, 2), PRINTED_ACCURACIES)
    p = np.repeat(MEAN_REPORTS, COUNTS)
    y = np.concatenate([np.arange(n) < right for n, right in zip(COUNTS, CORRECT, strict=True)])
    table = cal.reliability(y, p, bins=10).columns()
    assert table["n"] == [0, 0, *COUNTS]
    assert table["mean_target"][2:] == pytest.approx((CORRECT / COUNTS).tolist(), rel=1e-14)
    assert table["mean_predicted"][2:] == pytest.approx(MEAN_REPORTS.tolist(), rel=1e-14)
    # With unrounded accuracies the weighted mean gap is 12.44 / 100: the printed 0.1270 owes the
    # rest to rounding, which moves no gap by more than 0.005, nor their mean.
    value = cal.ece(y, p, bins=10)
    assert value == pytest.approx(0.1244, rel=0, abs=1e-14)
    assert abs(value - 0.1270) <= 0.005


# --- Chidambaram et al. (2024): continuity --------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-1, 1e-3, 1e-6, 1e-12])
def test_a_nudge_breaks_the_two_point_distribution(epsilon: float) -> None:
    """Theorems 3.2 and 3.10: the error jumps where a level set falls apart."""
    y = [0, 1]
    levels = cal.LevelSets()
    assert cal.ece(y, [0.5, 0.5], bins=levels) == 0.0
    nudged = cal.ece(y, [0.5 - epsilon, 0.5 + epsilon], bins=levels)
    assert nudged == pytest.approx(0.5 - epsilon, rel=1e-14)


def test_the_error_is_continuous_where_no_level_is_shared() -> None:
    """Theorem 3.2, the other direction: with distinct predictions the error moves as they do."""
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.5, 0.7, 0.9])
    levels = cal.LevelSets()
    before = cal.ece(y, p, bins=levels)
    for epsilon in (1e-1, 1e-3, 1e-9):
        moved = p + epsilon * np.array([1, -1, 1, -1])
        assert abs(cal.ece(y, moved, bins=levels) - before) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize(("parts", "measured"), [(10, "0.384"), (100, "0.340"), (1000, "0.335")])
def test_a_perturbation_breaks_a_predictor_without_level_sets(parts: int, measured: str) -> None:
    """Proposition 3.5, with the perturbation of its proof."""
    n, delta = 200_000, 1 / parts
    rng = np.random.default_rng(0)
    x1 = rng.random(n)
    upper = rng.random(n) < x1  # x2 >= 1/2, which is what the label is
    cell = np.floor(x1 * parts)
    perturbed = np.where(upper, cell + delta / 4, cell + 1 - delta / 4) * delta
    assert np.abs(perturbed - x1).max() < delta
    value = cal.ece(upper, perturbed, bins=cal.LevelSets())
    assert f"{value:.3f}" == measured
    # Its expectation, for labels that follow from the level, is E|y - g|.
    expected = 1 / 3 + delta / 2 - delta**2 / 12
    assert value == pytest.approx(expected, abs=5 * 0.236 / math.sqrt(n))
    assert cal.ece(upper, x1, bins=15) < 0.005  # and g = x1 itself is calibrated


def test_binned_error_of_the_two_point_distribution_jumps_with_the_bins() -> None:
    y = np.repeat([0, 1], [463, 537])  # mean(y) = 0.537
    p = sigmoid(1e-3 * (y - 0.5))
    for m in range(1, 101):
        value = cal.ece(y, p, bins=m)
        if m % 2:  # both predictions in the middle bin
            assert value == pytest.approx(abs(y.mean() - p.mean()), rel=1e-12), m
            assert value == pytest.approx(0.037, abs=2e-5), m
        else:  # an edge between them
            assert value == pytest.approx(p.min(), rel=1e-12), m
            assert value == pytest.approx(0.5, abs=2e-4), m


# --- Lu et al.: truthful predictions --------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 8])
def test_example_1_1_by_every_outcome(n: int) -> None:
    truth = np.arange(1, n + 1) / n
    levels = cal.LevelSets()
    truthful = expectation_over_labels(lambda y: cal.ece(y, truth, bins=levels), truth)
    assert truthful == pytest.approx((1 - n**-2) / 3, rel=1e-12)


@pytest.mark.parametrize(("n", "constant"), [(100, 0.0327), (1000, 0.0103), (10_000, 0.0033)])
def test_example_1_1(n: int, constant: float) -> None:
    """The truth costs 1/3 at every n, the constant prediction 1/2 costs next to nothing."""
    truth = np.arange(1, n + 1) / n
    levels = cal.LevelSets()
    y = np.random.default_rng(n).random(n) < truth
    # |p - y| is p or 1 - p: of n such terms the mean has this standard deviation.
    spread = math.sqrt(math.fsum(truth * (1 - truth) * (1 - 2 * truth) ** 2)) / n
    assert cal.ece(y, truth, bins=levels) == pytest.approx(1 / 3, abs=4 * spread)
    # The error of a constant depends on the number of ones alone, whose distribution is exact.
    chances = np.zeros(n + 1)
    chances[0] = 1.0
    for i, p in enumerate(truth, start=1):
        chances[1 : i + 1] = chances[1 : i + 1] * (1 - p) + chances[:i] * p
        chances[0] *= 1 - p
    likely = np.flatnonzero(chances > 1e-9)
    half = np.full(n, 0.5)
    ones = np.arange(n)
    errors = [cal.ece(ones < count, half, bins=levels) for count in likely]
    expected = math.fsum(chances[likely] * errors)
    assert expected == pytest.approx(constant, abs=5e-5)
    # About sqrt(2 / pi) of the standard deviation of the mean label, 1 / sqrt(6 n).
    assert expected == pytest.approx(math.sqrt(1 / (3 * math.pi * n)), rel=0.01)


def expectation_over_labels(measure: Callable[[Array], float], chances: Sequence[float]) -> float:
    """The mean over every row of 0/1 labels, independent with these chances."""
    terms = []
    for labels in product((0, 1), repeat=len(chances)):
        chance = math.prod(p if y else 1 - p for y, p in zip(labels, chances, strict=True))
        if chance > 0:
            terms.append(chance * measure(np.array(labels)))
    return math.fsum(terms)


def expectation_over_classes(measure: Callable[[Array], float], rows: Array) -> float:
    """The mean over every row of classes, independent with these distributions."""
    terms = []
    for labels in product(range(rows.shape[1]), repeat=len(rows)):
        chance = math.prod(float(row[y]) for y, row in zip(labels, rows, strict=True))
        terms.append(chance * measure(np.array(labels)))
    return math.fsum(terms)


# Predictions with ties, on edges of the rules and at both ends, and truths that they are not.
REPORTS = [0.0, 0.25, 0.25, 0.6, 2 / 3, 1.0]
TRUTHS = [0.1, 0.5, 0.2, 0.35, 0.9, 0.7]


@every_rule
@pytest.mark.parametrize(
    "predictions", [REPORTS, TRUTHS, [0.5] * 6], ids=["other", "true", "constant"]
)
def test_theorem_3_1_of_binary_predictions(predictions: list[float], rule: str) -> None:
    """E[LinCE] is the squared bias of the bins and the noise of the labels."""
    ours, twin = RULES[rule]
    n = len(predictions)
    measured = expectation_over_labels(lambda y: cal.lin_ce(y, predictions, bins=ours), TRUTHS)
    names = twin(predictions, [1.0] * n)
    bias = twins.lin_ce(twins.Problem(predictions, TRUTHS, [1.0] * n), twin)
    # A dropped prediction is in no bin: its noise is measured by none.
    kept = [p for p, name in zip(TRUTHS, names, strict=True) if name is not None]
    noise = math.fsum(p * (1 - p) for p in kept) / n**2
    assert measured == pytest.approx(bias + noise, rel=1e-12)


ROW_REPORTS = np.array(
    [[0.5, 0.25, 0.25], [0.1, 0.6, 0.3], [0.5, 0.25, 0.25], [0.05, 0.05, 0.9], [0.3, 0.4, 0.3]]
)
ROW_TRUTHS = np.array(
    [[0.2, 0.5, 0.3], [0.1, 0.7, 0.2], [0.6, 0.1, 0.3], [0.25, 0.25, 0.5], [0.3, 0.4, 0.3]]
)
PROPERTIES = {
    "full": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "scalar": [[0.0], [1.0], [5.0]],
    "plane": [[0.0, 2.0], [1.5, -1.0], [-0.3, 0.4]],
}


@every_vector_rule
@pytest.mark.parametrize("phi", PROPERTIES)
@pytest.mark.parametrize("predictions", [ROW_REPORTS, ROW_TRUTHS], ids=["other", "true"])
def test_theorem_3_1_of_linear_properties(predictions: Array, phi: str, rule: str) -> None:
    values = PROPERTIES[phi]
    predictions, truths = predictions[:4], ROW_TRUTHS[:4]  # 81 outcomes
    n = len(predictions)
    given = None if phi == "full" else values
    measured = expectation_over_classes(
        lambda y: cal.lin_ce(y, predictions, phi=given, bins=RULES[rule][0]), truths
    )
    u = twins.mean_of_property(predictions.tolist(), values)
    mu = twins.mean_of_property(truths.tolist(), values)
    twin = None if rule == "level sets" else RULES[rule][1]
    cells = twins.vector_cells(
        predictions.tolist() if phi == "full" else u, [1.0] * n, twin, values
    )
    bias = twins.vector_lin_ce(u, mu, [1.0] * n, cells)
    noise = math.fsum(
        chance * twins.brier(values[label], mean)
        for row, mean in zip(truths.tolist(), mu, strict=True)
        for label, chance in enumerate(row)
    )
    assert measured == pytest.approx(bias + noise / n**2, rel=1e-12)


@every_rule
def test_theorem_3_1_of_each_class(rule: str) -> None:
    ours, twin = RULES[rule]
    predictions, truths = ROW_REPORTS[:4], ROW_TRUTHS[:4]  # 81 outcomes
    n, k = predictions.shape
    measured = expectation_over_classes(
        lambda y: cal.classwise_ce(y, predictions, bins=ours), truths
    )
    problems = twins.class_problems(predictions.tolist(), truths.tolist(), [1.0] * n)
    bias = math.fsum(twins.lin_ce(problem, twin) for problem in problems) / k
    noise = math.fsum((truths * (1 - truths)).ravel()) / n**2 / k
    assert measured == pytest.approx(bias + noise, rel=1e-12)


@every_rule
def test_theorem_3_3_of_the_corrected_confidence(rule: str) -> None:
    """n^2 E is the squared bias of the bins and the sum of 1 - q^2, q the top label's truth."""
    ours, twin = RULES[rule]
    predictions, truths = ROW_REPORTS[:4], ROW_TRUTHS[:4]
    n = len(predictions)
    measured = expectation_over_classes(
        lambda y: cal.confidence_ce(y, predictions, bins=ours), truths
    )
    weights = [1.0] * n
    problem = twins.confidence_problem(predictions.tolist(), truths.tolist(), weights)
    bias = twins.lin_ce(problem, twin)
    rest = math.fsum(1 - q * q for q in problem.z) / n**2
    assert measured == pytest.approx(bias + rest, rel=1e-12)


@few_rules
def test_no_lie_beats_the_truth_under_a_truthful_error(rule: Any) -> None:
    rng = np.random.default_rng(1)
    truths = ROW_TRUTHS[:3]
    measures: dict[str, Callable[[Array, Array], float]] = {
        "full": lambda y, p: cal.lin_ce(y, p, bins=rule),
        "classwise": lambda y, p: cal.classwise_ce(y, p, bins=rule),
        "confidence": lambda y, p: cal.confidence_ce(y, p, bins=rule),
    }
    lies = [rng.dirichlet(np.ones(3), 3) for _ in range(3)]
    lies += [np.full((3, 3), 1 / 3), truths[[1, 0, 2]], np.eye(3)]
    for name, measure in measures.items():
        honest = expectation_over_classes(lambda y, m=measure: m(y, truths), truths)
        for lie in lies:
            told = expectation_over_classes(lambda y, m=measure, p=lie: m(y, p), truths)
            assert honest <= told + 1e-15, name


def test_example_c_1() -> None:
    """The uncorrected confidence error rewards a uniform prediction; the corrected one does not."""
    n, k = 50, 10
    # Class 1 is the likeliest; the lowest index, 0, wins the ties of a uniform prediction.
    truth = np.zeros(k)
    truth[1], truth[0], truth[2] = 1 / 2, 1 / k, 1 / 2 - 1 / k
    uniform = np.full(k, 1 / k)

    def expected(prediction: Array, top: int, corrected: bool) -> float:
        """All rows alike: the error depends on the number of hits alone, which is binomial."""
        rows = np.tile(prediction, (n, 1))
        terms = []
        for hits in range(n + 1):
            labels = np.where(np.arange(n) < hits, top, 3)
            q = truth[top]
            chance = math.comb(n, hits) * q**hits * (1 - q) ** (n - hits)
            terms.append(chance * cal.confidence_ce(labels, rows, corrected=corrected))
        return math.fsum(terms)

    plain = expected(truth, 1, False), expected(uniform, 0, False)
    assert plain[0] == pytest.approx(1 / (4 * n), rel=1e-12)  # 0.0050
    assert plain[1] == pytest.approx((1 / n) * (1 / k) * (1 - 1 / k), rel=1e-12)  # 0.0018
    corrected = expected(truth, 1, True), expected(uniform, 0, True)
    assert corrected[0] == pytest.approx((1 - 1 / 4) / n, rel=1e-12)  # 0.0150
    assert corrected[1] == pytest.approx((1 - 1 / k**2) / n, rel=1e-12)  # 0.0198
    assert plain[1] < plain[0]
    assert corrected[0] < corrected[1]


# --- Lu et al.: worlds of a few points ------------------------------------------------------------


class World:
    """A few feature values, each with a chance and a distribution of labels."""

    def __init__(self, chances: Sequence[float], posteriors: Any) -> None:
        self.chances = list(chances)
        self.posteriors = np.array(posteriors, dtype=float)

    @property
    def binary(self) -> bool:
        return self.posteriors.ndim == 1

    def atoms(self) -> list[tuple[float, int, int]]:
        """Every (chance, feature, label) that can happen."""
        out = []
        for x, chance in enumerate(self.chances):
            posterior = self.posteriors[x]
            row = [1 - posterior, posterior] if self.binary else posterior
            out += [(chance * float(q), x, y) for y, q in enumerate(row) if q > 0]
        return out

    def expectation(self, measure: Callable[[Array, Array], float], h: Array, n: int) -> float:
        """E[measure(labels, predictions h)] over n independent draws, whose order does not
        matter.
        """
        terms = []
        for drawn in combinations_with_replacement(self.atoms(), n):
            ways = math.factorial(n)
            for count in Counter(drawn).values():
                ways //= math.factorial(count)
            chance = ways * math.prod(atom[0] for atom in drawn)
            labels = np.array([atom[2] for atom in drawn])
            terms.append(chance * measure(labels, h[[atom[1] for atom in drawn]]))
        return math.fsum(terms)

    def loss(self, loss: Callable[[Any, Any], float], h: Array) -> float:
        """E[loss(prediction, label)], the label as a number or as a row."""
        k = 2 if self.binary else self.posteriors.shape[1]
        return math.fsum(
            chance * loss(h[x], y if self.binary else twins.one_hot(y, k))
            for chance, x, y in self.atoms()
        )

    def recalibrated(self, h: Array) -> Array:
        """What the label's distribution is, given the prediction."""
        out = np.zeros_like(h)
        for x in range(len(h)):
            alike = [i for i in range(len(h)) if np.array_equal(h[i], h[x])]
            mass = math.fsum(self.chances[i] for i in alike)
            out[x] = sum(self.chances[i] * self.posteriors[i] for i in alike) / mass
        return out


BINARY_WORLD = World([0.2, 0.3, 0.4, 0.1], [0.1, 0.55, 0.8, 0.3])
ROW_WORLD = World([0.3, 0.45, 0.25], [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.15, 0.05, 0.8]])


def merged(world: World, groups: Sequence[Sequence[int]]) -> Array:
    """A predictor that cannot tell the features of a group apart, and is calibrated."""
    codes = np.zeros_like(world.posteriors)
    for number, group in enumerate(groups):
        codes[list(group)] = number
    return world.recalibrated(codes)


def square(u: float, y: float) -> float:
    return (u - y) ** 2


def brier_per_class(p: Any, q: Any) -> float:
    return twins.brier(p, q) / len(p)


def scalar_error(rule: Any) -> Callable[[Array, Array], float]:
    return lambda y, p: cal.lin_ce(y, p, bins=rule)


def classwise_error(rule: Any) -> Callable[[Array, Array], float]:
    return lambda y, p: cal.classwise_ce(y, p, bins=rule)


def confidence_error(rule: Any) -> Callable[[Array, Array], float]:
    return lambda y, p: cal.confidence_ce(y, p, bins=rule)


@few_rules
@pytest.mark.parametrize("groups", [[[0], [1], [2], [3]], [[0, 2], [1, 3]], [[0, 1, 2, 3]]])
def test_lemma_d_1_of_binary_predictions(groups: list[list[int]], rule: Any) -> None:
    """A calibrated predictor's expected error is 1/n of its expected squared loss."""
    h = merged(BINARY_WORLD, groups)
    for n in (1, 2, 3):
        measured = BINARY_WORLD.expectation(scalar_error(rule), h, n)
        assert measured == pytest.approx(BINARY_WORLD.loss(square, h) / n, rel=1e-12), n


@few_rules
@pytest.mark.parametrize("groups", [[[0], [1], [2]], [[0, 1], [2]], [[0, 1, 2]]])
def test_lemma_d_1_of_rows(groups: list[list[int]], rule: Any) -> None:
    """The same for the whole distribution, for each class, and for the confidence."""
    h, n = merged(ROW_WORLD, groups), 2
    measured = ROW_WORLD.expectation(scalar_error(rule), h, n)
    assert measured == pytest.approx(ROW_WORLD.loss(twins.brier, h) / n, rel=1e-12)
    measured = ROW_WORLD.expectation(classwise_error(rule), h, n)
    assert measured == pytest.approx(ROW_WORLD.loss(brier_per_class, h) / n, rel=1e-12)
    measured = ROW_WORLD.expectation(confidence_error(rule), h, n)
    assert measured == pytest.approx(ROW_WORLD.loss(twins.confidence_loss, h) / n, rel=1e-12)


@few_rules
def test_lemma_d_1_needs_only_the_notion_that_is_measured(rule: Any) -> None:
    # Two predictions of confidence 0.6, right with chances 0.5 and 0.7: calibrated in confidence,
    # in nothing else.
    world = World([0.5, 0.5], [[0.5, 0.3, 0.2], [0.1, 0.7, 0.2]])
    h = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
    measured = world.expectation(confidence_error(rule), h, 3)
    assert measured == pytest.approx(world.loss(twins.confidence_loss, h) / 3, rel=1e-12)
    measured = world.expectation(classwise_error(rule), h, 3)
    assert measured > world.loss(brier_per_class, world.recalibrated(h)) / 3 + 1e-3


@few_rules
def test_theorem_4_1_more_informed_predictors_have_no_larger_error(rule: Any) -> None:
    for n in (1, 2):
        chain = [[[0], [1], [2], [3]], [[0], [1, 3], [2]], [[0, 1, 3], [2]], [[0, 1, 2, 3]]]
        errors = [
            BINARY_WORLD.expectation(scalar_error(rule), merged(BINARY_WORLD, groups), n)
            for groups in chain
        ]
        assert all(fine < coarse for fine, coarse in pairwise(errors))
    for error in (scalar_error(rule), classwise_error(rule), confidence_error(rule)):
        chain = [[[0], [1], [2]], [[0, 1], [2]], [[0, 1, 2]]]
        errors = [ROW_WORLD.expectation(error, merged(ROW_WORLD, groups), 2) for groups in chain]
        assert all(fine < coarse for fine, coarse in pairwise(errors))


def test_the_usual_error_prefers_the_less_informed_predictor() -> None:
    world = World([0.2] * 5, [0.3, 0.4, 0.5, 0.6, 0.7])

    def usual(y: Array, p: Array) -> float:
        return cal.ece(y, p, bins=cal.LevelSets())

    informed = world.expectation(usual, world.posteriors, 3)
    ignorant = world.expectation(usual, merged(world, [range(5)]), 3)
    assert ignorant == pytest.approx(0.25, rel=1e-12)  # E|mean of 3 fair coins - 1/2|
    assert informed > 1.5 * ignorant
    truthful = scalar_error(cal.LevelSets())
    errors = [
        world.expectation(truthful, h, 3) for h in (world.posteriors, merged(world, [range(5)]))
    ]
    assert errors[0] < errors[1]


MISCALIBRATED = {
    "overconfident": [0.02, 0.6, 0.95, 0.2],
    "two alike": [0.3, 0.7, 0.7, 0.3],
    "reversed": [0.9, 0.4, 0.1, 0.6],
    "calibrated": [0.1, 0.55, 0.8, 0.3],
}


@few_rules
@pytest.mark.parametrize("name", MISCALIBRATED)
def test_theorem_4_2_recalibration_never_raises_the_error(name: str, rule: Any) -> None:
    h = np.array(MISCALIBRATED[name])
    better = BINARY_WORLD.recalibrated(h)
    for n in (1, 2):
        raw = BINARY_WORLD.expectation(scalar_error(rule), h, n)
        mended = BINARY_WORLD.expectation(scalar_error(rule), better, n)
        assert mended <= raw * (1 + 1e-12)
        if name != "calibrated":
            assert mended < raw - 1e-3
        # What recalibration gains is the error against the recalibrated prediction as a soft label.
        gain = raw - BINARY_WORLD.loss(square, better) / n
        lookup = dict(zip(h.tolist(), better.tolist(), strict=True))
        soft = BINARY_WORLD.expectation(
            lambda y, p, table=lookup: cal.lin_ce([table[u] for u in p.tolist()], p, bins=rule),
            h,
            n,
        )
        assert gain == pytest.approx(soft, rel=1e-10, abs=1e-14)


ROW_PREDICTORS = {
    "calibrated": ROW_WORLD.posteriors,
    "nearly": 0.9 * ROW_WORLD.posteriors + 0.1 / 3,
    "blurred": 0.5 * merged(ROW_WORLD, [[0, 1], [2]]) + 0.5 / 3,
    "ignorant": merged(ROW_WORLD, [[0, 1, 2]]),
    "wrong": ROW_WORLD.posteriors[:, [1, 2, 0]],
}


@few_rules
@pytest.mark.parametrize(
    ("error", "loss"),
    [
        (scalar_error, twins.brier),
        (classwise_error, brier_per_class),
        (confidence_error, twins.confidence_loss),
    ],
    ids=["full", "classwise", "confidence"],
)
def test_theorem_4_3_nearly_calibrated_predictors_keep_their_order(
    error: Any, loss: Any, rule: Any
) -> None:
    n = 2
    risk, bias, expected = {}, {}, {}
    for name, h in ROW_PREDICTORS.items():
        expected[name] = ROW_WORLD.expectation(error(rule), h, n)
        risk[name] = ROW_WORLD.loss(loss, ROW_WORLD.recalibrated(h))
        bias[name] = n * expected[name] - risk[name]
        assert bias[name] >= -1e-13, name
    assert bias["calibrated"] == pytest.approx(0, abs=1e-13)
    assert bias["wrong"] > 0.1
    # The theorem speaks of pairs whose risks lie further apart than the better one's bias.
    apart = [
        (f, g)
        for f, g in product(ROW_PREDICTORS, repeat=2)
        if f != g and risk[f] + bias[f] <= risk[g]
    ]
    assert ("calibrated", "ignorant") in apart
    assert ("nearly", "ignorant") in apart
    for f, g in apart:
        assert expected[f] <= expected[g] + 1e-13, (f, g)
