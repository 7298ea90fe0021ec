"""reliability() and classwise_reliability(): the bins behind an error, as tables."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from calibrant._api.curve_of_rows import curve_of_rows, reliability_table
from calibrant._api.rows import (
    as_samples,
    as_source,
    cluster_column,
    group_index,
    note_two_columns,
    read_cells,
)
from calibrant._core.arguments import Rows
from calibrant._core.bin_tables import BinTable
from calibrant._core.binning import Bins, Cuts, EqualWidth, Rule, as_rule, fixed_cuts
from calibrant._core.errors import InputError
from calibrant._core.validation import public
from calibrant._data.columns import is_lazy, scan_if_path
from calibrant._data.explain import explained
from calibrant._data.source import Source
from calibrant._summaries.samples import Summary, resolve_notion
from calibrant.results._reliability import ClasswiseReliability, ReliabilityTable


@public
def reliability(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    bins: Bins = 15,
    notion: str | None = None,
    groups: ArrayLike | None = None,
    **rows: Unpack[Rows],
) -> ReliabilityTable:
    """The reliability table: edges, rows, mean prediction, mean target and gap of each bin.

    Empty bins stay, and counts add up to n.

    Parameters
    ----------
    bins (equal-width)
    notion (scalar)
    groups
        Cluster of each row (patient, document, game): intervals of mean targets then account for
        clusters.

    Returns
    -------
    ReliabilityTable
        A row per bin (`columns`, `to_frame`), its `intervals` and its diagram (`plot`).

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.reliability([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], bins=2)
    ReliabilityTable (binary, 2 equal-width bins, left-closed)
      bin   lower   upper  n  mean_predicted  mean_target      gap
        0  0.0000  0.5000  2          0.3000       0.0000   0.3000
        1  0.5000  1.0000  2          0.8000       1.0000  -0.2000
    """
    rows["data"] = data = scan_if_path(rows.get("data"))
    stays = groups is None or is_lazy(data)
    samples: Any = (as_source if stays else as_samples)(y_true, y_proba, **rows)
    rule = as_rule(read_cells(bins, data), n=samples.count_rows, cells=True)
    resolved = resolve_notion(samples, notion)
    if resolved in ("classwise", "full"):
        raise InputError(
            f"a reliability table has one row per bin, which notion={notion!r} does not allow: "
            "give one class's column as y_proba and (y_true == class) as y_true"
        )
    result = note_two_columns(
        reliability_table(Summary(samples), rule, resolved), samples, resolved
    )
    if is_lazy(data):
        # Imported when a frame of another engine is given: arrays do without.
        from calibrant._api.curve_of_frame import with_bars_of_frame, with_curve_of_frame

        clusters = cluster_column(groups, data)
        if clusters is None:
            return with_curve_of_frame(result, samples)
        return with_bars_of_frame(result, samples, clusters)
    if groups is None:
        return result
    from calibrant._api.evaluate_uncertainty import with_cluster_bars

    return with_cluster_bars(result, samples, group_index(groups, samples, data))


@public
def classwise_reliability(
    y_true: ArrayLike, y_proba: ArrayLike, *, bins: Bins = 15, **rows: Unpack[Rows]
) -> ClasswiseReliability:
    """The reliability table of each class against the rest, worst first.

    The worst class is the one with the largest ECE.

    Parameters
    ----------
    y_proba : array-like of shape (n, k), or list of str
        Predicted probabilities, one column per class; with `data`, the columns' names.
    bins (equal-width)

    Returns
    -------
    ClasswiseReliability
        `names` and `tables` of the classes, and their diagrams (`plot`).

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
    samples = as_source(y_true, y_proba, **rows)
    rule = as_rule(bins, n=samples.count_rows)
    if not samples.multiclass:
        raise InputError(
            "classwise_reliability needs y_proba of the shape (n, k), a column per class; got "
            "(n,). Use calibrant.reliability"
        )
    names = samples.class_names or tuple(str(r) for r in range(samples.n_classes))
    tables = [
        ReliabilityTable(t, rule, cuts, "binary", fit=curve_of_rows(samples, "binary", column=r))
        for r, (t, cuts) in enumerate(_class_tables(samples, rule))
    ]
    order = np.argsort([-table.ece for table in tables], kind="stable")
    return ClasswiseReliability(
        tuple(str(names[r]) for r in order), tuple(tables[r] for r in order)
    )


def _class_tables(samples: Source, rule: Rule) -> list[tuple[BinTable, Cuts]]:
    """For each class against the rest, the sums in its bins and the edges of the bins.

    Bins that depend on the rows are made for each class by itself.
    """
    summary = Summary(samples)
    if rule.is_fixed:
        table = summary.table("classwise", rule)
        cuts = fixed_cuts(rule, samples.precision)
        return [(table.of_class(r), cuts) for r in range(table.n_classes)]
    summary.table(summary.scalar, EqualWidth(1))  # every row is sound, and some have weight
    with explained(samples):
        columns = summary.engine.class_columns(samples)
        return [summary.engine.bin_table(column, "binary", rule)[:2] for column in columns]
