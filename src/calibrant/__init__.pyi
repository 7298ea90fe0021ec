# Written by .ci/stub.py: change the functions, then run it.
# ruff: noqa: E501, N803

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import examples as examples
from calibrant import integrations as integrations
from calibrant import losses as losses
from calibrant import plots as plots
from calibrant import results as results
from calibrant import scaling as scaling
from calibrant._api.cross_fitting import FOLDS
from calibrant._api.files.evaluate_file import Paths
from calibrant._api.find_segments import MIN_ROWS, N_DRAWS, PARTS
from calibrant._api.streaming.accumulator import Accumulator
from calibrant._api.streaming.monitor import Monitor
from calibrant._core.binning import Bins, Edges, EqualWidth, LevelSets, Quantile
from calibrant._core.errors import (
    CalibrantError,
    CalibrantWarning,
    CheckFailed,
    InputError,
    MissingExtra,
    NotDefined,
    StateError,
    UnknownOption,
)
from calibrant._core.given_cells import Cells
from calibrant._core.typing import Shape
from calibrant._core.validation import N_RESAMPLES
from calibrant._core.version import __version__
from calibrant._data.between import Between
from calibrant._data.readers.confidences import Confidences
from calibrant._data.readers.read_rows import FileArrays
from calibrant._data.vote_table import VoteTable
from calibrant._engines.arrays.streams import EPS
from calibrant._measures.catalogue import HEADLINE
from calibrant._measures.decomposition import BrierDecomposition
from calibrant._measures.measure import Measure
from calibrant._measures.ranking import COVERAGE
from calibrant._measures.smooth import LS_SIGMA
from calibrant._research.audits.subjects import Function
from calibrant._research.papers.folder import Reproduction
from calibrant.results._annotator_ceiling import AnnotatorCeiling
from calibrant.results._annotators import Annotators
from calibrant.results._audit import Audit
from calibrant.results._bayes_error import BayesError
from calibrant.results._bin_sensitivity import BinSensitivity
from calibrant.results._bounds import Bound, Bounds
from calibrant.results._box_matches import BoxMatches
from calibrant.results._centres import Centres
from calibrant.results._certificate import Certificate
from calibrant.results._check import Check, Policy
from calibrant.results._clinical import ClinicalSummary
from calibrant.results._comparison import Comparison
from calibrant.results._conventions import Conventions
from calibrant.results._decision_curve import DecisionCurve
from calibrant.results._evaluation import Estimate, Evaluation
from calibrant.results._judged_rate import JudgedRate
from calibrant.results._loss_decomposition import LossDecomposition
from calibrant.results._multilabel import Multilabel
from calibrant.results._optimism import Optimism
from calibrant.results._plots.clinical import ClinicalDisplay
from calibrant.results._recommendation import Recommendation
from calibrant.results._reliability import ClasswiseReliability, ReliabilityTable
from calibrant.results._reliability_curve import ReliabilityCurve
from calibrant.results._report import Report
from calibrant.results._risk_coverage import RiskCoverage
from calibrant.results._robustness import RankRobustness
from calibrant.results._sampled_answers import SampledAnswers
from calibrant.results._segments import Segments
from calibrant.results._slices import Slices
from calibrant.results._smooth_curve import SmoothCurve
from calibrant.results._uncertainty import (
    CalibrationTest,
    CoxCalibration,
    Interval,
    NoiseFloor,
    Verdict,
    VoteNoise,
)
from calibrant.results._vote_profile import VoteProfile
from calibrant.results._windows import Windows
from calibrant.scaling import (
    BetaCalibration,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    LabelSmoothingTemperature,
    MatrixScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)

__all__ = [
    "Accumulator",
    "BetaCalibration",
    "Between",
    "BinSensitivity",
    "Bound",
    "Bounds",
    "BoxMatches",
    "CalibrantError",
    "CalibrantWarning",
    "CalibrationTest",
    "Cells",
    "Certificate",
    "Check",
    "CheckFailed",
    "ClasswiseReliability",
    "ClinicalSummary",
    "Comparison",
    "Conventions",
    "CoxCalibration",
    "DecisionCurve",
    "DirichletCalibration",
    "Edges",
    "EqualWidth",
    "Estimate",
    "Evaluation",
    "HistogramBinning",
    "InputError",
    "Interval",
    "IsotonicCalibration",
    "JudgedRate",
    "LabelSmoothingTemperature",
    "LevelSets",
    "LossDecomposition",
    "MatrixScaling",
    "MissingExtra",
    "Monitor",
    "Multilabel",
    "NoiseFloor",
    "NotDefined",
    "PlattScaling",
    "Quantile",
    "RankRobustness",
    "Recommendation",
    "ReliabilityCurve",
    "ReliabilityTable",
    "RiskCoverage",
    "SampledAnswers",
    "Segments",
    "Slices",
    "SmoothCurve",
    "StateError",
    "TemperatureScaling",
    "UnknownOption",
    "VectorScaling",
    "Verdict",
    "VoteNoise",
    "VoteProfile",
    "Windows",
    "__version__",
    "accuracy",
    "accuracy_at_coverage",
    "ace",
    "annotator_ceiling",
    "annotators",
    "atb",
    "audit",
    "aurc",
    "auroc",
    "bayes_error",
    "bin_sensitivity",
    "brier",
    "brier_decomposition",
    "brier_discrimination",
    "brier_miscalibration",
    "brier_score",
    "brier_uncertainty",
    "catalogue",
    "centres",
    "certify",
    "check",
    "classification_error",
    "classwise_ce",
    "classwise_ece",
    "classwise_reliability",
    "clinical_plot",
    "clinical_summary",
    "compare",
    "confidence_ce",
    "confidence_ce_uncorrected",
    "confidence_loss",
    "conventions",
    "count_votes",
    "cox_calibration",
    "cutoff_ce",
    "cutoff_test",
    "debiased_l2",
    "decision_curve",
    "decompose",
    "dist_ce",
    "e50",
    "e90",
    "ece",
    "ece_kde",
    "emax",
    "ent_ce",
    "entropy_bands",
    "evaluate",
    "evaluate_file",
    "find_segments",
    "grouping_gap",
    "hle_rms",
    "hosmer_lemeshow",
    "ici",
    "interval",
    "js_divergence",
    "jsd",
    "judge",
    "kl",
    "ks_error",
    "lin_ce",
    "log_loss",
    "ls_ece",
    "manhattan",
    "match_boxes",
    "mce",
    "multilabel",
    "noise_floor",
    "optimism",
    "rank_cs",
    "rank_robustness",
    "read_coco",
    "read_confidences",
    "read_file",
    "recommend",
    "reliability",
    "reliability_curve",
    "report",
    "reproduce",
    "risk_coverage",
    "rmsce",
    "sampled_answers",
    "smooth_ece",
    "smooth_reliability",
    "soft_ece",
    "spherical_loss",
    "spiegelhalter",
    "sweep_ece",
    "tace",
    "threshold_loss",
    "top_label_ece",
    "truthful_test",
    "verdict",
    "vote_noise",
    "vote_profile",
    "wasserstein",
]

