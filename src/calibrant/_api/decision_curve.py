"""decision_curve(): the net benefit of acting on predictions, and what recalibration adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.net_benefits import (
    FOLDS,
    Judged,
    check_recalibration,
    check_thresholds,
    chosen_map,
    cross_fitted_predictions,
    curve_of_judged,
)
from calibrant._api.net_benefits import THRESHOLDS as THRESHOLDS
from calibrant._api.reliability_curve import scalar_problem
from calibrant._api.rows import as_samples, as_source, cluster_column, group_index
from calibrant._core.arguments import Rows
from calibrant._core.errors import InputError, errors_about
from calibrant._core.typing import Array, Index
from calibrant._core.validation import check_level, public
from calibrant._data.columns import check_label_is_shared, column_names, is_lazy, scan_if_path
from calibrant._data.samples import Samples
from calibrant._inference.decisions import Outcomes
from calibrant.results._decision_curve import ALL, NONE, DecisionCurve


@public
def decision_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike | Mapping[str, ArrayLike],
    *,
    thresholds: Iterable[float] | None = None,
    recalibration: str | None = "default",
    level: float = 0.95,
    groups: ArrayLike | None = None,
    seed: int = 0,
    **rows: Unpack[Rows],
) -> DecisionCurve:
    r"""Decision curves: the net benefit of acting where a prediction reaches a threshold.

    .. math:: \frac{1}{W} \sum_i w_i 1[p_i \ge t] \Bigl( y_i - \frac{t}{1 - t} (1 - y_i) \Bigr)

    in units of true positives: at the threshold t, a false positive costs t / (1 - t) of a true
    positive. The models are compared with acting on everyone and acting on no one (net benefit 0),
    with paired differences and intervals, and with the gain of recalibration.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : mapping of str to array-like or str, array-like of shape (n,) or str
        Predicted risks of each model by its name, P(y = 1); or of one.
    thresholds : iterable of float in [0, 1), optional
        The thresholds; by default 0.01 to 0.99.
    recalibration : {"default", "isotonic", "platt"} or None, default "default"
        The recalibration map; each row is recalibrated by a map fitted to the other folds. By
        default isotonic with 200 or more of the rarer outcome, else Platt scaling.
    level
        Level of the intervals, pointwise over thresholds.
    groups
        Cluster of each row (patient, hospital); rows of one cluster vary together.
    seed
        Seed of the folds; the same seed gives the same result.
    data

    Returns
    -------
    DecisionCurve
        `net_benefit(model)`, `difference(first, second)`, `decision_loss(model)`, a row per model
        and threshold (`to_frame`), and a diagram (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as outcomes and risks, or has several classes.

    Notes
    -----
    Intervals are those of means of rows or clusters (see `interval`), with recalibrated models held
    fixed. If fewer than ten rows with an outcome decide, intervals are at least as wide as those of
    Poisson counts, combined as in Zou and Donner (2008).

    For lazy frames and Parquet files, rows are counted exactly at the thresholds, so intervals
    equal those of rows; weights enter by their sums and sums of squares. Maps are fitted to about
    2,500 cells of predictions, whose rows (or clusters, with `groups`) are assigned to folds at
    random.

    References
    ----------
    Vickers and Elkin (2006), doi:10.1177/0272989X06295361. Zou and Donner (2008),
    doi:10.1002/sim.3095. Hu and Wu (2024), Calibration Error for
    Decision Making, arXiv:2404.13503 (calibration decision loss).

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> found = cal.decision_curve(y, {"model": p}, thresholds=[0.3, 0.5])
    >>> found.to_frame("pandas")["net_benefit"].round(4).tolist()
    [0.3929, 0.5, 0.2857, 0.0, 0.0, 0.0]
    """
    check_level(level)
    check_recalibration(recalibration, seed)
    places = check_thresholds(thresholds)
    given = dict(y_proba) if isinstance(y_proba, Mapping) else {"model": y_proba}
    rows["data"] = data = scan_if_path(rows.get("data"))
    if is_lazy(data):
        # Imported when a frame of another engine is given: arrays do without.
        from calibrant._api.folds_of_frame import judged_frames

        lazy = _samples_of_models(y_true, given, rows, lazy=True)
        clusters = cluster_column(groups, data)
        judged = judged_frames(lazy, places, recalibration, clusters, int(seed))
        return curve_of_judged(judged, tuple(lazy), places, float(level))
    samples = _samples_of_models(y_true, given, rows)
    first = next(iter(samples.values()))
    index = group_index(groups, first, rows.get("data"))
    return curve_of_samples(samples, places, recalibration, float(level), index, int(seed))


def curve_of_samples(
    samples: Mapping[str, Samples],
    thresholds: Array,
    recalibration: str | None,
    level: float,
    groups: Index | None,
    seed: int,
) -> DecisionCurve:
    """The decision curves of models on the same rows.

    `recalibration` names the map, "default" for a choice by the rows, None for no map; `groups` are
    clusters as numbers, or None.
    """
    problems, index = {}, groups
    for name, each in samples.items():
        with errors_about(name):
            problems[name], index = scalar_problem(each, "binary", groups)
    some = next(iter(problems.values()))
    outcomes = Outcomes(some.z, some.w, index)
    map_name = chosen_map(recalibration, outcomes)
    mapped = {}
    if map_name is not None:
        for name, problem in problems.items():
            fold = _folds(outcomes, seed)
            mapped[name] = cross_fitted_predictions(map_name, problem.u, outcomes, fold)
    predictions = {name: problem.u for name, problem in problems.items()}
    judged = Judged(outcomes, predictions, mapped, map_name, some.n)
    return curve_of_judged([judged], tuple(samples), thresholds, level)


def _folds(outcomes: Outcomes, seed: int) -> Index:
    """The fold of each row, (n,); rows of a cluster are in one fold."""
    units = np.arange(outcomes.z.size) if outcomes.groups is None else outcomes.groups
    fold: Index = np.random.default_rng((seed, 13)).permutation(int(units.max()) + 1)[units]
    return fold % FOLDS


def _samples_of_models(
    y_true: Any, given: Mapping[str, Any], rows: Rows, *, lazy: bool = False
) -> dict[str, Any]:
    """The validated samples of each model by name; `given` maps names to predictions. With `lazy`
    they are columns of a lazy frame.

    An InputError is raised unless all models predict the same binary outcome.
    """
    if not given:
        raise InputError("y_proba must hold the predictions of at least one model; got none")
    if isinstance(y_true, Mapping):
        raise InputError(
            "y_true maps models to labels, but a decision curve needs one outcome for all models: "
            "give one set of labels, or call it for each model"
        )
    check_label_is_shared(y_true, given, column_names(rows.get("data")), can_have_own=False)
    out: dict[str, Any] = {}
    for name, predictions in given.items():
        if str(name) in (ALL, NONE):
            raise InputError(
                f"{name!r} is the name of a default strategy (act on {name}): rename the model"
            )
        with errors_about(str(name)):
            each: Any = (as_source if lazy else as_samples)(y_true, predictions, **rows)
        if each.multiclass:
            raise InputError(
                f"{name}: a decision curve needs one outcome, with predictions of the shape (n,); "
                f"got (n, {each.n_classes}). If these are {each.n_classes} models, give them by "
                "name, y_proba={'a': p_a, 'b': p_b}; if these are classes, give the column of "
                "one class, and (y_true == class) as y_true"
            )
        out[str(name)] = each
        if lazy:  # with what was done to this model's column, such as its exponentials
            rows["data"] = each.frame.to_native()
    return out
