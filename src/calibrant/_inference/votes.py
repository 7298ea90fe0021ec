"""Votes: what a measure would be against the distributions that votes were drawn from.

m votes of a row with the distribution q show shares z that scatter about q, and distances from z
are larger than those from q. A polynomial of q of degree m has an unbiased estimate and nothing
else has: squares are corrected exactly (`_measures.votes`). Of other distances a model tells how
much m votes add. Given its prediction, a row's distribution is taken to be Dirichlet's, about the
prediction recalibrated by a slope and a shift for each class, with the spread that the second
moment of the votes shows. Where the model is wrong, half of the votes show it: what it misses
between half and all votes is extrapolated. Two or three votes cannot show it; limits are therefore
those of another law too, as far from Dirichlet's as one of the same mean and spread can be: some
rows are certain, and the others do not scatter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._inference.blocks import Blocks
from calibrant._inference.budget import VOTE_DRAWS, VOTE_ENTRIES
from calibrant._measures.votes import vote_variances

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
# Predictions and distributions (n, k) to values of every row, by name.
RowValues = Callable[[Array, Array], dict[str, Array]]

# Spreads of Dirichlet's law, 1 / (1 + concentration), at which the model is drawn: 0 is no scatter
# about the mean, 1 a row that is certain.
SPREADS = np.array(
    [0.0, 0.0025, 0.01, 0.025, 0.05, 0.1, 0.17, 0.25, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0]
)
_ROOTS = np.sqrt(SPREADS)
# How distributions scatter about the recalibrated predictions: all a little, or some rows being
# certain and the others not scattering at all. Few votes cannot tell the one from the other.
DIRICHLET, CERTAIN = LAWS = ("dirichlet", "certain")
# Halves of the votes that are drawn.
HALVES = 3
# What the log-likelihood must gain before some rows are taken to be certain, and the rows that it
# is computed for.
EVIDENCE, LIKELIHOOD_ROWS = 4.0, 20_000
# Rows that differ in how sure they are may scatter differently: so many groups of them, of at least
# so many rows each, where their spreads differ by more than chance.
GROUPS, GROUP_ROWS = 3, 100
DIFFERENT = 9.21  # the 99% point of chi-square with two degrees of freedom
# Beyond so many classes the mean has a slope alone.
SHIFTED_CLASSES = 30


def one_vote(z: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """A vote of each row, drawn from its shares."""
    through = np.cumsum(z, axis=1)
    drawn = rng.random(len(z)) * through[:, -1]
    index = (through <= drawn[:, None]).sum(axis=1)
    out: NDArray[np.intp] = np.minimum(index, z.shape[1] - 1).astype(np.intp)
    return out


def vote_residuals(z: Array, m: Counts, rng: np.random.Generator) -> Array:
    """A vector for each row whose square has the mean of the votes' covariance: a vote drawn from
    the row, less the shares, over ``sqrt(m - 1)``.
    """
    out = -z / np.sqrt(np.maximum(m - 1, 1))[:, None]
    rows = np.arange(len(z))
    picked = one_vote(z, rng)
    out[rows, picked] += 1.0 / np.sqrt(np.maximum(m - 1, 1))
    return np.where((m > 1)[:, None], out, 0.0)


def drawn_counts(m: Counts, q: Array, rng: np.random.Generator) -> Counts:
    """Votes drawn from distributions (..., n, k), m of each row."""
    left = np.broadcast_to(m, q.shape[:-1]).astype(np.int64)
    rest = np.ones(q.shape[:-1])
    out = np.zeros(q.shape, dtype=np.int64)
    for r in range(q.shape[-1] - 1):
        chance = np.divide(q[..., r], rest, out=np.ones_like(rest), where=rest > 0)
        out[..., r] = rng.binomial(left, np.clip(chance, 0.0, 1.0))
        left = left - out[..., r]
        rest = rest - q[..., r]
    out[..., -1] = left
    return out


def some_votes(counts: Counts, j: Counts, rng: np.random.Generator) -> Counts:
    """j of the votes of every row, drawn without replacement."""
    left, rest = j.astype(np.int64), counts.sum(axis=-1)
    left = np.broadcast_to(left, rest.shape)
    out = np.zeros_like(counts)
    for r in range(counts.shape[-1] - 1):
        rest = rest - counts[..., r]
        out[..., r] = rng.hypergeometric(counts[..., r], rest, left)
        left = left - out[..., r]
    out[..., -1] = left
    return out


def dirichlet(mean: Array, spread: float, n_draws: int, rng: np.random.Generator) -> Array:
    """Rows of Dirichlet's law about a mean, (draws, n, k)."""
    shape = (n_draws, *mean.shape)
    if spread <= 0.0:
        return np.broadcast_to(mean, shape)
    if spread >= 1.0:
        through = np.cumsum(mean, axis=1)
        label = (through < rng.random((*shape[:2], 1)) * through[:, -1:]).sum(axis=2)
        out: Array = np.eye(shape[2])[np.minimum(label, shape[2] - 1)]
        return out
    return gamma_rows(np.broadcast_to(mean * (1.0 - spread) / spread, shape), rng)


