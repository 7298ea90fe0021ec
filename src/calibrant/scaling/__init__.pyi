# Written by .ci/stub.py: change the functions, then run it.

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._core.binning import Bins
from calibrant.scaling._at_prior import at_prior
from calibrant.scaling._estimator import ScalingEstimator
from calibrant.scaling._linear import LinearMap
from calibrant.scaling._load import SCALERS, from_json, load
from calibrant.scaling._one_vs_rest import Column, ColumnFit, OneVsRest
from calibrant.scaling._predictions import FloatArray, Predictions
from calibrant.scaling._priors import Prior
from calibrant.scaling._problem import Problem, Solution
from calibrant.scaling._recalibrated import Recalibrated
from calibrant.scaling._same_rows import SameRows
from calibrant.scaling._scaler import Scaler
from calibrant.scaling._structured import _StructuredMap

__all__ = [
    "SCALERS",
    "BetaCalibration",
    "CentredIsotonic",
    "DirichletCalibration",
    "HistogramBinning",
    "IsotonicCalibration",
    "LabelSmoothingTemperature",
    "MatrixScaling",
    "PlattScaling",
    "PriorShift",
    "QuadraticScaling",
    "Recalibrated",
    "SameRows",
    "Scaler",
    "ScalingEstimator",
    "SplineScaling",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "at_prior",
    "from_json",
    "load",
]

class PriorShift(Scaler):
    r"""Prior shift: adapt calibrated predictions to a population with other class shares.

    .. math:: q_{ir} = \frac{p_{ir}\, \pi'_r / \pi_r}{\sum_s p_{is}\, \pi'_s / \pi_s}

    where pi are the shares (prior) of the classes in the population that the predictions are
    calibrated for, and pi' those in the new population. It is exact if only the shares differ, and
    rows of one class have the same distribution in both populations (label shift). The origin of
    each prior:

    ================  ================  ==================================================
    `prior`           `source_prior`    what `fit` takes from its rows
    ================  ================  ==================================================
    given             given             nothing
    given             not given         the source prior: the shares of its labels
    not given         given             the new prior: the shares of its labels
    not given         not given         the ratio with the least log loss on its rows,
                                        which are labelled ones of the new population
    ================  ================  ==================================================

    `fit_unlabelled` needs no labels of the new population: it estimates the new prior from the
    predictions alone, by the EM algorithm of Saerens et al.

    Parameters
    ----------
    prior : float or sequence of float, optional
        pi': the share of class 1, or the shares of all classes in the order of `y_proba`.
    source_prior : float or sequence of float, optional
        pi: the shares at which the predictions are calibrated, in the same form.
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    prior_ : ndarray of shape (k,)
        pi': the share of each class where the map is used.
    source_prior_ : ndarray of shape (k,)
        pi: the share of each class where the predictions are calibrated.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of EM or of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after; NaN after `fit_unlabelled`. With `prior`
        and labels of the source population it is the loss under the old shares, which rises.

    Notes
    -----
    Predictions that are miscalibrated in the source population remain miscalibrated: recalibrate
    them there first, then shift. A prediction of exactly 0 or 1 does not change, so it does not
    affect the ratio with the least log loss. Probabilities up to 1e-12, the floor of that loss, do
    not affect it either. Soft labels count by their shares.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities: a simple procedure, Neural Computation 14(1):21-41,
    doi:10.1162/089976602753284446. Elkan (2001), The foundations of cost-sensitive learning, IJCAI.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.scaling import PriorShift
    >>> scaler = PriorShift(prior=0.02, source_prior=0.3).fit_unlabelled([0.1, 0.5, 0.9])
    >>> scaler.transform([0.1, 0.5, 0.9]).round(4).tolist()
    [0.0053, 0.0455, 0.3]
    """

    prior_: FloatArray
    source_prior_: FloatArray

    def __init__(
        self,
        *,
        prior: Prior | None = None,
        source_prior: Prior | None = None,
        from_logits: bool = False,
        from_logprobs: bool = False,
    ) -> None: ...
    def fit_unlabelled(
        self,
        y_proba: Any,
        *,
        y_source: Any = None,
        sample_weight: Any = None,
        classes: Sequence[Any] | None = None,
        data: Any = None,
    ) -> PriorShift:
        """Fit the map to predictions of the new population, whose labels are unknown.

        The new prior is `prior` if that is given, and otherwise the one under which the predictions
        are likeliest,

        .. math:: \\max_{\\pi'} \\sum_i w_i \\ln \\sum_r p_{ir}\\, \\pi'_r / \\pi_r,

        by EM, starting from pi. You may map these rows too: the fit used no labels, so `transform`
        does not warn.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, k)
            Predictions on rows of the new population.
        y_source : array-like of shape (m,) or (m, k), optional
            Labels of rows that the predictor is calibrated for or was trained on, in any form that
            `fit` takes; pi is then their shares. Not with `source_prior`.
        sample_weight : array-like of shape (n,), optional
            Weight of each row of `y_proba`; 1 by default.
        classes : sequence, optional
            The labels of `y_source` in the order of the columns of `y_proba`.
        data : frame, optional
            A frame; `y_proba` and `sample_weight` are then names of its columns.

        Returns
        -------
        PriorShift
            The map itself, fitted.

        Raises
        ------
        InputError
            If neither `source_prior` nor `y_source` gives the source prior, or both do.

        Warns
        -----
        CalibrantWarning
            If the predictions are likeliest when a class has a share of 0, which usually means that
            they are not calibrated at the source prior.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant.scaling import PriorShift
        >>> rng = np.random.default_rng(0)
        >>> y = rng.random(5000) < 0.1  # the new population: 10 %
        >>> p = 1 / (1 + np.exp(-(2 * rng.normal(2 * y - 1, 1))))  # calibrated at 50 %
        >>> scaler = PriorShift(source_prior=0.5).fit_unlabelled(p)
        >>> scaler.prior_.round(2).tolist(), y.mean().round(2).item()
        ([0.89, 0.11], 0.11)
        """

    def _solve(self, problem: Problem) -> Solution: ...
    def _apply(self, predictions: Predictions) -> FloatArray: ...

