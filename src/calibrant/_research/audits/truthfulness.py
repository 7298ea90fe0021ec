"""Truthfulness: is there a misreport with a lower expectation than the truth?

A measure is truthful if predicting the true probabilities minimises its expectation, whatever they
are and at every n (Lu, Wu, Hartline and Hu). A misreport is any other prediction that a strategic
forecaster might make; a single one that wins refutes truthfulness. If none wins, that is no proof,
and the verdict gives the number of those tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._core.typing import Array
from calibrant._data.links import both_classes, softmax
from calibrant._research.audits.misreports import misreports
from calibrant._research.audits.subjects import NO_VALUES, CachedValues, Subject
from calibrant._research.audits.worlds import World, errors_of, worlds
from calibrant.results._audit import AuditVerdict

# Expectations summed over every outcome differ by rounding alone below this.
_ROUNDING = 1e-9
_STANDARD_ERRORS = 4.0
_SEARCH_STEPS = 60
# The search keeps probabilities away from 0.
_LOWEST = 1e-3
_FRESH = 1_000_003  # added to the seed for draws that no misreport was chosen on


@dataclass(frozen=True, eq=False)
class Duel:
    """The truth against one misreport in one world: which has the lower expected error?

    `truth_value` and `misreport_value` are their expected errors, and `standard_error` is that of
    the difference. `predictions` are those of the misreport.
    """

    world: World
    misreport: str
    predictions: Array
    truth_value: float
    misreport_value: float
    standard_error: float

    @property
    def gain(self) -> float:
        """The expected error of the truth less that of the misreport."""
        return self.truth_value - self.misreport_value

    @property
    def is_defined(self) -> bool:
        """Whether both expected errors are defined (not NaN)."""
        return not np.isnan(self.gain)

    @property
    def won(self) -> bool:
        """Whether the misreport beats the truth by more than rounding and chance explain."""
        scale = max(1.0, abs(self.truth_value))
        return self.gain > max(_STANDARD_ERRORS * self.standard_error, _ROUNDING * scale)


def truthfulness(subjects: Sequence[Subject], *, n_draws: int, seed: int) -> list[AuditVerdict]:
    """A verdict for each subject on whether a misreport has a lower expected error than the truth.

    Subjects are measures under test, all of one shape. In a world with too many outcomes to sum
    over, `n_draws` outcomes are drawn.
    """
    winners: dict[str, Duel] = {}
    tried, seen = {s.name: 0 for s in subjects}, {s.name: 0 for s in subjects}
    for world in worlds(subjects[0].shape) if subjects else ():
        left = [s for s in subjects if s.name not in winners]
        if world.weights is not None:
            left = [s for s in left if s.takes_weights]
        if not left:
            continue
        duels = _standard_duels(left, world, n_draws, seed)
        shared = CachedValues(left)
        for subject in left:
            own = duels[subject.name]
            n_judged = sum(duel.is_defined for duel in own)
            if world.searched and not any(duel.won for duel in own):
                own.append(_duel_by_search(subject, shared, world, seed))
                n_judged += _SEARCH_STEPS * own[-1].is_defined
            tried[subject.name] += n_judged
            seen[subject.name] += n_judged > 0
            best = max(own, key=lambda duel: duel.gain if duel.won else -np.inf)
            if best.won and _wins_again(subject, best, n_draws, seed):
                winners[subject.name] = best
    return [
        _verdict(s, winners.get(s.name), tried[s.name], seen[s.name], n_draws, seed)
        for s in subjects
    ]


def duel(
    subject: Subject, world: World, misreport: str, predictions: Array, *, n_draws: int, seed: int
) -> Duel:
    """Compare a misreport (its name, and its predictions) with the truth in one world.

    In a world that is not exact, expectations are means over `n_draws` drawn outcomes.
    """
    outcomes, chances = world.outcomes(n_draws, seed)
    truth = errors_of([subject], world.truth, outcomes, world.weights)[:, 0]
    strategic = errors_of([subject], predictions, outcomes, world.weights)[:, 0]
    return _duel_of_errors(world, misreport, predictions, truth, strategic, chances)


def _duel_of_errors(
    world: World,
    misreport: str,
    predictions: Array,
    truth: Array,
    strategic: Array,
    chances: Array,
) -> Duel:
    """The duel of a misreport with the truth, from their errors under each outcome, (outcomes,).

    `truth` and `strategic` are the errors of the truth and of the misreport, and `chances` the
    probabilities of the outcomes. In an exact world the standard error is 0.
    """
    error = 0.0
    if not world.exact:
        error = float(np.std(truth - strategic, ddof=1) / np.sqrt(len(chances)))
    expected = float(chances @ truth), float(chances @ strategic)
    return Duel(world, misreport, predictions, *expected, error)


def _standard_duels(
    subjects: Sequence[Subject], world: World, n_draws: int, seed: int
) -> dict[str, list[Duel]]:
    """The duels of every standard misreport with the truth in one world, by the subject's name."""
    outcomes, chances = world.outcomes(n_draws, seed)
    truth = errors_of(subjects, world.truth, outcomes, world.weights)
    out: dict[str, list[Duel]] = {s.name: [] for s in subjects}
    for name, predictions in misreports(world.truth, few=not world.exact):
        strategic = errors_of(subjects, predictions, outcomes, world.weights)
        for i, subject in enumerate(subjects):
            out[subject.name].append(
                _duel_of_errors(world, name, predictions, truth[:, i], strategic[:, i], chances)
            )
    return out


