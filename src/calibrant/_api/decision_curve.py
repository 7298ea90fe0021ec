"""decision_curve(): the net benefit of acting on predictions, and what recalibration adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.cross_fitting import fit_and_apply
from calibrant._api.reliability_curve import scalar_problem
from calibrant._api.rows import as_samples, group_index
from calibrant._core.arguments import Rows
from calibrant._core.errors import CalibrantError, InputError, errors_about, one_of
from calibrant._core.typing import Array, Index
from calibrant._core.validation import check_count, check_level, public
from calibrant._data.columns import check_label_is_shared, column_names
from calibrant._data.samples import Samples
from calibrant._inference.decisions import Acted, Outcomes, gain_limits
from calibrant.results._decision_curve import ALL, NONE, DecisionCurve, NetBenefit
from calibrant.scaling._isotonic import IsotonicCalibration
from calibrant.scaling._platt import PlattScaling

THRESHOLDS = tuple(j / 100 for j in range(1, 100))
MAPS = {"isotonic": IsotonicCalibration, "platt": PlattScaling}
FOLDS = 5
# With at least this many rows of the rarer outcome, the default map is isotonic.
ENOUGH_EVENTS = 200


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

    in units of events found: at the threshold t a false alarm costs t / (1 - t) of an event found.
    Beside the models stand acting on everyone and acting on no one (net benefit 0), paired
    differences with intervals, and what recalibration would add.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : mapping of str to array-like or str, array-like of shape (n,) or str
        Predicted risks of each model by its name, P(y = 1); or of one.
    thresholds : iterable of float in [0, 1), optional
        The thresholds; by default 0.01 to 0.99.
    recalibration : {"default", "isotonic", "platt"} or None, default "default"
        The map that predictions are recalibrated by, each row by a map that was fitted to the other
        folds; by default isotonic with 200 or more of the rarer outcome, else Platt's.
    level
        Level of the intervals, at each threshold by itself.
    groups
        Cluster of each row (patient, hospital); rows of one cluster scatter together.
    seed
        Seed of the folds; the same seed gives the same result.
    data (in memory)

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
    Limits are those of means of rows or clusters (see `interval`); a recalibrated model is taken as
    it is. Where fewer than ten rows with an outcome decide, because they are acted on, or by one
    of two models alone, the limits are at least those of Poisson counts, put together as Zou and
    Donner (2008) do.

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
    check_count("seed", seed, 0, "a whole number, 0 or more")
    if recalibration is not None:
        one_of("recalibration", recalibration, ("default", *MAPS))
    places = _checked_thresholds(thresholds)
    given = dict(y_proba) if isinstance(y_proba, Mapping) else {"model": y_proba}
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
    name_of_map = _map_name(recalibration, outcomes)
    predictions = {name: problem.u for name, problem in problems.items()}
    mapped = (
        {
            name: _cross_fitted_predictions(name_of_map, u, outcomes, seed)
            for name, u in predictions.items()
        }
        if name_of_map
        else {}
    )
    strategies = {**predictions, ALL: np.ones(some.n), NONE: np.full(some.n, -1.0)}
    found = [
        _benefits_at_threshold(t, strategies, mapped, outcomes, level) for t in thresholds.tolist()
    ]
    benefits = {
        name: NetBenefit(
            **{key: np.array([alone[name][key] for alone, _ in found]) for key in found[0][0][name]}
        )
        for name in strategies
    }
    pairs = {
        (one, other): tuple(np.array([apart[one, other] for _, apart in found]).T)
        for one, other in combinations(strategies, 2)
    }
    words = f"{name_of_map}, {FOLDS}-fold cross-fitted" if name_of_map else ""
    return DecisionCurve(
        models=tuple(samples),
        thresholds=thresholds,
        benefits=benefits,
        pairs=pairs,
        level=level,
        n=some.n,
        prevalence=outcomes.mean(some.z),
        recalibration=words,
    )


def _benefits_at_threshold(
    t: float,
    strategies: Mapping[str, Array],
    mapped: Mapping[str, Array],
    outcomes: Outcomes,
    level: float,
) -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], tuple[float, float, float]]]:
    """The net benefit of every strategy at the threshold t, and of every pair the difference.

    The first dict has, for each strategy, its columns by name, such as "value", "low" and "high" of
    the net benefit; the second has (difference, lower limit, upper limit) of each pair.
    `strategies` are predictions by name, acting on all and on none included; `mapped` are
    recalibrated ones.
    """
    always = {ALL: True, NONE: False}
    acted = {
        name: Acted.from_rows(u >= t, outcomes, t, always.get(name))
        for name, u in strategies.items()
    }
    z, nobody = outcomes.z, acted[NONE]
    alone = {name: gain_limits(own, nobody, outcomes, t, level) for name, own in acted.items()}
    columns: dict[str, dict[str, float]] = {}
    for name, own in acted.items():
        value, low, high = alone[name]
        columns[name] = {
            "tp_rate": outcomes.mean(np.where(own.positive, z, 0.0)),
            "fp_rate": outcomes.mean(np.where(own.positive, 1.0 - z, 0.0)),
            "value": value,
            "low": low,
            "high": high,
        }
        if name in mapped:
            after = Acted.from_rows(mapped[name] >= t, outcomes, t)
            gain, low, high = gain_limits(after, own, outcomes, t, level)
            changed = {"recalibrated": value + gain, "gain": gain}
            columns[name] |= {**changed, "gain_low": low, "gain_high": high}
    apart = {
        (one, other): alone[one]
        if other == NONE
        else gain_limits(acted[one], acted[other], outcomes, t, level)
        for one, other in combinations(strategies, 2)
    }
    return columns, apart


def _map_name(recalibration: str | None, outcomes: Outcomes) -> str | None:
    """The name of the map to recalibrate with; None for no recalibration.

    `recalibration` is the user's choice. Rows that are so few that a fold could lack an outcome are
    not recalibrated.
    """
    if recalibration is None or outcomes.z.size < 2 * FOLDS:
        return None
    rarer = min(float(outcomes.z.sum()), float((1.0 - outcomes.z).sum()))
    if rarer < FOLDS:
        return None
    if recalibration != "default":
        return recalibration
    return "isotonic" if rarer >= ENOUGH_EVENTS else "platt"


def _cross_fitted_predictions(name: str, u: Array, outcomes: Outcomes, seed: int) -> Array:
    """Each row's prediction after the named map, fitted to the other folds, (n,).

    u are the predictions before the map.
    """
    rng = np.random.default_rng((seed, 13))
    units = np.arange(u.size) if outcomes.groups is None else outcomes.groups
    fold = rng.permutation(int(units.max()) + 1)[units] % FOLDS
    rows, out = Samples(u, outcomes.z, outcomes.w), u.copy()
    for j in range(FOLDS):
        here = fold == j
        if here.all() or not here.any():
            continue
        # With one outcome alone in the other folds, predictions stay as they are.
        with suppress(CalibrantError):
            out[here] = fit_and_apply(MAPS[name](), rows.take(~here), rows.take(here))
    return out


def _checked_thresholds(given: Any) -> Array:
    """The user's thresholds in increasing order, each once; None gives 0.01 to 0.99.

    An InputError is raised unless they lie in [0, 1): at 1 nothing is worth a false alarm.
    """
    if given is None:
        return np.array(THRESHOLDS)
    try:
        places = np.unique(np.asarray(list(given), dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"thresholds must be numbers in [0, 1); got {given!r}") from None
    if not places.size:
        raise InputError("thresholds must hold one number or more; got none")
    if not ((places >= 0.0) & (places < 1.0)).all():
        bad = places[~((places >= 0.0) & (places < 1.0))][0]
        raise InputError(
            f"thresholds must lie in [0, 1): {bad:g} does not. If they are percentages, divide "
            "them by 100"
        )
    return places


def _samples_of_models(y_true: Any, given: Mapping[str, Any], rows: Rows) -> dict[str, Samples]:
    """The validated samples of each model by name; `given` maps names to predictions.

    An InputError is raised unless all models predict the same binary outcome.
    """
    if not given:
        raise InputError("y_proba must hold the predictions of one model or more; got none")
    if isinstance(y_true, Mapping):
        raise InputError(
            "y_true maps models to labels, and a decision curve is of one outcome for all: give "
            "one set of labels, or take the models one by one"
        )
    check_label_is_shared(y_true, given, column_names(rows.get("data")), can_have_own=False)
    out: dict[str, Samples] = {}
    for name, predictions in given.items():
        if str(name) in (ALL, NONE):
            raise InputError(f"{name!r} is what acting on {name} is called: name the model apart")
        with errors_about(str(name)):
            each = as_samples(y_true, predictions, **rows)
        if each.multiclass:
            raise InputError(
                f"{name}: a decision curve is of one outcome, with predictions of the shape (n,); "
                f"they are (n, {each.n_classes}). If these are {each.n_classes} models, give them "
                "by name, y_proba={'a': p_a, 'b': p_b}; if they are classes, give the column of "
                "one, and (y_true == class)"
            )
        out[str(name)] = each
    return out
