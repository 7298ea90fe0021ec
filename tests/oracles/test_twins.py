"""Every public measure, on every engine, against its slow twin in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest

import calibrant as cal
import twins
from every_engine import available, engine
from pairs import pairs

N_ROWS = 44
N_CLASSES = 4

# --- rules ----------------------------------------------------------------------------------------

# Rules that put every prediction into a bin, whatever the weights.
RULES: dict[str, tuple[Any, twins.Rule]] = {
    "equal-width-left": (cal.EqualWidth(10), twins.equal_width(10)),
    "equal-width-right": (cal.EqualWidth(10, closed="right"), twins.equal_width(10, "right")),
    "one-bin": (cal.EqualWidth(1), twins.equal_width(1)),
    "quantile": (cal.Quantile(6), twins.quantile_ties_together(6)),
    "quantile-many": (cal.Quantile(50), twins.quantile_ties_together(50)),
    "edges-left": (cal.Edges([0, 0.3, 0.31, 0.7, 1]), twins.edges([0, 0.3, 0.31, 0.7, 1])),
    "edges-right": (
        cal.Edges([-0.5, 0.3, 0.7, 1, 1.5], closed="right"),
        twins.edges([-0.5, 0.3, 0.7, 1, 1.5], "right"),
    ),
    "level-sets": (cal.LevelSets(), twins.level_sets()),
}
DROPPING = {
    "drop-one": (cal.EqualWidth(10, drop_one=True), twins.equal_width(10, drop_one=True)),
    "drop-one-right": (
        cal.EqualWidth(10, closed="right", drop_one=True),
        twins.equal_width(10, "right", drop_one=True),
    ),
}
BY_RANK = {
    "rank": (cal.Quantile(7, ties="rank"), twins.quantile_by_rank(7)),
    "rank-many": (cal.Quantile(100, ties="rank"), twins.quantile_by_rank(100)),
}
EVERY_RULE = RULES | DROPPING | BY_RANK
NORMS = ("l1", "l2", "max")

# --- data -----------------------------------------------------------------------------------------


def binary_predictions(kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "spread":
        return rng.random(N_ROWS)
    tenths = rng.integers(0, 11, N_ROWS) / 10
    if kind == "on-edges":  # 0 and 1 among them, all with ties
        return tenths
    if kind == "beside-edges":
        return np.nextafter(tenths, rng.integers(0, 2, N_ROWS).astype(float))
    crowded = np.where(rng.random(N_ROWS) < 0.4, 0.7, rng.random(N_ROWS) ** 8)
    crowded[:6] = (0.0, 1.0, 1.0, 5e-324, 0.5, 1.0 - 2**-53)
    return crowded


def multiclass_predictions(kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "spread":
        return rng.dirichlet(np.full(N_CLASSES, 0.7), N_ROWS)
    if kind == "on-edges":  # tenths, with ties between rows and between classes
        cuts = np.sort(rng.integers(0, 11, (N_ROWS, N_CLASSES - 1)), axis=1)
        cuts[:2] = 10  # certain rows
        return np.diff(np.column_stack([np.zeros(N_ROWS), cuts, np.full(N_ROWS, 10)])) / 10
    crowded = rng.dirichlet(np.full(N_CLASSES, 0.1), N_ROWS)
    crowded[::3] = crowded[0]
    crowded[1] = (0.0, 1.0, 0.0, 0.0)
    crowded[4] = (0.25, 0.25, 0.25, 0.25)
    return crowded


class Data:
    """Predictions, targets and weights, as arrays for the package and as lists for the twins."""

    def __init__(self, shape: str, predictions: str, targets: str, weights: str) -> None:
        rng = np.random.default_rng(
            [ord(letter) for letter in shape + predictions + targets + weights]
        )
        self.shape = shape
        soft = targets == "soft"
        if shape == "binary":
            self.p = binary_predictions(predictions, rng)
            chances = np.clip(self.p + 0.3 * np.cos(20 * self.p), 0, 1)
            hard = (rng.random(N_ROWS) < chances).astype(np.int64)
            self.y = chances if soft else hard
            self.rows = twins.two_columns(self.p.tolist())
            self.target_rows = twins.two_columns(self.y.astype(float).tolist())
        else:
            self.p = multiclass_predictions(predictions, rng)
            labels = rng.integers(0, N_CLASSES, N_ROWS)
            labels[::2] = self.p[::2].argmax(axis=1)
            self.y = rng.dirichlet(np.full(N_CLASSES, 0.5), N_ROWS) if soft else labels
            self.rows = self.p.tolist()
            self.target_rows = (
                self.y.tolist() if soft else [twins.one_hot(c, N_CLASSES) for c in labels.tolist()]
            )
        weight = {
            "unweighted": lambda: None,
            "weighted": lambda: rng.random(N_ROWS) * 3,
            "whole-weights": lambda: rng.integers(0, 4, N_ROWS).astype(float),  # some are 0
        }[weights]()
        self.w = [1.0] * N_ROWS if weight is None else weight.tolist()
        self.options: dict[str, Any] = {"sample_weight": weight}

    def measure(self, name: str, **options: Any) -> Any:
        return getattr(cal, name)(self.y, self.p, **options, **self.options)

    @cached_property
    def problems(self) -> dict[str, list[twins.Problem]]:
        """The scalar problems of each notion that the predictions have."""
        confidence = twins.confidence_problem(self.rows, self.target_rows, self.w)
        classes = twins.class_problems(self.rows, self.target_rows, self.w)
        if self.shape == "binary":
            return {"binary": [classes[1]], "confidence": [confidence]}
        return {"confidence": [confidence], "classwise": classes}

    def mean_over_rows(self, twin: Any) -> float:
        values = [twin(p, q) for p, q in zip(self.rows, self.target_rows, strict=True)]
        return twins.weighted_mean(values, self.w)


DATA = {
    f"{shape}-{r}-{t}-{w}": Data(shape, r, t, w)
    for shape, kinds in {
        "binary": ("spread", "on-edges", "beside-edges", "crowded"),
        "multiclass": ("spread", "on-edges", "crowded"),
    }.items()
    for r in kinds
    for t in ("hard", "soft")
    for w in ("unweighted", "weighted", "whole-weights")
}
BINARY = [name for name in DATA if name.startswith("binary")]
MULTICLASS = [name for name in DATA if name.startswith("multiclass")]

Test = Callable[..., None]


def of_every(**cases: Iterable[Any]) -> Callable[[Test], Test]:
    """A test for each kind of predictions that goes through the data of that kind, and through all
    else that is asked for: there are thousands of combinations, and each takes less than the
    overhead of a test of its own.
    """
    return of_cases(tuple(cases), product(*cases.values()))


def of_cases(names: tuple[str, ...], cases: Iterable[tuple[Any, ...]]) -> Callable[[Test], Test]:
    """The same, of cases that are named one by one: their data first, then all else."""
    of_kind: dict[str, list[tuple[Any, ...]]] = {}
    for case in cases:
        of_kind.setdefault("-".join(case[0].split("-")[:2]), []).append(case)

    def decorate(test: Test) -> Test:
        @pytest.mark.parametrize("kind", of_kind)
        def every_case(kind: str) -> None:
            for case in of_kind[kind]:
                try:
                    test(**dict(zip(names, case, strict=True)))
                except Exception as error:
                    error.add_note(f"for {', '.join(map(str, case))}")
                    raise

        return every_case

    return decorate


every_data = of_every(data=DATA)


def data_with_rules(names: Iterable[str], rules: Iterable[str]) -> Callable[[Test], Test]:
    return of_every(data=names, rule=rules)


@pytest.fixture(autouse=True, params=available())
def on_each_engine(request: pytest.FixtureRequest) -> Iterator[None]:
    with engine(request.param):
        yield


def close(value: float, twin: float) -> None:
    assert type(value) is float
    assert value == pytest.approx(twin, rel=1e-10, abs=1e-14)


# Twins are slow and do not depend on the engine: each is asked once.


@cache
def error_twin(data: str, notion: str, rule: str, norm: str) -> float:
    problems = DATA[data].problems[notion]
    errors = [twins.binned_error(problem, EVERY_RULE[rule][1], norm) for problem in problems]
    return twins.over_classes(errors, norm)


@cache
def linear_twin(data: str, notion: str, rule: str) -> float:
    errors = [twins.lin_ce(p, EVERY_RULE[rule][1]) for p in DATA[data].problems[notion]]
    return twins.over_classes(errors)


# `ece` goes through all rules; measures that read the same tables, through a few.

# --- binned errors --------------------------------------------------------------------------------


def ways_to_ece() -> Iterator[tuple[str, str, str, str]]:
    """Data, rule, norm and notion ("usual" where it is not given), of which any three meet."""
    crossing = [
        (*name.rsplit("-", 2), rule, norm, notion)
        for name, sample in DATA.items()
        for rule, norm in product(EVERY_RULE, NORMS)
        for notion in (*sample.problems, "usual")
    ]
    for kind, targets, weights, *rest in pairs(crossing, strength=3):
        yield f"{kind}-{targets}-{weights}", *rest


@of_cases(("data", "rule", "norm", "notion"), ways_to_ece())
def test_ece_is_that_of_its_twin(data: str, rule: str, norm: str, notion: str) -> None:
    sample, bins = DATA[data], EVERY_RULE[rule][0]
    if notion != "usual":
        value = sample.measure("ece", bins=bins, norm=norm, notion=notion)
        close(value, error_twin(data, notion, rule, norm))
        return
    usual = "binary" if sample.shape == "binary" else "confidence"
    for name in ("ece", "soft_ece"):
        close(sample.measure(name, bins=bins, norm=norm), error_twin(data, usual, rule, norm))


def norm_of(data: str, turn: int = 0) -> str:
    """One norm, where `ece` has all of them: a norm is taken of a table that others share. What is
    asked of each kind of data meets every norm in its targets and weights.
    """
    return NORMS[(list(DATA).index(data) + turn) % 3]


@every_data
def test_adaptive_error(data: str) -> None:
    sample = DATA[data]
    usual = "binary" if sample.shape == "binary" else "classwise"
    for turn, (m, rule) in enumerate(((6, "quantile"), (50, "quantile-many"), (1, "one-bin"))):
        norm = norm_of(data, turn)
        close(sample.measure("ace", bins=m, norm=norm), error_twin(data, usual, rule, norm))
    norm = norm_of(data, 1)
    value = sample.measure("ace", bins=6, norm=norm, notion="confidence")
    close(value, error_twin(data, "confidence", "quantile", norm))


@cache
def tace_twin(data: str, threshold: float, norm: str) -> float:
    problems = DATA[data].problems
    chosen = problems["binary"] if "binary" in problems else problems["classwise"]
    return twins.tace(chosen, 5, threshold, norm)


@of_every(data=DATA, threshold=(0.01, 0.1, 0.5))
def test_thresholded_adaptive_error(data: str, threshold: float) -> None:
    norm = norm_of(data, int(10 * threshold))
    value = DATA[data].measure("tace", bins=5, norm=norm, threshold=threshold)
    close(value, tace_twin(data, threshold, norm))


@cache
def debiased_twin(data: str, notion: str, rule: str) -> float:
    return twins.debiased_l2(DATA[data].problems[notion], EVERY_RULE[rule][1])


@data_with_rules(DATA, ("equal-width-left", "quantile", "drop-one", "level-sets"))
def test_debiased_error(data: str, rule: str) -> None:
    sample = DATA[data]
    for notion in sample.problems:
        value = sample.measure("debiased_l2", bins=EVERY_RULE[rule][0], notion=notion)
        # Under the root stands a difference of like sums: compare there, where rounding is even.
        expected = debiased_twin(data, notion, rule) ** 2
        assert value**2 == pytest.approx(expected, rel=1e-10, abs=1e-14)


@cache
def sweep_rules(data: str, notion: str) -> list[twins.Rule]:
    """For each class, the rule at which its sweep stops."""
    problems = DATA[data].problems[notion]
    return [twins.quantile_ties_together(twins.sweep_bin_count(problem)) for problem in problems]


@cache
def sweep_twin(data: str, notion: str, norm: str) -> float:
    pairs = zip(DATA[data].problems[notion], sweep_rules(data, notion), strict=True)
    errors = [twins.binned_error(problem, rule, norm) for problem, rule in pairs]
    return math.fsum(errors) / len(errors)


@every_data
def test_sweep_error(data: str) -> None:
    for turn, notion in enumerate(DATA[data].problems):
        norm = norm_of(data, turn)
        value = DATA[data].measure("sweep_ece", norm=norm, notion=notion)
        close(value, sweep_twin(data, notion, norm))


def test_the_sweeps_stop_at_many_places() -> None:
    # Otherwise the comparison above would say little about where a sweep stops.
    counts = {twins.sweep_bin_count(DATA[name].problems["confidence"][0]) for name in DATA}
    assert len(counts) > 3
    assert max(counts) > 3


@cache
def ks_twin(data: str, notion: str) -> float:
    errors = [twins.ks_error(problem) for problem in DATA[data].problems[notion]]
    return twins.over_classes(errors)


@every_data
def test_kolmogorov_smirnov_error(data: str) -> None:
    for notion in DATA[data].problems:
        close(DATA[data].measure("ks_error", notion=notion), ks_twin(data, notion))


# --- truthful errors ------------------------------------------------------------------------------


@data_with_rules(BINARY, EVERY_RULE)
def test_lin_ce_of_binary_predictions(data: str, rule: str) -> None:
    value = DATA[data].measure("lin_ce", bins=EVERY_RULE[rule][0])
    close(value, linear_twin(data, "binary", rule))


@data_with_rules(DATA, ("equal-width-left", "quantile", "drop-one", "rank"))
def test_confidence_ce(data: str, rule: str) -> None:
    sample, bins = DATA[data], EVERY_RULE[rule][0]
    plain = linear_twin(data, "confidence", rule)
    close(sample.measure("confidence_ce", bins=bins, corrected=False), plain)
    correction = twins.confidence_correction(sample.problems["confidence"][0])
    close(sample.measure("confidence_ce", bins=bins), plain + correction)


@data_with_rules(MULTICLASS, EVERY_RULE)
def test_classwise_ce(data: str, rule: str) -> None:
    value = DATA[data].measure("classwise_ce", bins=EVERY_RULE[rule][0])
    close(value, linear_twin(data, "classwise", rule))


PROPERTIES = {
    "full": [twins.one_hot(r, N_CLASSES) for r in range(N_CLASSES)],
    "scalar": [[0.0], [1.0], [2.5], [-1.0]],
    "plane": [[0.0, 3.0], [1.0, -1.0], [0.3, 0.4], [5.0, 0.0]],
    "one-coordinate-constant": [[0.0, 2.0], [1.0, 2.0], [3.0, 2.0], [0.5, 2.0]],
}


@cache
def vector_twin(data: str, rule: str, phi: str, norm: str = "l2") -> float:
    sample, values = DATA[data], PROPERTIES[phi]
    if phi == "full":  # the prediction itself: no rounding on the way to a bin edge
        predictions, targets = sample.rows, sample.target_rows
    else:
        predictions = twins.mean_of_property(sample.rows, values)
        targets = twins.mean_of_property(sample.target_rows, values)
    twin = None if rule == "level-sets" else EVERY_RULE[rule][1]
    cells = twins.vector_cells(predictions, sample.w, twin, values)
    formula = twins.vector_lin_ce if norm == "l2" else twins.vector_lin_ece
    return formula(predictions, targets, sample.w, cells)


@data_with_rules(MULTICLASS, RULES)
def test_lin_ce_of_whole_distributions(data: str, rule: str) -> None:
    value = DATA[data].measure("lin_ce", bins=EVERY_RULE[rule][0])
    close(value, vector_twin(data, rule, "full"))


@data_with_rules(["multiclass-on-edges-hard-unweighted"], DROPPING)
def test_a_distribution_that_predictions_a_one_may_be_dropped(data: str, rule: str) -> None:
    assert (DATA[data].p == 1.0).any()
    value = DATA[data].measure("lin_ce", bins=EVERY_RULE[rule][0])
    close(value, vector_twin(data, rule, "full"))


@data_with_rules(MULTICLASS, RULES | BY_RANK)
def test_lin_ece_of_whole_distributions(data: str, rule: str) -> None:
    value = DATA[data].measure("lin_ce", bins=EVERY_RULE[rule][0], norm="l1")
    close(value, vector_twin(data, rule, "full", "l1"))


@data_with_rules(MULTICLASS, BY_RANK)
def test_vectors_in_bins_by_rank(data: str, rule: str) -> None:
    value = DATA[data].measure("lin_ce", bins=EVERY_RULE[rule][0])
    close(value, vector_twin(data, rule, "full"))


@data_with_rules(DATA, ("equal-width-left", "quantile", "rank"))
def test_lin_ece_of_binary_predictions_is_the_ece(data: str, rule: str) -> None:
    if data.startswith("binary"):
        sample, bins = DATA[data], EVERY_RULE[rule][0]
        value = sample.measure("lin_ce", bins=bins, norm="l1")
        assert value == sample.measure("ece", bins=bins)


# Means of phi are rounded sums, so predictions on bin edges have no bin that both must agree on.
@of_every(
    data=[name for name in MULTICLASS if "spread" in name],
    rule=("equal-width-left", "equal-width-right", "quantile", "edges-right", "level-sets", "rank"),
    phi=sorted(set(PROPERTIES) - {"full"}),
)
def test_lin_ce_of_linear_properties(data: str, phi: str, rule: str) -> None:
    values = PROPERTIES[phi]
    given = [row[0] for row in values] if phi == "scalar" else values
    for norm in ("l2", "l1"):
        value = DATA[data].measure("lin_ce", phi=given, bins=EVERY_RULE[rule][0], norm=norm)
        close(value, vector_twin(data, rule, phi, norm))


def test_equal_rows_are_one_level_of_a_linear_property() -> None:
    # Rows repeated at odd places: a product that rounds by position would tear them apart.
    rng = np.random.default_rng(5)
    few = rng.dirichlet(np.ones(N_CLASSES), 7)
    p = few[rng.integers(0, 7, 501)]
    y = rng.integers(0, N_CLASSES, 501)
    phi = rng.normal(size=(N_CLASSES, 3))
    predictions = twins.mean_of_property(p.tolist(), phi.tolist())
    targets = [phi[label].tolist() for label in y.tolist()]
    cells = [tuple(row) for row in p.tolist()]
    expected = twins.vector_lin_ce(predictions, targets, [1.0] * 501, cells)
    close(cal.lin_ce(y, p, phi=phi, bins=cal.LevelSets()), expected)


# --- losses and distances -------------------------------------------------------------------------

ROW_BY_ROW = {
    "log_loss": twins.log_loss,
    "spherical_loss": twins.spherical_loss,
    "classification_error": twins.classification_error,
    "confidence_loss": twins.confidence_loss,
    "dist_ce": twins.total_variation,
    "rank_cs": twins.same_ranking,
    "jsd": twins.js_distance,
    "kl": twins.kl_divergence,
    "wasserstein": twins.wasserstein,
}


@of_every(data=DATA, name=ROW_BY_ROW)
def test_losses_are_those_of_their_twins(data: str, name: str) -> None:
    close(DATA[data].measure(name), DATA[data].mean_over_rows(ROW_BY_ROW[name]))


@every_data
def test_brier_score(data: str) -> None:
    # Of (n,) predictions only class 1 counts; a row of two classes counts both, which are alike.
    classes = 2 if DATA[data].shape == "binary" else 1
    close(DATA[data].measure("brier_score"), DATA[data].mean_over_rows(twins.brier) / classes)


@every_data
def test_entropy_error(data: str) -> None:
    sample = DATA[data]
    signed = sample.mean_over_rows(twins.entropy_difference)
    close(sample.measure("ent_ce", signed=True), signed)
    absolute = sample.mean_over_rows(lambda p, q: abs(twins.entropy_difference(p, q)))
    close(sample.measure("ent_ce"), absolute)


@every_data
def test_distances_with_options(data: str) -> None:
    sample = DATA[data]
    close(sample.measure("jsd", squared=True), sample.mean_over_rows(twins.js_divergence))
    close(sample.measure("jsd", base=2) * math.sqrt(math.log(2)), sample.measure("jsd"))
    manhattan = 2 * sample.mean_over_rows(twins.total_variation)
    close(sample.measure("dist_ce", norm="l1"), manhattan)
    k = len(sample.rows[0])
    at = [float(r * r + r) for r in range(k)]
    paid = sample.mean_over_rows(lambda p, q: twins.wasserstein(p, q, at))
    close(sample.measure("wasserstein", positions=at), paid)
    close(sample.measure("wasserstein", positions=at, normalize=True), paid / at[-1])


# --- the Brier score taken apart ------------------------------------------------------------------


def parts_close(parts: Any, twin: twins.Decomposition) -> None:
    for name in twin._fields:
        assert getattr(parts, name) == pytest.approx(getattr(twin, name), rel=1e-10, abs=1e-14), (
            name
        )
    total = parts.miscalibration - parts.discrimination + parts.uncertainty + parts.within_bin
    assert total == pytest.approx(parts.brier, rel=1e-12)


@cache
def isotonic_twin(data: str, notion: str) -> twins.Decomposition:
    problems = DATA[data].problems[notion]
    return twins.total_decomposition([twins.isotonic_decomposition(p) for p in problems])


@cache
def binned_twin(data: str, notion: str, rule: str) -> twins.Decomposition:
    problems, twin = DATA[data].problems[notion], EVERY_RULE[rule][1]
    return twins.total_decomposition([twins.binned_decomposition(p, twin) for p in problems])


@every_data
def test_isotonic_decomposition(data: str) -> None:
    for notion in DATA[data].problems:
        parts = DATA[data].measure("brier_decomposition", notion=notion)
        parts_close(parts, isotonic_twin(data, notion))


@data_with_rules(DATA, ("equal-width-right", "quantile", "rank", "level-sets"))
def test_binned_decomposition(data: str, rule: str) -> None:
    options = {"method": "binned", "bins": EVERY_RULE[rule][0]}
    for notion in DATA[data].problems:
        parts = DATA[data].measure("brier_decomposition", notion=notion, **options)
        parts_close(parts, binned_twin(data, notion, rule))


@pytest.mark.parametrize("predictions", [[1.0, 1.0, 0.4], [1.0, 1.0, 1.0]])
def test_the_parts_are_parts_of_the_brier_score_even_of_dropped_predictions(
    predictions: list[float],
) -> None:
    y = [1, 0, 1]
    rule = cal.EqualWidth(10, drop_one=True)
    parts = cal.brier_decomposition(y, predictions, method="binned", bins=rule)
    assert parts.brier == pytest.approx(cal.brier_score(y, predictions), rel=1e-12)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty + parts.within_bin
    assert total == pytest.approx(parts.brier, rel=1e-12)


# --- the bins themselves --------------------------------------------------------------------------


@data_with_rules(DATA, ("equal-width-left", "quantile", "rank", "level-sets"))
def test_reliability_table(data: str, rule: str) -> None:
    sample = DATA[data]
    problem = next(iter(sample.problems.values()))[0]
    table = sample.measure("reliability", bins=EVERY_RULE[rule][0]).columns()
    expected = twins.bins_of(problem, EVERY_RULE[rule][1])
    held = [j for j, n in enumerate(table["n"]) if n > 0]
    assert [table["n"][j] for j in held] == [b.n for b in expected]
    for j, b in zip(held, expected, strict=True):
        assert table["weight"][j] == pytest.approx(b.weight, rel=1e-12)
        assert table["mean_predicted"][j] == pytest.approx(b.mean_predicted, rel=1e-12, abs=1e-15)
        assert table["mean_target"][j] == pytest.approx(b.mean_target, rel=1e-12, abs=1e-15)
        assert table["gap"][j] == pytest.approx(b.residual / b.weight, rel=1e-10, abs=1e-14)
    for j in set(range(len(table["n"]))) - set(held):
        assert math.isnan(table["gap"][j])


@pytest.mark.parametrize("m", [2, 3, 7, 10, 15, 20, 60, 100, 1025])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_a_prediction_beside_an_edge_lands_where_the_edge_says(m: int, closed: str) -> None:
    on = [j / m for j in range(m + 1)]
    u = sorted({x for e in on for x in (e, math.nextafter(e, 0), min(1, math.nextafter(e, 1)))})
    table = cal.reliability(np.zeros(len(u)), u, bins=cal.EqualWidth(m, closed=closed)).columns()
    expected = [0] * m
    for name in twins.equal_width(m, closed)(u, u):
        expected[name] += 1  # type: ignore[index]
    assert table["n"] == expected


@pytest.mark.parametrize("m", [3, 10, 15, 20, 100])
@pytest.mark.parametrize("closed", ["left", "right"])
def test_single_precision_meets_the_same_edges(m: int, closed: str) -> None:
    on = np.arange(m + 1) / m
    rule = cal.EqualWidth(m, closed=closed)
    double = cal.reliability(np.zeros(m + 1), on, bins=rule).columns()["n"]
    single = cal.reliability(np.zeros(m + 1), on.astype(np.float32), bins=rule).columns()["n"]
    assert single == double


# --- samples large enough for quantiles to be found without a sort --------------------------------

LARGE = 20_000


@cache
def large_problem(shape: str, weights: str) -> twins.Problem:
    rng = np.random.default_rng(LARGE)
    p = {
        "spread": lambda: rng.random(LARGE),
        "crowded": lambda: rng.random(LARGE) ** 40,
        "tied": lambda: rng.integers(0, 30, LARGE) / 29,
        "two-values": lambda: np.where(rng.random(LARGE) < 0.3, 0.25, 0.75),
    }[shape]()
    z = (rng.random(LARGE) < p).astype(float)
    w = rng.integers(0, 3, LARGE) if weights == "whole-weights" else np.ones(LARGE)
    return twins.Problem(p.tolist(), z.tolist(), w.astype(float).tolist())


@cache
def large_bins(shape: str, weights: str) -> list[twins.Bin]:
    return twins.bins_of(large_problem(shape, weights), twins.quantile_ties_together(12))


@pytest.mark.parametrize("shape", ["spread", "crowded", "tied", "two-values"])
@pytest.mark.parametrize("weights", ["unweighted", "whole-weights"])
def test_quantile_bins_of_large_samples(shape: str, weights: str) -> None:
    u, z, w = (np.array(column) for column in large_problem(shape, weights))
    weight = w if weights == "whole-weights" else None
    bins = large_bins(shape, weights)
    table = cal.reliability(z, u, bins=cal.Quantile(12), sample_weight=weight).columns()
    assert [n for n in table["n"] if n] == [b.n for b in bins]
    expected = math.fsum(b.residual**2 for b in bins) / math.fsum(w.tolist()) ** 2
    value = cal.lin_ce(z, u, bins=cal.Quantile(12), sample_weight=weight)
    assert value == pytest.approx(expected, rel=1e-8)