class TemperatureScaling(Scaler):
    r"""Temperature scaling: logits divided by one number, which does not change the top label.

    .. math:: q_i = \mathrm{softmax}(s_i / T)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities, and T minimises
    the log loss. The loss is convex in 1/T; its minimum is found by Newton's method on the exact
    derivatives. T is limited to [0.001, 1000], with a warning at either end: predictions that are
    right on every row have no best temperature. A binary prediction is a single logit, divided by
    T.

    Parameters
    ----------
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000]; above 1 the predictions were overconfident.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks, ICML,
    arXiv:1706.04599.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import TemperatureScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = TemperatureScaling().fit(fashion.val_labels, fashion.val_logits)
    >>> round(scaler.temperature_, 3)
    1.79
    >>> scaler.transform(fashion.test_logits).shape
    (4000, 10)
    """

    temperature_: float

    def __init__(self, *, from_logits: bool = True, from_logprobs: bool = False) -> None: ...
    def _solve(self, problem: Problem) -> Solution: ...
    def _apply(self, predictions: Predictions) -> FloatArray: ...

class BetaCalibration(OneVsRest):
    r"""Beta calibration: the correct map for beta-distributed predictions of each class.

    .. math:: q_i = \sigma\bigl(a \ln p_i - b \ln(1 - p_i) + c\bigr), \quad a, b \ge 0

    where p is lifted to 1e-12, and so is 1 - p, and a, b, c minimise the log loss. The identity is
    one of these maps (a = b = 1, c = 0), and none of them decreases.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    a_, b_, c_ : ndarray of shape (n_maps,)
        The parameters of each map: one map for two classes, k for k > 2.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration, AISTATS, PMLR 54:623-631.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import BetaCalibration
    >>> shirt = examples.load("fashion-shirt")
    >>> scaler = BetaCalibration().fit(shirt.val_soft_labels, shirt.val_proba)
    >>> scaler.loss_ < scaler.loss_before_
    True
    """

    a_: FloatArray
    b_: FloatArray
    c_: FloatArray

    def _fit_column(self, column: Column) -> ColumnFit: ...
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray: ...

