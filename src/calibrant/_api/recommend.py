"""recommend: the recalibration map that suits some rows, chosen on rows that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._api.cross_fitting import (
    FOLDS,
    ROWS_A_CLASS,
    check_two_classes,
    cross_fitted,
    fold_of,
    proper_loss_field,
    row_losses,
    weighted_mean,
)
from calibrant._api.groups import group_index
from calibrant._core.errors import CalibrantError, InputError, one_of
from calibrant._core.map_names import METHODS
from calibrant._core.validation import check_count, check_seed, public
from calibrant._data.explain import explained
from calibrant._data.logprobs import given_as
from calibrant._data.samples import Samples
from calibrant._data.to_samples import to_samples
from calibrant._inference.budget import TRIED_PREDICTIONS, TRIED_WORK
from calibrant._inference.means import influences, mean_limits, row_values
from calibrant._summaries.samples import Summary
from calibrant.results._recommendation import AS_THEY_ARE, Recommendation, TriedMap, simplest_of
from calibrant.scaling._load import SCALERS, new_scaler, unchanging_scaler

Array = NDArray[np.float64]

# Rows that an unpenalised parameter needs.
ROWS_A_PARAMETER = 10


@public
def recommend(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    maps: str | Sequence[str] | None = None,
    loss: str = "log_loss",
    folds: int = FOLDS,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Recommendation:
    r"""Choose a recalibration map by its loss on rows that it was not fitted to.

    The rows are divided into folds, and each row's prediction goes through a map that was fitted
    to the other folds. Of the maps m with mean losses L(m), the lowest being that of m*, the one
    with the fewest parameters is recommended for which

    .. math:: L(m) - L(m^*) \le \mathrm{SE}\bigl(L(m) - L(m^*)\bigr)

    if it is better than the predictions as they are by more than one standard error. If not, these
    may stay, and `scaler` changes nothing. Standard errors are those of paired differences, of rows
    or of clusters.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), counts of votes, or a column's name
        with `data`. Soft labels are fitted and measured as they are.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    maps : str or list of str, optional
        Names of maps, as `calibrant scale --map` has them. By default all that suit the problem: a
        map needs 10 rows a parameter unless its penalty weighs by the number of rows, one with
        parameters for each class 20 rows a class, and maps of several classes that are others under
        another name for two are left out there.
    loss : {"log_loss", "brier", "spherical_loss"}, default "log_loss"
        The proper loss. The log loss of a certainty that was wrong is that of 1e-12.
    folds : int, default 5
        Parts that the rows are divided into; a cluster is in one of them.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game).
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each soft label; counts as `y_true` carry their own.
    seed : int, default 0
        Seed of the division into folds; the same seed gives the same recommendation.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow.

    Returns
    -------
    Recommendation
        `best`, the `scaler` fitted to all rows, whether it `helps` at all, `why`, and a table of
        every map that was tried. Where none helps, `best` is "as they are".

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, the loss or a map is not known,
        there are fewer rows (or clusters) than folds, labels are of one class alone, or no map can
        be fitted.

    See Also
    --------
    decompose : what recalibration would remove of a loss.

    Notes
    -----
    Of more than 1,000,000 predictions, rows (or clusters) are drawn at random to try the maps on;
    the map itself is fitted to all. A map that was chosen for these rows looks a little better on
    them than it is: measure it on others.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant import examples
    >>> shirt = examples.load("fashion-shirt")
    >>> found = cal.recommend(shirt.val_labels, shirt.val_proba, maps=["platt", "beta", "isotonic"])
    >>> found.best
    'platt'
    >>> found.scaler.transform(shirt.test_proba).shape
    (4000,)
    """
    check_seed(seed)
    check_count("folds", folds, 2)
    given = given_as(from_logits, from_logprobs)
    samples = to_samples(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    field = proper_loss_field(loss, samples)
    with explained(samples):
        Summary(samples).losses.mean(field)  # checks every value on its way
    check_two_classes(samples)
    index = group_index(groups, samples, data)
    rows, units, notes = _some(samples, index, int(seed))
    fold = fold_of(rows, units, int(folds), seed)
    names, left_out = _candidates(maps, rows)
    losses, failed = _tried(names, rows, fold, int(folds), field)
    best, gain_error, table = _chosen(losses, rows, units)
    options = {"from_logits": from_logits, "from_logprobs": from_logprobs}
    helps = best != AS_THEY_ARE
    k = samples.n_classes
    scaler = new_scaler(METHODS[best], **options) if helps else unchanging_scaler(k, **options)
    scaler.fit(
        y_true, y_proba, sample_weight=sample_weight, votes=votes, classes=classes, data=data
    )
    notes = (*notes, *left_out, *failed)
    return Recommendation(
        best, helps, table, loss, gain_error, rows.n, int(folds), int(seed), notes, scaler
    )


def _some(
    samples: Samples, groups: NDArray[np.intp] | None, seed: int
) -> tuple[Samples, NDArray[np.intp] | None, tuple[str, ...]]:
    """The rows to try maps on: all, or as many whole clusters as the budget allows."""
    most = max(1000, TRIED_PREDICTIONS // (samples.n_classes if samples.multiclass else 1))
    if samples.n <= most:
        return samples, groups, ()
    units = np.arange(samples.n) if groups is None else groups
    order = np.random.default_rng((seed, 23)).permutation(int(units.max()) + 1)[units]
    counts = np.cumsum(np.bincount(order))
    kept = np.flatnonzero(order < max(2, int(np.searchsorted(counts, most, side="right"))))
    some = None if groups is None else np.unique(groups[kept], return_inverse=True)[1]
    note = f"maps were tried on {kept.size:,} of {samples.n:,} rows, drawn at random"
    return samples.take(kept), None if some is None else some.astype(np.intp), (note,)


def _candidates(
    maps: str | Sequence[str] | None, samples: Samples
) -> tuple[list[str], tuple[str, ...]]:
    """Names of maps to try, the simplest first, and a note on those that rows are too few for."""
    k = samples.n_classes
    if maps is not None:
        named = [maps] if isinstance(maps, str) else maps
        if not isinstance(named, Iterable) or not (named := list(named)):
            raise InputError(
                f"maps must name one map or more, such as ['platt', 'beta']; got {maps!r}"
            )
        checked = [one_of("maps", name, METHODS) for name in dict.fromkeys(named)]
        return sorted(checked, key=lambda name: _size(name, k)), ()
    suited = [n for n in METHODS if samples.shape in SCALERS[METHODS[n]]._tried_on]
    reasons = {name: _left_out(name, samples) for name in suited}
    notes = []
    for reason in dict.fromkeys(reasons.values()):
        if reason:
            which = ", ".join(name for name in suited if reasons[name] == reason)
            notes.append(f"not tried: {which} ({reason})")
    kept = [name for name in suited if not reasons[name]]
    return sorted(kept, key=lambda name: _size(name, k)), tuple(notes)


def _size(name: str, k: int) -> float:
    return SCALERS[METHODS[name]]._n_parameters(k)


def _left_out(name: str, samples: Samples) -> str:
    """Why a map is not tried unasked; empty where it is."""
    kind, n, k = SCALERS[METHODS[name]], samples.n, samples.n_classes
    size = kind._n_parameters(k)
    if (size if math.isfinite(size) else k) * n > TRIED_WORK:
        return "too many classes to be tried unasked"
    if kind._penalised or not kind._class_by_class:
        return ""
    if n < ROWS_A_CLASS * k:
        return f"needs {ROWS_A_CLASS} rows a class"
    if math.isfinite(size) and n < ROWS_A_PARAMETER * size:
        return f"needs {ROWS_A_PARAMETER} rows a parameter"
    return ""


def _tried(
    names: list[str], samples: Samples, fold: NDArray[np.intp], folds: int, field: str
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The losses of every row: as they are, and through each map; and the maps that failed."""
    losses = {AS_THEY_ARE: row_values(samples, distribution=False)[field]}
    failed = []
    for name in names:
        try:
            mapped = cross_fitted(name, samples, fold, folds)
        except (CalibrantError, np.linalg.LinAlgError) as error:
            failed.append(f"not tried: {name} ({error})")
            continue
        losses[name] = row_losses(samples, mapped, field)
    if len(losses) == 1:
        raise InputError(f"no map could be fitted: {'; '.join(failed) or 'none suits these rows'}")
    return losses, tuple(failed)


def _chosen(
    losses: dict[str, Array], samples: Samples, groups: NDArray[np.intp] | None
) -> tuple[str, float, tuple[TriedMap, ...]]:
    """The first map within one standard error of the lowest, if it takes more than one off the loss
    of the predictions as they are, or these; the standard error of what it takes; and the table.
    """
    weights = None if samples.weights is None else samples.weights.astype(np.float64)
    means = {name: weighted_mean(rows, samples) for name, rows in losses.items()}

    def error(one: str, other: str) -> float:
        return mean_limits(influences(losses[one] - losses[other], weights, groups), 0.95)[2]

    lowest = min(losses, key=lambda name: means[name])
    errors = {name: error(name, lowest) for name in losses}
    sizes = {name: _size(name, samples.n_classes) for name in losses if name != AS_THEY_ARE}
    table = tuple(
        TriedMap(
            name, sizes.get(name, 0.0), means[name], means[name] - means[lowest], errors[name],
            means[AS_THEY_ARE] - means[name],
        )
        for name in losses
    )  # fmt: skip
    first = simplest_of(table)
    gain_error = error(AS_THEY_ARE, first.map)
    return first.map if first.gain > gain_error else AS_THEY_ARE, gain_error, table