def accuracy(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    ties: str = "first",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Accuracy: the share of rows whose top label is the target, 1 minus `classification_error`.

    .. math:: \frac{1}{W} \sum_i w_i z_{i r_i}, \quad r_i = \arg\max_r p_{ir}

    where the lowest class wins ties; with soft labels, z is the target's mass on the top label.
    Range [0, 1], higher is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    ties : {"first", "any", "share"}, default "first"
        Which top label counts as right if m classes share the largest probability: only the first
        of them, any of them, or any of them with the share 1/m.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The accuracy, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    If labels say whether an answer was right, the answer was given whatever its confidence.
    Accuracy is then the mean label, and no prediction is compared with 1/2. Labels are read in this
    way if their column or series is called `correct`, `is_correct` or similar; an array has no
    name.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.accuracy([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.4])
    0.75
    >>> import pandas as pd
    >>> answers = pd.DataFrame({"correct": [0, 1, 1, 0], "confidence": [0.2, 0.7, 0.4, 0.4]})
    >>> cal.accuracy("correct", "confidence", data=answers)
    0.5
    """

def accuracy_at_coverage(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    coverage: float = COVERAGE,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Accuracy among the share of rows with the highest predictions.

    .. math:: \frac{1}{c W} \sum_{i \text{ among the highest } c W} w_i z_i

    It measures ranking and accuracy together, **not calibration**. Range [0, 1], higher is better.
    If equal predictions are kept only in part, each of them counts in part.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    coverage : float in (0, 1], default 0.8
        The share of rows (of their weight) that is answered.
    notion : {"binary", "confidence"}, optional
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`), or the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean target of the rows kept, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Geifman and El-Yaniv (2017), arXiv:1705.08500.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.accuracy_at_coverage([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6], coverage=0.5)
    1.0
    """

def ace(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: int | Quantile = 15,
    norm: str = "l1",
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Adaptive calibration error: the mean gap over bins of equal mass, over all classes.

    .. math:: \frac{1}{k} \sum_{r} \frac{1}{W} \sum_B
        \Bigl| \sum_{i \in B} w_i (u_{ir} - z_{ir}) \Bigr|

    where the bins B are quantile bins of the predictions of each class r. Range [0, 1], lower is
    better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str or Quantile, default 15
        Number of bins of equal mass, or a `Quantile` rule; other rules are an error. `"cbrt"` and
        `"auto"` choose the number of bins by the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are combined: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the mean over classes (`"classwise"`, the
        default) or the top label (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Nixon et al. (2019), arXiv:1904.01685.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ace([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    0.25
    """

def annotator_ceiling(
    y_true: ArrayLike,
    y_proba: Mapping[str, ArrayLike] | ArrayLike | None = None,
    *,
    measures: Iterable[str] | None = None,
    votes: ArrayLike | None = None,
    n_splits: int = 20,
    level: float = 0.95,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
) -> AnnotatorCeiling:
    """How well annotators predict each other: the standard for a model of people.

    Votes are used as predictions in three ways. *One annotator*: every vote, as a certain
    prediction, against the shares of the item's other votes. *Half of the votes*: shares of half of
    an item's votes against shares of the other half. *As many annotators again*: shares of all
    votes against shares of as many new votes. It is extrapolated from the halves, which are
    noisier, by a Dirichlet model with the same mean and the same agreement of two votes. Models are
    scored against the shares of all votes, in the same table.

    Parameters
    ----------
    y_true : array-like of shape (n, k) or (n,)
        Counts of votes, a column for each class; or shares, with `votes`. (n,): of class 1.
    y_proba : mapping of str to array-like, or array-like, optional
        Predicted probabilities of models by name, or of one; (n, k), or (n,) as P(y = 1).
    measures : iterable of str, optional
        Names of `catalogue()`; by default those that compare distributions, and losses.
    votes : int or array-like of shape (n,), optional
        Number of votes behind each row of shares; counts need none.
    n_splits : int, default 20
        How often votes are split into halves.
    level : float in (0, 1), default 0.95
        Level of the intervals.
    seed : int, default 0
        Seed of the splits.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns.

    Returns
    -------
    AnnotatorCeiling
        A table: a line for each of the three, and for each model; measures as columns. Measures
        that are means of rows have intervals of the items (`columns`, `to_frame`).

    Raises
    ------
    InputError
        If `y_true` does not hold votes, if no item has two, or if a measure or a model does not
        fit.

    Notes
    -----
    A certain prediction that is wrong has infinite `kl` and `log_loss`; predictions are clipped to
    1e-12, as everywhere, so the value for single votes means little. One annotator is nearly always
    worse than a good model, because a single vote is certain even if people disagree.

    References
    ----------
    Nie, Zhou and Bansal (2020), arXiv:2010.03532; Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet([0.5, 0.5, 0.5], 500)
    >>> counts = rng.multinomial(10, truth)
    >>> table = cal.annotator_ceiling(counts, {"the truth": truth}, measures=["dist_ce"])
    >>> for line in table:
    ...     print(line.name, round(line.values["dist_ce"], 2))
    one annotator 0.41
    half of the votes 0.23
    as many annotators again 0.17
    the truth 0.13
    """

def annotators(
    votes: VoteTable,
    y_proba: ArrayLike | None = None,
    *,
    groups: Mapping[Any, Any] | None = None,
    measure: str = HEADLINE,
    bins: Bins = 15,
    level: float = 0.95,
    n_resamples: int = 200,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
) -> Annotators:
    """Each annotator's agreement with the others, and how calibrated a predictor is for each.

    The agreement of an annotator is the mean, over his or her votes, of the share of the item's
    other votes that are the same. If annotators are exchangeable, an item's votes are distributed
    at random among those who voted on it. The expected agreement is therefore that of two votes on
    the same items, so difficult items do not count against an annotator. The p-value is the chance
    of an agreement as far from it, whatever the number of votes. With `y_proba`, the predictor is
    evaluated against each annotator's votes, with the noise floor for that number of votes. Both
    p-values are corrected for the number of annotators (Holm).

    Parameters
    ----------
    votes : VoteTable
        Votes with their annotators, from ``count_votes(..., annotator=...)``.
    y_proba : array-like of shape (n, k) or (n,), optional
        Predicted probabilities, a row for each of ``votes.items`` and a column for each of
        ``votes.classes``; (n,) is the probability of the second of two.
    groups : mapping, optional
        Group of each annotator: rows of the table are then groups, compared with everybody outside
        the group.
    measure : str, default "ece"
        Any name of `catalogue()` that has a noise floor.
    bins : int, str or rule, default 15
        Bins of the measure.
    level : float in (0, 1), default 0.95
        Level of the intervals; a row stands out if a corrected p-value is below ``1 - level``.
    n_resamples : int, default 200
        Number of draws behind each noise floor.
    seed : int, default 0
        Seed of all random draws.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).

    Returns
    -------
    Annotators
        A table, significant rows first; `to_frame` and `to_markdown` export it.

    Raises
    ------
    InputError
        If the votes do not name their annotators, an annotator has no group, or the predictions do
        not fit the items.

    Notes
    -----
    An annotator's interval is for a mean over his or her items. With few votes it is wide and
    p-values are large; nobody is dropped. Predictions that fit people on average need not fit any
    single annotator: if annotators systematically differ, a predictor of shares is miscalibrated
    for each.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> item, who = np.divmod(np.arange(600), 5)
    >>> label = np.where(who == 4, rng.integers(0, 2, 600), rng.random(600) < 0.95 * (item % 2))
    >>> long = {"item": item, "label": label.astype(int), "who": who}
    >>> votes = cal.count_votes(long, item="item", label="label", annotator="who")
    >>> first = cal.annotators(votes).rows[0]
    >>> first.name, first.verdict
    ('4', 'agrees less than others')
    """

def atb(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    norm: str = "l2",
    root: bool = False,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Averaged two-bin calibration error: truthful, continuous, complete and sound at once.

    .. math:: \frac{1}{W^2} \int_0^1 \Bigl( \sum_{u_i < q} w_i (u_i - z_i) \Bigr)^2
        + \Bigl( \sum_{u_i \ge q} w_i (u_i - z_i) \Bigr)^2 dq

    The squared gaps of two bins, averaged over their boundary. Range [0, 1], lower is better. For
    (n,) predictions, the true probabilities have the lowest expectation of all predictions, which
    is ``sum w^2 u (1 - u) / W^2``. A small change of a prediction changes the value only a little.
    Both hold for each class against the rest too, but not for the top label, which changes at a
    tie.

    Values are small and squared: `root` gives them on the scale of gaps.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    norm : {"l2", "l1"}, default "l2"
        Squares over W^2, or absolute values over W, which are not truthful.
    root : bool, default False
        Whether the square root is returned, for `norm="l2"`: for a mean over classes, the root of
        the mean. It ranks predictors in the same order, but is not truthful.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if `norm` is none of these, or `root` is combined with absolute values.

    See Also
    --------
    lin_ce : the truthful error of fixed bins. truthful_test : a test of calibration by this error,
    with ``measure="atb"``.

    References
    ----------
    Hartline, Hu and Wu (2026), A Perfectly Truthful Calibration Measure, PMLR 336,
    arXiv:2508.13100.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.atb([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 6)
    0.01225
    >>> round(cal.atb([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], root=True), 4)
    0.1107

    A prediction moves by a hair, and so does its error:

    >>> round(cal.atb([0, 1], [0.5, 0.5]), 9), round(cal.ece([0, 1], [0.5, 0.5]), 9)
    (0.0, 0.0)
    >>> near = [0.5 - 1e-9, 0.5 + 1e-9]
    >>> round(cal.atb([0, 1], near), 8), round(cal.ece([0, 1], near, bins=2), 8)
    (0.0, 0.5)
    """

def audit(
    measure: str | Function | Sequence[str] | None = None,
    *,
    properties: Iterable[str] | None = None,
    shape: str | None = None,
    bins: Bins | None = None,
    claims: Mapping[str, bool] | None = None,
    n_draws: int = 50,
    seed: int = 0,
) -> Audit:
    """Test which properties measures have, in worlds where the truth is known.

    Small worlds are summed over every outcome; large ones are simulated. Each property gets a
    verdict with a witness, and the claim of the catalogue. An audit is false unless it confirms
    every claim, so ``assert audit(...)`` can fail.

    Parameters
    ----------
    measure : str, list of str or callable, optional
        A name of the catalogue, several names, or your own function ``f(y_true, y_proba)`` that
        returns a number to keep low; a function with the argument `sample_weight` is tested with
        weights too. By default the whole catalogue (a minute or two).
    properties : iterable of str, optional
        By default all of:

        - "truthful": no misreport has a lower expectation than the true probabilities;
        - "continuous": no jump along paths of predictors;
        - "complete": it tends to 0 (a score: to its best) for calibrated predictors;
        - "sound": it stays above that for miscalibrated predictors;
        - "weighted": weights are shares, and multiplying them by a constant changes nothing;
        - "bin_sensitivity": how often another number of bins reverses the order of two predictors.

        And on request, for (n,) predictions:

        - "sequential": no strategy that sees the outcomes of earlier rows beats the truth; the best
          one is searched by optimisation.
    shape : {"binary", "multiclass"}, optional
        Audit only one shape of predictions; by default both.
    bins : int or binning rule, optional
        A bin rule other than each measure's own; the catalogue then makes no claims.
    claims : mapping of str to bool, optional
        What you claim of your own function, such as ``{"complete": True}``.
    n_draws : int, default 50
        Draws of each world that is too large to sum over every outcome.
    seed : int, default 0
        Seed of all draws.

    Returns
    -------
    Audit
        A row for each measure, shape and property: `verdict(measure, property)`, `table()`,
        `disagreements`, `replay(row)`, `to_frame()`, `to_json()`, `save(folder)`.

    Raises
    ------
    InputError
        If a measure, property, shape or claim is unknown, or the function returns no number.

    Examples
    --------
    >>> from calibrant import audit
    >>> result = audit("ece", shape="binary", properties=["truthful"])
    >>> row = result.verdict("ece", "truthful")
    >>> row.holds, row.witness["misreport"]
    (False, '0.5 for all')
    >>> result.replay(row)
    {'truth': 0.375, 'misreport': 0.1875, 'standard_error': 0.0}
    """

def aurc(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Area under the risk-coverage curve: the mean risk of answering only the most confident rows.

    .. math:: \frac{1}{W} \sum_i w_i \,
        \frac{\sum_{u_j \ge u_i} w_j (1 - z_j)}{\sum_{u_j \ge u_i} w_j}

    Each row in turn sets the threshold; its risk is the error rate among all rows predicted at
    least as high. It measures ranking and accuracy together, **not calibration**: monotone
    recalibration does not change it. Range [0, 1], lower is better. Equal predictions are kept or
    dropped together, so the order of rows does not matter.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence"}, optional
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`), or the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The area, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    For (n,) predictions the risk is the share of y = 0 among the rows kept: the right choice if y
    says whether an answer is right and y_proba is its confidence. For a classifier of two classes
    use ``notion="confidence"``: the risk is then its classification error.

    References
    ----------
    Geifman, Uziel and El-Yaniv (2019), arXiv:1805.08206.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.aurc([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6]), 4)
    0.2083
    """

def auroc(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Area under the ROC curve: how often an event is predicted higher than a non-event.

    .. math:: \frac{\sum_{ij} w_i z_i \, w_j (1 - z_j)
        \bigl( 1[u_i > u_j] + \tfrac12 1[u_i = u_j] \bigr)}
        {\sum_i w_i z_i \sum_j w_j (1 - z_j)}

    The C-statistic of clinical papers. It measures ranking, **not calibration**: monotone
    recalibration does not change it. Range [0, 1], higher is better, 1/2 for no ranking. A soft
    label z counts as z of an event and 1 - z of a non-event.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence", "classwise"}, optional
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`); the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)); or each class against the rest, averaged (`"classwise"`, scikit-learn's
        ``multi_class="ovr"``).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The area, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.
    NotDefined
        If all labels are equal: no pair can be ranked.

    References
    ----------
    Hanley and McNeil (1982), Radiology 143. DeLong, DeLong and Clarke-Pearson (1988),
    doi:10.2307/2531595 (its interval, by `interval`).

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.auroc([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.8])
    0.75
    """

def bayes_error(
    y_true: ArrayLike,
    *,
    debias: bool = True,
    votes: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 200,
    seed: int = 0,
) -> BayesError:
    r"""The smallest classification error that any classifier can have, from soft labels.

    .. math:: \frac{1}{W} \sum_i w_i \, (1 - \max_r q_{ir})

    where q is the distribution of the labels of a row: for two classes the mean of min(q, 1 - q).
    Range [0, 1 - 1/k].

    Shares of few votes are more extreme than the distributions that they were drawn from, and the
    mean above is then too low: with two votes per row by a third or more. `debias` removes this
    bias by a Dirichlet model with the same mean and the same chance that two votes on a row agree,
    in closed form. For other populations, part of the bias may remain: if some rows are tied
    between two classes and the others are certain, a third of the value with two votes and a
    quarter with five. The interval covers all populations.

    With `labels`, shares need not be the true distributions: an isotonic regression of the labels
    on the shares, class by class, corrects them first.

    Parameters
    ----------
    y_true : array-like of shape (n, k) or (n,)
        Counts of votes, a row for each item and a column for each class; or shares. (n,): shares of
        class 1, or with `votes` counts of it.
    debias : bool, default True
        Whether to remove the bias of few votes; it needs counts, or `votes`.
    votes : int or array-like of shape (n,), optional
        Number of votes behind each row of shares; counts need none.
    labels : array-like of shape (n,), optional
        Hard labels, one per row: class indices, or 0/1.
    sample_weight : array-like of shape (n,), optional
        Weight of each row, at least 0; every row counts 1 by default.
    level : float in (0, 1), default 0.95
        Level of the interval.
    n_resamples : int, default 200
        Number of resamples of rows for the interval with `labels`; otherwise none are drawn.
    seed : int, default 0
        Seed of these resamples.

    Returns
    -------
    BayesError
        A float, with `low` and `high` (both: `interval`), `plug_in` (the mean without correction),
        `method` and `note`.

    Raises
    ------
    InputError
        If `y_true` holds neither counts nor shares, if every row has a single vote, or if `labels`
        do not fit.

    Notes
    -----
    Two votes of a row disagree with probability ``1 - sum(q^2)``, which can be estimated without
    bias and is at least the row's error. It also bounds the error over all populations with the
    same votes: from identical rows to a mixture of certain rows and rows tied between classes. The
    interval covers this range, widened by BCa bootstrap intervals over rows (DiCiccio and Efron,
    1992). More rows cannot make it narrower than the range, but more votes can.

    References
    ----------
    Ishida et al. (2023), Is the performance of my deep network too good to be true?, ICLR,
    arXiv:2202.00395. Ushio, Ishida and Sugiyama (2025), arXiv:2505.20761.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.bayes_error([[3, 0], [2, 1], [0, 3], [1, 2]] * 25)
    >>> round(found, 3), round(found.plug_in, 3)
    (0.25, 0.167)
    >>> round(cal.bayes_error([[0.9, 0.1], [0.6, 0.4]] * 50), 3)
    0.25
    """

def bin_sensitivity(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Iterable[int] = range(1, 101),
    measures: Iterable[str] | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> BinSensitivity:
    """Each measure at every number of bins: how much does a value depend on its bins?

    A count gives that many equal-width bins for ordinary errors and quantile bins for truthful
    ones, as in `evaluate`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : iterable of int, default range(1, 101)
        Numbers of bins, each at least 1.
    measures : iterable of str, optional
        Names of `catalogue()`; by default, those with bins that need one pass over the rows.
        Measures without bins are constant.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.

    Returns
    -------
    BinSensitivity
        `values` of each measure over `bins`, `at(count)`, and their diagram (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p  # calibrated: what there is to see is noise
    >>> found = cal.bin_sensitivity(y, p, measures=["ece", "lin_ce"])
    >>> [round(value, 3) for value in (found.at(5)["ece"], found.at(100)["ece"])]
    [0.013, 0.067]
    """

def brier(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Brier score: the mean squared distance between prediction and target, `brier_score`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean loss: in [0, 1] for (n,), in [0, 2] for (n, k).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.brier([0, 1], [0.2, 0.6]), 4)
    0.1
    """

def brier_decomposition(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    method: str = "isotonic",
    bins: Bins = 15,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> BrierDecomposition:
    r"""The Brier score as miscalibration minus discrimination plus uncertainty.

    .. math:: \mathrm{Brier} = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}

    where, with ``method="isotonic"`` (CORP), MCB is the gain of isotonic recalibration, DSC the
    gain of the recalibrated predictions over a constant prediction of the mean target, and UNC the
    score of that constant. With ``method="binned"`` the recalibration is each bin's mean target,
    and a fourth part, the spread of predictions within bins, completes the sum. Classwise parts are
    summed over classes, as the Brier score is. All parts but `within_bin` are at least 0.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    method : {"isotonic", "binned"}, default "isotonic"
        How predictions are recalibrated: by isotonic regression, or by bins.
    bins : int, str, sequence of float or bin rule, default 15
        Bins of ``method="binned"``: their number (equal width), edges, or a rule such as
        `Quantile`. `"cbrt"` and `"auto"` choose the number of bins by the number of rows.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    BrierDecomposition
        `brier`, `miscalibration`, `discrimination`, `uncertainty` and `within_bin`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118; Murphy (1973), Journal of
    Applied Meteorology 12.

    Examples
    --------
    >>> import calibrant as cal
    >>> parts = cal.brier_decomposition([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4), parts.uncertainty
    (0.075, 0.25, 0.25)
    """

def brier_discrimination(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Gain of recalibrated predictions over a constant one: a part of `brier_decomposition`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The discrimination, in [0, 0.25]; of the top label for (n, k). Higher is better.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.brier_discrimination([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.25
    """

def brier_miscalibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Gain of isotonic recalibration in the Brier score: a part of `brier_decomposition`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The miscalibration, at least 0; of the top label for (n, k).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.brier_miscalibration([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.075
    """

def brier_score(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Brier score: the mean squared distance between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \sum_r (p_{ir} - z_{ir})^2

    summed over classes for (n, k) predictions; ``(u - z)^2`` for (n,). Range [0, 2], or [0, 1] for
    (n,); lower is better. A proper loss.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean loss.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Brier (1950), Monthly Weather Review 78.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.brier_score([0, 1], [0.2, 0.6]), 4)
    0.1
    """

def brier_uncertainty(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Brier score of predicting the mean target for all rows: a part of `brier_decomposition`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The uncertainty, in [0, 0.25]; of the top label for (n, k).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.brier_uncertainty([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.25
    """

def catalogue(shape: Shape | None = None) -> tuple[Measure, ...]:
    """Every measure, or those that apply to predictions of one shape.

    Parameters
    ----------
    shape : {"binary", "answers", "multiclass"}, optional
        Predictions (n,) ("binary"; "answers" if labels say whether an answer was right) or (n, k)
        ("multiclass"); by default those of (n,) and (n, k).

    Returns
    -------
    tuple of Measure
        An entry has a `name`, `title`, `formula`, `range`, `reference`, `aliases` and `claims`.

    Examples
    --------
    >>> import calibrant as cal
    >>> [measure.name for measure in cal.catalogue("binary")][:4]
    ['ece', 'grouping_gap', 'rmsce', 'mce']
    >>> cal.catalogue()[0].title
    'expected calibration error'
    """

def centres(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    by: ArrayLike,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Centres:
    r"""Calibration and discrimination over several centres, and of a new centre.

    Each centre has a calibration slope, an intercept in the large, an O:E ratio and a C-statistic.
    Their values :math:`y_j` with the variances :math:`v_j` are summarised by random effects,

    .. math:: y_j \sim N(\theta_j, v_j), \qquad \theta_j \sim N(\mu, \tau^2),

    on the log scale for O:E and the logit scale for C: the mean over centres with its interval, the
    standard deviation tau between centres, and a prediction interval for a new centre.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or str
        Predicted risks, P(y = 1); with `data`, a column's name.
    by : array-like of shape (n,), str or list of str
        Centre of each row (hospital, study), or names of columns.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row within its centre (patient); rows of one cluster vary together.
    level : float in (0, 1), default 0.95
        Level of the intervals.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    Centres
        A row per quantity; `each` has the values of centres, `plot` draws a forest plot, and
        `plot_curve` the mean calibration curve.

    Raises
    ------
    InputError
        If there are fewer than three centres, or the input cannot be read as outcomes and risks.

    Notes
    -----
    tau is that of restricted maximum likelihood. The interval of the mean is Hartung and Knapp's,
    modified: its variance is never below that of the model (factor ``max(1, q)``; Knapp and
    Hartung 2003, Röver, Knapp and Friede 2015), so centres that agree by chance do not narrow it.

    The prediction interval averages normal distributions over the confidence distribution of tau
    that inverts Cochran's Q (Viechtbauer 2007), as Nagashima, Noma and Furukawa (2019) do by
    resampling. It always contains the interval of the mean. The usual prediction interval,
    ``estimate +- t(k - 2) sqrt(tau^2 + error^2)`` (Higgins, Thompson and Spiegelhalter 2009),
    treats tau as known. It contained the true value of a new centre in 81 to 93 % of simulations
    with 10 to 30 moderately different centres, instead of 95 %. From 10 centres on, this function's
    interval is usually wider (by 1 to 50 % at the median of simulations), because tau is uncertain;
    with 4 to 6 very different centres it can be narrower. `tau` and `error` give the usual one.

    The mean curve summarises, at each prediction, the centres' logistic curves of a restricted
    cubic spline with three knots (two-stage meta-analysis of Barrenada et al. 2025). A centre
    without events, or whose predictions separate the outcomes, has no finite value of some
    quantities. It is not used for these, and a note says so.

    References
    ----------
    Debray et al. (2017), doi:10.1136/bmj.i6460. Snell et al. (2018),
    doi:10.1177/0962280217705678. Knapp and Hartung (2003), doi:10.1002/sim.1482. Röver, Knapp and
    Friede (2015), doi:10.1186/s12874-015-0091-1. Viechtbauer (2007), doi:10.1002/sim.2514.
    Higgins, Thompson and Spiegelhalter (2009), doi:10.1111/j.1467-985X.2008.00552.x.
    Nagashima, Noma and Furukawa (2019), doi:10.1177/0962280218773520. Barrenada et al. (2025),
    arXiv:2503.08389.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1, 0] * 60, [0.2, 0.7, 0.9, 0.4, 0.3, 0.6] * 60
    >>> found = cal.centres(y, p, by=sorted("abcd" * 90))
    >>> round(found["c_statistic"].estimate, 3), found["c_statistic"].tau
    (0.778, 0.0)
    """

def certify(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    level: float = 0.999,
    sigma: float | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Certificate:
    r"""Give a proved upper bound of a calibration error.

    The population's error exceeds the bound with probability at most ``1 - level``, for every
    population and every number of rows, if rows (or clusters) are independent. An interval by
    resampling is valid for many rows; this bound is wider but always valid.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
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
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    Certificate
        `upper`, the `value` on the sample, `level`, `n`; prints as one sentence.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also for a measure without a certificate, and for bins that depend on the rows.

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

def check(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    at_most: Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
    baseline: Any = None,
    max_increase: Mapping[str, float] | None = None,
    max_decrease: Mapping[str, float] | None = None,
    ids: ArrayLike | None = None,
    paired: bool | None = None,
    own_labels: bool = False,
    level: float = 0.95,
    point: bool = False,
    bins: Bins = 15,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
    tolerance: float | None = None,
    undecided_slices: Policy = "undecided",
    votes: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Check:
    """Check measures against limits, or against a baseline: pass, fail, or undecided by noise.

    A limit passes if the whole confidence interval of the measure, or of its change from the
    baseline, satisfies it. It fails if the whole interval violates it, and is undecided otherwise.
    The check passes if all limits pass, and fails if one limit fails. Only a pass is true: ``assert
    check(...)`` fails on a fail and on an undecided check, and ``check(...).assert_passed()`` says
    why.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    at_most : mapping of str to float, optional
        Largest acceptable value by name of a measure: a name of `catalogue()`, or "slope",
        "intercept" or "intercept_in_the_large" of `cox_calibration`.
    at_least : mapping of str to float, optional
        Smallest acceptable value by name of a measure. Use it for measures that are better the
        higher they are; a slope may have both.
    baseline : array-like, str or mapping, optional
        What to compare with: predictions (or the name of their column) for the same rows in the
        same order. For other rows, a mapping with `y_true` and `y_proba` and, if used,
        `sample_weight`, `groups`, `by`, `ids` and `data`.
    max_increase : mapping of str to float, optional
        Largest acceptable increase from the baseline by name of a measure that is better the lower
        it is; 0 asks for no increase, a negative number for an improvement.
    max_decrease : mapping of str to float, optional
        Largest acceptable decrease from the baseline by name of a measure that is better the higher
        it is.
    ids : array-like of shape (n,) or str, optional
        Id of each row, matched with the `ids` of the baseline.
    paired : bool, optional
        Whether the baseline has the same rows. By default it has if ids or, without ids, all labels
        agree; `notes` of the result says so. Otherwise the two are independent samples, whose
        difference has a wider interval; with ids, pass `paired=False` for that.
    own_labels : bool, default False
        Whether labels of rows with the same id may differ, because they say whether each model's
        own answer was right. Otherwise different labels are an error.
    level : float in (0, 1), default 0.95
        Confidence level of the intervals.
    point : bool, default False
        Whether to compare the values alone, without intervals, which is unreliable on few rows.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); intervals, and the rows that a pass needs,
        count clusters.
    by : array-like of shape (n,), str or list of str, optional
        A value for each row, or names of columns: every slice must meet the limits too.
    tolerance : float in (0, 1), optional
        Largest acceptable ECE of a slice: slices are then checked against it instead of the limits,
        which apply to all rows.
    undecided_slices : {"undecided", "warn", "fail"}, default "undecided"
        How an undecided slice counts: undecided, like any limit; only a note ("warn"); or a fail.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each soft label; counts as `y_true` need none. Losses and distances
        have no noise floor without it.
    n_resamples : int, default 1000
        Number of resamples for each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.

    Returns
    -------
    Check
        `verdict` ("pass", "fail" or "undecided"), true only for a pass, and every limit with its
        interval; prints as a table.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if there is no limit, if a limit always or never passes, or if worse models would
        pass it.

    Notes
    -----
    Two errors are possible, each with a chance of at most ``(1 - level) / 2``. A false pass: some
    limit is violated, but the check passes. This needs a wrong decision on the violated limit
    itself, so intervals need no correction for the number of limits. (An undecided slice that only
    warns is not covered.) A false fail: no limit is violated, but one fails. These chances add up
    over limits and slices, so a fail is decided at the corrected level ``1 - (1 - level) /
    number``.

    Resampling cannot show what the sample lacks: an error in a share s of all rows is absent from n
    rows with probability ``(1 - s)^n``. So a pass also needs enough rows to show an error as large
    as the limit, and fewer than 30 rows are always undecided.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25
    >>> cal.check(y, p, at_most={"ece": 0.05}).verdict
    'fail'
    >>> cal.check(y, p, at_most={"brier": 0.2}).verdict
    'pass'
    >>> cal.check(y[:12], p[:12], at_most={"ece": 0.2}).verdict
    'undecided'
    >>> worse = [0.4, 0.5, 0.7, 0.5] * 25
    >>> cal.check(y, worse, baseline=p, max_increase={"brier": 0.01}).verdict
    'fail'
    """

def classification_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Classification error: the share of rows whose top label is not the target.

    .. math:: 1 - \frac{1}{W} \sum_i w_i z_{i r_i}, \quad r_i = \arg\max_r p_{ir}

    where the lowest class wins ties; with soft labels, z is the target's mass on the top label.
    Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean loss, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction,
    definition B.6.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.classification_error([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.4])
    0.25
    """

def classwise_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = Quantile(15),
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Truthful classwise calibration error: LinCE of each class against the rest, averaged.

    .. math:: \frac{1}{k} \sum_r \frac{1}{W^2} \sum_B
        \Bigl( \sum_{i \in B} w_i (p_{ir} - z_{ir}) \Bigr)^2

    where each class has its own bins. Range [0, 1], lower is better; truthful.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n, k), or list of str
        Predicted probabilities, one column per class; with `data`, the columns' names.
    bins : int, str, sequence of float or bin rule, default Quantile(m=15, ties='together')
        Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`,
        `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, section
    3.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.classwise_ce([0, 1], [[0.8, 0.2], [0.4, 0.6]], bins=cal.Quantile(1)), 6)
    0.01
    """

def classwise_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Classwise ECE: each class against the rest, averaged; `ece` with ``notion="classwise"``.

    .. math:: \frac{1}{k} \sum_r \frac{1}{W} \sum_B
        \Bigl| \sum_{i \in B} w_i (p_{ir} - z_{ir}) \Bigr|

    Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Kull et al. (2019), arXiv:1910.12656.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.classwise_ece([0, 1], [[0.8, 0.2], [0.4, 0.6]], bins=5), 4)
    0.3
    """

def classwise_reliability(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> ClasswiseReliability:
    """The reliability table of each class against the rest, worst first.

    The worst class is the one with the largest ECE.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n, k), or list of str
        Predicted probabilities, one column per class; with `data`, the columns' names.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    ClasswiseReliability
        `names` and `tables` of the classes, and their diagrams (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> rows = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]]
    >>> cal.classwise_reliability([0, 1, 2, 1], rows, bins=2, classes=["a", "b", "c"])
    Reliability of 3 classes, worst first; 2 equal-width bins, left-closed
      class  mean_predicted  mean_target     ece
      b              0.5000       0.5000  0.2500
      a              0.3000       0.2500  0.2000
      c              0.2000       0.2500  0.0500
    """

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
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
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
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient); rows of one cluster vary together.
    level : float in (0, 1), default 0.95
        Level of the band and of the intervals.
    n_resamples : int, default 1000
        Number of resamples behind the interval of the ICI.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    ax : matplotlib Axes, optional
        Axes to draw on; by default, a new figure. On `ax` and in one column of a paper, the
        statistics are in `caption` alone.
    legend : bool or str, default True
        Whether to draw a legend where there is room, or its location inside the axes.
    size : "column" or tuple of two floats, optional
        Size of a new figure: 3.3 x 2.6 inches, or (width, height) in inches.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

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

def clinical_summary(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    by: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    prevalence: float | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> ClinicalSummary:
    """The values that clinical papers report: slope, O:E, C-statistic, ICI and others.

    Each value has its interval. A value that cannot be estimated (only one outcome, predictions
    that separate the outcomes) is "not estimable", with the reason.

    Parameters
    ----------
    y_true : array-like of shape (n,) or str
        Outcomes: 0/1, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or str
        Predicted risks, P(y = 1); with `data`, a column's name.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns, by which rows are split into subgroups.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, hospital); rows of one cluster are resampled together.
    prevalence : float in (0, 1), optional
        Share of events in the population, if rows were sampled by outcome (case-control): rows are
        reweighted to it.
    level : float in (0, 1), default 0.95
        Level of the intervals.
    n_resamples : int, default 1000
        Number of resamples for the intervals of ICI, E50, E90 and Emax.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    ClinicalSummary
        A mapping of names to floats with `low`, `high`, `method` and `note`: `slope`, `intercept`,
        `intercept_in_the_large`, `observed_expected`, `c_statistic`, `brier`, `scaled_brier`,
        `ici`, `e50`, `e90`, `emax`. `subgroups` has the same of each subgroup.

    Raises
    ------
    InputError
        If the input cannot be read as outcomes and risks, or has several classes.

    Notes
    -----
    Slope and intercepts are those of `cox_calibration`, with Wald intervals (robust with weights,
    soft labels and clusters). The interval of the C-statistic is DeLong's, on the logit scale. ICI,
    E50, E90 and Emax are the mean, the median, the 90% quantile and the maximum of the distance
    between the risks and a local regression of the outcomes on them, as in R's ``loess(y ~ p)``:
    span 0.75, degree 2; their intervals are found by test inversion, since a sample's distance is
    biased upwards.

    With `prevalence`, each event counts ``prevalence / (share of events)`` and each other row ``(1
    - prevalence) / (share of others)``: slope, intercepts, O:E, Brier scores and distances are then
    those of the population, and the C-statistic, which does not depend on the share of events, does
    not change. Intervals are robust and conservative, because they ignore that the numbers of
    events and non-events were fixed. Distances have no interval, because weights depend on the
    outcomes.

    For lazy frames and Parquet files, intervals other than Cox's use rows pooled in about 2,500
    cells of predictions. Up to 2^20 rows, values use the rows; with more, C-statistic, ICI, E50,
    E90 and Emax use these cells too, with a note. Each subgroup is summed separately.

    References
    ----------
    Van Calster et al. (2019), doi:10.1186/s12916-019-1466-7. Austin and Steyerberg (2019),
    doi:10.1002/sim.8281.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> found = cal.clinical_summary(y, p)
    >>> round(found["scaled_brier"], 3), found["c_statistic"]
    (0.196, 0.7500 [0.6622, 0.8211])
    >>> cal.clinical_summary([0, 0, 0], [0.1, 0.2, 0.3])["c_statistic"].estimable
    False
    """

def compare(
    y_true: ArrayLike | Mapping[str, ArrayLike],
    y_proba: Mapping[str, ArrayLike] | ArrayLike,
    *,
    ids: Mapping[str, ArrayLike] | ArrayLike | None = None,
    models: ArrayLike | None = None,
    measures: Iterable[str] | None = None,
    bins: Bins = 15,
    bin_counts: Sequence[int] = (5, 20, 100),
    tolerance: float = 0.05,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    scale_on: Mapping[str, Any] | None = None,
    scaler: str = "temperature",
    ceiling: bool = False,
    answered: Mapping[str, float] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Comparison:
    """Compare predictors on the same rows: differences with intervals, ranks and robustness.

    All predictors are resampled together, so common noise cancels in differences.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str, list of str, or mapping of str to these
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`. A
        mapping by predictor if each has its own labels, such as whether its own answer was right.
    y_proba : mapping of str to array-like or str
        Predictions of each predictor by its name, as (n,) or (n, k), or columns' names with `data`;
        with `models`, the predictions of all of them.
    ids : mapping of str to array-like of shape (n,), optional
        Id of each row for "y_true" and for predictors by name; rows are matched by it. A predictor
        without ids is in the order of `y_true`. If each predictor has its own labels, ids by
        predictor; with `models`, the id of every row.
    models : array-like of shape (n,) or str, optional
        Long format: the model of each row; `y_true`, `y_proba` and `ids` then have a value for each
        row of each model. Slices, clusters and weights are those of the first model's rows.
    measures : iterable of str, optional
        Names of `catalogue()`, and "slope", "intercept" and "intercept_in_the_large" of
        `cox_calibration`; by default ECE, smooth ECE, the truthful errors and the usual losses.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    bin_counts : sequence of int, default (5, 20, 100)
        Numbers of bins at which rank robustness is computed.
    tolerance : float in (0, 1), default 0.05
        Largest calibration error, as a gap, that you can accept, in a slice (`by`) and on the page.
    level : float in (0, 1), default 0.95
        Confidence level of values and differences.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns: `slices` then has the slices of each predictor.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
        from estimates and intervals, and losses and distances have a noise floor.
    resample : {"rows", "votes", "both"}, optional
        What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
        votes of these rows; or both, so that the interval covers the label distributions. By default
        both if vote counts are known.
    scale_on : mapping, optional
        Validation rows to fit a recalibration map of each predictor, to compare predictors after
        recalibration: `y_true`, `y_proba` (a mapping with the same names), and, if used,
        `sample_weight`, `votes` and `data`.
    scaler : str, default "temperature"
        Map to fit: "temperature", "platt", "isotonic", "beta", "histogram", "vector", "matrix",
        "dirichlet" or "label-smoothing".
    ceiling : bool, default False
        Whether to add the rows of `annotator_ceiling`: one annotator, half of the votes, and as
        many annotators again. Needs votes.
    answered : mapping of str to float, optional
        Share of the questions to which each predictor gave a confidence, by name: an additional
        column (`read_confidences` gives the shares).
    n_resamples : int, default 1000
        Number of resamples for each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    Comparison
        `values`, `order(measure)`, `difference(first, second, measure)`, `robustness` (rank
        correlations and the maximum dominance set, of eight predictors or more), `order_bias`
        (whether truthful errors order predictors like the losses), and diagrams (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    If a `calibrant.scaling` map was fitted in this session to rows that are compared here, `notes`
    says to which share of the rows.

    Slopes and intercepts are those of `clinical_summary`. A slope is better the closer it is to 1,
    an intercept the closer to 0: ranks and `better` follow from the difference of the distances.
    `difference` has that of the values too, from the joint sandwich covariance of both fits.

    `order_bias` is computed for truthful errors named in `measures`, for independent rows without
    weights.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    4.3 and section 5.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [0, 1, 1, 0] * 25
    >>> good, bad = [0.1, 0.8, 0.9, 0.2] * 25, [0.3, 0.5, 0.6, 0.6] * 25
    >>> found = cal.compare(y, {"good": good, "bad": bad})
    >>> found.order("brier"), found.difference("bad", "good", "brier").better
    (['good', 'bad'], 'good')
    """

def confidence_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    corrected: bool = True,
    bins: Bins = Quantile(15),
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Squared confidence error, with the correction that makes it truthful.

    .. math:: \frac{1}{W^2} \sum_B \Bigl( \sum_{i \in B} w_i (c_i - z_i) \Bigr)^2
        + \frac{1}{W^2} \sum_i w_i^2 (1 - z_i)

    where c is the largest predicted probability and z whether (or how much of) the target is that
    class. Without weights the second term is 1/n of the classification error; with them each row
    counts by the square of its weight, as it does in the variance of the first term. Range [0, 2],
    lower is better. In the catalogue it is `confidence_ce`, without the second term
    `confidence_ce_uncorrected`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    corrected : bool, default True
        Whether to add the second term; without it, a prediction can lower its error by changing its
        top label (example C.1 of the paper).
    bins : int, str, sequence of float or bin rule, default Quantile(m=15, ties='together')
        Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`,
        `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 2].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    3.3.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1], [[0.8, 0.2], [0.4, 0.6]]
    >>> round(cal.confidence_ce(y, p, bins=cal.Quantile(1)), 6)
    0.09
    """

def confidence_ce_uncorrected(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = Quantile(15),
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Squared confidence error without its correction: `confidence_ce` with ``corrected=False``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default Quantile(m=15, ties='together')
        Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`,
        `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1], [[0.8, 0.2], [0.4, 0.6]]
    >>> round(cal.confidence_ce_uncorrected(y, p, bins=cal.Quantile(1)), 6)
    0.09
    """

def confidence_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Confidence loss: the loss whose minimiser the corrected `confidence_ce` shares.

    .. math:: \frac{1}{W} \sum_i w_i \bigl[ 1 - z_i + (c_i - z_i)^2 \bigr]

    where c is the largest predicted probability and z the target's mass on that class. Range [0,
    2], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean loss, in [0, 2].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, section
    4.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.confidence_loss([0, 1], [0.2, 0.6]), 4)
    0.1
    """

def conventions(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: int | str = 15,
    notion: str | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Conventions:
    """The ECE of these data by each well-known tool and benchmark, and why they differ.

    Every tool's rule is computed with its default number of bins and with `bins`; no tool needs to
    be installed. Benchmarks of language models have their own rules: that of Hendrycks, which
    Humanity's Last Exam (HLE) uses, drops the last bin. For (n, k) predictions, the top label is
    evaluated.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int or str, default 15
        Number of bins at which all tools are compared; `"cbrt"` and `"auto"` choose the number of
        bins by the number of rows.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    Conventions
        A row for each tool in `rows`, Calibrant first; prints as a table.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> y = [1] * 90 + [0] * 10 + [1] * 100
    >>> p = [1.0] * 100 + [0.91] * 100
    >>> table = cal.conventions(y, p, bins=10)
    >>> [(row.tool, round(row.at_common, 4)) for row in table.rows[:2]]
    [('Calibrant', 0.005), ('torchmetrics', 0.095)]
    """

def count_votes(
    data: Any,
    *,
    item: str,
    label: str,
    annotator: str | None = None,
    classes: Sequence[Any] | None = None,
    items: ArrayLike | None = None,
) -> VoteTable:
    """Count a long table of votes, with one row per vote, by item and class.

    Parameters
    ----------
    data : data frame or mapping
        Table with a row for each vote: pandas, polars, PyArrow, a lazy frame of any engine, or a
        mapping of column names to arrays.
    item : str
        Column of item ids, which predictions have too.
    label : str
        Column of labels: names of classes or class indices.
    annotator : str, optional
        Column of annotators; nobody may vote twice on an item.
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; by default the labels that
        occur, sorted: numbers, and texts that are numbers, by their size.
    items : array-like of shape (n,), optional
        Ids of the predictions' rows: `counts` has a row for each, in this order. By default items
        are in the order in which they first occur.

    Returns
    -------
    VoteTable
        `counts`, for use as `y_true`; `items`, `classes`, `shares`, `votes`, and the votes
        themselves.

    Raises
    ------
    InputError
        If a column is missing, a label is not a class, an item of `items` has no votes, or somebody
        votes twice on an item.

    Examples
    --------
    >>> import calibrant as cal
    >>> long = {
    ...     "item": ["a", "a", "a", "b", "b"],
    ...     "label": ["cat", "dog", "cat", "dog", "dog"],
    ...     "annotator": ["ann", "bob", "eve", "ann", "bob"],
    ... }
    >>> votes = cal.count_votes(
    ...     long, item="item", label="label", annotator="annotator", classes=["cat", "dog"]
    ... )
    >>> votes.counts.tolist()
    [[2, 1], [0, 2]]
    >>> round(cal.dist_ce(votes.counts, [[0.6, 0.4], [0.2, 0.8]]), 4)
    0.1333
    """

def cox_calibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    level: float = 0.95,
    eps: float = EPS,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CoxCalibration:
    r"""Cox's slope and intercepts: the targets regressed on the logits of the predictions.

    .. math:: \operatorname{logit} P(z = 1) = a + b \operatorname{logit} u

    `slope` b and `intercept` a together, and `intercept_at_slope_1`: a alone with b = 1, known as
    calibration in the large. Calibrated predictions have slope 1 and both intercepts 0, which
    `p_value` tests together.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    level : float in (0, 1), default 0.95
        Confidence level of the intervals.
    eps : float, default 1e-06
        Predictions are clipped to [eps, 1 - eps] before their logits are taken.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); variances are then those of clusters.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    CoxCalibration
        `slope`, `intercept` and `intercept_at_slope_1` with their confidence intervals, `p_value`,
        `note`, `n_clipped` and the fit `without_clipped`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    For independent outcomes, intervals come from the curvature of the likelihood, and the p-value
    from the likelihood-ratio test. For soft labels, weights and clusters, intervals come from the
    variance of the scores, with Student's t and the effective number of rows or clusters as degrees
    of freedom. `p_value` is then the larger of two: Wald's test with that variance, and the score
    test with the variance implied by the predictions.

    If outcomes are all equal, or separated by the predictions, there is no finite fit: values are
    NaN, with a `note`. `n_clipped` is the number of clipped predictions, and `without_clipped` the
    fit without them.

    Rows of lazy frames and Parquet files are summed in one query, by moments within cells of the
    logit, which give the same fit up to rounding; weights and clusters need a second query.

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

def cutoff_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Cutoff calibration error: the largest accumulated gap of any interval of predictions.

    .. math:: \max_{s \le t} \frac{1}{W} \Bigl| \sum_{s \le u_i \le t} w_i (u_i - z_i) \Bigr|

    Known as Kuiper's statistic and as ECCE-R. No bins. Range [0, 1], lower is better; it lies
    between the Kolmogorov-Smirnov error, whose intervals all start at the lowest prediction, and
    twice that error.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    See Also
    --------
    cutoff_test : its p-value, and the interval of predictions where it is reached. ks_error : the
    largest accumulated gap from the lowest prediction.

    References
    ----------
    Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic Predictions, JMLR 23;
    Rossellini et al. (2025), arXiv:2502.19851.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.cutoff_ce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.15
    """

def cutoff_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CalibrationTest:
    """Test of calibration by the cutoff error, and where it is reached.

    If predictions are calibrated, the partial sums of residuals in their order are a random walk,
    and the cutoff error is its range. With many predictions it is the range of a Brownian motion
    with the variance ``sum w^2 u (1 - u) / W^2`` (Feller, 1951). With few distinct predictions, few
    rows, rare events or heavy weights, walks are simulated. Hard labels only.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); variances are then those of clusters.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    CalibrationTest
        `statistic` (the cutoff error), `p_value`, the interval of predictions `where` it is
        reached, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if labels are soft: the test needs outcomes.

    See Also
    --------
    cutoff_ce : the error alone.

    References
    ----------
    Feller (1951), The asymptotic distribution of the range of sums of independent random variables;
    Arrieta-Ibarra et al. (2022), Metrics of Calibration for Probabilistic Predictions, JMLR 23.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.cutoff_test([0, 0, 1, 0, 1, 1] * 50, [0.1, 0.3, 0.5, 0.6, 0.8, 0.9] * 50)
    >>> found.where, round(found.statistic, 3), found.p_value < 0.05
    ((0.6, 0.6), 0.1, True)
    """

def debiased_l2(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = Quantile(15),
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Root-mean-square gap over bins, minus the part due to sampling noise.

    .. math:: \sqrt{\max\Bigl(0, \frac{1}{W}\sum_B W_B \Bigl[ (\bar u_B - \bar z_B)^2
        - \frac{\overline{z^2}_B - \bar z_B^2}{n_B - 1} \Bigr]\Bigr)}

    where bars are weighted means in the bin B of weight W_B, and n_B is its effective number of
    rows, W_B^2 over the sum of squared weights; a bin of one effective row is dropped. Range [0,
    1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default Quantile(m=15, ties='together')
        Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`,
        `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The debiased error, in [0, 1]; 0 where noise explains all of it.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Kumar, Liang and Ma (2019), arXiv:1909.10155; Broecker (2012), doi:10.1007/s00382-011-1191-1.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.debiased_l2([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=1)
    0.0
    """

def decision_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike | Mapping[str, ArrayLike],
    *,
    thresholds: Iterable[float] | None = None,
    recalibration: str | None = "default",
    level: float = 0.95,
    groups: ArrayLike | None = None,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
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
    level : float in (0, 1), default 0.95
        Level of the intervals, pointwise over thresholds.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, hospital); rows of one cluster vary together.
    seed : int, default 0
        Seed of the folds; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

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

def decompose(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    loss: str = "log_loss",
    recalibrate: str | Sequence[str] | None = None,
    folds: int = FOLDS,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> LossDecomposition:
    r"""Decompose a proper loss: the part that recalibration removes, and the rest.

    .. math:: \ell = \underbrace{\ell - \ell_g}_{\text{calibration}} +
        \underbrace{\ell_g}_{\text{refinement}}

    where g is a recalibration map, and each row is recalibrated by a map fitted to the other folds.
    On the rows that it was fitted to, a map removes too much (`in_sample`). With several maps, g is
    the one with the lowest cross-validated loss. A map that is not flexible enough leaves some
    miscalibration in the refinement; one that is too flexible raises the loss, and `calibration`
    may then be below 0.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), counts of votes, or a column's name
        with `data`. Soft labels are fitted and measured unchanged.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    loss : {"log_loss", "brier", "spherical_loss"}, default "log_loss"
        The proper loss.
    recalibrate : str or list of str, optional
        Names of recalibration maps, as in `calibrant scale`; by default Platt scaling, beta
        calibration and isotonic regression for (n,), temperature and vector scaling for (n, k).
    folds : int, default 5
        Number of folds; each cluster lies in one fold.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); intervals are then those of clusters.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it.
    level : float, default 0.95
        Confidence level of the intervals.
    seed : int, default 0
        Seed of the random folds.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    LossDecomposition
        `calibration`, `refinement`, `overconfidence`, `underconfidence`, `in_sample`, the `map`,
        and `intervals` of the parts, paired by row.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, the loss or a map is not known,
        there are fewer rows (or clusters) than folds, or all labels are of one class.

    See Also
    --------
    brier_decomposition : the Brier score by bins or by isotonic regression, in sample.

    Notes
    -----
    Lazy frames and Parquet files are summed by distinct prediction up to 2^15 rows, and in about
    5,000 cells of predictions beyond; the loss itself is exact. Rows (or clusters, with `groups`)
    of a cell are assigned to folds at random. Predictions must be (n,).

    References
    ----------
    Berta, Holzmueller, Jordan and Bach (2025), Rethinking Early Stopping: Refine, Then Calibrate,
    arXiv:2501.19195; arXiv:2602.24230.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(4000)
    >>> y = (rng.random(4000) < truth).astype(int)
    >>> sharp = truth**2 / (truth**2 + (1 - truth) ** 2)  # overconfident
    >>> found = cal.decompose(y, sharp, loss="brier")
    >>> round(found.loss, 3), round(found.calibration, 3), round(found.refinement, 3)
    (0.182, 0.012, 0.17)
    >>> found.overconfidence > found.underconfidence
    True
    """

def dist_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    norm: str = "tv",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Distribution calibration error: mean total variation between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \, \tfrac12 \sum_r |p_{ir} - q_{ir}|

    where q is the target distribution: soft labels such as shares of human votes, or the label
    itself. Range [0, 1], lower is better. ``norm="l1"`` gives twice this value, the Manhattan
    distance that LeWiDi's leaderboards print (the catalogue's `manhattan`), in [0, 2].

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    norm : {"tv", "l1"}, default "tv"
        Total variation, half the sum of absolute differences; or the whole sum.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean distance, in [0, 1]; in [0, 2] with ``norm="l1"``.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133; Leonardelli et al. (2025), arXiv:2510.08460.

    Examples
    --------
    >>> import calibrant as cal
    >>> votes, predicted = [[0.6, 0.4], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]
    >>> round(cal.dist_ce(votes, predicted), 4), round(cal.dist_ce(votes, predicted, norm="l1"), 4)
    (0.2, 0.4)
    """

def e50(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Median distance of a local regression to the diagonal: `ici` with ``part="e50"``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The distance, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> cal.e50(y, p) < cal.e90(y, p) <= cal.emax(y, p)
    True
    """

def e90(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Distance of a local regression to the diagonal of 90% of rows: `ici` with ``part="e90"``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The distance, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> cal.e90(y, p) == cal.ici(y, p, part="e90")
    True
    """

def ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    notion: str | None = None,
    ties: str = "first",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Expected calibration error: the mean gap between predictions and targets, over bins.

    .. math:: \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where B runs over the bins, u is the prediction, z the target, w the weight and W the sum of
    weights. ``norm="l2"`` is the root of the mean square gap (RMSCE), ``norm="max"`` the largest
    gap of any bin (MCE). On soft labels this is SMECE (`soft_ece`).

    Range [0, 1], lower is better. Not truthful and not continuous: see `catalogue`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are combined: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    ties : {"first", "any", "share"}, default "first"
        Which top label counts as right if m classes share the largest probability: only the first
        of them, any of them, or any of them with the share 1/m.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), arXiv:1706.04599.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
    0.25
    >>> coin = [[0.5, 0.5]] * 4  # class 0 is the first of equals, and right half of the time
    >>> [cal.ece([1, 1, 0, 0], coin, ties=ties) for ties in ("first", "any", "share")]
    [0.0, 0.5, 0.0]
    """

def ece_kde(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    kernel: str = "beta",
    bandwidth: float | None = None,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""ECE by kernel density estimates (ECE-KDE): no bins, but a bandwidth.

    .. math:: \frac{1}{W} \sum_j w_j \Bigl| \frac{\sum_{i \neq j} w_i K_b(u_j, u_i) z_i}
        {\sum_{i \neq j} w_i K_b(u_j, u_i)} - u_j \Bigr|

    where K is the density at u_j of the beta distribution with the parameters u_i / b + 1 and
    (1 - u_i) / b + 1. With the other kernels, which are reflected at 0 and 1, it is

    .. math:: \frac{1}{W} \int_0^1 \Bigl| \sum_i w_i K_b(t, u_i) (t - z_i) \Bigr| \, dt

    Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    kernel : {"beta", "gaussian", "triweight"}, default "beta"
        Kernel of the density estimates.
    bandwidth : float, optional
        Bandwidth b, for kernels other than beta the kernel's standard deviation. By default the
        most likely of 20 bandwidths by leave-one-out density (beta); or the standard deviation of
        the predictions of events, times (2 n)^(-1/5).
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    ``kernel="beta"`` equals the code of Popordanoska et al. with ``p=1`` at the same bandwidth,
    except that theirs sums over classes: it is twice as large for one column, and a sum instead of
    the mean of ``notion="classwise"``. Their choice of a bandwidth has another term, which prefers
    small ones. It compares all pairs of rows, up to 50,000 rows, and clips predictions to [1e-6, 1
    - 1e-6]. ``kernel="triweight"`` is the code of Zhang et al., on a finer grid; these two kernels
    take any number of rows. Where the bandwidth is small, single rows are their own frequency, and
    the error is overestimated; where it is large, gaps are smoothed away.

    References
    ----------
    Popordanoska, Sayer and Blaschko (2022), A Consistent and Differentiable Lp Canonical
    Calibration Error Estimator, NeurIPS, arXiv:2210.07810. Zhang, Kailkhura and Han (2020),
    Mix-n-Match: Ensemble and Compositional Methods for Uncertainty Calibration in Deep Learning,
    ICML, arXiv:2003.07329.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 1, 0, 1], [0.2, 0.7, 0.9, 0.4, 0.6]
    >>> round(cal.ece_kde(y, p, bandwidth=0.1), 4), round(cal.ece_kde(y, p, kernel="gaussian"), 4)
    (0.1328, 0.2366)
    """

def emax(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Largest distance of a local regression to the diagonal: `ici` with ``part="emax"``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The distance, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> y, p = [0, 1, 0, 1, 0, 0] * 30, [0.1, 0.6, 0.5, 0.3, 0.2, 0.35] * 30
    >>> round(cal.emax(y, p), 4)
    0.7
    """

def ent_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    signed: bool = False,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Entropy calibration error: mean difference of entropies of prediction and target, in nats.

    .. math:: \frac{1}{W} \sum_i w_i \, | H(p_i) - H(q_i) |

    where H is the entropy, p the prediction and q the target distribution. Range [0, log k], lower
    is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    signed : bool, default False
        Whether to keep the sign: above 0, the predictions are less certain than the targets.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean difference, in nats.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ent_ce([[0.5, 0.5]], [[0.9, 0.1]]), 4)
    0.3681
    """

def entropy_bands(
    y_true: ArrayLike, *, bands: int = 4, votes: ArrayLike | None = None, data: Any = None
) -> NDArray[Any]:
    """Sort rows into bands by how much people disagree: the entropy of their votes.

    Use it as ``by=`` of any function: ``evaluate(counts, p, by=entropy_bands(counts))``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), or list of str
        Counts or shares of votes; (n,) are shares of class 1, or counts of it with `votes`.
    bands : int, default 4
        Number of quantile bands; rows of equal entropy stay together, so there may be fewer.
    votes : int, array-like of shape (n,) or str, optional
        Number of all votes of each row, where (n,) labels are counts.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    ndarray of shape (n,) of str
        The band of each row, as texts that sort by entropy (in nats).

    Raises
    ------
    InputError
        If the labels are neither counts nor shares.

    Notes
    -----
    Bands are formed by the labels themselves, so even a perfect model seems underconfident if few
    votes agree by chance; `vote_profile` says by how much.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.entropy_bands([[4, 0], [2, 2], [0, 4], [1, 3]], bands=2).tolist()
    ['1 of 2: entropy 0.00', '2 of 2: entropy 0.56 to 0.69', '1 of 2: entropy 0.00', '2 of 2: entropy 0.56 to 0.69']
    """

@overload
def evaluate(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    uncertainty: bool = False,
    tolerance: float = 0.05,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    by: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Evaluation:
    """Compute every measure that applies, with the reliability table and notes on the input.

    The values equal those of the functions of the same name with their defaults; files, frames and
    streams give the same values. `ace` and `tace` are defined by bins of equal mass: from another
    rule they use only its number of bins, with a note.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str, list of str or Between
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
        Labels that are only known to lie `Between` two ends give bounds.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    measures : iterable of str, optional
        Names of `catalogue()`; by default all that apply, except distances between distributions
        with hard labels and full calibration with more than 200 classes.
    uncertainty : bool, default False
        Whether to add a confidence interval and a noise floor to each measure, and a verdict.
    tolerance : float in (0, 1), default 0.05
        Largest calibration error, as a gap, that you can accept.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
        Needs `uncertainty` or `by`.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
        from estimates and intervals, and losses and distances have a noise floor.
    resample : {"rows", "votes", "both"}, optional
        What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
        votes of these rows; or both, so that the interval covers the label distributions. By default
        both if vote counts are known.
    n_resamples : int, default 1000
        Number of resamples for each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns: `slices` then has an evaluation for each value, with
        p-values corrected for their number.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.

    Returns
    -------
    Evaluation
        `evaluation["ece"]` is a value, `estimates` all of them, `reliability` the bins, `verdict`
        and `slices` if requested, `inferred` and `notes` on the input; prints as a table. For
        labels `Between` two ends it is `Bounds`: ``bounds["ece"].low`` and ``.high``.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if a measure named in `measures` has no value for these data; by default, such a
        measure is not computed, with a note.

    Notes
    -----
    `classes` names the classes in the order of the columns, and a label belongs to the class of its
    name, where a number and its text are the same name: 0 and "0". Numeric labels are class indices
    only if no class has a number as its name. `inferred` says how labels were read.

    Rows are matched by position: pandas objects with different indexes are an error.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece", "brier"])
    >>> result["ece"], round(result["brier"], 4)
    (0.25, 0.075)
    """

@overload
def evaluate(
    y_true: Between,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    uncertainty: bool = False,
    tolerance: float = 0.05,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    by: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Bounds:
    """Compute every measure that applies, with the reliability table and notes on the input.

    The values equal those of the functions of the same name with their defaults; files, frames and
    streams give the same values. `ace` and `tace` are defined by bins of equal mass: from another
    rule they use only its number of bins, with a note.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str, list of str or Between
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
        Labels that are only known to lie `Between` two ends give bounds.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    measures : iterable of str, optional
        Names of `catalogue()`; by default all that apply, except distances between distributions
        with hard labels and full calibration with more than 200 classes.
    uncertainty : bool, default False
        Whether to add a confidence interval and a noise floor to each measure, and a verdict.
    tolerance : float in (0, 1), default 0.05
        Largest calibration error, as a gap, that you can accept.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
        Needs `uncertainty` or `by`.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
        from estimates and intervals, and losses and distances have a noise floor.
    resample : {"rows", "votes", "both"}, optional
        What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
        votes of these rows; or both, so that the interval covers the label distributions. By default
        both if vote counts are known.
    n_resamples : int, default 1000
        Number of resamples for each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns: `slices` then has an evaluation for each value, with
        p-values corrected for their number.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.

    Returns
    -------
    Evaluation
        `evaluation["ece"]` is a value, `estimates` all of them, `reliability` the bins, `verdict`
        and `slices` if requested, `inferred` and `notes` on the input; prints as a table. For
        labels `Between` two ends it is `Bounds`: ``bounds["ece"].low`` and ``.high``.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if a measure named in `measures` has no value for these data; by default, such a
        measure is not computed, with a note.

    Notes
    -----
    `classes` names the classes in the order of the columns, and a label belongs to the class of its
    name, where a number and its text are the same name: 0 and "0". Numeric labels are class indices
    only if no class has a number as its name. `inferred` says how labels were read.

    Rows are matched by position: pandas objects with different indexes are an error.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece", "brier"])
    >>> result["ece"], round(result["brier"], 4)
    (0.25, 0.075)
    """

def evaluate_file(
    path: Paths,
    *,
    y_true: str | Sequence[str] | None = None,
    y_proba: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    votes: str | None = None,
    counts: str | Sequence[str] | None = None,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    by: str | Sequence[str] | None = None,
    missing: str = "error",
    format: str | None = None,
    filter: str | None = None,
    task: str | Sequence[str] | None = None,
    skip: str | Sequence[str] | None = None,
    acc_norm: str | None = None,
    percent: bool = False,
    words: Mapping[str, float | None] | None = None,
    confidence: str | None = None,
    refusals: str | None = None,
    answer: str | None = None,
    gold: str | None = None,
    exact: bool = True,
    uncertainty: bool = False,
    groups: str | None = None,
    tolerance: float = 0.05,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    r"""Evaluate Parquet, CSV, JSONL, Arrow or NPZ files, which are never loaded whole, and logs.

    The values equal those of `evaluate` for the same rows. Most need one pass; quantile bins, also
    for every class, need a refinement pass over the few rows near their edges, and full calibration
    needs a third pass.

    Parameters
    ----------
    path : str, path-like or list of these
        File, folder, pattern such as `"day-*.parquet"`, or a list of these.
    y_true : str or list of str, optional
        Column of labels; by default, found by its usual names. Two candidates are an error.
    y_proba : str or list of str, optional
        Column of probabilities (numbers, lists or records), or one column per class; by default,
        found by its usual names.
    sample_weight : str, optional
        Column of weights; every row counts 1 by default.
    votes : str, optional
        Column of the number of votes behind each soft label, or of all votes with counts of class
        1.
    counts : str or list of str, optional
        Columns of vote counts, one per class (or one column of lists), instead of `y_true`.
    bins : int, str, sequence of float, EqualWidth, Edges or Cells, default 15
        Bins that are fixed in advance, or cells by columns; a number also gives the number of
        quantile bins for measures that use them. `"cbrt"` and `"auto"` choose the number of bins by
        the number of rows.
    measures : iterable of str, optional
        Names of `catalogue()`; by default all that apply.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns; labels belong to the class of their name.
    by : str or list of str, optional
        Columns whose values split the rows into `slices`, in the first pass.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.
    format : str, optional
        Format of the files: "parquet", "csv", "jsonl", "arrow", "npz", "json", "lm-eval",
        "inspect", "excel", "stata", "sas" or "r"; by default it follows from the file name and, for
        records, from their fields: a JSON list, a log of lm-evaluation-harness or of Inspect AI.
    filter : str, optional
        lm-eval filter to use if the log has several.
    task, skip : str or list of str, optional
        Tasks to read, and tasks to skip, if logs have several. Tasks without a confidence are
        skipped, and `inferred` names them.
    acc_norm : {"characters", "bytes"}, optional
        Divide the log-likelihood of each choice by its length in this unit, as the harness does
        for its metrics acc_norm and acc_bytes.
    percent : bool, default False
        Whether `y_proba` is in percent, as 85 or "85%".
    words : mapping of str to float, optional
        The probability that each word of `y_proba` stands for, such as ``{"likely": 0.7}``; None
        for a refusal. With `percent`, percentages may be mixed in.
    confidence : {"auto"}, optional
        Read each confidence by the rule for its form: words of `words`, "85%", "85 out of 100",
        numbers up to 1 and above it, refusals, gaps. `inferred` says how many had each form; 1 is
        an error, since it may mean 1 % or certainty. Labels say whether the answer was right.
    refusals : {"excluded", "wrong"}, optional
        How answers without a confidence count: dropped, or wrong at confidence 0; by default, as
        `missing` says.
    answer, gold : str, optional
        Columns of answers and of right answers, instead of `y_true`: a row is 1 if they are equal.
    exact : bool, default True
        Whether to take refinement passes; if not, measures that need an order use about 2,500 cells
        of [0, 1], with a note.
    uncertainty : bool, default False
        Whether to add intervals, noise floors and a verdict, from the same sums. Soft labels and
        `groups` take one more reading. With several classes, only measures of the top label have
        them.
    groups : str, optional
        Column of the cluster of each row, whose rows vary together; its rows may be anywhere in the
        files.
    tolerance : float in (0, 1), default 0.05
        Largest error, as a gap, that you can accept.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    n_resamples : int, default 1000
        Number of resamples for each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    progress : bool, optional
        Whether to show progress (rows and rate); by default only on a terminal.

    Returns
    -------
    Evaluation
        As `evaluate` returns; `inferred` says which columns were found, `notes` what was dropped or
        approximated.

    Raises
    ------
    InputError
        If a file, column or value cannot be read; the message names the file and its first bad row.

    Notes
    -----
    Fields within records have dotted paths as names; the fields of a record of probabilities are
    the names of the classes. Measures that need all predictions in order are computed for up to
    2^17 distinct predictions, otherwise a note says that they are not. As labels, 0 and "0" are the
    same name (the reference page on files has the rule).

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> import calibrant as cal
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> rows = [(0, 0.2), (1, 0.7), (1, 0.9), (0, 0.4)]
    >>> lines = [json.dumps({"correct": y, "confidence": p}) for y, p in rows]
    >>> _ = file.write_text("\n".join(lines))
    >>> cal.evaluate_file(file, bins=10)["ece"]
    0.25
    """

def find_segments(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    segments: Mapping[str, ArrayLike] | Sequence[str] | str,
    *,
    depth: int = 2,
    parts: int = PARTS,
    min_rows: int = MIN_ROWS,
    min_gap: float = 0.0,
    contrast: bool | None = None,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Segments:
    r"""Find miscalibrated segments: values of columns, and their crossings.

    .. math:: \frac{\sum_{i \in S} w_i (u_i - z_i)}{\sqrt{\sum_{i \in S} w_i^2 u_i (1 - u_i)}}

    is the ratio of a segment S. Every value of every column is a segment, and every crossing of up
    to `depth` columns. If all rows together are miscalibrated, a segment is judged by its contrast,
    the gap of the segment minus that of all rows, so a common shift is not reported in every
    segment. Segments are ranked by the lower end of the interval of their absolute gap, or
    contrast, so large errors come first, not the most significant ones. These lower ends hold for
    all segments simultaneously, in 95 % of samples; segments with the lower end 0 follow, by their
    ratio.

    Among thousands of segments, some ratio is large by chance, so p-values account for the whole
    search. Outcomes are drawn from the predictions, once for all segments, and the largest ratio of
    each draw gives the null distribution. With many rows, blocks are drawn instead, with the same
    variances. With clusters, or soft labels without votes, the variance of the observed residuals
    is used.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    segments : mapping of str to array-like, or list of str
        Columns to search: a mapping of names to one value per row or, with `data`, the columns'
        names.
    depth : int, default 2
        The largest number of columns to cross.
    parts : int, default 5
        Number of ranges into which a column of more than 12 distinct numbers is cut, at its
        quantiles.
    min_rows : int, default 30
        Segments with fewer rows are not tested, nor are those with so few events that a single
        outcome could decide.
    min_gap : float in [0, 1), default 0.0
        The smallest gap, or contrast, that matters: segments with smaller ones are not listed,
        except the worst if all are smaller.
    contrast : bool, optional
        Whether a segment's gap is compared with that of all rows, or with 0. By default, with that
        of all rows if it is significant (p < 0.05).
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); variances are then those of clusters.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it.
    n_draws : int, default 500
        Number of draws for the p-values.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping or path, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow in memory; a lazy
        frame of polars, DuckDB, Spark or Dask, or the path of a Parquet file, which are summed
        where they are.

    Returns
    -------
    Segments
        Every segment that was tested, the worst first: `worst`, `p_value`, `sentence`, `to_frame`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, a column has another number of
        rows, or no segment has enough rows.

    See Also
    --------
    evaluate : with `by`, every measure of the values of one column.

    Notes
    -----
    For a lazy frame or a Parquet file, only the sums of every combination of the columns' values
    are collected, at most a million, so memory does not grow with the rows. The table is the same.
    For the p-values, the sum of each combination's residuals is drawn from a normal distribution
    with its variance under calibration, instead of single outcomes. `groups` and `votes` need rows
    in memory.

    References
    ----------
    Tax et al. (2025), MCGrad, arXiv:2506.11251; Hebert-Johnson et al. (2018), Multicalibration;
    Westfall and Young (1993), Resampling-Based Multiple Testing.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.1, 0.9, 5000)
    >>> age, ward = rng.integers(20, 90, 5000), rng.choice(["a", "b", "c"], 5000)
    >>> risk = np.where((age > 75) & (ward == "b"), p / 2, p)
    >>> found = cal.find_segments(rng.random(5000) < risk, p, {"age": age, "ward": ward})
    >>> found.worst.name, found.p_value < 0.01
    ('age 75 to 89, ward = b', True)
    """

def grouping_gap(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Grouping gap: the distance of predictions from soft labels that SMECE misses.

    .. math:: \frac{1}{W} \sum_i w_i \, |u_i - z_i|
        - \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where u is the prediction, or the confidence in the top label, and z the probability of its
    label. Within a bin, residuals of opposite signs cancel, and this makes SMECE (`soft_ece`)
    smaller than the mean distance. The calibration error is continuous in the predictions exactly
    if the gap is 0: moving them a little, so no two rows share a group, could raise it by the gap.
    Range [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The gap, at least 0.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, or if every label is 0 or 1: a
        single outcome does not identify the probability of its row.

    Notes
    -----
    Shares of m votes vary around the true probabilities, which increases the first term whatever
    the number of rows. An absolute value has no unbiased estimate from few votes, so with `votes`
    the estimate and `interval` come from bounds over all label distributions compatible with the
    votes, as for `dist_ce`. In SMECE, vote noise averages out within bins. The intervals of both
    terms have half the error rate each, so the interval of the gap is valid.

    References
    ----------
    Chidambaram, Lee, McSwiggen and Rezchikov (2024), How Flawed Is ECE? An Analysis via Logit
    Smoothing, ICML, arXiv:2402.10046, theorem 3.10.

    Examples
    --------
    >>> import calibrant as cal
    >>> shares, predicted = [0.9, 0.5, 0.2, 0.4], [0.7, 0.7, 0.3, 0.3]
    >>> round(cal.soft_ece(shares, predicted), 4), round(cal.grouping_gap(shares, predicted), 4)
    (0.0, 0.15)
    """

