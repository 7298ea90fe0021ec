"""Paths of predictors: predictions that move in a straight line while the outcomes stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._measures.catalogue import Shape
from calibrant._research.audits.subjects import Array
from calibrant._research.audits.worlds import Labels


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
        return self.centre + t * self.direction


_WEIGHTS = np.array([5.0, 1.0, 0.5, 2.0, 1.0, 3.0])


def paths(shape: Shape, seed: int) -> tuple[Path, ...]:
    """The paths of a trial: through ties, over the edges of bins, past a change of top class."""
    rng = np.random.default_rng(seed)
    return _binary(rng) if shape == "binary" else _multiclass(rng)


def _path(name: str, labels: list[int], centre: object, direction: object) -> Path:
    as_floats = (np.asarray(part, dtype=np.float64) for part in (centre, direction))
    return Path(name, np.array(labels), *as_floats)


def _binary(rng: np.random.Generator) -> tuple[Path, ...]:
    a, b = rng.uniform(0.02, 0.98, (2, 6))
    labels = rng.integers(0, 2, 6)
    return (
        _path("two points part at 1/2", [0, 1], [0.5, 0.5], [-0.1, 0.1]),
        _path("two equal predictions part", [1, 1], [0.3, 0.3], [-0.05, 0.05]),
        _path("two ties part", [0, 1, 1, 0], [0.3, 0.3, 0.6, 0.6], [-0.05, 0.05, -0.05, 0.05]),
        _path("one prediction goes from 0 to 1", [1, 0, 0, 1, 0], [0.5, 0.2, 0.4, 0.6, 0.8],
              [0.495, 0, 0, 0, 0]),
        Path("from one random predictor to another", labels, (a + b) / 2, (b - a) / 2),
        Path("the same with weights", labels, (a + b) / 2, (b - a) / 2, _WEIGHTS),
    )  # fmt: skip


def _multiclass(rng: np.random.Generator) -> tuple[Path, ...]:
    a, b = rng.dirichlet(np.ones(3), (2, 4))
    labels = rng.integers(0, 3, 4)
    tied, parting = [[0.5, 0.3, 0.2]] * 2, [[-0.1, 0.05, 0.05], [0.1, -0.05, -0.05]]
    return (
        _path("the top class changes", [0, 1], [[0.4, 0.4, 0.2], [0.35, 0.25, 0.4]],
              [[0.1, -0.1, 0], [0, 0, 0]]),
        _path("two equal rows part", [0, 1], tied, parting),
        _path("two equal rows with one label part", [0, 0], tied, parting),
        Path("from one random predictor to another", labels, (a + b) / 2, (b - a) / 2),
        Path("the same with weights", labels, (a + b) / 2, (b - a) / 2, _WEIGHTS[:4]),
    )  # fmt: skip
