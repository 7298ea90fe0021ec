"""VoteModel: what a measure would be against the distributions that votes were drawn from.

m votes of a row with the distribution q show shares z that scatter about q, and distances from z
are larger than those from q. A polynomial of q of degree m has an unbiased estimate and nothing
else has: squares are corrected exactly (`_measures.votes`). Of other distances a model tells how
much m votes add. Given its prediction, a row's distribution has a mean, the prediction
recalibrated, and a spread about it, which the second moment of the votes shows without bias. Of
what is beyond the second moment few votes tell little, so that there are four laws of the same
spread: Dirichlet's; rows that all lie as far from their mean, towards a class; some rows that are
certain while the others do not scatter, which is as far from the second as such laws can be; and
some rows that have another row's prediction while all else is right. Laws that the votes speak
against are dropped: limits are those of all that remain, and an estimate is that of Dirichlet's
law, or of the likeliest where it is dropped. Where a law is wrong, half of the votes show it: what
it misses between half and all votes is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._inference.blocks import Blocks
from calibrant._inference.vote_means import RecalibratedMean, recalibrated_mean
from calibrant._inference.vote_moves import (
    CERTAIN,
    DIRICHLET,
    LAWS,
    OTHERS,
    SPREADS,
    TOWARDS,
    RowValues,
    VoteMoves,
    at_spread,
)
from calibrant._inference.votes import (
    drawn_counts,
    gamma_rows,
    log_chances,
    log_chances_others,
    log_chances_towards,
    some_votes,
    without,
)
from calibrant._measures.votes import vote_variances

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

# Halves of the votes that are drawn.
HALVES = 3
# What the log-likelihood must gain before some rows are taken to be certain, what it must lose
# before a law is dropped, and the rows that it is computed for.
EVIDENCE, AGAINST, LIKELIHOOD_ROWS = 4.0, 6.0, 20_000
# Rows that differ in how sure they are may scatter differently: so many groups of them, of at least
# so many rows each, where their spreads differ by more than chance.
GROUPS, GROUP_ROWS = 3, 100
# Predictions that stand for all of them, where rows may have another row's.
OTHER_ROWS = 200
DIFFERENT = 9.21  # the 99% point of chi-square with two degrees of freedom


@dataclass(frozen=True, eq=False)
class VoteModel:
    """Rows of predictions p and shares z (n, k) of m votes, and the law of what is behind them."""

    p: Array
    z: Array
    m: Counts
    w: Array
    values_of: RowValues
    seed: int = 0
    _sums: dict[tuple[str, str], Array] = field(default_factory=dict)

    @cached_property
    def counts(self) -> Counts:
        return np.rint(self.z * self.m[:, None]).astype(np.int64)

    @cached_property
    def half(self) -> Counts:
        return np.maximum(self.m // 2, 1)

    @cached_property
    def fitted(self) -> RecalibratedMean:
        return recalibrated_mean(self.p, self.z, self.w * self.m)

    @cached_property
    def mean(self) -> Array:
        """The mean of each row's distribution, by a recalibration of its prediction."""
        return self.fitted.mean

    @cached_property
    def _others_mean(self) -> Array:
        return self.fitted.without_each()

    @cached_property
    def room(self) -> Array:
        out: Array = 1.0 - np.einsum("ij,ij->i", self.mean, self.mean)
        return out

    @cached_property
    def group(self) -> NDArray[np.intp]:
        """Rows by how sure they are, where their spreads differ by more than chance."""
        n = len(self.p)
        if n < GROUPS * GROUP_ROWS:
            return np.zeros(n, dtype=np.intp)
        parts = np.argsort(np.argsort(self.room, kind="stable")) * GROUPS // n
        two = (self.m > 1) * self.w
        square, room = (
            np.bincount(parts, two * each, GROUPS) for each in (self._square(self.z), self.room)
        )
        if (room <= 0).any():
            return np.zeros(n, dtype=np.intp)
        spread = square / room
        away = two * (self._square(self.z) - spread[parts] * self.room)
        precision = room**2 / np.maximum(np.bincount(parts, away**2, GROUPS), 1e-300)
        common = (precision * spread).sum() / precision.sum()
        differ = float((precision * (spread - common) ** 2).sum()) > DIFFERENT
        return parts.astype(np.intp) if differ else np.zeros(n, dtype=np.intp)

    @property
    def n_groups(self) -> int:
        return int(self.group.max()) + 1

    @property
    def _by_group(self) -> Array:
        """The weight of every row in its group: (n, groups)."""
        out: Array = np.eye(self.n_groups)[self.group] * self.w[:, None]
        return out

    def _square(self, z: Array) -> Array:
        """Unbiased squares of the distance between true distributions and their means: a row's own
        votes have drawn its mean towards them, those of the others have not.
        """
        noise = vote_variances(z, self.m).sum(axis=1)
        out: Array = ((z - self.mean) * (z - self._others_mean)).sum(axis=1) - noise
        return out

    def columns(self, z: Array) -> list[Array]:
        """What each row adds to the squares about the means, and to what these would be if every
        row were certain, by group: each (n, groups).
        """
        own = self._by_group * (self.m > 1)[:, None]
        return [own * self._square(z)[:, None], own * self.room[:, None]]

    @cached_property
    def extrapolated(self) -> float:
        """How much of what the model misses between half and all votes is still to come."""
        whole, half = (
            float(np.average(1.0 / each, weights=self.w)) for each in (self.m, self.half)
        )
        return whole / (half - whole) if half > whole else 0.0

    def bases(self, z: Array, counts: Counts, rng: np.random.Generator) -> dict[str, Array]:
        """Of every row the value, and what it grew by since half of the votes were in."""
        rows = self.values_of(self.p, z)
        if not self.extrapolated:
            return rows
        some = some_votes(np.broadcast_to(counts, (HALVES, *counts.shape)), self.half, rng)
        drawn = [self.values_of(self.p, each / self.half[:, None]) for each in some]
        return {
            name: values + self.extrapolated * (values - np.mean([d[name] for d in drawn], axis=0))
            for name, values in rows.items()
        }

    @cached_property
    def base(self) -> dict[str, Array]:
        return self.bases(self.z, self.counts, np.random.default_rng((self.seed, 21)))

    # --- which laws the votes allow --------------------------------------------------------------

    @cached_property
    def _fits(self) -> dict[str, tuple[float, float]]:
        """Of every law the share of rows that are certain beside it, where the votes show one, and
        its log-likelihood.
        """
        some = slice(None, None, max(1, len(self.p) // LIKELIHOOD_ROWS))
        counts, mean, w = self.counts[some], self.mean[some], self.w[some]
        square, room = (float(column.sum()) for column in self.columns(self.z))
        total = min(max(square / room, 0.0), 1.0) if room > 0 else 0.0
        agree = log_chances(counts, mean, 1.0)

        def fit(law: str, share: float) -> float:
            chances = log_chances_towards if law == TOWARDS else log_chances
            own = chances(counts, mean, float(without(total, share)))
            with np.errstate(divide="ignore"):
                both = np.logaddexp(np.log1p(-share) + own, np.log(share) + agree)
            return float(w @ both) * float(w.sum() / (w @ w))

        out = {CERTAIN: (total, fit(CERTAIN, total))}
        for law in (DIRICHLET, TOWARDS):
            shares = np.linspace(0.0, 0.95 * total, 12)
            fits = [fit(law, float(share)) for share in shares]
            best = int(np.argmax(fits))
            # Votes may be such that no share of certain rows makes them possible.
            found = np.isfinite(fits[best]) and not fits[best] - fits[0] <= EVIDENCE
            best = best if found else 0
            out[law] = (float(shares[best]), fits[best])
        share = float(self.moves.shares(np.array([total]))[0])
        rows = np.random.default_rng((self.seed, 28)).choice(len(self.p), OTHER_ROWS)
        chances = log_chances_others(counts, self.p[some], share, self.p[rows])
        out[OTHERS] = (0.0, float(w @ chances) * float(w.sum() / (w @ w)))
        return out

    @cached_property
    def laws(self) -> tuple[str, ...]:
        """The laws that the votes do not speak against; estimates are of the first."""
        likely = {law: self._fits[law][1] for law in LAWS if np.isfinite(self._fits[law][1])}
        if not likely:
            return (DIRICHLET,)
        best = max(likely, key=likely.__getitem__)
        kept = [law for law in likely if likely[best] - likely[law] <= AGAINST]
        first = DIRICHLET if DIRICHLET in kept else best
        return (first, *(law for law in kept if law != first))

    @cached_property
    def moves(self) -> VoteMoves:
        """What the laws say that votes add."""
        return VoteMoves(
            self.p, self.m, self.half, self._by_group, self.fitted, self.extrapolated,
            self.values_of, self.seed,
        )  # fmt: skip

    def table(self, name: str, law: str = DIRICHLET) -> Array:
        """What a row's value is to be moved by, at each spread: (spreads, n)."""
        return self.moves.table(name, law)

    # --- estimates -------------------------------------------------------------------------------

    def moved(self, name: str, law: str) -> Array:
        """The table of a value by row, group and spread: (n, groups * spreads)."""
        table = self.table(name, law).T
        return (self._by_group[:, :, None] * table[:, None, :]).reshape(len(self.p), -1)

    def estimates(self, sums: Array, law: str) -> Array:
        """Values against the true distributions of sums over rows as `of_rows` has them, (draws,
        columns).
        """
        g = self.n_groups
        square, room, table = np.split(sums[:, 2:], [g, 2 * g], axis=1)
        spread = np.divide(square, room, out=np.zeros(square.shape), where=room > 0)
        spread = np.clip(spread, 0.0, 1.0)
        table = table.reshape(-1, g, SPREADS.size)
        certain = self._certain(spread, law)
        moves = certain * table[..., -1] + (1.0 - certain) * at_spread(
            table, without(spread, certain)
        )
        out: Array = (sums[:, 1] + moves.sum(axis=1)) / sums[:, 0]
        return out

    def _certain(self, spread: Array, law: str) -> Array:
        return spread if law == CERTAIN else np.minimum(self._fits[law][0], spread)

    def estimate(self, name: str, law: str | None = None) -> float:
        """The mean of a value against the true distributions."""
        law = law or self.laws[0]
        return float(self.estimates(self.of_rows(name, law).sum(axis=0)[None], law)[0])

    def of_rows(self, name: str, law: str) -> Array:
        """What each row adds to the sums that an estimate is made of: (n, columns)."""
        own = [self.w[:, None], (self.w * self.base[name])[:, None]]
        return np.concatenate([*own, *self.columns(self.z), self.moved(name, law)], axis=1)

    def slopes(self, name: str, law: str) -> Array:
        """How the sum of values, then squares and rooms by group, change with the parameters of the
        mean: (parameters, 1 + 2 groups).
        """
        if ("slopes", name + law) not in self._sums:
            fit, two = self.fitted, self._by_group * (self.m > 1)[:, None]
            gradient = self.moves.gradient(name)
            certain = self._certain(self._spreads, law)
            rest = np.repeat(without(self._spreads, certain)[:, None], gradient.shape[2], axis=1)
            at = at_spread(gradient.transpose(0, 2, 1), rest)
            total = certain[:, None] * gradient[:, -1] + (1.0 - certain)[:, None] * at
            square = two.T @ fit.contracted(-2.0 * self.mean * (self.z - self.mean))
            room = two.T @ fit.contracted(-2.0 * self.mean * self.mean)
            parts = [total.sum(axis=0)[:, None], square.T, room.T]
            self._sums["slopes", name + law] = np.concatenate(parts, axis=1)
        return self._sums["slopes", name + law]

    def resampled(self, name: str, blocks: Blocks, counts: Array) -> dict[str, Array]:
        """Estimates in resamples of blocks of rows, their votes with them, by each law that the
        votes allow.
        """
        return {law: self._resampled(name, law, blocks, counts) for law in self.laws}

    def _resampled(self, name: str, law: str, blocks: Blocks, counts: Array) -> Array:
        rows = self.of_rows(name, law)
        # What a row changes by moving the mean; all together nothing, for it is fitted to them.
        rows[:, 1 : 2 + 2 * self.n_groups] += self.fitted.steps @ self.slopes(name, law)
        of_blocks = np.stack(
            [np.bincount(blocks.index, column, blocks.size) for column in rows.T], axis=1
        )
        return self.estimates(counts @ of_blocks, law)

    # --- the same rows, and other votes ----------------------------------------------------------

    @cached_property
    def _spreads(self) -> Array:
        """The spread about the mean of each group, certain rows included."""
        square, room = (column.sum(axis=0) for column in self.columns(self.z))
        total = np.divide(square, room, out=np.zeros(square.shape), where=room > 0)
        out: Array = np.clip(total, 0.0, 1.0)
        return out

    @property
    def spread(self) -> Array:
        """The spread of every row's law about its mean."""
        out: Array = self._spreads[self.group]
        return out

    def other_votes(self, rng: np.random.Generator) -> tuple[Array, Counts]:
        """Distributions that may be behind the votes of each row, and other votes of these."""
        spread = np.clip(self.spread, 1e-4, 1.0 - 1e-4)[:, None]
        q = gamma_rows(self.counts + self.mean * (1.0 - spread) / spread, rng)
        return q, drawn_counts(self.m, q, rng)

    def revoted(
        self, names: Iterable[str], counts: Counts, rng: np.random.Generator
    ) -> dict[str, float]:
        """Estimates for other votes of the same rows, by name; the model's tables stay."""
        z = counts / self.m[:, None]
        bases, law = self.bases(z, counts, rng), self.laws[0]
        squares = [column.sum(axis=0) for column in self.columns(z)]
        step = self.fitted.steps_of(z).sum(axis=0)
        total, out = self.w[:, None].sum(axis=0), {}
        for name in names:
            base = (self.w * bases[name])[:, None].sum(axis=0)
            sums = np.concatenate([total, base, *squares, self._moved_sums(name, law)])
            sums[1 : 2 + 2 * self.n_groups] += step @ self.slopes(name, law)
            out[name] = float(self.estimates(sums[None], law)[0])
        return out

    def _moved_sums(self, name: str, law: str) -> Array:
        if (name, law) not in self._sums:
            self._sums[name, law] = self.moved(name, law).sum(axis=0)
        return self._sums[name, law]
