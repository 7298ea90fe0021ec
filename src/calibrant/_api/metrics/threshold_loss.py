"""threshold_loss(): the Brier score or log loss of the decision thresholds that matter."""

from __future__ import annotations

from typing import Any, Unpack

from numpy.typing import ArrayLike

from calibrant._api.reliability_curve import scalar_problem
from calibrant._api.rows import as_samples
from calibrant._core.arguments import Rows
from calibrant._core.errors import InputError
from calibrant._core.messages import name_of
from calibrant._core.validation import is_number, public
from calibrant._measures.threshold_losses import Shape, threshold_losses

_SHAPES: dict[str, Shape] = {"uniform": (1.0, 1.0), "log": None}


@public
def threshold_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    weight: str | tuple[float, float] = "uniform",
    **rows: Unpack[Rows],
) -> float:
    r"""Loss of acting on predictions, averaged over a range of decision thresholds.

    .. math:: \int_a^b \omega(t) \; 2 \Bigl( t \, 1[p \ge t] (1 - y) + (1 - t) 1[p < t] \, y \Bigr)
        \, dt \Big/ \int_a^b \omega(t) \, dt

    where t is the decision threshold: a false positive costs t and a false negative costs 1 - t, so
    acting pays exactly if the probability is above t. Uniform weights give

    .. math:: \frac{(c - y)^2 - (\tilde y - y)^2}{b - a}, \quad
        c = \mathrm{clip}(p, a, b), \; \tilde y = \mathrm{clip}(y, a, b)

    which is the Brier score over [0, 1]. A proper loss; lower is better. At one threshold it is
    ``2 (1 - t) (prevalence - net benefit)`` of `decision_curve`.

    Parameters
    ----------
    low : float in [0, 1], default 0.0
        The lowest threshold, a.
    high : float in [0, 1], default 1.0
        The highest threshold, b.
    weight : {"uniform", "log"} or tuple of float, default "uniform"
        How thresholds are weighted: equally; by 1 / (2 t (1 - t)) and without the division, which
        is the log loss over [0, 1] ("log"); or by a Beta density, whose two parameters are given.

    Returns
    -------
    float
        The mean loss.

    Raises
    ------
    InputError
        If the input cannot be read as outcomes and risks, or has several classes.

    Notes
    -----
    Predictions beyond the range count as its ends. So the difference of two models is that of the
    Brier scores (with "log", of the log losses) of their clipped predictions, over b - a: `compare`
    gives it with its interval.

    For soft labels, the loss of predicting the label itself is subtracted: over [0, 1] this gives
    the Brier score and `kl`.

    References
    ----------
    Flores, Schiff, Smith, Fukuyama and Wilson (2025), arXiv:2504.04528. Schervish (1989), Annals of
    Statistics 17. Hand (2009), doi:10.1007/s10994-009-5119-5 (Beta weights).

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    >>> round(cal.threshold_loss(y, p), 4), round(cal.brier_score(y, p), 4)
    (0.075, 0.075)
    >>> round(cal.threshold_loss(y, p, low=0.1, high=0.3), 4)
    0.1375
    """
    _check_range(low, high)
    shape = _shape(weight)
    samples = as_samples(y_true, y_proba, **rows)
    if samples.multiclass:
        raise InputError(
            "threshold_loss needs one outcome, with y_proba of the shape (n,); got (n, "
            f"{samples.n_classes}). Give one class's column as y_proba and (y_true == class) as "
            "y_true"
        )
    problem, _ = scalar_problem(samples, "binary", None)
    losses = threshold_losses(problem.u, problem.z, float(low), float(high), shape)
    w = problem.w
    return float(losses.mean() if w is None else w @ losses / w.sum())


def _check_range(low: Any, high: Any) -> None:
    """Raise an InputError unless low and high are the ends of a range of thresholds."""
    if not (is_number(low) and is_number(high)) or not 0.0 <= low < high <= 1.0:
        raise InputError(
            f"{name_of('low')} and {name_of('high')} must be thresholds with 0 <= low < high <= 1; "
            f"got {low!r} and {high!r}. If they are percentages, divide them by 100"
        )


def _shape(weight: Any) -> Shape:
    """The parameters of the weights of thresholds; an InputError if `weight` names none."""
    if isinstance(weight, str) and weight in _SHAPES:
        return _SHAPES[weight]
    numbers = tuple(weight) if isinstance(weight, tuple | list) else ()
    if len(numbers) == 2 and all(is_number(each) and each > 0.0 for each in numbers):
        return float(numbers[0]), float(numbers[1])
    raise InputError(
        "weight must be 'uniform', 'log', or the two parameters of a Beta density, such as (2, 8); "
        f"got {weight!r}"
    )