class HistogramBinning(OneVsRest):
    r"""Histogram binning: every prediction becomes the mean target of its bin.

    .. math:: q_i = \frac{\sum_{l \in B(i)} w_l z_l}{\sum_{l \in B(i)} w_l}

    where B(i) is the bin of prediction i. A prediction in a bin that was empty in the fit is not
    changed.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum;
    a row whose classes are all mapped to 0 is returned unchanged.

    Parameters
    ----------
    bins : int or binning rule, default 15
        A number of equal-width bins, or a rule that puts equal predictions into one bin, such as
        ``calibrant.Quantile(15)`` or ``calibrant.Edges([...])``.
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    edges_ : tuple of ndarray
        The inner edges of each map (a prediction's bin is the number of edges at or below it): one
        map for two classes, k for k > 2.
    values_ : tuple of ndarray
        The mean target of each bin; NaN where the bin was empty.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Zadrozny and Elkan (2001), Obtaining calibrated probability estimates from decision trees and
    naive Bayesian classifiers, ICML.

    Examples
    --------
    >>> from calibrant.scaling import HistogramBinning
    >>> scaler = HistogramBinning(bins=4).fit([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.8])
    >>> scaler.transform([0.05, 0.4, 0.6, 0.9]).tolist()
    [0.5, 0.0, 0.6, 1.0]
    """

    edges_: tuple[FloatArray, ...]
    values_: tuple[FloatArray, ...]

    def __init__(
        self, *, bins: Bins = 15, from_logits: bool = False, from_logprobs: bool = False
    ) -> None: ...
    def _fit_column(self, column: Column) -> ColumnFit: ...
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray: ...

class IsotonicCalibration(OneVsRest):
    r"""Isotonic calibration: the increasing map of the predictions that fits the targets best.

    .. math:: \min_{q_1 \le \dots \le q_n} \frac{1}{W} \sum_i w_i (q_i - z_i)^2,
        \quad p_1 \le \dots \le p_n

    found by pooling adjacent violators; this also minimises the log loss. Equal predictions are
    pooled. The map is constant on a block of pooled predictions, linear between neighbouring
    blocks, and constant beyond the first and the last prediction, as in scikit-learn. It can
    predict exactly 0 or 1, which may cost a held-out row an infinite log loss (Calibrant's floor is
    1e-12).

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum;
    a row whose classes are all mapped to 0 is returned unchanged.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    thresholds_ : tuple of ndarray
        The predictions at which each map bends: one map for two classes, k for k > 2.
    values_ : tuple of ndarray
        Their recalibrated probabilities.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, KDD, doi:10.1145/775047.775151.

    Examples
    --------
    >>> from calibrant.scaling import IsotonicCalibration
    >>> scaler = IsotonicCalibration().fit([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8])
    >>> scaler.transform([0.05, 0.4, 0.65]).tolist()
    [0.0, 0.5, 0.75]
    """

    thresholds_: tuple[FloatArray, ...]
    values_: tuple[FloatArray, ...]

    def _fit_column(self, column: Column) -> ColumnFit: ...
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray: ...

class LabelSmoothingTemperature(TemperatureScaling):
    r"""Temperature scaling to smoothed majority votes, for labels without their votes.

    .. math:: q_i = \mathrm{softmax}(s_i / T), \quad
        T \text{ minimises } - \sum_i w_i \sum_r \tilde z_{ir} \ln q_{ir}, \quad
        \tilde z_i = (1 - \varepsilon) e_{y_i} + \varepsilon / k,
        \quad \varepsilon = \frac{1}{W} \sum_i w_i (1 - p_{i, y_i})

    where y is the label that most annotators chose, p are the predicted probabilities before
    scaling and s the logits (logarithms of p with ``from_logits=False``). A temperature fitted to
    majority votes treats rows on which people disagree as certain, so it is too low. The
    probability that the predictor itself gives to other labels stands in for the disagreement.

    Soft labels and vote counts are read as their majority (tied classes share it), and each row
    counts once, for any number of votes. The top label does not change, and T lies in [0.001,
    1000].

    Parameters
    ----------
    smoothing : float in [0, 1], optional
        epsilon; by default as above. If you know how often single votes differ from the majority,
        for example from a pilot study, give that rate. 0 is `TemperatureScaling` to majority votes.
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000]; above 1 the predictions were overconfident.
    smoothing_ : float
        epsilon: the probability that each label gives to the other classes, the same for all rows.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, against the given targets, before and after. This map does
        not minimise it, so it may rise.

    Notes
    -----
    Majority labels do not show how much people disagree. For an overconfident predictor epsilon is
    little more than its error rate. The map helps if the predictor errs about as often as single
    votes differ from the majority, and is far too flat if it errs more often. If you have votes,
    fit `TemperatureScaling` or `DirichletCalibration` to them: one vote per row is enough for a
    temperature.

    References
    ----------
    Tao, Luo, Dong and Xu (2026), Confidence Calibration under Ambiguous Ground Truth,
    arXiv:2603.22879.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import LabelSmoothingTemperature, TemperatureScaling
    >>> fashion = examples.load("fashion")
    >>> smoothed = LabelSmoothingTemperature().fit(fashion.val_labels, fashion.val_logits)
    >>> plain = TemperatureScaling().fit(fashion.val_labels, fashion.val_logits)
    >>> round(smoothed.smoothing_, 3), smoothed.temperature_ > plain.temperature_
    (0.205, True)
    """

    smoothing_: float

    def __init__(
        self,
        *,
        smoothing: float | None = None,
        from_logits: bool = True,
        from_logprobs: bool = False,
    ) -> None: ...
    def _solve(self, problem: Problem) -> Solution: ...

