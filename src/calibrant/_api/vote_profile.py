"""vote_profile(): predictions beside votes; entropy_bands(): rows by how much people disagree.

What right predictions would show is drawn: votes are drawn from the predictions, as many as each
row has, and the same table is made of them. Rows are sorted into bands of label entropy by the
votes that are drawn, because votes that agree by chance are in a band too: otherwise every band
would seem miscalibrated.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.rows import as_samples, note_two_columns
from calibrant._core import distances
from calibrant._core.arguments import WeightedRowsWithGaps
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import InputError
from calibrant._core.typing import Array, Counts, Index
from calibrant._core.validation import check_count, check_level, check_seed, public
from calibrant._data.arrays import to_array
from calibrant._data.columns import pick
from calibrant._data.counts import labels_of, votes_per_row
from calibrant._data.explain import explained
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import whole_problem
from calibrant._inference.budget import FEWEST_PROFILES, MOST_PROFILES, PROFILE_ENTRIES
from calibrant._inference.means import distribution_rows
from calibrant._inference.null import drawn_samples
from calibrant._summaries.samples import Summary
from calibrant.results._reliability import ReliabilityTable
from calibrant.results._vote_profile import VoteProfile

DISTANCE_EDGES = np.linspace(0.0, 1.0, 21)
N_ENTROPY_BINS = 10


@public
def vote_profile(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    votes: ArrayLike | None = None,
    bins: Bins = 15,
    bands: int = 4,
    level: float = 0.95,
    seed: int = 0,
    **rows: Unpack[WeightedRowsWithGaps],
) -> VoteProfile:
    """Compare predictions with human votes, and with the values expected for that many votes.

    The profile has reliability with vote noise, distances between rows and their votes, entropies
    of predictions and votes, and distances by bands of disagreement. Each comes with the value
    expected from a perfect model with the same number of votes.

    Parameters
    ----------
    y_true
        Counts of votes (n, k), or (n, 2) for (n,) predictions; shares of votes, with `votes`; or
        hard labels, which are one vote each. With `data`, names of columns.
    votes
        Number of votes behind each soft label; counts need none.
    bins
        Bins of the reliability diagram.
    bands : int, default 4
        Number of quantile bands of the votes' entropy; rows of equal entropy stay together, so
        there may be fewer.
    level
        Level of the intervals of expected values.
    seed
        Seed of the draws.
    data (in memory)

    Returns
    -------
    VoteProfile
        `bins`, `distances`, `entropies` and `bands` as columns; prints as the table of bands, and
        `plot` draws all of it.

    Raises
    ------
    InputError
        If labels are soft and their number of votes is unknown.

    Notes
    -----
    Bands are formed by the votes' entropy: where few votes agree by chance, even a perfect model
    seems underconfident. Expected values are therefore for rows whose votes, drawn from the
    predictions, lie in the band.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 500)
    >>> profile = cal.vote_profile(rng.multinomial(5, p), p)
    >>> profile.n_votes, len(profile.bands["band"])
    (2500, 3)
    """
    samples = as_samples(y_true, y_proba, votes=votes, **rows)
    _ = Summary(samples).losses  # every value is checked on its way
    found = profile_of(samples, bins, bands=bands, level=level, seed=seed)
    return note_two_columns(found, samples, found.notion)


def profile_of(
    samples: Samples, bins: Bins = 15, *, bands: int = 4, level: float = 0.95, seed: int = 0
) -> VoteProfile:
    """Compute the profile of validated rows; the arguments are those of `vote_profile`."""
    check_seed(seed)
    level, bands = check_level(level), check_count("bands", bands, 1)
    votes = _votes_of(samples)
    pairs = _pairs_of(samples)
    index, cuts = _bands_by_entropy(pairs.label_entropy, bands)
    edges = _entropy_edges(samples.n_classes)
    at = _entropy_bin(pairs, edges)
    drawn: dict[str, list[Array]] = {}
    for each in _simulated_pairs(samples, votes, int(seed)):
        own = _band_by_cuts(each.label_entropy, cuts)
        for name, values in {
            "distances": _distance_shares(each),
            "entropies": _mean_by_index(at, each.label_entropy, each.w, edges.size - 1),
            "dist_ce": _mean_by_index(own, each.distance, each.w, cuts.size + 1),
            "overconfidence": _mean_by_index(own, each.overconfidence, each.w, cuts.size + 1),
        }.items():
            drawn.setdefault(name, []).append(values)
    parts = {name: _mean_and_limits(values, level) for name, values in drawn.items()}
    reliability, notion = _reliability_columns(samples, bins, votes, level)
    return VoteProfile(
        bins=reliability,
        distances={
            "lower": DISTANCE_EDGES[:-1].tolist(),
            "upper": DISTANCE_EDGES[1:].tolist(),
            "share": _distance_shares(pairs).tolist(),
            **_expected_columns("", parts["distances"]),
        },
        entropies={
            "lower": edges[:-1].tolist(),
            "upper": edges[1:].tolist(),
            "n": np.bincount(at, minlength=edges.size - 1).tolist(),
            "predicted": _mean_by_index(
                at, pairs.predicted_entropy, pairs.w, edges.size - 1
            ).tolist(),
            "label": _mean_by_index(at, pairs.label_entropy, pairs.w, edges.size - 1).tolist(),
            **_expected_columns("", parts["entropies"]),
        },
        bands=_band_columns(pairs, index, parts),
        n=samples.n,
        n_votes=int(votes.sum()),
        notion=notion,
        level=level,
        n_draws=len(drawn["distances"]),
        seed=int(seed),
    )


def _votes_of(samples: Samples) -> Counts:
    """The number of votes behind each label, (n,); 1 for hard labels.

    An InputError is raised for soft labels whose votes are not known.
    """
    if samples.votes is not None:
        return np.asarray(samples.votes)
    class_indices = samples.multiclass and not samples.soft_rows
    if not class_indices and not np.isin(samples.targets, (0, 1)).all():
        raise InputError(
            "y_true holds soft labels of an unknown number of votes: give votes=, or vote counts "
            "as y_true"
        )
    return np.ones(samples.n, dtype=np.int64)


def _reliability_columns(
    samples: Samples, bins: Bins, votes: Counts, level: float
) -> tuple[dict[str, list[Any]], str]:
    """The reliability table as columns by name, and the notion: "binary" or "confidence".

    "low" and "high" bound the mean target that votes show by chance if predictions are right;
    `votes` is the number of votes of each row.
    """
    from scipy.special import ndtri

    fixed, quantile = both_rules(bins, samples.n)
    summary = Summary(samples, fixed, quantile)
    with explained(samples):
        table, cuts = summary.table_with_cuts(summary.scalar, fixed)
        u, _, w, _ = whole_problem(samples, summary.scalar)
    weights = np.ones(samples.n) if w is None else w
    at = np.clip(cuts.find(u), 0, table.n_bins - 1).astype(np.intp)
    spread = _bin_standard_deviations(u, weights, votes.astype(np.float64), at, table.n_bins)
    reach = float(ndtri(0.5 + level / 2.0)) * spread
    columns = ReliabilityTable(table, fixed, cuts, summary.scalar).columns()
    middle = np.array(columns["mean_predicted"])
    names = ("lower", "upper", "n", "mean_predicted", "mean_target")
    return {
        **{name: columns[name] for name in names},
        "low": np.maximum(0.0, middle - reach).tolist(),
        "high": np.minimum(1.0, middle + reach).tolist(),
    }, summary.scalar


def _band_columns(pairs: _Pairs, index: Index, parts: dict[str, Any]) -> dict[str, list[Any]]:
    """The means of each band of rows with similar label entropy, as columns by name.

    `index` has the band of each row. `parts` has the means and bounds of simulated votes by name
    (see `_mean_and_limits`).
    """
    size = int(index.max()) + 1
    columns: dict[str, list[Any]] = {
        "band": _band_names(pairs.label_entropy, index),
        "n": np.bincount(index, minlength=size).tolist(),
        "entropy": _mean_by_index(index, pairs.label_entropy, pairs.w, size).tolist(),
    }
    for name, values in (("dist_ce", pairs.distance), ("overconfidence", pairs.overconfidence)):
        columns[name] = _mean_by_index(index, values, pairs.w, size).tolist()
        columns |= _expected_columns(f"{name}_", parts[name])
    return columns


def _expected_columns(prefix: str, parts: tuple[Any, Any, Any]) -> dict[str, list[float]]:
    """Expected values and their limits as columns called prefix + "expected", "low" and "high"."""
    names = ("expected", "low", "high")
    return {f"{prefix}{name}": part.tolist() for name, part in zip(names, parts, strict=True)}


def _band_names(label_entropy: Array, index: Index) -> list[str]:
    """The name of each band, with its range of entropies; `index` has the band of each row."""
    size = int(index.max()) + 1
    out = []
    for band in range(size):
        own = label_entropy[index == band]
        low, high = f"{own.min():.2f}", f"{own.max():.2f}"
        out.append(f"{band + 1} of {size}: entropy {low if low == high else f'{low} to {high}'}")
    return out


@public
def entropy_bands(
    y_true: ArrayLike, *, bands: int = 4, votes: ArrayLike | None = None, data: Any = None
) -> NDArray[Any]:
    """Sort rows into bands by how much people disagree: the entropy of their votes.

    Use it as ``by=`` of any function: ``evaluate(counts, p, by=entropy_bands(counts))``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), or list of str
        Counts or shares of votes; (n,) are shares of class 1, or counts of it with `votes`.
    bands : int, default 4
        Number of quantile bands; rows of equal entropy stay together, so there may be fewer.
    votes
        Number of all votes of each row, where (n,) labels are counts.
    data (in memory)

    Returns
    -------
    ndarray of shape (n,) of str
        The band of each row, as texts that sort by entropy (in nats).

    Raises
    ------
    InputError
        If the labels are neither counts nor shares.

    Notes
    -----
    Bands are formed by the labels themselves, so even a perfect model seems underconfident if few
    votes agree by chance; `vote_profile` says by how much.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.entropy_bands([[4, 0], [2, 2], [0, 4], [1, 3]], bands=2).tolist()
    ['1 of 2: entropy 0.00', '2 of 2: entropy 0.56 to 0.69', '1 of 2: entropy 0.00', \
'2 of 2: entropy 0.56 to 0.69']
    """
    bands = check_count("bands", bands, 1)
    if data is not None:
        y_true = pick(data, y_true, "y_true")
        votes = pick(data, votes, "votes") if isinstance(votes, str) else votes
    targets = to_array(y_true, "y_true")
    if targets.ndim not in (1, 2) or targets.dtype.kind not in "iuf" or not targets.size:
        raise InputError(
            f"y_true must be counts or shares of votes; got the shape {targets.shape}, "
            f"{targets.dtype}"
        )
    given = None if votes is None else votes_per_row(votes, targets.shape[0])
    shares = labels_of(targets, given, 1 if targets.ndim == 1 else targets.shape[1]).targets
    rows = shares.astype(np.float64)
    rows = rows if rows.ndim == 2 else np.column_stack([1.0 - rows, rows])
    wrong = ~((rows >= -1e-4).all(axis=1) & (np.abs(rows.sum(axis=1) - 1.0) <= 1e-4))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"y_true[{row}] is {targets[row].tolist()}: labels must be vote counts in every row, "
            "or vote shares, which sum to 1"
        )
    of_rows = _entropy(np.clip(rows, 0.0, 1.0))
    index, _ = _bands_by_entropy(of_rows, bands)
    return np.array(_band_names(of_rows, index))[index]


# --- tables of predictions beside votes ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Predictions and votes: distributions p and vote shares q, (n, classes), weights w, (n,)."""

    p: Array
    q: Array
    w: Array

    @cached_property
    def distance(self) -> Array:
        """The total variation between each row's prediction and its votes, (n,)."""
        return np.asarray(0.5 * np.abs(self.p - self.q).sum(axis=1))

    @cached_property
    def predicted_entropy(self) -> Array:
        """The entropy of each row's prediction in nats, (n,)."""
        return _entropy(self.p)

    @cached_property
    def label_entropy(self) -> Array:
        """The entropy of each row's shares of votes in nats, (n,)."""
        return _entropy(self.q)

    @cached_property
    def overconfidence(self) -> Array:
        """The probability of each row's top label less that label's share of the votes, (n,)."""
        top = self.p.argmax(axis=1)[:, None]
        return (np.take_along_axis(self.p, top, 1) - np.take_along_axis(self.q, top, 1))[:, 0]


