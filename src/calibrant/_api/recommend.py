"""recommend: the recalibration map that suits some rows, chosen on rows that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.cross_fitting import (
    FOLDS,
    ROWS_A_CLASS,
    check_two_classes,
    fit_and_apply,
    fold_of,
    proper_loss_field,
    row_losses,
    weighted_mean,
)
from calibrant._api.rows import as_samples, group_index, take_clusters
from calibrant._core.arguments import Reading
from calibrant._core.errors import CalibrantError, InputError, one_of
from calibrant._core.map_names import METHODS
from calibrant._core.progress import Step, TaskProgress
from calibrant._core.typing import Array, Index, Mask
from calibrant._core.validation import check_count, check_seed, public
from calibrant._data.explain import explained
from calibrant._data.samples import Samples
from calibrant._inference.budget import TRIED_WORK, n_tried_rows
from calibrant._inference.means import influences, mean_limits, row_values
from calibrant._summaries.samples import Summary
from calibrant.results._recommendation import UNCHANGED, Recommendation, TriedMap, simplest_of
from calibrant.scaling._load import SCALERS, new_scaler, unchanging_scaler

# The rows that each parameter of a map without a penalty needs.
ROWS_A_PARAMETER = 10
# If rows times classes are RACED or more, a map is given up whose loss in the first fold is
# FAR_BEHIND standard errors above the lowest: it would be behind in all folds.
RACED, FAR_BEHIND = 50_000, 4.0


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
    **rows: Unpack[Reading],
) -> Recommendation:
    r"""Choose a recalibration map by its loss on rows that it was not fitted to.

    The rows are divided into folds, and each row is recalibrated by a map fitted to the other
    folds. Maps m have mean losses L(m), and m* has the lowest. The recommended map is the one with
    the fewest parameters for which

    .. math:: L(m) - L(m^*) \le \mathrm{SE}\bigl(L(m) - L(m^*)\bigr)

    if it improves on the unchanged predictions by more than one standard error. If not, no map is
    recommended, and `scaler` changes nothing. Standard errors are those of paired differences of
    rows, or of clusters.

    Parameters
    ----------
    y_true
        Labels: 0/1, class indices, probabilities (soft labels), counts of votes, or a column's name
        with `data`. Soft labels are fitted and measured unchanged.
    maps : str or list of str, optional
        Names of maps, as in `calibrant scale --map`. By default all suitable ones: a map needs 10
        rows per parameter (unless its penalty scales with the number of rows) and, with parameters
        for each class, 20 rows per class. For two classes, maps that are equivalent to others are
        skipped.
    loss : {"log_loss", "brier", "spherical_loss"}, default "log_loss"
        The proper loss. For the log loss, predictions are clipped to 1e-12.
    folds : int, default 5
        Number of folds; each cluster lies in one fold.
    groups
        Cluster of each row (patient, document, game).
    votes (of soft labels)
    seed
        Seed of the random folds; the same seed gives the same recommendation.
    data (in memory)

    Returns
    -------
    Recommendation
        `best`, the `scaler` fitted to all rows, whether it `helps`, `why`, and a table of every map
        that was tried. If none helps, `best` is "unchanged".

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, the loss or a map is not known,
        there are fewer rows (or clusters) than folds, all labels are of one class, or no map can be
        fitted.

    See Also
    --------
    decompose : the part of a loss that recalibration removes.

    Notes
    -----
    With many rows, maps are compared on a random sample of rows (or clusters): 20,000 for two
    classes, 5,000 for ten, 2,500 for a hundred. The recommended map is fitted to all rows. With
    50,000 predictions or more, a map whose loss in the first fold is more than four standard errors
    above the lowest is dropped, with a note. The report page and `calibrant scale --map auto` use
    the same rule. The chosen map looks slightly too good on these rows: evaluate it on others.

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
    samples = as_samples(y_true, y_proba, sample_weight=sample_weight, votes=votes, **rows)
    index = group_index(groups, samples, rows.get("data"))
    found = choose_map(samples, index, maps=maps, loss=loss, folds=int(folds), seed=int(seed))
    options = {
        "from_logits": rows.get("from_logits", False),
        "from_logprobs": rows.get("from_logprobs", False),
    }
    scaler = (
        new_scaler(METHODS[found.best], **options)
        if found.helps
        else unchanging_scaler(samples.n_classes, **options)
    )
    classes, data = rows.get("classes"), rows.get("data")
    scaler.fit(
        y_true, y_proba, sample_weight=sample_weight, votes=votes, classes=classes, data=data
    )
    return replace(found, scaler=scaler)


