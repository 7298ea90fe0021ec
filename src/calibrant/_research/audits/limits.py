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

from calibrant._research.audits.populations import Population, populations
from calibrant._research.audits.subjects import Array, Subject, limit_values
from calibrant._research.audits.worlds import draw_labels
from calibrant.results._audit import AuditVerdict

SIZES = (125, 1_000, 8_000, 64_000)
# Means of small samples need more draws, and cost less; but of the smallest, which is there to be
# seen beside the others, a limit hardly ever depends.
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


def limits(subjects: Sequence[Subject], what: Sequence[str], *, seed: int) -> list[AuditVerdict]:
    """Verdicts on completeness, soundness or both for subjects of one shape.

    `what` has "complete", "sound" or both; a subject gets a verdict on each that applies to it.
    """
    by_name = _curves(subjects, seed)
    verdicts = []
    for subject in subjects:
        calibrated = [c for c in by_name[subject.name] if not c.population.broken]
        others = [c for c in by_name[subject.name] if c.population.broken]
        if "complete" in what and subject.applies("complete"):
            verdicts.append(_completeness(subject, calibrated, seed))
        if "sound" in what and subject.applies("sound"):
            verdicts.append(_soundness(subject, calibrated, others, seed))
    return verdicts


def _completeness(subject: Subject, calibrated: list[Curve], seed: int) -> AuditVerdict:
    """The verdict on whether a measure vanishes on every calibrated population.

    It goes by the curve that speaks most against it, and is undecided (None) if that curve is.
    """
    worst = max(calibrated, key=_evidence_against)
    name, last = worst.population.name, subject.error(worst.values[-1])
    if np.isnan(worst.limit):
        holds = None
        words = f"{len(worst.sizes)} sizes do not decide whether it vanishes on '{name}'"
    elif worst.limit == 0.0:
        holds = True
        rate = f"falls at least like n^{worst.slope:.2f}" if np.isfinite(worst.slope) else "is 0"
        words = f"it {rate} on {len(calibrated)} calibrated ones"
    else:
        holds, words = False, f"it stays at {last:.4g} on '{name}'"
    return _verdict(subject, "complete", holds, worst, words, seed)


def _soundness(
    subject: Subject, calibrated: list[Curve], others: list[Curve], seed: int
) -> AuditVerdict:
    """The verdict on whether a measure stays above its limit on calibrated populations.

    `others` are the curves of miscalibrated populations. If the measure tends to 0 on calibrated
    ones, each is compared with its own twin, or else with the calibrated population that is worst.
    """
    worst = max(calibrated, key=_evidence_against)
    complete = worst.limit == 0.0
    tends = [curve.limit_beside_twin if complete else curve.limit for curve in others]
    # One population that it does not detect refutes soundness; an undecided one counts next.
    index = min(range(len(tends)), key=lambda i: _order(tends[i], worst.limit))
    lowest, limit = others[index], tends[index]
    name, last = lowest.population.name, subject.error(lowest.values[-1])
    if np.isnan(limit) or np.isnan(worst.limit):
        holds, words = None, f"{len(lowest.sizes)} sizes do not decide what it tends to on '{name}'"
    elif limit > worst.limit:
        holds, words = True, f"it stays at {last:.4g} or more on {len(others)} miscalibrated ones"
    elif complete:
        holds, words = False, f"it vanishes on '{name}' as on calibrated predictions"
    else:
        most = subject.error(worst.values[-1])
        holds = False
        words = f"it is {last:.4g} on '{name}' and {most:.4g} on '{worst.population.name}'"
    return _verdict(subject, "sound", holds, lowest, words, seed)


def _order(limit: float, calibrated: float) -> tuple[int, float]:
    """The evidence of a miscalibrated population against soundness, for sorting: strongest first.

    Limits that are no higher than `calibrated` come first, undecided (NaN) ones next, then the
    rest.
    """
    if np.isnan(limit):
        return 1, 0.0
    return (0 if limit <= calibrated else 2), limit


def _evidence_against(curve: Curve) -> tuple[int, float]:
    """The evidence of a calibrated population against completeness, for sorting: strongest last.

    A positive limit refutes completeness; an undecided one counts next.
    """
    if curve.limit == 0.0:
        return 0, curve.slope
    return (1, 0.0) if np.isnan(curve.limit) else (2, abs(curve.limit))


def _verdict(
    subject: Subject, what: str, holds: bool | None, curve: Curve, words: str, seed: int
) -> AuditVerdict:
    """The verdict in words, with a curve's values as evidence; its witness is for `replay`."""
    shown = [float(subject.error(value)) for value in curve.values]
    evidence = {f"at {n}": value for n, value in zip(curve.sizes, shown, strict=True)}
    witness = {"population": curve.population.name, "seed": seed, "more": curve.more}
    return subject.verdict(what, holds, words, evidence, witness)


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """The mean errors of a witness, computed again, as "at n" for every number of rows n.

    `witness` is that of a verdict on completeness or soundness.
    """
    for number, population in enumerate(populations(subject.shape)):
        if population.name == witness["population"]:
            drawn = _Draws(population, number, witness["seed"])
            drawn.add([subject], witness["more"])
            means, _ = drawn.means([subject])
            pairs = zip(SIZES[: len(means)], means[:, 0], strict=True)
            return {f"at {n}": float(subject.error(value)) for n, value in pairs}
    raise KeyError(witness["population"])