def _entropy(rows: Array) -> Array:
    """The Shannon entropy of each row in nats; rounding below 0 is removed."""
    return np.asarray(np.maximum(0.0, distances.entropy(rows)))


def _pairs_of(samples: Samples) -> _Pairs:
    """Predictions and targets of samples as distributions over classes, (n, classes).

    (n,) predictions become two columns.
    """
    p, q = distribution_rows(samples)
    if samples.multiclass:
        p /= p.sum(axis=1, keepdims=True)
    w = np.ones(samples.n) if samples.weights is None else samples.weights.astype(np.float64)
    return _Pairs(p, q, w)


def _simulated_pairs(samples: Samples, votes: Counts, seed: int) -> Iterator[_Pairs]:
    """Yield the same predictions with votes drawn from them, again and again, for about a second.

    `votes` is the number of votes of each row.
    """
    most = PROFILE_ENTRIES // max(1, samples.n * samples.n_classes)
    n_draws, rng = min(max(most, FEWEST_PROFILES), MOST_PROFILES), np.random.default_rng((seed, 16))
    for sample in drawn_samples(samples, n_draws, rng, votes):
        yield _pairs_of(sample)


def _distance_shares(pairs: _Pairs) -> Array:
    """The share of the weight in each bin of distances; DISTANCE_EDGES are the bins' edges."""
    # The largest distance is in the last bin, and rounding puts none beyond it.
    counts, _ = np.histogram(np.minimum(pairs.distance, 1.0), DISTANCE_EDGES, weights=pairs.w)
    return np.asarray(counts / pairs.w.sum(), dtype=np.float64)


