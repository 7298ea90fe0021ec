"""optimism(): what a model shows on its own rows, less what refitting it says is optimism."""

# ruff: noqa: N803 - X is the name that scikit-learn has for predictors.

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.reliability_curve import scalar_problem
from calibrant._api.rows import as_samples, group_index
from calibrant._core.errors import CalibrantError, InputError, errors_about
from calibrant._core.typing import Array, Index
from calibrant._core.validation import check_resamples, public
from calibrant._inference.coefficients import fit_coefficient
from calibrant._measures.catalogue import find
from calibrant._measures.coefficients import COEFFICIENTS
from calibrant._summaries.samples import Summary
from calibrant.results._optimism import Optimism, OptimismOfMeasure

# What is corrected unless it is named: these, the Brier score, its scaled form, and a distance.
_FIRST = ("slope", "intercept_in_the_large", "observed_expected", "c_statistic")
_DISTANCE = "ici"
_RATIOS: dict[str, Callable[[Array, Array], float]] = {
    "observed_expected": lambda y, p: float(y.sum() / p.sum()),
    "scaled_brier": lambda y, p: 1.0 - float(((p - y) ** 2).mean() / y.var()),
}


@public
def optimism(
    fit: Any,
    X: Any,
    y: ArrayLike,
    *,
    measures: Iterable[str] | None = None,
    n_resamples: int = 200,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> Optimism:
    r"""Performance of a model, corrected for the optimism of measuring it on its training rows.

    The model is refitted to bootstrap samples b of the rows. The mean difference between its
    performance on its own sample and on all rows is subtracted from the apparent value:

    .. math:: \hat\theta - \frac{1}{B} \sum_b \bigl( \theta(f_b; b) - \theta(f_b; \text{all}) \bigr)

    Parameters
    ----------
    fit : callable or estimator
        ``fit(X, y)`` returns a function of X that gives P(y = 1), or an object with
        ``predict_proba``; or a scikit-learn estimator, which is cloned. It must include every step
        that uses y (variable selection, tuning).
    X : array-like or data frame with n rows
        Predictors of each row, as `fit` takes them.
    y : array-like of shape (n,)
        Outcome of each row, 0 or 1.
    measures : iterable of str, optional
        `slope`, `intercept`, `intercept_in_the_large`, `observed_expected`, `scaled_brier`, or
        names of `catalogue()`; by default those of clinical papers.
    n_resamples : int, default 200
        Number of refitted models.
    groups : array-like of shape (n,), optional
        Cluster of each row (patient); whole clusters are drawn.
    seed : int, default 0
        Seed of the samples; a model with random numbers needs its own seed.

    Returns
    -------
    Optimism
        A row per measure: `apparent`, `optimism`, `corrected`.

    Raises
    ------
    InputError
        If X and y do not match, or more than half of the models cannot be fitted.

    References
    ----------
    Harrell, Lee and Mark (1996), Statistics in Medicine 15, 361-387.
    Steyerberg et al. (2001), doi:10.1016/S0895-4356(01)00341-9.

    Examples
    --------
    >>> import calibrant as cal
    >>> rate = lambda X, y: (lambda Z: [sum(y) / len(y)] * len(Z))
    >>> found = cal.optimism(rate, [[0]] * 60, [0, 0, 1] * 20, measures=["brier"], n_resamples=50)
    >>> found["brier"].corrected > found["brier"].apparent
    True
    """
    check_resamples(n_resamples, seed)
    default = (*_FIRST, "brier", "scaled_brier", _DISTANCE)
    names = list(dict.fromkeys(default if measures is None else measures))
    for name in names:
        if name not in (*COEFFICIENTS, *_RATIOS):
            find(name, "binary")
    outcomes = _outcomes(y)
    n = outcomes.size
    if len(X) != n:
        raise InputError(f"X and y must have the same number of rows; got {len(X)} and {n}")
    apparent = _performance(names, outcomes, _probabilities(_fit_model(fit, X, outcomes), X))
    clusters = group_index(groups, as_samples(outcomes, np.full(n, 0.5)), None)
    rng = np.random.default_rng((int(seed), 19))
    gaps, failures = [], []
    for _ in range(n_resamples):
        rows = _resampled_rows(rng, n, clusters)
        try:
            model = _fit_model(fit, _take_rows(X, rows), outcomes[rows])
            own = _performance(names, outcomes[rows], _probabilities(model, _take_rows(X, rows)))
            gaps.append(own - _performance(names, outcomes, _probabilities(model, X)))
        except Exception as error:
            failures.append(error)
    if len(failures) > n_resamples / 2:
        raise InputError(
            f"fit failed on {len(failures)} of {n_resamples} bootstrap samples; the first error "
            f"was {type(failures[0]).__name__}: {failures[0]}"
        ) from failures[0]
    note = ""
    if failures:
        note = f"fit failed on {len(failures)} of {n_resamples} bootstrap samples ({failures[0]})"
    table = np.array(gaps)
    rows_of = (_corrected(name, float(apparent[j]), table[:, j]) for j, name in enumerate(names))
    return Optimism(rows=tuple(rows_of), n=n, n_resamples=int(n_resamples), note=note)


def _corrected(name: str, apparent: float, gaps: Array) -> OptimismOfMeasure:
    """The row of a measure, from its gap in each resample; NaN where it has no value there."""
    kept = gaps[np.isfinite(gaps)]
    mean = float(kept.mean()) if kept.size else math.nan
    error = float(kept.std(ddof=1) / math.sqrt(kept.size)) if kept.size > 1 else math.nan
    return OptimismOfMeasure(
        measure=name,
        apparent=apparent,
        optimism=mean,
        corrected=apparent - mean,
        error=error,
        resamples=kept.size,
    )


def _outcomes(y: Any) -> Array:
    """The outcomes as an array of 0 and 1."""
    outcomes = np.asarray(y, dtype=np.float64)
    if outcomes.ndim != 1 or not ((outcomes == 0.0) | (outcomes == 1.0)).all():
        raise InputError("y must hold an outcome, 0 or 1, for each row of X")
    return outcomes


def _resampled_rows(rng: np.random.Generator, n: int, clusters: Index | None) -> Index:
    """The rows of a bootstrap sample; rows of a cluster are drawn together."""
    if clusters is None:
        return rng.integers(0, n, n)
    k = int(clusters.max()) + 1
    order = np.argsort(clusters, kind="stable")
    ends = np.cumsum(np.bincount(clusters, minlength=k))
    parts = np.split(order, ends[:-1])
    return np.concatenate([parts[j] for j in rng.integers(0, k, k)])


def _take_rows(X: Any, rows: Index) -> Any:
    """Rows of an array, a data frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]


def _fit_model(fit: Any, X: Any, y: Array) -> Callable[[Any], Any]:
    """A model fitted to these rows, as a function of X."""
    model = fit(X, y.astype(int)) if callable(fit) else copy.deepcopy(fit).fit(X, y.astype(int))
    if hasattr(model, "predict_proba"):
        return lambda Z: np.asarray(model.predict_proba(Z))[:, 1]
    if not callable(model):
        raise InputError(
            "fit(X, y) must return a function of X that gives P(y = 1), or an object with "
            f"predict_proba; got {type(model).__name__}"
        )
    predict: Callable[[Any], Any] = model
    return predict


def _probabilities(model: Callable[[Any], Any], X: Any) -> Array:
    """The model's predictions of these rows."""
    return np.asarray(model(X), dtype=np.float64)


def _performance(names: list[str], y: Array, p: Array) -> Array:
    """The value of each measure; NaN where it has none."""
    with errors_about("predictions of fit"):
        samples = as_samples(y, p)
        problem, _ = scalar_problem(samples, "binary", None)
    summary, out = Summary(samples), []
    if y.min() == y.max():
        return np.full(len(names), math.nan)  # no measure of a sample with one outcome is compared
    for name in names:
        try:
            if name in COEFFICIENTS:
                out.append(fit_coefficient(COEFFICIENTS[name], problem, None).value)
            elif name in _RATIOS:
                out.append(_RATIOS[name](y, p))
            else:
                out.append(float(find(name, "binary").compute(summary)))
        except CalibrantError:
            out.append(math.nan)
    return np.array(out)