class MatrixScaling(LinearMap):
    r"""Matrix scaling: a linear map of the logits, with an optional penalty.

    .. math:: q_i = \mathrm{softmax}(W s_i + b)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities. W and b minimise
    the log loss plus

    .. math:: \lambda \Bigl[ \frac{1}{k(k-1)} \sum_{r \ne t} W_{rt}^2 + \frac{1}{k} \sum_r b_r^2
        \Bigr]

    with ``l2`` for lambda (the off-diagonal and intercept regularisation of Kull et al.; 0 by
    default). With few rows, k² + k parameters overfit: with many classes give an ``l2``, and choose
    it on separate rows. Predictions (n,) are two classes: a logit h is (-h/2, h/2).

    Parameters
    ----------
    l2 : float, default 0.0
        lambda, the weight of the penalty; finite and not negative.
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    coef_ : ndarray of shape (k, k)
        W, one row for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599, section 4.2; Kull et al. (2019),
    arXiv:1910.12656.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import MatrixScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = MatrixScaling(l2=0.1).fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape
    (10, 10)
    """

    def __init__(
        self, *, l2: float = 0.0, from_logits: bool = True, from_logprobs: bool = False
    ) -> None: ...
    def _solve(self, problem: Problem) -> Solution: ...

class PlattScaling(OneVsRest):
    r"""Platt scaling: a logistic curve over the logit of a prediction.

    .. math:: q_i = \sigma(a h_i + b)

    where h is the logit (the logit of a probability lifted to 1e-12, unless ``from_logits=True``),
    and a, b minimise the log loss. ``smooth_targets=True`` replaces the targets 1 and 0 by ``(N1 +
    1) / (N1 + 2)`` and ``1 / (N0 + 2)``, as Platt did against overfitting; N is a sum of weights.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Parameters
    ----------
    smooth_targets : bool, default False
        Whether to smooth the targets towards 1/2, as above.
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    slope_ : ndarray of shape (n_maps,)
        a of each map: one map for two classes, k for k > 2.
    intercept_ : ndarray of shape (n_maps,)
        b of each map.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, in Advances in Large Margin
    Classifiers, MIT Press.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import PlattScaling
    >>> shirt = examples.load("fashion-shirt")
    >>> scaler = PlattScaling().fit(shirt.val_labels, shirt.val_proba)
    >>> scaler.transform(shirt.test_proba).shape
    (4000,)
    """

    slope_: FloatArray
    intercept_: FloatArray

    def __init__(
        self,
        *,
        smooth_targets: bool = False,
        from_logits: bool = False,
        from_logprobs: bool = False,
    ) -> None: ...
    def _fit_column(self, column: Column) -> ColumnFit: ...
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray: ...

