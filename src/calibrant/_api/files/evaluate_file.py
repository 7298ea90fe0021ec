"""evaluate_file(): measures of rows in files, which are never loaded whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from calibrant._api.files.results import check_available, check_not_empty, told
from calibrant._api.files.sums import Plan
from calibrant._core.binning import Bins, FixedRule, both_rules
from calibrant._core.errors import InputError
from calibrant._core.progress import RowProgress
from calibrant._core.validation import public
from calibrant._data.checks import check_bool
from calibrant._data.missing import check_missing
from calibrant._data.readers.passes import over_pieces
from calibrant._data.readers.source import file_rows
from calibrant._summaries.requirements import known_measures
from calibrant.results._evaluation import Evaluation

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@public
def evaluate_file(
    path: Paths,
    *,
    y_true: str | Sequence[str] | None = None,
    y_proba: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    by: str | Sequence[str] | None = None,
    missing: str = "error",
    format: str | None = None,
    exact: bool = True,
    progress: bool | None = None,
) -> Evaluation:
    r"""Evaluate Parquet, CSV, JSONL, Arrow or NPZ files, which are never loaded whole.

    The values are those that `evaluate` has for the same rows. Most come from one pass; quantile
    bins, those of every class included, need a refinement pass over the few rows near their edges,
    and full calibration a third.

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
    bins : int, sequence of float, EqualWidth or Edges, default 15
        Bins that are fixed before the rows are seen; a number means so many quantile bins where a
        measure goes by these.
    measures : iterable of str, optional
        Names of `catalogue()`; by default all that apply.
    from_logits : bool, default False
        Whether `y_proba` holds logits: a sigmoid is applied to (n,), a softmax to (n, k).
    classes : sequence, optional
        Names of the classes in the order of the columns; labels belong to the class of their name.
    by : str or list of str, optional
        Columns whose values split the rows into `slices`, in the first pass.
    missing : {"error", "drop"}, default "error"
        What to do with rows in which a value is missing: raise an error, or drop and count them.
    format : {"parquet", "csv", "jsonl", "arrow", "npz"}, optional
        Format of the files; by default it follows from their names.
    exact : bool, default True
        Whether to take refinement passes; if not, what goes by an order comes from some 2,500 cells
        of [0, 1], and the result says so.
    progress : bool, optional
        Whether to draw a line of rows and rate; by default only on a terminal.

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
    classes by their names. Measures that need all predictions in order are there for up to 2^17
    distinct ones, and left out with a note for more. Of labels, 0 and "0" are one name (the guide
    to files has the rule).

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
    fixed, quantile = both_rules(bins)
    if not isinstance(fixed, FixedRule):
        raise InputError(
            f"bins={bins!r}: files need bins that are fixed before the rows are seen, a count, "
            "EqualWidth or Edges. With a count, measures that go by quantile bins have as many"
        )
    names = None if measures is None else known_measures(measures)
    rows = file_rows(
        path, y_true=y_true, y_proba=y_proba, sample_weight=sample_weight, by=by, classes=classes,
        from_logits=check_bool(from_logits), missing=check_missing(missing), format=format,
    )  # fmt: skip
    plan = Plan(rows.chosen, fixed, names, bool(from_logits), bool(exact))
    check_available(names, plan, rows.multiclass)
    tally = plan.tally()
    with RowProgress(rows.n_bytes, show=progress) as shown:
        for part in over_pieces(rows, plan.tally, shown):
            tally.merge(part)
    check_not_empty(tally, rows)
    return told(tally, rows, quantile, names, progress)
