"""Continuity: the largest step along a path of predictors, as the path is refined.

A step is the change of a measure's value between two neighbouring points of a path. A jump stays as
large while the two predictions on either side of it come together; a continuous measure's step goes
to 0 with their distance. The path is halved around its largest steps until the predictions differ
in the tenth decimal. A path is a straight line of predictions whose outcomes stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant._core.typing import Array
from calibrant._measures.catalogue import Shape
from calibrant._research.audits.subjects import NO_VALUES, CachedValues, Subject, values
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
    """A straight line of predictions, ``centre + t direction`` for t from -1 to 1.

    The labels (and weights) are the same along the whole path. At t = 0 the predictions are exactly
    the centre, where a path has its ties.
    """

    name: str
    labels: Labels
    centre: Array
    direction: Array
    weights: Array | None = None

    def predictions(self, t: float) -> Array:
        """The predictions at position t of the path: (n,), or (n, k) of several classes."""
        return self.centre + t * self.direction


@dataclass(frozen=True, eq=False)
class Step:
    """Two neighbouring positions on a path, `start` and `end`, and the measure's value at each."""

    path: Path
    start: float
    end: float
    start_value: float
    end_value: float

    @property
    def size(self) -> float:
        """The absolute difference of the two values; 0 if it is not finite."""
        difference = abs(self.end_value - self.start_value)
        return difference if np.isfinite(difference) else 0.0


def continuity(subjects: Sequence[Subject], *, seed: int) -> list[AuditVerdict]:
    """A verdict for each subject on whether its value jumps as predictions move continuously.

    Subjects are measures under test, all of one shape.
    """
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
        path_values = np.array(
            [values(left, path.labels, path.predictions(t), path.weights) for t in times]
        )
        shared = CachedValues(left)
        for i, subject in enumerate(left):
            finite = np.isfinite(path_values[:, i])
            seen[subject.name] += bool((finite[1:] & finite[:-1]).any())
            scale = float(np.max(np.abs(path_values[finite, i]), initial=0.0))
            sizes[subject.name] = max(sizes[subject.name], scale)
            jump_threshold = max(_JUMP * scale, _ROUNDING * sizes[subject.name])
            step = _largest_step(subject, shared, path, times, path_values[:, i], jump_threshold)
            largest[subject.name] = max(largest[subject.name], step.size)
            if step.size > jump_threshold:
                jumps[subject.name] = step
    return [_verdict(s, jumps.get(s.name), largest[s.name], seen[s.name]) for s in subjects]


def _largest_step(
    subject: Subject,
    shared: CachedValues,
    path: Path,
    times: Array,
    path_values: Array,
    jump_threshold: float,
) -> Step:
    """The largest step (change of the value) that remains after refining a coarse path.

    `times` are the positions of the coarse path, and `path_values` the subject's values there. The
    largest steps, and those most unlike their neighbours, are refined. Refinement stops at the
    first refined step larger than `jump_threshold`, which counts as a jump.
    """

    def value(t: float) -> float:
        """The subject's value at position t of the path."""
        return shared(subject, path.labels, path.predictions(t), path.weights)

    points = zip(times.tolist(), path_values.tolist(), strict=True)
    steps = [
        Step(path, start, end, start_value, end_value)
        for (start, start_value), (end, end_value) in pairwise(points)
    ]
    sizes = np.array([step.size for step in steps])
    around = np.median(np.stack([np.roll(sizes, shift) for shift in (-2, -1, 1, 2)]), axis=0)
    orders = (np.argsort(-sizes, kind="stable"), np.argsort(around - sizes, kind="stable"))
    chosen = dict.fromkeys(int(i) for order in orders for i in order[:_ZOOMS])
    left = Step(path, 0.0, 0.0, 0.0, 0.0)
    for i in chosen:
        left = max(left, _refine_step(steps[i], value, jump_threshold), key=lambda step: step.size)
        if left.size > jump_threshold:
            break
    return left