def choose_map(
    samples: Samples,
    groups: Index | None,
    *,
    maps: str | Sequence[str] | None = None,
    loss: str = "log_loss",
    folds: int = FOLDS,
    seed: int = 0,
    progress: TaskProgress | None = None,
) -> Recommendation:
    """Choose the recalibration map for some rows, for `recommend`, the page and the command line.

    The `scaler` of the result is None: it is not fitted yet. `groups` are clusters as numbers, or
    None.
    """
    field = proper_loss_field(loss, samples)
    with explained(samples):
        Summary(samples).losses.mean(field)  # checks every value on its way
    check_two_classes(samples)
    rows, units, notes = _rows_to_try(samples, groups, seed)
    fold = fold_of(rows, units, folds, seed)
    names, left_out = _maps_to_try(maps, rows)
    tasks = progress or TaskProgress(False)
    with tasks.task("Trying maps", len(names) * folds) as step:
        losses, failed = _try_maps(names, rows, units, fold, field, step)
    best, gain_error, table = _simplest_good_map(losses, rows, units)
    notes = (*notes, *left_out, *failed)
    return Recommendation(
        best=best,
        helps=best != UNCHANGED,
        rows=table,
        measure=loss,
        gain_error=gain_error,
        n=rows.n,
        folds=folds,
        seed=seed,
        notes=notes,
    )


def _rows_to_try(
    samples: Samples, groups: Index | None, seed: int
) -> tuple[Samples, Index | None, tuple[str, ...]]:
    """The rows to try maps on, their clusters, and a note if they are not all rows.

    Of many rows it is a random sample, of whole clusters, as large as the time budget allows.
    """
    most = n_tried_rows(samples.n_classes)
    if samples.n <= most:
        return samples, groups, ()
    units = np.arange(samples.n) if groups is None else groups
    order = np.random.default_rng((seed, 23)).permutation(int(units.max()) + 1)[units]
    counts = np.cumsum(np.bincount(order))
    kept = np.flatnonzero(order < max(2, int(np.searchsorted(counts, most, side="right"))))
    note = f"maps were compared on a random sample of {kept.size:,} of {samples.n:,} rows"
    return samples.take(kept), take_clusters(groups, kept), (note,)


def _maps_to_try(
    maps: str | Sequence[str] | None, samples: Samples
) -> tuple[list[str], tuple[str, ...]]:
    """The names of the maps to try, the simplest first, and notes on maps that are skipped.

    Maps that the user names are all tried.
    """
    k = samples.n_classes
    if maps is not None:
        named = [maps] if isinstance(maps, str) else maps
        if not isinstance(named, Iterable) or not (named := list(named)):
            raise InputError(
                f"maps must name at least one map, such as ['platt', 'beta']; got {maps!r}"
            )
        checked = [one_of("maps", name, METHODS) for name in dict.fromkeys(named)]
        return sorted(checked, key=lambda name: n_parameters(name, k)), ()
    shape = "multiclass" if samples.multiclass else "binary"
    suited = [n for n in METHODS if shape in SCALERS[METHODS[n]]._tried_on]
    reasons = {name: _why_skipped(name, samples) for name in suited}
    notes = []
    for reason in dict.fromkeys(reasons.values()):
        if reason:
            which = ", ".join(name for name in suited if reasons[name] == reason)
            notes.append(f"not tried: {which} ({reason})")
    kept = [name for name in suited if not reasons[name]]
    return sorted(kept, key=lambda name: n_parameters(name, k)), tuple(notes)


def n_parameters(name: str, k: int) -> float:
    """The number of parameters of a map for k classes; infinity if it grows with the rows."""
    return SCALERS[METHODS[name]]._n_parameters(k)


def _why_skipped(name: str, samples: Samples) -> str:
    """The reason why a map is not tried by default; "" if it is tried."""
    kind, n, k = SCALERS[METHODS[name]], samples.n, samples.n_classes
    size = kind._n_parameters(k)
    if (size if math.isfinite(size) else k) * n > TRIED_WORK:
        return "too many classes; name it to try it"
    if kind._penalised or not kind._class_by_class:
        return ""
    if n < ROWS_A_CLASS * k:
        return f"needs {ROWS_A_CLASS} rows per class"
    if math.isfinite(size) and n < ROWS_A_PARAMETER * size:
        return f"needs {ROWS_A_PARAMETER} rows per parameter"
    return ""


