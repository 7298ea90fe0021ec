"""Losses of single rows as expressions, and their sums."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import narwhals as nw
import numpy as np

from calibrant._core.errors import InputError
from calibrant._core.loss_sums import FIELDS, LossSums
from calibrant._core.typing import Array
from calibrant._data.frame_samples import FrameSamples
from calibrant._data.links import LOG_FLOOR
from calibrant._engines.frames.columns import prediction_names, target_names
from calibrant._engines.frames.expressions import (
    Expr,
    all_of,
    at_least,
    col,
    exact,
    number,
    total,
    where,
)
from calibrant._engines.frames.groups import Groups
from calibrant._engines.frames.problem import lifted
from calibrant._engines.frames.query import Query
from calibrant._engines.protocol import Findings

# The most classes for distances: every pair is compared to tell whether two rows rank it alike.
MOST_RANKED = 64
# Probabilities are lifted to this before their logarithm: less adds nothing to an entropy.
_TINY = 2.0**-60
# The Jensen-Shannon divergence is a series of _TERMS terms where the square is below _SERIES.
_SERIES, _TERMS = 2.0**-8, 7


# A loss: the columns that it needs, layer by layer, and its expression from these columns.
Loss = tuple[list[dict[str, Expr]], Expr]


def ask_losses(
    query: Query,
    *,
    distribution: bool = False,
    only: str | None = None,
    spacing: Array | None = None,
) -> None:
    """Request the sums of the proper losses in a query, with `distribution` also of the distances
    between predicted and target distributions; or of the one loss named by `only`.

    An expression that a loss needs twice becomes a column: engines compute an expression anew
    wherever it is written, and a quotient is written out four times where dividing by 0 is an
    error. `spacing` is the distance between neighbouring classes (None: 1).
    """
    samples = query.samples
    p, q = class_rows(samples)
    squares = [(a - b) * (a - b) for a, b in zip(p, q, strict=True)]
    products = total([a * b for a, b in zip(p, q, strict=True)])
    lengths = {"products": products, "length": total([a * a for a in p]).sqrt()}
    if samples.hard:  # the probability of the label seen
        logs = lifted(col("products"), LOG_FLOOR).log()
    else:
        logs = total([b * lifted(a, LOG_FLOOR).log() for a, b in zip(p, q, strict=True)])
    losses: dict[str, Loss] = {
        # A binary problem counts the square of one class, not of both.
        "brier": ([], total(squares) if samples.multiclass else squares[1]),
        "log": ([{"products": products}] if samples.hard else [], 0.0 - logs),
        "spherical": ([lengths], 1.0 - col("products") / col("length")),
    }
    if samples.multiclass:
        missed, beyond = {"missed": 1.0 - col("z")}, {"beyond": col("u") - col("z")}
        squared = col("missed") + col("beyond") * col("beyond")
        losses["classification"] = [missed], col("missed")
        losses["confidence"] = [missed | beyond], squared
    elif only in (None, "classification", "confidence"):
        _ask_misses(query)
        if only != "classification":
            query.derived["confidence"] = lambda groups: groups["classification"] + groups["brier"]
        only = "brier" if only == "confidence" else only
    if distribution:
        losses |= _distances(p, q, spacing)
    if query.weighted and "n" not in query.sums:
        query.sums |= {"n": number(col("w") > 0.0), "w": col("w")}
    for name, (layers, loss) in losses.items():
        if only in (None, name):
            query.let(*layers)
            query.sums[name] = query.weigh(loss)
    if samples.hard:
        clipped = number(products < exact(LOG_FLOOR))
    else:
        each = zip(p, q, strict=True)
        clipped = total([number((a < exact(LOG_FLOOR)) & (b > 0.0)) for a, b in each])
    query.finding_sums["found_log_clipped"] = clipped


def _ask_misses(query: Query) -> None:
    """Request the misses of the predicted class of a binary problem: 1 for a wrong class."""
    if not query.has_half:
        query.steps.append(number(col("u") > 0.5))
    query.add_target_sum()
    query.derived |= {
        "classification": lambda groups: np.where(
            groups["low"] > 0.5, groups.weight - groups["wz"], groups["wz"]
        )
    }


def class_rows(samples: FrameSamples) -> tuple[list[Expr], list[Expr]]:
    """The probabilities and the targets of all classes in each row, as two lists of expressions. A
    binary problem has two classes.
    """
    if not samples.multiclass:
        return [1.0 - col("p0"), col("p0")], [1.0 - col("q0"), col("q0")]
    p = [col(name) for name in prediction_names(samples)]
    if samples.soft_rows:
        return p, [col(name) for name in target_names(samples)]
    return p, [number(col("q0") == float(r)) for r in range(len(p))]


def _distances(p: list[Expr], q: list[Expr], spacing: Array | None) -> dict[str, Loss]:
    """The distances between the prediction p and the target q, distributions over classes, by the
    name of their sum.

    Each is a pair: layers of columns to add first, and the expression of these columns. `spacing`
    is the distance between neighbouring classes (None: 1). InputError for more than MOST_RANKED
    classes.
    """
    if len(p) > MOST_RANKED:
        raise InputError(
            f"a frame's engine computes distances between distributions of at most {MOST_RANKED} "
            f"classes; got {len(p)}: collect the frame first"
        )
    ranked = [
        all_of([(q[a] <= q[b]) | (p[a] > p[b]), (q[b] <= q[a]) | (p[b] > p[a])])
        for a, b in combinations(range(len(p)), 2)
    ]
    ratios = [col(f"ratio{r}") for r in range(len(p))]
    terms = [_jensen_shannon(a, b, ratio) for a, b, ratio in zip(p, q, ratios, strict=True)]
    quotients = {
        f"ratio{r}": (a - b) / lifted(a + b, _TINY)
        for r, (a, b) in enumerate(zip(p, q, strict=True))
    }
    divergence = [quotients, {"divergence": 0.25 * total(terms)}]
    entropies = [{"entropies": _entropy(p) - _entropy(q)}]
    manhattan = [{"manhattan": total([(a - b).abs() for a, b in zip(p, q, strict=True)])}]
    surprise = [{"surprise": total([_surprise(a, b) for a, b in zip(p, q, strict=True)])}]
    return {
        "distribution": (manhattan, 0.5 * col("manhattan")),
        "entropy": (entropies, col("entropies").abs()),
        "entropy_signed": (entropies, col("entropies")),
        "rank": ([], number(all_of(ranked))),
        "absolute": (manhattan, col("manhattan")),
        "jensen_shannon": (divergence, col("divergence")),
        "root_jensen_shannon": (divergence, col("divergence").sqrt()),
        "relative_entropy": (surprise, at_least(col("surprise"), nw.lit(0.0))),
        "transport": ([], _wasserstein(p, q, spacing)),
        "top_distance": ([], (col("u") - col("z")).abs()),
    }


def _jensen_shannon(p: Expr, q: Expr, d: Expr) -> Expr:
    """The term of one class in four times the Jensen-Shannon divergence of p and q, given d = (p -
    q) / (p + q).

    Engines have no log(1 + x). Near p = q, where logarithms cancel, the term is summed as a series;
    elsewhere 1 + d, which is 2 p / (p + q), loses no digit that the sum has.
    """
    x = d * d
    series = nw.lit(0.0)
    for j in range(_TERMS, 0, -1):
        series = x * (1.0 / (j * (2 * j - 1)) + series)
    logs = total([a * lifted(a, _TINY).log() for a in (1.0 + d, 1.0 - d)])
    return (p + q) * where(x < _SERIES, series, logs)


def _surprise(p: Expr, q: Expr) -> Expr:
    """The term of one class in the Kullback-Leibler divergence of the target q from the prediction
    p.
    """
    return q * (lifted(q, _TINY) / lifted(p, LOG_FLOOR)).log()


def _wasserstein(p: list[Expr], q: list[Expr], spacing: Array | None) -> Expr:
    """The Wasserstein distance of p and q over ordered classes: mass times the distance it moves.
    `spacing` is the distance between neighbouring classes (None: 1).
    """
    crossing, gaps = nw.lit(0.0), []
    for r, (a, b) in enumerate(zip(p[:-1], q[:-1], strict=True)):
        crossing = crossing + (a - b)
        gaps.append(crossing.abs() if spacing is None else crossing.abs() * exact(spacing[r]))
    return total(gaps)


def _entropy(p: list[Expr]) -> Expr:
    """The entropy, in nats, of a distribution over classes."""
    return 0.0 - total([a * lifted(a, _TINY).log() for a in p])


def losses_of(groups: Groups, n_classes: int) -> LossSums:
    """The loss sums of a problem of this many classes, over all groups of a query. A loss that the
    query did not request has the sum 0.
    """
    sums = np.zeros(len(FIELDS))
    sums[0] = groups.total("n" if "n" in groups else "rows")
    sums[1] = groups.total("w" if "w" in groups else "rows")
    for j, name in enumerate(FIELDS[2:], start=2):
        sums[j] = groups.total(name)
    return LossSums(sums, n_classes, "rank" in groups)


def loss_sums(
    samples: FrameSamples,
    *,
    distribution: bool = False,
    only: str | None = None,
    spacing: Array | None = None,
) -> tuple[LossSums, Findings]:
    """Sums of the proper losses, with `distribution` also of the distances between predicted and
    target distributions, and the findings.

    If `only` one loss is named the sums of others are NaN, since planning them all takes longest.
    `spacing` is the distance between neighbouring classes (None: 1).
    """
    query = Query(samples, "confidence" if samples.multiclass else "binary")
    ask_losses(query, distribution=distribution, only=only, spacing=spacing)
    groups = query.run()
    losses = losses_of(groups, samples.n_classes)
    if only is not None:
        losses.sums[[j for j, name in enumerate(FIELDS) if j > 1 and name != only]] = np.nan
    return replace(losses, has_distribution=distribution), groups.findings
