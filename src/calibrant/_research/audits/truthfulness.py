"""Truthfulness: is there a lie with a lower expectation than the truth?

A measure is truthful if reporting the true probabilities minimises its expectation, whatever they
are and at every n (Lu, Wu, Hartline and Hu). One lie that wins refutes that for good. That none
was found proves nothing, but says how many were tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._research.audits.misreports import misreports
from calibrant._research.audits.search import search
from calibrant._research.audits.subjects import Array, Subject
from calibrant._research.audits.worlds import World, errors_of, worlds
from calibrant.results._audit import AuditVerdict

# Expectations summed over every outcome differ by rounding alone below this.
_ROUNDING = 1e-9
_STANDARD_ERRORS = 4.0
_SEARCH_STEPS = 60
_FRESH = 1_000_003  # added to the seed for draws that a lie was not chosen on


@dataclass(frozen=True, eq=False)
class Duel:
    """The expected errors of the truth and of a lie, with the standard error of the difference."""

    world: World
    lie: str
    predictions: Array
    truth_value: float
    lie_value: float
    standard_error: float

    @property
    def gain(self) -> float:
        return self.truth_value - self.lie_value

    @property
    def won(self) -> bool:
        """Whether the lie beats the truth by more than rounding or chance can explain."""
        scale = max(1.0, abs(self.truth_value))
        return self.gain > max(_STANDARD_ERRORS * self.standard_error, _ROUNDING * scale)


def truthfulness(subjects: Sequence[Subject], *, n_draws: int, seed: int) -> list[AuditVerdict]:
    """A verdict for each subject, all of one shape."""
    winners: dict[str, Duel] = {}
    tried, seen = {s.name: 0 for s in subjects}, {s.name: 0 for s in subjects}
    for world in worlds(subjects[0].shape) if subjects else ():
        left = [s for s in subjects if s.name not in winners]
        if world.weights is not None:
            left = [s for s in left if s.takes_weights]
        if not left:
            continue
        duels = _canned(left, world, n_draws, seed)
        for subject in left:
            found = duels[subject.name]
            tried[subject.name] += len(found)
            seen[subject.name] += 1
            if world.searched and not any(duel.won for duel in found):
                found.append(_searched(subject, world, seed))
                tried[subject.name] += _SEARCH_STEPS
            best = max(found, key=lambda duel: duel.gain if duel.won else -np.inf)
            if best.won and _stands(subject, best, n_draws, seed):
                winners[subject.name] = best
    return [_verdict(s, winners.get(s.name), tried[s.name], seen[s.name], n_draws, seed)
            for s in subjects]  # fmt: skip


def duel(
    subject: Subject, world: World, lie: str, predictions: Array, *, n_draws: int, seed: int
) -> Duel:
    """One lie against the truth in one world."""
    outcomes, chances = world.outcomes(n_draws, seed)
    truth = errors_of([subject], world.truth, outcomes, world.weights)[:, 0]
    told = errors_of([subject], predictions, outcomes, world.weights)[:, 0]
    return _duel(world, lie, predictions, truth, told, chances)


def _duel(
    world: World, lie: str, predictions: Array, truth: Array, told: Array, chances: Array
) -> Duel:
    error = 0.0
    if not world.exact:
        error = float(np.std(truth - told, ddof=1) / np.sqrt(len(chances)))
    return Duel(world, lie, predictions, float(chances @ truth), float(chances @ told), error)


def _canned(
    subjects: Sequence[Subject], world: World, n_draws: int, seed: int
) -> dict[str, list[Duel]]:
    outcomes, chances = world.outcomes(n_draws, seed)
    truth = errors_of(subjects, world.truth, outcomes, world.weights)
    out: dict[str, list[Duel]] = {s.name: [] for s in subjects}
    for name, predictions in misreports(world.truth, few=not world.exact):
        told = errors_of(subjects, predictions, outcomes, world.weights)
        for i, subject in enumerate(subjects):
            found = _duel(world, name, predictions, truth[:, i], told[:, i], chances)
            out[subject.name].append(found)
    return out


def _searched(subject: Subject, world: World, seed: int) -> Duel:
    outcomes, chances = world.outcomes(0, seed)

    def expected(predictions: Array) -> float:
        value = float(chances @ errors_of([subject], predictions, outcomes, world.weights)[:, 0])
        return value if np.isfinite(value) else np.inf

    predictions = search(expected, world.truth, steps=_SEARCH_STEPS, seed=seed)
    truth = errors_of([subject], world.truth, outcomes, world.weights)[:, 0]
    told = errors_of([subject], predictions, outcomes, world.weights)[:, 0]
    return _duel(world, "found by search", predictions, truth, told, chances)


def _stands(subject: Subject, found: Duel, n_draws: int, seed: int) -> bool:
    """A lie chosen for its luck in some draws must win in others too."""
    if found.world.exact:
        return True
    again = duel(
        subject, found.world, found.lie, found.predictions, n_draws=n_draws, seed=seed + _FRESH
    )
    return again.won


def _verdict(
    subject: Subject, won: Duel | None, tried: int, n_worlds: int, n_draws: int, seed: int
) -> AuditVerdict:
    claim = subject.claim("truthful")
    shared = {"measure": subject.name, "shape": subject.shape, "property": "truthful"}
    if won is None:
        return AuditVerdict(
            **shared, holds=True, claim=claim, evidence={"lies_tried": tried, "worlds": n_worlds},
            witness=None,
            sentence=f"no lie found in {tried} tries over {n_worlds} worlds (not a proof)",
        )  # fmt: skip
    # A score's expectation is shown as the score, not as its distance from the best.
    truth_value, lie_value = subject.error(won.truth_value), subject.error(won.lie_value)
    how = "exactly" if won.world.exact else f"over {n_draws} draws"
    witness: dict[str, Any] = {
        "world": won.world.name, "truth": won.world.truth.tolist(), "lie": won.lie,
        "predictions": won.predictions.tolist(), "exact": won.world.exact,
        "n_draws": n_draws, "seed": seed,
        "weights": None if won.world.weights is None else won.world.weights.tolist(),
    }  # fmt: skip
    return AuditVerdict(
        **shared, holds=False, claim=claim, witness=witness,
        evidence={"truth": truth_value, "lie": lie_value, "standard_error": won.standard_error,
                  "lies_tried": tried},
        sentence=f"in the world '{won.world.name}' the lie '{won.lie}' has expectation "
                 f"{lie_value:.4g}, the truth {truth_value:.4g}, {how}",
    )  # fmt: skip


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """The two expectations of a witness, computed again."""
    weights = None if witness["weights"] is None else _array(witness["weights"])
    world = World(witness["world"], _array(witness["truth"]), witness["exact"], weights=weights)
    found = duel(
        subject, world, witness["lie"], _array(witness["predictions"]),
        n_draws=witness["n_draws"], seed=witness["seed"],
    )  # fmt: skip
    return {
        "truth": subject.error(found.truth_value),
        "lie": subject.error(found.lie_value),
        "standard_error": found.standard_error,
    }


def _array(numbers: Any) -> Array:
    return np.asarray(numbers, dtype=np.float64)
