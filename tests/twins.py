"""Slow twins of every measure and every binning rule: plain Python, one sample at a time.

They share nothing with the package. Predictions, targets and weights are lists of floats; rows are
lists of lists. Sums are ``math.fsum`` (correctly rounded), and wherever a comparison decides
something, a bin or the end of a sweep, it is made between fractions, so that a twin never owes its
answer to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# A reported 0 on what happened counts as this in the log loss: the spacing of doubles at 1.
LOG_FLOOR = 1e-12

Rows = Sequence[Sequence[float]]
# A bin's name for each prediction; None for a prediction that is in no bin.
Bins = list[Hashable | None]
# From predictions and weights to bins: a rule never sees a target.
Rule = Callable[[Sequence[float], Sequence[float]], Bins]


class Problem(NamedTuple):
    """A scalar problem: predictions u held against targets z, with weights w."""

    u: list[float]
    z: list[float]
    w: list[float]


def exact(numbers: Sequence[float]) -> list[Fraction] | list[int]:
    """The same numbers in a type that adds without rounding (whole ones as int, for speed)."""
    if all(number.is_integer() for number in numbers):
        return [int(number) for number in numbers]
    return [Fraction(number) for number in numbers]


# --- binning rules --------------------------------------------------------------------------------


def equal_width(m: int, closed: str = "left", drop_one: bool = False) -> Rule:
    """[(j-1)/m, j/m) with 1 in the last bin, or ((j-1)/m, j/m] with 0 in the first."""
    between = edges([j / m for j in range(m + 1)], closed)

    def rule(u: Sequence[float], w: Sequence[float]) -> Bins:
        bins = between(u, w)
        return [None if drop_one and x == 1.0 else b for x, b in zip(u, bins, strict=True)]

    return rule


def edges(values: Sequence[float], closed: str = "left") -> Rule:
    """Bins between increasing edges; the outermost two hold nothing out."""
    inner = list(values)[1:-1]

    def rule(u: Sequence[float], w: Sequence[float]) -> Bins:
        if closed == "left":
            return [sum(1 for edge in inner if edge <= x) for x in u]
        return [sum(1 for edge in inner if edge < x) for x in u]

    return rule


def quantile_by_rank(m: int) -> Rule:
    """Stable sort; bin j holds the ranks (j-1)W/m < i <= jW/m; ranks are cumulative weights."""

    def rule(u: Sequence[float], w: Sequence[float]) -> Bins:
        weights = exact(w)
        total = sum(weights)
        order = sorted(range(len(u)), key=lambda i: u[i])  # Python's sort is stable
        bins: Bins = [None] * len(u)
        rank: Fraction | int = 0
        for i in order:
            rank += weights[i]
            # The smallest j with rank <= j * total / m; rows of no weight may come before rank 1.
            bins[i] = max(1, -(-rank * m // total))
        return bins

    return rule


def quantile_ties_together(m: int) -> Rule:
    """Equal predictions share the bin of their middle rank; ranks are cumulative weights."""

    def rule(u: Sequence[float], w: Sequence[float]) -> Bins:
        mass: dict[float, Fraction | int] = {}
        for x, weight in zip(u, exact(w), strict=True):
            mass[x] = mass.get(x, 0) + weight
        total = sum(mass.values())
        bin_of: dict[float, int] = {}
        below: Fraction | int = 0
        for x in sorted(mass):
            twice_the_middle = 2 * below + mass[x]
            # The smallest j with middle <= j * total / m; a middle of 0 (no mass) is in the first.
            bin_of[x] = max(1, -(-twice_the_middle * m // (2 * total)))
            below += mass[x]
        return [bin_of[x] for x in u]

    return rule


def level_sets() -> Rule:
    """One bin per distinct prediction."""
    return lambda u, w: list(u)


# --- projections ----------------------------------------------------------------------------------


def argmax(row: Sequence[float]) -> int:
    """The index of the largest entry; the lowest one wins ties."""
    best = 0
    for r, value in enumerate(row):
        if value > row[best]:
            best = r
    return best


def one_hot(label: float, k: int) -> list[float]:
    return [1.0 if r == label else 0.0 for r in range(k)]


def two_columns(class_one: Sequence[float]) -> list[list[float]]:
    """Probabilities of class 1 as rows of two classes."""
    return [[1.0 - value, value] for value in class_one]


def confidence_problem(p: Rows, q: Rows, w: Sequence[float]) -> Problem:
    """The top label's probability against the target's mass on that label."""
    top = [argmax(row) for row in p]
    return Problem(
        [row[r] for row, r in zip(p, top, strict=True)],
        [row[r] for row, r in zip(q, top, strict=True)],
        list(w),
    )


def class_problems(p: Rows, q: Rows, w: Sequence[float]) -> list[Problem]:
    """Each class against the rest."""
    return [
        Problem([row[r] for row in p], [row[r] for row in q], list(w)) for r in range(len(p[0]))
    ]


def above(problem: Problem, threshold: float) -> Problem:
    """The samples whose prediction is above the threshold."""
    kept = [i for i, prediction in enumerate(problem.u) if prediction > threshold]
    return Problem(*([column[i] for i in kept] for column in problem))


# --- bins and binned errors -----------------------------------------------------------------------


class Bin(NamedTuple):
    """What one bin holds."""

    n: int
    weight: float
    mean_predicted: float
    mean_target: float
    residual: float
    target_square: float
    weight_square: float


def bins_of(problem: Problem, rule: Rule) -> tuple[Bin, ...]:
    """The bins that hold weight, in increasing order of their predictions."""
    return _bins_of(tuple(problem.u), tuple(problem.z), tuple(problem.w), rule)


# Every engine is held to the same bins, and every norm.
@lru_cache(maxsize=4096)
def _bins_of(
    u: tuple[float, ...], z: tuple[float, ...], w: tuple[float, ...], rule: Rule
) -> tuple[Bin, ...]:
    problem = Problem(list(u), list(z), list(w))
    members: dict[Hashable, list[int]] = {}
    for i, name in enumerate(rule(problem.u, problem.w)):
        if name is not None:
            members.setdefault(name, []).append(i)
    out = []
    for name in sorted(members):  # type: ignore[type-var]
        held = [i for i in members[name] if problem.w[i] > 0]
        if not held:
            continue
        us, zs, ws = ([column[i] for i in held] for column in problem)
        weight = math.fsum(ws)
        sum_u = math.fsum(a * b for a, b in zip(ws, us, strict=True))
        sum_z = math.fsum(a * b for a, b in zip(ws, zs, strict=True))
        residual = math.fsum(a * (b - c) for a, b, c in zip(ws, us, zs, strict=True))
        squares = math.fsum(a * c * c for a, c in zip(ws, zs, strict=True))
        means = sum_u / weight, sum_z / weight
        out.append(Bin(len(held), weight, *means, residual, squares, math.fsum(a * a for a in ws)))
    return tuple(out)


def binned_error(problem: Problem, rule: Rule, norm: str = "l1") -> float:
    """ECE, the root mean square gap, or the largest gap. Dropped samples count in W."""
    total = math.fsum(problem.w)
    bins = bins_of(problem, rule)
    if norm == "l1":
        return math.fsum(abs(b.residual) for b in bins) / total
    if norm == "l2":
        return math.sqrt(math.fsum(b.residual**2 / b.weight for b in bins) / total)
    return max((abs(b.residual) / b.weight for b in bins), default=0.0)


def over_classes(errors: Sequence[float], norm: str = "l1") -> float:
    """One number for all classes: the mean, the root of the mean square, or the worst."""
    if norm == "l1":
        return math.fsum(errors) / len(errors)
    if norm == "l2":
        return math.sqrt(math.fsum(e * e for e in errors) / len(errors))
    return max(errors)


def debiased_square(problem: Problem, rule: Rule) -> float:
    """Mean square gap less the variance of each bin's mean target; may be below 0."""
    terms = []
    for b in bins_of(problem, rule):
        if b.n == 1:
            continue  # one sample says nothing about its variance
        rows = b.weight**2 / b.weight_square
        variance = max(0.0, b.target_square / b.weight - b.mean_target**2) / (rows - 1)
        terms.append(b.weight * ((b.residual / b.weight) ** 2 - variance))
    return math.fsum(terms) / math.fsum(problem.w)


