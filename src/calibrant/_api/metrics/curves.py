"""Distances between a smoothed calibration curve and the diagonal, as one-line functions."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from calibrant._api.rows import as_source
from calibrant._core.arguments import Rows
from calibrant._core.errors import InputError, one_of
from calibrant._core.validation import public
from calibrant._measures.catalogue import Measure, catalogue
from calibrant._summaries.samples import Summary


@public
def ici(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    part: str = "mean",
    **rows: Unpack[Rows],
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

    Returns
    -------
    float
        The distance, in [0, 1].

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
    samples = as_source(y_true, y_proba, **rows)
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