class QuadraticScaling(OneVsRest):
    r"""Quadratic scaling: a logistic curve over the logit of a prediction and its square.

    .. math:: q_i = \sigma(a + b h_i + c h_i^2)

    where h is the logit, clipped to [-27.6, 27.6] (probabilities in [1e-12, 1 - 1e-12]), and a, b,
    c minimise the log loss. It is the correct map if the logits of both classes are normally
    distributed with different variances; with c = 0 it is Platt scaling. Beyond the predictions of
    the fit the curve continues as a straight line.

    A parabola turns: on one side of ``h = -b / (2 c)`` higher predictions are mapped to lower ones.
    If the turn lies among the rows of the fit, the map changes their order (and the AUROC) and
    gives two predictions one probability. If that affects 1% of the rows or more, the fit warns.
    ``increasing=True`` prevents it: a, b, c are then the best parameters for which the curve never
    falls, within the predictions of the fit or beyond.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Parameters
    ----------
    increasing : bool, default False
        Whether to allow only maps that never fall.
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    intercept_, slope_, curvature_ : ndarray of shape (n_maps,)
        a, b and c of each map: one map for two classes, k for k > 2.
    range_ : tuple of ndarray of shape (2,)
        The lowest and the highest logit of the fit, for each map; beyond them it is straight.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    See Also
    --------
    PlattScaling : without the square.
    BetaCalibration : three parameters too, and never falls.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured Matrix Scaling for Multi-Class
    Calibration, arXiv:2511.03685.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import QuadraticScaling
    >>> shirt = examples.load("fashion-shirt")
    >>> scaler = QuadraticScaling().fit(shirt.val_soft_labels, shirt.val_proba)
    >>> scaler.loss_ < scaler.loss_before_
    True
    """

    intercept_: FloatArray
    slope_: FloatArray
    curvature_: FloatArray
    range_: tuple[FloatArray, ...]

    def __init__(
        self, *, increasing: bool = False, from_logits: bool = False, from_logprobs: bool = False
    ) -> None: ...
    def _fit_column(self, column: Column) -> ColumnFit: ...
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray: ...

class SplineScaling(OneVsRest):
    r"""Spline scaling: a smooth, increasing curve over the logit of a prediction.

    .. math:: q_i = \sigma(f(h_i)), \quad f \text{ minimises } - \frac{1}{W} \sum_i w_i \bigl(z_i
        \ln q_i + (1 - z_i) \ln(1 - q_i)\bigr) + \frac{\lambda}{2} \int f''(u)^2 du

    among increasing natural cubic splines, where h is the logit (of a probability lifted to 1e-12,
    unless ``from_logits=True``) and u is h on a scale on which the outer knots are 1 apart. Platt
    scaling is the limit of a large lambda. Knots are dense where many rows have uncertain outcomes.
    Beyond the outer knots f is a line, and from four times their distance on it is constant.

    lambda is a power of ten from 1 to 1e-8: the largest whose cross-validated log loss is within
    half a standard error of the least. The five folds are every fifth of the distinct predictions
    in order, each with all its rows, so nothing is random. Neither the scale of the weights nor the
    number of votes per row affects the choice. If the best spline does not increase, the best
    increasing one is used.

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum.

    Parameters
    ----------
    n_knots : int, default 10
        Number of knots, at least 2; fewer if there are fewer distinct predictions.
    smoothing : float, optional
        lambda, above 0; by default it is chosen as above.
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    knots_ : tuple of ndarray
        The logits at which each map's pieces meet: one map for two classes, k for k > 2.
    values_ : tuple of ndarray
        The values of f at these logits.
    smoothing_ : ndarray of shape (n_maps,)
        lambda of each map.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Green and Silverman (1994), Nonparametric Regression and Generalized Linear Models, Chapman and
    Hall. Lucena (2018), Spline-based probability calibration, arXiv:1809.07751, is close to it.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.scaling import PlattScaling, SplineScaling
    >>> p = np.linspace(0.005, 0.995, 400)
    >>> z = np.clip(p + 0.1 * np.sin(6 * p), 0, 1)  # soft labels, off by a wave
    >>> spline, platt = SplineScaling().fit(z, p), PlattScaling().fit(z, p)
    >>> spline.transform([0.25, 0.5]).round(2).tolist()
    [0.35, 0.51]
    >>> platt.transform([0.25, 0.5]).round(2).tolist()
    [0.32, 0.5]
    """

    knots_: tuple[FloatArray, ...]
    values_: tuple[FloatArray, ...]
    smoothing_: FloatArray

    def __init__(
        self,
        *,
        n_knots: int = 10,
        smoothing: float | None = None,
        from_logits: bool = False,
        from_logprobs: bool = False,
    ) -> None: ...
    def _fit_column(self, column: Column) -> ColumnFit: ...
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray: ...

class VectorScaling(LinearMap):
    r"""Vector scaling: each class's logit gets its own factor and its own bias.

    .. math:: q_i = \mathrm{softmax}(v \odot s_i + b)

    where s are logits or, with ``from_logits=False``, logarithms of probabilities, and v, b
    minimise the log loss; b has mean 0. Predictions (n,) are two classes: a logit h is (-h/2, h/2).
    Logits that differ by a constant in each row give different fits, as in the paper.

    Parameters
    ----------
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    coef_ : ndarray of shape (k,)
        v, one factor for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599, section 4.2.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import VectorScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = VectorScaling().fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape, scaler.intercept_.shape
    ((10,), (10,))
    """

    def __init__(self, *, from_logits: bool = True, from_logprobs: bool = False) -> None: ...
    def _solve(self, problem: Problem) -> Solution: ...