def hle_rms(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Calibration error of Humanity's Last Exam: root mean square gap over runs of 100 rows.

    .. math:: \sqrt{\frac{1}{W} \sum_{B} \frac{R_B^2}{100}}

    for runs B of 100 rows in order of the predictions, with residual sums R_B. As in the published
    script, the last run (100 to 199 rows) is dropped, but W counts it. So the most confident
    answers do not count, and with fewer than 200 rows the value is 0. The script's number depends
    on the order of tied rows; this is the root of the mean square over all orders. A row of weight
    w counts as w rows. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1]; a calibrated model has about 0.05, the noise of 100 rows.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Phan et al. (2025), Humanity's Last Exam, arXiv:2501.14249; Hendrycks et al. (2019),
    arXiv:1812.04606.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.hle_rms([0, 0, 0, 1] * 100, [0.85] * 400), 3)
    0.521
    """

def hosmer_lemeshow(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = Quantile(10),
    fitted: bool = False,
    notion: str | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CalibrationTest:
    r"""The Hosmer-Lemeshow test: are the counts in bins of equal size as expected?

    .. math:: \sum_B \frac{(O_B - E_B)^2}{n_B \bar u_B (1 - \bar u_B)}

    Chi-square with as many degrees of freedom as bins for predictions on new data, and two fewer if
    the model was `fitted` to these rows. Hard labels only, without weights or clusters.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default Quantile(m=10, ties='together')
        Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`,
        `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    fitted : bool, default False
        Whether the model was fitted to these rows.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    groups : None, optional
        Not supported, because the test assumes independent rows; passing them is an error.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    CalibrationTest
        `statistic`, `p_value`, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if labels are soft: the test needs outcomes.

    Notes
    -----
    If a bin is expected to hold fewer than two events or non-events, the chi-square test rejects
    calibrated predictions too often. The p-value then comes from outcomes drawn from the
    predictions with `seed` (for a `fitted` model it cannot, and `note` warns).

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
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

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
    Neighbourhoods are shares of weight, but R counts rows: the two differ by at most one row. With
    up to three distinct predictions, the curve is their mean outcomes.

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

