"""judge(): the true rate behind the answers of a judge that is itself a model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.evaluate import evaluate
from calibrant._api.rows import number_clusters, read_groups
from calibrant._core.errors import InputError, counted
from calibrant._core.messages import name_of, worded
from calibrant._core.typing import Array, Index, Mask
from calibrant._core.validation import check_level, is_number, public
from calibrant._data.arrays import to_array
from calibrant._data.checks import checked_weights
from calibrant._data.columns import pick
from calibrant._data.missing import find_missing_rows
from calibrant._inference.judged import (
    UNDEFINED,
    JudgedRows,
    Limits,
    bias,
    judge_alone,
    kappa,
    labels_needed,
    mean_answer,
    prediction_powered,
    random_part_p_value,
    rogan_gladen,
    rows_needed,
)
from calibrant._measures.catalogue import listed
from calibrant.results._evaluation import Evaluation
from calibrant.results._judged_rate import (
    ALONE,
    HOLDS,
    HUMAN,
    POWERED,
    ROGAN_GLADEN,
    JudgedQuantity,
    JudgedRate,
)
from calibrant.results._rendering import p_words

_CALIBRATION = tuple(measure.name for measure in listed("judge", "binary"))
# Below this p-value a note says that the labelled rows do not look like a random part.
_NOT_RANDOM = 0.01


@public
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
    level
    threshold : float, default 0.5
        The score from which a judge's answer counts as yes, for sensitivity, specificity, kappa and
        the Rogan-Gladen rate.
    width : float, optional
        Width of an interval, from its lower to its upper end, for `labels_needed`; by default, half
        the present width.
    data (in memory)

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
    check_level(level)
    given = _read_rows(human, judged, unlabelled, groups, sample_weight, data)
    rows = replace(given, level=float(level))
    scores = not bool(np.isin(rows.judged, (0.0, 1.0)).all())
    decided = replace(rows, judged=(rows.judged >= _checked_threshold(threshold)).astype(float))
    p_value = random_part_p_value(rows) if rows.others.size else math.nan
    found = _rates(rows, decided) | _agreement(rows, decided)
    headline = found[POWERED if rows.others.size else HUMAN]
    if width is None:
        width = (headline.high - headline.low) / 2.0
    elif not is_number(width) or not 0 < float(width) < 1:
        raise InputError(f"width must be a number between 0 and 1, such as 0.05; got {width!r}")
    calibration = _calibration(rows) if scores else None
    return JudgedRate(
        rows=tuple(
            JudgedQuantity(name, each.value, each.low, each.high, HOLDS.get(name, ""))
            for name, each in (found | _errors_of_scores(calibration)).items()
        ),
        n=rows.n,
        n_unlabelled=rows.others.size,
        level=float(level),
        threshold=float(threshold) if scores else None,
        p_value=p_value,
        width=float(width),
        labels_needed=labels_needed(rows, float(width)),
        rows_needed=rows_needed(rows, float(width)),
        calibration=calibration,
        notes=_notes(rows, found, p_value, scores=scores, threshold=float(threshold)),
    )


def _rates(rows: JudgedRows, decided: JudgedRows) -> dict[str, Limits]:
    """The rate by every method that these rows allow, by its name."""
    human, alone = prediction_powered(rows, alone=True), judge_alone(rows)
    if not rows.others.size:
        return {HUMAN: human, ALONE: alone}
    corrected = rogan_gladen(decided) if _is_hard(rows.human) else UNDEFINED
    return {
        POWERED: prediction_powered(rows),
        ROGAN_GLADEN: corrected,
        HUMAN: human,
        ALONE: alone,
    }


def _agreement(rows: JudgedRows, decided: JudgedRows) -> dict[str, Limits]:
    """The judge's bias, and with labels of 0 and 1 its agreement with them, by name."""
    out = {"bias of the judge": bias(rows)}
    if not _is_hard(rows.human):
        return out
    alarm = mean_answer(decided, 0.0)
    agreement, ceiling = kappa(decided)
    return out | {
        "sensitivity": mean_answer(decided, 1.0),
        "specificity": Limits(1.0 - alarm.value, 1.0 - alarm.high, 1.0 - alarm.low),
        "kappa": agreement,
        "largest kappa at these rates": Limits(ceiling, math.nan, math.nan),
    }


def _calibration(rows: JudgedRows) -> Evaluation:
    """The calibration errors of a judge's scores in the labelled rows, with intervals."""
    groups = None if rows.groups is None else rows.groups[: rows.n]
    weights = rows.weights[: rows.n]
    return evaluate(
        rows.human,
        rows.judged[: rows.n],
        measures=_CALIBRATION,
        uncertainty=True,
        level=rows.level,
        groups=groups,
        sample_weight=None if (weights == 1.0).all() else weights,
    )


def _errors_of_scores(calibration: Evaluation | None) -> dict[str, Limits]:
    """The calibration errors of the scores as lines of the table, with bias-corrected values."""
    estimates = () if calibration is None else calibration.estimates
    return {
        f"{each.title} of the scores": Limits(
            each.interval.estimate, each.interval.low, each.interval.high
        )
        for each in estimates
        if each.interval is not None
    }