class VennAbers(OneVsRest):
    r"""Inductive Venn-Abers calibration: an isotonic fit for each label that a new row may have.

    .. math:: q = \frac{p_1}{1 - p_0 + p_1}

    where p_0 and p_1 are the isotonic calibration of a new prediction after its row was added to
    the fit, with the label 0 and with the label 1. `predict_both` returns both; `transform` merges
    them into q, which minimises the largest regret in log loss against the better of the two. q is
    never 0 or 1, and where few rows are near, p_0 and p_1 lie far apart. Both maps are exact step
    functions, computed for all predictions at once.

    Predictions (n, k) get a map for each class against the rest, and rows of q are divided by their
    sum.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    thresholds_0_, thresholds_1_ : tuple of ndarray
        The predictions at which p_0 and p_1 step up: one map for two classes, k for k > 2.
    values_0_ : tuple of ndarray
        p_0 below the first threshold (which is 0), and from each threshold on.
    values_1_ : tuple of ndarray
        p_1 up to each threshold, and beyond the last (which is 1).
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    Notes
    -----
    The probability, p_0 or p_1, that belongs to the new row's true label is perfectly calibrated in
    expectation, for any number of rows, if labels are hard and the rows of the fit and the new one
    are exchangeable. This holds for the pair: q, and rows of several classes divided by their sum,
    only come close to it. A new row counts as one of weight 1, so a weight of 3 means three rows
    (with vote counts, each vote is one row). Weights that sum to 1, for example, give p_0 near 0
    and p_1 near 1. With weights, soft labels or several votes per row, the rows of the fit differ
    from a new row with one label, so the guarantee holds only approximately; it becomes exact as
    the number of rows grows.

    References
    ----------
    Vovk, Petej and Fedorova (2015), Large-scale probabilistic predictors with and without
    guarantees of validity, NeurIPS, arXiv:1511.00213.

    Examples
    --------
    >>> from calibrant.scaling import VennAbers
    >>> scaler = VennAbers().fit([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    >>> low, high = scaler.predict_both([0.15, 0.5, 0.95])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.333, 0.667], [0.5, 0.667, 1.0])
    >>> scaler.transform([0.15, 0.5, 0.95]).round(3).tolist()
    [0.333, 0.5, 0.75]
    """

    thresholds_0_: tuple[FloatArray, ...]
    values_0_: tuple[FloatArray, ...]
    thresholds_1_: tuple[FloatArray, ...]
    values_1_: tuple[FloatArray, ...]

    def predict_both(self, y_proba: Any, *, data: Any = None) -> tuple[FloatArray, FloatArray]:
        """The two probabilities of each prediction: p_0 and p_1, in which p_0 is the smaller.

        Parameters
        ----------
        y_proba : array-like of shape (n,) or (n, k)
            Predictions of the kind that the map was fitted to.
        data : frame, optional
            A frame; `y_proba` is then the name of its column, or a list of names.

        Returns
        -------
        tuple of two ndarrays of shape (n,) or (n, k)
            p_0 and p_1 in the shape of `y_proba`. For (n, k) predictions each class has its own
            pair, against the rest: their rows do not sum to 1.

        Raises
        ------
        StateError
            If the scaler is not fitted.
        InputError
            If the predictions are invalid or have another number of columns than those of the fit.

        Examples
        --------
        >>> from calibrant.scaling import VennAbers
        >>> scaler = VennAbers().fit([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8])
        >>> low, high = scaler.predict_both([0.05, 0.4])
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.0, 0.333], [0.5, 0.667])
        """

    def _solve(self, problem: Problem) -> Solution: ...
    def _fit_column(self, column: Column) -> ColumnFit: ...
    def _map(self, j: int, values: FloatArray, precision: np.dtype[Any]) -> FloatArray: ...

