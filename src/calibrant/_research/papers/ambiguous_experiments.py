"""The experiments of Tao et al. (2026): maps fitted to the majority, to a vote, and to all votes.

Section 4 has made-up points. Of the rows of real predictors half are fitted to and the other half
judged, as in the paper: by the shares of the votes, and by single votes drawn from them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant import scaling
from calibrant._api.compare import compare
from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.losses import brier_score, log_loss
from calibrant._core.progress import TaskProgress
from calibrant._core.typing import Array, Counts, Index, Mask
from calibrant._research.papers.ambiguous_votes import VotedPredictor
from calibrant._research.papers.folder import Columns

MAJORITY, ONE_VOTE, SHARES = "majority", "one vote", "shares"
TARGETS = (MAJORITY, ONE_VOTE, SHARES)
MAPS = ("temperature", "vector", "matrix", "Dirichlet", "isotonic")
LABEL_SMOOTHING = "label smoothing"
# The paper's code penalises a sum of squares, the library a mean: `_unfitted_map` converts.
PENALTY = 1e-3
# The clusters of section 4, and the distribution of votes in each.
MEANS = np.array([[-3.2, 1.1], [0.0, 0.0], [3.2, -1.1]])
SPREADS = np.array([[0.60, 0.45], [1.15, 0.75], [0.60, 0.45]])
CLUSTER_VOTES = np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]])
N_VOTES = 10


class Method(NamedTuple):
    """A recalibration map and the targets that it is fitted to; both as printed."""

    map: str
    targets: str

    def __str__(self) -> str:
        return f"{self.map}, {self.targets}" if self.targets else self.map


RAW = Method("unchanged", "")
SMOOTHED = Method(LABEL_SMOOTHING, MAJORITY)
RATE_KNOWN = Method(LABEL_SMOOTHING, "majority, rate known")
METHODS = (RAW, *(Method(m, t) for m in MAPS for t in TARGETS), SMOOTHED, RATE_KNOWN)
TS, SOFT_TS = Method("temperature", MAJORITY), Method("temperature", SHARES)
DIRICHLET = Method("Dirichlet", SHARES)
# What the paper calls the methods that it prints.
PAPER_NAMES: Mapping[Method, str] = {
    RAW: "Uncalibrated",
    TS: "TS",
    Method("matrix", MAJORITY): "Dirichlet-Hard",
    SMOOTHED: "LS-TS",
    Method("temperature", ONE_VOTE): "MCTS S=1",
    SOFT_TS: "SLTS",
    Method("vector", SHARES): "SoftPlatt",
    Method("matrix", SHARES): "Dirichlet-Soft",
}
COMPARED = (TS, SMOOTHED, Method("temperature", ONE_VOTE), SOFT_TS, DIRICHLET)


@dataclass(frozen=True, eq=False)
class Judged:
    """The errors of one recalibration map on held-out rows.

    `ece` and `log_loss` are against the shares of the votes; `drawn_ece` and `brier` are means
    against single votes drawn from them. `temperature` is None if the map has none.
    """

    ece: float
    drawn_ece: float
    brier: float
    log_loss: float
    temperature: float | None


@dataclass(frozen=True, eq=False)
class Outcome:
    """The errors of all methods for one predictor: means over splits, and differences to TS.

    TS is the temperature fitted to the majority of the votes; differences are those of the first
    split. `rows` is the name of the predictor's set of rows.
    """

    name: str
    rows: str
    n: int
    n_classes: int
    errors: float  # how often the predictor's top label is not the majority's
    departing: float  # how often single votes are not the majority's
    smoothing: float
    judged: Mapping[Method, Judged]
    spread: Mapping[Method, float]  # the standard deviation of the ECE over splits
    comparison: Mapping[Method, tuple[Any, Any]]  # differences to TS: ECE, log loss

    def reduction(self, method: Method) -> float:
        """The share of TS's ECE that the method removes; negative if its ECE is larger."""
        return 1.0 - self.judged[method].ece / self.judged[TS].ece


def outcomes(
    predictors: tuple[VotedPredictor, ...],
    seed: int,
    progress: TaskProgress,
    *,
    n_splits: int,
    n_draws: int,
    n_resamples: int,
) -> list[Outcome]:
    """Fit every method to half of each predictor's rows, and measure it on the other half.

    The result has an outcome for each predictor, with means over `n_splits` random halves. The ECE
    against single votes is the mean over `n_draws` draws of a vote for each row; `n_resamples`
    bootstrap resamples give the intervals of differences.
    """
    found = []
    with progress.task("Predictors with votes", len(predictors)) as step:
        for predictor in predictors:
            found.append(_outcome_of(predictor, seed, n_splits, n_draws, n_resamples))
            step()
    return found


