"""Completeness and soundness: what a measure tends to as rows are added.

Complete: it tends to 0 (a score: to its best) for calibrated predictors. Sound: for the others it
stays above what calibrated ones tend to, which for a complete measure is 0 (Lu, Wu, Hartline and
Hu, section 2). Limits are taken along a sequence of rules: n^(1/3) bins, so that bins grow in
number while each still fills, and noise of n^(-1/3) for the logit-smoothed error.

A subject is a measure under test (see `subjects`). A population is a predictor with known true
probabilities (see `populations`); it is broken if it is not calibrated. The twin of a broken
population has the same predictions, with labels drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant._core.typing import Array
from calibrant._research.audits.populations import Population, populations
from calibrant._research.audits.subjects import Subject, limit_values
from calibrant._research.audits.worlds import draw_labels
from calibrant.results._audit import AuditVerdict

SIZES = (125, 1_000, 8_000, 64_000)
# Means of small samples need more draws, which cost less. The smallest size gets few: it is shown
# beside the others, and a limit hardly ever depends on it.
_REPEATS = (6, 12, 8, 5)
_TWINS = 4
# Where the slope is too uncertain, draws are added until there are this many times as many. (Not
# in steps: a slope that is looked at again and again is at some time found to be what it is not.)
_MORE = 10
# Along the rules used here errors that vanish fall like n^(-1/3) or faster, up to logarithms; one
# that falls more slowly than this between the last two sizes has a positive limit.
_VANISHES = -0.2
_STANDARD_ERRORS = 2.0
# At the largest size: a value up to the first multiple of the twin's vanishes as that does, and one
# above the second has a positive limit.
_LIKE_TWIN = 1.4
_UNLIKE_TWIN = 2.0
# Below this share of the measure's largest value, a value counts as 0: predictions of 0 and 1 are
# clipped by a millionth before they become logits.
_NOTHING = 1e-5


def limits(
    subjects: Sequence[Subject], properties: Sequence[str], *, seed: int
) -> list[AuditVerdict]:
    """Verdicts on completeness, soundness or both for subjects (measures) of one shape.

    `properties` has "complete", "sound" or both; a subject gets a verdict on each that applies to
    it.
    """
    by_name = _curves(subjects, seed)
    verdicts = []
    for subject in subjects:
        calibrated = [c for c in by_name[subject.name] if not c.population.broken]
        others = [c for c in by_name[subject.name] if c.population.broken]
        if "complete" in properties and subject.applies("complete"):
            verdicts.append(_completeness(subject, calibrated, seed))
        if "sound" in properties and subject.applies("sound"):
            verdicts.append(_soundness(subject, calibrated, others, seed))
    return verdicts


def _completeness(subject: Subject, calibrated: list[Curve], seed: int) -> AuditVerdict:
    """The verdict on whether a measure tends to 0 on every calibrated population.

    `calibrated` are the measure's curves (mean values at growing sample sizes) on these
    populations. The curve with the strongest evidence against it decides; `holds` is None if that
    is undecided.
    """
    worst = max(calibrated, key=_completeness_key)
    name, last = worst.population.name, subject.error(worst.values[-1])
    if np.isnan(worst.limit):
        holds = None
        words = f"{len(worst.sizes)} sample sizes do not decide whether it tends to 0 on '{name}'"
    elif worst.limit == 0.0:
        holds = True
        falls = f"falls at least as fast as n^{worst.slope:.2f}"
        rate = falls if np.isfinite(worst.slope) else "is 0"
        words = f"it {rate} on {len(calibrated)} calibrated populations"
    else:
        holds, words = False, f"it stays at {last:.4g} on '{name}'"
    return _verdict(subject, "complete", holds, worst, words, seed)


def _soundness(
    subject: Subject, calibrated: list[Curve], others: list[Curve], seed: int
) -> AuditVerdict:
    """The verdict on whether miscalibrated populations get higher limits than calibrated ones.

    `calibrated` and `others` are the measure's curves on calibrated and on miscalibrated
    populations. If the measure tends to 0 on calibrated ones, each other curve is compared with its
    own twin (the same predictions, made calibrated); if not, with the worst calibrated population.
    """
    worst = max(calibrated, key=_completeness_key)
    complete = worst.limit == 0.0
    tends = [curve.limit_beside_twin if complete else curve.limit for curve in others]
    # One population that it does not detect refutes soundness; an undecided one counts next.
    index = min(range(len(tends)), key=lambda i: _soundness_key(tends[i], worst.limit))
    lowest, limit = others[index], tends[index]
    name, last = lowest.population.name, subject.error(lowest.values[-1])
    if np.isnan(limit) or np.isnan(worst.limit):
        holds, words = None, f"{len(lowest.sizes)} sample sizes do not decide its limit on '{name}'"
    elif limit > worst.limit:
        holds = True
        words = f"it stays at {last:.4g} or more on {len(others)} miscalibrated populations"
    elif complete:
        holds, words = False, f"it tends to 0 on '{name}', as on calibrated predictions"
    else:
        most = subject.error(worst.values[-1])
        holds = False
        words = f"it is {last:.4g} on '{name}' and {most:.4g} on '{worst.population.name}'"
    return _verdict(subject, "sound", holds, lowest, words, seed)


def _soundness_key(limit: float, calibrated_limit: float) -> tuple[int, float]:
    """Sort key of a miscalibrated population's limit: strongest evidence against soundness first.

    Limits up to `calibrated_limit`, the largest limit of a calibrated population, come first; then
    undecided ones (NaN); then higher ones.
    """
    if np.isnan(limit):
        return 1, 0.0
    return (0 if limit <= calibrated_limit else 2), limit


def _completeness_key(curve: Curve) -> tuple[int, float]:
    """Sort key of a calibrated population's curve: strongest evidence against completeness last.

    A limit of 0 comes first, an undecided one (NaN) next, and a positive one, which refutes
    completeness, last.
    """
    if curve.limit == 0.0:
        return 0, curve.slope
    return (1, 0.0) if np.isnan(curve.limit) else (2, abs(curve.limit))


def _verdict(
    subject: Subject, property_name: str, holds: bool | None, curve: Curve, words: str, seed: int
) -> AuditVerdict:
    """The verdict on a property, with the curve's values by sample size as its evidence.

    `words` state the reason, and the witness has what `replay` needs.
    """
    shown = [float(subject.error(value)) for value in curve.values]
    evidence = {f"at {n}": value for n, value in zip(curve.sizes, shown, strict=True)}
    witness = {"population": curve.population.name, "seed": seed, "more": curve.more}
    return subject.verdict(property_name, holds, words, evidence, witness)


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """Recompute the mean errors of a witness, under keys "at n" for every sample size n.

    `witness` is that of a verdict on completeness or soundness.
    """
    for number, population in enumerate(populations(subject.shape)):
        if population.name == witness["population"]:
            drawn = _SampledErrors(population, number, witness["seed"])
            drawn.add([subject], witness["more"])
            means, _ = drawn.means([subject])
            pairs = zip(SIZES[: len(means)], means[:, 0], strict=True)
            return {f"at {n}": float(subject.error(value)) for n, value in pairs}
    raise KeyError(witness["population"])


# --- curves: mean values at growing sizes of a population, and what they tend to ------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """A measure's mean values on one population, at each of the first `SIZES` (numbers of rows).

    `errors` are the standard errors of these means, `more` is the factor by which the usual number
    of samples was multiplied, and `scale` is the largest value of the measure. `twin` is the mean
    value at the last of these sizes on the population's twin (the same predictions with labels
    drawn from them), NaN for a calibrated population.
    """

    population: Population
    values: Array
    errors: Array
    twin: float = np.nan
    more: int = 1
    scale: float = 1.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sample sizes (numbers of rows) that have a value."""
        return SIZES[: len(self.values)]

    @property
    def zero_threshold(self) -> float:
        """The threshold below which a value counts as 0."""
        return _NOTHING * self.scale

    @property
    def vanished(self) -> bool:
        """Whether the value at the largest size counts as 0."""
        return bool(np.isfinite(self.values[-1]) and abs(self.values[-1]) <= self.zero_threshold)

    @property
    def slope(self) -> float:
        """The exponent b of values ~ n^b between the last two sizes; see `_slope`."""
        return self._slope(2)[0]

    def _slope(self, over: int) -> tuple[float, float]:
        """The exponent b of values ~ n^b over the last `over` sizes, and its standard error.

        The exponent is -inf if the last value counts as 0, and NaN if an end value is not positive.
        """
        if self.vanished:
            return -np.inf, 0.0
        ends = [-over, -1]
        if not (self.values[ends] > 0).all():
            return np.nan, 0.0
        apart = np.log(self.sizes[-1] / self.sizes[-over])
        relative = self.errors[ends] / self.values[ends]
        ratio = np.log(self.values[-1] / self.values[-over])
        return float(ratio / apart), float(np.sqrt((relative**2).sum()) / apart)

    @property
    def limit(self) -> float:
        """The limit of the values as n grows: 0, or the last value; NaN if it is undecided."""
        if self.vanished:
            return 0.0
        last = float(self.values[-1])
        if np.isnan(self.slope):  # one of the last two values is not above 0, or not a number
            noise = _STANDARD_ERRORS * self.errors[-1]
            return 0.0 if abs(last) <= noise else last
        # Over two steps a slope is more certain than over one, but shows less of a positive limit.
        for over in (2, 3):
            slope, error = self._slope(over)
            if slope + _STANDARD_ERRORS * error < _VANISHES:
                return 0.0
            if slope - _STANDARD_ERRORS * error > _VANISHES:
                return last
        return np.nan

    @property
    def limit_beside_twin(self) -> float:
        """The limit of the values as n grows, judged by the twin's: 0, the last value, or NaN.

        The measure must vanish on the twin, a calibrated population with the same predictions.
        Values that vanish too end near the twin's, even where noise still hides the limit. NaN
        means undecided.
        """
        last = float(self.values[-1])
        if last <= _LIKE_TWIN * max(self.twin, self.zero_threshold):
            return 0.0
        return last if last > _UNLIKE_TWIN * self.twin else np.nan


