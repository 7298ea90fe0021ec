"""Sums by cell of the logits of a frame's predictions, for logistic fits of one pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import narwhals as nw
import numpy as np

from calibrant._core.typing import Array, Index
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.links import logit
from calibrant._data.samples import Notion
from calibrant._engines.frames.expressions import (
    Expr,
    clipped_logit,
    col,
    exact,
    floor,
    number,
    powers_of,
    sigmoid,
    where,
)
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.query import Query
from calibrant._engines.logit_sums import (
    EVENT,
    KINDS,
    NO_WEIGHT,
    NOISE,
    POWERS,
    SOFT,
    WIDTH,
    ClusterScores,
    LogisticModel,
    LogitSums,
)
from calibrant._engines.protocol import Findings

# A key is ((cell + FIRST) * 2 + moved) * KINDS + kind.
_FIRST = 1 << 12


def logit_sums(
    samples: FrameSamples, notion: Notion, eps: float, by: Sequence[str] = ()
) -> tuple[Groups, Findings]:
    """The groups of one query over a scalar problem, of which `sums_of_groups` makes `LogitSums`,
    and the findings.

    Predictions are clipped to [eps, 1 - eps] before their logits are taken. With `by`, rows are
    grouped by these columns too.
    """
    query = Query(samples, notion, by=by)
    _add_logits(query, eps)
    query.let(
        {"lg_cell": floor(col("lg") * exact(1.0 / WIDTH))},
        {"lg_t": col("lg") - (col("lg_cell") + 0.5) * exact(WIDTH)},
        after=2,
    )
    place = (col("lg_cell") + float(_FIRST)) * 2.0 + col("lg_moved")
    query.steps.append(place * float(KINDS) + kind_of_target(query))
    powers = add_moments(query, col("lg_t"))
    if query.weighted:
        query.sums["n"] = number(col("w") > 0.0)
    z, u = col("z"), col("u")
    if not samples.hard:
        query.sums |= {f"zz{j}": query.weigh(z * z * power) for j, power in enumerate(powers)}
    if samples.weighted or not samples.hard:
        gap, variance, h = query.weigh(z - u), u * (1.0 - u), col("lg")
        noise = query.weigh(query.weigh(variance))
        sums = (gap, gap * h, gap * (z - u), query.weigh(variance), noise, noise * h, noise * h * h)
        query.sums |= dict(zip(NOISE, sums, strict=True))
    groups = query.run()
    return groups, groups.findings


def kind_of_target(query: Query) -> Expr:
    """The kind of a row's target (NO_EVENT, SOFT, EVENT); NO_WEIGHT for a row without weight."""
    kind = number(col("z") > 0.0) + number(col("z") >= 1.0)
    return where(col("w") > 0.0, kind, float(NO_WEIGHT)) if query.weighted else kind


def add_moments(query: Query, t: Expr) -> list[Expr]:
    """Request the sums of weight times t^j, as `m{j}`, of squared weights, as `ww`, and, of soft
    labels, of weight times target times t^j, as `z{j}`; return the POWERS powers of t.
    """
    powers = powers_of(t, POWERS)
    query.sums |= {f"m{j}": query.weigh(power) for j, power in enumerate(powers)}
    if query.weighted:
        query.sums["ww"] = col("w") * col("w")
    if not query.samples.hard:
        query.sums |= {f"z{j}": query.weigh(col("z") * power) for j, power in enumerate(powers)}
    return powers


def moments_of(groups: Groups, kind: Index) -> tuple[Array, Array]:
    """The moments (groups, powers) of the weight and of weight times target that `add_moments`
    requested; `kind` is each group's kind of target.
    """
    w = groups.powers("m", POWERS)
    if "z0" in groups:
        return w, groups.powers("z", POWERS)
    return w, np.where(kind[:, None] == EVENT, w, 0.0)


def _add_logits(query: Query, eps: float) -> None:
    """Add the columns `lg`, the logit of the clipped prediction, and `lg_moved`, 1 if it was
    clipped.
    """
    moved = number((col("u") < exact(eps)) | (col("u") > exact(1.0 - eps)))
    query.let(*clipped_logit(col("u"), eps, "lg"))
    query.let({"lg_moved": moved})


