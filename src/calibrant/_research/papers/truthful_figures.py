"""Figures of a pool: trends over the loss, the dominance set, and the calibrated line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._core.typing import Array
from calibrant._research.papers.figures import COLOURS, new_figure
from calibrant._research.papers.pool import BIN_COUNTS, ERRORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

TITLES = {
    "conf_ece": "ConfECE (not truthful)",
    "conf_ce": "ConfCE (not truthful)",
    "conf_ce_corrected": "ConfCE corrected (truthful)",
    "classwise_ce": "classwise LinCE (truthful)",
}


def trend(x: Array, y: Array, places: Array) -> Array:
    """The kernel regression of y on x, at `places`: local means of y with a Gaussian kernel over x.

    The standard deviation of the kernel is 0.06 of the range of `places`.
    """
    width = 0.06 * float(places[-1] - places[0])
    kernel = np.exp(-0.5 * ((places[:, None] - x) / width) ** 2)
    return kernel @ y / kernel.sum(axis=1)


def _plot_points(axis: Axes, x: Array, y: Array, **look: Any) -> None:
    """Draw a dot for each predictor as pixels: thousands of shapes would make a large file."""
    axis.plot(x, y, ".", markeredgewidth=0, rasterized=True, **look)


def draw_cells(columns: Mapping[str, Sequence[Any]], names: Mapping[str, str]) -> Drawing:
    """Draw the cells of table 1: a panel for each error, a row for each pair.

    `columns` are those of `truthful_ranks.TableOne.long`; `names` are those of the errors.
    """
    column = {name: np.asarray(values) for name, values in columns.items()}
    parts = list(dict.fromkeys(columns["part"]))
    with new_figure(2, 2, size=(7.2, 6.6), sharex=True) as (figure, axes):
        for axis, (error, name) in zip(axes.ravel(), names.items(), strict=True):
            for i, part in enumerate(parts):
                own = (column["part"] == part) & (column["error"] == error)
                y = np.arange(own.sum()) + 0.22 * (i - (len(parts) - 1) / 2)
                value, low, high = (column[key][own] for key in ("value", "low", "high"))
                axis.hlines(y, low, high, color=COLOURS[i], linewidth=1.4)
                axis.plot(value, y, "o", color=COLOURS[i], markersize=4, label=part)
                look = {"markerfacecolor": "white", "color": COLOURS[i], "markersize": 4}
                axis.plot(column["null"][own], y, "D", **look)
            axis.plot([], [], "D", markerfacecolor="white", color="#666666", label="null")
            axis.plot(
                column["paper"][own], np.arange(own.sum()), "x", color="#000000", label="paper"
            )
            first = np.where(column["first"][own] == "loss", "error", column["first"][own])
            sides = zip(first, column["second"][own], strict=True)
            axis.set_yticks(np.arange(own.sum()), [f"{a} – {b}" for a, b in sides])
            axis.invert_yaxis()
            axis.axvline(0, color="#999999", linewidth=0.8, zorder=0)
            axis.set_title(name)
        for axis in axes[1]:
            axis.set_xlim(-1, 1.03)
            axis.set_xlabel("rank correlation")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5)
    return figure


def draw_checkpoints(columns: dict[str, list[Any]]) -> Drawing:
    """Draw each checkpoint's error over its classification error, in 2000 bins and in 5.

    `columns` are those of a pool (see `pool.measure_predictor`); checkpoints with the highest 5% of
    classification errors are left out.
    """
    x = np.asarray(columns["classification_error"])
    kept = x <= np.quantile(x, 0.95)
    errors, counts = ("conf_ece", "conf_ce_corrected", "classwise_ce"), (2000, 5)
    with new_figure(2, 3, size=(7.2, 4.4), sharex=True) as (figure, axes):
        for row, m in zip(axes, counts, strict=True):
            for axis, error, colour in zip(row, errors, COLOURS, strict=False):
                y = np.asarray(columns[f"{error}_{m}"])
                _plot_points(axis, x[kept], y[kept], color=colour, alpha=0.3, markersize=2.5)
                axis.set_ylim(0, 1.05 * float(np.quantile(y[kept], 0.99)))
                axis.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
            row[0].set_ylabel(f"error, {m} bins")
        for axis, error in zip(axes[0], errors, strict=True):
            axis.set_title(TITLES[error])
        for axis in axes[1]:
            axis.set_xlabel("classification error")
    return figure


def draw_trends(columns: dict[str, list[Any]]) -> Drawing:
    """Draw each error over the classification error: points, and the trend at each number of bins.

    `columns` are those of a pool (see `pool.measure_predictor`). Each error is divided by its mean.
    """
    x = np.asarray(columns["classification_error"])
    low, high = np.quantile(x, [0.0, 0.95])
    kept = x <= high
    places = np.linspace(low, high, 120)
    with new_figure(2, 2, size=(7.2, 5.4), sharex=True) as (figure, axes):
        for axis, error in zip(axes.ravel(), ERRORS, strict=True):
            for colour, m in zip(COLOURS, BIN_COUNTS, strict=False):
                y = np.asarray(columns[f"{error}_{m}"])
                # Errors at different numbers of bins differ by powers of ten: each over its mean.
                y = y / y[kept].mean()
                _plot_points(axis, x[kept], y[kept], color=colour, alpha=0.12, markersize=2)
                axis.plot(places, trend(x[kept], y[kept], places), color=colour, label=f"{m} bins")
            axis.set_title(TITLES[error])
            axis.set_ylim(0, 2.5)
        axes[0, 0].legend()
        for axis in axes[1]:
            axis.set_xlabel("classification error")
        for axis in axes[:, 0]:
            axis.set_ylabel("error / its mean")
    return figure


def draw_dominance(columns: dict[str, list[Any]], chain: Sequence[int]) -> Drawing:
    """Draw the truthful errors along the maximum dominance set, from its best predictor down.

    The set is the longest chain of predictors of which each is better than the next on all losses.
    `columns` are those of a pool (see `pool.measure_predictor`), and `chain` has the indices of its
    predictors.
    """
    place = np.arange(1, len(chain) + 1)
    with new_figure(1, 2, size=(7.2, 2.9)) as (figure, axes):
        for axis, error in zip(axes[0], ("conf_ce_corrected", "classwise_ce"), strict=True):
            for colour, m in zip(COLOURS, BIN_COUNTS, strict=False):
                y = np.asarray(columns[f"{error}_{m}"])[list(chain)]
                axis.plot(place, y, color=colour, label=f"{m} bins")
            axis.set_yscale("log")
            axis.set_title(TITLES[error])
            axis.set_xlabel("place in the maximum dominance set")
        axes[0, 0].set_ylabel("error")
        axes[0, 0].legend()
    return figure


def draw_assumption(columns: dict[str, list[Any]]) -> Drawing:
    """Draw two errors over losses that they equal, divided by n, if predictors are calibrated.

    A dotted line shows that equality. `columns` are those of a pool (see `pool.measure_predictor`).
    """
    n_test, n_classes = columns["n_test"][0], columns["n_classes"][0]
    pairs = (
        ("conf_ce_corrected", "confidence_loss", 1.0, "confidence loss"),
        ("classwise_ce", "brier", float(n_classes), "Brier score"),
    )
    with new_figure(1, 2, size=(7.2, 2.9)) as (figure, axes):
        for axis, (error, loss, parts, label) in zip(axes[0], pairs, strict=True):
            x = np.asarray(columns[loss])
            kept = x <= np.quantile(x, 0.98)
            for colour, m in zip(COLOURS, BIN_COUNTS, strict=False):
                y = np.asarray(columns[f"{error}_{m}"])
                look = {"color": colour, "alpha": 0.3, "markersize": 3, "label": f"{m} bins"}
                _plot_points(axis, x[kept], y[kept], **look)
            line = np.linspace(float(x[kept].min()), float(x[kept].max()), 50)
            axis.plot(line, line / parts / n_test, ":", color="#000000", label="calibrated")
            axis.set_yscale("log")
            axis.set_title(TITLES[error])
            axis.set_xlabel(label)
        axes[0, 0].set_ylabel("error")
        axes[0, 0].legend(markerscale=2, loc="upper left")
    return figure
