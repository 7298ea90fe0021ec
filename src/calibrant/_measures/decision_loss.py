"""Calibration decision loss: the most that calibrating predictions adds to any bounded decision.

A decision with payoffs in [0, 1], of however many actions, that acts on the prediction is a proper
score ``S(p, z) = G(p) + G'(p) (z - p)`` with convex G. Someone who knows the mean targets q of the
predictions p gains ``sum w (G(q) - G(p) - G'(p) (q - p))``, which is

    integral of f dG'',   f(t) = sum of w |q - t| over predictions with t between p and q,

and payoffs are in [0, 1] if and only if ``integral of (1 - t) dG'' <= 1`` and
``integral of t dG'' <= 1``: S(., 1) rises by the first, S(., 0) falls by the second, and both may
be shifted freely. By duality the largest gain is the least ``a + b`` with
``a (1 - t) + b t >= f(t)``: twice the height at 1/2 of the least concave function above f. So no
decision needs more than two thresholds, that is three actions; the best with one threshold gains
``max f(t) / max(t, 1 - t)``, at least half of it. As f is at most the ECE, the loss is at most
twice the ECE (Hu and Wu, 2024, arXiv:2404.13503).
"""

from __future__ import annotations

import numpy as np

from calibrant._core.typing import Array


def calibration_decision_loss(p: Array, q: Array, w: Array) -> float:
    """The exact calibration decision loss of distinct predictions p with mean targets q and weights
    w.
    """
    kept = w > 0
    p, q, w = p[kept], q[kept], w[kept] / w[kept].sum()
    t = np.unique(np.concatenate([p, q]))
    return envelope_loss(t, threshold_gains(p, q, w, t))


def threshold_gains(p: Array, q: Array, w: Array, t: Array) -> Array:
    """f(t) at thresholds t: the gain of knowing q in the decision whose choice changes at t.

    p are predictions, q their mean targets and w their weights, which sum to 1.
    """
    rising, falling = p < q, p > q
    up = _sum_within_spans(p[rising], q[rising], q[rising], w[rising], t)
    down = _sum_within_spans(-p[falling], -q[falling], -q[falling], w[falling], -t)
    return up + down


def _sum_within_spans(first: Array, last: Array, height: Array, w: Array, t: Array) -> Array:
    """At each t, the sum of ``w (height - t)`` over the intervals from `first` to `last` that
    contain t.
    """

    def sum_up_to(ends: Array, side: str) -> Array:
        """At each t, the sum of ``w (height - t)`` over the intervals whose end is at or before t.

        With side "left", ends that equal t do not count.
        """
        order = np.argsort(ends)
        total = np.append(0.0, np.cumsum(w[order]))
        moment = np.append(0.0, np.cumsum((w * height)[order]))
        at = np.searchsorted(ends[order], t, side=side)  # type: ignore[call-overload]
        return np.asarray(moment[at] - t * total[at])

    return np.maximum(sum_up_to(first, "right") - sum_up_to(last, "left"), 0.0)


def envelope_loss(t: Array, gains: Array) -> float:
    """Twice the height at 1/2 of the smallest concave function above the gains at thresholds t.

    That function is 0 at 0 and at 1 unless there are gains there.
    """
    order = np.lexsort((-gains, t))
    points = [(0.0, 0.0), *zip(t[order].tolist(), gains[order].tolist(), strict=True), (1.0, 0.0)]
    hull: list[tuple[float, float]] = []
    for x, y in points:
        if hull and x == hull[-1][0]:
            if y <= hull[-1][1]:
                continue
            hull.pop()
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    xs, ys = np.array(hull).T
    return 2.0 * max(0.0, float(np.interp(0.5, xs, ys)))


def _is_below(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    """Whether the middle point lies on or below the line between the others."""
    (a, fa), (b, fb), (c, fc) = first, middle, last
    return (fb - fa) * (c - a) <= (fc - fa) * (b - a)