def _notes(
    rows: JudgedRows, found: dict[str, Limits], p_value: float, *, scores: bool, threshold: float
) -> tuple[str, ...]:
    """What to know: assumptions that the rows contradict, and estimates that do not exist."""
    notes = []
    if p_value < _NOT_RANDOM:
        notes.append(
            "The judge's mean answer differs between labelled and unlabelled rows "
            f"({p_words(p_value, 2)}): the labelled rows are not a random sample, so the "
            f"{POWERED} is invalid. If only the rate differs, the {ROGAN_GLADEN} is valid."
        )
    if scores:
        notes.append(
            f"The judge gives scores: in the {ROGAN_GLADEN}, sensitivity, specificity and kappa, a "
            f"score of {threshold:g} or more counts as yes."
        )
    if not _is_hard(rows.human):
        notes.append(
            f"Human labels are shares: the {ROGAN_GLADEN}, sensitivity, specificity and kappa need "
            "labels of 0 and 1."
        )
    elif rows.others.size and math.isnan(found[ROGAN_GLADEN].value):
        notes.append(
            f"There is no {ROGAN_GLADEN}: "
            + (
                "all human labels are the same, so sensitivity or specificity is unknown."
                if math.isnan(found["sensitivity"].value + found["specificity"].value)
                else "sensitivity + specificity is 1 or less, no better than random answers."
            )
        )
    if rows.groups is not None and rows.units < 10:
        notes.append(
            f"Only {rows.units:.3g} clusters have labels, so intervals are wide and only "
            "approximate."
        )
    return tuple(notes)


def _is_hard(human: Array) -> bool:
    """Whether all labels are 0 or 1."""
    return bool(np.isin(human, (0.0, 1.0)).all())


def _checked_threshold(threshold: Any) -> float:
    """The score from which on the judge says yes; raise InputError unless it is in (0, 1]."""
    if not is_number(threshold) or not 0 < float(threshold) <= 1:
        raise InputError(f"threshold must be a number in (0, 1], such as 0.5; got {threshold!r}")
    return float(threshold)


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as the user gave it: its values, and a mask of those that are missing."""

    values: Array
    gaps: Mask


def _read_rows(
    human: Any, judged: Any, unlabelled: Any, groups: Any, sample_weight: Any, data: Any
) -> JudgedRows:
    """The rows in order, labelled ones first; raise InputError for what cannot be read."""
    labels = _read_column(human, "human", data)
    answers = _read_column(judged, "judged", data)
    if labels.values.shape != answers.values.shape:
        raise InputError(
            f"{name_of('human')} and {name_of('judged')} must have the same rows: got "
            f"{labels.values.size} and {answers.values.size}. Pass answers to unlabelled rows as "
            "unlabelled"
        )
    if unlabelled is not None:
        if data is not None:
            raise InputError(
                "unlabelled cannot be combined with data=: rows of the frame without a human "
                "label are the unlabelled rows"
            )
        more = _read_column(unlabelled, "unlabelled", None)
        answers = _concatenate(answers, more)
        labels = _concatenate(labels, _Column(np.zeros(more.values.size), np.ones_like(more.gaps)))
    if answers.gaps.any():
        raise InputError(
            f"{name_of('judged')} is missing in {counted(int(answers.gaps.sum()), 'row', '')}, "
            f"first in row {int(np.argmax(answers.gaps))}: drop rows that the judge did not "
            "answer, or count them as no"
        )
    return _labelled_first(labels, answers.values, groups, sample_weight, data)


def _concatenate(first: _Column, second: _Column) -> _Column:
    """Two columns, one behind the other."""
    return _Column(
        np.concatenate([first.values, second.values]), np.concatenate([first.gaps, second.gaps])
    )


def _labelled_first(
    labels: _Column, answers: Array, groups: Any, sample_weight: Any, data: Any
) -> JudgedRows:
    """The rows with labelled ones first, their weights and clusters; those of weight 0 dropped."""
    n = answers.size
    weights = np.ones(n)
    if sample_weight is not None:
        given = pick(data, sample_weight, "sample_weight") if data is not None else sample_weight
        weights = checked_weights(to_array(given, "sample_weight"), n).astype(np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("sample_weight must be finite and not negative in every row")
    clusters: Index | None = None
    if groups is not None:
        clusters = number_clusters(*read_groups(groups, data), n)
    used = np.flatnonzero(weights > 0)
    order = used[np.argsort(labels.gaps[used], kind="stable")]
    n_labelled = int((~labels.gaps[used]).sum())
    if n_labelled < 2:
        raise InputError(
            f"{name_of('human')} has {counted(n_labelled, 'label', '')}: at least 2 rows need a "
            "human label, and 50 or more are recommended"
        )
    return JudgedRows(
        human=labels.values[order[:n_labelled]],
        judged=answers[order],
        weights=weights[order],
        groups=None if clusters is None else clusters[order],
        level=math.nan,
    )


def _read_column(given: Any, argument: str, data: Any) -> _Column:
    """A column of numbers in [0, 1] with gaps; raise InputError for any other."""
    if data is not None:
        given = pick(data, given, argument)
    elif isinstance(given, str):
        raise InputError(f"{argument}={given!r} names a column: give the frame as data=")
    array, gaps = find_missing_rows(given, argument)
    if array.ndim != 1:
        raise InputError(f"{argument} must be one column (n,); got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{argument} must hold numbers from 0 to 1; it holds {str(array[np.argmin(gaps)])!r}: "
            "turn words into 0 and 1"
        )
    values = np.where(gaps, 0.0, array.astype(np.float64))
    wrong = ~((values >= 0.0) & (values <= 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{name_of(argument)}[{row}] is {float(values[row]):g}: it must be a number from 0 to "
            "1. Divide a scale by its largest value"
            + worded(python="", command="; files may also hold true, false, yes and no")
        )
    return _Column(values, np.asarray(gaps))
