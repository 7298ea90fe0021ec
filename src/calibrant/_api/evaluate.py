"""evaluate(): every measure of some predictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

from numpy.typing import ArrayLike

from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._api.label_bounds import bounds_of, check_has_no
from calibrant._api.rows import as_samples, as_source, cluster_column, group_index, read_cells
from calibrant._core.arguments import WeightedRowsWithGaps
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError
from calibrant._core.given_cells import Cells
from calibrant._core.validation import N_RESAMPLES, public
from calibrant._data.arrays import is_summed_on_device
from calibrant._data.between import Between
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant.results._evaluation import Evaluation


@public
def evaluate(
    y_true: ArrayLike | Between,
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
    **rows: Unpack[WeightedRowsWithGaps],
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
    bins
    measures
        Names of `catalogue()`; by default all that apply, except distances between distributions
        with hard labels and full calibration with more than 200 classes.
    uncertainty : bool, default False
        Whether to add a confidence interval and a noise floor to each measure, and a verdict.
    tolerance
        Largest calibration error, as a gap, that you can accept.
    level (and verdicts)
    groups
        Cluster of each row (patient, document, game); rows of one cluster are resampled together.
        Needs `uncertainty` or `by`.
    votes (taken out)
    resample
    n_resamples
    seed
    by
        Value of each row, or names of columns: `slices` then has an evaluation for each value, with
        p-values corrected for their number.
    data

    Returns
    -------
    Evaluation
        `evaluation["ece"]` is a value, `estimates` all of them, `reliability` the bins, `verdict`
        and `slices` if requested, `inferred` and `notes` on the input; prints as a table. For
        labels `Between` two ends it is `Bounds`: ``bounds["ece"].low`` and ``.high``.

    Raises
    ------
    InputError
        Also if a measure named in `measures` has no value for these data; by default, such a
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
    if isinstance(y_true, Between):
        check_has_no(uncertainty=uncertainty, groups=groups, votes=votes, resample=resample, by=by)
        # The stub says so to type checkers.
        return bounds_of(y_true, y_proba, bins=bins, measures=measures, **rows)  # type: ignore[return-value]
    rows["data"] = data = scan_if_path(rows.get("data"))
    options = Options(
        bins=read_cells(bins, data),
        measures=measures,
        intervals="all" if uncertainty else "none",
        tolerance=tolerance,
        level=level,
        resample=resample,
        n_resamples=n_resamples,
        seed=seed,
        by=by,
        data=data,
        clinical=uncertainty,
    )
    if groups is not None and not uncertainty and by is None:
        raise InputError(
            "groups has no effect on values: add uncertainty=True, or by=, whose slices have "
            "p-values"
        )
    samples: Any
    if is_lazy(data):
        # A frame of another engine is summed there, in one pass for everything.
        from calibrant._api.evaluate_frame import evaluate_frame

        samples = as_source(y_true, y_proba, votes=votes, **rows)
        return evaluate_frame(samples, replace(options, groups=cluster_column(groups, data)))
    if not uncertainty and by is None:
        samples = as_source(y_true, y_proba, votes=votes, **rows)
        return evaluate_samples(samples, options)
    needs_rows = by is not None or resample is not None or votes is not None
    if not needs_rows and not isinstance(bins, Cells) and is_summed_on_device(y_proba):
        # Imported where large tensors are given.
        from calibrant._api.on_device import evaluate_on_device
        from calibrant._api.tensor_predictor import read_on_device

        here = read_on_device(y_true, {"": y_proba}, groups, rows)
        if here is not None:
            return evaluate_on_device(here[0][""], replace(options, groups=here[1]))
    # Resampling and slicing need the rows in memory.
    samples = as_samples(y_true, y_proba, votes=votes, **rows)
    if groups is not None:
        options = replace(options, groups=group_index(groups, samples, data))
    return evaluate_samples(samples, options)