def sums_of_groups(groups: Groups, eps: float, findings: Findings) -> LogitSums:
    """The sums by cell from groups of `logit_sums`, of all rows or of a part."""
    samples = groups.samples
    key = groups.columns["key"].astype(np.int64)
    counted = key % KINDS != NO_WEIGHT
    groups, key = groups.select(counted), key[counted]
    place, kind = np.divmod(key, KINDS)
    cell, moved = np.divmod(place, 2)
    w, wz = moments_of(groups, kind)
    low, high = logit(np.clip(groups.ends(), eps, 1.0 - eps))
    return LogitSums(
        at=(cell - _FIRST + 0.5) * WIDTH,
        kind=kind.astype(np.intp),
        moved=moved == 1,
        low=low,
        high=high,
        n=groups["n" if "n" in groups else "rows"],
        w2=groups["ww" if "ww" in groups else "rows"],
        w=w,
        wz=wz,
        wzz=groups.powers("zz", POWERS) if "zz0" in groups else wz,
        weighted=samples.weighted,
        hard=not findings.soft and not (kind == SOFT).any(),
        noise=(np.stack([groups[name] for name in NOISE], axis=1) if NOISE[0] in groups else None),
    )


def score_squares(
    samples: FrameSamples,
    notion: Notion,
    eps: float,
    models: Sequence[LogisticModel],
    most_leverage: float,
) -> Array:
    """Sums over rows of the squared scores of logistic models, each score divided by 1 less its
    row's leverage: (2, models, 3), of rows whose prediction was not clipped, and of those whose
    was. The last axis has the factors 1, h and h^2 for the logit h.

    A leverage above `most_leverage` counts as that.
    """
    query = Query(samples, notion)
    _add_logits(query, eps)
    query.steps.append(col("lg_moved"))
    h = col("lg")
    for k in range(len(models)):
        residual, leverage = _add_model(query, models[k], k)
        left = where(leverage < most_leverage, 1.0 - leverage, 1.0 - most_leverage)
        query.let({f"left{k}": left}, after=5)
        score = residual / col(f"left{k}")
        square = score * score
        query.sums |= {f"e{k}0": square, f"e{k}1": square * h, f"e{k}2": square * h * h}
    groups = query.run()
    out = np.zeros((2, len(models), 3))
    moved = groups.columns["key"].astype(np.intp)
    for k, j in product(range(len(models)), range(3)):
        np.add.at(out[:, k, j], moved, groups[f"e{k}{j}"])
    return out


def cluster_scores(
    samples: FrameSamples,
    notion: Notion,
    eps: float,
    clusters: str,
    models: Sequence[LogisticModel],
) -> tuple[Groups, ClusterScores]:
    """The scores of logistic models by cluster, which the column `clusters` names, and the groups
    that have the clusters' names (`by0`). Rows whose prediction was clipped have groups of their
    own, with the key 1.
    """
    query = Query(samples, notion, by=(clusters,))
    _add_logits(query, eps)
    query.steps.append(col("lg_moved"))
    u, z, h = col("u"), col("z"), col("lg")
    query.let({"lg_sd": (u * (1.0 - u)).sqrt()}, after=2)
    counted = number(col("w") > 0.0) if query.weighted else nw.lit(1.0)
    sd = query.weigh(col("lg_sd"))
    query.sums |= {
        "weight": query.weigh(nw.lit(1.0)),
        "residual": z - u,
        "square": (z - u) * (z - u),
        "deviation": col("lg_sd"),
        "variance": u * (1.0 - u),
        "weighted_square": query.weigh((z - u) * (z - u)),
        "weighted_variance": query.weigh(u * (1.0 - u)),
        "scale": sd,
        "scale_h": sd * h,
        "noise_0": sd * sd,
        "noise_1": sd * sd * h,
        "noise_2": sd * sd * h * h,
        "gap": query.weigh(z - u),
        "gap_h": query.weigh(z - u) * h,
        "non_events": counted * number(z <= 0.0),
        "events": counted * number(z >= 1.0),
    }
    for k in range(len(models)):
        residual, leverage = _add_model(query, models[k], k)
        query.sums |= {f"l{k}": leverage, f"s{k}0": residual, f"s{k}1": residual * h}
    groups = query.run()
    shape = range(len(models))
    return groups, ClusterScores(
        sums={name: groups[name] for name in ClusterScores.NAMES},
        leverage=np.array([groups[f"l{k}"] for k in shape]),
        scores=np.array([[groups[f"s{k}{j}"] for j in range(2)] for k in shape]),
    )


def _add_model(query: Query, model: LogisticModel, k: int) -> tuple[Expr, Expr]:
    """Add the columns of a logistic model, number k, and return a row's weighted residual and its
    leverage as expressions.
    """
    intercept, slope, inverse = model
    h = col("lg")
    b = [[exact(float(each)) for each in row] for row in inverse]
    query.let(
        {f"line{k}": h * exact(slope) + exact(intercept)},
        {f"small{k}": (0.0 - col(f"line{k}").abs()).exp()},
        {f"lg_p{k}": sigmoid(col(f"line{k}"), col(f"small{k}"))},
        after=2,
    )
    p = col(f"lg_p{k}")
    form = (h * h) * b[1][1] + h * (b[0][1] + b[1][0]) + b[0][0]
    return query.weigh(col("z") - p), query.weigh(p * (1.0 - p) * form)