def top_label_error(p: Rows, q: Rows, w: Sequence[float], rule: Rule, norm: str = "l1") -> float:
    """The error of the confidence given the predicted class: bins are those of all confidences, and
    each is taken apart by class.
    """
    problem, top = confidence_problem(p, q, w), [argmax(row) for row in p]

    def by_class(u: Sequence[float], weights: Sequence[float]) -> Bins:
        pairs = zip(top, rule(u, weights), strict=True)
        return [None if name is None else (r, name) for r, name in pairs]

    return binned_error(problem, by_class, norm)


def debiased_l2(problems: Sequence[Problem], rule: Rule) -> float:
    squares = [debiased_square(problem, rule) for problem in problems]
    return math.sqrt(max(0.0, math.fsum(squares) / len(squares)))


def sweep_bin_count(problem: Problem) -> int:
    """The most equal-mass bins, no more than distinct predictions, before a mean target first
    falls.
    """
    held = [i for i, weight in enumerate(problem.w) if weight > 0]
    u, z, w = ([column[i] for i in held] for column in problem)
    best = 1
    weights = exact(w)
    hits = [weight * target for weight, target in zip(weights, exact(z), strict=True)]
    for m in range(2, len(set(u)) + 1):
        sums: dict[Hashable, list[Fraction | int]] = {}
        for name, hit, weight in zip(quantile_ties_together(m)(u, w), hits, weights, strict=True):
            cell = sums.setdefault(name, [0, 0])
            cell[0] += hit
            cell[1] += weight
        cells = [sums[name] for name in sorted(sums)]  # type: ignore[type-var]
        if any(a[0] * b[1] > b[0] * a[1] for a, b in pairwise(cells)):
            break
        best = m
    return best