class CentredIsotonic(IsotonicCalibration):
    r"""Centred isotonic calibration: isotonic regression whose steps are contracted to points.

    .. math:: \bigl(c_B, q_B\bigr), \quad c_B = \frac{\sum_{i \in B} w_i p_i}{\sum_{i \in B} w_i},
        \quad q_B = \frac{\sum_{i \in B} w_i z_i}{\sum_{i \in B} w_i}

    for each block B of predictions on which the isotonic fit is constant; the map is linear between
    neighbouring points, and constant beyond the first and the last. It increases strictly between
    them, so it keeps the order of the predictions, whereas `IsotonicCalibration` maps whole ranges
    to one value. Neighbouring blocks whose means agree to ten digits are one block, so neither the
    order of rows nor the unit of weights matters. A block whose mean is 0 or 1 does not change, as
    in Oron and Flournoy. Its predictions may cost a held-out row an infinite log loss (Calibrant's
    floor is 1e-12).

    Predictions (n, k) get a map for each class against the rest, and rows are divided by their sum;
    a row whose classes are all mapped to 0 is returned unchanged.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    thresholds_ : tuple of ndarray
        The predictions at which each map bends: one map for two classes, k for k > 2.
    values_ : tuple of ndarray
        Their recalibrated probabilities.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    Notes
    -----
    Over the rows of the fit, the mean of the mapped predictions differs slightly from that of the
    targets. With isotonic calibration both are equal.

    References
    ----------
    Oron and Flournoy (2017), Centered isotonic regression: point and interval estimation for
    dose-response studies, Statistics in Biopharmaceutical Research 9(3):258-267,
    doi:10.1080/19466315.2017.1286256.

    Examples
    --------
    >>> from calibrant.scaling import CentredIsotonic, IsotonicCalibration
    >>> y, p = [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.8]
    >>> CentredIsotonic().fit(y, p).transform([0.25, 0.35, 0.45]).round(3).tolist()
    [0.25, 0.417, 0.562]
    >>> IsotonicCalibration().fit(y, p).transform([0.25, 0.35, 0.45]).round(3).tolist()
    [0.375, 0.5, 0.5]
    """

    def _fit_column(self, column: Column) -> ColumnFit: ...

class DirichletCalibration(MatrixScaling):
    r"""Dirichlet calibration: the correct map for Dirichlet-distributed predictions of each class.

    .. math:: q_i = \mathrm{softmax}(W \ln p_i + b)

    where p are the predicted probabilities (the softmax of logits, with ``from_logits=True``),
    lifted to 1e-12. W and b minimise the log loss plus

    .. math:: \lambda \Bigl[ \frac{1}{k(k-1)} \sum_{r \ne t} W_{rt}^2 + \frac{1}{k} \sum_r b_r^2
        \Bigr]

    with ``l2`` for lambda (ODIR; 0 by default). Predictions (n,) are the two classes (1 - p, p),
    for which this is beta calibration without its constraints.

    Parameters
    ----------
    l2 : float, default 0.0
        lambda, the weight of the penalty; finite and not negative.
    from_logits : bool, default False
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Attributes
    ----------
    coef_ : ndarray of shape (k, k)
        W, one row for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond temperature scaling,
    NeurIPS, arXiv:1910.12656.

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import DirichletCalibration
    >>> fashion = examples.load("fashion")
    >>> scaler = DirichletCalibration(l2=0.01).fit(fashion.val_labels, fashion.val_proba)
    >>> scaler.loss_ < scaler.loss_before_
    True
    """

    def __init__(
        self, *, l2: float = 0.0, from_logits: bool = False, from_logprobs: bool = False
    ) -> None: ...