def interval(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Interval:
    """A confidence interval for a measure, corrected for the bias of small samples.

    Calibration errors have intervals by test inversion over a least-favourable family of
    populations, from calibrated to worse than observed; losses and distances have BCa intervals for
    a mean, widened by Poisson intervals if fewer than ten events, or wrong top labels, were
    observed.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    measure : str, default "ece"
        Any name of `catalogue()` that applies to predictions of this shape.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
        from estimates and intervals, and losses and distances have a noise floor.
    resample : {"rows", "votes", "both"}, optional
        What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
        votes of these rows; or both, so that the interval covers the label distributions. By default
        both if vote counts are known.
    n_resamples : int, default 1000
        Number of resamples for each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    Interval
        `value`, `low`, `high`, `level`, the `method`, and the bias-corrected `estimate`. ``x in
        interval`` tests whether x lies in it.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    The interval is for the value in the population, in the bins of this sample. A sample's
    calibration error lies above it on average, so `value` may lie above `high`.

    Shares of m votes vary around the label distributions, so losses and distances against shares
    are too large, whatever the number of rows. With `votes`, squares are corrected by the shares'
    variance, z (1 - z) / (m - 1). Votes identify other distances only in part: their intervals are
    bounds over all label distributions compatible with the votes (see the page on votes), and
    `method` says so. `estimand` says what the interval estimates.

    References
    ----------
    DiCiccio and Romano (1990), Nonparametric confidence limits by resampling methods and least
    favorable families, International Statistical Review 58; DiCiccio and Efron (1992), More
    accurate confidence intervals in exponential families, Biometrika 79.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.interval([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25)
    >>> found.low > 0.1, 0.25 in found
    (True, True)
    """

def js_divergence(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Jensen-Shannon divergence: the mean over rows, in nats; `jsd` with ``squared=True``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean divergence, in [0, log 2].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.js_divergence([[0.76, 0.2, 0.04]], [[0.9, 0.08, 0.02]]), 4)
    0.0179
    """

def jsd(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    squared: bool = False,
    base: float | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Jensen-Shannon distance: the mean ROOT of the divergence between prediction and target.

    .. math:: \frac{1}{W} \sum_i w_i \sqrt{ H\left(\frac{p_i + q_i}{2}\right)
        - \frac{H(p_i) + H(q_i)}{2} }

    where H is the entropy, p the prediction and q the target distribution: soft labels such as
    shares of human votes. It is the same in both directions.

    Papers print two different quantities as JSD. ChaosNLI's leaderboard prints this one, the
    distance, with natural logarithms (its code calls ``scipy.spatial.distance.jensenshannon``), and
    so does this function by default; ``squared=True`` gives the mean divergence itself (the
    catalogue's `js_divergence`). The mean of squares is not the square of the mean. Range [0,
    sqrt(log 2)], that is 0.8326, or [0, log 2]; with ``base=2`` [0, 1]. Lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    squared : bool, default False
        Whether to average the divergence and not its root.
    base : float, optional
        Base of the logarithm, above 1; natural logarithms (nats) by default.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean distance, or with `squared` the mean divergence.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    See Also
    --------
    kl : Kullback-Leibler divergence, which has a direction and no upper end.

    References
    ----------
    Nie, Zhou and Bansal (2020), arXiv:2010.03532 (ChaosNLI); Lin (1991), doi:10.1109/18.61115.

    Examples
    --------
    >>> import calibrant as cal
    >>> votes, predicted = [[0.76, 0.2, 0.04]], [[0.9, 0.08, 0.02]]
    >>> round(cal.jsd(votes, predicted), 4), round(cal.jsd(votes, predicted, squared=True), 4)
    (0.1339, 0.0179)
    """

def judge(
    human: ArrayLike,
    judged: ArrayLike,
    unlabelled: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    threshold: float = 0.5,
    width: float | None = None,
    data: Any = None,
) -> JudgedRate:
    r"""Estimate a true rate from a judge's answers and human labels of some of them.

    A model has judged n + m rows, and people have labelled n of them. The judge's own rate is
    biased by its errors. Two corrections are valid under different assumptions. With human labels h
    and the judge's answers j,

    .. math:: \text{prediction-powered: } \frac{1}{m} \sum_m \lambda j +
        \frac{1}{n} \sum_n (h - \lambda j), \qquad
        \lambda = \frac{\mathrm{cov}(h, j)}{(1 + n/m) \, \mathrm{var}(j)}

    if the labelled rows are a random sample of all rows, and

    .. math:: \text{Rogan-Gladen: } \frac{\bar{j}_m - (1 - \mathrm{specificity})}
        {\mathrm{sensitivity} + \mathrm{specificity} - 1}

    if sensitivity and specificity are the same in the unlabelled rows, which may have another rate.
    The result also has the judge's bias, sensitivity, specificity, Cohen's kappa and the largest
    kappa that the two rates allow, and the calibration of a judge that gives scores.

    Parameters
    ----------
    human : array-like of shape (n,) or str
        Human labels: 0/1, or shares of people who said yes. NaN or null for a row without a human
        label, which is then unlabelled. With `data`, a column's name.
    judged : array-like of shape (n,) or str
        The judge's answer to each of these rows: 0/1, or a score in [0, 1].
    unlabelled : array-like of shape (m,), optional
        The judge's answers to further rows, without a human label.
    groups : array-like of shape (n,) or (n + m,), or str, optional
        Cluster of each row (question, document), with `unlabelled` first for `human`, then for
        `unlabelled`. Variances are then those of clusters.
    sample_weight : array-like of shape (n,) or (n + m,), or str, optional
        Weight of each row, at least 0, in the same order; every row counts 1 by default.
    level : float in (0, 1), default 0.95
        Level of the intervals.
    threshold : float, default 0.5
        The score from which a judge's answer counts as yes, for sensitivity, specificity, kappa and
        the Rogan-Gladen rate.
    width : float, optional
        Width of an interval, from its lower to its upper end, for `labels_needed`; by default, half
        the present width.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    JudgedRate
        `rate` and `interval` (prediction-powered), `kappa`, `labels_needed`, `p_value`,
        `calibration`; a table of all estimates, looked up by name.

    Raises
    ------
    InputError
        If labels or answers do not lie in [0, 1], or if fewer than two rows have a human label.

    Notes
    -----
    Intervals contain the truth in 93 to 97 % of samples from 50 labels on, unless the rate is near
    0 or 1 or the judge nearly perfect: then they are too wide. If rows were labelled for a reason
    (the judge was uncertain, somebody complained), the prediction-powered rate is invalid; if the
    judge errs more on the unlabelled rows, both are.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453; Rogan and Gladen (1978),
    doi:10.1093/oxfordjournals.aje.a112510; Lee et al. (2025), arXiv:2511.21140; Cohen (1960),
    doi:10.1177/001316446002000104.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random(5000) < 0.6
    >>> says = np.where(right, rng.random(5000) < 0.95, rng.random(5000) < 0.3)  # too kind
    >>> human = np.where(np.arange(5000) < 300, right, np.nan)  # people looked at 300
    >>> result = cal.judge(human, says)
    >>> round(float(says.mean()), 2), round(result.rate, 2), [round(e, 2) for e in result.interval]
    (0.68, 0.58, [0.54, 0.62])
    >>> round(result["Rogan-Gladen rate"].value, 2), round(result.kappa, 2)
    (0.61, 0.69)
    """

def kl(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    zero: str = "lift",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Kullback-Leibler divergence of targets against predictions, KL(target || prediction).

    .. math:: \frac{1}{W} \sum_i w_i \sum_r q_{ir} \log \frac{q_{ir}}{p_{ir}}

    where q is the target distribution (soft labels such as shares of human votes) and p the
    prediction, in nats: the direction of ChaosNLI's board, ``scipy.stats.entropy(human, model)``.
    It is the log loss (cross-entropy, `log_loss`) minus the entropy of the targets. For hard
    labels it equals the log loss.

    By this definition, one prediction of 0 with a positive share makes the mean infinite.
    Predictions are therefore clipped to 1e-12, as in `log_loss`, and a note of `evaluate` says how
    many (ChaosNLI's code clips to 1e-15); `zero` changes this. Range [0, 27.64], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    zero : {"lift", "infinite", "raise"}, default "lift"
        How to treat a prediction below 1e-12 with a positive share: clip it to 1e-12, give
        infinity, or raise an error.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean divergence, in nats; infinite only with ``zero="infinite"``.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. With ``zero="raise"`` also if a prediction is 0 with a positive share.

    See Also
    --------
    jsd : Jensen-Shannon distance, which has no direction and is never infinite.
    log_loss : Cross-entropy against the same soft labels.

    References
    ----------
    Nie, Zhou and Bansal (2020), arXiv:2010.03532 (ChaosNLI).

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.kl([[0.76, 0.2, 0.04]], [[0.9, 0.08, 0.02]]), 4)
    0.0825
    >>> cal.kl([[0.9, 0.1], [0.5, 0.5]], [[1.0, 0.0], [0.6, 0.4]], zero="infinite")
    inf
    """

def ks_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Kolmogorov-Smirnov calibration error: the largest accumulated gap in order of predictions.

    .. math:: \max_t \frac{1}{W} \Bigl| \sum_{u_i \le t} w_i (u_i - z_i) \Bigr|

    where t runs over the predictions. No bins. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Gupta et al. (2021), arXiv:2006.12800.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ks_error([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.15
    """

def lin_ce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    phi: ArrayLike | None = None,
    norm: str = "l2",
    bins: Bins = Quantile(15),
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Truthful calibration error of a linear property of the label (LinCE).

    .. math:: \frac{1}{W^2} \sum_B \Bigl\| \sum_{i \in B} w_i (u_i - \phi(y_i)) \Bigr\|_2^2

    where u is the prediction of the property: the probability of class 1 for (n,) predictions, the
    whole distribution for (n, k) (full calibration, ``phi(y) = e_y``), or with `phi` the mean of
    ``phi`` under the prediction. Vector predictions share a cell if the same coordinate is largest
    and falls into the same bin. With soft labels phi(y) is its mean under the label.

    Range [0, 1] for (n,), [0, 2] for (n, k); lower is better. A calibrated predictor scores ``1/n``
    of its expected squared error, not 0: compare predictors on the same samples.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    phi : array-like of shape (k,) or (k, d), optional
        Value of the property for each class, for (n, k) predictions; by default the class itself.
    norm : {"l1", "l2"}, default "l2"
        `"l2"` is LinCE; `"l1"` is LinECE, ``(1/W) sum_B ||R_B||_1``, which generalises ECE and is
        not truthful.
    bins : int, str, sequence of float or bin rule, default Quantile(m=15, ties='together')
        Number of quantile bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`, `LevelSets`,
        `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1] for (n,) and [0, 2] for (n, k).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    ``bins=Quantile(m, ties="rank")`` gives the bins of the paper, which separate equal predictions
    in the order of the rows; for vectors they rank the largest coordinate.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction,
    definition 2.1 and theorem 3.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.lin_ce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=cal.Quantile(2)), 6)
    0.0325
    >>> round(cal.lin_ce([0, 2], [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], phi=[0, 1, 2], bins=1), 6)
    0.005625
    >>> round(cal.lin_ce([0, 2], [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], norm="l1", bins=1), 6)
    0.9
    """

def log_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Log loss (cross-entropy, in nats): minus the mean log probability of the outcome.

    .. math:: -\frac{1}{W} \sum_i w_i \sum_r z_{ir} \log p_{ir}

    where predictions are clipped to 1e-12. Range [0, 27.64], lower is better. A proper loss.
    Against soft labels, such as shares of votes, it is the cross-entropy. Minus the entropy of the
    labels, it is `kl`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean loss, in nats.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Good (1952), Journal of the Royal Statistical Society B 14.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.log_loss([0, 1], [0.2, 0.6]), 4)
    0.367
    """