def _try_maps(
    names: list[str], samples: Samples, groups: Index | None, fold: Index, field: str, step: Step
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The loss of every row under each map, (n,), and notes on maps that failed or were given up.

    The losses without a map are under UNCHANGED. `fold` is the fold of each row, `field` the name
    of the loss, and `step` is called after each fit.
    """
    own, folds = row_values(samples, distribution=False)[field], int(fold.max()) + 1
    trials = {name: _Trial(name, samples, fold, field) for name in names}
    failed, behind = {}, {}

    def run(name: str, j: int) -> None:
        """Fit the named map to all folds but j, and store the losses of fold j; note a failure."""
        try:
            trials[name].run(j)
        except (CalibrantError, np.linalg.LinAlgError) as error:
            failed[name] = f"not tried: {name} ({error})"
        step()

    for name in names:
        run(name, 0)
    left = [name for name in names if name not in failed]
    if samples.n * samples.n_classes >= RACED:
        behind = _maps_far_behind(
            {name: trials[name].losses for name in left}, own, samples, groups, fold == 0
        )
        left = [name for name in left if name not in behind]
    for name in left:
        for j in range(1, folds):
            if name not in failed:
                run(name, j)
    losses = {name: trials[name].losses for name in left if name not in failed}
    if not losses:
        reasons = "; ".join(failed.values()) or "there are too few rows"
        raise InputError(f"no map could be fitted: {reasons}")
    notes = list(failed.values())
    if behind:
        each = ", ".join(f"{name} ({errors:.0f})" for name, errors in behind.items())
        notes.append(
            f"dropped after the first of {folds} folds: {each}. In brackets: standard errors above "
            "the lowest loss"
        )
    return {UNCHANGED: own, **losses}, tuple(notes)


class _Trial:
    """The losses of the rows under one map that is fitted to other folds, fold by fold."""

    def __init__(self, name: str, samples: Samples, fold: Index, field: str) -> None:
        self._name, self._samples, self._fold, self._field = name, samples, fold, field
        self.losses = np.zeros(samples.n)

    def run(self, j: int) -> None:
        """Fit the map to all folds but j, and store the losses of the rows in fold j."""
        here = self._fold == j
        rows = self._samples.take(here)
        scaler = new_scaler(METHODS[self._name], from_logits=rows.from_logits)
        mapped = fit_and_apply(scaler, self._samples.take(~here), rows)
        self.losses[here] = row_losses(rows, mapped, self._field)


def _maps_far_behind(
    losses: dict[str, Array], own: Array, samples: Samples, groups: Index | None, here: Mask
) -> dict[str, float]:
    """Maps whose loss in one fold is far above the lowest, with the excess in standard errors.

    `losses` has the row losses by map, `own` those of the unchanged predictions, and `here` marks
    the rows of the fold. The dict is empty if all maps are far behind.
    """
    rows = samples.take(here)
    weights = None if rows.weights is None else rows.weights.astype(np.float64)
    units = take_clusters(groups, here)
    first = {name: each[here] for name, each in losses.items()}
    lowest = min([own[here], *first.values()], key=lambda each: weighted_mean(each, rows))
    out = {}
    for name, each in first.items():
        above = weighted_mean(each - lowest, rows)
        error = mean_limits(influences(each - lowest, weights, units), 0.95)[2]
        if above > FAR_BEHIND * error:
            out[name] = above / error if error > 0 else math.inf
    return {} if len(out) == len(losses) else out


def _simplest_good_map(
    losses: dict[str, Array], samples: Samples, groups: Index | None
) -> tuple[str, float, tuple[TriedMap, ...]]:
    """The name of the map to use, the standard error of its gain, and the table of maps.

    The map is the simplest within one standard error of the lowest loss, or UNCHANGED if that map
    gains less than one standard error over the unchanged predictions.
    """
    weights = None if samples.weights is None else samples.weights.astype(np.float64)
    means = {name: weighted_mean(rows, samples) for name, rows in losses.items()}

    def error(one: str, other: str) -> float:
        """The standard error of the difference between two maps' mean losses."""
        return mean_limits(influences(losses[one] - losses[other], weights, groups), 0.95)[2]

    lowest = min(losses, key=lambda name: means[name])
    errors = {name: error(name, lowest) for name in losses}
    sizes = {name: n_parameters(name, samples.n_classes) for name in losses if name != UNCHANGED}
    table = tuple(
        TriedMap(
            map=name,
            parameters=sizes.get(name, 0.0),
            loss=means[name],
            above=means[name] - means[lowest],
            standard_error=errors[name],
            gain=means[UNCHANGED] - means[name],
        )
        for name in losses
    )
    first = simplest_of(table)
    gain_error = error(UNCHANGED, first.map)
    return first.map if first.gain > gain_error else UNCHANGED, gain_error, table