def _normalised(logs: Array) -> Array:
    out: Array = np.exp(logs - logs.max(axis=-1, keepdims=True))
    out /= out.sum(axis=-1, keepdims=True)
    return out


def gamma_rows(a: Array, rng: np.random.Generator) -> Array:
    """Distributions drawn from Dirichlet's law with parameters (n, k)."""
    a = np.maximum(a, 1e-12)
    # A gamma variate of a small shape underflows: the logarithm of one of shape a + 1 does not.
    return _normalised(np.log(rng.standard_gamma(a + 1.0)) + np.log(rng.random(a.shape)) / a)


def log_chances(counts: Counts, mean: Array, spread: float) -> Array:
    """The log-likelihood of every row's votes under Dirichlet's law, but for a constant."""
    from scipy.special import gammaln

    m = counts.sum(axis=1)
    if spread >= 1.0:
        own = np.where(counts.max(axis=1) == m, mean[np.arange(len(m)), counts.argmax(axis=1)], 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(own), dtype=np.float64)
    if spread <= 1e-6:
        out: Array = (counts * np.log(np.maximum(mean, 1e-12))).sum(axis=1)
        return out
    a = (1.0 - spread) / spread
    each = np.maximum(a * mean, 1e-9)
    own = (gammaln(each + counts) - gammaln(each)).sum(axis=1)
    return np.asarray(own - gammaln(a + m) + gammaln(a), dtype=np.float64)


def without(spread: Any, certain: Any) -> Any:
    """The spread of the other rows, where a share of all is certain."""
    return np.clip((spread - certain) / np.maximum(1.0 - certain, 1e-9), 0.0, 1.0)


def _at(table: Array, spread: Array) -> Array:
    """A table (..., spreads) at spreads between those that it has."""
    at = np.clip(np.searchsorted(SPREADS, spread) - 1, 0, SPREADS.size - 2)
    # Distances grow with the root of the spread.
    share = (np.sqrt(spread) - _ROOTS[at]) / (_ROOTS[at + 1] - _ROOTS[at])
    below, above = (
        np.take_along_axis(table, each[..., None], axis=-1)[..., 0] for each in (at, at + 1)
    )
    out: Array = (1.0 - share) * below + share * above
    return out


def recalibrated_mean(p: Array, z: Array, w: Array) -> Array:
    """The predictions after a slope on their logarithms and a shift for each class, fitted to the
    shares by maximum likelihood; a little is held against leaving them as they are.
    """
    k = p.shape[1]
    h = np.log(np.maximum(p, 1e-6))
    h = h - h.mean(axis=1, keepdims=True)
    shifts = k - 1 if k <= SHIFTED_CLASSES else 0
    slope, shift = 1.0, np.zeros(k)
    w = w * (len(w) / w.sum())
    for _ in range(40):
        mean = _normalised(slope * h + shift)
        away = w[:, None] * (z - mean)
        score = np.concatenate([[(away * h).sum()], away.sum(axis=0)[:shifts]])
        score -= 1e-3 * np.concatenate([[slope - 1.0], shift[:shifts]])
        information = _information(h, mean, w, shifts) + 1e-3 * np.eye(shifts + 1)
        step = np.linalg.solve(information, score)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        slope += float(step[0])
        shift[:shifts] += step[1:]
        if np.abs(step).max() < 1e-9:
            break
    return _normalised(slope * h + shift)


