"""evaluate(): every measure of some predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from calibrant._api.evaluate_samples import Options, evaluate_samples
from calibrant._core.binning import Bins
from calibrant._core.errors import InputError
from calibrant._core.validation import N_RESAMPLES, public
from calibrant._data.columns import is_lazy
from calibrant._data.to_samples import to_samples, to_samples_in_place
from calibrant.results._evaluation import Evaluation


@public
def evaluate(
    y_true: Any,
    y_proba: Any,
    *,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    uncertainty: bool = False,
    tolerance: float = 0.05,
    level: float = 0.95,
    groups: Any = None,
    votes: Any = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    by: Any = None,
    sample_weight: Any = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    data: Any = None,
    missing: str = "error",
) -> Evaluation:
    """Every measure that applies, the reliability table, and what was taken for granted.

    `bins` as a count means that many equal-width bins for the ordinary errors and that many
    quantile bins for the truthful ones; a rule is used for both. `ace` and `tace` are defined by
    bins of equal mass: of another rule they take its number of bins, and a note says so.

    `measures` chooses by name; left out, all that apply are there (but for the distances between
    distributions with hard labels, and full calibration with more than 200 classes). One that has
    no value for these data, such as `tace` where no prediction is above 0.01, is then left out with
    a note; asked for by name it is an error. The values are those of the functions of the same name
    with their defaults, and files, frames and streams give the same ones.

    ``uncertainty=True`` adds what each number is worth: an interval for its true value (`level`,
    clusters in `groups`), its noise floor (see `noise_floor`; `votes` behind soft labels), and a
    verdict against `tolerance`. `by` names a column of data, or holds a value per row: the
    evaluation then has `slices`, one evaluation each, with p-values corrected for their number.

    `data` may be a frame of an engine of its own (polars lazy, DuckDB, Spark, Dask, Ibis): it is
    summed there in one pass. ``missing="drop"`` leaves out rows in which something is missing, and
    tells how many; otherwise they are an error. Rows are matched by position: pandas objects with
    different indexes are an error.

    `classes` names the classes in the order of y_proba's columns (of a binary problem: negative,
    positive), and a label belongs to the class of its name, where a number and its text are one
    name: 0 and "0". Only where no class has a number for its name are labels that are numbers
    class indices, which the names title. `inferred` says what was taken.

    Examples
    --------
    >>> import calibrant as cal
    >>> result = cal.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], measures=["ece", "brier"])
    >>> result["ece"], round(result["brier"], 4)
    (0.25, 0.075)
    """
    options = Options(
        bins=bins, measures=measures, intervals="all" if uncertainty else "none",
        tolerance=tolerance, level=level, votes=votes, n_resamples=n_resamples, seed=seed, by=by,
        data=data,
    )  # fmt: skip
    if groups is not None and not uncertainty and by is None:
        raise InputError(
            "groups has no effect on the values themselves: with it goes uncertainty=True, or by=, "
            "whose slices have p-values"
        )
    samples: Any
    rows = (y_true, y_proba, sample_weight, from_logits, classes, data, missing)
    if is_lazy(data):
        _check_summable(uncertainty, groups)
        # A frame of another engine is summed there, in one pass for everything.
        from calibrant._api.evaluate_frame import evaluate_frame

        samples = to_samples_in_place(*rows)
        return evaluate_frame(samples, options)
    if not uncertainty and by is None:
        samples = to_samples_in_place(*rows)
        return evaluate_samples(samples, options)
    # Resampling and slicing need the rows in memory.
    samples = to_samples(*rows)
    if groups is not None:
        from calibrant._api.metrics.uncertainty import group_index

        options = replace(options, groups=group_index(groups, samples, data))
    return evaluate_samples(samples, options)


def _check_summable(uncertainty: bool, groups: Any) -> None:
    """An error for what the sums of a frame in another engine do not give."""
    if groups is not None:
        raise InputError(
            "groups needs the rows, which stay where they are in a frame of another engine: "
            "collect a sample of whole clusters and evaluate that"
        )
    if uncertainty:
        raise InputError(
            "uncertainty=True draws rows again and again, which a frame in another engine is not "
            "made for: collect a sample of its rows and evaluate that. by=... has noise floors "
            "here too"
        )
