"""What recalibration maps are fitted to: sums of a frame's rows, made in its engine."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import narwhals as nw
import numpy as np

from calibrant._core.binning import EqualWidth, Quantile, Rule
from calibrant._core.errors import InputError, NotDefined, check_weight_total
from calibrant._core.typing import Array
from calibrant._data.explain import check_not_swapped
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.links import LOG_FLOOR, logit
from calibrant._engines.arrays.quantiles import edges_at
from calibrant._engines.cells import Cells
from calibrant._engines.frames.collecting import totals
from calibrant._engines.frames.columns import prediction_names, raw, target_names
from calibrant._engines.frames.curves import MOST_ROWS, curve_groups
from calibrant._engines.frames.expressions import (
    Expr,
    Frame,
    clipped,
    clipped_logit,
    col,
    exact,
    floor,
    largest,
    number,
    smallest,
    total,
    where,
)
from calibrant._engines.frames.logits import add_moments, kind_of_target, moments_of
from calibrant._engines.frames.losses import loss_sums
from calibrant._engines.frames.problem import lifted, with_probabilities
from calibrant._engines.frames.quantiles import level_sets
from calibrant._engines.frames.query import Query
from calibrant._engines.frames.refining import EqualMass
from calibrant._engines.frames.tables import bin_table
from calibrant._engines.logit_cells import (
    PER_ZONE,
    SIDES,
    WIDTHS,
    LogitCells,
    View,
    check_reach,
)
from calibrant._engines.logit_sums import KINDS
from calibrant._engines.softmax_sums import MOST_LOSS, FitFacts, SoftmaxModel, SoftmaxSums

# The most parameters of a softmax: a query sums the product of each two of them.
MOST_PARAMETERS = 40
# The logit of a probability at the floor, and one below all others.
LOWEST, _NEVER = float(logit(np.array(LOG_FLOOR))), -1e300


# --- maps of one logit --------------------------------------------------------------------------


def logit_cells(samples: FrameSamples, view: View) -> LogitCells:
    """The sums by cell of the logits of a binary problem, from one query that checks all rows."""
    query = Query(samples, "binary")
    if samples.from_logits:
        h = col("u" if samples.sound else "h")
        side = number(h <= exact(LOWEST)) + number(h >= exact(-LOWEST)) * 2.0
        query.let({"fit_side": side}, {"fit_h": h})
    else:
        side = number(col("u") <= LOG_FLOOR) + number(col("u") >= exact(1.0 - LOG_FLOOR)) * 2.0
        query.let({"fit_side": side})
        query.let(*clipped_logit(col("u"), LOG_FLOOR, "fit_h"))
    x, size = col("fit_x"), col("fit_size")
    beyond = [number(size >= 8.0**j) for j in range(1, len(WIDTHS))]
    inverse = nw.lit(1.0 / WIDTHS[-1])
    for j in range(len(WIDTHS) - 2, -1, -1):
        inverse = where(size < 8.0 ** (j + 1), 1.0 / WIDTHS[j], inverse)
    query.let(
        {"fit_x": (col("fit_h") - exact(view.centre)) * exact(view.scale)},
        {"fit_size": x.abs()},
        {"fit_zone": total(beyond), "fit_place": x * inverse},
        {"fit_cell": floor(col("fit_place"))},
        {"fit_t": (col("fit_place") - col("fit_cell") - 0.5) * 2.0},
        after=2,
    )
    query.ends = ("u", "fit_t", "fit_size")
    place = col("fit_zone") * float(PER_ZONE) + col("fit_cell") + PER_ZONE / 2
    side_of_place = place * float(SIDES) + col("fit_side")
    query.steps.append(side_of_place * float(KINDS) + kind_of_target(query))
    add_moments(query, col("fit_t"))
    groups = query.run()
    check_reach(float(groups["high of fit_size"].max()))
    if groups.findings.soft:
        check_not_swapped(samples)
    key = groups.columns["key"].astype(np.intp)
    w, wz = moments_of(groups, key % KINDS)
    check_weight_total(float(w[:, 0].sum()), groups.n_rows)
    at = np.argsort(key)
    low, high = groups.ends("fit_t")[:, at]
    n, w2 = groups["rows"][at], groups["ww" if "ww" in groups else "rows"][at]
    return LogitCells(key[at], n, w2, low, high, w[at], wz[at], view)


def class_logits(samples: FrameSamples, r: int, *, logits: bool) -> FrameSamples:
    """Class r against the rest as a binary problem of logits: those of its probability, or, with
    `logits`, its logit less the log-sum-exp of the others'.
    """
    names = prediction_names(samples)
    frame, own = fit_frame(samples, logits=logits), col(names[r])
    if logits:
        rest = [name for j, name in enumerate(names) if j != r]
        frame = frame.with_columns(rest_top=largest(rest))
        powers = total([(col(name) - col("rest_top")).exp() for name in rest])
        u = own - col("rest_top") - powers.log()
    else:
        for layer in clipped_logit(own, LOG_FLOOR, "own_logit"):
            frame = frame.with_columns(**layer)
        u = col("own_logit")
    weights = ["w"] if samples.weighted else []
    frame = frame.select(*weights, u=u, z=col(f"q{r}"))
    binary = samples.as_binary(frame, weighted=samples.weighted, hard=not samples.soft_rows)
    return replace(binary, from_logits=True, class_names=None)


# --- maps of all classes ------------------------------------------------------------------------


def fit_frame(samples: FrameSamples, *, logits: bool) -> Frame:
    """The rows, which have been checked: predictions `p0`, ... (probabilities, or with `logits` the
    logits), targets `q0`, ... of all classes, which sum to 1, and the weight `w`, if any.
    """
    names, frame = prediction_names(samples), raw(samples)
    if samples.from_logits and not logits:
        frame = with_probabilities(samples, frame)
    p = {name: col(name) if samples.from_logits else clipped(col(name)) for name in names}
    if samples.soft_rows:
        q = {name: clipped(col(name)) for name in target_names(samples)}
        frame = frame.with_columns(**q)
        whole = total([col(name) for name in q])
        q = {name: col(name) / whole for name in q}
    else:
        q = {f"q{r}": number(col("q0") == float(r)) for r in range(len(names))}
    weights = ["w"] if samples.weighted else []
    return frame.select(*weights, **p, **q)


def fit_facts(samples: FrameSamples) -> FitFacts:
    """The facts of (n, k) predictions, from two queries; the first checks all rows."""
    losses, found = loss_sums(samples, only="log")
    if found.soft:
        check_not_swapped(samples)
    k = samples.n_classes
    frame, w = fit_frame(samples, logits=False), _weight(samples)
    at_floor = {f"o{r}": number(col(f"p{r}") <= LOG_FLOOR) * col(f"q{r}") for r in range(k)}
    frame = frame.with_columns(**at_floor).with_columns(out=total([col(n) for n in at_floor]))
    sums = {"n": nw.lit(1.0), "w": w, "n_out": number(col("out") > 0.0)}
    sums |= {name: w * col(name) for j in range(k) for name in (f"q{j}", f"o{j}")}
    sums |= {f"p{r}": w * _lifted(col(f"p{r}")) for r in range(k)}
    s = totals(frame, sums)
    check_weight_total(s["w"], int(s["n"]))
    mass, out, predicted = (np.array([s[f"{kind}{r}"] for r in range(k)]) for kind in "qop")
    ruled_out = (0, 0.0) if samples.from_logits else (int(s["n_out"]), float(out.sum()))
    loss, hard = losses.mean("log"), not found.soft
    return FitFacts(int(s["n"]), s["w"], loss, mass, mass - out, predicted, hard, ruled_out)


def softmax_sums(
    samples: FrameSamples, model: SoftmaxModel, theta: Array, *, logits: bool
) -> SoftmaxSums:
    """The sums of a softmax over all rows, which have been checked, from one query. Scores are
    logits or, without `logits`, the logarithms of probabilities.

    In a model with an offset, classes with a probability at the floor are impossible: their
    targets are left out of their rows.
    """
    if (count := model.n_parameters) > MOST_PARAMETERS:
        raise InputError(
            f"a lazy frame sums the products of up to {MOST_PARAMETERS} parameters, but this map "
            f"has {count}: fit it to a file with `calibrant scale`, or collect the frame"
        )
    frame = _with_softmax(_scored(samples, model, logits=logits), model, theta)
    classes = model.own_classes
    features: dict[int, dict[int, Expr]] = {j: {} for j in range(count)}
    for r in classes:
        for j, scaled in model.classes[r] or ():
            features[j][r] = col(f"s{r}") if scaled else nw.lit(1.0)
    means = {
        f"g{j}": total([col(f"x{r}") * f for r, f in own.items()]) for j, own in features.items()
    }
    others = [where(col(f"q{r}") > 0.0, _NEVER, col(f"e{r}")) for r in classes]
    mine = [where(col(f"q{r}") > 0.0, col(f"e{r}"), _NEVER) for r in classes]
    frame = frame.with_columns(**means, own=largest(mine), rest=largest(others))
    w = _weight(samples)
    hits = {r: col(f"q{r}") for r in classes}
    cap = exact(MOST_LOSS)
    capped = {r: where(col(f"l{r}") < cap, col(f"l{r}"), cap) for r in classes}
    sums = {
        "w": w,
        "loss": w * total([hits[r] * col(f"l{r}") for r in classes]),
        "floored": w * total([hits[r] * capped[r] for r in classes]),
        "wrong": number(w > 0.0) * number(col("own") <= col("rest")),
    }
    for j, own in features.items():
        off = [hits[r] * f for r, f in own.items()]
        sums[f"d{j}"] = w * (col(f"g{j}") - total(off))
    for i, j in combinations_with_replacement(range(count), 2):
        shared = [r for r in classes if r in features[i] and r in features[j]]
        both = [col(f"x{r}") * features[i][r] * features[j][r] for r in shared]
        product = col(f"g{i}") * col(f"g{j}")
        sums[f"h{i} {j}"] = w * ((total(both) - product) if both else (0.0 - product))
    found = totals(frame, sums)
    hessian = np.zeros((count, count))
    for i, j in combinations_with_replacement(range(count), 2):
        hessian[i, j] = hessian[j, i] = found[f"h{i} {j}"]
    gradient = np.array([found[f"d{j}"] for j in range(count)])
    parts = found["w"], found["loss"], found["floored"]
    return SoftmaxSums(*parts, gradient, hessian, found["wrong"])


def _with_softmax(frame: Frame, model: SoftmaxModel, theta: Array) -> Frame:
    """The rows of `_scored` with the softmax at the parameters: each class's logit `e{r}`,
    probability `x{r}` and loss `l{r}`.
    """
    classes = model.own_classes
    eta = {f"e{r}": _linear(model, r, theta) for r in classes}
    frame = frame.with_columns(**eta).with_columns(top=largest(list(eta)))
    powers = {f"x{r}": (col(f"e{r}") - col("top")).exp() for r in classes}
    if model.offset:
        powers = {f"x{r}": where(col(f"a{r}"), powers[f"x{r}"], 0.0) for r in classes}
    frame = frame.with_columns(**powers)
    frame = frame.with_columns(whole=total([col(name) for name in powers]))
    frame = frame.with_columns(lse=col("top") + col("whole").log())
    shares = {name: col(name) / col("whole") for name in powers}
    losses = {f"l{r}": col("lse") - col(f"e{r}") for r in classes}
    return frame.with_columns(**shares, **losses)


def moments(samples: FrameSamples, *, logits: bool) -> tuple[Array, Array, bool]:
    """The weighted mean and variance of each class's score, from two queries over checked rows, and
    whether all scores of every row are equal.
    """
    k, w = samples.n_classes, _weight(samples)
    frame = _scored(samples, SoftmaxModel.temperature(k), logits=logits)
    names = [f"s{r}" for r in range(k)]
    moves = number(largest(names) > smallest(names))
    found = totals(frame, {"w": w, "moves": moves} | {n: w * col(n) for n in names})
    mean = np.array([found[n] for n in names]) / found["w"]
    off = {n: col(n) - exact(m) for n, m in zip(names, mean.tolist(), strict=True)}
    squares = totals(frame.with_columns(**off), {n: w * col(n) * col(n) for n in names})
    return mean, np.array([squares[n] for n in names]) / found["w"], not found["moves"]


def _scored(samples: FrameSamples, model: SoftmaxModel, *, logits: bool) -> Frame:
    """The checked rows with a score for each class, `s0`, ..., their targets and weight; of a model
    with an offset also whether each class is possible, `a0`, ...
    """
    frame, k = fit_frame(samples, logits=logits and not model.offset), samples.n_classes
    weights = ["w"] if samples.weighted else []
    q = {f"q{r}": col(f"q{r}") for r in range(k)}
    if logits and not model.offset:
        return frame.select(*weights, **{f"s{r}": col(f"p{r}") for r in range(k)}, **q)
    s = {f"s{r}": _lifted(col(f"p{r}")).log() for r in range(k)}
    if not model.offset:
        return frame.select(*weights, **s, **q)
    possible = {f"a{r}": col(f"p{r}") > LOG_FLOOR for r in range(k)}
    frame = frame.select(*weights, **s, **q, **possible)
    kept = {n: where(col(f"a{r}"), col(n), 0.0) for r, n in enumerate(q)}
    frame = frame.with_columns(**kept)
    mass = total([col(n) for n in q])
    frame = frame.with_columns(mass=mass).filter(col("mass") > 0.0)
    frame = frame.with_columns(w=_weight(samples) * col("mass"))
    return frame.with_columns(**{n: col(n) / col("mass") for n in q})


def _linear(model: SoftmaxModel, r: int, theta: Array) -> Expr:
    """The logit of class r at the parameters."""
    score = col(f"s{r}")
    terms = []
    for j, scaled in model.classes[r] or ():
        terms.append(exact(float(theta[j])) * (score if scaled else nw.lit(1.0)))
    return total([*terms, score] if model.offset else terms)


def _weight(samples: FrameSamples) -> Expr:
    """The weight of a row."""
    return col("w") if samples.weighted else nw.lit(1.0)


def _lifted(p: Expr) -> Expr:
    """A probability lifted to the floor of logarithms."""
    return lifted(p, LOG_FLOOR)


# --- maps of levels and of bins ------------------------------------------------------------------


def levels_of(samples: FrameSamples) -> tuple[Array, Array, Array]:
    """The predictions of a binary problem in order, with the weight and the mean target of each;
    beyond 2^15 distinct ones those of some 5,000 cells.
    """
    try:
        table, cuts, found = level_sets(samples, "binary", MOST_ROWS)
    except NotDefined:
        groups = curve_groups(samples, "binary", 2, None)
        columns = groups.columns
        levels, soft = groups.mean, not columns.hard
        of_levels = (columns.w, columns.w * columns.z)
        w, wz = (np.bincount(groups.cell, x, levels.size).astype(np.float64) for x in of_levels)
    else:
        w, wz, soft = table.sum_w[0], table.sum_wz[0], found.soft
        levels = np.append(table.sum_wu[0, :1] / w[:1], cuts.inner)
    check_weight_total(float(w.sum()))
    if soft and not samples.sound:
        check_not_swapped(samples)
    return levels, w, wz / w


def bins_of(samples: FrameSamples, rule: Rule) -> tuple[Array, Array, Array]:
    """The bins of a binary problem, as rows in memory have them: inner edges, and the sums of
    weights and of targets.
    """
    if not isinstance(rule, Quantile):
        table, cuts, _ = bin_table(samples, "binary", rule)
        return cuts.inner, table.sum_w[0], table.sum_wz[0]
    groups = Query(samples, "binary").add_fields().add_cells(Cells(EqualWidth(1))).run()
    own = EqualMass(samples, "binary", groups, rule.m).own
    mass, table = own.sums[:, 1], own.table
    through, ranks = np.cumsum(mass), np.arange(1, rule.m) / rule.m
    at = np.minimum(np.searchsorted(through, ranks * through[-1]), mass.size - 1)
    # A group that an edge falls into is one prediction; others end below the edge.
    ends = own.high[at], through[at] - mass[at], mass[at], float(through[-1])
    return edges_at(*ends, rule.m), table.sum_w[0], table.sum_wz[0]


def mean_loss(samples: FrameSamples, frame: Frame, mapped: list[Expr]) -> float:
    """The log loss of probabilities, an expression for each class, over the rows of `fit_frame`."""
    names = {f"m{r}": each for r, each in enumerate(mapped)}
    frame = frame.with_columns(**names)
    logs = [col(f"q{r}") * _lifted(col(name)).log() for r, name in enumerate(names)]
    w = _weight(samples)
    found = totals(frame, {"w": w, "loss": w * total(logs)})
    return -found["loss"] / found["w"]
