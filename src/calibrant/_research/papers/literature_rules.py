"""What a printed number means: the convention it was computed by, and whether it comes out.

A convention is written in words, separated by commas:

    10 bins            ten bins of equal width, closed on the left, the last one on both sides
    10 quantile bins   bins between the quantiles of the predictions (numpy.quantile)
    right              bins closed on the right, with 0 in the first
    linspace           edges as numpy.linspace has them: 0.30000000000000004 in place of 0.3
    1 in no bin        rows of exactly 1 are counted and in no bin; so "0 in no bin", "above 1 ..."
    mean over bins     each bin that has rows counts the same, however many they are
    top label          of P(y = 1): the larger of p and 1 - p, against whether that class came true
    last of cluster    each row has the prediction of the last row of its cluster
    hits               predictions of 1 in place of the outcome: whether p >= 1/2 was right
    mean over classes  Brier score divided by the number of classes
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from calibrant._api.metrics.binned import ece
from calibrant._api.metrics.losses import brier_score
from calibrant._api.metrics.ranking import auroc
from calibrant._api.reliability import reliability
from calibrant._core.binning import Edges, EqualWidth
from calibrant._core.typing import Array
from calibrant._research.papers.literature_rows import Rows

MET, OTHER, WRONG, UNEXPLAINED = "met", "met under another convention", "wrong", "unexplained"
NOT_AT_HAND = "not at hand"

_PLACES = 6  # sums in single precision, or of rounded predictions, agree no further
_EXTRAS = (
    "",
    "right",
    "linspace",
    "linspace, right",
    "1 in no bin",
    "right, 0 in no bin",
    "mean over bins",
    "top label",
    "top label, right",
)


def measured(measure: str, convention: str, rows: Rows) -> float:
    """A measure ("ece", "brier" or "auroc") of some rows, by a convention in words."""
    words = convention.split(", ")
    rows = _with_last_of_cluster(rows) if "last of cluster" in words else rows
    if measure == "brier" and "top label" not in words:
        classes = rows.predictions.shape[1:] if "mean over classes" in words else ()
        return brier_score(rows.outcomes, rows.predictions) / (classes or (1,))[0]
    outcomes, predictions = _outcomes_and_probabilities(words, rows)
    if measure == "brier":
        return brier_score(outcomes, predictions)
    if measure == "auroc":
        # A ranking score need not be a probability: its ranks are.
        ranks = np.unique(predictions, return_inverse=True)[1]
        return auroc(outcomes, ranks / max(ranks.max(), 1))
    return _binned_error(words, outcomes, predictions)


def _with_last_of_cluster(rows: Rows) -> Rows:
    """The rows, each with the prediction of the last row of its cluster."""
    assert rows.clusters is not None
    last = dict(zip(rows.clusters.tolist(), range(len(rows.clusters)), strict=True))
    places = [last[key] for key in rows.clusters.tolist()]
    return replace(rows, predictions=rows.predictions[places])


def _outcomes_and_probabilities(words: list[str], rows: Rows) -> tuple[Array, Array]:
    """Outcomes and probabilities, (n,), that a convention compares."""
    z, u = rows.of_top_label()
    hits = ((u >= 0.5) == (z == 1)).astype(np.float64)
    if "top label" in words and rows.predictions.ndim == 1:
        return hits, np.maximum(u, 1 - u)
    return (hits if "hits" in words else z), u


def rule_of(convention: str, predictions: Array) -> EqualWidth | Edges:
    """The bins of a convention; quantile bins have edges that depend on the predictions."""
    words = convention.split(", ")
    found = re.match(r"(\d+) (quantile )?bins", words[0])
    bins = int(found[1]) if found else 15
    closed: Literal["left", "right"] = "right" if "right" in words else "left"
    if found and found[2]:
        edges = np.quantile(predictions, np.linspace(0, 1, bins + 1))
        inner = [float(edge) for edge in np.unique(edges[1:-1]) if 0 < edge <= 1]
        # Where many predictions are exactly 1, they have a bin of their own.
        return Edges([0.0, *inner, 2.0 if inner and inner[-1] == 1 else 1.0], closed)
    if "linspace" in words:
        return Edges([float(edge) for edge in np.linspace(0, 1, bins + 1)], closed)
    return EqualWidth(bins, closed)


def _binned_error(words: list[str], z: Array, u: Array) -> float:
    """The binned error of a convention."""
    rule = rule_of(", ".join(words), u)
    kept = np.ones(u.size, bool)
    kept &= (u != 1) if "1 in no bin" in words else True
    kept &= (u != 0) if "0 in no bin" in words else True
    kept &= (u <= 1) if "above 1 in no bin" in words else True
    if not kept.any():
        return 0.0
    if "mean over bins" in words:
        table = reliability(z[kept], u[kept], bins=rule).columns()
        filled = np.array(table["n"]) > 0
        return float(np.abs(np.array(table["gap"], np.float64)[filled]).mean())
    return ece(z[kept], u[kept], bins=rule) * float(kept.mean())


def digits(printed: str) -> int:
    """How many digits after the point a printed number has."""
    mantissa, _, exponent = printed.lower().partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def agrees(printed: str, value: float) -> bool:
    """Whether a value rounds to the printed digits, or to six places where more are printed."""
    return abs(float(printed) - value) <= 0.5 * 10.0 ** -min(digits(printed), _PLACES) + 1e-12


def search(measure: str, stated: str, printed: str, rows: Rows) -> str | None:
    """The first other convention under which a printed number comes out, or None."""
    tried = (
        c
        for c in _other_conventions(measure, stated)
        if agrees(printed, measured(measure, c, rows))
    )
    return next(tried, None)


def _other_conventions(measure: str, stated: str) -> Iterator[str]:
    """Conventions to try, the likeliest first."""
    if measure != "ece":
        yield from ("top label", "mean over classes") if measure == "brier" else ("top label",)
        return
    for bins in dict.fromkeys((stated.split(" ")[0], "10", "15", "20", "5")):
        for extra in _EXTRAS:
            yield f"{bins} bins, {extra}".removesuffix(", ")
        for extra in ("", "mean over bins", "1 in no bin", "mean over bins, 1 in no bin"):
            yield f"{bins} quantile bins, {extra}".removesuffix(", ")
