"""VoteMoves: what m votes add to a row's value, by laws of what is behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._inference.budget import VOTE_DRAWS, VOTE_ENTRIES
from calibrant._inference.vote_means import RecalibratedMean
from calibrant._inference.votes import dirichlet, drawn_counts, some_votes, towards

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
# Predictions and distributions (n, k) to values of every row, by name.
RowValues = Callable[[Array, Array], dict[str, Array]]

# Spreads of a law, 1 / (1 + concentration) of Dirichlet's, at which the model is drawn: 0 is no
# scatter about the mean, 1 a row that is certain.
SPREADS = np.array(
    [0.0, 0.0025, 0.01, 0.025, 0.05, 0.1, 0.17, 0.25, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0]
)
_ROOTS = np.sqrt(SPREADS)
# Where rows go towards a class, values are all but straight lines in the root of the spread: these
# are drawn, and the ends are those of Dirichlet's law.
_TOWARDS_AT = (2, 4, 6, 9, 12)
# Below this spread a gradient is that of no spread and of this one in between.
_SCORED_FROM = 3
# Laws of what is behind votes; and the largest share of rows that one of them has off.
DIRICHLET, TOWARDS, CERTAIN, OTHERS = LAWS = ("dirichlet", "towards", "certain", "others")
MOST_OTHERS = 0.95
# Pairs of means that are drawn to see what their uncertainty adds.
MEAN_DRAWS = 6


def at_spread(table: Array, spread: Array) -> Array:
    """A table (..., spreads) at spreads between those that it has."""
    at = np.clip(np.searchsorted(SPREADS, spread) - 1, 0, SPREADS.size - 2)
    # Distances grow with the root of the spread.
    share = (np.sqrt(spread) - _ROOTS[at]) / (_ROOTS[at + 1] - _ROOTS[at])
    below, above = (
        np.take_along_axis(table, each[..., None], axis=-1)[..., 0] for each in (at, at + 1)
    )
    out: Array = (1.0 - share) * below + share * above
    return out


def _between(table: Array, known: list[int]) -> Array:
    """A table (spreads, ...) filled between the spreads at which it is known."""
    for low, high in pairwise(known):
        for s in range(low + 1, high):
            share = (_ROOTS[s] - _ROOTS[low]) / (_ROOTS[high] - _ROOTS[low])
            table[s] = (1.0 - share) * table[low] + share * table[high]
    return table


@dataclass(frozen=True, eq=False)
class VoteMoves:
    """Rows of predictions p and of m votes each, with the law's mean; `by_group` is the weight of
    every row in its group, and `extrapolated` how much of what is missed between half of the votes
    and all of them is still to come.
    """

    p: Array
    m: Counts
    half: Counts
    by_group: Array
    fitted: RecalibratedMean
    extrapolated: float
    values_of: RowValues
    seed: int

    @property
    def mean(self) -> Array:
        return self.fitted.mean

    def table(self, name: str, law: str) -> Array:
        """What a row's value is to be moved by, at each spread of a law: (spreads, n)."""
        if law == TOWARDS:
            return self._towards[name]
        return (self._others if law == OTHERS else self._dirichlet[0])[name]

    def gradient(self, name: str) -> Array:
        """How sums of moves by group change with the parameters of the mean: (groups, spreads,
        parameters). That of Dirichlet's law serves for all.
        """
        return self._dirichlet[1][name]

    @cached_property
    def _dirichlet(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Tables and their gradients by name."""
        rng = np.random.default_rng((self.seed, 22))
        tables: dict[str, list[Array]] = {}
        gradients: dict[str, list[Array]] = {}
        for spread in SPREADS.tolist():
            # What does not depend on the draw is subtracted, so that a gradient scatters less.
            known = {name: own[-1] for name, own in tables.items()}
            for name, (table, gradient) in self._at(spread, known, rng).items():
                tables.setdefault(name, []).append(table)
                gradients.setdefault(name, []).append(gradient)
        for name, slopes in self._slopes_without_spread().items():
            gradients[name][0] = gradients[name][0] + slopes
        drawn = [0, *range(_SCORED_FROM, SPREADS.size)]
        return (
            {name: np.stack(own) - self._bias_of_mean[name] for name, own in tables.items()},
            {
                name: _between(np.stack(own), drawn).transpose(1, 0, 2)
                for name, own in gradients.items()
            },
        )

    def _at(
        self, spread: float, known: dict[str, Array], rng: np.random.Generator
    ) -> dict[str, tuple[Array, Array]]:
        """Moves (n,) at one spread, and how their sums by group change with the parameters."""
        n_draws = self._n_draws
        out: dict[str, tuple[Any, Any]] = {}
        for moves, q, votes in self._moves(dirichlet(self.mean, spread, n_draws, rng), rng):
            score = self._score(q, votes, spread)
            for name, move in moves.items():
                away = move - known[name] if known else move
                gradient = self.by_group.T @ (away[:, None] * score) / n_draws
                table, before = out.get(name, (0.0, 0.0))
                out[name] = (table + move / n_draws, before + gradient)
        return out

    @property
    def _n_draws(self) -> int:
        n, k = self.p.shape
        return int(np.clip(VOTE_ENTRIES // (n * k * SPREADS.size), 1, VOTE_DRAWS))

    def _moves(
        self, drawn: Array, rng: np.random.Generator
    ) -> Iterator[tuple[dict[str, Array], Array, Counts]]:
        """Of distributions (draws, n, k), and votes drawn from them, what the values of rows are to
        be moved by.
        """
        lam, votes = self.extrapolated, drawn_counts(self.m, drawn, rng)
        some = some_votes(votes, self.half, rng) if lam else votes
        for q, all_votes, half_votes in zip(drawn, votes, some, strict=True):
            truth = self.values_of(self.p, q)
            half = whole = self.values_of(self.p, all_votes / self.m[:, None])
            if lam:
                half = self.values_of(self.p, half_votes / self.half[:, None])
            moves = {
                name: truth[name] - whole[name] - lam * (whole[name] - half[name]) for name in truth
            }
            yield moves, q, all_votes

    def _score(self, q: Array, votes: Counts, spread: float) -> Array:
        """How the log-likelihood of what was drawn changes with the mean's parameters."""
        if spread <= 0.0:
            return self.fitted.contracted(votes.astype(np.float64))
        if spread >= 1.0:
            return self.fitted.contracted(q)
        from scipy.special import psi

        a = (1.0 - spread) / spread
        each = np.maximum(a * self.mean, 1e-9)
        away = np.log(np.maximum(q, 1e-300)) - psi(each) + psi(a)
        return self.fitted.contracted(each * away)

    def _slopes_without_spread(self) -> dict[str, Array]:
        """How the values themselves change with the parameters where rows equal their means."""
        step = np.sqrt(np.diag(np.linalg.inv(self.fitted.information)))
        out: dict[str, list[Array]] = {}
        for by, unit in zip(step.tolist(), np.eye(step.size), strict=True):
            up, down = (self.values_of(self.p, self.fitted.at(x * unit)) for x in (by, -by))
            for name in up:
                out.setdefault(name, []).append((up[name] - down[name]) / (2.0 * by))
        return {name: self.by_group.T @ np.stack(own, axis=1) for name, own in out.items()}

    @cached_property
    def _bias_of_mean(self) -> dict[str, Array]:
        """What is too large in a value because the mean is fitted, at each spread: (spreads, n).

        A distance from a mean that is off is larger on average, most of all near 0. Where rows
        scatter about the mean by more than it is off, little of that is left.
        """
        rng = np.random.default_rng((self.seed, 26))
        value = self.values_of(self.p, self.mean)
        sums = {name: np.zeros(len(self.p)) for name in value}
        square = 0.0
        for step in self.fitted.drawn_steps(MEAN_DRAWS, rng):
            for each in (step, -step):
                mean = self.fitted.at(each)
                square += float(self.by_group.sum(axis=1) @ ((mean - self.mean) ** 2).sum(axis=1))
                for name, own in self.values_of(self.p, mean).items():
                    sums[name] += (own - value[name]) / (2 * MEAN_DRAWS)
        room = float(self.by_group.sum(axis=1) @ (1.0 - (self.mean**2).sum(axis=1)))
        off = square / (2 * MEAN_DRAWS * room) if room > 0 else 0.0
        left = (
            (np.sqrt(SPREADS + off) - _ROOTS) / np.sqrt(off) if off > 0 else np.zeros(_ROOTS.size)
        )
        return {name: left[:, None] * own for name, own in sums.items()}

    def shares(self, spreads: Array, rows: Array | None = None) -> Array:
        """Of every spread, the share of rows that have another row's prediction, as many as make
        it; `rows` are the weights of some.
        """
        w = self.by_group.sum(axis=1)
        own = w if rows is None else rows
        centre = np.average(self.p, axis=0, weights=w)
        around = float(np.average(((self.p - centre) ** 2).sum(axis=1), weights=w))
        right, other, room = (
            float(np.average(each, weights=own))
            for each in (
                ((self.p - self.mean) ** 2).sum(axis=1),
                ((self.mean - centre) ** 2).sum(axis=1) + around,
                1.0 - (self.mean**2).sum(axis=1),
            )
        )
        if other - right <= 1e-12:
            return np.zeros(spreads.shape)
        return np.clip((spreads * room - right) / (other - right), 0.0, MOST_OTHERS)

    @cached_property
    def _others(self) -> dict[str, Array]:
        """Tables where some rows have another row's prediction and all else is right."""
        rng = np.random.default_rng((self.seed, 27))
        n, n_draws = len(self.p), self._n_draws
        right = np.broadcast_to(self.p, (n_draws, *self.p.shape))
        moves = [
            [each for each, _, _ in self._moves(drawn, rng)]
            for drawn in (right, self.p[rng.integers(0, n, (n_draws, n))])
        ]
        groups = self.by_group.T
        share = np.stack([self.shares(SPREADS, rows) for rows in groups], axis=1)  # by group
        of_rows = share[:, self.by_group.argmax(axis=1)]
        out = {}
        for name in moves[0][0]:
            at_p, at_others = (np.mean([each[name] for each in own], axis=0) for own in moves)
            out[name] = (1.0 - of_rows) * at_p + of_rows * at_others
        return out

    @cached_property
    def _towards(self) -> dict[str, Array]:
        """Tables where rows lie towards a class."""
        rng = np.random.default_rng((self.seed, 25))
        out = {name: table.copy() for name, table in self._dirichlet[0].items()}
        for s in _TOWARDS_AT:
            drawn = towards(self.mean, float(SPREADS[s]), self._n_draws, rng)
            moves = [each for each, _, _ in self._moves(drawn, rng)]
            for name, table in out.items():
                table[s] = np.mean([each[name] for each in moves], axis=0)
                table[s] -= self._bias_of_mean[name][s]
        known = [0, *_TOWARDS_AT, SPREADS.size - 1]
        return {name: _between(table, known) for name, table in out.items()}