class StructuredMatrixScaling(_StructuredMap):
    r"""Structured matrix scaling (SMS): matrix scaling that is robust with few rows.

    .. math:: q_i = \mathrm{softmax}(W x_i + b), \qquad
        x_i = \ln\Bigl[(1 - \varepsilon)\, \mathrm{softmax}(s_i / T) + \frac{\varepsilon}{k}\Bigr],
        \qquad \varepsilon = \frac{1}{n + 1}

    where s are logits or logarithms of probabilities and T is the temperature with the least log
    loss. Then W and b minimise the log loss plus

    .. math:: \frac{k}{n} \Bigl[ \lambda_b \sum_r b_r^2 + \lambda_d \sum_r (W_{rr} - 1)^2
        + \lambda_o (k - 1) \sum_{r \ne t} W_{rt}^2 \Bigr]

    a convex problem that is solved to its optimum. With few rows for each class the map is close to
    temperature scaling; with more rows it approaches vector scaling, because the penalty is largest
    off the diagonal; with many rows the penalty vanishes. The share of the uniform distribution
    keeps every logarithm finite. A constant added to all logits of a row does not change x. n is
    the sum of the weights (or of votes), so a weight of 2 counts as two rows; weights that sum to 1
    would count as one row.

    Predictions (n,) are two classes.

    Parameters
    ----------
    l2_intercept : float, default 1.0
        The penalty on b, lambda_b; finite and not negative.
    l2_diagonal : float, default 1.0
        The penalty on the diagonal of W minus 1, lambda_d; finite and not negative.
    l2_off_diagonal : float, default 1.0
        The penalty on the other entries of W, lambda_o; finite and not negative.
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000].
    uniform_ : float
        The share of the uniform distribution, 1 / (n + 1).
    coef_ : ndarray of shape (k, k)
        W, one row for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class; its mean is 0.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after, without the penalty.

    See Also
    --------
    MatrixScaling : one penalty, chosen by hand, and none on the diagonal.
    StructuredVectorScaling : a factor and a bias for each class.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured Matrix Scaling for Multi-Class
    Calibration, arXiv:2511.03685; the penalties are those of their package probmetrics (1.3.0).

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import StructuredMatrixScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = StructuredMatrixScaling().fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape, scaler.intercept_.shape
    ((10, 10), (10,))
    """

    def __init__(
        self,
        *,
        l2_intercept: float = 1.0,
        l2_diagonal: float = 1.0,
        l2_off_diagonal: float = 1.0,
        from_logits: bool = True,
        from_logprobs: bool = False,
    ) -> None: ...
    def _penalties(self, k: int) -> FloatArray: ...

class StructuredVectorScaling(_StructuredMap):
    r"""Structured vector scaling (SVS): vector scaling that is robust with few rows.

    .. math:: q_i = \mathrm{softmax}(v \odot x_i + b), \qquad
        x_i = \ln\Bigl[(1 - \varepsilon)\, \mathrm{softmax}(s_i / T) + \frac{\varepsilon}{k}\Bigr],
        \qquad \varepsilon = \frac{1}{n + 1}

    where s are logits or logarithms of probabilities and T is the temperature with the least log
    loss. Then v and b minimise the log loss plus

    .. math:: \frac{k}{n} \Bigl[ \lambda_b \sum_r b_r^2 + \lambda_d \sum_r (v_r - 1)^2 \Bigr]

    a convex problem that is solved to its optimum. With few rows for each class the map is close to
    temperature scaling; with many the penalty vanishes. The share of the uniform distribution keeps
    every logarithm finite. A constant added to all logits of a row does not change x. n is the sum
    of the weights (or of votes), so a weight of 2 counts as two rows; weights that sum to 1 would
    count as one row.

    Predictions (n,) are two classes.

    Parameters
    ----------
    l2_intercept : float, default 1.0
        The penalty on b, lambda_b; finite and not negative.
    l2_diagonal : float, default 1.0
        The penalty on v - 1, lambda_d; finite and not negative.
    from_logits : bool, default True
        Whether the predictions are logits (else probabilities).
    from_logprobs : bool, default False
        Whether the predictions are log-probabilities: exp is applied to (n,), a softmax to (n, k).
        Goes before `from_logits`.

    Attributes
    ----------
    temperature_ : float
        T, in [0.001, 1000].
    uniform_ : float
        The share of the uniform distribution, 1 / (n + 1).
    coef_ : ndarray of shape (k,)
        v, one factor for each class.
    intercept_ : ndarray of shape (k,)
        b, one bias for each class; its mean is 0.
    n_classes_, n_rows_, n_iter_ : int
        Classes and rows of the fit, and steps of the optimiser.
    loss_before_, loss_ : float
        Log loss on the rows of the fit, before and after, without the penalty.

    See Also
    --------
    VectorScaling : the same without a penalty.
    StructuredMatrixScaling : every class's score affects every class.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach (2025), Structured Matrix Scaling for Multi-Class
    Calibration, arXiv:2511.03685; the penalties are those of their package probmetrics (1.3.0).

    Examples
    --------
    >>> from calibrant import examples
    >>> from calibrant.scaling import StructuredVectorScaling
    >>> fashion = examples.load("fashion")
    >>> scaler = StructuredVectorScaling().fit(fashion.val_soft_labels, fashion.val_logits)
    >>> scaler.coef_.shape, scaler.intercept_.shape
    ((10,), (10,))
    """

    def __init__(
        self,
        *,
        l2_intercept: float = 1.0,
        l2_diagonal: float = 1.0,
        from_logits: bool = True,
        from_logprobs: bool = False,
    ) -> None: ...
    def _penalties(self, k: int) -> FloatArray: ...
