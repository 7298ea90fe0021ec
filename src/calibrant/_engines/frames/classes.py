"""Every class against the rest, and parts of a frame that are binary problems of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import narwhals as nw
import numpy as np

from calibrant._core.binning import Cuts
from calibrant._core.typing import Array
from calibrant._data.frame_samples import FrameSamples
from calibrant._engines.arrays.passes import MatrixSums
from calibrant._engines.cells import Cells
from calibrant._engines.frames.collecting import collected
from calibrant._engines.frames.columns import has_weights, prediction_names
from calibrant._engines.frames.expressions import Expr, Frame, col, exact, number, rounded, where
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.losses import ask_losses, losses_of
from calibrant._engines.frames.partitions import stacked
from calibrant._engines.frames.problem import clean, plan_once, scalar
from calibrant._engines.frames.quantiles import group_key
from calibrant._engines.frames.query import Query
from calibrant._engines.refine import JointPass, Spans

# The most spans of predictions in one expression.
MOST_SPANS = 150


def matrix_sums(
    samples: FrameSamples,
    *,
    classwise: Cuts | None = None,
    confidence: Cuts | None = None,
    losses: bool = False,
    squares: bool = True,
) -> MatrixSums:
    """The requested sums of (n, k) predictions; the others are None.

    One query checks every row and sums the top label in the bins between the cuts `confidence`, and
    the losses; a second one sums every class against the rest in the bins between the cuts
    `classwise`. `squares` is ignored: squared predictions are always summed.
    """
    query = Query(samples, "confidence")
    if confidence is not None:
        query.add_fields().add_cuts(confidence)
    if losses:
        ask_losses(query)
    groups = query.run()
    return MatrixSums(
        None if classwise is None else class_sums(samples, classwise),
        None if confidence is None else groups.binned(confidence),
        losses_of(groups, samples.n_classes).sums if losses else None,
        groups.findings,
    )


def class_sums(samples: FrameSamples, cuts: Cuts) -> Array:
    """Bin sums of every class against the rest, (classes, bins, fields), in one query. The rows
    must have been checked before.
    """
    query = Query(_row_per_class(samples), "binary", by=("class",)).add_fields().add_cuts(cuts)
    return _binned_by_class(samples, query.run(), cuts)


def class_cells(samples: FrameSamples, cells: Cells) -> Array:
    """Sums of each class against the rest in the `cells` of a stream, (classes, cells, fields)."""
    query = Query(_row_per_class(samples), "binary", by=("class",)).add_fields().add_cells(cells)
    return _binned_by_class(samples, query.run(), cells.cuts(samples.precision))


def _binned_by_class(samples: FrameSamples, groups: Groups, cuts: Cuts) -> Array:
    """The bin sums of every class, (classes, bins, fields), from groups by class (`by0`)."""
    names = prediction_names(samples)
    return np.stack([groups.select(groups.columns["by0"] == name).binned(cuts) for name in names])


def class_columns(samples: FrameSamples) -> Iterator[FrameSamples]:
    """Yield each class against the rest, as the samples of a binary problem."""
    frame = clean(samples).filter(col("ok"))
    for r in range(samples.n_classes):
        yield _binary_samples(samples, _class_frame(samples, frame, r), hard=not samples.soft_rows)


def rows_above(samples: FrameSamples, threshold: float) -> FrameSamples | None:
    """The samples restricted to the rows of a binary problem with positive weight and a prediction
    above the threshold; None if there are none.
    """
    above = col("u") > exact(rounded(threshold, samples.precision))
    if has_weights(samples):
        above = above & (col("w") > 0.0)
    weights = ["w"] if has_weights(samples) else []
    frame = scalar(samples, "binary").filter(col("ok") & above).select("u", "z", *weights)
    if collected(frame.head(1)).is_empty():
        return None
    return _binary_samples(samples, frame, hard=samples.hard)


def _binary_samples(samples: FrameSamples, frame: Frame, *, hard: bool) -> FrameSamples:
    """The samples of a binary problem from a frame with the columns `u` (prediction), `z` (target)
    and `w` (weight, if any), all checked. `hard` says that all targets are 0 or 1.
    """
    return replace(
        samples.as_binary(frame, weighted=has_weights(samples), hard=hard),
        class_names=None,
        rounded_to=samples.precision.name,
        vote_columns=(),
        stated_votes=None,
    )


def _class_frame(samples: FrameSamples, frame: Frame, r: int) -> Frame:
    """The frame of class r against the rest as a binary problem: columns `u` (prediction), `z`
    (target), and `w` (weight) if there is one.
    """
    target = col(f"q{r}") if samples.soft_rows else number(col("q0") == float(r))
    weights = ["w"] if has_weights(samples) else []
    return frame.select(*weights, u=col(f"p{r}"), z=target)


def class_refinement_pass(samples: FrameSamples) -> JointPass[int]:
    """A function that reads again the rows of several classes whose predictions lie in the spans to
    refine (see `refine.JointPass`).

    Its arguments are each class's spans (lowest and highest predictions) and the number of parts to
    cut a span into, or None for a group per distinct prediction. It returns for each class the
    smallest and largest prediction and the sums of every group. One query serves as many classes as
    it can.
    """
    names = prediction_names(samples)

    def read(asked: dict[int, Spans], parts: int | None) -> dict[int, tuple[Array, Array, Array]]:
        """The groups of each class (smallest prediction, largest prediction, sums) within its
        spans.
        """
        out = {}
        for some in _query_groups(asked):
            # With all classes it is the frame whose cells were summed, which is planned already.
            long = _row_per_class(
                samples, () if len(some) == len(names) else tuple(names[r] for r in some)
            )
            key: Expr = nw.lit(-1.0)
            for r, (low, high) in some.items():
                own = group_key(samples, low, high, parts)
                key = where(col("by0") == names[r], own, key)
            groups = Query(long, "binary", by=("class",)).add_fields().grouped(key)
            for r in some:
                mine = groups.select((groups.columns["by0"] == names[r]) & (groups["key"] >= 0))
                out[r] = mine["low"], mine["high"], mine.fields
        return out

    return read


def _query_groups(asked: dict[int, Spans]) -> Iterator[dict[int, Spans]]:
    """Yield the classes with their spans in groups, one for each query: at most MOST_SPANS spans in
    a group, since planners slow down, unless a single class has more.
    """
    some: dict[int, Spans] = {}
    for r, spans in asked.items():
        if some and sum(low.size for low, _ in (*some.values(), spans)) > MOST_SPANS:
            yield some
            some = {}
        some[r] = spans
    if some:
        yield some


@plan_once
def _row_per_class(samples: FrameSamples, wanted: tuple[str, ...] = ()) -> FrameSamples:
    """Binary samples with one row for every pair of row and class; the column `class` has the name
    of the class's column of predictions. `wanted` names the columns (none: all).

    A hard label goes into the sign of the prediction, so that one column holds both and the frame
    is read once. Not every engine can stack two columns together: with soft labels the result is a
    union of the classes' own frames, and the engine may read the frame once for each.
    """
    frame = clean(samples).filter(col("ok"))
    every = prediction_names(samples)
    names = [name for name in every if not wanted or name in wanted]
    if samples.soft_rows:
        named = [
            _class_frame(samples, frame, r).with_columns(**{"class": nw.lit(name)})
            for r, name in enumerate(every)
            if name in names
        ]
        return _binary_samples(samples, stacked(named), hard=False)
    signed = {
        name: where(col("q0") != float(r), col(name), _negated(col(name)))
        for r, name in enumerate(every)
        if name in names
    }
    index = ["w"] if has_weights(samples) else []
    long = unpivoted(frame.select(*index, **signed), names, index)
    value = col("value")
    prediction = where(value > -2.0, value.abs(), 0.0)
    return _binary_samples(
        samples, long.select("class", *index, u=prediction, z=number(value < 0.0)), hard=True
    )


def _negated(prediction: Expr) -> Expr:
    """The prediction with a minus sign, as an expression; -2 in place of -0, whose sign would be
    lost.
    """
    return where(prediction > 0.0, 0.0 - prediction, -2.0)


def unpivoted(frame: Frame, names: list[str], index: list[str]) -> Frame:
    """The frame in long form: the columns `names` stacked into one column `value`, their names in a
    column `class`, and the columns `index` repeated for each.
    """
    if not frame.implementation.is_duckdb():
        return frame.unpivot(on=names, index=index, variable_name="class", value_name="value")
    # narwhals asks DuckDB's default connection, which does not know other connections' relations.
    columns = ", ".join(names)
    sql = f"select * from (unpivot wide on {columns} into name class value value)"
    return nw.from_native(frame.to_native().query("wide", sql))
