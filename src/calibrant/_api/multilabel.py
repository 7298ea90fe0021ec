"""multilabel(): labels that a row may have several of, each a binary problem of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from calibrant._api.evaluate_samples import choose_measures
from calibrant._api.resampling import Resampling
from calibrant._api.rows import number_clusters, read_groups, take_clusters
from calibrant._api.slices import (
    SliceOptions,
    slice_measures,
    slice_of_rows,
    slices_with_verdicts,
)
from calibrant._core.binning import Bins, both_rules
from calibrant._core.errors import InputError
from calibrant._core.validation import N_RESAMPLES, check_level, check_seed, public
from calibrant._data.logprobs import given_as
from calibrant._data.multilabel import label_columns
from calibrant._measures.gap_scale import checked_tolerance
from calibrant.results._multilabel import Multilabel
from calibrant.results._slices import Slice


@public
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
    measures
        Names of `catalogue()`; the first error among them is judged. By default the ECE and all
        other measures with bins, and losses.
    bins
        Number of bins (equal-width for ordinary, quantile for truthful errors), or a rule for all.
    uncertainty : bool, default False
        Whether each label has a confidence interval and a verdict, and the mean an interval.
    tolerance
        Largest acceptable gap between prediction and outcome, for the verdicts.
    level
    groups
    n_resamples
        Number of resamples for an interval.
    seed
    from_logits
        Whether `y_proba` holds logits, to which a sigmoid is applied.
    from_logprobs
        Whether `y_proba` holds log-probabilities, to which exp is applied.
    data (in memory)

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
    check_seed(seed)
    check_level(level)
    columns = label_columns(
        y_true,
        y_proba,
        labels=labels,
        sample_weight=sample_weight,
        given=given_as(from_logits, from_logprobs),
        data=data,
    )
    clusters = None
    if groups is not None:
        clusters = number_clusters(*read_groups(groups, data), columns.n)
    resampling = Resampling(rules=both_rules(bins, columns.n), seed=int(seed))
    largest = None
    if uncertainty:
        largest = checked_tolerance(tolerance)
        resampling = replace(resampling, level=level, n_resamples=n_resamples)
    asked = measures is not None
    headline, shown = slice_measures(choose_measures(measures, "binary"), "binary", asked=asked)
    rows: list[Slice] = []
    notes = [columns.note] if columns.note else []
    counted = [label for label in range(len(columns.names)) if columns.rows_of(label).size]
    options = SliceOptions(
        headline=headline,
        shown=shown,
        asked=asked,
        tolerance=largest,
        level=resampling.level,
        n_slices=len(counted),
    )
    for label in counted:
        samples = columns.samples_of(label)
        groups_of_label = take_clusters(clusters, columns.rows_of(label))
        own = replace(resampling, rules=both_rules(bins, samples.n), groups=groups_of_label)
        one, note = slice_of_rows(columns.names[label], samples, own, options)
        rows.append(one)
        notes += note
    empty = [name for label, name in enumerate(columns.names) if label not in counted]
    if not rows:
        raise InputError(
            "no label is annotated in any row with positive weight: there is nothing to measure"
        )
    if empty:
        notes.append(
            f"dropped, because no row with positive weight has an annotation: {', '.join(empty)}"
        )
    found = slices_with_verdicts("label", rows, notes, options, each="label")
    missing = (~columns.annotated).sum(axis=0).tolist()
    return Multilabel(
        by="label",
        measure=headline.name,
        rows=tuple(sorted(found.rows, key=lambda row: -row.values[headline.name])),
        notes=found.notes,
        level=found.level,
        tolerance=found.tolerance,
        n=columns.n,
        n_missing=dict(zip(columns.names, missing, strict=True)),
        mean={
            measure.name: _mean_of_known([row.values[measure.name] for row in rows])
            for measure in shown
        },
        mean_low=_mean_of_known(
            [_lower_limit_to_show(row, found.level) for row in found.rows], every=True
        ),
        mean_high=_mean_of_known([row.high for row in rows], every=True),
        mean_estimate=_mean_of_known([row.estimate for row in rows], every=True),
    )


def _lower_limit_to_show(row: Slice, level: float) -> float:
    """The lower limit of a label's error, or 0 if the error may be due to chance among so many
    labels.

    Of twenty calibrated labels one has a limit above 0 in four of ten samples, and then the mean of
    the limits would be above 0 too.
    """
    may_be_chance = row.p_corrected >= (1.0 - level) / 2.0
    return min(row.low, 0.0) if may_be_chance and not math.isnan(row.low) else row.low


def _mean_of_known(values: Sequence[float], *, every: bool = False) -> float:
    """The mean of the values that are not NaN; NaN without any.

    With `every`, one NaN makes the mean NaN.
    """
    known = [value for value in values if not math.isnan(value)]
    if not known or (every and len(known) < len(values)):
        return math.nan
    return math.fsum(known) / len(known)
