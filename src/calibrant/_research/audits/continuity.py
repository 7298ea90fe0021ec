"""Continuity: the largest step along a path of predictors, as the path is refined.

A step is the change of a measure's value between two neighbouring points of a path. A jump stays as
large while the two predictions on either side of it come together; a continuous measure's step goes
to 0 with their distance. The path is halved around its largest steps until the predictions differ
in the tenth decimal. A path is a straight line of predictions whose outcomes stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._measures.catalogue import Shape
from calibrant._research.audits.subjects import NO_VALUES, Array, SharedValues, Subject, values
from calibrant._research.audits.worlds import Labels
from calibrant.results._audit import AuditVerdict

_POINTS = 33
# Steps of the coarse path that are refined: the largest, and those that are most unlike their
# neighbours, where a small jump would be.
_ZOOMS = 3
_HALVINGS = 30
# A step of this share of the measure's size over 1e-10 of the path is a jump. Even a measure that
# moves like the square root of a prediction would step by 1e-5 of it only.
_JUMP = 1e-4
# Below this share of 1, and of the measure's size, a step is the rounding of sums.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Path:
    """Predictions ``centre + t direction`` for t from -1 to 1.

    At t = 0 the predictions are the centre to the last bit: that is where ties are.
    """

    name: str
    labels: Labels
    centre: Array
    direction: Array
    weights: Array | None = None

    def predictions(self, t: float) -> Array:
        """The predictions at t."""
        return self.centre + t * self.direction


@dataclass(frozen=True, eq=False)
class Step:
    """Two neighbouring points of a path, `start` and `end`, and the value at each."""

    path: Path
    start: float
    end: float
    start_value: float
    end_value: float

    @property
    def size(self) -> float:
        """The difference of the two values; 0 where one is not a number."""
        difference = abs(self.end_value - self.start_value)
        return difference if np.isfinite(difference) else 0.0


def continuity(subjects: Sequence[Subject], *, n_draws: int, seed: int) -> list[AuditVerdict]:
    """A verdict for each subject, all of one shape, on whether it jumps; `n_draws` is not used."""
    jumps: dict[str, Step] = {}
    largest: dict[str, float] = {s.name: 0.0 for s in subjects}
    sizes: dict[str, float] = {s.name: 1.0 for s in subjects}
    seen = {s.name: 0 for s in subjects}
    routes = paths(subjects[0].shape, seed) if subjects else ()
    for path in routes:
        left = [s for s in subjects if s.name not in jumps]
        if path.weights is not None:
            left = [s for s in left if s.takes_weights]
        if not left:
            continue
        times = np.linspace(-1, 1, _POINTS)
        along = np.array(
            [values(left, path.labels, path.predictions(t), path.weights) for t in times]
        )
        shared = SharedValues(left)
        for i, subject in enumerate(left):
            finite = np.isfinite(along[:, i])
            seen[subject.name] += bool((finite[1:] & finite[:-1]).any())
            scale = float(np.max(np.abs(along[finite, i]), initial=0.0))
            sizes[subject.name] = max(sizes[subject.name], scale)
            small = max(_JUMP * scale, _ROUNDING * sizes[subject.name])
            step = _largest(subject, shared, path, times, along[:, i], small)
            largest[subject.name] = max(largest[subject.name], step.size)
            if step.size > small:
                jumps[subject.name] = step
    return [_verdict(s, jumps.get(s.name), largest[s.name], seen[s.name]) for s in subjects]


def _largest(
    subject: Subject, shared: SharedValues, path: Path, times: Array, along: Array, small: float
) -> Step:
    """The largest step that is left after refining some steps of the coarse path.

    `times` are the points of the coarse path, `along` the values there. The search ends once a
    refined step is larger than `small`, which makes it a jump.
    """

    def value(t: float) -> float:
        """The subject's value at the point t of the path."""
        return shared(subject, path.labels, path.predictions(t), path.weights)

    steps = [
        Step(path, float(times[i]), float(times[i + 1]), float(along[i]), float(along[i + 1]))
        for i in range(len(times) - 1)
    ]
    sizes = np.array([step.size for step in steps])
    around = np.median(np.stack([np.roll(sizes, shift) for shift in (-2, -1, 1, 2)]), axis=0)
    orders = (np.argsort(-sizes, kind="stable"), np.argsort(around - sizes, kind="stable"))
    chosen = dict.fromkeys(int(i) for order in orders for i in order[:_ZOOMS])
    left = Step(path, 0.0, 0.0, 0.0, 0.0)
    for i in chosen:
        left = max(left, _zoom(steps[i], value, small), key=lambda step: step.size)
        if left.size > small:
            break
    return left