def _entropy_edges(n_classes: int) -> Array:
    """The edges of N_ENTROPY_BINS equal bins from 0 to log(n_classes), the largest entropy."""
    return np.linspace(0.0, np.log(n_classes), N_ENTROPY_BINS + 1)


def _entropy_bin(pairs: _Pairs, edges: Array) -> Index:
    """The index of the bin that each row's predicted entropy lies in."""
    inner = np.searchsorted(edges[1:-1], pairs.predicted_entropy, side="right")
    return inner.astype(np.intp)


def _mean_by_index(index: Index, values: Array, w: Array, size: int) -> Array:
    """The weighted mean of the values of each index 0 to size - 1; NaN for one without rows."""
    mass = np.bincount(index, w, size)
    sums = np.bincount(index, w * values, size)
    return np.asarray(np.divide(sums, mass, out=np.full(size, np.nan), where=mass > 0))


def _bands_by_entropy(label_entropy: Array, bands: int) -> tuple[Index, Array]:
    """Sort rows into bands by label entropy: the band of each row, and the bands' upper ends.

    Bands are cut at quantiles; the last has no end. Equal entropies are in one band. Few votes have
    few distinct entropies: there may be fewer bands than asked for, since none is empty.
    """
    cuts = np.quantile(label_entropy, np.arange(1, bands) / bands, method="inverted_cdf")
    # A band ends with all rows of its last entropy, rounding aside.
    cuts = np.unique(cuts[cuts < label_entropy.max() - 1e-12])
    return _band_by_cuts(label_entropy, cuts), cuts