def ks_error(problem: Problem) -> float:
    """max over t of |sum of w (u - z) over predictions up to t| / W."""
    rows = list(zip(*problem, strict=True))
    partial = [math.fsum(w * (u - z) for u, z, w in rows if u <= t) for t in set(problem.u)]
    return max(abs(gap) for gap in partial) / math.fsum(problem.w)


def atb(problem: Problem) -> float:
    """The mean over q of the squared residuals below q and of those from q on, over W squared."""
    rows = list(zip(*problem, strict=True))
    ends = [0.0, *sorted(set(problem.u)), 1.0]

    def squares(q: float) -> float:
        sides = ([r for r in rows if r[0] < q], [r for r in rows if r[0] >= q])
        return sum(math.fsum(w * (u - z) for u, z, w in side) ** 2 for side in sides)

    total = math.fsum((b - a) * squares((a + b) / 2) for a, b in pairwise(ends) if b > a)
    return total / math.fsum(problem.w) ** 2


def cutoff_ce(problem: Problem) -> float:
    """The largest |sum of w (u - z)| over the predictions from s to t, for any s and t, over W."""
    rows = list(zip(*problem, strict=True))
    ends = sorted(set(problem.u))
    gaps = (
        abs(math.fsum(w * (u - z) for u, z, w in rows if s <= u <= t))
        for i, s in enumerate(ends)
        for t in ends[i:]
    )
    return max(gaps) / math.fsum(problem.w)


def tace(problems: Sequence[Problem], m: int, threshold: float, norm: str = "l1") -> float:
    """Adaptive error of the predictions above a threshold, over the classes that have any."""
    kept = [above(problem, threshold) for problem in problems]
    errors = [
        binned_error(problem, quantile_ties_together(m), norm)
        for problem in kept
        if math.fsum(problem.w) > 0
    ]
    return over_classes(errors, norm)


# --- truthful errors ------------------------------------------------------------------------------


def lin_ce(problem: Problem, rule: Rule) -> float:
    """sum_B R_B^2 / W^2."""
    total = math.fsum(problem.w)
    return math.fsum(b.residual**2 for b in bins_of(problem, rule)) / total**2


def confidence_correction(problem: Problem) -> float:
    """sum of w^2 (1 - z) / W^2."""
    misses = math.fsum(w * w * (1.0 - z) for w, z in zip(problem.w, problem.z, strict=True))
    return misses / math.fsum(problem.w) ** 2


def mean_of_property(rows: Rows, phi: Rows) -> list[list[float]]:
    """The expectation of phi (a row of d numbers per class) under each row of probabilities."""
    return [
        [
            math.fsum(chance * values[j] for chance, values in zip(row, phi, strict=True))
            for j in range(len(phi[0]))
        ]
        for row in rows
    ]


def vector_cells(predictions: Rows, w: Sequence[float], rule: Rule | None, phi: Rows) -> Bins:
    """Which coordinate is largest, and that coordinate's bin; None as a rule is exact level sets.

    Coordinates are compared and binned as shares of the range that phi gives them.
    """
    if rule is None:
        return [tuple(row) for row in predictions]
    low = [min(values[j] for values in phi) for j in range(len(phi[0]))]
    high = [max(values[j] for values in phi) for j in range(len(phi[0]))]
    span = [b - a if b > a else 1.0 for a, b in zip(low, high, strict=True)]
    shares = [[(x - a) / s for x, a, s in zip(row, low, span, strict=True)] for row in predictions]
    top = [argmax(row) for row in shares]
    bins = rule([row[r] for row, r in zip(shares, top, strict=True)], w)
    return [None if b is None else (r, b) for r, b in zip(top, bins, strict=True)]