# --- curves: mean values at growing sizes of a population, and what they tend to ------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean errors of one population at the first of `SIZES`, and of its twin at the last of these.

    `errors` are the standard errors of the means, `more` says how many times as many draws as usual
    were taken, and `scale` is the largest value of the measure. `twin` is NaN for a calibrated
    population.
    """

    population: Population
    values: Array
    errors: Array
    twin: float = np.nan
    more: int = 1
    scale: float = 1.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of rows at which there are values."""
        return SIZES[: len(self.values)]

    @property
    def nothing(self) -> float:
        """The size below which a value counts as 0."""
        return _NOTHING * self.scale

    @property
    def vanished(self) -> bool:
        """Whether the last value is 0, up to rounding."""
        return bool(np.isfinite(self.values[-1]) and abs(self.values[-1]) <= self.nothing)

    @property
    def slope(self) -> float:
        """The power of n that the values follow between the last two sizes; see `_slope`."""
        return self._slope(2)[0]

    def _slope(self, over: int) -> tuple[float, float]:
        """The power of n that the values follow over the last `over` sizes, and its standard error.

        The power is -inf if the last value is 0, and NaN if either end is not above 0.
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
        """What the values tend to: 0, or the last value; NaN where the sizes do not decide."""
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
        """What the values tend to, for a measure that vanishes on the twin: 0 or the last value.

        Noise hides the limit for long, but values that vanish end where those of the twin do. NaN
        says that the sizes do not decide.
        """
        last = float(self.values[-1])
        if last <= _LIKE_TWIN * max(self.twin, self.nothing):
            return 0.0
        return last if last > _UNLIKE_TWIN * self.twin else np.nan


def _curves(subjects: Sequence[Subject], seed: int) -> dict[str, list[Curve]]:
    """Each subject's curves, by its name, over the populations that tell something of it.

    If a limit is undecided on a calibrated population, more draws are taken.
    """
    out: dict[str, list[Curve]] = {s.name: [] for s in subjects}
    for number, population in enumerate(populations(subjects[0].shape) if subjects else ()):
        fit = [s for s in subjects if _is_about(population, s)]
        if not fit:
            continue
        drawn = _Draws(population, number, seed)
        drawn.add(fit)
        means, errors = drawn.means(fit)
        twins = np.full(len(fit), np.nan)
        if population.broken:
            rng = np.random.default_rng([seed, number, len(means) - 1])
            twins = _errors_of_draws(fit, population, len(means) - 1, rng, _TWINS, twin=True).mean(
                0
            )
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
    return {name: _scaled(own) for name, own in out.items()}


def _is_about(population: Population, subject: Subject) -> bool:
    """Whether a subject's values on a population count.

    Weighted populations need a subject that takes weights. A broken one needs a subject to which
    soundness applies, and whose notion of calibration (such as "classwise") is one that it fails.
    """
    if population.weighted and not subject.takes_weights:
        return False
    if not population.broken:
        return True
    return subject.notion in population.broken and subject.applies("sound")


def _scaled(unscaled: list[Curve]) -> list[Curve]:
    """The curves of one subject, with the largest absolute value of all of them as their scale."""
    sizes = [np.nanmax(np.abs(c.values), initial=0.0) for c in unscaled]
    scale = float(max(sizes, default=1.0))
    return [replace(curve, scale=scale) for curve in unscaled]


class _Draws:
    """Samples of one population and the errors of subjects in them.

    `number` is that of the population; it and the seed decide on the samples. Adding goes on where
    the last sample ended.
    """

    def __init__(self, population: Population, number: int, seed: int) -> None:
        # A miscalibrated population differs from its twin long before the largest size.
        self._repeats = _REPEATS[:-1] if population.broken else _REPEATS
        self._population, self._times = population, 0
        self._rngs = [np.random.default_rng([seed, number, i]) for i in range(len(self._repeats))]
        # For each subject by name: an array of the errors in its samples, for each size.
        self._errors: dict[str, list[Array]] = {}

    def add(self, subjects: Sequence[Subject], times: int = 1) -> None:
        """Draw until there are `times` as many samples of each size as `_REPEATS` says.

        Errors of the new samples are computed for these subjects alone.
        """
        for size, repeats in enumerate(self._repeats):
            more = repeats * (times - self._times)
            rows = _errors_of_draws(subjects, self._population, size, self._rngs[size], more)
            for subject, column in zip(subjects, rows.T, strict=True):
                sizes = self._errors.setdefault(subject.name, [np.empty(0)] * len(self._repeats))
                sizes[size] = np.concatenate([sizes[size], column])
        self._times = times

    def means(self, subjects: Sequence[Subject]) -> tuple[Array, Array]:
        """Mean errors and their standard errors, a row per size and a column per subject."""
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
    """The error of each subject (columns) in each of `repeats` samples (rows).

    A sample has ``SIZES[size]`` rows. Labels are drawn from the truth, or for a `twin` from the
    predictions, which are then calibrated.
    """
    drawn = np.empty((repeats, len(subjects)))
    for row in range(repeats):
        predictions, truth, *weights = population.draw(rng, SIZES[size])
        labels = draw_labels(predictions if twin else truth, rng)
        drawn[row] = limit_values(subjects, labels, predictions, weights[0] if weights else None)
    return np.stack([s.error(drawn[:, i]) for i, s in enumerate(subjects)], axis=1)
