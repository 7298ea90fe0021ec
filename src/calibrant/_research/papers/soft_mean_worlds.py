"""The experiments of Leznik (2026) in worlds that the paper names among its limitations.

Classes are Gaussian: in d dimensions x given y = 0 is normal with mean -m and variance 1, and given
y = 1 with mean m and variance sd^2, where m has the length k / 2 and the direction of (1, ..., 1).
Their posterior is sigmoid(h) with

    h(x) = -d ln(sd) - |x - m|^2 / (2 sd^2) + |x + m|^2 / 2,

which is k x in the paper's world, where sd and d are 1. The five models are those of the paper with
h in place of k x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._core.errors import InputError, one_of
from calibrant._core.progress import TaskProgress
from calibrant._core.typing import Array
from calibrant._core.validation import check_count, is_number
from calibrant._research.papers.folder import Reproduction, Section, Table, columns_of, versions
from calibrant._research.papers.soft_mean_experiments import (
    CORRECTED,
    Draw,
    pairs_ranked_right,
    sample_errors,
)
from calibrant._research.papers.soft_mean_printed import MODELS, NAMES, STEEPNESSES, k_column

INPUTS = ("uniform", "gaussian")
TARGETS = {
    "SMECE": "against the posterior",
    "ECE": "against the thresholded label",
    "ECE on outcomes": "against labels drawn as outcomes",
}
Errors = Mapping[str, Array]
# Where k is large, all predictions of a model would be exactly 0 or 1, which reads as hard labels.
_BELOW_ONE, _MOST_LOG_ODDS = np.nextafter(1.0, 0.0), 36.0


@dataclass(frozen=True)
class World:
    """Where samples come from; by default the paper's world.

    Labels are thresholded at `tau`: 1[posterior > tau]. With the `inputs` "gaussian", x is drawn
    from the classes, and its outcome is its class; with "uniform" each of its `dimensions` is
    uniform on (-3, 3), and the outcome is drawn from the posterior.
    """

    tau: float = 0.5
    inputs: str = "uniform"
    sd: float = 1.0
    dimensions: int = 1

    def __post_init__(self) -> None:
        """Raise an InputError for an option out of range."""
        if not is_number(self.tau) or not 0 < self.tau < 1:
            raise InputError(f"tau must be a number between 0 and 1; got {self.tau!r}")
        if not is_number(self.sd) or not 0.1 <= self.sd <= 10:
            raise InputError(f"sd must be a number from 0.1 to 10; got {self.sd!r}")
        one_of("inputs", self.inputs, INPUTS)
        if check_count("dimensions", self.dimensions, 1) > 1000:
            raise InputError(f"dimensions must be at most 1000; got {self.dimensions!r}")

    def mean(self, k: float) -> Array:
        """The mean m of class 1, (dimensions,); that of class 0 is -m."""
        return np.full(self.dimensions, k / 2 / np.sqrt(self.dimensions))

    def log_odds(self, x: Array, k: float) -> Array:
        """The log odds of the posterior at x, (n, dimensions): an array (n,)."""
        m, variance = self.mean(k), self.sd**2
        far = ((x - m) ** 2).sum(axis=1) / (2 * variance)
        return ((x + m) ** 2).sum(axis=1) / 2 - far - self.dimensions * np.log(self.sd)

    def draw(self, rng: np.random.Generator, k: float, n: int) -> tuple[Draw, Array]:
        """Draw a sample of n rows, and an outcome for each of them."""
        y = (rng.random(n) < 0.5).astype(np.float64)
        if self.inputs == "gaussian":
            scatter = rng.normal(size=(n, self.dimensions)) * np.where(y, self.sd, 1.0)[:, None]
            x = np.where(y[:, None] > 0, self.mean(k), -self.mean(k)) + scatter
        else:
            x = rng.uniform(-3, 3, (n, self.dimensions))
        h = self.log_odds(x, k)
        posterior = _sigmoid(h)
        predictions = {
            "A": posterior,
            "B": _sigmoid(3 * h),
            "C": _sigmoid(0.4 * h),
            "D": np.minimum(posterior + 0.15, _BELOW_ONE),
            "E": rng.uniform(0, 1, n),
        }
        sample = Draw(posterior, (posterior > self.tau).astype(np.float64), predictions)
        drawn = (rng.random(n) < posterior).astype(np.float64)
        return sample, y if self.inputs == "gaussian" else drawn

    @property
    def words(self) -> str:
        """The world in words."""
        d = self.dimensions
        where = "drawn from the classes" if self.inputs == "gaussian" else "uniform on (-3, 3)"
        return (
            f"Labels are thresholded at {self.tau:g}, x is {where} in {d} "
            f"dimension{'' if d == 1 else 's'}, and "
            + ("classes have one variance" if self.sd == 1 else f"class 1 has the sd {self.sd:g}")
        )


def _sigmoid(h: Array) -> Array:
    """The sigmoid of log odds, at most a rounding error away from 0 and 1."""
    from scipy.special import expit

    return np.asarray(expit(np.clip(h, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)))


def errors_of(world: World, rng: np.random.Generator, k: float, n: int) -> Errors:
    """The errors of the five models on one sample, by target, with the last bin closed."""
    sample, outcome = world.draw(rng, k, n)
    found = {name: values[1] for name, values in sample_errors(sample).items()}
    drawn = [ece(outcome, u, bins=CORRECTED) for u in sample.predictions.values()]
    return {**found, "ECE on outcomes": np.array(drawn)}


def reproduce(world: World, *, seed: int, quick: bool, progress: TaskProgress) -> Reproduction:
    """Errors, ranks and ranking accuracy in a world, and in the paper's beside it."""
    n_ranking = 20 if quick else 200
    one, paper = (
        {k: errors_of(each, np.random.default_rng(seed), k, 5000) for k in STEEPNESSES}
        for each in (world, World())
    )
    with progress.task("Ranking", len(STEEPNESSES) * n_ranking) as step:
        shares = _shares_ranked_right(world, np.random.default_rng([seed, 1]), n_ranking, step)
    orders = {target: _orders_by_k(one, target) for target in TARGETS}
    known = {target: _orders_by_k(paper, target) for target in TARGETS}
    given = {name: value for name, value in asdict(world).items() if value != vars(World())[name]}
    command = " ".join(f"--{name} {value}" for name, value in given.items())
    recipe = {
        "command": f"calibrant reproduce soft-mean {command} --seed {seed}"
        + (" --quick" if quick else ""),
        "seed": seed,
        **asdict(world),
        "replications": n_ranking,
        **versions(),
    }
    changes = [_order_sentence(target, orders[target], known[target]) for target in TARGETS]
    return Reproduction(
        "soft-mean",
        "Soft mean expected calibration error, in another world",
        "After M. Leznik (2026), arXiv:2603.14092, whose section 10.5 names these limitations.",
        (
            Section(
                "Method",
                (
                    f"{world.words}. Classes are Gaussian and equally frequent, with means at -k/2 "
                    "and k/2 on the diagonal of the space, so the posterior is known. The models "
                    "are those of the paper, with the log odds of this posterior instead of kx. "
                    "There are ten bins, the last one closed, and n = 5,000.",
                    *changes,
                ),
                (_order_table(orders, known),),
            ),
            Section("Errors", (), tuple(_error_table(one, target) for target in TARGETS)),
            Section(
                "Ranking consistency",
                ("Pairs are ranked as in the paper: B and C always count as correct.",),
                (_ranking_table(shares, n_ranking),),
            ),
        ),
        (),
        recipe,
    )


