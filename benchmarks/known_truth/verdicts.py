"""Verdicts and tests: how often they call right predictions wrong, and wrong ones wrong."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal

from .lines import measures_of
from .pairs import WORLDS
from .populations import drawn, samples_of

ALPHA = 0.05
MISCALIBRATED = "miscalibrated"
# Rows at which power is measured: each number is some 1.26 times the one before.
GRID = (400, 500, 640, 800, 1000, 1250, 1600, 2000, 2500, 3200, 4000, 5000, 6400)
TESTED = ("ece", "rmsce", "ace", "tace", "lin_ce", "classwise_ece", "classwise_ce", "ks_error",
          "ls_ece", "smooth_ece", "brier_miscalibration", "debiased_l2")  # fmt: skip


def false_alarms(world: str, n: int, reps: int, *, seed: int = 1) -> dict[str, float]:
    """How often p-values fall below 0.05 and verdicts say "miscalibrated" in a calibrated world."""
    population = WORLDS[world]
    hard = population.labels == "outcomes"
    names = [m.name for m in measures_of(population, TESTED)]
    alarms: dict[str, list[bool]] = {}
    for y, u, w, groups in samples_of(population, n, reps, seed):
        given: dict[str, Any] = {"sample_weight": w, "groups": groups}
        found = cal.evaluate(y, u, uncertainty=True, n_resamples=500, measures=names, **given)
        assert found.verdict is not None
        wrong = {e.name: e.noise_floor.p_value < ALPHA for e in found.estimates if e.noise_floor}
        wrong["verdict"] = found.verdict.verdict == MISCALIBRATED
        wrong["cox"] = cal.cox_calibration(y, u, **given).p_value < ALPHA
        if hard and groups is None:
            wrong["spiegelhalter"] = cal.spiegelhalter(y, u, sample_weight=w).p_value < ALPHA
            wrong["truthful"] = cal.truthful_test(y, u, sample_weight=w).p_value < ALPHA
            if w is None:
                wrong["hosmer-lemeshow"] = cal.hosmer_lemeshow(y, u).p_value < ALPHA
        for test, alarm in wrong.items():
            alarms.setdefault(test, []).append(bool(alarm))
    return {test: float(np.mean(wrong)) for test, wrong in alarms.items()}


class Power(NamedTuple):
    """The share of samples that are called miscalibrated, by the verdict and by Cox's test."""

    world: str
    rows: int
    reps: int
    verdict: float
    cox: float


def decisions(task: tuple[str, int, tuple[int, ...]]) -> list[tuple[bool, bool]]:
    """What the verdict and Cox's test decide on each sample of a task (world, rows, samples)."""
    warnings.simplefilter("ignore")
    world, n, reps = task
    out = []
    for rep in reps:
        sample = drawn(WORLDS[world], n, rep)
        given: dict[str, Any] = {"sample_weight": sample.w, "groups": sample.groups}
        verdict = cal.verdict(sample.y, sample.u, **given).verdict == MISCALIBRATED
        cox = cal.cox_calibration(sample.y, sample.u, **given).p_value < ALPHA
        out.append((verdict, bool(cox)))
    return out


def power_of(
    world: str, n: int, reps: int, *, jobs: int = 1, mapped: Callable[..., Iterable[Any]] = map
) -> Power:
    """The power of a verdict in a miscalibrated world, or its false alarms in a calibrated one."""
    tasks = [(world, n, tuple(range(job, reps, jobs))) for job in range(jobs)]
    found = [each for part in mapped(decisions, tasks) for each in part]
    verdict, cox = np.mean(found, axis=0)
    return Power(world, n, reps, float(verdict), float(cox))


def rows_for(power: Sequence[Power], test: str, share: float = 0.8) -> float:
    """The rows at which a test reaches a power, between two that were measured; nan if none does.

    Logits of shares are joined by straight lines over log rows, and made to rise.
    """
    shares = np.clip(np.maximum.accumulate([getattr(p, test) for p in power]), 0.005, 0.995)
    logits, x = np.log(shares / (1 - shares)), np.log([p.rows for p in power])
    goal = math.log(share / (1 - share))
    after = np.flatnonzero(logits >= goal)
    if not len(after):
        return math.nan
    at = int(after[0])
    if at == 0:
        return float(power[0].rows)
    step = (goal - logits[at - 1]) / (logits[at] - logits[at - 1])
    return float(np.exp(x[at - 1] + step * (x[at] - x[at - 1])))
