"""evaluate_file(): measures of rows in files, which are never loaded whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

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


@public
def evaluate_file(
    path: Any,
    *,
    y_true: Any = None,
    y_proba: Any = None,
    sample_weight: str | None = None,
    bins: Bins = 15,
    measures: Iterable[str] | None = None,
    from_logits: bool = False,
    classes: Sequence[Any] | None = None,
    by: Any = None,
    missing: str = "error",
    format: str | None = None,
    exact: bool = True,
    progress: bool | None = None,
) -> Evaluation:
    """The evaluation of Parquet, CSV, JSONL, Arrow or NPZ files, which are never loaded whole.

    `path` is a file, a folder, a pattern such as ``"day-*.parquet"``, or a list of these; `format`
    says what they are where names do not. `y_true`, `y_proba`, `sample_weight` and `by` name
    columns: `y_proba` one column of numbers or of lists, or a list of columns, one a class. Fields
    within records have dotted paths. Left out, `y_true` and `y_proba` are found by their usual
    names; `inferred` tells what was found, and two candidates are an error.

    The values are those that `evaluate` has for the same rows. Most come from one pass; quantile
    bins, those of every class included, take another look at the few rows near their edges, and
    full calibration a third. Measures that need all predictions in order are there for up to 2^17
    distinct ones, and left out with a note for more. ``exact=False`` reads once: what goes by an
    order comes from some 2,500 cells of [0, 1], and the result says so. `by` gives `slices`, one
    evaluation for each value of a column, in the first pass.

    `classes` names the classes in the order of the columns; labels belong to the class of their
    name, where 0 and "0" are one (docs/files.md has the rule). The fields of a record are classes
    by their names.

    ``missing="drop"`` leaves out rows without a prediction, label or weight, and tells how many;
    otherwise they are an error. `progress` draws a line of rows and rate; None means on a terminal.

    Examples
    --------
    >>> import json, tempfile, pathlib
    >>> import calibrant as cal
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "answers.jsonl"
    >>> rows = [(0, 0.2), (1, 0.7), (1, 0.9), (0, 0.4)]
    >>> lines = [json.dumps({"correct": y, "confidence": p}) for y, p in rows]
    >>> _ = file.write_text("\\n".join(lines))
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