def _outcome_of(
    predictor: VotedPredictor, seed: int, n_splits: int, n_draws: int, n_resamples: int
) -> Outcome:
    """Fit and measure all methods on every split of one predictor's rows; see `outcomes`."""
    shares, majority = predictor.shares, predictor.votes.argmax(axis=1)
    runs: list[dict[Method, Judged]] = []
    comparison: dict[Method, tuple[Any, Any]] = {}
    for split in range(n_splits):
        rng = np.random.default_rng(seed + split)
        fitted = half_of_each_class(majority, rng)
        maps, temperatures = fit_and_map(predictor, fitted, rng)
        judged_on = shares[~fitted]
        runs.append(
            {
                m: _measure_map(judged_on, p, temperatures.get(m), n_draws, seed)
                for m, p in maps.items()
            }
        )
        if split == 0:
            epsilon = temperatures[RATE_KNOWN, "smoothing"], temperatures[SMOOTHED, "smoothing"]
            comparison = _differences_to_ts(judged_on, maps, n_resamples, seed)
    judged = {m: _mean_over_splits([run[m] for run in runs]) for m in METHODS}
    spread = {m: float(np.std([run[m].ece for run in runs])) for m in METHODS}
    wrong = float((predictor.logits.argmax(axis=1) != majority).mean())
    return Outcome(
        predictor.name,
        predictor.rows,
        len(majority),
        shares.shape[1],
        wrong,
        epsilon[0],
        epsilon[1],
        judged,
        spread,
        comparison,
    )