def _duel_by_search(subject: Subject, shared: CachedValues, world: World, seed: int) -> Duel:
    """Search an exact world for the best misreport, and give its duel with the truth."""
    outcomes, chances = world.outcomes(0, seed)

    def errors(predictions: Array) -> Array:
        """The subject's error for these predictions under each outcome, (outcomes,)."""
        found = [shared(subject, y, predictions, world.weights) for y in outcomes]
        return subject.error(np.array(found))

    def expected(predictions: Array) -> float:
        """The expected error of these predictions; infinite if it is not a finite number."""
        value = float(chances @ errors(predictions))
        return value if np.isfinite(value) else np.inf

    predictions = search_misreport(expected, world.truth, steps=_SEARCH_STEPS, seed=seed)
    truth, strategic = errors(world.truth), errors(predictions)
    return _duel_of_errors(world, "found by search", predictions, truth, strategic, chances)


def _wins_again(subject: Subject, best: Duel, n_draws: int, seed: int) -> bool:
    """Whether a misreport that was chosen because it won wins again on new draws.

    In an exact world, where nothing is drawn, this is true.
    """
    if best.world.exact:
        return True
    again = duel(
        subject, best.world, best.misreport, best.predictions, n_draws=n_draws, seed=seed + _FRESH
    )
    return again.won


def _verdict(
    subject: Subject, won: Duel | None, tried: int, n_worlds: int, n_draws: int, seed: int
) -> AuditVerdict:
    """The verdict on a subject's truthfulness; `won` is the duel that a misreport won, or None.

    `tried` is the number of misreports with defined values, over `n_worlds` worlds. The verdict is
    undecided if it is 0.
    """
    if won is None and not tried:
        return subject.verdict("truthful", None, NO_VALUES)
    if won is None:
        words = (
            f"no misreport beats the truth in {tried} tries over {n_worlds} worlds (not a proof)"
        )
        evidence: dict[str, float] = {"misreports_tried": tried, "worlds": n_worlds}
        return subject.verdict("truthful", True, words, evidence)
    # A score's expectation is shown as the score, not as its distance from the best.
    truth_value, value = subject.error(won.truth_value), subject.error(won.misreport_value)
    how = "exactly" if won.world.exact else f"over {n_draws} draws"
    witness: dict[str, Any] = {
        "world": won.world.name,
        "truth": won.world.truth.tolist(),
        "misreport": won.misreport,
        "predictions": won.predictions.tolist(),
        "exact": won.world.exact,
        "n_draws": n_draws,
        "seed": seed,
        "weights": None if won.world.weights is None else won.world.weights.tolist(),
    }
    words = (
        f"in the world '{won.world.name}' the misreport '{won.misreport}' has expectation "
        f"{value:.4g}, the truth {truth_value:.4g}, {how}"
    )
    evidence = {
        "truth": truth_value,
        "misreport": value,
        "standard_error": won.standard_error,
        "misreports_tried": tried,
    }
    return subject.verdict("truthful", False, words, evidence, witness)


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """Recompute the expected values of the truth and of the misreport in a witness.

    The keys are "truth", "misreport" and "standard_error" (of their difference).
    """
    weights = None if witness["weights"] is None else _as_array(witness["weights"])
    world = World(witness["world"], _as_array(witness["truth"]), witness["exact"], weights=weights)
    again = duel(
        subject,
        world,
        witness["misreport"],
        _as_array(witness["predictions"]),
        n_draws=witness["n_draws"],
        seed=witness["seed"],
    )
    return {
        "truth": subject.error(again.truth_value),
        "misreport": subject.error(again.misreport_value),
        "standard_error": again.standard_error,
    }


def _as_array(numbers: Any) -> Array:
    """Nested lists of numbers as an array of float64."""
    return np.asarray(numbers, dtype=np.float64)


# --- searching for a misreport ------------------------------------------------------------------


def search_misreport(
    expected: Callable[[Array], float], truth: Array, *, steps: int, seed: int
) -> Array:
    """The predictions with the lowest expected error that a random search of `steps` steps finds.

    `expected` computes the expected error of predictions. A step changes logits at random, by a
    size that grows after a success and shrinks after a failure; one step in four makes two rows
    equal. Half of the steps start from `truth` with a small size, half with a large one.
    """
    rng = np.random.default_rng(seed)
    best: Array | None = None
    lowest = np.inf
    for size in (0.1, 2.0):
        at, here = truth, np.inf
        for _ in range(steps // 2):
            tried = _pool_two_rows(at, rng) if rng.random() < 0.25 else _random_step(at, size, rng)
            value = expected(tried)
            if value < here:
                at, here, size = tried, value, min(size * 1.5, 3.0)
            else:
                size = max(size * 0.85, 1e-3)
            if value < lowest and not np.array_equal(tried, truth):
                best, lowest = tried, value
    return truth if best is None else best


def _random_step(predictions: Array, size: float, rng: np.random.Generator) -> Array:
    """Add normal noise of scale `size` to the log-probabilities of one random row, or of all rows.

    Each case has probability 1/2. The result has the shape of `predictions`.
    """
    rows = both_classes(predictions)
    # One row or all of them.
    which = np.ones(len(rows)) if rng.random() < 0.5 else np.eye(len(rows))[rng.integers(len(rows))]
    moved = np.log(np.maximum(rows, _LOWEST))
    moved = moved + size * which[:, None] * rng.normal(size=rows.shape)
    out = np.maximum(softmax(moved), _LOWEST)
    out /= out.sum(axis=1, keepdims=True)
    return out[:, 1] if predictions.ndim == 1 else out


def _pool_two_rows(predictions: Array, rng: np.random.Generator) -> Array:
    """Replace two random rows of the predictions by their mean."""
    i, j = rng.choice(len(predictions), 2, replace=False)
    out = predictions.copy()
    out[[i, j]] = (predictions[i] + predictions[j]) / 2
    return out