def ls_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sigma: float | str = LS_SIGMA,
    noise: str = "gaussian",
    link: str = "logit",
    method: str = "exact",
    notion: str | None = None,
    ties: str = "first",
    eps: float = EPS,
    n_draws: int = 10000,
    rng: np.random.Generator | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Logit-smoothed ECE: the calibration error of predictions with noise added to their logits.

    .. math:: \int \Bigl| \frac{1}{W} \sum_i w_i K_\sigma(t - h_i) (z_i - \rho(t)) \Bigr| \, dt

    where h is the logit of the prediction, rho the sigmoid and K the density of the noise, Gaussian
    by default. It is continuous in the predictions; binned ECE is not. Range [0, 1], lower is
    better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sigma : float or "schedule", default 0.1
        Width of the noise; the default is the same for every model, so values can be compared;
        `"schedule"` is ``n^(-1/3)``, with which LS-ECE estimates the true ECE consistently.
    noise : {"gaussian", "logistic", "uniform", "triangular", "laplace"}, default "gaussian"
        Shape of the noise. Gaussian, logistic and Laplace noise have the scale sigma, uniform and
        triangular noise lies on [-sigma/2, sigma/2].
    link : {"logit", "probit", "identity"}, default "logit"
        Where noise is added: to logits, to normal quantiles, or to the predictions themselves. Rho
        is the link's inverse; noise that leaves [0, 1] counts as a prediction of 0 or 1.
    method : {"exact", "monte-carlo"}, default "exact"
        Evaluate the integral, or draw points with `rng` as in the paper (only for logits with
        Gaussian or uniform noise).
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    ties : {"first", "any", "share"}, default "first"
        Which top label counts as right if m classes share the largest probability: only the first
        of them, any of them, or any of them with the share 1/m.
    eps : float, default 1e-06
        Predictions are clipped to [eps, 1 - eps] before their logits are taken.
    n_draws : int, default 10000
        Number of draws of ``method="monte-carlo"``.
    rng : numpy.random.Generator, optional
        Generator of ``method="monte-carlo"``; by default a fresh one.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    Section 4 of the paper takes any noise whose density is continuous almost everywhere and any
    increasing link. The integral is accurate to about 1e-7 with Gaussian and logistic noise, and to
    1e-9 with the others.

    With ``sigma="schedule"`` sigma tends to 0 while n sigma grows (theorem 5.4); with weights, n is
    (sum w)^2 / sum w^2. Logits are clipped to [-40, 40]. With Gaussian noise memory does not grow
    with n; uniform noise has a closed form between the sorted samples, which are copied. As sigma
    tends to 0, LS-ECE tends to the error over distinct logits, ``ece(bins=LevelSets())``; as sigma
    grows, it tends to 1/2, whatever the predictions.

    References
    ----------
    Chidambaram, Lee, McSwiggen and Rezchikov (2024), How Flawed Is ECE? An Analysis via Logit
    Smoothing, ICML, arXiv:2402.10046.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ls_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.2504
    """

def manhattan(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    """Manhattan distance of prediction and target distribution: `dist_ce` with ``norm="l1"``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean distance, in [0, 2].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.manhattan([[0.6, 0.4], [0.1, 0.9]], [[0.8, 0.2], [0.3, 0.7]]), 4)
    0.4
    """

def match_boxes(
    boxes: ArrayLike,
    scores: ArrayLike,
    true_boxes: ArrayLike,
    *,
    images: ArrayLike | None = None,
    true_images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    true_labels: ArrayLike | None = None,
    crowd: ArrayLike | None = None,
    iou: float = 0.5,
    box_format: str = "xyxy",
    size: Any = None,
) -> BoxMatches:
    """Match predicted boxes to true boxes: which are correct, and how confident each is.

    In each image and class, boxes take true boxes greedily, the highest score first, as COCO's
    evaluation does: each takes the true box that overlaps most (intersection over union) and is not
    taken yet, if the overlap is at least `iou`. A box that takes one is correct.

    Parameters
    ----------
    boxes : array-like of shape (n, 4)
        Predicted boxes, in the units of `box_format`.
    scores : array-like of shape (n,)
        Their scores, from 0 to 1.
    true_boxes : array-like of shape (m, 4)
        Boxes around the objects that are there.
    images, true_images : array-like of shape (n,) and (m,), optional
        The image of each box; left out, all are of one image.
    labels, true_labels : array-like of shape (n,) and (m,), optional
        The class of each box; left out, all are of one class.
    crowd : array-like of bool of shape (m,), optional
        True boxes that mark a crowd. A box that finds no true box and lies in one of them, by at
        least `iou` of its own area, is left out; crowds are never missed.
    iou : float in (0, 1], default 0.5
        The overlap from which a box matches; exactly this much is enough.
    box_format : {"xyxy", "xywh", "cxcywh"}, default "xyxy"
        Corners; left upper corner, width and height (COCO); or centre, width and height (YOLO).
    size : tuple of two floats or mapping, optional
        Width and height of all images, or of each by its name. Places and sizes of boxes are then
        relative to their image; left out, they are in the units of the boxes.

    Returns
    -------
    BoxMatches
        `correct`, `confidence` and `image` for other functions, `iou`, places and sizes, and the
        true boxes that were missed.

    Raises
    ------
    InputError
        If boxes have no shape (n, 4), scores are not from 0 to 1, or columns are not as long.

    Notes
    -----
    Calibration of a detector says nothing about the objects that it misses: `n_missed` does. Equal
    scores go by overlap, so the order of rows does not matter. COCO keeps at most 100 boxes per
    image; here all count.

    References
    ----------
    Küppers, Kronenberger, Shantia and Haselhoff (2020), Multivariate confidence calibration for
    object detection.

    Examples
    --------
    >>> import calibrant as cal
    >>> boxes = [[0, 0, 2, 2], [0, 0, 2, 1.8], [5, 5, 6, 6]]
    >>> m = cal.match_boxes(boxes, [0.9, 0.8, 0.4], [[0, 0, 2, 2], [8, 8, 9, 9]])
    >>> m.correct.tolist(), m.n_missed
    ([1, 0, 0], 1)
    >>> round(cal.brier_score(m.correct, m.confidence), 4)
    0.27
    """

def mce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Maximum calibration error: the largest gap of any bin, `ece` with ``norm="max"``.

    .. math:: \max_B \frac{|R_B|}{W_B}

    where R_B is the sum of w (u - z) in a bin and W_B its weight. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The largest gap, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo et al. (2017), arXiv:1706.04599.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.mce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10)
    0.4
    """

