"""decompose: a proper loss as calibration and refinement, by cross-fitted recalibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.cross_fitting import (
    FOLDS,
    ROWS_A_CLASS,
    Folded,
    check_two_classes,
    fit_and_apply,
    fold_of,
    proper_loss_field,
    row_losses,
    weighted_mean,
)
from calibrant._api.rows import as_samples, as_source, cluster_column, group_index
from calibrant._core.arguments import Reading
from calibrant._core.errors import one_of
from calibrant._core.map_names import METHODS
from calibrant._core.typing import Array, Mask
from calibrant._core.validation import check_count, check_level, check_seed, public
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.explain import explained
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Samples
from calibrant._inference.few_events import Losses
from calibrant._inference.means import influences, mean_limits, row_values
from calibrant._summaries.samples import Summary
from calibrant.results._loss_decomposition import LossDecomposition
from calibrant.scaling._load import new_scaler
from calibrant.scaling._predictions import to_predictions

# Maps that are tried where none is named.
_BINARY = ("platt", "beta", "isotonic")
_MULTICLASS = ("temperature", "vector")


@public
def decompose(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    loss: str = "log_loss",
    recalibrate: str | Sequence[str] | None = None,
    folds: int = FOLDS,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
    **rows: Unpack[Reading],
) -> LossDecomposition:
    r"""Decompose a proper loss: the part that recalibration removes, and the rest.

    .. math:: \ell = \underbrace{\ell - \ell_g}_{\text{calibration}} +
        \underbrace{\ell_g}_{\text{refinement}}

    where g is a recalibration map, and each row is recalibrated by a map fitted to the other folds.
    On the rows that it was fitted to, a map removes too much (`in_sample`). With several maps, g is
    the one with the lowest cross-validated loss. A map that is not flexible enough leaves some
    miscalibration in the refinement; one that is too flexible raises the loss, and `calibration`
    may then be below 0.

    Parameters
    ----------
    y_true
        Labels: 0/1, class indices, probabilities (soft labels), counts of votes, or a column's name
        with `data`. Soft labels are fitted and measured unchanged.
    loss : {"log_loss", "brier", "spherical_loss"}, default "log_loss"
        The proper loss.
    recalibrate : str or list of str, optional
        Names of recalibration maps, as in `calibrant scale`; by default Platt scaling, beta
        calibration and isotonic regression for (n,), temperature and vector scaling for (n, k).
    folds : int, default 5
        Number of folds; each cluster lies in one fold.
    groups
        Cluster of each row (patient, document, game); intervals are then those of clusters.
    votes (of soft labels)
    level : float, default 0.95
        Confidence level of the intervals.
    seed
        Seed of the random folds.
    data

    Returns
    -------
    LossDecomposition
        `calibration`, `refinement`, `overconfidence`, `underconfidence`, `in_sample`, the `map`,
        and `intervals` of the parts, paired by row.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, the loss or a map is not known,
        there are fewer rows (or clusters) than folds, or all labels are of one class.

    See Also
    --------
    brier_decomposition : the Brier score by bins or by isotonic regression, in sample.

    Notes
    -----
    Lazy frames and Parquet files are summed by distinct prediction up to 2^15 rows, and in about
    5,000 cells of predictions beyond; the loss itself is exact. Rows (or clusters, with `groups`)
    of a cell are assigned to folds at random. Predictions must be (n,).

    References
    ----------
    Berta, Holzmueller, Jordan and Bach (2025), Rethinking Early Stopping: Refine, Then Calibrate,
    arXiv:2501.19195; arXiv:2602.24230.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(4000)
    >>> y = (rng.random(4000) < truth).astype(int)
    >>> sharp = truth**2 / (truth**2 + (1 - truth) ** 2)  # overconfident
    >>> found = cal.decompose(y, sharp, loss="brier")
    >>> round(found.loss, 3), round(found.calibration, 3), round(found.refinement, 3)
    (0.182, 0.012, 0.17)
    >>> found.overconfidence > found.underconfidence
    True
    """
    check_seed(seed)
    level = check_level(level)
    check_count("folds", folds, 2)
    rows["data"] = data = scan_if_path(rows.get("data"))
    if is_lazy(data):
        # Imported when a frame of another engine is given: arrays do without.
        from calibrant._api.folds_of_frame import folded_frame

        lazy = cast(
            FrameSamples,
            as_source(y_true, y_proba, sample_weight=sample_weight, votes=votes, **rows),
        )
        folded = folded_frame(lazy, cluster_column(groups, data), int(folds), int(seed))
        maps = _map_names(recalibrate, folded.samples)
        return _decompose_folded(folded, loss, maps, level)
    samples = as_samples(y_true, y_proba, sample_weight=sample_weight, votes=votes, **rows)
    field, maps = proper_loss_field(loss, samples), _map_names(recalibrate, samples)
    with explained(samples):
        Summary(samples).losses.mean(field)  # checks every value on its way
    index = group_index(groups, samples, data)
    fold = fold_of(samples, index, int(folds), seed)
    return _decompose_folded(Folded(samples, fold, index), loss, maps, level)


def _decompose_folded(
    folded: Folded, loss: str, maps: Sequence[str], level: float
) -> LossDecomposition:
    """Take a loss of samples that are divided into folds apart, by the best of some maps."""
    samples, fold = folded.samples, folded.fold
    field = proper_loss_field(loss, samples)
    check_two_classes(samples)
    tried: dict[str, tuple[float, Array, Array]] = {}
    for name in maps:
        mapped = np.zeros(samples.predictions.shape)
        for here in (fold == j for j in range(int(fold.max()) + 1)):
            mapped[here] = _fit_and_map(name, samples.take(~here), samples.take(here))
        losses = row_losses(samples, mapped, field)
        tried[name] = (weighted_mean(losses, samples), mapped, losses)
    best = min(tried, key=lambda name: tried[name][0])
    return _split_loss(folded, loss, field, level, best, tried)


def _map_names(recalibrate: str | Sequence[str] | None, samples: Samples) -> list[str]:
    """The names of the maps to try: the user's, or those suitable for the numbers of rows and
    classes.
    """
    if recalibrate is not None:
        named = [recalibrate] if isinstance(recalibrate, str) else list(recalibrate)
        return [one_of("recalibrate", name, METHODS) for name in named]
    if not samples.multiclass:
        return list(_BINARY)
    enough = samples.n >= ROWS_A_CLASS * samples.n_classes
    return list(_MULTICLASS if enough else _MULTICLASS[:1])


def _fit_and_map(name: str, fit: Samples, onto: Samples) -> Array:
    """Fit the named map to the rows `fit`, and return its predictions for the rows `onto`."""
    return fit_and_apply(new_scaler(METHODS[name], from_logits=fit.from_logits), fit, onto)


def _split_loss(
    folded: Folded,
    loss: str,
    field: str,
    level: float,
    best: str,
    tried: dict[str, tuple[float, Array, Array]],
) -> LossDecomposition:
    """Split the loss under the best map into parts (calibration, refinement, ...), with intervals.

    `tried` has, by map, the mean loss, the predictions and the row losses after it; `best` names
    the map. `field` is the name of the loss in `LossSums`.
    """
    samples, counts = folded.samples, folded.counts
    losses = row_values(samples, distribution=False)
    before = losses[field]
    refinement, mapped, after = tried[best]
    own = to_predictions(samples.predictions, given=samples.from_logits).probabilities()
    lowered = _top_probability(mapped) < _top_probability(own)
    gain = before - after
    parts = {
        "loss": before,
        "calibration": gain,
        "overconfidence": np.where(lowered, gain, 0.0),
        "underconfidence": np.where(lowered, 0.0, gain),
        "refinement": after,
    }
    values = {name: weighted_mean(part, samples) for name, part in parts.items()}
    weights = None if samples.weights is None else samples.weights.astype(np.float64)
    intervals = {}
    as_given = Losses.from_samples(samples, field, losses, counts)
    rooms = {} if as_given is None else _least_half_widths(as_given, mapped, lowered, level)
    for name, part in parts.items():
        low, high, _ = mean_limits(influences(part, weights, folded.groups, counts), level)
        fewest, most = rooms.get(name, (0.0, 0.0))
        intervals[name] = (values[name] + min(low, fewest), values[name] + max(high, most))
    whole = row_losses(samples, _fit_and_map(best, samples, samples), field)
    in_sample = values["loss"] - weighted_mean(whole, samples)
    # What the cells of pooled rows leave out of a loss, before and after the map.
    rest = 0.0 if folded.losses is None else folded.losses.mean(field) - values["loss"]
    for name in ("loss", "refinement"):
        intervals[name] = (intervals[name][0] + rest, intervals[name][1] + rest)
    return LossDecomposition(
        measure=loss,
        loss=values["loss"] + rest,
        calibration=values["loss"] - refinement,
        refinement=refinement + rest,
        overconfidence=values["overconfidence"],
        underconfidence=values["underconfidence"],
        in_sample=in_sample,
        intervals=intervals,
        map=best,
        candidates={name: found[0] + rest for name, found in tried.items()},
        n=samples.n if folded.n is None else folded.n,
        level=level,
        notes=("intervals reflect the sampling of rows, with the fitted maps held fixed",),
    )


def _least_half_widths(
    as_given: Losses, mapped: Array, lowered: Mask, level: float
) -> dict[str, tuple[float, float]]:
    """The least (lower, upper) distance of each part's limits from its value, by part.

    Limits are widened to it where hardly any row has an error. `as_given` are the losses before the
    map, `mapped` the predictions after it; `lowered` marks rows whose top probability it lowers.
    """
    samples = replace(as_given.samples, predictions=mapped, from_logits=False)
    losses = row_values(samples, distribution=False)
    after = Losses.from_samples(samples, as_given.loss, losses, as_given.counts)
    assert after is not None, "the labels are the same"
    return {
        "loss": as_given.limits(level),
        "refinement": after.limits(level),
        "calibration": as_given.difference_limits(after, level),
        "overconfidence": as_given.difference_limits(after, level, lowered),
        "underconfidence": as_given.difference_limits(after, level, ~lowered),
    }


def _top_probability(predictions: Array) -> Array:
    """The probability of each row's likeliest class, (n,); predictions are (n,) or (n, k)."""
    if predictions.ndim == 1:
        return np.maximum(predictions, 1.0 - predictions)
    return predictions.max(axis=1)