def _curves(subjects: Sequence[Subject], seed: int) -> dict[str, list[Curve]]:
    """Each subject's curves by its name, one curve for each population relevant to the subject.

    A curve holds mean values at growing sample sizes. On a calibrated population with an undecided
    limit, more samples are drawn.
    """
    out: dict[str, list[Curve]] = {s.name: [] for s in subjects}
    for number, population in enumerate(populations(subjects[0].shape) if subjects else ()):
        fit = [s for s in subjects if _is_relevant(population, s)]
        if not fit:
            continue
        drawn = _SampledErrors(population, number, seed)
        drawn.add(fit)
        means, errors = drawn.means(fit)
        twins = np.full(len(fit), np.nan)
        if population.broken:
            rng = np.random.default_rng([seed, number, len(means) - 1])
            drawn_twins = _errors_of_draws(fit, population, len(means) - 1, rng, _TWINS, twin=True)
            twins = drawn_twins.mean(axis=0)
        found = [
            Curve(population, means[:, i], errors[:, i], float(twins[i])) for i in range(len(fit))
        ]
        # A value that is not a number stays one with more draws.
        unsure = [i for i, c in enumerate(found) if np.isnan(c.limit) and np.isfinite(c.values[-1])]
        if unsure and not population.broken:
            left = [fit[i] for i in unsure]  # they share the draws
            drawn.add(left, _MORE)
            means, errors = drawn.means(left)
            for column, i in enumerate(unsure):
                found[i] = replace(
                    found[i], values=means[:, column], errors=errors[:, column], more=_MORE
                )
        for subject, curve in zip(fit, found, strict=True):
            out[subject.name].append(curve)
    return {name: _with_common_scale(own) for name, own in out.items()}