def vector_lin_ce(predictions: Rows, targets: Rows, w: Sequence[float], cells: Bins) -> float:
    """sum_B ||R_B||_2^2 / W^2 for vector predictions in given cells."""
    members: dict[Hashable, list[int]] = {}
    for i, name in enumerate(cells):
        if name is not None:
            members.setdefault(name, []).append(i)
    squares = [
        math.fsum(w[i] * (predictions[i][j] - targets[i][j]) for i in held) ** 2
        for held in members.values()
        for j in range(len(predictions[0]))
    ]
    return math.fsum(squares) / math.fsum(w) ** 2


def vector_lin_ece(predictions: Rows, targets: Rows, w: Sequence[float], cells: Bins) -> float:
    """sum_B ||R_B||_1 / W for vector predictions in given cells (definition 2.1)."""
    total = 0.0
    for name in {name for name in cells if name is not None}:
        held = [i for i, cell in enumerate(cells) if cell == name]
        for j in range(len(predictions[0])):
            total += abs(math.fsum(w[i] * (predictions[i][j] - targets[i][j]) for i in held))
    return total / math.fsum(w)


# --- losses and distances, row by row -------------------------------------------------------------


def weighted_mean(values: Sequence[float], w: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(w, values, strict=True)) / math.fsum(w)


def brier(p: Sequence[float], q: Sequence[float]) -> float:
    return math.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True))


def log_loss(p: Sequence[float], q: Sequence[float]) -> float:
    return -math.fsum(b * math.log(max(a, LOG_FLOOR)) for a, b in zip(p, q, strict=True) if b > 0)


def spherical_loss(p: Sequence[float], q: Sequence[float]) -> float:
    length = math.sqrt(math.fsum(a * a for a in p))
    return 1.0 - math.fsum(a * b for a, b in zip(p, q, strict=True)) / length


def classification_error(p: Sequence[float], q: Sequence[float]) -> float:
    return 1.0 - q[argmax(p)]


def confidence_loss(p: Sequence[float], q: Sequence[float]) -> float:
    r = argmax(p)
    return 1.0 - q[r] + (p[r] - q[r]) ** 2


def total_variation(p: Sequence[float], q: Sequence[float]) -> float:
    return math.fsum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def entropy(p: Sequence[float]) -> float:
    return -math.fsum(a * math.log(a) for a in p if a > 0)


def entropy_difference(p: Sequence[float], q: Sequence[float]) -> float:
    return entropy(p) - entropy(q)


def same_ranking(p: Sequence[float], q: Sequence[float]) -> float:
    """1 if every pair that the target ranks strictly is ranked strictly alike by the prediction."""
    k = len(p)
    kept = all(p[a] > p[b] for a in range(k) for b in range(k) if q[a] > q[b])
    return 1.0 if kept else 0.0


def js_divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """Half of the mean log of how much likelier each class is than under the mean of both."""

    def log_ratio(x: float, other: float) -> float:
        d = (x - other) / (x + other)
        return math.log1p(d) if d > -0.5 else math.log(2 * x / (x + other))

    pairs = list(zip(p, q, strict=True))
    sides = pairs + [(b, a) for a, b in pairs]
    return math.fsum(x * log_ratio(x, other) / 2 for x, other in sides if x > 0)


def js_distance(p: Sequence[float], q: Sequence[float]) -> float:
    return math.sqrt(max(js_divergence(p, q), 0.0))


def kl_divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """Of the target q from the prediction p: q log(q / p)."""
    terms = (b * math.log(b / max(a, LOG_FLOOR)) for a, b in zip(p, q, strict=True) if b > 0)
    return max(math.fsum(terms), 0.0)


def wasserstein(p: Sequence[float], q: Sequence[float], positions: Sequence[float] = ()) -> float:
    """Mass is carried from the left to the right, class by class, as far as classes are apart."""
    at = list(positions) or [float(r) for r in range(len(p))]
    paid = 0.0
    for r in range(len(p) - 1):
        carried = math.fsum([*p[: r + 1], *(-b for b in q[: r + 1])])
        paid += abs(carried) * (at[r + 1] - at[r])
    return paid


# --- the Brier score taken apart ------------------------------------------------------------------


class Decomposition(NamedTuple):
    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within_bin: float


