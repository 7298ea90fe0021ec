"""clinical_plot(): curve, band, logistic line, histogram and statistics in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import ArrayLike

from calibrant._api.clinical import clinical_summary
from calibrant._api.reliability import reliability
from calibrant._api.reliability_curve import reliability_curve
from calibrant._core.arguments import Rows
from calibrant._core.optional import need
from calibrant._core.validation import N_RESAMPLES, public
from calibrant._measures.local_regression import SPAN

if TYPE_CHECKING:
    from calibrant.results._plots.clinical import ClinicalDisplay


@public
def clinical_plot(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    ax: Any = None,
    legend: bool | str = True,
    size: str | tuple[float, float] | None = None,
    **rows: Unpack[Rows],
) -> ClinicalDisplay:
    """Draw the calibration plot of clinical papers. Needs matplotlib.

    One figure has the local regression of the ICI with its band, the line of logistic
    recalibration, the risks by outcome, and slope, intercept, O:E, C, Brier score and ICI with
    their intervals, as ``val.prob.ci.2`` of R's CalibrationCurves draws it.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or str
        Predicted risks, P(y = 1); with `data`, a column's name.
    groups
        Cluster of each row (patient); rows of one cluster vary together.
    level
        Level of the band and of the intervals.
    n_resamples
        Number of resamples behind the interval of the ICI.
    seed
    ax : matplotlib Axes, optional
        Axes to draw on; by default, a new figure. On `ax` and in one column of a paper, the
        statistics are in `caption` alone.
    legend : bool or str, default True
        Whether to draw a legend where there is room, or its location inside the axes.
    size : "column" or tuple of two floats, optional
        Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
    data

    Returns
    -------
    ClinicalDisplay
        The figure; `save` writes it to a file, and `summary` has all values.

    Raises
    ------
    InputError
        If the input cannot be read as outcomes and risks, or has several classes.

    References
    ----------
    Van Calster et al. (2016), doi:10.1016/j.jclinepi.2015.12.005.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> cal.clinical_plot(y, p, n_resamples=50).logistic_.get_label()
    'logistic recalibration'
    """
    need("matplotlib", "drawing a diagram")
    from calibrant.results._plots.clinical import ClinicalDisplay

    own: Any = {"groups": groups, "level": level, "seed": seed, **rows}
    summary = clinical_summary(y_true, y_proba, n_resamples=n_resamples, **own)
    curve = reliability_curve(y_true, y_proba, method="local", span=SPAN, **own)
    table = reliability(y_true, y_proba, bins=40, **rows)
    return ClinicalDisplay(curve, table, summary).plot(ax=ax, legend=legend, size=size)