def _band_by_cuts(label_entropy: Array, cuts: Array) -> Index:
    """The index of each entropy's band, (n,); band j ends with the entropy cuts[j]."""
    return np.searchsorted(cuts + 1e-12, label_entropy, side="left").astype(np.intp)


def _mean_and_limits(values: list[Array], level: float) -> tuple[Array, Array, Array]:
    """The mean, lower limit and upper limit of simulated arrays, entry by entry, without NaN."""
    stacked, tail = np.stack(values), (1.0 - level) / 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cell that no draw has rows in
        low, high = np.nanquantile(stacked, [tail, 1.0 - tail], axis=0)
        return np.nanmean(stacked, axis=0), low, high


def _bin_standard_deviations(u: Array, w: Array, votes: Array, index: Index, size: int) -> Array:
    """The standard deviation of each bin's mean target that is due to votes alone, (size,).

    For right predictions its square is sum w^2 u (1 - u) / m over (sum w)^2, where m is the votes
    of a row and `index` its bin. NaN in an empty bin.
    """
    mass = np.bincount(index, w, size)
    variance = np.bincount(index, w * w * u * (1.0 - u) / votes, size)
    squares = np.divide(variance, mass * mass, out=np.full(size, np.nan), where=mass > 0)
    return np.asarray(np.sqrt(squares))