def half_of_each_class(majority: Index, rng: np.random.Generator) -> Mask:
    """A random half of the rows of each class, as a mask, (n,).

    `majority` has the class with the most votes in each row.
    """
    chosen = np.zeros(len(majority), dtype=np.bool_)
    for label in range(int(majority.max()) + 1):
        rows = np.flatnonzero(majority == label)
        chosen[rng.choice(rows, size=len(rows) // 2, replace=False)] = True
    return chosen


def draw_votes(shares: Array, rng: np.random.Generator) -> Index:
    """Draw one vote (a class) for each row, (n,), with the row's shares as probabilities."""
    levels = np.cumsum(shares, axis=1)
    levels[:, -1] = 1.0
    return (rng.random((len(shares), 1)) >= levels).sum(axis=1)


def fit_and_map(
    predictor: VotedPredictor, fitted: Mask, rng: np.random.Generator
) -> tuple[dict[Method, Array], dict[Any, float]]:
    """Fit each method to the rows in the mask `fitted`, and apply it to the other rows.

    The first result has the probabilities of those rows by method. The second has temperatures by
    method, and under ``(method, "smoothing")`` the amount of label smoothing.
    """
    logits, shares = predictor.logits, predictor.shares[fitted]
    majority = predictor.votes[fitted].argmax(axis=1)
    targets: dict[str, Any] = {
        MAJORITY: majority,
        ONE_VOTE: draw_votes(shares, rng),
        SHARES: shares,
    }
    departing = float(1.0 - shares.max(axis=1).mean())
    out: dict[Method, Array] = {RAW: _softmax(logits[~fitted])}
    numbers: dict[Any, float] = {(RATE_KNOWN, "smoothing"): departing}
    for method in METHODS[1:]:
        map_ = _unfitted_map(method, logits.shape[1], departing)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that nobody voted for a class in one half
            map_.fit(targets.get(method.targets, majority), logits[fitted])
            out[method] = map_.transform(logits[~fitted])
        if isinstance(map_, scaling.TemperatureScaling):
            numbers[method] = map_.temperature_
        if isinstance(map_, scaling.LabelSmoothingTemperature):
            numbers[method, "smoothing"] = map_.smoothing_
    return out, numbers


def _unfitted_map(method: Method, k: int, departing: float) -> scaling.Scaler:
    """The unfitted recalibration map of a method, for k classes.

    `departing`, the rate at which votes differ from the majority, is the amount of label smoothing
    of the method that knows this rate.
    """
    if method.map == LABEL_SMOOTHING:
        return scaling.LabelSmoothingTemperature(
            smoothing=departing if method == RATE_KNOWN else None
        )
    penalty = PENALTY * k * (k - 1)
    maps: dict[str, scaling.Scaler] = {
        "temperature": scaling.TemperatureScaling(),
        "vector": scaling.VectorScaling(),
        "matrix": scaling.MatrixScaling(l2=penalty),
        "Dirichlet": scaling.DirichletCalibration(l2=penalty, from_logits=True),
        "isotonic": scaling.IsotonicCalibration(from_logits=True),
    }
    return maps[method.map]


def _measure_map(
    shares: Array, proba: Array, temperature: float | None, n_draws: int, seed: int
) -> Judged:
    """Measure one map's probabilities on held-out rows, against shares and against drawn votes.

    Shares and probabilities are (n, k). Each of `n_draws` draws takes one vote for each row.
    """
    rng = np.random.default_rng([seed, 1])
    drawn = [ece(draw_votes(shares, rng), proba) for _ in range(n_draws)]
    return Judged(
        ece(shares, proba),
        float(np.mean(drawn)),
        drawn_brier(shares, proba),
        log_loss(shares, proba),
        temperature,
    )


def drawn_brier(shares: Array, proba: Array) -> float:
    """The expected Brier score against a single vote drawn from the shares of each row.

    It is the score against the shares, plus the variance of a vote. Both arrays are (n, k).
    """
    return brier_score(shares, proba) + float((1.0 - (shares**2).sum(axis=1)).mean())


def _differences_to_ts(
    shares: Array, maps: Mapping[Method, Array], n_resamples: int, seed: int
) -> dict[Method, tuple[Any, Any]]:
    """The differences of ECE and log loss to TS, by method, each with its interval.

    `maps` has the probabilities by method of the held-out rows of one split, and `shares` the
    shares of their votes. TS is the temperature fitted to the majority of the votes.
    """
    found = compare(
        shares,
        {str(m): maps[m] for m in COMPARED},
        measures=["ece", "log_loss"],
        n_resamples=n_resamples,
        seed=seed,
    )
    return {
        m: (
            found.difference(str(m), str(TS), "ece"),
            found.difference(str(m), str(TS), "log_loss"),
        )
        for m in COMPARED[1:]
    }


def _mean_over_splits(runs: list[Judged]) -> Judged:
    """The mean of each error over splits; the temperature is None if no split has one."""
    temperatures = [run.temperature for run in runs if run.temperature is not None]
    return Judged(
        float(np.mean([run.ece for run in runs])),
        float(np.mean([run.drawn_ece for run in runs])),
        float(np.mean([run.brier for run in runs])),
        float(np.mean([run.log_loss for run in runs])),
        float(np.mean(temperatures)) if temperatures else None,
    )


# --- section 4: a made-up example --------------------------------------------------------------


def toy_errors(seed: int, n: int = 3000) -> Columns:
    """Columns of errors on toy data: points of three clusters, on one of which annotators disagree.

    A row is a map and what it is fitted to. Its ECE is measured against the voted label, and
    against the distribution that votes are drawn from.

    The paper trains a network on the voted labels. The predictor here is the limit of that network,
    the exact probability of the voted label given the point, so that errors come from the target of
    the fit alone.
    """
    rng = np.random.default_rng(seed)
    clusters, points = _draw_points(rng, n)
    counts = rng.multinomial(N_VOTES, CLUSTER_VOTES[clusters])
    new_clusters, new_points = _draw_points(rng, n)
    logits, new_logits = _cluster_logits(points), _cluster_logits(new_points)
    shares = counts / N_VOTES
    # The distribution of votes at a point: that of each cluster, times its probability there.
    truth = _softmax(new_logits) @ CLUSTER_VOTES
    rows: list[tuple[str, Any, Any, Array]] = [("unchanged", "", None, _softmax(new_logits))]
    for map_, name, targets, kind in (
        (scaling.TemperatureScaling(), "temperature", clusters, "majority"),
        (scaling.VectorScaling(), "vector", clusters, "majority"),
        (scaling.HistogramBinning(from_logits=True), "histogram", clusters, "majority"),
        (scaling.LabelSmoothingTemperature(), "label smoothing", clusters, "majority"),
        (scaling.TemperatureScaling(), "temperature", shares, "shares"),
        (scaling.DirichletCalibration(from_logits=True), "Dirichlet", shares, "shares"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            map_.fit(targets, logits)
            rows.append(
                (name, kind, getattr(map_, "temperature_", None), map_.transform(new_logits))
            )
    return {
        "map": [name for name, *_ in rows],
        "fitted to": [kind for _, kind, *_ in rows],
        "T": ["" if t is None else f"{t:.2f}" for _, _, t, _ in rows],
        "ECE, voted label": [ece(new_clusters, p) for *_, p in rows],
        "ECE, votes": [ece(truth, p) for *_, p in rows],
    }


def _draw_points(rng: np.random.Generator, n: int) -> tuple[Counts, Array]:
    """Draw n points of random clusters: the cluster of each, (n,), and its coordinates, (n, 2)."""
    clusters = rng.integers(0, 3, n)
    return clusters, MEANS[clusters] + SPREADS[clusters] * rng.normal(size=(n, 2))


def _cluster_logits(points: Array) -> Array:
    """The log density of each cluster at points of the plane, (n, 3).

    Their softmax is the probability of each cluster, which is the voted label of a point.
    """
    gaps = (points[:, None, :] - MEANS) / SPREADS
    return -0.5 * (gaps**2).sum(axis=2) - np.log(SPREADS).sum(axis=1)


def _softmax(logits: Array) -> Array:
    """The softmax of each row of logits, (n, k)."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