def pool_adjacent_violators(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The increasing fit of least squares: neighbours that fall are averaged until none does."""
    blocks: list[tuple[Fraction, Fraction, int]] = []  # sum of w * value, sum of w, how many
    for value, weight in zip(values, weights, strict=True):
        blocks.append((Fraction(value) * Fraction(weight), Fraction(weight), 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return [float(total / weight) for total, weight, count in blocks for _ in range(count)]


def _brier_against(predictions: Sequence[float], problem: Problem) -> float:
    squares = [(u - z) ** 2 for u, z in zip(predictions, problem.z, strict=True)]
    return weighted_mean(squares, problem.w)


def isotonic_decomposition(problem: Problem) -> Decomposition:
    """What recalibrating by an increasing function gains, and what it then gains over the mean."""
    levels = sorted({u for u, w in zip(problem.u, problem.w, strict=True) if w > 0})
    means, masses = [], []
    for level in levels:
        held = [i for i, u in enumerate(problem.u) if u == level]
        w = [problem.w[i] for i in held]
        masses.append(math.fsum(w))
        means.append(weighted_mean([problem.z[i] for i in held], w))
    fitted = dict(zip(levels, pool_adjacent_violators(means, masses), strict=True))
    brier_now = _brier_against(problem.u, problem)
    # A level that only rows of weight 0 hold has no fit, and needs none.
    after = _brier_against([fitted.get(u, 0.0) for u in problem.u], problem)
    base = weighted_mean(problem.z, problem.w)
    uncertainty = _brier_against([base] * len(problem.z), problem)
    return Decomposition(brier_now, brier_now - after, uncertainty - after, uncertainty, 0.0)


def binned_decomposition(problem: Problem, rule: Rule) -> Decomposition:
    """Murphy's parts, and what the bins hide. The rule must put every prediction into a bin."""
    total = math.fsum(problem.w)
    base = weighted_mean(problem.z, problem.w)
    bins = bins_of(problem, rule)
    brier_now = _brier_against(problem.u, problem)
    gaps = [b.weight * (b.mean_predicted - b.mean_target) ** 2 for b in bins]
    miscalibration = math.fsum(gaps) / total
    discrimination = math.fsum(b.weight * (b.mean_target - base) ** 2 for b in bins) / total
    uncertainty = _brier_against([base] * len(problem.z), problem)
    within = brier_now - (miscalibration - discrimination + uncertainty)
    return Decomposition(brier_now, miscalibration, discrimination, uncertainty, within)


def total_decomposition(parts: Sequence[Decomposition]) -> Decomposition:
    """The parts of every class, summed, as the Brier score is."""
    return Decomposition(*(math.fsum(column) for column in zip(*parts, strict=True)))


# --- the measures of the catalogue, by name -------------------------------------------------------
# `twin_of_NAME` is the twin of the measure NAME at its default options: 15 equal-width bins, or 15
# quantile bins. A measure without one fails `tests/laws/test_twins_by_name.py`.


class Case(NamedTuple):
    """A sample as every twin can read it: rows of probabilities, of targets, and weights."""

    shape: str
    p: Rows
    q: Rows
    w: list[float]

    @property
    def confidence(self) -> Problem:
        return confidence_problem(self.p, self.q, self.w)

    @property
    def classes(self) -> list[Problem]:
        return class_problems(self.p, self.q, self.w)

    @property
    def scalar(self) -> Problem:
        """P(y = 1), or the top label."""
        return self.classes[1] if self.shape == "binary" else self.confidence

    @property
    def scalars(self) -> list[Problem]:
        """P(y = 1), or each class against the rest."""
        return [self.scalar] if self.shape == "binary" else self.classes

    def mean(self, loss: Callable[[Sequence[float], Sequence[float]], float]) -> float:
        return weighted_mean([loss(p, q) for p, q in zip(self.p, self.q, strict=True)], self.w)


def find_twin(name: str) -> Callable[[Case], float] | None:
    """The twin of a measure, by its name in the catalogue."""
    twin: Callable[[Case], float] | None = globals().get(f"twin_of_{name}")
    return twin


WIDTH, MASS = equal_width(15), quantile_ties_together(15)


def twin_of_ece(case: Case) -> float:
    return binned_error(case.scalar, WIDTH)


def twin_of_grouping_gap(case: Case) -> float:
    # Per bin, what residuals of one sign and of the other have in common, twice.
    u, z, w = case.scalar
    parts: dict[Hashable, list[list[float]]] = {}
    for b, x, target, weight in zip(WIDTH(u, w), u, z, w, strict=True):
        parts.setdefault(b, [[], []])[x > target].append(weight * abs(x - target))
    both = [min(math.fsum(side) for side in sides) for sides in parts.values()]
    return 2.0 * math.fsum(both) / math.fsum(w)


def twin_of_rmsce(case: Case) -> float:
    return binned_error(case.scalar, WIDTH, "l2")


def twin_of_hle_rms(case: Case) -> float:
    """Whole weights as rows; the square of each run in expectation over the order of ties, by the
    variance of a sum of draws without replacement.
    """
    rows = sorted((u, z) for u, z, w in zip(*case.scalar, strict=True) for _ in range(round(w)))
    n, total = len(rows), 0.0
    for k in range(n // 100 - 1):
        run = rows[100 * k : 100 * (k + 1)]
        mean, variance = 0.0, 0.0
        for u in {u for u, _ in run}:
            level, m = [z for v, z in rows if v == u], sum(v == u for v, _ in run)
            middle = math.fsum(level) / len(level)
            spread = math.fsum((z - middle) ** 2 for z in level) / max(len(level) - 1, 1)
            mean += m * (u - middle)
            variance += m * (1 - m / len(level)) * spread
        total += (mean**2 + variance) / 100
    return math.sqrt(total / n) if n else 0.0


def twin_of_mce(case: Case) -> float:
    return binned_error(case.scalar, WIDTH, "max")


def twin_of_debiased_l2(case: Case) -> float:
    return debiased_l2([case.scalar], MASS)


def twin_of_sweep_ece(case: Case) -> float:
    count = sweep_bin_count(case.scalar)
    return binned_error(case.scalar, quantile_ties_together(count))


def twin_of_ks_error(case: Case) -> float:
    return ks_error(case.scalar)


def twin_of_cutoff_ce(case: Case) -> float:
    return cutoff_ce(case.scalar)


def twin_of_atb(case: Case) -> float:
    return atb(case.scalar)


def twin_of_top_label_ece(case: Case) -> float:
    return top_label_error(case.p, case.q, case.w, WIDTH)


def twin_of_classwise_ece(case: Case) -> float:
    return over_classes([binned_error(problem, WIDTH) for problem in case.classes])


def twin_of_ace(case: Case) -> float:
    return over_classes([binned_error(problem, MASS) for problem in case.scalars])


def twin_of_tace(case: Case) -> float:
    return tace(case.scalars, 15, 0.01)


def twin_of_lin_ce(case: Case) -> float:
    if case.shape == "binary":
        return lin_ce(case.scalar, MASS)
    unit = [one_hot(r, len(case.p[0])) for r in range(len(case.p[0]))]
    return vector_lin_ce(case.p, case.q, case.w, vector_cells(case.p, case.w, MASS, unit))


def twin_of_classwise_ce(case: Case) -> float:
    return over_classes([lin_ce(problem, MASS) for problem in case.classes])


def twin_of_confidence_ce(case: Case) -> float:
    return lin_ce(case.confidence, MASS) + confidence_correction(case.confidence)


def twin_of_confidence_ce_uncorrected(case: Case) -> float:
    return lin_ce(case.confidence, MASS)


def twin_of_brier(case: Case) -> float:
    # Of (n,) predictions only class 1 counts; a row of two classes counts both, which are alike.
    return case.mean(brier) / (2 if case.shape == "binary" else 1)


def twin_of_log_loss(case: Case) -> float:
    return case.mean(log_loss)


def twin_of_spherical_loss(case: Case) -> float:
    return case.mean(spherical_loss)


def twin_of_classification_error(case: Case) -> float:
    return case.mean(classification_error)


def twin_of_accuracy(case: Case) -> float:
    return 1 - case.mean(classification_error)


def twin_of_confidence_loss(case: Case) -> float:
    return case.mean(confidence_loss)


def twin_of_brier_miscalibration(case: Case) -> float:
    return isotonic_decomposition(case.scalar).miscalibration


def twin_of_brier_discrimination(case: Case) -> float:
    return isotonic_decomposition(case.scalar).discrimination


def twin_of_brier_uncertainty(case: Case) -> float:
    return isotonic_decomposition(case.scalar).uncertainty


def twin_of_dist_ce(case: Case) -> float:
    return case.mean(total_variation)


def twin_of_ent_ce(case: Case) -> float:
    return case.mean(lambda p, q: abs(entropy_difference(p, q)))


def twin_of_rank_cs(case: Case) -> float:
    return case.mean(same_ranking)


def twin_of_jsd(case: Case) -> float:
    return case.mean(js_distance)


def twin_of_js_divergence(case: Case) -> float:
    return case.mean(js_divergence)


def twin_of_kl(case: Case) -> float:
    return case.mean(kl_divergence)


def twin_of_manhattan(case: Case) -> float:
    return case.mean(lambda p, q: 2 * total_variation(p, q))


def twin_of_wasserstein(case: Case) -> float:
    return case.mean(wasserstein)


def _gaussian(distance: float, sigma: float) -> float:
    return math.exp(-0.5 * (distance / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))


def _integral_of_absolute(
    f: Callable[[float], float], low: float, high: float, n: int = 1500
) -> float:
    """The integral of |f|, taken as linear between its values: sign changes are cut out."""
    values = [f(low + (high - low) * i / n) for i in range(n + 1)]
    areas = [
        (a * a + b * b) / (2 * (abs(a) + abs(b))) if a * b < 0 else abs(a + b) / 2
        for a, b in pairwise(values)
    ]
    return math.fsum(areas) * (high - low) / n


def twin_of_ls_ece(case: Case, sigma: float = 0.1) -> float:
    """Integral of |(1/W) sum w K(t - h) (z - sigmoid(t))| over t, h being the logit of u."""
    rows = [(math.log(u / (1 - u)), z, w) for u, z, w in zip(*case.scalar, strict=True)]

    def f(t: float) -> float:
        near = [row for row in rows if abs(t - row[0]) < 9 * sigma]
        mean = 1 / (1 + math.exp(-t))
        return math.fsum(w * _gaussian(t - h, sigma) * (z - mean) for h, z, w in near)

    ends = [h for h, _, _ in rows]
    low, high = min(ends) - 9 * sigma, max(ends) + 9 * sigma
    return _integral_of_absolute(f, low, high, 4000) / math.fsum(case.w)


def twin_of_smooth_ece(case: Case) -> float:
    """The sigma at which the error smoothed by a Gaussian, reflected at 0 and 1, is sigma."""
    rows, total = list(zip(*case.scalar, strict=True)), math.fsum(case.w)

    def error(sigma: float) -> float:
        def f(t: float) -> float:
            return math.fsum(
                w * (z - u) * _gaussian(t - image, sigma)
                for u, z, w in rows
                for image in (u, -u, 2 - u, 2 + u, u - 2)
            )

        return _integral_of_absolute(f, 0.0, 1.0, 200) / total

    # By secants: an error falls slowly and evenly with sigma.
    sigma, other = 0.1, 0.2
    off = error(sigma) - sigma
    while abs(other - sigma) > 1e-6:
        rest = error(other) - other
        sigma, other, off = other, other - rest * (other - sigma) / (rest - off), rest
    return other


# --- ranking and abstention: by pairs of rows -----------------------------------------------------


def auroc(problem: Problem) -> float:
    """Over all pairs: how much of an event the higher row has, and of a non-event the lower."""
    rows = list(zip(*problem, strict=True))
    above, pairs = [], []
    for u, z, w in rows:
        for v, q, x in rows:
            pair = w * z * x * (1.0 - q)
            pairs.append(pair)
            above.append(pair * (1.0 if u > v else 0.5 if u == v else 0.0))
    return math.fsum(above) / math.fsum(pairs)


def aurc(problem: Problem) -> float:
    """Each row sets the threshold in turn; its risk is that of the rows at it and above."""
    rows = list(zip(*problem, strict=True))
    risks = []
    for u, _, w in rows:
        kept = [row for row in rows if row[0] >= u]
        missed = math.fsum(x * (1.0 - q) for _, q, x in kept)
        risks.append(w * missed / math.fsum(x for _, _, x in kept))
    return math.fsum(risks) / math.fsum(problem.w)


def accuracy_at_coverage(problem: Problem, coverage: float) -> float:
    """From the highest prediction down until the share is full; equal ones share what is left."""
    room = full = coverage * math.fsum(problem.w)
    hits = []
    for level in sorted(set(problem.u), reverse=True):
        of_level = [(z, w) for u, z, w in zip(*problem, strict=True) if u == level]
        weight = math.fsum(w for _, w in of_level)
        if weight == 0:
            continue
        part = min(1.0, max(0.0, room / weight))
        hits.append(part * math.fsum(z * w for z, w in of_level))
        room -= weight
    return math.fsum(hits) / full


def twin_of_auroc(case: Case) -> float:
    return auroc(case.scalar)


def twin_of_aurc(case: Case) -> float:
    return aurc(case.scalar)


def twin_of_accuracy_at_coverage(case: Case) -> float:
    return accuracy_at_coverage(case.scalar, 0.8)


# --- local regression: rows one by one, the definition in R's own terms ---------------------------


def _solve_three(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Three equations by elimination with the largest pivot."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i in range(3):
        pivot = max(range(i, 3), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, 3):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    out = [0.0, 0.0, 0.0]
    for i in (2, 1, 0):
        known = math.fsum(rows[i][j] * out[j] for j in range(i + 1, 3))
        out[i] = (rows[i][3] - known) / rows[i][i]
    return out


def local_parabola(problem: Problem, at: float, span: float) -> tuple[float, float]:
    """Value and slope at a place of the parabola through the nearest share of the rows."""
    rows = sorted(zip(*problem, strict=True), key=lambda row: abs(row[0] - at))
    wanted, through = Fraction(span) * sum(exact(problem.w)), Fraction(0)
    reach = math.inf
    for u, _, w in rows:
        through += Fraction(w)
        if through >= wanted:
            reach = abs(u - at)
            break
    # A parabola needs three distinct places nearer than the edge.
    distances = sorted({u for u, _, w in rows if w > 0}, key=lambda u: abs(u - at))
    reach = max(reach, abs(distances[3] - at))
    sums, products = [[] for _ in range(5)], [[] for _ in range(3)]
    for u, z, w in rows:
        x = (u - at) / reach
        weight = w * (
            0.0 if abs(x) >= 0.999 else 1.0 if abs(x) <= 0.001 else (1 - abs(x) ** 3) ** 3
        )
        for i in range(5):
            sums[i].append(weight * x**i)
        for i in range(3):
            products[i].append(weight * x**i * z)
    moments = [math.fsum(part) for part in sums]
    matrix = [[moments[i + j] for j in range(3)] for i in range(3)]
    value, slope, _ = _solve_three(matrix, [math.fsum(part) for part in products])
    return value, slope / reach


def loess_vertices(problem: Problem, span: float) -> list[float]:
    """Halve the rows, by weight, until no cell holds more than a fifth of a neighbourhood."""
    weight: dict[float, Fraction] = {}
    for u, _, w in zip(*problem, strict=True):
        if w > 0:
            weight[u] = weight.get(u, Fraction(0)) + Fraction(w)
    most = Fraction(span) * Fraction(1, 5) * sum(weight.values())
    found: list[float] = []

    def halve(levels: list[float]) -> None:
        total = sum(weight[u] for u in levels)
        if total <= most or len(levels) < 2:
            return
        through, best = Fraction(0), (Fraction(10**9), 0)
        for j, u in enumerate(levels[:-1]):
            through += weight[u]
            best = min(best, (abs(through - total / 2), -j))
        cut = -best[1]
        found.append(levels[cut])
        halve(levels[: cut + 1])
        halve(levels[cut + 1 :])

    levels = sorted(weight)
    halve(levels)
    margin = 0.005 * (levels[-1] - levels[0])
    return [levels[0] - margin, *sorted(found), levels[-1] + margin]


def loess(problem: Problem, places: Sequence[float], span: float = 0.75) -> list[float]:
    """Parabolas at vertices, and cubics between them."""
    vertices = loess_vertices(problem, span)
    fits = [local_parabola(problem, v, span) for v in vertices]
    out = []
    for u in places:
        j = max(i for i in range(len(vertices) - 1) if vertices[i] <= u)
        width = vertices[j + 1] - vertices[j]
        t = (u - vertices[j]) / width
        (a, slope_a), (b, slope_b) = fits[j], fits[j + 1]
        out.append(
            a * (1 + 2 * t) * (1 - t) ** 2
            + slope_a * width * t * (1 - t) ** 2
            + b * t * t * (3 - 2 * t)
            - slope_b * width * t * t * (1 - t)
        )
    return out


def _distances_to_diagonal(case: Case) -> list[tuple[float, float]]:
    problem = case.scalar
    curve = loess(problem, problem.u)
    pairs = zip(curve, problem.u, problem.w, strict=True)
    return sorted((abs(c - u), w) for c, u, w in pairs if w > 0)


def _weighted_quantile(pairs: list[tuple[float, float]], share: float) -> float:
    """The distance at which the share is reached; the middle of a step where it is met exactly."""
    wanted, through = Fraction(share) * sum(Fraction(w) for _, w in pairs), Fraction(0)
    for i, (distance, w) in enumerate(pairs):
        through += Fraction(w)
        if abs(through - wanted) <= wanted / 10**12:
            return (distance + pairs[i + 1][0]) / 2
        if through > wanted:
            return distance
    return pairs[-1][0]


def twin_of_ici(case: Case) -> float:
    pairs = _distances_to_diagonal(case)
    return math.fsum(d * w for d, w in pairs) / math.fsum(w for _, w in pairs)


def twin_of_e50(case: Case) -> float:
    return _weighted_quantile(_distances_to_diagonal(case), 0.5)


def twin_of_e90(case: Case) -> float:
    return _weighted_quantile(_distances_to_diagonal(case), 0.9)


def twin_of_emax(case: Case) -> float:
    return _distances_to_diagonal(case)[-1][0]