def _refine_step(step: Step, value: Callable[[float], float], jump_threshold: float) -> Step:
    """Halve a step repeatedly, each time keeping the half over which the value changes more.

    `value` computes the measure at a position of the path. Halving ends when the change is at most
    `jump_threshold`, or after `_HALVINGS` halvings.
    """
    for _ in range(_HALVINGS):
        if step.size <= jump_threshold:
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
    """The verdict on a subject's continuity; `jump` is None if no path has a jump.

    `largest` is the largest step that remained after refinement, and `n_paths` the number of paths
    with finite values. Without such a path the verdict is undecided.
    """
    if jump is None and not n_paths:
        return subject.verdict("continuous", None, NO_VALUES)
    if jump is None:
        words = f"no jump was found along {n_paths} paths (largest remaining step {largest:.2g})"
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
    """Recompute the values on both sides of a jump, from the predictions in the witness.

    The keys of the result are "before" and "after".
    """
    labels = np.asarray(witness["labels"])
    ends = {name: np.asarray(witness[name], dtype=np.float64) for name in ("before", "after")}
    weights = None if witness["weights"] is None else np.asarray(witness["weights"])
    return {name: float(values([subject], labels, p, weights)[0]) for name, p in ends.items()}


# --- the paths ----------------------------------------------------------------------------------

_WEIGHTS = np.array([5.0, 1.0, 0.5, 2.0, 1.0, 3.0])


def paths(shape: Shape, seed: int) -> tuple[Path, ...]:
    """The paths (lines of predictions) along which measures of a shape are tested.

    They pass through ties, over edges of bins, and past a change of the top class.
    """
    rng = np.random.default_rng(seed)
    return _binary_paths(rng) if shape == "binary" else _multiclass_paths(rng)


def _unweighted_path(name: str, labels: list[int], centre: object, direction: object) -> Path:
    """A path without weights, from lists of labels, predictions (`centre`) and their direction."""
    as_floats = (np.asarray(rows, dtype=np.float64) for rows in (centre, direction))
    return Path(name, np.array(labels), *as_floats)


def _binary_paths(rng: np.random.Generator) -> tuple[Path, ...]:
    """The paths for binary predictions P(y = 1), of shape (n,)."""
    a, b = rng.uniform(0.02, 0.98, (2, 6))
    labels = rng.integers(0, 2, 6)
    return (
        _unweighted_path("two predictions separate at 1/2", [0, 1], [0.5, 0.5], [-0.1, 0.1]),
        _unweighted_path("two equal predictions separate", [1, 1], [0.3, 0.3], [-0.05, 0.05]),
        _unweighted_path(
            "two ties separate", [0, 1, 1, 0], [0.3, 0.3, 0.6, 0.6], [-0.05, 0.05, -0.05, 0.05]
        ),
        _unweighted_path(
            "one prediction goes from 0 to 1",
            [1, 0, 0, 1, 0],
            [0.5, 0.2, 0.4, 0.6, 0.8],
            [0.495, 0, 0, 0, 0],
        ),
        Path("from one random predictor to another", labels, (a + b) / 2, (b - a) / 2),
        Path(
            "from one random predictor to another, with weights",
            labels,
            (a + b) / 2,
            (b - a) / 2,
            _WEIGHTS,
        ),
    )


def _multiclass_paths(rng: np.random.Generator) -> tuple[Path, ...]:
    """The paths for rows of class probabilities, of shape (n, k)."""
    a, b = rng.dirichlet(np.ones(3), (2, 4))
    labels = rng.integers(0, 3, 4)
    tied, parting = [[0.5, 0.3, 0.2]] * 2, [[-0.1, 0.05, 0.05], [0.1, -0.05, -0.05]]
    return (
        _unweighted_path(
            "the top class changes",
            [0, 1],
            [[0.4, 0.4, 0.2], [0.35, 0.25, 0.4]],
            [[0.1, -0.1, 0], [0, 0, 0]],
        ),
        _unweighted_path("two equal rows separate", [0, 1], tied, parting),
        _unweighted_path("two equal rows with one label separate", [0, 0], tied, parting),
        Path("from one random predictor to another", labels, (a + b) / 2, (b - a) / 2),
        Path(
            "from one random predictor to another, with weights",
            labels,
            (a + b) / 2,
            (b - a) / 2,
            _WEIGHTS[:4],
        ),
    )