def multilabel(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    measures: Iterable[str] | None = None,
    bins: Bins = 15,
    uncertainty: bool = False,
    tolerance: float = 0.05,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    data: Any = None,
) -> Multilabel:
    r"""Evaluate multi-label predictions: every label as a binary problem, their mean, the worst.

    .. math:: \frac{1}{L} \sum_{l=1}^{L} \mathrm{error}(y_{\cdot l}, p_{\cdot l}), \qquad
        \max_l \mathrm{error}(y_{\cdot l}, p_{\cdot l})

    for the L labels, whose probabilities need not sum to 1: a row may have none of them, or
    several. A label that is missing (NaN or null) in a row was not annotated, and the row does not
    count for it; `n_missing` counts these rows. Each label has a noise floor, and its p-value is
    corrected for the number of labels.

    Parameters
    ----------
    y_true : array-like of shape (n, labels), or list of str
        Labels: 0/1, probabilities (soft labels), or NaN where one was not annotated. With `data`,
        names of columns.
    y_proba : array-like of shape (n, labels), or list of str
        Predicted probability of each label. With `data`, names of columns, in the same order.
    labels : sequence, optional
        Names of the labels; by default those of the columns of `y_true`, or their numbers.
    measures : iterable of str, optional
        Names of `catalogue()`; the first error among them is judged. By default the ECE and all
        other measures with bins, and losses.
    bins : int, str, sequence of float or bin rule, default 15
        Number of bins (equal-width for ordinary, quantile for truthful errors), or a rule for all.
    uncertainty : bool, default False
        Whether each label has a confidence interval and a verdict, and the mean an interval.
    tolerance : float in (0, 1), default 0.05
        Largest acceptable gap between prediction and outcome, for the verdicts.
    level : float in (0, 1), default 0.95
        Level of the intervals.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
    n_resamples : int, default 1000
        Number of resamples for an interval.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits, to which a sigmoid is applied.
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities, to which exp is applied.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    Multilabel
        A row per label, the worst first: `mean`, `worst`, `miscalibrated`, `sentence`, `to_frame`,
        `plot`.

    Raises
    ------
    InputError
        If the input cannot be read as columns of labels and probabilities; the message names the
        first bad entry and its label.

    See Also
    --------
    evaluate : of rows that have one of several classes, whose probabilities sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random((2000, 3))
    >>> risk = np.where(np.arange(3) == 2, 0.7 * p, p)  # the third label is predicted too high
    >>> y = (rng.random((2000, 3)) < risk).astype(float)
    >>> y[:500, 0] = np.nan  # not annotated
    >>> result = cal.multilabel(y, p, labels=["cat", "dog", "fox"])
    >>> result.worst.name, result.miscalibrated, result.n_missing["cat"]
    ('fox', ('fox',), 500)
    """

