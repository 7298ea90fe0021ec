"""A picture for each measure's page, drawn from the example's data by what the measure looks at.

A measure that no list names gets none: its page then says only what the catalogue says.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import calibrant as cal
from calibrant import examples

INK, LINE, SOFT = "#1d2b3a", "#c2551e", "#5b7ea6"
_TRUTH = 0.3


@cache
def pictures() -> dict[str, bytes]:
    """The picture of every measure that has one, as SVG, by its path."""
    import matplotlib as mpl

    mpl.use("Agg")
    with mpl.rc_context(_STYLE):
        return {f"measures/{name}.svg": _svg(draw) for name, draw in DRAWN.items()}


def _svg(draw: Callable[[Any], None]) -> bytes:
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(4.6, 2.9))
    figure.subplots_adjust(left=0.14, right=0.97, bottom=0.15, top=0.96)
    draw(ax)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return out.getvalue()


# Letters as shapes: the reader's machine need not have the font.
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "path", "svg.hashsalt": "calibrant", "axes.spines.top": False,
    "axes.spines.right": False, "font.size": 8, "legend.frameon": False,
}  # fmt: skip


# --- rows -----------------------------------------------------------------------------------------


@cache
def _shirt() -> tuple[Any, Any]:
    """Outcomes and probabilities of one class, in order of the probabilities."""
    data = examples.load("fashion-shirt")
    order = np.argsort(data.test_proba, kind="stable")
    return data.test_labels[order], data.test_proba[order]


@cache
def _top() -> tuple[Any, Any]:
    """Whether the top label is right, and its confidence."""
    data = examples.load("fashion")
    chosen = data.test_proba.argmax(axis=1)
    return (chosen == data.test_labels).astype(int), data.test_proba.max(axis=1)


def _predicted_shirt() -> tuple[Any, Any]:
    """The same for the rows whose top label is one class."""
    data = examples.load("fashion")
    right, confidence = _top()
    rows = data.test_proba.argmax(axis=1) == 6
    return right[rows], confidence[rows]


# --- errors over bins -----------------------------------------------------------------------------


def _gaps(
    ax: Any,
    rows: Callable[[], tuple[Any, Any]] = _shirt,
    bins: Any = 15,
    above: float = 0,
    longest: bool = False,
) -> None:
    """A line in each bin from its mean prediction to its mean target."""
    y, p = rows()
    table = cal.reliability(y[p > above], p[p > above], bins=bins).columns()
    n, u, z = (np.asarray(table[name]) for name in ("n", "mean_predicted", "mean_target"))
    held = n > 0
    _draw_gaps(ax, n[held], u[held], z[held])
    if longest:
        worst = np.abs(u - z)[held].argmax()
        ax.vlines(u[held][worst], u[held][worst], z[held][worst], color=LINE, lw=5)


def _draw_gaps(ax: Any, n: Any, u: Any, z: Any, colour: Any = LINE) -> None:
    ax.plot([0, 1], [0, 1], color=SOFT, lw=1)
    ax.vlines(u, u, z, color=colour, lw=1.8)
    ax.scatter(u, z, s=12 + 90 * n / n.max(), color=INK, alpha=0.75, zorder=3)
    ax.set(xlabel="mean prediction", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1))


def _sweep(ax: Any) -> None:
    """The largest number of equal-mass bins whose mean targets never fall."""
    y, _ = _shirt()
    m = 1
    while np.all(np.diff([part.mean() for part in np.array_split(y, m + 1)]) >= 0):
        m += 1
    _gaps(ax, bins=cal.Quantile(m))


def _runs(ax: Any) -> None:
    """Runs of 100 rows; the last one does not count."""
    y, p = _shirt()
    cuts = np.arange(100, len(y) - 99, 100)
    u, z = ([part.mean() for part in np.split(each, cuts)] for each in (p, y))
    n = np.array([len(part) for part in np.split(y, cuts)])
    _draw_gaps(ax, n, np.array(u), np.array(z), [LINE] * (len(n) - 1) + ["#b0b0b0"])


def _grouping(ax: Any) -> None:
    """Distances of rows from their soft labels, and of the means of bins."""
    data = examples.load("fashion-shirt")
    u, z = data.test_proba, data.test_soft_labels
    which = np.minimum((15 * u).astype(int), 14)
    held = np.unique(which)
    far = [np.abs(u - z)[which == b].mean() for b in held]
    seen = [abs((u - z)[which == b].mean()) for b in held]
    centres = (held + 0.5) / 15
    ax.bar(centres, far, 0.055, color=SOFT, alpha=0.5, label="mean distance of rows")
    ax.bar(centres, seen, 0.025, color=LINE, label="gap of the means")
    ax.set(xlabel="prediction", ylabel="distance")
    ax.legend()


# --- errors without bins --------------------------------------------------------------------------


def _thinned(*columns: Any) -> tuple[Any, ...]:
    """Some 400 points of a curve: no more can be seen."""
    n = len(columns[0])
    kept = np.unique(np.linspace(0, n - 1, min(n, 400)).astype(int))
    return tuple(np.asarray(column)[kept] for column in columns)


def _area(ax: Any, x: Any, y: Any) -> None:
    x, y = _thinned(x, y)
    ax.fill_between(x, 0, y, color=LINE, alpha=0.35)
    ax.plot(x, y, color=INK, lw=1)


def _smooth(ax: Any) -> None:
    """The residual, smoothed with reflection, at the bandwidth that equals its area."""
    y, p = _shirt()
    sigma = cal.smooth_ece(y, p)
    t = np.linspace(0, 1, 401)
    images = (p, -p, 2 - p)
    kernel = sum(np.exp(-0.5 * ((t[:, None] - u) / sigma) ** 2) for u in images)
    _area(ax, t, np.abs(kernel @ (y - p)) / (len(p) * sigma * np.sqrt(2 * np.pi)))
    ax.set(xlabel="prediction", ylabel="smoothed residual")


def _logit(ax: Any) -> None:
    y, p = _shirt()
    h, t, sigma = np.log(p / (1 - p)), np.linspace(-14, 14, 1401), 0.1
    kernel = np.exp(-0.5 * ((t[:, None] - h) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    centre = 1 / (1 + np.exp(-t))
    _area(ax, t, np.abs((kernel * (y - centre[:, None])).mean(axis=1)))
    ax.set(xlabel="logit", ylabel="smoothed residual")


def _sums(ax: Any, cutoff: bool = False) -> None:
    """The sum of residuals up to each prediction."""
    y, p = _shirt()
    total = np.concatenate([[0.0], np.cumsum(p - y) / len(y)])
    x = np.concatenate([[0.0], p])
    ax.plot(*_thinned(x, total), color=INK, lw=1.2)
    ax.axhline(0, color=SOFT, lw=1)
    if cutoff:
        low, high = sorted((total.argmin(), total.argmax()))
        ax.axvspan(x[low], x[high], color=LINE, alpha=0.2)
        ax.hlines([total[low], total[high]], 0, 1, color=LINE, ls="--", lw=1)
    else:
        ax.axhline(total[np.abs(total).argmax()], color=LINE, ls="--", lw=1)
    ax.set(xlabel="prediction", ylabel="sum of residuals, over n")


def _distances(ax: Any, name: str) -> None:
    """Distances of the local regression from the diagonal, sorted."""
    y, p = _shirt()
    curve = cal.reliability_curve(y, p, method="local", span=0.75, band=None)
    far = np.sort(np.abs(np.asarray(curve.at(p)) - p))
    ax.plot(*_thinned((np.arange(len(far)) + 0.5) / len(far), far), color=INK, lw=1.4)
    value = cal.ici(y, p) if name == "ici" else cal.ici(y, p, part=name)
    ax.axhline(value, color=LINE, ls="--", lw=1)
    ax.set(xlabel="share of rows", ylabel="distance from the diagonal", xlim=(0, 1))


def _two_bins(ax: Any) -> None:
    """Squared sums of residuals below and above each cut."""
    y, p = _shirt()
    below = np.concatenate([[0.0], np.cumsum(p - y)]) / len(y)
    cuts = np.concatenate([[0.0], p])
    _area(ax, cuts, below**2 + (below[-1] - below) ** 2)
    ax.set(xlabel="cut between the two bins", ylabel="squared sums, over n²")


# --- losses, decompositions, ranking --------------------------------------------------------------


def _of_one_row(ax: Any, measure: Callable[[Any, Any], float]) -> None:
    """The value of one row by its prediction, for a soft label and for outcomes drawn from it."""
    u = np.linspace(0.01, 0.99, 99)
    soft = [measure([_TRUTH], [x]) for x in u]
    hard = [_TRUTH * measure([1], [x]) + (1 - _TRUTH) * measure([0], [x]) for x in u]
    ax.plot(u, hard, color=LINE, lw=1.6, label="expected, drawn outcomes")
    ax.plot(u, soft, color=INK, lw=1.6, ls="--", label="soft label 0.3")
    ax.axvline(_TRUTH, color=SOFT, lw=1)
    ax.set(xlabel="prediction", ylabel="value")
    ax.legend()


def _parts(ax: Any, part: str) -> None:
    """The terms of the Brier score; one of them is the measure."""
    found = cal.brier_decomposition(*_shirt())
    values = {
        "Brier score": found.brier, "miscalibration": found.miscalibration,
        "discrimination": found.discrimination, "uncertainty": found.uncertainty,
    }  # fmt: skip
    bars = ax.barh(
        list(values), list(values.values()), color=[LINE if n == part else SOFT for n in values]
    )
    ax.figure.subplots_adjust(left=0.2, right=0.9)
    ax.bar_label(bars, fmt="%.4f", padding=3)
    ax.invert_yaxis()
    ax.set(xlabel="value")


def _roc(ax: Any) -> None:
    y, _ = _shirt()
    events = y[::-1] == 1
    hits, false = np.cumsum(events) / events.sum(), np.cumsum(~events) / (~events).sum()
    ax.plot([0, 1], [0, 1], color=SOFT, lw=1)
    _area(ax, np.concatenate([[0], false]), np.concatenate([[0], hits]))
    ax.set(xlabel="share of non-events above the cut", ylabel="share of events above the cut")


def _coverage(ax: Any, risk: bool = False, marked: float | None = None) -> None:
    """Accuracy, or risk, of the most confident rows."""
    right, confidence = _top()
    kept = right[np.argsort(-confidence, kind="stable")]
    share = np.arange(1, len(kept) + 1) / len(kept)
    accuracy = np.cumsum(kept) / np.arange(1, len(kept) + 1)
    if risk:
        _area(ax, share, 1 - accuracy)
    else:
        ax.plot(*_thinned(share, accuracy), color=INK, lw=1.4)
    if marked is not None:
        at = round(marked * len(kept)) - 1
        ax.scatter(share[at], accuracy[at], color=LINE, zorder=3)
        ax.axhline(accuracy[at], color=LINE, ls="--", lw=1)
    ax.set(xlabel="coverage", ylabel="risk" if risk else "accuracy", xlim=(0, 1))


# --- which picture a measure has ------------------------------------------------------------------

_MASS = cal.Quantile(15)
DRAWN: dict[str, Callable[[Any], None]] = {
    "ece": _gaps, "rmsce": _gaps, "mce": partial(_gaps, longest=True),
    "debiased_l2": partial(_gaps, bins=_MASS), "ace": partial(_gaps, bins=_MASS),
    "tace": partial(_gaps, bins=_MASS, above=0.01), "lin_ce": partial(_gaps, bins=_MASS),
    "confidence_ce": partial(_gaps, rows=_top, bins=_MASS),
    "confidence_ce_uncorrected": partial(_gaps, rows=_top, bins=_MASS),
    "classwise_ce": partial(_gaps, bins=_MASS), "classwise_ece": _gaps,
    "top_label_ece": partial(_gaps, rows=_predicted_shirt),
    "grouping_gap": _grouping, "sweep_ece": _sweep, "hle_rms": _runs,
    "smooth_ece": _smooth, "ls_ece": _logit, "ks_error": _sums,
    "cutoff_ce": partial(_sums, cutoff=True), "atb": _two_bins,
    **{name: partial(_distances, name=name) for name in ("ici", "e50", "e90", "emax")},
    "brier": partial(_of_one_row, measure=cal.brier_score),
    **{
        name: partial(_of_one_row, measure=getattr(cal, name))
        for name in (
            "log_loss", "spherical_loss", "classification_error", "confidence_loss", "dist_ce",
            "ent_ce", "rank_cs", "jsd", "kl", "wasserstein",
        )
    },
    "js_divergence": partial(_of_one_row, measure=partial(cal.jsd, squared=True)),
    "manhattan": partial(_of_one_row, measure=partial(cal.dist_ce, norm="l1")),
    **{
        f"brier_{part}": partial(_parts, part=part)
        for part in ("miscalibration", "discrimination", "uncertainty")
    },
    "auroc": _roc, "aurc": partial(_coverage, risk=True),
    "accuracy": partial(_coverage, marked=1),
    "accuracy_at_coverage": partial(_coverage, marked=0.8),
}  # fmt: skip