def _shares_ranked_right(
    world: World, rng: np.random.Generator, n: int, step: Callable[[], Any]
) -> dict[float, dict[str, float]]:
    """The share of pairs that each target ranks right, by k, over n samples of 1,000 rows."""
    shares = {}
    for k in STEEPNESSES:
        right: dict[str, list[float]] = {target: [] for target in TARGETS}
        for _ in range(n):
            for target, values in errors_of(world, rng, k, 1000).items():
                right[target].append(float(pairs_ranked_right(values).mean()))
            step()
        shares[k] = {target: float(np.mean(values)) for target, values in right.items()}
    return shares


def _orders_by_k(found: Mapping[float, Errors], target: str) -> list[str]:
    """The order of the models at each k, the smallest error first, such as "A B D C E".

    Errors that are equal to six digits are tied: "A=B D C E".
    """
    orders = []
    for k in STEEPNESSES:
        errors = np.round(found[k][target], 6)
        first, *others = np.argsort(errors, kind="stable")
        text = MODELS[first]
        for before, after in zip((first, *others), others, strict=False):
            text += ("=" if errors[before] == errors[after] else " ") + MODELS[after]
        orders.append(text)
    return orders


def _order_sentence(target: str, orders: list[str], known: list[str]) -> str:
    """A sentence that says at how many k the order is that of the paper's world, and A is first."""
    same = sum(a == b for a, b in zip(orders, known, strict=True))
    first, before = (sum(each.startswith("A ") for each in all_) for all_ in (orders, known))
    return (
        f"{target} ({TARGETS[target]}) ranks the models as in the paper's world at {same} of "
        f"{len(orders)} values of k, and ranks only A first at {first} (in the paper's world at "
        f"{before})."
    )


def _order_table(orders: dict[str, list[str]], known: dict[str, list[str]]) -> Table:
    """The table of orders by k, in this world and in the paper's."""
    columns = columns_of(
        {"target": target, "world": world}
        | dict(zip(map(k_column, STEEPNESSES), order, strict=True))
        for target in TARGETS
        for world, order in (("this", orders[target]), ("the paper's", known[target]))
    )
    return Table("ranks", "Models by their error, the smallest first; = is a tie.", columns)


def _error_table(found: Mapping[float, Errors], target: str) -> Table:
    """The table of errors of the models by k."""
    columns: dict[str, list[Any]] = {"model": [NAMES[model] for model in MODELS]}
    for k in STEEPNESSES:
        columns[k_column(k)] = [f"{value:.4f}" for value in found[k][target]]
    name = target.lower().replace(" ", "_")
    return Table(name, f"{target}, {TARGETS[target]}.", columns)


def _ranking_table(shares: Mapping[float, Mapping[str, float]], n: int) -> Table:
    """The table of the shares of pairs that are ranked right, by k."""
    columns: dict[str, list[Any]] = {"target": list(TARGETS)}
    for k in STEEPNESSES:
        columns[k_column(k)] = [f"{shares[k][target]:.3f}" for target in TARGETS]
    caption = f"Share of pairs ranked correctly, n = 1,000, {n} replications."
    return Table("ranking", caption, columns)
