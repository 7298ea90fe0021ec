"""Worlds of one predictor, by kind, and the register of all worlds by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .populations import Array, Draw, Population


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x: Array) -> Array:
    p: Array = np.exp(x - x.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return p


def scalar(u: Callable[[np.random.Generator, int], Array], q: Callable[[Array], Array]) -> Draw:
    """Predictions by their law, and the right probability of each prediction."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        predicted = u(rng, n)
        return predicted, np.clip(q(predicted), 0.0, 1.0)

    return draw


def logistic(slope: float, shift: float = 0.0, centre: float = 0.0, spread: float = 1.5) -> Draw:
    """The logit of u is ``slope h + shift``, that of q is h, which is normal."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(centre, spread, n)
        return sigmoid(slope * h + shift), sigmoid(h)

    return draw


def network(k: int, temperature: float, spread: float = 2.0) -> Draw:
    """Rows of k classes whose logits are too large by a factor, the temperature."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(0.0, spread, (n, k))
        return softmax(h * temperature), softmax(h)

    return draw


def long_tail(k: int, temperature: float, lift: float, spread: float) -> Draw:
    """Classes as frequent as words, the r-th with a share of about 1 / r; rare ones are lifted."""
    rarity = np.log(np.arange(1, k + 1))

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(0.0, spread, (n, k)) - rarity
        return softmax(h * temperature + lift * rarity), softmax(h)

    return draw


def lifted(k: int, lift: float) -> Draw:
    """The first class is predicted too often and the last too rarely."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        h = rng.normal(0.0, 2.0, (n, k))
        return softmax(h + np.linspace(lift, -lift, k)), softmax(h)

    return draw


def ordered(k: int, surer: float) -> Draw:
    """Ordered classes: a latent value between cut points, whose noise is predicted too small."""
    cuts = np.linspace(-2.0, 2.0, k - 1)

    def chances(latent: Array, scale: float) -> Array:
        below = sigmoid((cuts - latent[:, None]) * scale)
        ends = np.zeros((len(latent), 1))
        return np.diff(np.hstack([ends, below, ends + 1.0]), axis=1)

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.normal(0.0, 1.8, n)
        return chances(latent, 1.7 * surer), chances(latent, 1.7)

    return draw


def _surer(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Distributions of votes that predictions are surer of."""
    q = rng.dirichlet(np.ones(3), n)
    return softmax(1.5 * np.log(q + 1e-6) + rng.normal(0.0, 0.3, (n, 3))), q