def _zoom(step: Step, value: Callable[[float], float], small: float) -> Step:
    """A step halved again and again, keeping the half over which the value changes more.

    It ends when the change is at most `small`, or after `_HALVINGS`.
    """
    for _ in range(_HALVINGS):
        if step.size <= small:
            break
        middle = (step.start + step.end) / 2
        at = value(middle)
        halves = (
            Step(step.path, step.start, middle, step.start_value, at),
            Step(step.path, middle, step.end, at, step.end_value),
        )
        step = max(halves, key=lambda half: half.size)
    return step


def _verdict(subject: Subject, jump: Step | None, largest: float, n_paths: int) -> AuditVerdict:
    """The verdict on a subject with its jump, or None if no path has one.

    `largest` is the largest step that was left, `n_paths` the number of paths with finite values.
    """
    if jump is None and not n_paths:
        return subject.verdict("continuous", None, NO_VALUES)
    if jump is None:
        words = f"steps vanish along {n_paths} paths (at most {largest:.2g} is left)"
        evidence = {"largest_step": largest, "paths": n_paths}
        return subject.verdict("continuous", True, words, evidence)
    witness: dict[str, Any] = {
        "path": jump.path.name,
        "labels": jump.path.labels.tolist(),
        "before": jump.path.predictions(jump.start).tolist(),
        "after": jump.path.predictions(jump.end).tolist(),
        "weights": None if jump.path.weights is None else jump.path.weights.tolist(),
    }
    moved = float(np.abs((jump.end - jump.start) * jump.path.direction).max())
    words = (
        f"on the path '{jump.path.name}' it goes from {jump.start_value:.4g} to "
        f"{jump.end_value:.4g} while predictions move by {moved:.1g}"
    )
    evidence = {"before": jump.start_value, "after": jump.end_value, "moved": moved}
    return subject.verdict("continuous", False, words, evidence, witness)


def replay(subject: Subject, witness: dict[str, Any]) -> dict[str, float]:
    """The values before and after a jump, computed again from the predictions in the witness.

    The keys are "before" and "after".
    """
    labels = np.asarray(witness["labels"])
    ends = {name: np.asarray(witness[name], dtype=np.float64) for name in ("before", "after")}
    weights = None if witness["weights"] is None else np.asarray(witness["weights"])
    return {name: float(values([subject], labels, p, weights)[0]) for name, p in ends.items()}


# --- the paths ----------------------------------------------------------------------------------

_WEIGHTS = np.array([5.0, 1.0, 0.5, 2.0, 1.0, 3.0])


def paths(shape: Shape, seed: int) -> tuple[Path, ...]:
    """The paths that measures of a shape are tested along.

    They go through ties, over the edges of bins, and past a change of the top class.
    """
    rng = np.random.default_rng(seed)
    return _binary(rng) if shape == "binary" else _multiclass(rng)


def _path(name: str, labels: list[int], centre: object, direction: object) -> Path:
    """A path from lists of numbers, without weights."""
    as_floats = (np.asarray(rows, dtype=np.float64) for rows in (centre, direction))
    return Path(name, np.array(labels), *as_floats)


def _binary(rng: np.random.Generator) -> tuple[Path, ...]:
    """The paths of predictions P(y = 1), (n,)."""
    a, b = rng.uniform(0.02, 0.98, (2, 6))
    labels = rng.integers(0, 2, 6)
    return (
        _path("two points part at 1/2", [0, 1], [0.5, 0.5], [-0.1, 0.1]),
        _path("two equal predictions part", [1, 1], [0.3, 0.3], [-0.05, 0.05]),
        _path("two ties part", [0, 1, 1, 0], [0.3, 0.3, 0.6, 0.6], [-0.05, 0.05, -0.05, 0.05]),
        _path(
            "one prediction goes from 0 to 1",
            [1, 0, 0, 1, 0],
            [0.5, 0.2, 0.4, 0.6, 0.8],
            [0.495, 0, 0, 0, 0],
        ),
        Path("from one random predictor to another", labels, (a + b) / 2, (b - a) / 2),
        Path("the same with weights", labels, (a + b) / 2, (b - a) / 2, _WEIGHTS),
    )


def _multiclass(rng: np.random.Generator) -> tuple[Path, ...]:
    """The paths of rows of class probabilities, (n, k)."""
    a, b = rng.dirichlet(np.ones(3), (2, 4))
    labels = rng.integers(0, 3, 4)
    tied, parting = [[0.5, 0.3, 0.2]] * 2, [[-0.1, 0.05, 0.05], [0.1, -0.05, -0.05]]
    return (
        _path(
            "the top class changes",
            [0, 1],
            [[0.4, 0.4, 0.2], [0.35, 0.25, 0.4]],
            [[0.1, -0.1, 0], [0, 0, 0]],
        ),
        _path("two equal rows part", [0, 1], tied, parting),
        _path("two equal rows with one label part", [0, 0], tied, parting),
        Path("from one random predictor to another", labels, (a + b) / 2, (b - a) / 2),
        Path("the same with weights", labels, (a + b) / 2, (b - a) / 2, _WEIGHTS[:4]),
    )