def noise_floor(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    bins: Bins = 15,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> NoiseFloor:
    """What a measure shows by chance if predictions are calibrated, with a p-value.

    Hard labels are drawn as outcomes from the predictions, `n_resamples` times for errors over bins
    and fewer for others; losses have known moments. For soft labels and clusters, the signs of the
    residuals are drawn, which only assumes that predictions are right on average; if events are
    rare, outcomes are drawn too, and the higher floor is used. Losses and distances of soft labels
    need `votes`: labels are then drawn as means of that many votes.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    measure : str, default "ece"
        Any name of `catalogue()` that applies to predictions of this shape.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game), where rows are not independent.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each soft label; counts as `y_true` need none. Losses and distances
        have no noise floor without it.
    n_resamples : int, default 1000
        Number of samples drawn for errors over bins; others take fewer.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    NoiseFloor
        `value`, its `mean` and 95% point `upper` under calibration, `p_value`, and the `method`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if the measure has no noise floor: losses and distances of soft labels without
        `votes`, or with `groups`, and measures of ranking (`auroc`, `aurc`, accuracy at coverage),
        which have no particular value for calibrated predictions.

    Notes
    -----
    The mean of the truthful errors of hard labels is exact (theorem 3.1 of the paper): the mean of
    ``u (1 - u)``, over n.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    3.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> floor = cal.noise_floor([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25)
    >>> round(floor.mean, 3), floor.p_value < 0.05
    (0.066, True)
    """

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

def rank_cs(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Ranking calibration score: how often the prediction ranks the classes as the target does.

    .. math:: \frac{1}{W} \sum_i w_i \, 1[\, q_{ia} > q_{ib} \Rightarrow p_{ia} > p_{ib}
        \text{ for all } a, b \,]

    where classes with equal targets may come in any order. Range [0, 1], higher is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The share of rows, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Baan et al. (2022), arXiv:2210.16133.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.rank_cs([[0.6, 0.3, 0.1], [0.5, 0.5, 0.0]], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    0.5
    """

def rank_robustness(
    errors: Mapping[tuple[str, int], ArrayLike],
    losses: Mapping[str, ArrayLike],
    *,
    names: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
) -> RankRobustness:
    r"""Rank correlations of errors with losses, with themselves at other bins, and with dominance.

    .. math:: \rho \pm 1.96 \, (1 - \rho^2) / \sqrt{N}

    For each measure there is a row for each loss and number of bins, then for each pair of numbers
    of bins, over all N predictors; then for each number of bins the correlation with the order of
    the maximum dominance set of all the losses, over its members. Higher is better: an error that
    preserves the order of the losses is near 1; if the sign changes with the bins, the bins decide
    the ranking.

    The margin is the paper's. It assumes that all N predictors are independent, which checkpoints
    of one training run are not, and ignores the sampling noise of the rows. With `groups`, each
    correlation has a 95 % interval over the G groups: a jackknife over groups, with Student's t of
    G - 1 degrees of freedom on Fisher's scale. The maximum dominance set is held fixed. This
    interval does not include the sampling noise of the rows: to see it, measure the predictors on
    halves of the rows.

    Parameters
    ----------
    errors : mapping of (str, int) to array-like of shape (N,)
        Value per predictor for each measure and number of bins.
    losses : mapping of str to array-like of shape (N,)
        Value per predictor for each loss.
    names : sequence of str, optional
        Names of the predictors, for messages and the result.
    groups : array-like of shape (N,), optional
        Group of each predictor, such as its training run; at least two groups.

    Returns
    -------
    RankRobustness
        `rows` with every correlation and its margin, and the maximum dominance set (`chain`).

    Raises
    ------
    InputError
        If there are no errors or losses, if their numbers of predictors differ, or if there is only
        one group.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, section
    5.2 and table 1.

    Examples
    --------
    >>> import calibrant as cal
    >>> losses = {"brier_score": [0.1, 0.2, 0.3, 0.4]}
    >>> errors = {("ece", 20): [0.02, 0.01, 0.04, 0.03], ("ece", 5): [0.03, 0.02, 0.01, 0.00]}
    >>> cal.rank_robustness(errors, losses)
    Rank robustness over 4 predictors, 4 of them in the maximum dominance set
      measure  relation   first            second   spearman  margin  n
      ece      loss       brier_score      ece(20)    0.6000  0.6272  4
      ece      loss       brier_score      ece(5)    -1.0000  0.0000  4
      ece      bins       ece(20)          ece(5)    -0.6000  0.6272  4
      ece      dominance  dominance order  ece(20)    0.6000  0.6272  4
      ece      dominance  dominance order  ece(5)    -1.0000  0.0000  4

    Eight checkpoints, two from each of four training runs. Four runs say little:

    >>> losses = {"log_loss": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}
    >>> errors = {("ece", 20): [0.02, 0.01, 0.04, 0.08, 0.06, 0.05, 0.07, 0.03]}
    >>> runs = ["a", "b", "c", "d", "a", "b", "c", "d"]
    >>> row = cal.rank_robustness(errors, losses, groups=runs).select(relation="loss")[0]
    >>> round(row.value, 2), round(row.low, 2), round(row.high, 2)
    (0.45, -0.87, 0.98)
    """

def read_coco(annotations: Any, detections: Any) -> dict[str, Any]:
    """Read COCO's JSON files of true boxes and of detections, as arguments of `match_boxes`.

    Parameters
    ----------
    annotations : str, path or dict
        The file of annotations (``instances_val2017.json``), or its content.
    detections : str, path or list
        The file of detections, a list of objects with ``image_id``, ``category_id``, ``bbox`` and
        ``score``, or its content.

    Returns
    -------
    dict
        Arguments: ``cal.match_boxes(**cal.read_coco(annotations, detections))``.

    Raises
    ------
    InputError
        If a file cannot be read, or lacks a key of COCO's format.

    Examples
    --------
    >>> import calibrant as cal
    >>> box = {"image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 2]}
    >>> truth = {"images": [{"id": 7, "width": 8, "height": 8}], "annotations": [box],
    ...          "categories": [{"id": 1, "name": "cat"}]}
    >>> m = cal.match_boxes(**cal.read_coco(truth, [{**box, "score": 0.8}]))
    >>> m.correct.tolist(), m.label.tolist(), m.cx.tolist()
    ([1], ['cat'], [0.25])
    """

def read_confidences(
    y_true: Any,
    y_proba: Any,
    *,
    words: Mapping[str, float | None] | None = None,
    percent: bool = False,
) -> Confidences:
    """Read confidences as written by models, and words for right and wrong answers.

    The first rule that fits a value reads it: a word of `words`; an empty value; a refusal ("I
    cannot say", "refused"); a percentage with its sign ("85%", "85 percent"); a share ("85 out of
    100", "85/100"); a number from 0 to 1, a probability; a number above 1 and up to 100, a
    percentage. A 1 may be 1 % or certain, so it is an error unless `words` or `percent` decides.

    Parameters
    ----------
    y_true : sequence of shape (n,) or None
        Whether each answer was right: 0/1, true/false, yes/no, Y/N, C/I, correct/incorrect,
        right/wrong.
    y_proba : sequence of shape (n,)
        Confidences: numbers, texts, None.
    words : mapping of str to float or None, optional
        The probability of each word, such as ``{"very likely": 0.9}``; None for a refusal.
    percent : bool, default False
        Whether numbers without a sign are percentages; one between 0 and 1 is then an error.

    Returns
    -------
    Confidences
        `y_true` and `y_proba`, with NaN for missing values, `forms`, `answered` and `inferred`.

    Raises
    ------
    InputError
        If no rule fits a value, or a value is ambiguous; the message names the rows.

    Examples
    --------
    >>> import calibrant as cal
    >>> said = ["85%", 0.9, "very likely", "7 out of 10", None]
    >>> rows = cal.read_confidences(["yes", "N", "C", True, "no"], said, words={"very likely": 0.9})
    >>> rows.y_proba.tolist(), rows.answered
    ([0.85, 0.9, 0.9, 0.7, nan], 0.8)
    >>> rows.y_true.tolist()
    [1, 0, 1, 1, 0]
    """

def read_file(
    path: Any,
    *,
    y_true: Any = None,
    y_proba: Any = None,
    sample_weight: str | None = None,
    votes: str | None = None,
    counts: str | Sequence[str] | None = None,
    item: str | None = None,
    annotator: str | None = None,
    classes: Sequence[Any] | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    missing: str = "error",
    format: str | None = None,
    filter: str | None = None,
    task: str | Sequence[str] | None = None,
    skip: str | Sequence[str] | None = None,
    acc_norm: str | None = None,
    percent: bool = False,
    words: Mapping[str, float | None] | None = None,
    confidence: str | None = None,
    refusals: str | None = None,
    answer: str | None = None,
    gold: str | None = None,
    columns: str | Sequence[str] | None = None,
    progress: bool | None = None,
) -> FileArrays:
    r"""Read the rows of files as arrays, for functions that need rows in memory: intervals, fits.

    Columns are found as by `evaluate_file`; the function that gets the values checks them.

    Parameters
    ----------
    path : str, path-like or list of these
        File, folder, pattern such as `"day-*.parquet"`, or a list of these.
    y_true : str or list of str, optional
        Column of labels; found by its usual names by default. Two candidates are an error.
    y_proba : str or list of str, optional
        Column of probabilities (numbers, lists or records), or one column per class; found by its
        usual names by default.
    sample_weight : str, optional
        Column of weights; every row counts 1 by default.
    votes : str, optional
        Column of the number of votes of each soft label, or of each count for class 1.
    counts : str or list of str, optional
        Columns of vote counts, one per class (or one column of lists), instead of `y_true`.
    item, annotator : str, optional
        Columns of long tables with one row per vote: the item and the annotator. `y_true` is then
        the vote, and predictions are repeated in each row of an item.
    classes : sequence, optional
        Names of the classes in the order of the columns; labels belong to the class of their name.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.
    format : str, optional
        Format of the files: "parquet", "csv", "jsonl", "arrow", "npz", "json", "lm-eval",
        "inspect", "hle", "excel", "stata", "sas" or "r"; by default it follows from their names,
        and for records from their fields: a JSON list, a log of lm-evaluation-harness, Inspect AI
        or Humanity's Last Exam.
    filter : str, optional
        Filter to use from a log of lm-evaluation-harness that has several.
    task, skip : str or list of str, optional
        Tasks to read, and tasks to leave out, from logs of several tasks. Tasks without a
        confidence are skipped, and `inferred` names them.
    acc_norm : {"characters", "bytes"}, optional
        Divide the log-likelihood of each choice by its length in this unit, as the harness does
        for its metrics acc_norm and acc_bytes.
    percent : bool, default False
        Whether `y_proba` is in percent, as 85 or "85%".
    words : mapping of str to float, optional
        The probability that each word of `y_proba` stands for, such as ``{"likely": 0.7}``; None
        for a refusal. With `percent`, a column may have words and percentages.
    confidence : {"auto"}, optional
        Read each confidence by the rule for its form: words of `words`, "85%", "85 out of 100",
        numbers up to 1 and above 1, refusals, missing values. `inferred` has the number of each
        form; 1, which may be 1 % or certain, is an error. Labels say whether the answer was right.
    refusals : {"excluded", "wrong"}, optional
        How to treat answers without a confidence: drop them, or count them as wrong answers at
        confidence 0; by default according to `missing`.
    answer, gold : str, optional
        Columns of answers and of right answers, instead of `y_true`: a row is 1 if both are equal.
    columns : str or list of str, optional
        Further columns to read as text: slices, clusters, ids.
    progress : bool, optional
        Whether to draw a line of rows and rate; by default only on a terminal.

    Returns
    -------
    FileArrays
        `y_true`, `y_proba`, `sample_weight`, `class_names`, `inferred`, `n_missing`, `columns`,
        `votes`, `vote_table`.

    Raises
    ------
    InputError
        If a file, column or value cannot be read; the message names the file and its first bad row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import calibrant as cal
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> _ = file.write_text('{"correct": 1, "confidence": 0.9}\n{"correct": 0, "confidence": 0.4}')
    >>> rows = cal.read_file(file)
    >>> rows.y_true.tolist(), rows.y_proba.tolist()
    ([1, 0], [0.9, 0.4])
    """

def recommend(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    maps: str | Sequence[str] | None = None,
    loss: str = "log_loss",
    folds: int = FOLDS,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Recommendation:
    r"""Choose a recalibration map by its loss on rows that it was not fitted to.

    The rows are divided into folds, and each row is recalibrated by a map fitted to the other
    folds. Maps m have mean losses L(m), and m* has the lowest. The recommended map is the one with
    the fewest parameters for which

    .. math:: L(m) - L(m^*) \le \mathrm{SE}\bigl(L(m) - L(m^*)\bigr)

    if it improves on the unchanged predictions by more than one standard error. If not, no map is
    recommended, and `scaler` changes nothing. Standard errors are those of paired differences of
    rows, or of clusters.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), counts of votes, or a column's name
        with `data`. Soft labels are fitted and measured unchanged.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    maps : str or list of str, optional
        Names of maps, as in `calibrant scale --map`. By default all suitable ones: a map needs 10
        rows per parameter (unless its penalty scales with the number of rows) and, with parameters
        for each class, 20 rows per class. For two classes, maps that are equivalent to others are
        skipped.
    loss : {"log_loss", "brier", "spherical_loss"}, default "log_loss"
        The proper loss. For the log loss, predictions are clipped to 1e-12.
    folds : int, default 5
        Number of folds; each cluster lies in one fold.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game).
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it.
    seed : int, default 0
        Seed of the random folds; the same seed gives the same recommendation.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    Recommendation
        `best`, the `scaler` fitted to all rows, whether it `helps`, `why`, and a table of every map
        that was tried. If none helps, `best` is "unchanged".

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, the loss or a map is not known,
        there are fewer rows (or clusters) than folds, all labels are of one class, or no map can be
        fitted.

    See Also
    --------
    decompose : the part of a loss that recalibration removes.

    Notes
    -----
    With many rows, maps are compared on a random sample of rows (or clusters): 20,000 for two
    classes, 5,000 for ten, 2,500 for a hundred. The recommended map is fitted to all rows. With
    50,000 predictions or more, a map whose loss in the first fold is more than four standard errors
    above the lowest is dropped, with a note. The report page and `calibrant scale --map auto` use
    the same rule. The chosen map looks slightly too good on these rows: evaluate it on others.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant import examples
    >>> shirt = examples.load("fashion-shirt")
    >>> found = cal.recommend(shirt.val_labels, shirt.val_proba, maps=["platt", "beta", "isotonic"])
    >>> found.best
    'platt'
    >>> found.scaler.transform(shirt.test_proba).shape
    (4000,)
    """

def reliability(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    notion: str | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> ReliabilityTable:
    """The reliability table: edges, rows, mean prediction, mean target and gap of each bin.

    Empty bins stay, and counts add up to n.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game): intervals of mean targets then account for
        clusters.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    ReliabilityTable
        A row per bin (`columns`, `to_frame`), its `intervals` and its diagram (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    ReliabilityTable (binary, 2 equal-width bins, left-closed)
      bin   lower   upper  n  mean_predicted  mean_target      gap
        0  0.0000  0.5000  2          0.3000       0.0000   0.3000
        1  0.5000  1.0000  2          0.8000       1.0000  -0.2000
    """

def reliability_curve(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    method: str = "isotonic",
    band: str | None = "default",
    span: float | None = None,
    notion: str | None = None,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> ReliabilityCurve:
    """A reliability curve without bins that follows the rows, with a band.

    ``method="isotonic"`` is the increasing curve nearest to the labels (CORP): it steps where the
    frequencies step, however few rows that takes. ``method="local"`` is a local regression
    (parabolas) that looks as far as a share of the rows lies, a share that is chosen by generalised
    cross validation. Neither has a bandwidth that is the same everywhere, as the curve of
    `smooth_reliability` has.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    method : {"isotonic", "local"}, default "isotonic"
        How the curve is fitted.
    band : {"default", "consistency", "confidence", "pointwise"} or None, default "default"
        For the isotonic curve `"consistency"` (the default: where the curves of calibrated
        predictions lie, by redrawing outcomes) or `"confidence"` (limits that hold everywhere
        together, at any number of rows; of hard labels without weights or clusters); for the local
        one `"pointwise"` limits.
    span : float in (0, 1], optional
        The share of rows in the window of a local regression; chosen by default.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    level : float in (0, 1), default 0.95
        Level of the band.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster vary together.
    seed : int, default 0
        Seed of a consistency band's draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    ReliabilityCurve
        The curve with its band, its table (`columns`), its height anywhere (`at`) and its diagram
        (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    Lazy frames and Parquet files are summed by distinct prediction up to 2^15 rows, with the curve
    of rows, and in some 5,000 cells of predictions beyond. Of 10^6 rows the local curve of cells
    then differs from that of rows by up to 7e-5; the isotonic one by 5e-4 on average, and by up to
    0.03 at the ends of its steps.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118 (isotonic curve,
    consistency band). Dimitriadis, Duembgen, Henzi, Puke and Ziegel (2023),
    doi:10.1093/biomet/asac068 (confidence band). Cleveland and Grosse (1991), Statistics and
    Computing 1 (local regression).

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.reliability_curve([0, 1, 0, 1] * 9, [0.2, 0.7, 0.8, 0.9] * 9)
    >>> curve.at([0.2, 0.75, 0.9]).tolist(), curve.band
    ([0.0, 0.5, 1.0], 'consistency')
    """

@overload
def report(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    name: str | None = None,
    measures: Iterable[str] | None = None,
    bins: Bins = 15,
    by: ArrayLike | None = None,
    segments: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    depth: int = 2,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    annotators: Annotators | None = None,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    tolerance: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    recalibrate: str | Iterable[str] | None = None,
    source: Mapping[str, Any] | str | None = None,
) -> Report:
    """Everything worth knowing about some predictions, as data and as an HTML page.

    The page answers in words, shows every measure with its interval and noise floor, and has an
    interactive reliability diagram, the classes, the slices, the effect of recalibration, the
    values of other tools, and the recipe. ``report(...).save("page.html")`` writes it as one file
    that needs no network.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str, list of str or Between
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
        Labels that are known only to lie `Between` two ends have a page of bounds.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    name : str, optional
        Title of the page; by default a neutral one.
    measures : iterable of str, optional
        Names of `catalogue()`; by default all that apply. ECE, which the answer goes by, is always
        included.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns, by which rows are split into slices.
    segments : mapping of str to array-like, or list of str, optional
        Columns to search for segments where predictions are wrong, as `find_segments` has them.
    depth : int, default 2
        The most columns that segments are crossings of.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
        from estimates and intervals, and losses and distances have a noise floor.
    resample : {"rows", "votes", "both"}, optional
        What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
        votes of these rows; or both, so that the interval covers the label distributions. By default
        both if vote counts are known.
    annotators : Annotators, optional
        The table that `annotators` gives, to be shown on the page beside the votes.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.
    tolerance : float in (0, 1), default 0.05
        Largest calibration error, as a gap, that you can accept.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    recalibrate : str or iterable of str, optional
        Names of the recalibration maps to show side by side: "temperature", "platt", "beta",
        "isotonic", "histogram", "vector", "matrix", "dirichlet", "label-smoothing". By default,
        those that these rows can have.
    source : str or mapping, optional
        Where the rows come from, for the recipe: a text, or names with values (file, columns,
        command).

    Returns
    -------
    Report
        `answer` and `sentences` in words, `evaluation` with every measure, `save` for the page;
        shows itself in notebooks. For labels `Between` two ends it is `Bounds`, with a page too.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.report([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50, name="a toy")
    >>> found.answer
    'No: they are miscalibrated.'
    >>> found.evaluation["ece"] == cal.ece([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50)
    True
    """

@overload
def report(
    y_true: Between,
    y_proba: ArrayLike,
    *,
    name: str | None = None,
    measures: Iterable[str] | None = None,
    bins: Bins = 15,
    by: ArrayLike | None = None,
    segments: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    depth: int = 2,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    annotators: Annotators | None = None,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
    tolerance: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    recalibrate: str | Iterable[str] | None = None,
    source: Mapping[str, Any] | str | None = None,
) -> Bounds:
    """Everything worth knowing about some predictions, as data and as an HTML page.

    The page answers in words, shows every measure with its interval and noise floor, and has an
    interactive reliability diagram, the classes, the slices, the effect of recalibration, the
    values of other tools, and the recipe. ``report(...).save("page.html")`` writes it as one file
    that needs no network.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str, list of str or Between
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
        Labels that are known only to lie `Between` two ends have a page of bounds.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    name : str, optional
        Title of the page; by default a neutral one.
    measures : iterable of str, optional
        Names of `catalogue()`; by default all that apply. ECE, which the answer goes by, is always
        included.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    by : array-like of shape (n,), str or list of str, optional
        Value of each row, or names of columns, by which rows are split into slices.
    segments : mapping of str to array-like, or list of str, optional
        Columns to search for segments where predictions are wrong, as `find_segments` has them.
    depth : int, default 2
        The most columns that segments are crossings of.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
        from estimates and intervals, and losses and distances have a noise floor.
    resample : {"rows", "votes", "both"}, optional
        What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
        votes of these rows; or both, so that the interval covers the label distributions. By default
        both if vote counts are known.
    annotators : Annotators, optional
        The table that `annotators` gives, to be shown on the page beside the votes.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.
    tolerance : float in (0, 1), default 0.05
        Largest calibration error, as a gap, that you can accept.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    recalibrate : str or iterable of str, optional
        Names of the recalibration maps to show side by side: "temperature", "platt", "beta",
        "isotonic", "histogram", "vector", "matrix", "dirichlet", "label-smoothing". By default,
        those that these rows can have.
    source : str or mapping, optional
        Where the rows come from, for the recipe: a text, or names with values (file, columns,
        command).

    Returns
    -------
    Report
        `answer` and `sentences` in words, `evaluation` with every measure, `save` for the page;
        shows itself in notebooks. For labels `Between` two ends it is `Bounds`, with a page too.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.report([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50, name="a toy")
    >>> found.answer
    'No: they are miscalibrated.'
    >>> found.evaluation["ece"] == cal.ece([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50)
    True
    """

def reproduce(
    paper: str,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int | None = None,
    progress: bool = False,
    tau: float | None = None,
    inputs: str | None = None,
    sd: float | None = None,
    dimensions: int | None = None,
) -> Reproduction:
    """Do a paper's experiments again, through the same functions that everyone calls.

    Parameters
    ----------
    paper : {"ten-bins", "soft-mean", "logit-smoothing", "truthful", "ambiguous", "literature"}
        McCaffrey's tutorial, Leznik (2026), Chidambaram et al. (2024), Lu, Wu, Hartline and Hu,
        or Tao et al. (2026); "literature" for printed numbers of public repositories.
    out : str or os.PathLike, optional
        The folder to write: one page, the tables as CSV and JSON, the figures as SVG and PNG. It
        must be new, empty or an earlier reproduction. Without it nothing is written.
    data : str or os.PathLike, optional
        A folder of saved predictions (.npz), for the papers that measure real predictors; for
        "ambiguous", with the votes of annotators; for "literature", of checkouts.
    quick : bool, default False
        Run fewer replications: seconds, instead of the paper's own counts.
    seed : int, optional
        Seed of the paper's generator; by default the seed that gives the paper's numbers.
    progress : bool, default False
        Show a progress bar on standard error, if that is a terminal.
    tau : float in (0, 1), optional
        For "soft-mean": the threshold of labels, in place of 1/2. With this or one of the next
        three, the experiments are run in that world, beside the paper's.
    inputs : {"uniform", "gaussian"}, optional
        For "soft-mean": draw x uniformly, as the paper does, or from the Gaussian classes.
    sd : float from 0.1 to 10, optional
        For "soft-mean": the standard deviation of class 1; that of class 0 is 1. The log odds of
        the posterior are then quadratic in x.
    dimensions : int, optional
        For "soft-mean": the number of dimensions of x.

    Returns
    -------
    Reproduction
        The results: `tables` and `figures` by name, `errata`, `to_dict()`, `to_html()` and
        `write(folder)`.

    Raises
    ------
    InputError
        If an option is not valid, or `out` cannot be written; before any work is done.
    MissingExtra
        If `out` is given and matplotlib or jinja2 is not installed.

    Examples
    --------
    >>> from calibrant import reproduce
    >>> done = reproduce("logit-smoothing", quick=True)  # with out="folder": a page to read
    >>> [round(e, 4) for e in done.tables["two_point"].columns["ECE"][:2]]  # 1/2, and a nudge
    [0.0, 0.5]
    """

def risk_coverage(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> RiskCoverage:
    """The risk-coverage curve: the error rate of answering only what is surest, with a band.

    It measures ranking and accuracy together, **not calibration**.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence"}, optional
        What is ranked: P(y = 1) for (n,), compared with y (`"binary"`), or the largest predicted
        probability, compared with whether that class is right (`"confidence"`, the default for (n,
        k)).
    level : float in (0, 1), default 0.95
        Level of the band, pointwise over coverages.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster vary together.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    RiskCoverage
        `coverage`, `risk`, `threshold` and limits at up to 200 points (`to_frame`), `aurc`,
        `accuracy_at(coverage)`, and a diagram (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    El-Yaniv and Wiener (2010), JMLR 11. Geifman and El-Yaniv (2017), arXiv:1705.08500.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.risk_coverage([1, 1, 0, 0] * 25, [0.9, 0.8, 0.7, 0.6] * 25)
    >>> round(curve.aurc, 4), curve.accuracy_at(0.5)
    (0.2083, 1.0)
    """

def rmsce(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Root-mean-square calibration error: `ece` with ``norm="l2"``.

    .. math:: \sqrt{\frac{1}{W} \sum_B W_B \Bigl( \frac{R_B}{W_B} \Bigr)^2}

    where R_B is the sum of w (u - z) in a bin and W_B its weight. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Hendrycks et al. (2019), arXiv:1812.04606.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.rmsce([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=10), 4)
    0.2739
    """

def sampled_answers(
    question: ArrayLike,
    answer: ArrayLike,
    correct: ArrayLike,
    confidence: ArrayLike | None = None,
    *,
    bins: Bins = 15,
    level: float = 0.95,
    seed: int = 0,
    data: Any = None,
) -> SampledAnswers:
    r"""Measure calibration if a model has answered every question several times.

    Suppose c of the k answers to a question equal the most frequent (modal) one. Self-consistency
    uses their share c / k as the confidence that the modal answer is right. The same answers choose
    and measure it, so the share is too high. Held out, it is how often an answer agrees with the
    modal answer of the other k - 1:

    .. math:: \frac{1}{k} \sum_{i=1}^{k} \Pr[a_i = \mathrm{mode}(a_{-i})]

    where ties are broken at random. A stated confidence is compared with its own answer, with
    questions as clusters; and its mean over a question's answers is compared with the share of
    right answers, the capability of the question (SMECE with counts, whose interval is for
    infinitely many answers).

    Parameters
    ----------
    question : array-like of shape (n,) or str
        The question of each answer, by any name. With `data`, a column's name.
    answer : array-like of shape (n,) or str
        The answers: equal as numbers, or as text without the spaces around it. A missing answer
        agrees with none.
    correct : array-like of shape (n,) or str
        Whether each answer is right: 0/1 or truth values.
    confidence : array-like of shape (n,) or str, optional
        Confidence stated with each answer, in [0, 1].
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    level : float in (0, 1), default 0.95
        Level of the intervals.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    SampledAnswers
        A line for each confidence, with ECE and interval; `evaluations` has all measures by line.

    Raises
    ------
    InputError
        If columns differ in length or have values that cannot be read, or if no question has two
        answers.

    References
    ----------
    Wang et al. (2023), self-consistency, arXiv:2203.11171; Wu et al. (2026), capability
    calibration, arXiv:2602.13540; arXiv:2605.08432 on same-sample and held-out shares.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> question = np.repeat(np.arange(300), 8)
    >>> skill = rng.beta(2, 1, 300)[question]  # chance of the right answer
    >>> answer = np.where(rng.random(2400) < skill, 0, rng.integers(1, 4, 2400))
    >>> result = cal.sampled_answers(question, answer, answer == 0)
    >>> [round(line.mean_confidence, 2) for line in result]
    [0.69, 0.63]
    """

def smooth_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sigma: float | None = None,
    notion: str | None = None,
    ties: str = "first",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Smooth ECE (smECE): the error after smoothing the residuals over the predictions.

    .. math:: \sigma^* \text{ with } \int_0^1 \Bigl| \frac{1}{W} \sum_i w_i (z_i - u_i)
        \tilde K_{\sigma^*}(t, u_i) \Bigr| \, dt = \sigma^*

    where K is the Gaussian reflected at 0 and 1. The bandwidth equals the error. Not to be
    confused with SMECE, the soft mean error (`soft_ece`). Range [0, 1], lower is better;
    continuous.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sigma : float, optional
        Bandwidth at which to evaluate the integral, instead of its fixed point.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    ties : {"first", "any", "share"}, default "first"
        Which top label counts as right if m classes share the largest probability: only the first
        of them, any of them, or any of them with the share 1/m.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Blasiok and Nakkiran (2024), Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing,
    arXiv:2309.12236.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.smooth_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]), 4)
    0.1778
    """

def smooth_reliability(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    kind: str = "unit",
    sigma: float | None = None,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> SmoothCurve:
    """The smoothed reliability curve: density, mean target, and the difference integrated.

    ``kind="unit"`` smooths over the predictions as `smooth_ece` does, ``kind="logit"`` over their
    logits as `ls_ece` does.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    kind : {"unit", "logit"}, default "unit"
        The axis over which the curve is smoothed.
    sigma : float, optional
        Bandwidth; by default the fixed point of `smooth_ece` (`"unit"`) or the schedule of `ls_ece`
        (`"logit"`), which adapt to the number of rows.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    SmoothCurve
        The curve with its band, its table (`columns`) and its diagram (`plot`).

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    The curve averages over neighbouring predictions: it misses changes within a bandwidth, and its
    band does not include that bias. It is compared with bins of the same rows:
    `SmoothCurve.outside` lists bins outside the band, and `notes` says so.

    References
    ----------
    Blasiok and Nakkiran (2024), arXiv:2309.12236; Chidambaram, Lee, McSwiggen and Rezchikov (2024),
    arXiv:2402.10046.

    Examples
    --------
    >>> import calibrant as cal
    >>> curve = cal.smooth_reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> list(curve.columns())
    ['prediction', 'density', 'mean_target', 'difference']
    """

def soft_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    notion: str | None = None,
    ties: str = "first",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Soft mean expected calibration error (SMECE): ECE against targets that are probabilities.

    .. math:: \frac{1}{W} \sum_B \Bigl| \sum_{i \in B} w_i (u_i - z_i) \Bigr|

    where z is a probability: a teacher's, a posterior, a share of votes. The formula is that of
    `ece`, and on 0/1 targets the values are identical; predictions equal to their targets score
    exactly 0 at any sample size. Not to be confused with smECE, the smooth error (`smooth_ece`).

    Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`, `Cells`. `"cbrt"` and `"auto"` follow from the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are combined: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    ties : {"first", "any", "share"}, default "first"
        Which top label counts as right if m classes share the largest probability: only the first
        of them, any of them, or any of them with the share 1/m.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Leznik (2026), arXiv:2603.14092.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.soft_ece([0.1, 0.8, 0.6, 0.3], [0.2, 0.7, 0.9, 0.4], bins=10), 4)
    0.15
    """

def spherical_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Spherical loss: one minus the cosine-like agreement of prediction and target.

    .. math:: 1 - \frac{1}{W} \sum_i w_i \frac{\sum_r z_{ir} p_{ir}}{\lVert p_i \rVert_2}

    where a prediction (n,) stands for the row (1 - u, u). Range [0, 1], lower is better. A proper
    loss.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean loss, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Gneiting and Raftery (2007), doi:10.1198/016214506000001437.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.spherical_loss([0, 1], [0.2, 0.6]), 4)
    0.0989
    """

def spiegelhalter(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CalibrationTest:
    r"""Spiegelhalter's test: is the Brier score as expected from the predictions?

    .. math:: Z = \frac{\sum w (z - u)(1 - 2u)}{\sqrt{\sum w^2 (1 - 2u)^2 u (1 - u)}}

    Z is standard normal for calibrated predictions and many rows; the p-value is two-sided. If few
    rows decide (rare events, heavy weights), it comes from outcomes drawn from the predictions.
    Hard labels only.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); variances are then those of clusters.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    CalibrationTest
        `statistic`, `p_value`, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if labels are soft: the test needs outcomes.

    References
    ----------
    Spiegelhalter (1986), doi:10.1002/sim.4780050506.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.spiegelhalter([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).statistic, 4)
    -1.005
    """

def sweep_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    norm: str = "l1",
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""ECE at the most equal-mass bins for which mean targets rise with the predictions.

    .. math:: \mathrm{ECE}_{m^*}, \quad m^* = \max\{m : \bar z_1 \le \dots \le \bar z_{m'}
        \text{ for all } m' \le m\}

    where the bins are quantile bins with ties together. Range [0, 1], lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are combined: their mean, the root of their mean square, or the largest.
    notion : {"binary", "confidence", "classwise"}, optional
        What is judged: `"binary"` for (n,); for (n, k) the top label (`"confidence"`, the default)
        or the mean over classes (`"classwise"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Roelofs, Cain, Shlens and Mozer (2022), arXiv:2012.08668.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.sweep_ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    0.25
    """

def tace(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    threshold: float = 0.01,
    bins: int | Quantile = 15,
    norm: str = "l1",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Thresholded adaptive calibration error: `ace` over the predictions above a threshold.

    .. math:: \frac{1}{|C|} \sum_{r \in C} \frac{1}{W_r} \sum_B
        \Bigl| \sum_{i \in B,\, u_{ir} > t} w_i (u_{ir} - z_{ir}) \Bigr|

    where C are the classes with a prediction above the threshold t, and W_r the weight above it.
    Then the many predictions near zero with many classes do not hide the others. Range [0, 1],
    lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    threshold : float in [0, 1], default 0.01
        Predictions at or below this are not counted.
    bins : int, str or Quantile, default 15
        Number of bins of equal mass, or a `Quantile` rule; other rules are an error. `"cbrt"` and
        `"auto"` choose the number of bins by the number of rows.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are combined: their mean, the root of their mean square, or the largest.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    References
    ----------
    Nixon et al. (2019), arXiv:1904.01685.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.tace([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=1, threshold=0.3), 4)
    0.0
    """

def threshold_loss(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    weight: str | tuple[float, float] = "uniform",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
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
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    low : float in [0, 1], default 0.0
        The lowest threshold, a.
    high : float in [0, 1], default 1.0
        The highest threshold, b.
    weight : {"uniform", "log"} or tuple of float, default "uniform"
        How thresholds are weighted: equally; by 1 / (2 t (1 - t)) and without the division, which
        is the log loss over [0, 1] ("log"); or by a Beta density, whose two parameters are given.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

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

def top_label_ece(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    norm: str = "l1",
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Top-label calibration error given the class (TL-ECE): the gap where each class is predicted.

    .. math:: \frac{1}{W} \sum_r \sum_B \Bigl| \sum_{i \in B \cap T_r} w_i (u_i - z_i) \Bigr|

    where r runs over the classes, T_r are the rows whose top label is r, B runs over the bins, u is
    the confidence, z the target of the top label, w the weight and W the sum of weights. "When it
    says *cat* with 0.9, is it a cat in 9 of 10?", for every class: the ECE of the top label pools
    all classes, so one may be too high and another equally too low. In the same bins, this error is
    therefore never below `ece`. It has bins for every class: with few rows it is unreliable, and
    `noise_floor` gives its value for a calibrated model.

    Range [0, 1], lower is better. Not truthful and not continuous: see `catalogue`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n, k), or list of str
        Predicted probabilities of the classes. With `data`, names of columns, one per class.
    bins : int, str, sequence of float or bin rule, default 15
        Number of equal-width bins, edges, or a rule: `EqualWidth`, `Quantile`, `Edges`,
        `LevelSets`. Bins are formed from the confidences of all rows and are the same for every
        class.
    norm : {"l1", "l2", "max"}, default "l1"
        How gaps are combined: their mean, the root of their mean square, or the largest.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each row of shares; counts need none.
    from_logits : bool, default False
        Whether `y_proba` holds logits, to which a softmax is applied.
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities, to which a softmax is applied.
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The calibration error, in [0, 1].

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities of classes; the message names the
        first bad row.

    References
    ----------
    Gupta and Ramdas (2022), Top-label calibration and multiclass-to-binary reductions, ICLR,
    arXiv:2107.08353.

    Examples
    --------
    Where it says class 0 it is too high, where it says class 1 as much too low:

    >>> import calibrant as cal
    >>> y = [0, 0, 1, 1, 1, 1, 1, 1]
    >>> p = [[0.75, 0.25]] * 4 + [[0.25, 0.75]] * 4
    >>> cal.ece(y, p), cal.top_label_ece(y, p)
    (0.0, 0.25)
    """

def truthful_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "lin_ce",
    bins: Bins = Quantile(15),
    notion: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> CalibrationTest:
    """Test of calibration by a truthful error, whose mean and variance under calibration are known.

    ``E[LinCE] = E[ATB] = sum w^2 u (1 - u) / W^2`` whatever the bins, and the variances have closed
    forms too. The p-value of LinCE comes from the scaled chi-square distribution with this mean and
    variance. ATB is a sum of squares with known weights; it needs no bins and, after sorting,
    linear time. If few rows decide (small samples, rare events, heavy weights) it comes from
    outcomes drawn from the predictions; with clusters, from the covariance of their residuals. Hard
    labels only.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    measure : {"lin_ce", "atb"}, default "lin_ce"
        The truthful error: of bins (LinCE), or of two bins averaged over their boundary (ATB).
    bins : int, str, sequence of float or bin rule, default Quantile(m=15, ties='together')
        For LinCE: number of quantile bins, edges, or a rule (`EqualWidth`, `Quantile`, `Edges`).
        `"cbrt"` and `"auto"` choose the number of bins by the number of rows.
    notion : {"binary", "confidence"}, optional
        What is judged: P(y = 1) for (n,) (`"binary"`), the top label for (n, k) (`"confidence"`).
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); variances are then those of clusters.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    CalibrationTest
        `statistic`, `p_value`, and in words the null distribution (`null`) and a `note`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if labels are soft: the test needs outcomes.

    References
    ----------
    Lu, Wu, Hartline and Hu (2026), Truthful Calibration Errors for Multi-Class Prediction, theorem
    3.1; Hartline, Hu and Wu (2026), arXiv:2508.13100.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.truthful_test([0, 1, 1, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25).p_value < 1e-4
    True
    >>> found = cal.truthful_test([0, 1, 0, 0] * 25, [0.2, 0.7, 0.9, 0.4] * 25, measure="atb")
    >>> found.p_value < 1e-4
    True
    """

def verdict(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "ece",
    tolerance: float = 0.05,
    bins: Bins = 15,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    resample: str | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> Verdict:
    """Say whether predictions are calibrated or miscalibrated, or whether there is not enough data.

    Four tests decide whether predictions are calibrated: tests of the calibration slope, the mean
    prediction, the measure's noise floor, and a smooth curve of gaps. The measure's confidence
    interval is then compared with `tolerance`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    measure : str, default "ece"
        Any name of `catalogue()` that applies to predictions of this shape.
    tolerance : float in (0, 1), default 0.05
        Largest value of the measure, as a gap, that you can accept.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    level : float in (0, 1), default 0.95
        Confidence level of intervals and verdicts.
    groups : array-like of shape (n,) or str, optional
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each soft label; vote counts in `y_true` include it. Vote noise is removed
        from estimates and intervals, and losses and distances have a noise floor.
    resample : {"rows", "votes", "both"}, optional
        What is resampled if labels are shares of votes: the rows, with labels of as many votes; the
        votes of these rows; or both, so that the interval covers the label distributions. By default
        both if vote counts are known.
    n_resamples : int, default 1000
        Number of resamples for each interval and noise floor.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    Verdict
        `verdict` ("calibrated within noise", "miscalibrated" or "not enough data"), `decided_by`,
        `value`, `low`, `high`, `slope` and `rows_needed`; prints as one or two sentences.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row.

    Notes
    -----
    Miscalibrated: a test rejects. `decided_by` names it, and `p_value`, the p-value of all tests
    together, is below ``1 - level``. Calibrated within noise: no test rejects, and an error above
    `tolerance` can be excluded. Not enough data: no test rejects, and an error above `tolerance`
    cannot be excluded. `rows_needed` is about how many rows would decide whether the error exceeds
    the tolerance.

    Each test has a share of ``1 - level``: 0.4 for the slope, 0.2 for the mean, 0.5 for the noise
    floor and 0.1 for the curve. At a level of 95% calibrated predictions are called miscalibrated
    in at most 6% of samples, and in 3 to 5% in simulations, since the tests overlap. The slope's
    interval has the level of its test, 98%: if it excludes 1, the verdict is "miscalibrated".
    Losses, and errors over all classes (`classwise_ece`, `ace`, ...), are judged only by their
    noise floor: several classes have no single slope.

    For errors that are sums of squares (`lin_ce`, `classwise_ce`, ...) intervals are converted to
    the gap that gives them if every bin has it; for losses the tolerance is on their own scale. The
    tolerance is compared as in `check`.

    References
    ----------
    Cox (1958), doi:10.1093/biomet/45.3-4.562, for the slope; Neyman (1937),
    doi:10.1080/03461238.1937.10404821, for smooth tests. The shares are Calibrant's own.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.verdict([0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.7]).verdict
    'not enough data'
    """

def vote_noise(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    measure: str = "dist_ce",
    votes: ArrayLike | None = None,
    bins: Bins = 15,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> VoteNoise:
    r"""Remove vote noise from a measure: its value against the label distributions.

    Shares z of m votes vary around the label distribution q. Squares have an unbiased correction,

    .. math:: \|p - z\|^2 - \frac{1 - \|z\|^2}{m - 1}
        \quad\text{has the mean}\quad \|p - q\|^2

    and so have the truthful errors, by the sum of the shares' variances. Measures that are linear
    in the labels need no correction. Votes identify other distances only in part: these have bounds
    over all label distributions compatible with the votes, and the estimate is their midpoint. For
    ECE and other errors of bins the estimate is that of `interval`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Counts of votes (n, k), or their shares; with `data`, columns' names.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    measure : str, default "dist_ce"
        Any name of `catalogue()` that applies to predictions of this shape.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each label; counts as `y_true` need none.
    bins : int, str, sequence of float or bin rule, default 15
        A number is the number of equal-width bins for ordinary errors and of quantile bins for
        truthful ones; a rule (`EqualWidth`, `Quantile`, `Edges`, `LevelSets`, `Cells`) applies to
        both. `"cbrt"` and `"auto"` follow from the number of rows.
    seed : int, default 0
        Seed of all random draws; the same seed gives the same result.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.

    Returns
    -------
    VoteNoise
        `value` against the shares, `estimate` without vote noise, `noise`, their difference, the
        `method`, and for distances the bounds `low` and `high`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities, if the number of votes is not
        known, or if votes do not show how they vary: one per row, or labels that are not shares of
        the given numbers of votes.

    Notes
    -----
    An exact estimate is for these rows, and unbiased: it may be below 0. `interval` with `votes`
    has the confidence interval, for rows like these or for these rows (``resample="votes"``).

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.dirichlet([1, 1, 1], 2000)
    >>> shares = np.array([rng.multinomial(5, q) for q in truth]) / 5
    >>> found = cal.vote_noise(shares, truth, measure="brier", votes=5)
    >>> round(found.value, 3), round(abs(found.estimate), 2)
    (0.099, 0.0)
    """

def vote_profile(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    votes: ArrayLike | None = None,
    bins: Bins = 15,
    bands: int = 4,
    level: float = 0.95,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> VoteProfile:
    """Compare predictions with human votes, and with the values expected for that many votes.

    The profile has reliability with vote noise, distances between rows and their votes, entropies
    of predictions and votes, and distances by bands of disagreement. Each comes with the value
    expected from a perfect model with the same number of votes.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Counts of votes (n, k), or (n, 2) for (n,) predictions; shares of votes, with `votes`; or
        hard labels, which are one vote each. With `data`, names of columns.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes behind each soft label; counts need none.
    bins : int, str, sequence of float or bin rule, default 15
        Bins of the reliability diagram.
    bands : int, default 4
        Number of quantile bands of the votes' entropy; rows of equal entropy stay together, so
        there may be fewer.
    level : float in (0, 1), default 0.95
        Level of the intervals of expected values.
    seed : int, default 0
        Seed of the draws.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame or mapping, optional
        Frame in memory whose columns the other arguments name: pandas, polars, PyArrow, or a
        mapping of names to arrays.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.

    Returns
    -------
    VoteProfile
        `bins`, `distances`, `entropies` and `bands` as columns; prints as the table of bands, and
        `plot` draws all of it.

    Raises
    ------
    InputError
        If labels are soft and their number of votes is unknown.

    Notes
    -----
    Bands are formed by the votes' entropy: where few votes agree by chance, even a perfect model
    seems underconfident. Expected values are therefore for rows whose votes, drawn from the
    predictions, lie in the band.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 500)
    >>> profile = cal.vote_profile(rng.multinomial(5, p), p)
    >>> profile.n_votes, len(profile.bands["band"])
    (2500, 3)
    """

def wasserstein(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    normalize: bool = False,
    sample_weight: ArrayLike | None = None,
    votes: ArrayLike | int | None = None,
    from_logits: bool = False,
    from_logprobs: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
) -> float:
    r"""Wasserstein-1 (earth mover's) distance for ordered classes, such as a Likert scale.

    .. math:: \frac{1}{W} \sum_i w_i \sum_{r < k} (x_{r+1} - x_r) \, | P_{ir} - Q_{ir} |

    where P and Q are the cumulative sums of prediction and target distribution over the classes in
    the order of the columns, and x are the classes' positions: 0, 1, 2, ... by default, as in
    LeWiDi 2025. A vote moved to the next class costs 1, to the one after it 2. Range [0, k - 1],
    with `normalize` [0, 1]; lower is better. It is the same in both directions; for (n,)
    predictions and default positions it is `dist_ce`.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k), str or list of str
        Labels: 0/1, class indices, probabilities (soft labels), or a column's name with `data`.
    y_proba : array-like of shape (n,) or (n, k), str or list of str
        Predicted probabilities; (n,) is P(y = 1). With `data`, a column's name, or one per class.
    positions : array-like of shape (k,), optional
        Increasing position of each class; by default 0 to k - 1.
    normalize : bool, default False
        Whether to divide by the distance of the first and the last class.
    sample_weight : array-like of shape (n,) or str, optional
        Weight of each row, at least 0; every row counts 1 by default.
    votes : int, array-like of shape (n,) or str, optional
        Number of votes of each row, if `y_true` counts the votes for class 1. Counts of every class
        include it.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    from_logprobs : bool, default False
        Whether `y_proba` holds log-probabilities: exp is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns of `y_proba`; for (n,): negative, positive.
    data : data frame, mapping, str or path-like, optional
        Frame whose columns the other arguments name: pandas, polars, PyArrow, or a mapping of names
        to arrays. Lazy frames (polars, DuckDB, Spark, Dask, Ibis) and paths of Parquet files are
        summed by their own engine.

    Returns
    -------
    float
        The mean distance, in units of `positions`.

    Raises
    ------
    InputError
        If the input cannot be read as labels and probabilities; the message names the first bad
        row. Also if `positions` are not k increasing numbers.

    References
    ----------
    Leonardelli et al. (2025), arXiv:2510.08460 (LeWiDi); Villani (2009),
    doi:10.1007/978-3-540-71050-9.

    Examples
    --------
    >>> import calibrant as cal
    >>> votes = [[0.0, 0.5, 0.5]]
    >>> near, far = [[0.0, 0.75, 0.25]], [[0.5, 0.5, 0.0]]
    >>> cal.wasserstein(votes, near), cal.wasserstein(votes, far)
    (0.25, 1.0)
    >>> cal.wasserstein(votes, far, positions=[0, 1, 10])
    5.0
    """
