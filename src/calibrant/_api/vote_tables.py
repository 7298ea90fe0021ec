"""Predictions beside votes: what is seen, and what right predictions show against so many votes.

Everything expected is drawn: votes from the predictions, as many as each row has, and then the same
table of them. Rows are sorted into bands of label entropy by the votes drawn, for votes that agree
by chance are in a band too: without that, every band would seem miscalibrated.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._core import distances
from calibrant._core.typing import Array, Counts, Index
from calibrant._data.samples import Samples
from calibrant._inference.budget import FEWEST_PROFILES, MOST_PROFILES, PROFILE_ENTRIES
from calibrant._inference.means import distribution_rows
from calibrant._inference.null import drawn_samples

Columns = dict[str, list[float]]
DISTANCE_EDGES = np.linspace(0.0, 1.0, 21)
N_ENTROPY_BINS = 10


@dataclass(frozen=True, eq=False)
class Pairs:
    """Predicted distributions and shares of votes, a row an item."""

    p: Array
    q: Array
    w: Array

    @cached_property
    def distance(self) -> Array:
        """Total variation between prediction and votes."""
        return np.asarray(0.5 * np.abs(self.p - self.q).sum(axis=1))

    @cached_property
    def predicted_entropy(self) -> Array:
        return entropy(self.p)

    @cached_property
    def label_entropy(self) -> Array:
        return entropy(self.q)

    @cached_property
    def overconfidence(self) -> Array:
        """The prediction of the top label less its share of the votes."""
        top = self.p.argmax(axis=1)[:, None]
        return (np.take_along_axis(self.p, top, 1) - np.take_along_axis(self.q, top, 1))[:, 0]


def entropy(rows: Array) -> Array:
    """Shannon entropy of each row, in nats, at least 0 where rows sum to 1 but for rounding."""
    return np.asarray(np.maximum(0.0, distances.entropy(rows)))


def pairs_of(samples: Samples) -> Pairs:
    """Samples as distributions over classes; a binary problem has two."""
    p, q = distribution_rows(samples)
    if samples.multiclass:
        p /= p.sum(axis=1, keepdims=True)
    w = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    return Pairs(p, q, w)


def drawn_pairs(samples: Samples, votes: Counts, seed: int) -> Iterator[Pairs]:
    """The same predictions with votes drawn from them, so many that it takes about a second."""
    most = PROFILE_ENTRIES // max(1, samples.n * samples.n_classes)
    n_draws, rng = min(max(most, FEWEST_PROFILES), MOST_PROFILES), np.random.default_rng((seed, 16))
    for sample in drawn_samples(samples, n_draws, rng, votes):
        yield pairs_of(sample)


# --- tables of pairs -----------------------------------------------------------------------------


def distance_shares(pairs: Pairs) -> Array:
    """The share of rows (by weight) in each bin of distances."""
    # The largest distance is in the last bin, and rounding puts none beyond it.
    counts, _ = np.histogram(np.minimum(pairs.distance, 1.0), DISTANCE_EDGES, weights=pairs.w)
    return np.asarray(counts / pairs.w.sum(), dtype=np.float64)


def entropy_edges(n_classes: int) -> Array:
    return np.linspace(0.0, np.log(n_classes), N_ENTROPY_BINS + 1)


def entropy_bin(pairs: Pairs, edges: Array) -> Index:
    """The bin of each row's predicted entropy."""
    inner = np.searchsorted(edges[1:-1], pairs.predicted_entropy, side="right")
    return inner.astype(np.intp)


def mean_by(index: Index, values: Array, w: Array, size: int) -> Array:
    """Weighted means of values by index; NaN where there is nothing."""
    mass = np.bincount(index, w, size)
    sums = np.bincount(index, w * values, size)
    return np.asarray(np.divide(sums, mass, out=np.full(size, np.nan), where=mass > 0))


def band_of(label_entropy: Array, bands: int) -> tuple[Index, Array]:
    """The quantile band of each label's entropy, equal ones together, and where bands end.

    Few votes have few entropies: bands that would be empty are not there.
    """
    cuts = np.quantile(label_entropy, np.arange(1, bands) / bands, method="inverted_cdf")
    # A band ends with all rows of its last entropy, rounding aside.
    cuts = np.unique(cuts[cuts < label_entropy.max() - 1e-12])
    return band_within(label_entropy, cuts), cuts


def band_within(label_entropy: Array, cuts: Array) -> Index:
    """The band of each entropy, of bands that end at the cuts."""
    return np.searchsorted(cuts + 1e-12, label_entropy, side="left").astype(np.intp)


def expected(values: list[Array], level: float) -> tuple[Array, Array, Array]:
    """Mean and limits of the draws, for each cell."""
    stacked, tail = np.stack(values), (1.0 - level) / 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cell that no draw has rows in
        low, high = np.nanquantile(stacked, [tail, 1.0 - tail], axis=0)
        return np.nanmean(stacked, axis=0), low, high


def bin_spread(u: Array, w: Array, votes: Array, index: Index, size: int) -> Array:
    """The standard deviation of each bin's mean target from its votes alone, if predictions are
    right: the root of sum w^2 u (1 - u) / m over the square of sum w.
    """
    mass = np.bincount(index, w, size)
    variance = np.bincount(index, w * w * u * (1.0 - u) / votes, size)
    squares = np.divide(variance, mass * mass, out=np.full(size, np.nan), where=mass > 0)
    return np.asarray(np.sqrt(squares))