def _information(h: Array, mean: Array, w: Array, shifts: int) -> Array:
    wm = w[:, None] * mean
    centre = (mean * h).sum(axis=1)
    out = np.zeros((shifts + 1, shifts + 1))
    out[0, 0] = (wm * h * h).sum() - (w * centre**2).sum()
    cross = (wm * (h - centre[:, None])).sum(axis=0)[:shifts]
    out[0, 1:] = out[1:, 0] = cross
    out[1:, 1:] = (np.diag(wm.sum(axis=0)) - mean.T @ wm)[:shifts, :shifts]
    return out


@dataclass(frozen=True, eq=False)
class VoteModel:
    """Rows of predictions p and shares z (n, k) of m votes, and the law of what is behind them."""

    p: Array
    z: Array
    m: Counts
    w: Array
    values_of: RowValues
    seed: int = 0
    _sums: dict[str, Array] = field(default_factory=dict)

    @cached_property
    def counts(self) -> Counts:
        return np.rint(self.z * self.m[:, None]).astype(np.int64)

    @cached_property
    def half(self) -> Counts:
        return np.maximum(self.m // 2, 1)

    @cached_property
    def mean(self) -> Array:
        """The mean of each row's distribution, by a recalibration of its prediction."""
        return recalibrated_mean(self.p, self.z, self.w * self.m)

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

    def _square(self, z: Array) -> Array:
        """Unbiased squares of the distance between true distributions and their means."""
        noise = vote_variances(z, self.m).sum(axis=1)
        out: Array = ((z - self.mean) ** 2).sum(axis=1) - noise
        return out

    def columns(self, z: Array) -> list[Array]:
        """What each row adds to the squares about the means, and to what these would be if every
        row were certain, by group: each (n, groups).
        """
        own = np.eye(self.n_groups)[self.group] * (self.w * (self.m > 1))[:, None]
        return [own * self._square(z)[:, None], own * self.room[:, None]]

    @property
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
        j = self.half[:, None]
        drawn = [
            self.values_of(self.p, some_votes(counts, self.half, rng) / j) for _ in range(HALVES)
        ]
        return {
            name: values + self.extrapolated * (values - np.mean([d[name] for d in drawn], axis=0))
            for name, values in rows.items()
        }

    @cached_property
    def certain(self) -> float:
        """The share of rows that are certain, beside Dirichlet's law, where the votes show one."""
        some = slice(None, None, max(1, len(self.p) // LIKELIHOOD_ROWS))
        counts, mean, w = self.counts[some], self.mean[some], self.w[some]
        square, room = (float(column.sum()) for column in self.columns(self.z))
        total = min(max(square / room, 0.0), 1.0) if room > 0 else 0.0
        agree = log_chances(counts, mean, 1.0)
        shares = np.linspace(0.0, 0.95 * total, 12)
        fits = []
        for share in shares:
            own = log_chances(counts, mean, float(without(total, share)))
            with np.errstate(divide="ignore"):
                both = np.logaddexp(np.log1p(-share) + own, np.log(share) + agree)
            fits.append(float(w @ both) * (w.sum() / (w @ w)))
        best = int(np.argmax(fits))
        if not np.isfinite(fits[best]):  # votes that no share of certain rows makes possible
            return 0.0
        return float(shares[best]) if fits[best] - fits[0] > EVIDENCE else 0.0

    @cached_property
    def base(self) -> dict[str, Array]:
        return self.bases(self.z, self.counts, np.random.default_rng((self.seed, 21)))

    @cached_property
    def table(self) -> dict[str, Array]:
        """What a row's value is to be moved by, at each spread: {name: (spreads, n)}."""
        n, k = self.p.shape
        rng = np.random.default_rng((self.seed, 22))
        n_draws = int(np.clip(VOTE_ENTRIES // (n * k * SPREADS.size), 1, VOTE_DRAWS))
        out: dict[str, list[Array]] = {}
        lam = self.extrapolated
        for spread in SPREADS:
            sums: dict[str, Array] = {}
            for q in dirichlet(self.mean, float(spread), n_draws, rng):
                votes = drawn_counts(self.m, q, rng)
                truth, whole = (self.values_of(self.p, x) for x in (q, votes / self.m[:, None]))
                half = whole
                if lam:
                    some = some_votes(votes, self.half, rng)
                    half = self.values_of(self.p, some / self.half[:, None])
                for name in truth:
                    move = truth[name] - whole[name] - lam * (whole[name] - half[name])
                    sums[name] = sums.get(name, np.zeros(n)) + move / n_draws
            for name, moves in sums.items():
                out.setdefault(name, []).append(moves)
        return {name: np.stack(moves) for name, moves in out.items()}

    def moved(self, name: str) -> Array:
        """The table of a value by row, group and spread: (n, groups * spreads)."""
        own = np.eye(self.n_groups)[self.group] * self.w[:, None]
        table = self.table[name].T
        return (own[:, :, None] * table[:, None, :]).reshape(len(self.p), -1)

    def estimates(self, sums: Array, law: str) -> Array:
        """Values against the true distributions of sums over rows as `of_rows` has them, (draws,
        columns).
        """
        g = self.n_groups
        square, room, table = np.split(sums[:, 2:], [g, 2 * g], axis=1)
        spread = np.divide(square, room, out=np.zeros(square.shape), where=room > 0)
        spread = np.clip(spread, 0.0, 1.0)
        table = table.reshape(-1, g, SPREADS.size)
        certain = spread if law == CERTAIN else np.minimum(self.certain, spread)
        moves = certain * table[..., -1] + (1.0 - certain) * _at(table, without(spread, certain))
        out: Array = (sums[:, 1] + moves.sum(axis=1)) / sums[:, 0]
        return out

    def estimate(self, name: str, law: str = DIRICHLET) -> float:
        """The mean of a value against the true distributions."""
        return float(self.estimates(self.of_rows(name).sum(axis=0)[None], law)[0])

    def of_rows(self, name: str) -> Array:
        """What each row adds to the sums that an estimate is made of: (n, columns)."""
        own = [self.w[:, None], (self.w * self.base[name])[:, None]]
        return np.concatenate([*own, *self.columns(self.z), self.moved(name)], axis=1)

    def resampled(self, name: str, blocks: Blocks, counts: Array) -> dict[str, Array]:
        """Estimates in resamples of blocks of rows, their votes with them, by each law."""
        of_blocks = np.stack(
            [np.bincount(blocks.index, column, blocks.size) for column in self.of_rows(name).T],
            axis=1,
        )
        sums = counts @ of_blocks
        return {law: self.estimates(sums, law) for law in LAWS}

    # --- the same rows, and other votes ----------------------------------------------------------

    @cached_property
    def spread(self) -> Array:
        """The spread of every row's law about its mean, certain rows included."""
        square, room = (column.sum(axis=0) for column in self.columns(self.z)[:2])
        total = np.divide(square, room, out=np.zeros(square.shape), where=room > 0)
        out: Array = np.clip(total, 0.0, 1.0)[self.group]
        return out

    def other_votes(self, rng: np.random.Generator) -> tuple[Array, Counts]:
        """Distributions that may be behind the votes of each row, and other votes of these."""
        spread = np.clip(self.spread, 1e-4, 1.0 - 1e-4)[:, None]
        q = gamma_rows(self.counts + self.mean * (1.0 - spread) / spread, rng)
        return q, drawn_counts(self.m, q, rng)

    def revoted(self, name: str, counts: Counts, rng: np.random.Generator) -> float:
        """The estimate for other votes of the same rows; the model's tables stay."""
        z = counts / self.m[:, None]
        base = (self.w * self.bases(z, counts, rng)[name])[:, None]
        columns = [self.w[:, None], base, *self.columns(z)]
        sums = np.concatenate([c.sum(axis=0) for c in columns] + [self._moved_sums(name)])
        return float(self.estimates(sums[None], DIRICHLET)[0])

    def _moved_sums(self, name: str) -> Array:
        if name not in self._sums:
            self._sums[name] = self.moved(name).sum(axis=0)
        return self._sums[name]
