"""Tests of calibration, as one-line functions."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from calibrant.binning import Bins, Quantile, Rule, as_rule
from calibrant.engines.counting import bin_table
from calibrant.engines.streams import EPS
from calibrant.errors import InputError, refuse_total
from calibrant.inference import significance
from calibrant.inference.cells import Problem, problem_of
from calibrant.inputs.accept import accept
from calibrant.inputs.explain import explained, refuse_swapped
from calibrant.options import public
from calibrant.results.uncertainty import CalibrationTest, CoxCalibration
from calibrant.samples.samples import Samples
from calibrant.summary import settle_notion


@public
def spiegelhalter(
    y_true: Any,
    y_proba: Any,
    *,
    notion: str | None = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CalibrationTest:
    r"""Spiegelhalter's test: is the Brier score what the reports make one expect?

    .. math:: Z = \frac{\sum w (z - u)(1 - 2u)}{\sqrt{\sum w^2 (1 - 2u)^2 u (1 - u)}}

    Standard normal when the reports are right; the p-value is two-sided. Hard labels only.

    References
    ----------
    Spiegelhalter (1986), doi:10.1002/sim.4780050506.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.spiegelhalter([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).statistic, 4)
    -1.005
    """
    problem = _scalar_problem(
        y_true, y_proba, sample_weight, from_logits, classes, data, notion, Quantile(1)
    )
    _needs_outcomes(problem, "Spiegelhalter's test")
    z = significance.spiegelhalter_z(problem.u, problem.z, problem.weights)
    note = "every report is 0, 1/2 or 1: the test says nothing" if math.isnan(z) else ""
    p = 1.0 if math.isnan(z) else significance.two_sided(z)
    return CalibrationTest("Spiegelhalter z", z, p, "standard normal, two-sided", note)


@public
def hosmer_lemeshow(
    y_true: Any,
    y_proba: Any,
    *,
    bins: Bins = Quantile(10),
    fitted: bool = False,
    notion: str | None = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CalibrationTest:
    r"""The Hosmer-Lemeshow test: are the counts in groups of equal size as expected?

    .. math:: \sum_B \frac{(O_B - E_B)^2}{n_B \bar u_B (1 - \bar u_B)}

    Chi-square with as many degrees of freedom as groups for reports on new data, and two fewer
    where the model was `fitted` to these rows. Ten quantile groups unless `bins` says otherwise.
    Hard labels; the test counts rows and takes no weights.

    References
    ----------
    Hosmer and Lemeshow (1980), doi:10.1080/03610928008827941.

    Examples
    --------
    >>> import calibrant as cal
    >>> test = cal.hosmer_lemeshow([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25, bins=2)
    >>> round(test.statistic, 1), test.p_value < 1e-4
    (33.9, True)
    """
    rule = as_rule(bins, default=Quantile)
    samples, settled = _samples(y_true, y_proba, None, from_logits, classes, data, notion)
    with explained(samples):
        table, _, findings = bin_table(samples, settled, rule)
    if findings.soft:
        refuse_swapped(samples)
        raise InputError(_NEEDS_OUTCOMES.format("the Hosmer-Lemeshow test"))
    statistic, groups = significance.hosmer_lemeshow(table)
    df = groups - 2 if fitted else groups
    if df < 1:
        raise InputError(
            f"the Hosmer-Lemeshow test needs {'three' if fitted else 'one'} or more groups with "
            f"reports strictly between 0 and 1; there are {groups}"
        )
    p = significance.chi_square_tail(statistic, df)
    return CalibrationTest(
        "Hosmer-Lemeshow", statistic, p, f"chi-square with {df} degrees of freedom", str(rule)
    )


@public
def truthful_test(
    y_true: Any,
    y_proba: Any,
    *,
    bins: Bins = Quantile(15),
    notion: str | None = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CalibrationTest:
    r"""The truthful error against the mean and variance that right reports give it.

    ``E[LinCE] = sum w^2 u (1 - u) / W^2`` whatever the bins (Lu et al., theorem 3.1), and the
    variance has a closed form too; the p-value is that of the scaled chi-square with both. Hard
    labels only; 15 quantile bins unless `bins` says otherwise.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.truthful_test([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25).p_value < 1e-4
    True
    """
    rule = as_rule(bins, default=Quantile)
    problem = _scalar_problem(
        y_true, y_proba, sample_weight, from_logits, classes, data, notion, rule
    )
    _needs_outcomes(problem, "the truthful test")
    value, mean, variance = significance.linear_null(problem)
    p = significance.scaled_chi_square_tail(value, mean, variance)
    null = f"mean {mean:.3g} and standard deviation {math.sqrt(variance):.3g} when calibrated"
    return CalibrationTest("truthful error (LinCE)", value, p, null, str(rule))


@public
def cox_calibration(
    y_true: Any,
    y_proba: Any,
    *,
    level: float = 0.95,
    eps: float = EPS,
    notion: str | None = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CoxCalibration:
    r"""Cox's slope and intercepts: the targets regressed on the logits of the reports.

    .. math:: \operatorname{logit} P(z = 1) = a + b \operatorname{logit} u

    `slope` b and `intercept` a together, and `intercept_at_slope_1`: a alone with b = 1, known as
    calibration in the large. Calibrated reports have slope 1 and both intercepts 0. Soft targets
    and weights get standard errors from the scatter of the scores. Reports are clipped to
    [eps, 1 - eps].

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562; Miller, Hui and Tierney (1991),
    doi:10.1002/sim.4780100805.

    Examples
    --------
    >>> import calibrant as cal
    >>> fit = cal.cox_calibration([0, 1, 1, 0, 0, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.3])
    >>> round(fit.slope, 3), round(fit.intercept_at_slope_1, 3)
    (1.07, -0.087)
    """
    if not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        raise InputError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}")
    if not isinstance(eps, numbers.Real) or not 1e-16 <= float(eps) < 0.5:
        raise InputError(f"eps must be a number from 1e-16 up to 1/2; got {eps!r}")
    problem = _scalar_problem(
        y_true, y_proba, sample_weight, from_logits, classes, data, notion, Quantile(1)
    )
    from scipy.special import ndtri

    both, large, as_is, moved = significance.cox_fits(problem, float(eps))
    half = float(ndtri(0.5 + float(level) / 2.0))
    notes = []
    if moved:
        notes.append(f"{moved} reports moved to within [{eps:g}, 1 - {eps:g}]")
    if both.bounded:
        notes.append("the targets are separated by the reports: the slope has no finite estimate")
    if both.covariance[1, 1] == 0.0:
        notes.append("all reports are alike: only the intercept can be fitted")
    statistic = 2.0 * (both.log_likelihood - as_is)
    error = [math.sqrt(max(v, 0.0)) for v in (*both.covariance.diagonal(), large.covariance[0, 0])]

    def around(value: float, standard_error: float) -> tuple[float, float, float]:
        return value, value - half * standard_error, value + half * standard_error

    return CoxCalibration(
        *around(both.slope, error[1]),
        *around(both.intercept, error[0]),
        *around(large.intercept, error[2]),
        significance.chi_square_tail(statistic, 2),
        float(level),
        "; ".join(notes),
    )


_NEEDS_OUTCOMES = "{} needs outcomes (0 or 1); y_true holds soft labels"


def _needs_outcomes(problem: Problem, test: str) -> None:
    if not problem.hard:
        raise InputError(_NEEDS_OUTCOMES.format(test))


def _samples(
    y_true: Any, y_proba: Any, sample_weight: Any, from_logits: bool,
    classes: Sequence[Any] | None, data: Any, notion: str | None,
) -> tuple[Samples, Any]:  # fmt: skip
    samples = accept(
        y_true, y_proba, sample_weight=sample_weight, from_logits=from_logits, classes=classes,
        data=data,
    )  # fmt: skip
    settled = settle_notion(samples, notion)
    if settled in ("classwise", "full"):
        raise InputError(
            f"a test is of one problem, so notion={notion!r} has none: give one class's column as "
            "y_proba and (y_true == class) as y_true"
        )
    return samples, settled


def _scalar_problem(
    y_true: Any, y_proba: Any, sample_weight: Any, from_logits: bool,
    classes: Sequence[Any] | None, data: Any, notion: str | None, rule: Rule,
) -> Problem:  # fmt: skip
    samples, settled = _samples(y_true, y_proba, sample_weight, from_logits, classes, data, notion)
    with explained(samples):
        problem = problem_of(samples, settled, rule)
    if problem is None:
        raise InputError(f"this test needs bins with edges; got {rule}")
    if not problem.hard:
        refuse_swapped(samples)
    refuse_total(float(problem.weights.sum()), samples.n)
    return problem