def _is_relevant(population: Population, subject: Subject) -> bool:
    """Whether a population is relevant to a subject's completeness or soundness.

    A weighted population needs a subject that takes weights. A miscalibrated (`broken`) one needs a
    subject to which soundness applies, and whose notion of calibration (such as "classwise") it
    violates.
    """
    if population.weighted and not subject.takes_weights:
        return False
    if not population.broken:
        return True
    return subject.notion in population.broken and subject.applies("sound")


def _with_common_scale(unscaled: list[Curve]) -> list[Curve]:
    """The curves of one subject, their `scale` set to the largest absolute value of all of them."""
    sizes = [np.nanmax(np.abs(c.values), initial=0.0) for c in unscaled]
    scale = float(max(sizes, default=1.0))
    return [replace(curve, scale=scale) for curve in unscaled]


class _SampledErrors:
    """Random samples of one population, and the errors of subjects (measures) on them.

    `number` is the index of the population; together with `seed` it determines the samples. Each
    call of `add` continues the same sequence of random numbers.
    """

    def __init__(self, population: Population, number: int, seed: int) -> None:
        # A miscalibrated population differs from its twin long before the largest size.
        self._repeats = _REPEATS[:-1] if population.broken else _REPEATS
        self._population, self._times = population, 0
        self._rngs = [np.random.default_rng([seed, number, i]) for i in range(len(self._repeats))]
        # For each subject by name: an array of the errors in its samples, for each size.
        self._errors: dict[str, list[Array]] = {}

    def add(self, subjects: Sequence[Subject], times: int = 1) -> None:
        """Draw samples until each size has `times` times its usual number (`_REPEATS`).

        The new samples are evaluated for `subjects` alone.
        """
        for size, repeats in enumerate(self._repeats):
            more = repeats * (times - self._times)
            rows = _errors_of_draws(subjects, self._population, size, self._rngs[size], more)
            for subject, column in zip(subjects, rows.T, strict=True):
                sizes = self._errors.setdefault(subject.name, [np.empty(0)] * len(self._repeats))
                sizes[size] = np.concatenate([sizes[size], column])
        self._times = times

    def means(self, subjects: Sequence[Subject]) -> tuple[Array, Array]:
        """Mean errors and their standard errors, two arrays of shape (sizes, subjects)."""
        means, errors = np.empty((2, len(self._repeats), len(subjects)))
        for i, subject in enumerate(subjects):
            for size, column in enumerate(self._errors[subject.name]):
                means[size, i] = column.mean()
                errors[size, i] = column.std(ddof=1) / np.sqrt(len(column))
        return means, errors


def _errors_of_draws(
    subjects: Sequence[Subject],
    population: Population,
    size: int,
    rng: np.random.Generator,
    repeats: int,
    *,
    twin: bool = False,
) -> Array:
    """The error of each subject on each of `repeats` random samples, (repeats, subjects).

    `size` is an index into `SIZES`, the numbers of rows. Labels are drawn from the true
    probabilities; with `twin`, from the predictions, which are then calibrated.
    """
    drawn = np.empty((repeats, len(subjects)))
    for row in range(repeats):
        predictions, truth, *weights = population.draw(rng, SIZES[size])
        labels = draw_labels(predictions if twin else truth, rng)
        drawn[row] = limit_values(subjects, labels, predictions, weights[0] if weights else None)
    return np.stack([s.error(drawn[:, i]) for i, s in enumerate(subjects)], axis=1)