def _unrelated(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Predictions that know nothing of the distributions of votes."""
    return rng.dirichlet(np.full(3, 3.0), n), rng.dirichlet(np.full(3, 0.5), n)


def _easy_and_hard(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Half of the rows are all but certain, and annotators are torn in the others."""
    easy = rng.random(n)[:, None] < 0.5
    q = np.where(easy, rng.dirichlet(np.full(3, 0.1), n), rng.dirichlet(np.full(3, 10.0), n))
    return softmax(1.2 * np.log(q + 0.02) + rng.normal(0.0, 0.4, (n, 3))), q


def _crowds(rng: np.random.Generator, n: int) -> Array:
    side = rng.random(n)
    return np.where(side < 0.35, 0.0, np.where(side < 0.7, 1.0, rng.random(n)))


def _tenths(rng: np.random.Generator, n: int) -> Array:
    shares = np.array([4, 1, 1, 1, 1, 2, 1, 1, 2, 2, 4])
    return rng.choice(11, n, p=shares / shares.sum()) / 10


def _few_off(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Calibrated, but for 3 % of rows in the middle, where few others are."""
    u, off = rng.beta(0.5, 0.5, n), rng.random(n) < 0.03
    u = np.where(off, rng.uniform(0.47, 0.53, n), u)
    return u, np.where(off, u - 0.25, u)


def _two_decimals(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    h = rng.normal(0.0, 1.5, n)
    return np.round(sigmoid(1.3 * h), 2), sigmoid(h)


# What a language model says of its own answers, how often it says so, and how often it is right.
SAID = np.array([0.6, 0.8, 0.85, 0.9, 0.95])
SAID_SHARES = np.array([0.05, 0.15, 0.2, 0.25, 0.35])
SAID_RIGHT = np.array([0.55, 0.65, 0.7, 0.78, 0.9])


def _five_values(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    said = rng.choice(5, n, p=SAID_SHARES)
    return SAID[said], SAID_RIGHT[said]


def _nearly_all_sure(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """99.5 % of confidences are above 0.999, and wrong five times as often as they say."""
    sure = rng.random(n) < 0.995
    u = np.where(sure, 1.0 - 0.001 * rng.random(n), rng.uniform(0.5, 0.999, n))
    return u, np.where(sure, 1.0 - 5.0 * (1.0 - u), u - 0.1)


def _spike(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two of five rows at exactly one half, where 45 % are events."""
    h = rng.normal(0.0, 1.5, n)
    at = rng.random(n) < 0.4
    return np.where(at, 0.5, sigmoid(1.2 * h)), np.where(at, 0.45, sigmoid(h))


def _same(u: Array) -> Array:
    return u


ORDINARY = {
    "overconfident": logistic(2.0),
    "underconfident": logistic(0.5),
    "biased": logistic(1.0, 0.5),
    "slightly overconfident": logistic(1.15),
    "oscillating": scalar(lambda r, n: r.beta(2, 2, n), lambda u: u + 0.08 * np.sin(9 * u)),
    "tenths": scalar(_tenths, lambda u: 0.5 + 0.8 * (u - 0.5)),
    "imbalanced": scalar(lambda r, n: r.beta(1, 12, n), lambda u: u**1.2),
    "one bin off": scalar(
        lambda r, n: r.beta(2, 2, n), lambda u: u + 0.3 * ((u > 0.4) & (u < 7 / 15))
    ),
}
CALIBRATED = {
    "calibrated": scalar(lambda r, n: r.random(n), _same),
    "calibrated at the ends": scalar(lambda r, n: r.beta(0.15, 0.15, n), _same),
    "calibrated tenths": scalar(_tenths, _same),
}
CROWDS = {
    "crowds at 0 and 1": scalar(
        _crowds, lambda u: np.where(u == 0, 0.06, np.where(u == 1, 0.9, u))
    ),
    "wrong at the ends": scalar(
        lambda r, n: sigmoid(r.normal(0, 4, n)),
        lambda u: np.where(u < 0.02, 0.03, np.where(u > 0.98, 0.95, u)),
    ),
}
# Predictions as they are found: few values, rounded ones, crowds, and a part that is off.
FOUND: dict[str, Draw] = {
    "3 % off in the middle": _few_off,
    "two decimals": _two_decimals,
    "five values": _five_values,
    "nearly all sure": _nearly_all_sure,
    "spike at one half": _spike,
}
VOTED = {"surer": _surer, "unrelated": _unrelated, "easy and hard rows": _easy_and_hard}
RARE = {"rare": logistic(1.0, 0.4, -5.0, 0.8)}
RARE_RIGHT = {"rare, calibrated": scalar(lambda r, n: sigmoid(r.normal(-5.0, 0.8, n)), _same)}
# An ECE of 0.03 by a slope, by a shift, and by a wave that has neither.
POWER = {
    "slope, ECE .03": logistic(1.2185),
    "shift, ECE .03": logistic(1.0, 0.1699),
    "oscillation, ECE .03": scalar(
        lambda r, n: r.beta(2, 2, n), lambda u: u + 0.0487 * np.sin(10.786 * (u - 0.5))
    ),
}


def _each(draws: dict[str, Draw], **options: Any) -> dict[str, Population]:
    return {name: Population(draw, **options) for name, draw in draws.items()}


def _some(draws: dict[str, Draw], *names: str) -> dict[str, Draw]:
    return {name: draws[name] for name in names}


def _and_calibrated(wrong: dict[str, Draw], right: dict[str, Draw], **options: Any) -> Any:
    return _each(wrong, **options) | _each(right, calibrated=True, **options)


_FEW = _some(ORDINARY, "overconfident", "oscillating")
_RIGHT = _some(CALIBRATED, "calibrated")
DISTANCES = ("dist_ce", "ent_ce", "jsd", "brier")
KINDS: dict[str, dict[str, Population]] = {
    "ordinary": _each(ORDINARY),
    "nearly calibrated": _each({"nearly calibrated": logistic(1.05)}),
    "calibrated": _each(CALIBRATED, calibrated=True),
    "crowds": _each(CROWDS),
    "found": _each(FOUND),
    "power": _each(POWER),
    "rare": _and_calibrated(RARE, RARE_RIGHT),
    "weights": _and_calibrated(_FEW, _RIGHT, weights=1.0),
    "heavy weights": _and_calibrated(_FEW, _RIGHT, weights=1.5),
    "clusters": _and_calibrated(_FEW, _RIGHT, clusters="small"),
    "huge cluster": _and_calibrated(_FEW, _RIGHT, clusters="huge"),
    "rare clusters": _and_calibrated(RARE, RARE_RIGHT, clusters="small"),
    "soft": _and_calibrated(_FEW, _RIGHT, labels="votes"),
    "scattered": _and_calibrated(_FEW, _RIGHT, labels="scattered"),
    "exact": _each({**_FEW, "3 classes": network(3, 1.6)}, labels="exact"),
    "votes": {
        f"{name}, {m or '1 to 10'} votes": Population(
            draw, labels="votes", votes=m, votes_known=True, rows=(1500, 4000), measures=DISTANCES
        )
        for name, draw in VOTED.items() for m in (3, 10, 0)
    },
    "classes": {
        f"{k} classes, {name}": Population(network(k, t), t == 1.0)
        for k in (3, 10)
        for name, t in (("too sure", 1.6), ("not sure", 0.7), ("calibrated", 1.0))
    }
    | {
        "3 classes, off either way": Population(lifted(3, 0.5)),
        "5 ordered classes": Population(ordered(5, 1.5)),
    },
    "many classes": {
        f"100 classes, {name}": Population(network(100, t, 3.0), t == 1.0, rows=(2000,))
        for name, t in (("too sure", 1.5), ("calibrated", 1.0))
    },
    "long tail": {
        f"{k} classes, long tail{sure}": Population(
            long_tail(k, *law), rows=(2000,), measures=("ece", "top_label_ece", "brier")
        )
        for k in (100, 200)
        for sure, law in (("", (1.0, 0.2, 2.5)), (", surer", (1.2, 0.3, 4.0)))
    },
}  # fmt: skip


# Kinds whose worlds are called by their names alone.
PLAIN = ("ordinary", "calibrated", "rare")


def world_name(kinds: dict[str, dict[str, Population]], kind: str, name: str) -> str:
    """The name that a world is called by: with its kind where another kind has the same name."""
    shared = sum(name in worlds for worlds in kinds.values()) > 1
    return f"{name}, {kind}" if shared and kind not in PLAIN else name


def by_name(kinds: dict[str, dict[str, Population]]) -> dict[str, Population]:
    """All worlds by the names that they are called by."""
    return {
        world_name(kinds, kind, name): world
        for kind, worlds in kinds.items()
        for name, world in worlds.items()
    }
