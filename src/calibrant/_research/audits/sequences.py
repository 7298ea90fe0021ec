"""Forecasters who see the outcomes of earlier rows: can they beat the true probabilities?

Truthful errors reward the truth among predictions that are made before any outcome. A predictor
that sees earlier outcomes can compensate for them: predict too much after an event that was not
expected, so that sums agree. The best strategy, a prediction for each history of a small world, is
searched by optimisation, and its expectation is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._core.typing import Array
from calibrant._research.audits.subjects import NO_VALUES, Subject
from calibrant._research.audits.worlds import World, errors_of
from calibrant.results._audit import AuditVerdict

# The predictions that are tried for a history, how often all histories are gone through, and what
# rounding can explain.
_TRIED = np.linspace(0.0, 1.0, 21)
_SWEEPS = 3
_ROUNDING = 1e-9
_WORLD = World("three rows in sequence", np.array([0.3, 0.5, 0.8]))

# The outcomes of the rows before, "" for the first row, and the prediction that follows.
Strategy = dict[str, float]


def sequences(subjects: Sequence[Subject]) -> list[AuditVerdict]:
    """A verdict for each subject, all of (n,) predictions: whether no strategy that sees the
    outcomes of earlier rows was found that has a lower expected error than the truth.
    """
    return [_verdict(subject) for subject in subjects]


def _verdict(subject: Subject) -> AuditVerdict:
    """The verdict on one subject."""
    plain = _truthful_strategy(_WORLD.truth)
    truth = _expected(subject, _WORLD, plain)
    if not np.isfinite(truth):
        return subject.verdict("sequential", None, NO_VALUES)
    strategy, value = _search(subject, _WORLD, plain)
    evidence = {"truth": subject.error(truth), "cheat": subject.error(value)}
    if truth - value <= _ROUNDING * max(1.0, abs(truth)):
        words = "no strategy that sees earlier outcomes beats the truth (by search, not a proof)"
        return subject.verdict("sequential", True, words, evidence)
    first, *_, last = strategy
    words = (
        f"the best strategy found that sees earlier outcomes has expectation {value:.4g}, the "
        f"truth {truth:.4g}, exactly: it predicts {strategy[first]:.3g} first, and "
        f"{strategy[last]:.3g} after {', '.join(last)}"
    )
    witness: dict[str, Any] = {"truth": _WORLD.truth.tolist(), "strategy": strategy}
    return subject.verdict("sequential", False, words, evidence, witness)


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """Recompute the expected values of the truth and of the strategy ("cheat") in a witness."""
    world = World("replay", np.asarray(witness["truth"], dtype=np.float64))
    plain = _expected(subject, world, _truthful_strategy(world.truth))
    cheat = _expected(subject, world, witness["strategy"])
    return {"truth": subject.error(plain), "cheat": subject.error(cheat)}


def _truthful_strategy(truth: Array) -> Strategy:
    """The true probability after every history, shorter histories first."""
    histories = [""]
    for _ in truth[1:]:
        longest = [each for each in histories if len(each) == len(histories[-1])]
        histories += [each + outcome for each in longest for outcome in "01"]
    return {history: float(truth[len(history)]) for history in histories}


def _expected(subject: Subject, world: World, strategy: Strategy, after: str = "") -> float:
    """The expected error of a strategy, of the outcomes that begin with the history `after`."""
    outcomes, chances = world.outcomes(0, 0)
    total = 0.0
    for y, chance in zip(outcomes, chances, strict=True):
        text = "".join(map(str, y.tolist()))
        if text.startswith(after):
            predictions = np.array([strategy[text[:i]] for i in range(len(text))])
            total += float(chance) * float(errors_of([subject], predictions, [y])[0, 0])
    return total


def _search(subject: Subject, world: World, plain: Strategy) -> tuple[Strategy, float]:
    """The strategy with the lowest expected error that is found, and this: for one history after
    another the best prediction, until none is better. It starts from `plain`, the truth.
    """
    strategy = dict(plain)
    for _ in range(_SWEEPS):
        before = dict(strategy)
        for history in reversed(list(strategy)):
            # Other outcomes do not depend on this prediction.
            values = [
                _expected(subject, world, {**strategy, history: u}, history)
                for u in (strategy[history], *_TRIED)
            ]
            best = int(np.nanargmin(values))
            strategy[history] = float((strategy[history], *_TRIED)[best])
        if strategy == before:
            break
    return strategy, _expected(subject, world, strategy)
