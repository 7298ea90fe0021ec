"""Distances between a smoothed calibration curve and the diagonal, as one-line functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant._data.logprobs import given_as
from calibrant._data.to_samples import as_source
from calibrant._measures.catalogue import Measure, catalogue
from calibrant._summaries.samples import Summary


@public
def ici(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    part: str = "mean",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Integrated calibration index: the mean distance between a local regression and the risks.

    .. math:: \frac{1}{W} \sum_i w_i \, | \hat f(u_i) - u_i |

    where the curve is a local regression of the outcomes on the predictions, as R's ``loess`` has
    it (span 0.75, degree 2, interpolated between vertices). Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or str
        Predicted risks, P(y = 1); with `data`, a column's name.
    part : {"mean", "e50", "e90", "emax"}, default "mean"
        The mean distance (ICI), its median, its 90% quantile, or its maximum.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row, where `y_true` counts those for class 1; counts of every
        class carry their own.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, DuckDB, Spark, Dask.

    Returns
    -------
    float
        The distance, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    Neighbourhoods are shares of weight, where R counts rows: the two differ by at most one row. Up
    to three distinct predictions have the mean outcomes themselves.

    References
    ----------
    Austin and Steyerberg (2019), doi:10.1002/sim.8281. Cleveland and Grosse (1991), Statistics and
    Computing 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> round(cal.ici(y, p), 4), round(cal.ici(y, p, part="emax"), 4)
    (0.351, 0.7)
    """
    parts = _parts()
    one_of("part", part, parts)
    given = given_as(from_logits, from_logprobs)
    samples = as_source(y_true, y_proba, sample_weight, given, classes, data, votes=votes)
    if samples.multiclass:
        raise InputError(
            f"ici is of one outcome, with y_proba of the shape (n,); it is (n, {samples.n_classes})"
            ". Give one class's column as y_proba and (y_true == class) as y_true"
        )
    return parts[part].compute(Summary(samples))


def _parts() -> dict[str, Measure]:
    """The measures that are a part of this function, by its option."""
    own = (m for m in catalogue("binary") if m.function.partition("(")[0] == ici.__name__)
    return {m.function.partition("part='")[2].rstrip("')") or "mean": m for m in own}
