"""Worlds of judged rows whose rate is known, and how often an interval contains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrant._inference.judged import JudgedRows, Limits


@dataclass(frozen=True)
class JudgeWorld:
    """n rows with a human label beside m without; `rate` is the true rate of the m rows."""

    n: int
    m: int
    rate: float
    sensitivity: float
    specificity: float
    # The rate, sensitivity and specificity of the labelled rows, where they are other ones.
    rate_labelled: float | None = None
    judge_labelled: tuple[float, float] | None = None
    # How much likelier rows are labelled where the judge says yes, and whether weights say so.
    preferred: float = 1.0
    weighted: bool = False
    # Rows of a cluster, and how alike they are: the share of clusters whose rows are all one.
    cluster: int = 1
    alike: float = 0.0
    # Whether the judge gives scores: of a yes 0.5 to 1, of a no 0 to 0.5.
    scores: bool = False

    def rows(self, rng: np.random.Generator) -> JudgedRows:
        """A sample."""
        here = self.rate if self.rate_labelled is None else self.rate_labelled
        judge = self.judge_labelled or (self.sensitivity, self.specificity)
        human, answers = self._answered(rng, self.n, here, judge)
        _, others = self._answered(rng, self.m, self.rate, (self.sensitivity, self.specificity))
        judged = np.concatenate([answers, others])
        if self.scores:
            judged = (judged + rng.random(judged.size)) / 2.0
        groups = None
        if self.cluster > 1:
            here, there = np.arange(self.n), self.n + np.arange(self.m)
            groups = np.concatenate([here // self.cluster, there // self.cluster])
        weights = np.ones(judged.size)
        if self.weighted:
            weights[: self.n][answers > 0] /= self.preferred
        return JudgedRows(human, judged, weights, groups, 0.95)

    def _answered(
        self, rng: np.random.Generator, n: int, rate: float, judge: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Human labels and the judge's answers."""
        if self.preferred != 1.0 and n == self.n:
            many = self._plain(rng, 20 * n, rate, judge)
            weight = np.where(many[1] > 0, self.preferred, 1.0)
            chosen = rng.choice(20 * n, n, replace=False, p=weight / weight.sum())
            return many[0][chosen], many[1][chosen]
        return self._plain(rng, n, rate, judge)

    def _plain(
        self, rng: np.random.Generator, n: int, rate: float, judge: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same, without any choice of rows."""
        of = np.arange(n) // self.cluster
        # Rows of an alike cluster share their label, and the luck of the judge.
        shared = rng.random(n) < self.alike
        label = np.where(shared, rng.random(n)[of], rng.random(n)) < rate
        luck = np.where(shared, rng.random(n)[of], rng.random(n))
        answer = np.where(label, luck < judge[0], luck > judge[1])
        return label.astype(float), answer.astype(float)


def decided(rows: JudgedRows) -> JudgedRows:
    """The rows with scores turned into answers."""
    judged = (rows.judged >= 0.5).astype(float)
    return JudgedRows(rows.human, judged, rows.weights, rows.groups, rows.level)


def covered(
    world: JudgeWorld,
    method: Callable[[JudgedRows], Limits],
    truth: float,
    *,
    draws: int,
    seed: int = 0,
) -> tuple[float, float]:
    """The share of samples whose interval contains the truth, and the mean width."""
    rng, inside, width = np.random.default_rng(seed), [], []
    for _ in range(draws):
        found = method(world.rows(rng))
        # An estimate that does not exist says nothing, and excludes nothing.
        low, high = (0.0, 1.0) if found.value != found.value else (found.low, found.high)
        inside.append(low <= truth <= high)
        width.append(high - low)
    return float(np.mean(inside)), float(np.mean(width))
