"""certify(): a proved upper bound of a calibration error."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.rows import (
    as_samples,
    as_source,
    check_without,
    group_index,
    note_two_columns,
    read_cells,
)
from calibrant._core.arguments import Rows
from calibrant._core.binning import Bins, FixedRule, LevelSets, Rule, as_rule, fixed_cuts
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._core.messages import setting, worded
from calibrant._core.typing import Shape
from calibrant._core.validation import check_level, public
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.samples import Samples
from calibrant._engines.arrays.passes import whole_problem
from calibrant._inference.certificates import Units, certificate
from calibrant._measures.catalogue import Measure, catalogue, find
from calibrant._summaries.samples import Summary
from calibrant.results._certificate import Certificate


@public
def certify(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    level: float = 0.999,
    sigma: float | None = None,
    groups: ArrayLike | None = None,
    **rows: Unpack[Rows],
) -> Certificate:
    r"""Give a proved upper bound of a calibration error.

    The population's error exceeds the bound with probability at most ``1 - level``, for every
    population and every number of rows, if rows (or clusters) are independent. An interval by
    resampling is valid for many rows; this bound is wider but always valid.

    Parameters
    ----------
    measure : str, default "ece"
        "ece", "ks_error", "cutoff_ce", "ls_ece", "smooth_ece", "top_label_ece", "classwise_ece", or
        one of squares, whose root is bounded: "lin_ce", "classwise_ce", "atb",
        "confidence_ce_uncorrected".
    bins : int, sequence of float, EqualWidth, Edges, LevelSets or Cells, default 15
        Bins that are fixed in advance. A number means equal-width bins for truthful errors too.
        Quantile bins depend on the rows and are an error.
    level : float in (0, 1), default 0.999
        Minimum probability with which the bound holds.
    sigma : float, optional
        Width of the noise of a smooth error, fixed in advance: by default 0.1 for "ls_ece";
        "smooth_ece" is bounded at its fixed point by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row, where rows are not independent. Each cluster then counts as one bounded
        number.
    data

    Returns
    -------
    Certificate
        `upper`, the `value` on the sample, `level`, `n`; prints as one sentence.

    Raises
    ------
    InputError
        Also for a measure without a certificate, and for bins that depend on the rows.

    Notes
    -----
    These errors are the largest mean of ``f(u) (u - z)`` over functions f between -1 and 1, such as
    signs by bin. In the population, the error is the mean of one of these functions; on the sample,
    the mean of that function is at most the sample's value e. Bets on a mean of n rows with a mean
    square s (Fan, Grama and Liu 2015) give for each lambda

    .. math:: \frac{1}{\lambda} \left(1 - \exp\left(-\lambda e - \psi s
        - \tfrac{1}{n} \log \tfrac{1}{\delta}\right)\right),
        \quad \psi = -\log(1 - \lambda) - \lambda

    as a bound with probability :math:`1 - \delta`; several lambda are averaged.

    Weights and cluster sizes count as fixed: the bound is for the weighted mean over the
    populations of these rows. A large weight makes it wider.

    References
    ----------
    Fan, Grama and Liu (2015), Exponential inequalities for martingales with applications, lemma
    4.1; Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting,
    doi:10.1093/jrsssb/qkad009; Maurer and Pontil (2009), arXiv:0907.3740.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = rng.random(10_000) < p
    >>> found = cal.certify(y, p)
    >>> round(found.value, 3), round(found.upper, 3)
    (0.01, 0.027)
    """
    level = check_level(level)
    rows["data"] = data = scan_if_path(rows.get("data"))
    weights = rows.get("sample_weight")
    units = None
    if is_lazy(data):
        check_without(groups=groups, sample_weight=weights)
    source: Any = as_source(y_true, y_proba, **rows)
    if groups is not None or weights is not None:
        source = as_samples(y_true, y_proba, **rows)
    chosen = certifiable(measure, source.shape)
    bins = read_cells(bins, data)
    rule = fixed_rule(bins, source.count_rows if isinstance(source, FrameSamples) else source.n)
    if isinstance(source, FrameSamples):
        from calibrant._summaries.frame import sum_frame

        statistics: Any = sum_frame(source, (rule, rule), (chosen.name, "brier"))[0]
    else:
        statistics = Summary(source, rule, rule)
        _ = statistics.bins  # every value is checked on its way
    if isinstance(source, Samples) and (groups is not None or weights is not None):
        units = _units(source, group_index(groups, source, data), chosen, rule)
    found = certificate(
        chosen,
        statistics,
        level,
        source.n_columns,
        sigma=sigma,
        units=units,
        clusters=groups is not None,
        bins=str(rule),
    )
    return note_two_columns(found, source, chosen.notion)


def _units(samples: Samples, clusters: Any, measure: Measure, rule: Rule) -> Units:
    """The rows or clusters of the scalar problem as one bounded number each."""
    u, z, w, _ = whole_problem(samples, "confidence" if samples.multiclass else "binary")
    weights = np.ones(u.size) if w is None else w.astype(np.float64)
    bins = None
    if measure.is_binned and measure.notion == "scalar":
        if isinstance(rule, Cells):
            bins = rule.of_rows(samples.n, samples.kept)
        elif isinstance(rule, FixedRule):
            bins = fixed_cuts(rule, samples.precision).find(u)
    return Units.of_rows(u - z, weights, clusters, bins)


def certifiable(name: str, shape: Shape) -> Measure:
    """The measure of a name; InputError if it has no certificate."""
    measure = find(name, shape)
    if not measure.certifiable:
        names = ", ".join(m.name for m in catalogue(shape) if m.certifiable)
        raise InputError(
            f"{setting('measure', name)} has no certificate: it is not the mean of a bounded "
            f"function of each row. Measures with a certificate: {names}"
        )
    return measure


def fixed_rule(bins: Bins, n: Any) -> Rule:
    """The rule of bins; InputError if it follows the rows."""
    rule = as_rule(bins, n=n, cells=True)
    if isinstance(rule, FixedRule | LevelSets | Cells):
        return rule
    raise InputError(
        f"a certificate needs bins that are fixed in advance, but {rule} depend on the "
        "predictions. "
        + worded(
            python="Give a number of equal-width bins, or edges from other rows: "
            "bins=cal.Edges([0, ..., 1])",
            command="Give a number of equal-width bins, or edges from other rows: --bins 0,0.5,1",
        )
    )
